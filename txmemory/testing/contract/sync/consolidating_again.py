# Generated from ../aio/consolidating_again.py by scripts/generate. Do not edit.
"""Guarantees 2, 3, 6 and 7 of a consolidation job: run again, broken off, beside others, by an old worker."""

from datetime import timedelta
from typing import Any

import pytest

from txmemory import (
    Consolidation,
    Fenced,
    Group,
    LeaseLost,
    Memory,
    Sealed,
    Store,
    Unavailable,
    either,
    must,
)
from txmemory.port import Down
from txmemory.testing.cases import needs
from txmemory.testing.clock import START
from txmemory.testing.racing import race
from txmemory.testing.sync.asking import contents
from txmemory.testing.sync.consolidating import JOB, Model, consolidated, statuses, stored, turns
from txmemory.testing.sync.faults import Losing
from txmemory.testing.sync.storage import Storage


def test_a_finished_job_answers_again_and_neither_asks_the_model_nor_looks_at_memories(
    storage: Storage,
) -> None:
    """R8: also once there is more of the same name, by a successor, and when the summaries are gone."""
    store = storage.open()
    stored(store, turns("a", 3), turns("b", 3))
    writer = store.writer("jobs", 1)
    first = consolidated(writer, Model())
    stored(store, turns("a", 5), turns("c", 5))
    must(store.delete(first.groups[0].outcome.added[0].id))
    before = contents(store)
    for token in (1, 2):
        model = Model()
        again = consolidated(store.writer("jobs", token), model, older_than=START + timedelta(days=1))
        assert [group.outcome for group in again.groups] == [group.outcome for group in first.groups]
        assert all(group.replayed for group in again.groups)
        assert (again.failed, model.asked) == ((), [])
    assert contents(store) == before
    model = Model()
    other = consolidated(store.writer("jobs", 2), model, "the next night")
    assert {group.name for group in model.asked} == {"a", "c"}
    assert not any(group.replayed for group in other.groups)


def test_a_job_with_nothing_to_do_is_finished(storage: Storage) -> None:
    """What comes later waits for another key, and the key says that the job is done."""
    store = storage.open()
    writer = store.writer("jobs", 1)
    first = consolidated(writer, Model())
    assert (first.groups, first.failed) == ((), ())
    assert must(writer.applied(first.key)) is not None
    stored(store, turns("a", 3))
    model = Model()
    assert consolidated(writer, model) == first
    assert model.asked == []


def test_the_same_key_in_another_namespace_is_another_job(storage: Storage) -> None:
    """Though scope and token are one: nobody's memories are left out because another's are done."""
    store = storage.open()
    done = []
    for user in ("ada", "bob"):
        own = store.within("users", user)
        stored(own, turns("a", 3))
        done.append(consolidated(own.writer("jobs", 1), Model()))
        assert set(contents(own)) == {group.outcome.added[0].id for group in done[-1].groups}
    assert [statuses(each) for each in done] == [["stored"], ["stored"]]
    assert done[0].key != done[1].key
    assert done[0].groups[0].key != done[1].groups[0].key


def test_a_run_that_broke_off_is_taken_up_and_tells_of_all_that_was_done(storage: Storage) -> None:
    """R1: whoever goes on adopts what is recorded, and does not sum up again what is, though there is more of it."""

    class Killed(BaseException):
        """Nothing catches it."""

    def die(group: Group) -> None:
        if group.name == "b":
            raise Killed

    store = storage.open()
    stored(store, turns("a", 3), turns("b", 3), turns("c", 3))
    with pytest.raises(Killed):
        consolidated(store.writer("jobs", 1), Model(die))
    assert len(contents(store)) == 1 + 3 + 3
    stored(store, turns("a", 4))
    model = Model()
    done = consolidated(store.writer("jobs", 2), model)
    assert [group.name for group in model.asked] == ["b", "c"]
    assert [group.replayed for group in done.groups] == [True, False, False]
    summaries = {group.outcome.added[0].id for group in done.groups}
    assert set(contents(store)) == {*summaries, *(memory.id for memory in turns("a", 4))}


