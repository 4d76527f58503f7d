# Generated from ../aio/replay.py by scripts/generate. Do not edit.
"""Guarantee 2: an applied key answers its recorded outcome, and nothing is written twice."""

from collections.abc import Iterator
from datetime import timedelta
from functools import partial

import pytest

from txmemory import KeyReused, Memory, Receipt, either, must
from txmemory.testing.cases import needs
from txmemory.testing.racing import race
from txmemory.testing.sync.asking import contents, written
from txmemory.testing.sync.storage import Storage

ROUNDS = 200


def test_of_two_racing_writes_of_one_key_exactly_one_is_replayed(storage: Storage) -> None:
    """R2: two writers, the same key, 200 rounds: the same outcome, exactly one replayed."""
    first = storage.open().writer("run", 1)
    second = storage.open().writer("run", 1)
    for turn in range(ROUNDS):
        key = f"step-{turn}"
        calls = (partial(writer.write, key, [Memory("tea")]) for writer in (first, second))
        receipts = [must(result) for result in race(*calls)]
        assert sorted(receipt.replayed for receipt in receipts) == [False, True]
        assert receipts[0].outcome == receipts[1].outcome
    assert must(storage.open().count()) == ROUNDS


def test_nothing_is_lost_when_many_write_through_one_store(storage: Storage) -> None:
    """R5: 32 writers, one store object, distinct keys."""
    store = storage.open()
    calls = (partial(written, store.writer(f"run-{n % 4}", 1), f"step-{n}", f"m-{n}") for n in range(32))
    receipts = race(*calls)
    assert not any(receipt.replayed for receipt in receipts)
    assert set(contents(store)) == {f"m-{n}" for n in range(32)}
    for scope in range(4):
        seqs = [receipt.outcome.seq or 0 for receipt in receipts[scope::4]]
        assert sorted(seqs) == list(range(1, 9))


def test_a_replay_answers_the_outcome_though_the_memory_was_deleted(storage: Storage) -> None:
    """R8: write, delete, replay: the original outcome, nothing written."""
    store = storage.open()
    writer = store.writer("run", 1)
    first = written(writer, "step", "a", "b")
    assert must(store.delete("a"))
    before = storage.digest()
    again = written(writer, "step", "a", "b")
    assert again == Receipt(first.outcome, replayed=True)
    assert storage.digest() == before
    assert set(contents(store)) == {"b"}


def test_a_replay_after_clear_answers_the_outcome_and_restores_nothing(storage: Storage) -> None:
    """R8, guarantee 10: keys outlive the items."""
    store = storage.open()
    first = written(store.writer("run", 1), "step", "a", "b")
    assert must(store.clear()) == 2
    again = written(store.writer("run", 2), "step", "a", "b")
    assert again == Receipt(first.outcome, replayed=True)
    assert must(store.count()) == 0


def test_first_answer_replay_and_look_up_are_equal_in_every_field(storage: Storage) -> None:
    """R9: seq, refs, at and token too, whichever token replays and whoever asks."""
    store = storage.open()
    writer = store.writer("run", 1, holder="ada")
    written(writer, "step-1", "a", "b")
    first = must(writer.replace("step-2", [Memory("green", id="c")], ["a", "b"]))
    assert (first.outcome.seq, first.outcome.token, first.outcome.status) == (2, 1, "stored")
    assert [(ref.id, ref.revision) for ref in first.outcome.added] == [("c", 1)]
    assert [(ref.id, ref.revision) for ref in first.outcome.removed] == [("a", 2), ("b", 2)]
    storage.clock.advance(timedelta(hours=1))
    for token in (1, 3):
        later = storage.open().writer("run", token, holder="ada")
        again = must(later.replace("step-2", [Memory("green", id="c")], ["a", "b"]))
        assert again == Receipt(first.outcome, replayed=True)
        assert must(later.applied("step-2")) == first.outcome


@needs("persistence")
def test_a_key_stays_applied_for_forty_days_through_other_keys_and_a_restart(
    storage: Storage,
) -> None:
    """R10, the other keys scaled down."""
    store = storage.open()
    first = written(store.writer("run", 1), "step", "a")
    for batch in range(3):
        keys = [(f"other-{batch}-{n}", list[Memory]()) for n in range(1_000)]
        many = must(store.writer("run", 1).write_many(keys))
        assert all(not must(result).replayed for result in many)
    store.close()
    storage.clock.advance(timedelta(days=40))
    store = storage.open()
    assert written(store.writer("run", 1), "step", "a") == Receipt(first.outcome, replayed=True)
    assert must(store.applied_count("run")) == 3_001
    assert must(store.applied_count()) == 3_001


