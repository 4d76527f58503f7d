"""Guarantee 2: an applied key answers its recorded outcome, and nothing is written twice."""

from collections.abc import Iterator
from datetime import timedelta
from functools import partial

import pytest

from txmemory import KeyReused, Memory, Receipt, either, must
from txmemory.testing.aio.asking import contents, written
from txmemory.testing.aio.storage import AsyncStorage
from txmemory.testing.cases import needs
from txmemory.testing.racing import race_async

ROUNDS = 200


async def test_of_two_racing_writes_of_one_key_exactly_one_is_replayed(storage: AsyncStorage) -> None:
    """R2: two writers, the same key, 200 rounds: the same outcome, exactly one replayed."""
    first = (await storage.open()).writer("run", 1)
    second = (await storage.open()).writer("run", 1)
    for turn in range(ROUNDS):
        key = f"step-{turn}"
        calls = (partial(writer.write, key, [Memory("tea")]) for writer in (first, second))
        receipts = [must(result) for result in await race_async(*calls)]
        assert sorted(receipt.replayed for receipt in receipts) == [False, True]
        assert receipts[0].outcome == receipts[1].outcome
    assert must(await (await storage.open()).count()) == ROUNDS


async def test_nothing_is_lost_when_many_write_through_one_store(storage: AsyncStorage) -> None:
    """R5: 32 writers, one store object, distinct keys."""
    store = await storage.open()
    calls = (partial(written, store.writer(f"run-{n % 4}", 1), f"step-{n}", f"m-{n}") for n in range(32))
    receipts = await race_async(*calls)
    assert not any(receipt.replayed for receipt in receipts)
    assert set(await contents(store)) == {f"m-{n}" for n in range(32)}
    for scope in range(4):
        seqs = [receipt.outcome.seq or 0 for receipt in receipts[scope::4]]
        assert sorted(seqs) == list(range(1, 9))


async def test_a_replay_answers_the_outcome_though_the_memory_was_deleted(storage: AsyncStorage) -> None:
    """R8: write, delete, replay: the original outcome, nothing written."""
    store = await storage.open()
    writer = store.writer("run", 1)
    first = await written(writer, "step", "a", "b")
    assert must(await store.delete("a"))
    before = await storage.digest()
    again = await written(writer, "step", "a", "b")
    assert again == Receipt(first.outcome, replayed=True)
    assert await storage.digest() == before
    assert set(await contents(store)) == {"b"}


async def test_a_replay_after_clear_answers_the_outcome_and_restores_nothing(storage: AsyncStorage) -> None:
    """R8, guarantee 10: keys outlive the items."""
    store = await storage.open()
    first = await written(store.writer("run", 1), "step", "a", "b")
    assert must(await store.clear()) == 2
    again = await written(store.writer("run", 2), "step", "a", "b")
    assert again == Receipt(first.outcome, replayed=True)
    assert must(await store.count()) == 0


async def test_first_answer_replay_and_look_up_are_equal_in_every_field(storage: AsyncStorage) -> None:
    """R9: seq, refs, at and token too, whichever token replays and whoever asks."""
    store = await storage.open()
    writer = store.writer("run", 1, holder="ada")
    await written(writer, "step-1", "a", "b")
    first = must(await writer.replace("step-2", [Memory("green", id="c")], ["a", "b"]))
    assert (first.outcome.seq, first.outcome.token, first.outcome.status) == (2, 1, "stored")
    assert [(ref.id, ref.revision) for ref in first.outcome.added] == [("c", 1)]
    assert [(ref.id, ref.revision) for ref in first.outcome.removed] == [("a", 2), ("b", 2)]
    storage.clock.advance(timedelta(hours=1))
    for token in (1, 3):
        later = (await storage.open()).writer("run", token, holder="ada")
        again = must(await later.replace("step-2", [Memory("green", id="c")], ["a", "b"]))
        assert again == Receipt(first.outcome, replayed=True)
        assert must(await later.applied("step-2")) == first.outcome


