# Generated from ../aio/replacement.py by scripts/generate. Do not edit.
"""Guarantee 7: a replacement needs all that it removes, happens once, and the loser stays the loser."""

from copy import copy
from functools import partial

import pytest

from txmemory import AlreadyExists, Memory, Receipt, StaleRevision, either, must
from txmemory.testing.racing import race
from txmemory.testing.sync.asking import contents, written
from txmemory.testing.sync.storage import Storage

SOURCES = ("a", "b", "c", "d", "e")


def test_a_replacement_stores_and_ends_in_one_step(storage: Storage) -> None:
    """Guarantee 1 and 7: what it added, what it removed, at one time of record, in one event."""
    store = storage.open()
    writer = store.writer("run", 1)
    written(writer, "step-1", *SOURCES)
    receipt = must(writer.replace("step-2", [Memory("summary", id="s")], SOURCES))
    outcome = receipt.outcome
    assert (receipt.replayed, outcome.status, outcome.seq) == (False, "stored", 2)
    assert [(ref.id, ref.revision) for ref in outcome.added] == [("s", 1)]
    assert [(ref.id, ref.revision) for ref in outcome.removed] == [(id, 2) for id in SOURCES]
    assert outcome.evicted == ()
    assert contents(store) == {"s": "summary"}
    assert {entry.at for id in (*SOURCES, "s") for entry in must(store.history(id))[-1:]} == {outcome.at}
    assert len(storage.events()) == 2


def test_a_memory_read_in_another_namespace_is_no_source(storage: Storage) -> None:
    """An id says nothing of where it was read, so another item with the same id would be ended in its place."""
    store = storage.open()
    elsewhere = store.within("else")
    written(store.writer("run", 1), "step-1", "a")
    written(elsewhere.writer("run", 1), "step-2", "a")
    read = must(elsewhere.get("a"))
    (listed,) = must(elsewhere.recall())
    (past,) = must(elsewhere.history("a"))
    for source in (read, listed, past.memory, copy(read)):
        assert source is not None
        with pytest.raises(ValueError, match=r"^a memory to remove was read in another namespace$"):
            store.writer("run", 1).replace("step-3", [], [source])
    assert must(store.exists("a"))
    assert must(elsewhere.writer("run", 1).replace("step-3", [], [listed])).outcome.status == "stored"


def test_a_memory_that_was_read_is_stored_elsewhere_as_it_was(storage: Storage) -> None:
    """With the time that the store gave it, and as a source of where it was stored, if it is read there."""
    store = storage.open()
    written(store.writer("run", 1), "step-1", "a")
    read = must(store.get("a"))
    assert read is not None
    elsewhere = store.within("else")
    must(elsewhere.writer("run", 1).write("step-2", [read]))
    assert must(elsewhere.get("a")) == read


def test_a_replacement_without_all_of_its_sources_does_nothing_for_ever(storage: Storage) -> None:
    """Guarantee 7: nothing written, nothing removed, nothing evicted; the outcome is recorded."""
    store = storage.open()
    writer = store.writer("run", 1)
    written(writer, "step-1", "a", "b")
    receipt = must(writer.replace("step-2", [Memory("summary", id="s")], ["a", "gone", "b"]))
    outcome = receipt.outcome
    assert (outcome.status, outcome.added, outcome.removed, outcome.evicted) == ("superseded", (), (), ())
    assert (outcome.seq, outcome.token) == (2, 1)
    assert set(contents(store)) == {"a", "b"}
    assert must(writer.replace("step-2", [Memory("summary", id="s")], ["a", "gone", "b"])) == Receipt(
        outcome, replayed=True
    )
    assert must(writer.applied("step-2")) == outcome


