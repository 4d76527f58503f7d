"""Guarantees 3, 4 and 10: one live claim of a scope, tokens that only grow, and no clock that safety depends on."""

from datetime import timedelta
from functools import partial

import pytest

from txmemory import (
    AsyncClaim,
    AsyncStore,
    Fence,
    Fenced,
    Held,
    LeaseLost,
    Memory,
    Receipt,
    Sealed,
    either,
    must,
)
from txmemory.testing.aio.asking import OPERATIONS, contents, written
from txmemory.testing.aio.storage import AsyncStorage
from txmemory.testing.cases import needs
from txmemory.testing.racing import race_async

TTL = timedelta(seconds=30)
LARGEST = 2**63 - 1
LAST_ISSUED = 2**62


async def kinds(storage: AsyncStorage) -> list[tuple[str, int | None, int | None, int | None]]:
    """Kind, seq, generation and token of every event."""
    return [(event.kind, event.seq, event.generation, event.token) for _, event in await storage.events()]


async def other(storage: AsyncStorage) -> AsyncStore:
    """A store of another process, as far as claims can tell."""
    return await storage.open()


async def test_a_claim_issues_the_next_token_and_fences_who_had_an_older_one(storage: AsyncStorage) -> None:
    """Granting is the fence advance: before the claim has written anything its predecessor is refused."""
    store = await storage.open()
    await written(store.writer("run", 4), "step", "a")
    claim = must(await store.claim("run", "worker"))
    assert (claim.scope, claim.generation, claim.token) == ("run", 0, 5)
    assert claim.until == storage.clock() + TTL
    assert claim.valid
    before = await storage.digest()
    for operation in OPERATIONS:
        assert await operation(store.writer("run", 4), "late") == Fenced(Fence(0, 4), Fence(0, 5))
    assert await storage.digest() == before
    assert (await written(claim.writer, "next", "b")).outcome.token == 5
    assert await kinds(storage) == [("record", 1, 0, 4), ("claim", 2, 0, 5), ("record", 3, 0, 5)]


async def test_one_claim_is_live_and_another_holder_is_told_whose_and_until_when(
    storage: AsyncStorage,
) -> None:
    """`Held` names the holder as it named itself, and changes nothing; another scope or tenant is free."""
    first, second = await storage.open(), await other(storage)
    must(await first.claim("run", "ada"))
    before = await storage.digest()
    for name in ("bob", "ada"):
        assert either(await second.claim("run", name)) == Held("ada", storage.clock() + TTL)
    assert either(await first.claim("run", "bob")) == Held("ada", storage.clock() + TTL)
    assert await storage.digest() == before
    for place, scope in ((second, "Run"), (second, "run "), (second.tenant("acme"), "run")):
        assert must(await place.claim(scope, "bob")).token == 1


async def test_the_holder_who_asks_again_gets_its_own_claim_back_for_longer(storage: AsyncStorage) -> None:
    """F12: the answer to a claim was lost; asked again it is the same token, not `Held`, and no event."""
    store = await storage.open()
    first = must(await store.claim("run", "ada"))
    storage.clock.advance(timedelta(seconds=20))
    again = must(await store.within("deep").claim("run", "ada"))
    assert (again.generation, again.token) == (first.generation, first.token)
    assert again.until == storage.clock() + TTL
    assert len(await storage.events()) == 1
    storage.clock.advance(timedelta(seconds=29))
    assert isinstance(either(await (await other(storage)).claim("run", "ada")), Held)
    assert isinstance(either(await first.writer.write("step", [Memory("tea")])), Receipt)


