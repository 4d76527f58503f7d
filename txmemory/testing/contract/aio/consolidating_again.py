"""Guarantees 2, 3, 6 and 7 of a consolidation job: run again, broken off, beside others, by an old worker."""

from datetime import timedelta
from typing import Any

import pytest

from txmemory import (
    AsyncStore,
    Consolidation,
    Fenced,
    Group,
    LeaseLost,
    Memory,
    Sealed,
    Unavailable,
    either,
    must,
)
from txmemory.port import Down
from txmemory.testing.aio.asking import contents
from txmemory.testing.aio.consolidating import JOB, AsyncModel, consolidated, statuses, stored, turns
from txmemory.testing.aio.faults import AsyncLosing
from txmemory.testing.aio.storage import AsyncStorage
from txmemory.testing.cases import needs
from txmemory.testing.clock import START
from txmemory.testing.racing import race_async


async def test_a_finished_job_answers_again_and_neither_asks_the_model_nor_looks_at_memories(
    storage: AsyncStorage,
) -> None:
    """R8: also once there is more of the same name, by a successor, and when the summaries are gone."""
    store = await storage.open()
    await stored(store, turns("a", 3), turns("b", 3))
    writer = store.writer("jobs", 1)
    first = await consolidated(writer, AsyncModel())
    await stored(store, turns("a", 5), turns("c", 5))
    must(await store.delete(first.groups[0].outcome.added[0].id))
    before = await contents(store)
    for token in (1, 2):
        model = AsyncModel()
        again = await consolidated(store.writer("jobs", token), model, older_than=START + timedelta(days=1))
        assert [group.outcome for group in again.groups] == [group.outcome for group in first.groups]
        assert all(group.replayed for group in again.groups)
        assert (again.failed, model.asked) == ((), [])
    assert await contents(store) == before
    model = AsyncModel()
    other = await consolidated(store.writer("jobs", 2), model, "the next night")
    assert {group.name for group in model.asked} == {"a", "c"}
    assert not any(group.replayed for group in other.groups)


async def test_a_job_with_nothing_to_do_is_finished(storage: AsyncStorage) -> None:
    """What comes later waits for another key, and the key says that the job is done."""
    store = await storage.open()
    writer = store.writer("jobs", 1)
    first = await consolidated(writer, AsyncModel())
    assert (first.groups, first.failed) == ((), ())
    assert must(await writer.applied(first.key)) is not None
    await stored(store, turns("a", 3))
    model = AsyncModel()
    assert await consolidated(writer, model) == first
    assert model.asked == []


async def test_the_same_key_in_another_namespace_is_another_job(storage: AsyncStorage) -> None:
    """Though scope and token are one: nobody's memories are left out because another's are done."""
    store = await storage.open()
    done = []
    for user in ("ada", "bob"):
        own = store.within("users", user)
        await stored(own, turns("a", 3))
        done.append(await consolidated(own.writer("jobs", 1), AsyncModel()))
        assert set(await contents(own)) == {group.outcome.added[0].id for group in done[-1].groups}
    assert [statuses(each) for each in done] == [["stored"], ["stored"]]
    assert done[0].key != done[1].key
    assert done[0].groups[0].key != done[1].groups[0].key


async def test_a_run_that_broke_off_is_taken_up_and_tells_of_all_that_was_done(storage: AsyncStorage) -> None:
    """R1: whoever goes on adopts what is recorded, and does not sum up again what is, though there is more of it."""

    class Killed(BaseException):
        """Nothing catches it."""

    async def die(group: Group) -> None:
        if group.name == "b":
            raise Killed

    store = await storage.open()
    await stored(store, turns("a", 3), turns("b", 3), turns("c", 3))
    with pytest.raises(Killed):
        await consolidated(store.writer("jobs", 1), AsyncModel(die))
    assert len(await contents(store)) == 1 + 3 + 3
    await stored(store, turns("a", 4))
    model = AsyncModel()
    done = await consolidated(store.writer("jobs", 2), model)
    assert [group.name for group in model.asked] == ["b", "c"]
    assert [group.replayed for group in done.groups] == [True, False, False]
    summaries = {group.outcome.added[0].id for group in done.groups}
    assert set(await contents(store)) == {*summaries, *(memory.id for memory in turns("a", 4))}