def test_of_two_replacers_of_the_same_sources_one_stores(storage: Storage) -> None:
    """B1: from different scopes and stores: one stored, one superseded, and their replays say the same."""
    opened = [storage.open(), storage.open()]
    for turn in range(30):
        stores = [store.within(f"{turn}") for store in opened]
        written(stores[0].writer("setup", 1), f"step-{turn}", *SOURCES)
        orders = (SOURCES, SOURCES[::-1])
        calls = [
            partial(
                store.writer(f"run-{n}", 1).replace, f"step-{turn}", [Memory("sum", id=f"s-{n}")], orders[n]
            )
            for n, store in enumerate(stores)
        ]
        receipts = [must(result) for result in race(*calls)]
        assert sorted(receipt.outcome.status for receipt in receipts) == ["stored", "superseded"]
        again = [must(call()) for call in calls]
        assert [one.outcome for one in again] == [one.outcome for one in receipts]
        assert all(one.replayed for one in again)
        winner = 0 if receipts[0].outcome.status == "stored" else 1
        assert set(contents(stores[0])) == {f"s-{winner}"}


def test_a_loser_stays_the_loser_when_its_sources_come_back(storage: Storage) -> None:
    """B2: the recorded outcome is superseded, and nothing is done later."""
    store = storage.open()
    writer = store.writer("run", 1)
    lost = must(writer.replace("step", [Memory("summary", id="s")], ["a"]))
    must(store.store(Memory("tea", id="a")))
    for token in (1, 2):
        again = must(store.writer("run", token).replace("step", [Memory("summary", id="s")], ["a"]))
        assert again == Receipt(lost.outcome, replayed=True)
    assert set(contents(store)) == {"a"}


def test_a_source_that_changed_since_it_was_read_counts_as_gone(storage: Storage) -> None:
    """B3: as a memory that was read and as (id, revision); by id alone it is still there."""
    store = storage.open()
    writer = store.writer("run", 1)
    written(writer, "step-1", "a")
    read = must(store.get("a"))
    assert read is not None
    must(store.store(Memory("updated", id="a")))
    assert must(writer.replace("step-2", [], [read])).outcome.status == "superseded"
    assert must(writer.replace("step-3", [], [("a", 1)])).outcome.status == "superseded"
    assert must(writer.replace("step-4", [], [("a", 3)])).outcome.status == "superseded"
    assert contents(store) == {"a": "updated"}
    assert must(writer.replace("step-5", [], [("a", 2), "a"])).outcome.status == "stored"
    assert contents(store) == {}


def test_a_source_that_was_deleted_and_stored_again_is_another_revision(storage: Storage) -> None:
    """B3, L11: deleted and created anew is not what was read, but it is there."""
    store = storage.open()
    writer = store.writer("run", 1)
    written(writer, "step-1", "a")
    must(store.delete("a"))
    must(store.store(Memory("tea", id="a")))
    assert must(writer.replace("step-2", [], [("a", 1)])).outcome.status == "superseded"
    receipt = must(writer.replace("step-3", [], ["a"]))
    assert [(ref.id, ref.revision) for ref in receipt.outcome.removed] == [("a", 4)]


def test_a_replacement_sees_what_was_created_again_while_it_waited(storage: Storage) -> None:
    """L11: delete and re-create beside a replace: it ends the item that it found, or finds none."""
    one, two = storage.open(), storage.open()
    for turn in range(40):
        id = f"m-{turn}"
        must(one.store(Memory("tea", id=id)))

        def again(id: str = id) -> str:
            must(two.delete(id))
            must(two.store(Memory("tea again", id=id)))
            return ""

        def replace(id: str = id) -> str:
            return must(one.writer("run", 1).replace(id, [], [id])).outcome.status

        _, status = race(again, replace)
        history = [(entry.revision, entry.reason) for entry in must(one.history(id))]
        removed = [revision for revision, reason in history if reason == "replaced"]
        assert len(removed) == (status == "stored")
        assert [revision for revision, _ in history] == list(range(1, len(history) + 1))
        assert must(one.exists(id)) is (history[-1][1] == "stored")


def test_sources_are_a_set_and_two_revisions_of_one_are_refused_when_built(
    storage: Storage,
) -> None:
    """A source twice counts once; at two revisions it can never be there."""
    store = storage.open()
    writer = store.writer("run", 1)
    written(writer, "step-1", "a")
    with pytest.raises(ValueError):
        writer.replace("step-2", [], [("a", 1), ("a", 2)])
    receipt = must(writer.replace("step-2", [], ["a", "a", ("a", 1)]))
    assert [ref.id for ref in receipt.outcome.removed] == ["a"]