async def test_a_lapsed_lease_is_taken_over_and_the_old_holder_is_fenced(storage: AsyncStorage) -> None:
    """F3: expiry decides who may claim; until somebody does the holder goes on."""
    first, second = await storage.open(), await other(storage)
    old = must(await first.claim("run", "ada"))
    storage.clock.advance(TTL - timedelta(microseconds=1))
    assert isinstance(either(await second.claim("run", "bob")), Held)
    storage.clock.advance(timedelta(microseconds=1))
    await written(old.writer, "after the end", "a")
    new = must(await second.claim("run", "bob"))
    assert new.token == old.token + 1
    before = await storage.digest()
    fenced = Fenced(Fence(0, 1), Fence(0, 2))
    assert either(await old.writer.write("late", [Memory("late")])) == fenced
    assert either(await old.renew()) == fenced
    assert must(await old.release()) is False
    assert await storage.digest() == before
    await written(new.writer, "step", "b")
    assert set(await contents(first)) == {"a", "b"}


async def test_a_renewal_lets_a_claim_hold_for_longer_and_is_no_event(storage: AsyncStorage) -> None:
    """From the renewal on, also once the lease had ended, as long as nobody has claimed."""
    first, second = await storage.open(), await other(storage)
    claim = must(await first.claim("run", "ada", timedelta(seconds=10)))
    storage.clock.advance(timedelta(seconds=9))
    must(await claim.renew(timedelta(seconds=10)))
    assert claim.until == storage.clock() + timedelta(seconds=10)
    storage.clock.advance(timedelta(seconds=9))
    assert isinstance(either(await second.claim("run", "bob")), Held)
    storage.clock.advance(timedelta(days=1))
    must(await claim.renew(timedelta(seconds=10)))
    assert isinstance(either(await second.claim("run", "bob")), Held)
    assert [kind for kind, *_ in await kinds(storage)] == ["claim"]


async def test_a_released_scope_is_free_and_its_tokens_go_on(storage: AsyncStorage) -> None:
    """F4: claim, release, claim: the token grows, and a released claim is not renewed."""
    first, second = await storage.open(), await other(storage)
    old = must(await first.claim("run", "ada"))
    assert must(await old.release()) is True
    assert not old.valid
    assert either(await old.renew()) == LeaseLost()
    before = await storage.digest()
    assert must(await old.release()) is True  # as the first time, and nothing changes
    assert await storage.digest() == before
    await written(old.writer, "after the release", "a")  # it is still the newest
    new = must(await second.claim("run", "bob"))
    assert new.token == 2
    assert await kinds(storage) == [
        ("claim", 1, 0, 1),
        ("release", 2, 0, 1),
        ("record", 3, 0, 1),
        ("claim", 4, 0, 2),
    ]


async def test_a_newer_token_from_elsewhere_ends_a_lease(storage: AsyncStorage) -> None:
    """Tokens issued elsewhere enter by `writer`: the claim is over, and the next one goes on behind them."""
    store = await storage.open()
    claim = must(await store.claim("run", "ada"))
    must(await store.writer("run", 1).applied("an equal token changes nothing"))
    must(await claim.renew())
    must(await store.writer("run", 9).applied("step"))
    lived = [claim.valid]
    assert either(await claim.renew()) == Fenced(Fence(0, 1), Fence(0, 9))
    assert [*lived, claim.valid] == [True, False]
    assert must(await claim.release()) is False
    assert must(await (await other(storage)).claim("run", "bob")).token == 10


async def test_of_sixteen_claimers_at_once_one_gets_it(storage: AsyncStorage) -> None:
    """All others are told who holds it; also of a scope that was claimed before."""
    stores = [await storage.open() for _ in range(4)]
    for turn in range(4):
        storage.clock.advance(timedelta(minutes=1))
        calls = (partial(stores[n % 4].claim, "run", f"worker-{n}") for n in range(16))
        answers = [either(result) for result in await race_async(*calls)]
        (claim,) = (answer for answer in answers if isinstance(answer, AsyncClaim))
        assert claim.token == turn + 1
        assert all(isinstance(answer, AsyncClaim | Held) for answer in answers)
    assert [event.seq for _, event in await storage.events()] == [1, 2, 3, 4]