def test_a_database_that_goes_away_behind_the_model_leaves_the_group_to_the_next_run(
    storage: Storage,
) -> None:
    """R4: the refusal ends the run, at the first look as well; the same call goes on from there."""
    backend = Losing(storage.backend())
    store = backend.store()
    stored(store, turns("a", 3), turns("b", 3))

    def go_away(group: Group) -> None:
        if group.name == "b":
            backend.faults = [Down("FULL")]

    model = Model(go_away)
    writer = store.writer("jobs", 1)
    for asked in ([], ["a", "b"]):
        backend.faults = [] if asked else [Down("FULL")]
        answer = either(writer.consolidate(JOB, model, older_than=START, min_count=2))
        assert answer == Unavailable("FULL")
        assert [group.name for group in model.asked] == asked
    assert len(contents(store)) == 1 + 3
    calm = Model()
    done = consolidated(writer, calm)
    assert [group.name for group in calm.asked] == ["b"]
    assert [(group.outcome.status, group.replayed) for group in done.groups] == [
        ("stored", True),
        ("stored", False),
    ]


def test_the_answer_to_a_replacement_that_was_lost_is_found(storage: Storage) -> None:
    """R9: it was made, and is told as what it is; the group is not summed up twice."""
    backend = Losing(storage.backend())
    store = backend.store()
    stored(store, turns("a", 3))

    def lose(_group: Group) -> None:
        backend.losses = 1

    model = Model(lose)
    done = consolidated(store.writer("jobs", 1), model)
    assert (statuses(done), len(model.asked)) == (["stored"], 1)
    assert set(contents(store)) == {done.groups[0].outcome.added[0].id}


def test_a_source_that_changes_while_the_model_thinks_makes_its_group_superseded(
    storage: Storage,
) -> None:
    """B3: nothing of the group is lost; under this key that is final, and the next job takes what is there then."""
    store = storage.open()
    other = storage.open()
    stored(store, turns("a", 3), turns("b", 3), turns("c", 3))

    def meddle(group: Group) -> None:
        match group.name:
            case "a":
                must(other.update("a-001", lambda memory: memory.with_content("said otherwise")))
            case "b":
                must(other.delete("b-002"))
            case _:
                must(other.store(turns("c", 4)[3]))  # what is new is no source

    writer = store.writer("jobs", 1)
    done = consolidated(writer, Model(meddle))
    assert statuses(done) == ["superseded", "superseded", "stored"]
    summary = done.groups[2].outcome.added[0].id
    left = contents(store)
    assert set(left) == {"a-000", "a-001", "a-002", "b-000", "b-001", "c-003", summary}
    assert left["a-001"] == "said otherwise"
    again = Model()
    assert statuses(consolidated(writer, again)) == ["superseded", "superseded", "stored"]
    assert again.asked == []
    consolidated(writer, again, "the next night")
    assert [len(group.memories) for group in again.asked] == [3, 2, 2]


def test_no_transaction_is_open_while_the_model_thinks(storage: Storage) -> None:
    """C8: the same scope and the same memories can be written meanwhile."""
    store = storage.open()
    other = storage.open(deadline=2.0)
    stored(store, turns("a", 3))

    def write(_group: Group) -> None:
        must(other.writer("jobs", 1).write("beside", [Memory("tea", id="beside")]))
        must(other.store(Memory("tea", id="a-000")))

    assert statuses(consolidated(store.writer("jobs", 1), Model(write))) == ["superseded"]
    assert {"beside", "a-000", "a-001", "a-002"} == set(contents(store))


def test_of_two_workers_under_one_key_one_stores_and_both_adopt_it(storage: Storage) -> None:
    """R2: the second does the whole job while the first one's model thinks about the first group."""
    one, two = storage.open(), storage.open()
    stored(one, turns("a", 3), turns("b", 3))
    second: list[Consolidation] = []

    def overtake(_group: Group) -> None:
        if not second:
            second.append(consolidated(two.writer("jobs", 1), Model()))

    model = Model(overtake)
    first = consolidated(one.writer("jobs", 1), model)
    assert [group.outcome for group in first.groups] == [group.outcome for group in second[0].groups]
    assert [group.replayed for group in first.groups] == [True, True]
    assert [group.replayed for group in second[0].groups] == [False, False]
    assert len(model.asked) == 1
    assert set(contents(one)) == {group.outcome.added[0].id for group in first.groups}