def test_what_was_written_is_detached_from_the_caller_s_objects(storage: Storage) -> None:
    """R11: the list and the dict change after and during the call."""
    store = storage.open()
    writer = store.writer("run", 1)
    metadata = {"source": "kitchen"}
    memory = Memory("tea", id="a", metadata=metadata)
    metadata["source"] = "cellar"
    batch = [memory]

    def taken_apart() -> Iterator[Memory]:
        while batch:
            yield batch.pop()

    first = must(writer.write("step", taken_apart()))
    metadata.clear()
    again = must(writer.write("step", [Memory("tea", id="a", metadata={"source": "kitchen"})]))
    assert again == Receipt(first.outcome, replayed=True)
    found = must(store.get("a"))
    assert found is not None
    assert found.metadata == {"source": "kitchen"}


@needs("persistence")
def test_another_payload_under_a_key_is_diverged_and_never_written(storage: Storage) -> None:
    """R12: fresh, with a newer token, among many, as a replacement, and after a restart."""
    store = storage.open()
    writer = store.writer("run", 1)
    first = must(writer.write("step", [Memory("tea", id="a")]))
    diverged = Receipt(first.outcome, replayed=True, diverged=True)
    assert must(writer.write("step", [Memory("coffee", id="a")])) == diverged
    assert must(store.writer("run", 2).write("step", [Memory("tea", id="b")])) == diverged
    many = must(store.writer("run", 2).write_many([("step", [Memory("coffee")]), ("new", [])]))
    assert must(many[0]) == diverged
    assert not must(many[1]).replayed
    assert must(store.writer("run", 2).replace("step", [], ["a"])) == diverged
    store.close()
    store = storage.open()
    assert must(store.writer("run", 2).write("step", [])) == diverged
    assert contents(store) == {"a": "tea"}


def test_a_racing_write_with_another_payload_is_diverged(storage: Storage) -> None:
    """R12: whichever lands first is what both are told, and only the other one has diverged."""
    one, two = storage.open(), storage.open()
    for turn in range(50):
        key = f"step-{turn}"
        receipts = race(
            partial(written, one.writer("run", 1), key, key, content="tea"),
            partial(written, two.writer("run", 1), key, key, content="coffee"),
        )
        assert sorted((receipt.replayed, receipt.diverged) for receipt in receipts) == [
            (False, False),
            (True, True),
        ]
        assert receipts[0].outcome == receipts[1].outcome
        won = "coffee" if receipts[0].replayed else "tea"
        assert contents(one)[key] == won


def test_another_payload_is_refused_to_who_asks_for_that(storage: Storage) -> None:
    """R12: `KeyReused`, from write, replace and write_many; the same payload is replayed all the same."""
    store = storage.open()
    writer = store.writer("run", 1)
    first = must(writer.write("step", [Memory("tea", id="a")]))
    before = storage.digest()
    assert either(writer.write("step", [Memory("coffee", id="a")], on_mismatch="refuse")) == KeyReused()
    assert either(writer.replace("step", [], ["a"], on_mismatch="refuse")) == KeyReused()
    many = must(writer.write_many([("step", [Memory("coffee", id="a")])], on_mismatch="refuse"))
    assert [either(result) for result in many] == [KeyReused()]
    same = must(writer.write("step", [Memory("tea", id="a")], on_mismatch="refuse"))
    assert same == Receipt(first.outcome, replayed=True)
    assert storage.digest() == before


def test_a_key_belongs_to_its_scope_and_its_tenant(storage: Storage) -> None:
    """R13: the same key in another scope or tenant is another key."""
    store = storage.open()
    places = [store.writer("run", 1), store.writer("run 2", 1), store.tenant("acme").writer("run", 1)]
    receipts = []
    for place, writer in enumerate(places):
        receipts.append(written(writer, "step", f"m-{place}"))
        assert (receipts[-1].replayed, receipts[-1].outcome.seq) == (False, 1)
    for place, (writer, first) in enumerate(zip(places, receipts, strict=True)):
        assert written(writer, "step", f"m-{place}") == Receipt(first.outcome, replayed=True)
    assert set(contents(store)) == {"m-0", "m-1"}
    assert set(contents(store.tenant("acme"))) == {"m-2"}


def test_the_kind_of_a_call_is_part_of_what_it_asked(storage: Storage) -> None:
    """R13: a replace under the key of a write that added the same is not the same request."""
    store = storage.open()
    writer = store.writer("run", 1)
    written(writer, "step", "a")
    assert must(writer.replace("step", [Memory("tea", id="a")], [])).diverged


def test_of_many_keys_each_is_answered_for_itself(storage: Storage) -> None:
    """R14: keys 1, 3, 7, then 2, 7, 14: 7 replayed, 2 and 14 applied, in one transaction."""
    store = storage.open()
    writer = store.writer("run", 1)
    first = must(writer.write_many([(f"{n}", [Memory("tea", id=f"m-{n}")]) for n in (1, 3, 7)]))
    assert [must(result).replayed for result in first] == [False, False, False]
    then = must(writer.write_many([(f"{n}", [Memory("tea", id=f"m-{n}")]) for n in (2, 7, 14)]))
    receipts = [must(result) for result in then]
    assert [receipt.replayed for receipt in receipts] == [False, True, False]
    assert receipts[1].outcome == must(first[2]).outcome
    assert [receipt.outcome.seq for receipt in receipts] == [4, 3, 5]
    assert receipts[0].outcome.at == receipts[2].outcome.at
    assert set(contents(store)) == {f"m-{n}" for n in (1, 2, 3, 7, 14)}