async def test_claims_and_writes_at_once_keep_one_order(storage: AsyncStorage) -> None:
    """Whatever the race, the events of a scope count without gaps and their tokens never fall."""
    stores = [await storage.open() for _ in range(4)]

    async def work(store: AsyncStore, name: str) -> int:
        done = 0
        for turn in range(10):
            match either(await store.claim("run", name)):
                case AsyncClaim() as claim:
                    wrote = either(await claim.writer.write(f"{name}-{turn}", [Memory("tea")]))
                    assert isinstance(wrote, Receipt | Fenced)
                    done += isinstance(wrote, Receipt)
                    must(await claim.release())
                case Held():
                    pass
                case refusal:
                    raise AssertionError(refusal)
        return done

    done = await race_async(*(partial(work, store, f"w{n}") for n, store in enumerate(stores)))
    events = [event for _, event in await storage.events()]
    events.sort(key=lambda event: event.seq or 0)
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    tokens = [event.token or 0 for event in events]
    assert tokens == sorted(tokens)
    assert sum(event.kind == "record" for event in events) == sum(done) > 0


@needs("persistence")
async def test_tokens_grow_over_release_takeover_clear_and_reopening(storage: AsyncStorage) -> None:
    """F4, F5: a claim is durable when it was answered, and nothing takes its token back."""
    store = await storage.open()
    claim = must(await store.claim("run", "ada"))
    await written(claim.writer, "step", "a")
    must(await store.clear())
    await store.close()
    store = await storage.open()
    assert either(await store.claim("run", "ada")) == Held("ada", storage.clock() + TTL)
    assert isinstance(either(await store.writer("run", 0).applied("step")), Fenced)
    storage.clock.advance(TTL)
    assert must(await store.claim("run", "ada")).token == 2
    await store.close()
    storage.clock.advance(timedelta(days=400))
    store = await storage.open()
    assert must(await store.claim("run", "bob")).token == 3


async def test_a_holder_of_a_claim_is_told_apart_by_its_token_and_its_name(storage: AsyncStorage) -> None:
    """F11: the claim names its holder, so another who presents its very token under a name is refused."""
    store = await storage.open()
    claim = must(await store.claim("run", "ada"))
    assert must(await store.writer("run", claim.token).applied("nameless")) is None
    refused = either(await store.writer("run", claim.token, holder="ada").applied("step"))
    assert refused == Fenced(Fence(0, 1), Fence(0, 1))
    must(await claim.renew())


async def test_a_sealed_scope_is_not_claimed_and_its_claim_is_over(storage: AsyncStorage) -> None:
    """Finished is finished: `Sealed` for a claim and a renewal, before and after the lease has ended."""
    store = await storage.open()
    claim = must(await store.claim("run", "ada"))
    must(await claim.writer.seal())
    before = await storage.digest()
    for late in (timedelta(0), TTL):
        storage.clock.advance(late)
        assert either(await store.claim("run", "ada")) == Sealed()
        assert either(await (await other(storage)).claim("run", "bob")) == Sealed()
        assert either(await claim.renew()) == Sealed()
    assert must(await claim.release()) is True
    assert await storage.digest() == before


async def test_a_poisoned_scope_is_cured_by_a_reset_that_is_noted(storage: AsyncStorage) -> None:
    """F9: a bogus token closes a scope for claims; the reset raises the generation, which outweighs it."""
    store = await storage.open()
    poisoned = store.writer("run", LARGEST)
    await written(poisoned, "bogus", "a")
    before = await storage.digest()
    newest = Fence(0, LARGEST)
    assert either(await store.claim("run", "ada")) == Fenced(Fence(0, LAST_ISSUED), newest)
    assert await storage.digest() == before
    assert must(await store.reset_fence("run")) == 1
    claim = must(await store.claim("run", "ada"))
    assert (claim.generation, claim.token) == (1, 1)
    refused = either(await poisoned.write("late", []))
    assert refused == Fenced(newest, Fence(1, 1))
    await written(claim.writer, "step", "b")
    assert await kinds(storage) == [
        ("record", 1, 0, LARGEST),
        ("reset", 2, 1, 0),
        ("claim", 3, 1, 1),
        ("record", 4, 1, 1),
    ]
    assert must(await store.keys("run")) == ["bogus", "step"]