@needs("persistence")
async def test_a_key_stays_applied_for_forty_days_through_other_keys_and_a_restart(
    storage: AsyncStorage,
) -> None:
    """R10, the other keys scaled down."""
    store = await storage.open()
    first = await written(store.writer("run", 1), "step", "a")
    for batch in range(3):
        keys = [(f"other-{batch}-{n}", list[Memory]()) for n in range(1_000)]
        many = must(await store.writer("run", 1).write_many(keys))
        assert all(not must(result).replayed for result in many)
    await store.close()
    storage.clock.advance(timedelta(days=40))
    store = await storage.open()
    assert await written(store.writer("run", 1), "step", "a") == Receipt(first.outcome, replayed=True)
    assert must(await store.applied_count("run")) == 3_001
    assert must(await store.applied_count()) == 3_001


async def test_what_was_written_is_detached_from_the_caller_s_objects(storage: AsyncStorage) -> None:
    """R11: the list and the dict change after and during the call."""
    store = await storage.open()
    writer = store.writer("run", 1)
    metadata = {"source": "kitchen"}
    memory = Memory("tea", id="a", metadata=metadata)
    metadata["source"] = "cellar"
    batch = [memory]

    def taken_apart() -> Iterator[Memory]:
        while batch:
            yield batch.pop()

    first = must(await writer.write("step", taken_apart()))
    metadata.clear()
    again = must(await writer.write("step", [Memory("tea", id="a", metadata={"source": "kitchen"})]))
    assert again == Receipt(first.outcome, replayed=True)
    found = must(await store.get("a"))
    assert found is not None
    assert found.metadata == {"source": "kitchen"}


@needs("persistence")
async def test_another_payload_under_a_key_is_diverged_and_never_written(storage: AsyncStorage) -> None:
    """R12: fresh, with a newer token, among many, as a replacement, and after a restart."""
    store = await storage.open()
    writer = store.writer("run", 1)
    first = must(await writer.write("step", [Memory("tea", id="a")]))
    diverged = Receipt(first.outcome, replayed=True, diverged=True)
    assert must(await writer.write("step", [Memory("coffee", id="a")])) == diverged
    assert must(await store.writer("run", 2).write("step", [Memory("tea", id="b")])) == diverged
    many = must(await store.writer("run", 2).write_many([("step", [Memory("coffee")]), ("new", [])]))
    assert must(many[0]) == diverged
    assert not must(many[1]).replayed
    assert must(await store.writer("run", 2).replace("step", [], ["a"])) == diverged
    await store.close()
    store = await storage.open()
    assert must(await store.writer("run", 2).write("step", [])) == diverged
    assert await contents(store) == {"a": "tea"}


async def test_a_racing_write_with_another_payload_is_diverged(storage: AsyncStorage) -> None:
    """R12: whichever lands first is what both are told, and only the other one has diverged."""
    one, two = await storage.open(), await storage.open()
    for turn in range(50):
        key = f"step-{turn}"
        receipts = await race_async(
            partial(written, one.writer("run", 1), key, key, content="tea"),
            partial(written, two.writer("run", 1), key, key, content="coffee"),
        )
        assert sorted((receipt.replayed, receipt.diverged) for receipt in receipts) == [
            (False, False),
            (True, True),
        ]
        assert receipts[0].outcome == receipts[1].outcome
        won = "coffee" if receipts[0].replayed else "tea"
        assert (await contents(one))[key] == won