def test_a_replacement_of_nothing_by_nothing_is_stored(storage: Storage) -> None:
    """An empty step is a legitimate outcome, told apart from superseded."""
    writer = storage.open().writer("run", 1)
    for call in (writer.write("a", []), writer.replace("b", [], [])):
        outcome = must(call).outcome
        assert (outcome.status, outcome.added, outcome.removed) == ("stored", (), ())
    assert [event.key for _, event in storage.events()] == ["a", "b"]


def test_an_expectation_that_fails_is_refused_and_not_recorded(storage: Storage) -> None:
    """Guarantee 8: `StaleRevision` and `AlreadyExists` leave no trace; later the same key may succeed."""
    store = storage.open()
    writer = store.writer("run", 1)
    written(writer, "step-1", "a")
    before = storage.digest()
    coffee = [Memory("coffee", id="a")]
    stale = either(writer.write("step-2", coffee, expect={"b": None, "a": 2}))
    assert isinstance(stale, StaleRevision)
    assert (stale, stale.id) == (StaleRevision(2, 1), "a")
    exists = either(writer.write("step-2", coffee, expect={"a": None}))
    assert isinstance(exists, AlreadyExists)
    assert (exists, exists.id) == (AlreadyExists(1), "a")
    assert either(writer.write("step-2", coffee, expect={"b": 1})) == StaleRevision(1, 0)
    assert storage.digest() == before
    assert must(writer.write("step-2", coffee, expect={"a": 1, "b": None})).outcome.added[0].revision == 2


def test_what_is_expected_is_judged_before_what_is_replaced(storage: Storage) -> None:
    """A failed expectation is a refusal although a source is gone too."""
    store = storage.open()
    writer = store.writer("run", 1)
    refused = either(writer.replace("step", [], ["gone"], expect={"b": 1}))
    assert refused == StaleRevision(1, 0)
    assert must(writer.applied("step")) is None


def test_of_racing_writers_that_expect_the_same_revision_one_writes(storage: Storage) -> None:
    """Guarantee 1: compare and set, from two scopes."""
    stores = [storage.open(), storage.open()]
    must(stores[0].store(Memory("0", id="n")))
    for turn in range(1, 31):
        calls = (
            partial(
                store.writer(f"run-{n}", 1).write, f"{turn}", [Memory(f"{turn}", id="n")], expect={"n": turn}
            )
            for n, store in enumerate(stores)
        )
        answers = [either(result) for result in race(*calls)]
        assert sum(isinstance(answer, Receipt) for answer in answers) == 1
        assert StaleRevision(turn, turn + 1) in answers


def test_overlapping_batches_in_opposite_orders_meet_no_deadlock(storage: Storage) -> None:
    """C6: new and known ids, in opposite orders, from different scopes."""
    stores = [storage.open(), storage.open()]
    for turn in range(100):
        ids = [f"m-{turn}", "shared", f"n-{turn}", f"m-{turn - 1}"]
        receipts = race(
            partial(written, stores[0].writer("run-0", 1), f"step-{turn}", *ids),
            partial(written, stores[1].writer("run-1", 1), f"step-{turn}", *ids[::-1]),
        )
        assert not any(receipt.replayed for receipt in receipts)


def test_writes_that_name_the_same_items_in_opposite_roles_meet_no_deadlock(
    storage: Storage,
) -> None:
    """C15: one replaces what the other expects, beside write_many and new ids."""
    stores = [storage.open() for _ in range(3)]
    for turn in range(40):
        a, b, new = f"a-{turn}", f"b-{turn}", f"new-{turn}"
        written(stores[0].writer("setup", 1), f"{turn}", a, b)
        answers = race(
            partial(stores[0].writer("x", 1).replace, f"{turn}", [Memory("x", id=new)], [b], expect={a: 1}),
            partial(
                stores[1].writer("y", 1).replace, f"{turn}", [Memory("y", id=f"{new}-y")], [a], expect={b: 1}
            ),
            partial(
                stores[2].writer("z", 1).write, f"{turn}", [Memory("z", id=new), Memory("z", id=f"{new}-z")]
            ),
        )
        assert isinstance(either(answers[2]), Receipt)
        first = [either(answer) for answer in answers[:2]]
        assert sum(isinstance(answer, Receipt) for answer in first) == 1
        assert StaleRevision(1, 0) in first