def test_a_write_many_names_each_key_and_each_item_once(storage: Storage) -> None:
    """Keys are distinct, items disjoint, 1 to 1,000 of them, or nothing is sent."""
    writer = storage.open().writer("run", 1)
    before = storage.digest()
    for writes in (
        [("a", [Memory("tea")]), ("a", [Memory("tea")])],
        [("a", [Memory("tea", id="m")]), ("b", [Memory("tea", id="m")])],
        [],
        [(f"{n}", list[Memory]()) for n in range(1_001)],
    ):
        with pytest.raises(ValueError):
            writer.write_many(writes)
    assert storage.digest() == before


def test_the_key_is_asked_before_the_expected_revision(storage: Storage) -> None:
    """R15: a known key with an expectation that is stale by now answers its outcome."""
    store = storage.open()
    writer = store.writer("run", 1)
    written(writer, "step-1", "a")
    first = must(writer.write("step-2", [Memory("coffee", id="a")], expect={"a": 1}))
    for token in (1, 2):
        again = store.writer("run", token).write("step-2", [Memory("coffee", id="a")], expect={"a": 1})
        assert must(again) == Receipt(first.outcome, replayed=True)


def test_an_id_twice_in_one_write_counts_as_its_last_occurrence(storage: Storage) -> None:
    """R16: once, at the last one's place, with one revision."""
    store = storage.open()
    batch = [Memory("old", id="a"), Memory("tea", id="b"), Memory("new", id="a")]
    receipt = must(store.writer("run", 1).write("step", batch))
    assert [(ref.id, ref.revision) for ref in receipt.outcome.added] == [("b", 1), ("a", 1)]
    assert contents(store) == {"a": "new", "b": "tea"}
    assert not must(store.writer("run", 1).write("step", batch[1:])).diverged


def test_an_id_both_added_and_removed_is_refused_when_built(storage: Storage) -> None:
    """R16: in every spelling of a source, and the fence is not moved."""
    store = storage.open()
    written(store.writer("run", 1), "step", "a")
    read = must(store.get("a"))
    assert read is not None
    before = storage.digest()
    for source in ("a", ("a", 1), read):
        with pytest.raises(ValueError):
            store.writer("run", 2).replace("other", [Memory("tea", id="a")], [source])
    assert storage.digest() == before


def test_an_applied_key_answers_before_what_it_names_is_looked_at(storage: Storage) -> None:
    """R17: a replay whose sources are long gone gets its outcome."""
    store = storage.open()
    writer = store.writer("run", 1)
    written(writer, "step-1", "a")
    first = must(writer.replace("step-2", [], ["a"]))
    assert must(writer.replace("step-2", [], ["a"])) == Receipt(first.outcome, replayed=True)
    assert must(writer.replace("step-3", [], ["a"])).outcome.status == "superseded"


def test_an_honest_replay_has_not_diverged(storage: Storage) -> None:
    """R19: the same content with new ids and times that we made, an hour later, by a newer token."""
    store = storage.open()

    def batch() -> list[Memory]:
        return [
            Memory("tea", importance=1),
            Memory("coffee", memory_type="task", metadata={"b": "2", "a": "1"}),
        ]

    first = must(store.writer("run", 1).write("step", batch()))
    storage.clock.advance(timedelta(hours=1))
    again = must(store.writer("run", 2).write("step", batch()))
    assert again == Receipt(first.outcome, replayed=True)
    moved = must(store.writer("run", 2).write("step", [*reversed(batch())]))
    assert moved.diverged


def test_a_forgotten_key_applies_again(storage: Storage) -> None:
    """Forget, then apply again, as often as one likes; a key that is not there is a success."""
    store = storage.open()
    writer = store.writer("run", 1)
    for turn in range(1, 4):
        receipt = written(writer, "step", "a")
        assert (receipt.replayed, receipt.outcome.added[0].revision) == (False, turn)
        assert must(writer.forget_applied("step"))
        assert must(writer.applied("step")) is None
        assert not must(writer.forget_applied("step"))
    assert [event.kind for _, event in storage.events()] == ["record", "forget"] * 3


def test_applied_keys_are_listed_by_code_point_in_pages(storage: Storage) -> None:
    """Keys of one scope, behind the last one seen; case, accents and length do not matter."""
    store = storage.open()
    names = ["a", "A", "b", "a%", "a_", "\u00e9", "e\u0301", "\U0001f375", "\uffee", "step-10", "step-9", " "]
    must(store.writer("run", 1).write_many([(name, list[Memory]()) for name in names]))
    written(store.writer("other", 1), "z")
    listed: list[str] = []
    while page := must(store.keys("run", after=listed[-1] if listed else "", limit=5)):
        listed += page
    assert listed == sorted(names)
    assert must(store.keys("run", limit=0)) == []
    assert must(store.keys("nowhere")) == []