async def test_another_payload_is_refused_to_who_asks_for_that(storage: AsyncStorage) -> None:
    """R12: `KeyReused`, from write, replace and write_many; the same payload is replayed all the same."""
    store = await storage.open()
    writer = store.writer("run", 1)
    first = must(await writer.write("step", [Memory("tea", id="a")]))
    before = await storage.digest()
    assert either(await writer.write("step", [Memory("coffee", id="a")], on_mismatch="refuse")) == KeyReused()
    assert either(await writer.replace("step", [], ["a"], on_mismatch="refuse")) == KeyReused()
    many = must(await writer.write_many([("step", [Memory("coffee", id="a")])], on_mismatch="refuse"))
    assert [either(result) for result in many] == [KeyReused()]
    same = must(await writer.write("step", [Memory("tea", id="a")], on_mismatch="refuse"))
    assert same == Receipt(first.outcome, replayed=True)
    assert await storage.digest() == before


async def test_a_key_belongs_to_its_scope_and_its_tenant(storage: AsyncStorage) -> None:
    """R13: the same key in another scope or tenant is another key."""
    store = await storage.open()
    places = [store.writer("run", 1), store.writer("run 2", 1), store.tenant("acme").writer("run", 1)]
    receipts = []
    for place, writer in enumerate(places):
        receipts.append(await written(writer, "step", f"m-{place}"))
        assert (receipts[-1].replayed, receipts[-1].outcome.seq) == (False, 1)
    for place, (writer, first) in enumerate(zip(places, receipts, strict=True)):
        assert await written(writer, "step", f"m-{place}") == Receipt(first.outcome, replayed=True)
    assert set(await contents(store)) == {"m-0", "m-1"}
    assert set(await contents(store.tenant("acme"))) == {"m-2"}


async def test_the_kind_of_a_call_is_part_of_what_it_asked(storage: AsyncStorage) -> None:
    """R13: a replace under the key of a write that added the same is not the same request."""
    store = await storage.open()
    writer = store.writer("run", 1)
    await written(writer, "step", "a")
    assert must(await writer.replace("step", [Memory("tea", id="a")], [])).diverged


async def test_of_many_keys_each_is_answered_for_itself(storage: AsyncStorage) -> None:
    """R14: keys 1, 3, 7, then 2, 7, 14: 7 replayed, 2 and 14 applied, in one transaction."""
    store = await storage.open()
    writer = store.writer("run", 1)
    first = must(await writer.write_many([(f"{n}", [Memory("tea", id=f"m-{n}")]) for n in (1, 3, 7)]))
    assert [must(result).replayed for result in first] == [False, False, False]
    then = must(await writer.write_many([(f"{n}", [Memory("tea", id=f"m-{n}")]) for n in (2, 7, 14)]))
    receipts = [must(result) for result in then]
    assert [receipt.replayed for receipt in receipts] == [False, True, False]
    assert receipts[1].outcome == must(first[2]).outcome
    assert [receipt.outcome.seq for receipt in receipts] == [4, 3, 5]
    assert receipts[0].outcome.at == receipts[2].outcome.at
    assert set(await contents(store)) == {f"m-{n}" for n in (1, 2, 3, 7, 14)}


async def test_a_write_many_names_each_key_and_each_item_once(storage: AsyncStorage) -> None:
    """Keys are distinct, items disjoint, 1 to 1,000 of them, or nothing is sent."""
    writer = (await storage.open()).writer("run", 1)
    before = await storage.digest()
    for writes in (
        [("a", [Memory("tea")]), ("a", [Memory("tea")])],
        [("a", [Memory("tea", id="m")]), ("b", [Memory("tea", id="m")])],
        [],
        [(f"{n}", list[Memory]()) for n in range(1_001)],
    ):
        with pytest.raises(ValueError):
            await writer.write_many(writes)
    assert await storage.digest() == before


async def test_the_key_is_asked_before_the_expected_revision(storage: AsyncStorage) -> None:
    """R15: a known key with an expectation that is stale by now answers its outcome."""
    store = await storage.open()
    writer = store.writer("run", 1)
    await written(writer, "step-1", "a")
    first = must(await writer.write("step-2", [Memory("coffee", id="a")], expect={"a": 1}))
    for token in (1, 2):
        again = await store.writer("run", token).write("step-2", [Memory("coffee", id="a")], expect={"a": 1})
        assert must(again) == Receipt(first.outcome, replayed=True)


