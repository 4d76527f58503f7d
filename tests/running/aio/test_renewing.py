"""A run's lease in real time: it is renewed in the background, and its loss stops the run's writes here."""

from datetime import UTC, datetime, timedelta

import pytest

import txmemory
from tests.running.places import Place, renewing_async, until_async
from txmemory import AsyncRun, Fenced, Held, LeaseLost, Memory, Receipt, either, must

TTL = timedelta(seconds=1)
LONG = timedelta(hours=1)


async def test_a_run_outlives_its_lease_several_times_while_it_is_renewed(place: Place) -> None:
    """Guarantee 4: meanwhile it is held, and it is free as soon as the run has ended."""
    async with txmemory.open_async(place.url) as opened, txmemory.open_async(place.url) as others:
        store, other = opened.tenant(place.tenant), others.tenant(place.tenant)
        async with must(await store.run("run", "ada", TTL)) as run:
            first = run.until
            await until_async(lambda: run.until > first + TTL)
            assert run.valid
            assert isinstance(either(await other.claim("run", "bob")), Held)
            assert isinstance(either(await run.writer.write("step", [Memory("tea")])), Receipt)
        assert must(await other.claim("run", "bob")).token == run.token + 1


async def test_a_run_that_cannot_be_renewed_stops_by_itself_for_good_and_is_run_again(place: Place) -> None:
    """Its own monotonic clock says so, with no answer from anywhere, and nothing is sent."""
    async with txmemory.open_async(place.url) as opened:
        store = opened.tenant(place.tenant)
        async with must(await store.run("run", "ada", TTL)) as run:
            with place.blocked():
                await until_async(lambda: not run.valid)
                assert either(await run.writer.write("step", [Memory("tea")])) == LeaseLost()
            again = either(await store.run("run", "ada", LONG))
            while isinstance(again, Held):  # by the database's clock it has not lapsed yet
                again = either(await store.run("run", "ada", LONG))
            assert isinstance(again, AsyncRun)
            async with again:
                assert either(await run.writer.write("step", [Memory("tea")])) == LeaseLost()
                assert isinstance(either(await again.writer.write("step", [Memory("tea")])), Receipt)


async def test_two_runs_of_one_name_in_one_store_are_two_holders(place: Place) -> None:
    """Threads and tasks of one worker, say: one of them is at it."""
    async with txmemory.open_async(place.url) as opened:
        store = opened.tenant(place.tenant)
        async with must(await store.run("run", "ada", LONG)) as run:
            met = either(await store.run("run", "ada", LONG))
            assert isinstance(met, Held)
            assert met.holder == "ada"
            assert isinstance(either(await run.writer.write("step", [Memory("tea", id="tea")])), Receipt)
            assert [entry.by for entry in must(await store.history("tea"))] == ["ada"]


async def test_a_renewal_that_raises_is_not_the_last_one(place: Place) -> None:
    """A caller's clock that fails once; the run goes on, and its lease is renewed."""
    failing: list[Exception] = []

    def clock() -> datetime:
        if failing:
            raise failing.pop()
        return datetime.now(UTC)

    async with txmemory.open_async(place.url, clock=clock) as opened:
        store = opened.tenant(place.tenant)
        async with must(await store.run("run", "ada", TTL)) as run:
            failing.append(LookupError("the clock's own"))
            first = run.until
            await until_async(lambda: run.until > first + TTL)
            assert run.valid


async def test_a_store_that_is_closed_inside_a_run_hides_nothing_that_the_block_raised(place: Place) -> None:
    """Then the lease lapses."""
    opened = await txmemory.open_async(place.url).__aenter__()
    run = must(await opened.tenant(place.tenant).run("run", "ada", TTL))

    async def working() -> None:
        async with run:
            await opened.close()
            raise LookupError("the caller's own")

    with pytest.raises(LookupError):
        await working()
    assert not run.valid


async def test_a_run_whose_scope_was_taken_over_learns_of_it_by_its_renewal(place: Place) -> None:
    """From then on for good; the writes of before it has learnt are fenced by the token."""
    async with txmemory.open_async(place.url) as opened, txmemory.open_async(place.url) as others:
        store, other = opened.tenant(place.tenant), others.tenant(place.tenant)
        async with must(await store.run("run", "ada", TTL)) as run:
            writer = store.writer("run", run.token)
            place.lapse()
            claim = either(await other.claim("run", "bob", LONG))
            while isinstance(claim, Held):  # renewed in between
                place.lapse()
                claim = either(await other.claim("run", "bob", LONG))
            assert isinstance(either(await writer.write("late", [Memory("tea")])), Fenced)
            await until_async(lambda: not run.valid)
            assert either(await run.writer.write("late", [Memory("tea")])) == LeaseLost()
        assert isinstance(either(await other.claim("run", "cy")), Held)
        assert must(await store.count()) == 0


async def test_a_run_leaves_nothing_behind_that_renews(place: Place) -> None:
    """Also where its block raises, and where it ends in the middle of a renewal that has to wait."""
    async with txmemory.open_async(place.url, deadline=5) as opened:
        store = opened.tenant(place.tenant)
        for _ in range(5):
            try:
                async with must(await store.run("run", "ada", TTL)):
                    assert await renewing_async() == 1
                    raise LookupError("the caller's own")
            except LookupError:
                assert await renewing_async() == 0
        async with must(await store.run("run", "ada", TTL)) as run:
            with place.blocked():
                await until_async(lambda: not run.valid)
        assert await renewing_async() == 0