async def test_claims_issue_tokens_up_to_two_to_the_62(storage: AsyncStorage) -> None:
    """F9: the last is issued, the one behind it is not, and a live claim of the last one comes back."""
    store = await storage.open()
    must(await store.writer("run", LAST_ISSUED - 1).applied("x"))
    last = must(await store.claim("run", "ada"))
    assert last.token == LAST_ISSUED
    assert must(await store.claim("run", "ada")).token == LAST_ISSUED
    must(await last.release())
    fence = Fence(0, LAST_ISSUED)
    assert either(await store.claim("run", "ada")) == Fenced(fence, fence)


async def test_a_reset_ends_every_claim_and_asks_nobody(storage: AsyncStorage) -> None:
    """A live claim, a scope that nobody has named, a sealed one, and the last generation that there is."""
    store = await storage.open()
    claim = must(await store.claim("run", "ada"))
    assert must(await (await other(storage)).reset_fence("run")) == 1
    assert either(await claim.renew()) == Fenced(Fence(0, 1), Fence(1, 0))
    assert isinstance(either(await claim.writer.applied("x")), Fenced)
    assert must(await (await other(storage)).claim("run", "bob")).token == 1
    assert must(await store.reset_fence("new")) == 1
    assert must(await store.reset_fence("new")) == 2
    assert isinstance(either(await store.writer("new", 5, generation=1).applied("x")), Fenced)
    assert must(await store.writer("new", 0, generation=2).applied("x")) is None
    must(await store.writer("done", 3).seal())
    assert must(await store.reset_fence("done")) == 1
    assert either(await store.claim("done", "ada")) == Sealed()
    must(await store.writer("last", 7, generation=LARGEST).applied("x"))
    before = await storage.digest()
    fenced = Fenced(Fence(LARGEST, 0), Fence(LARGEST, 7))
    assert either(await store.reset_fence("last")) == fenced
    assert await storage.digest() == before


@needs("sharing")
async def test_a_claim_is_judged_by_the_clock_that_it_brings(storage: AsyncStorage) -> None:
    """F7: where stores bring clocks of their own; times of record still only grow."""
    behind = storage.clock.behind(timedelta(minutes=10))
    ahead, late = await storage.open(), await storage.open(clock=behind)
    must(await late.claim("run", "late"))  # for its clock until 9 minutes and 30 seconds ago
    claim = must(await ahead.claim("run", "ahead"))
    assert claim.token == 2
    assert isinstance(either(await late.claim("run", "late")), Held)
    must(await claim.release())
    assert must(await late.claim("run", "late")).token == 3
    times = [event.at for _, event in sorted(await storage.events(), key=lambda each: each[1].seq or 0)]
    assert times == sorted(set(times))


async def test_wrong_arguments_of_claims_are_refused_before_anything_is_sent(storage: AsyncStorage) -> None:
    """A lease of no length, of a day and more, no time at all; names that are empty or too long."""
    store = await storage.open()
    claim = must(await store.claim("run", "n" * 480, timedelta(days=1)))
    must(await claim.renew(timedelta(milliseconds=100)))
    before = await storage.digest()
    least, day = timedelta(milliseconds=100), timedelta(days=1)
    for ttl in (least - timedelta(microseconds=1), day + timedelta(microseconds=1), -TTL):
        with pytest.raises(ValueError):
            await store.claim("other", "ada", ttl)
        with pytest.raises(ValueError):
            await claim.renew(ttl)
    for scope, holder in (("", "ada"), ("run", ""), ("s" * 513, "ada"), ("run", "n" * 481), ("run", "a\x00")):
        with pytest.raises(ValueError):
            await store.claim(scope, holder)
    with pytest.raises(TypeError):
        await store.claim("run", "ada", 30)  # type: ignore[arg-type]  # the wrong type is the point
    with pytest.raises(TypeError):
        await store.claim("run", None)  # type: ignore[arg-type]  # the wrong type is the point
    with pytest.raises(ValueError):
        await store.reset_fence("")
    assert await storage.digest() == before