async def test_an_id_twice_in_one_write_counts_as_its_last_occurrence(storage: AsyncStorage) -> None:
    """R16: once, at the last one's place, with one revision."""
    store = await storage.open()
    batch = [Memory("old", id="a"), Memory("tea", id="b"), Memory("new", id="a")]
    receipt = must(await store.writer("run", 1).write("step", batch))
    assert [(ref.id, ref.revision) for ref in receipt.outcome.added] == [("b", 1), ("a", 1)]
    assert await contents(store) == {"a": "new", "b": "tea"}
    assert not must(await store.writer("run", 1).write("step", batch[1:])).diverged


async def test_an_id_both_added_and_removed_is_refused_when_built(storage: AsyncStorage) -> None:
    """R16: in every spelling of a source, and the fence is not moved."""
    store = await storage.open()
    await written(store.writer("run", 1), "step", "a")
    read = must(await store.get("a"))
    assert read is not None
    before = await storage.digest()
    for source in ("a", ("a", 1), read):
        with pytest.raises(ValueError):
            await store.writer("run", 2).replace("other", [Memory("tea", id="a")], [source])
    assert await storage.digest() == before


async def test_an_applied_key_answers_before_what_it_names_is_looked_at(storage: AsyncStorage) -> None:
    """R17: a replay whose sources are long gone gets its outcome."""
    store = await storage.open()
    writer = store.writer("run", 1)
    await written(writer, "step-1", "a")
    first = must(await writer.replace("step-2", [], ["a"]))
    assert must(await writer.replace("step-2", [], ["a"])) == Receipt(first.outcome, replayed=True)
    assert must(await writer.replace("step-3", [], ["a"])).outcome.status == "superseded"


async def test_an_honest_replay_has_not_diverged(storage: AsyncStorage) -> None:
    """R19: the same content with new ids and times that we made, an hour later, by a newer token."""
    store = await storage.open()

    def batch() -> list[Memory]:
        return [
            Memory("tea", importance=1),
            Memory("coffee", memory_type="task", metadata={"b": "2", "a": "1"}),
        ]

    first = must(await store.writer("run", 1).write("step", batch()))
    storage.clock.advance(timedelta(hours=1))
    again = must(await store.writer("run", 2).write("step", batch()))
    assert again == Receipt(first.outcome, replayed=True)
    moved = must(await store.writer("run", 2).write("step", [*reversed(batch())]))
    assert moved.diverged


async def test_a_forgotten_key_applies_again(storage: AsyncStorage) -> None:
    """Forget, then apply again, as often as one likes; a key that is not there is a success."""
    store = await storage.open()
    writer = store.writer("run", 1)
    for turn in range(1, 4):
        receipt = await written(writer, "step", "a")
        assert (receipt.replayed, receipt.outcome.added[0].revision) == (False, turn)
        assert must(await writer.forget_applied("step"))
        assert must(await writer.applied("step")) is None
        assert not must(await writer.forget_applied("step"))
    assert [event.kind for _, event in await storage.events()] == ["record", "forget"] * 3


async def test_applied_keys_are_listed_by_code_point_in_pages(storage: AsyncStorage) -> None:
    """Keys of one scope, behind the last one seen; case, accents and length do not matter."""
    store = await storage.open()
    names = ["a", "A", "b", "a%", "a_", "\u00e9", "e\u0301", "\U0001f375", "\uffee", "step-10", "step-9", " "]
    must(await store.writer("run", 1).write_many([(name, list[Memory]()) for name in names]))
    await written(store.writer("other", 1), "z")
    listed: list[str] = []
    while page := must(await store.keys("run", after=listed[-1] if listed else "", limit=5)):
        listed += page
    assert listed == sorted(names)
    assert must(await store.keys("run", limit=0)) == []
    assert must(await store.keys("nowhere")) == []