async def test_a_database_that_goes_away_behind_the_model_leaves_the_group_to_the_next_run(
    storage: AsyncStorage,
) -> None:
    """R4: the refusal ends the run, at the first look as well; the same call goes on from there."""
    backend = AsyncLosing(await storage.backend())
    store = backend.store()
    await stored(store, turns("a", 3), turns("b", 3))

    async def go_away(group: Group) -> None:
        if group.name == "b":
            backend.faults = [Down("FULL")]

    model = AsyncModel(go_away)
    writer = store.writer("jobs", 1)
    for asked in ([], ["a", "b"]):
        backend.faults = [] if asked else [Down("FULL")]
        answer = either(await writer.consolidate(JOB, model, older_than=START, min_count=2))
        assert answer == Unavailable("FULL")
        assert [group.name for group in model.asked] == asked
    assert len(await contents(store)) == 1 + 3
    calm = AsyncModel()
    done = await consolidated(writer, calm)
    assert [group.name for group in calm.asked] == ["b"]
    assert [(group.outcome.status, group.replayed) for group in done.groups] == [
        ("stored", True),
        ("stored", False),
    ]


async def test_the_answer_to_a_replacement_that_was_lost_is_found(storage: AsyncStorage) -> None:
    """R9: it was made, and is told as what it is; the group is not summed up twice."""
    backend = AsyncLosing(await storage.backend())
    store = backend.store()
    await stored(store, turns("a", 3))

    async def lose(_group: Group) -> None:
        backend.losses = 1

    model = AsyncModel(lose)
    done = await consolidated(store.writer("jobs", 1), model)
    assert (statuses(done), len(model.asked)) == (["stored"], 1)
    assert set(await contents(store)) == {done.groups[0].outcome.added[0].id}


async def test_a_source_that_changes_while_the_model_thinks_makes_its_group_superseded(
    storage: AsyncStorage,
) -> None:
    """B3: nothing of the group is lost; under this key that is final, and the next job takes what is there then."""
    store = await storage.open()
    other = await storage.open()
    await stored(store, turns("a", 3), turns("b", 3), turns("c", 3))

    async def meddle(group: Group) -> None:
        match group.name:
            case "a":
                must(await other.update("a-001", lambda memory: memory.with_content("said otherwise")))
            case "b":
                must(await other.delete("b-002"))
            case _:
                must(await other.store(turns("c", 4)[3]))  # what is new is no source

    writer = store.writer("jobs", 1)
    done = await consolidated(writer, AsyncModel(meddle))
    assert statuses(done) == ["superseded", "superseded", "stored"]
    summary = done.groups[2].outcome.added[0].id
    left = await contents(store)
    assert set(left) == {"a-000", "a-001", "a-002", "b-000", "b-001", "c-003", summary}
    assert left["a-001"] == "said otherwise"
    again = AsyncModel()
    assert statuses(await consolidated(writer, again)) == ["superseded", "superseded", "stored"]
    assert again.asked == []
    await consolidated(writer, again, "the next night")
    assert [len(group.memories) for group in again.asked] == [3, 2, 2]


async def test_no_transaction_is_open_while_the_model_thinks(storage: AsyncStorage) -> None:
    """C8: the same scope and the same memories can be written meanwhile."""
    store = await storage.open()
    other = await storage.open(deadline=2.0)
    await stored(store, turns("a", 3))

    async def write(_group: Group) -> None:
        must(await other.writer("jobs", 1).write("beside", [Memory("tea", id="beside")]))
        must(await other.store(Memory("tea", id="a-000")))

    assert statuses(await consolidated(store.writer("jobs", 1), AsyncModel(write))) == ["superseded"]
    assert {"beside", "a-000", "a-001", "a-002"} == set(await contents(store))


async def test_of_two_workers_under_one_key_one_stores_and_both_adopt_it(storage: AsyncStorage) -> None:
    """R2: the second does the whole job while the first one's model thinks about the first group."""
    one, two = await storage.open(), await storage.open()
    await stored(one, turns("a", 3), turns("b", 3))
    second: list[Consolidation] = []

    async def overtake(_group: Group) -> None:
        if not second:
            second.append(await consolidated(two.writer("jobs", 1), AsyncModel()))

    model = AsyncModel(overtake)
    first = await consolidated(one.writer("jobs", 1), model)
    assert [group.outcome for group in first.groups] == [group.outcome for group in second[0].groups]
    assert [group.replayed for group in first.groups] == [True, True]
    assert [group.replayed for group in second[0].groups] == [False, False]
    assert len(model.asked) == 1
    assert set(await contents(one)) == {group.outcome.added[0].id for group in first.groups}