def test_of_two_workers_under_different_keys_one_stores_and_the_other_is_superseded(
    storage: Storage,
) -> None:
    """B1: of a group that both thought about; one that is gone by then is not asked about at all."""
    one, two = storage.open(), storage.open()
    stored(one, turns("a", 3), turns("b", 3))

    def overtake(_group: Group) -> None:
        second.append(consolidated(two.writer("other jobs", 1), Model(), "another night"))

    second: list[Consolidation] = []
    model = Model(overtake)
    first = consolidated(one.writer("jobs", 1), model)
    assert (statuses(first), statuses(second[0])) == (["superseded"], ["stored", "stored"])
    assert len(model.asked) == 1
    assert set(contents(one)) == {group.outcome.added[0].id for group in second[0].groups}


def test_two_workers_at_once_replace_each_group_once(storage: Storage) -> None:
    """R2: under one key both tell the same of every group; under two keys exactly one stores it."""
    stores = [storage.open(), storage.open()]
    names = [f"{number}" for number in range(4)]
    for turn, keys in enumerate([(JOB, JOB), ("this", "that")] * 5):
        here = [store.within(f"{turn}") for store in stores]
        stored(here[0], *[turns(name, 3) for name in names])

        def work(store: Store, key: str, scope: str = f"jobs {turn}") -> Consolidation:
            return consolidated(store.writer(scope, 1), Model(), key)

        def worker(place: int, here: Any = here, keys: Any = keys, work: Any = work) -> Any:
            return lambda: work(here[place], keys[place])

        one, two = race(worker(0), worker(1))
        if keys[0] == keys[1]:
            again = work(here[0], JOB)
            assert [group.outcome for group in again.groups] == [group.outcome for group in one.groups]
            assert [group.outcome for group in again.groups] == [group.outcome for group in two.groups]
        summaries = {ref.id for group in (*one.groups, *two.groups) for ref in group.outcome.added}
        assert set(contents(here[0])) == summaries
        assert len(summaries) == len(names)


def test_an_older_worker_is_fenced_before_it_asks_and_behind_its_model(storage: Storage) -> None:
    """R3, R6: and changes nothing; it ends at once, whatever groups are left."""
    store = storage.open()
    stored(store, turns("a", 3), turns("b", 3))

    def take_over(_group: Group) -> None:
        must(store.writer("jobs", 2).applied("anything"))

    model = Model(take_over)
    late = either(store.writer("jobs", 1).consolidate(JOB, model, older_than=START, min_count=2))
    assert isinstance(late, Fenced)
    assert len(model.asked) == 1
    before = storage.digest()
    model = Model()
    late = either(store.writer("jobs", 1).consolidate(JOB, model, older_than=START, min_count=2))
    assert isinstance(late, Fenced)
    assert model.asked == []
    assert storage.digest() == before
    assert statuses(consolidated(store.writer("jobs", 2), model)) == ["stored", "stored"]


def test_a_finished_scope_consolidates_nothing(storage: Storage) -> None:
    """Guarantee 10: nor does it say what was done."""
    store = storage.open()
    stored(store, turns("a", 3))
    writer = store.writer("jobs", 1)
    must(writer.seal())
    model = Model()
    assert either(writer.consolidate(JOB, model, older_than=START, min_count=2)) == Sealed()
    assert model.asked == []


@needs("joining")
def test_no_model_is_asked_inside_a_caller_s_transaction(storage: Storage) -> None:
    """C8: the locks of that transaction would be held for as long as it thinks."""
    store = storage.open()
    stored(store, turns("a", 3))
    caller, model = storage.caller(), Model()
    caller.begin()
    for handle in (store.joined(caller.connection), store.joined(caller.connection).within("x").tenant("t")):
        with pytest.raises(ValueError, match=r"^a summariser is never called inside a transaction"):
            consolidated(handle.writer("jobs", 1), model)
    caller.roll_back()
    assert model.asked == []


def test_a_job_of_a_run_that_has_lost_its_lease_sends_nothing_more(storage: Storage) -> None:
    """While the model was at it: its summary is not stored, and it is asked for no other."""
    store = storage.open()
    stored(store, turns("a", 3), turns("b", 3))
    run = must(store.run("jobs", "worker"))
    before = []

    def lose(_group: Group) -> None:
        run.__exit__(None, None, None)
        before.append(storage.digest())

    model = Model(lose)
    with run:
        refused = run.writer.consolidate(JOB, model, older_than=START, min_count=2)
    assert either(refused) == LeaseLost()
    assert len(model.asked) == 1
    assert before == [storage.digest()]