async def test_of_two_workers_under_different_keys_one_stores_and_the_other_is_superseded(
    storage: AsyncStorage,
) -> None:
    """B1: of a group that both thought about; one that is gone by then is not asked about at all."""
    one, two = await storage.open(), await storage.open()
    await stored(one, turns("a", 3), turns("b", 3))

    async def overtake(_group: Group) -> None:
        second.append(await consolidated(two.writer("other jobs", 1), AsyncModel(), "another night"))

    second: list[Consolidation] = []
    model = AsyncModel(overtake)
    first = await consolidated(one.writer("jobs", 1), model)
    assert (statuses(first), statuses(second[0])) == (["superseded"], ["stored", "stored"])
    assert len(model.asked) == 1
    assert set(await contents(one)) == {group.outcome.added[0].id for group in second[0].groups}


async def test_two_workers_at_once_replace_each_group_once(storage: AsyncStorage) -> None:
    """R2: under one key both tell the same of every group; under two keys exactly one stores it."""
    stores = [await storage.open(), await storage.open()]
    names = [f"{number}" for number in range(4)]
    for turn, keys in enumerate([(JOB, JOB), ("this", "that")] * 5):
        here = [store.within(f"{turn}") for store in stores]
        await stored(here[0], *[turns(name, 3) for name in names])

        async def work(store: AsyncStore, key: str, scope: str = f"jobs {turn}") -> Consolidation:
            return await consolidated(store.writer(scope, 1), AsyncModel(), key)

        def worker(place: int, here: Any = here, keys: Any = keys, work: Any = work) -> Any:
            return lambda: work(here[place], keys[place])

        one, two = await race_async(worker(0), worker(1))
        if keys[0] == keys[1]:
            again = await work(here[0], JOB)
            assert [group.outcome for group in again.groups] == [group.outcome for group in one.groups]
            assert [group.outcome for group in again.groups] == [group.outcome for group in two.groups]
        summaries = {ref.id for group in (*one.groups, *two.groups) for ref in group.outcome.added}
        assert set(await contents(here[0])) == summaries
        assert len(summaries) == len(names)


async def test_an_older_worker_is_fenced_before_it_asks_and_behind_its_model(storage: AsyncStorage) -> None:
    """R3, R6: and changes nothing; it ends at once, whatever groups are left."""
    store = await storage.open()
    await stored(store, turns("a", 3), turns("b", 3))

    async def take_over(_group: Group) -> None:
        must(await store.writer("jobs", 2).applied("anything"))

    model = AsyncModel(take_over)
    late = either(await store.writer("jobs", 1).consolidate(JOB, model, older_than=START, min_count=2))
    assert isinstance(late, Fenced)
    assert len(model.asked) == 1
    before = await storage.digest()
    model = AsyncModel()
    late = either(await store.writer("jobs", 1).consolidate(JOB, model, older_than=START, min_count=2))
    assert isinstance(late, Fenced)
    assert model.asked == []
    assert await storage.digest() == before
    assert statuses(await consolidated(store.writer("jobs", 2), model)) == ["stored", "stored"]


async def test_a_finished_scope_consolidates_nothing(storage: AsyncStorage) -> None:
    """Guarantee 10: nor does it say what was done."""
    store = await storage.open()
    await stored(store, turns("a", 3))
    writer = store.writer("jobs", 1)
    must(await writer.seal())
    model = AsyncModel()
    assert either(await writer.consolidate(JOB, model, older_than=START, min_count=2)) == Sealed()
    assert model.asked == []


@needs("joining")
async def test_no_model_is_asked_inside_a_caller_s_transaction(storage: AsyncStorage) -> None:
    """C8: the locks of that transaction would be held for as long as it thinks."""
    store = await storage.open()
    await stored(store, turns("a", 3))
    caller, model = await storage.caller(), AsyncModel()
    await caller.begin()
    for handle in (store.joined(caller.connection), store.joined(caller.connection).within("x").tenant("t")):
        with pytest.raises(ValueError, match=r"^a summariser is never called inside a transaction"):
            await consolidated(handle.writer("jobs", 1), model)
    await caller.roll_back()
    assert model.asked == []


async def test_a_job_of_a_run_that_has_lost_its_lease_sends_nothing_more(storage: AsyncStorage) -> None:
    """While the model was at it: its summary is not stored, and it is asked for no other."""
    store = await storage.open()
    await stored(store, turns("a", 3), turns("b", 3))
    run = must(await store.run("jobs", "worker"))
    before = []

    async def lose(_group: Group) -> None:
        await run.__aexit__(None, None, None)
        before.append(await storage.digest())

    model = AsyncModel(lose)
    async with run:
        refused = await run.writer.consolidate(JOB, model, older_than=START, min_count=2)
    assert either(refused) == LeaseLost()
    assert len(model.asked) == 1
    assert before == [await storage.digest()]
