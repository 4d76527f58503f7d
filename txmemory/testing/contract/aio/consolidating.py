"""Guarantees 7 and 15 of a consolidation job: what is grouped, what takes its place, what a model does wrong."""

from typing import Any

import pytest

from txmemory import Bounds, Custom, FailedGroup, Fenced, Group, Memory, MemoryType, either, must
from txmemory.testing.aio.asking import contents
from txmemory.testing.aio.consolidating import JOB, AsyncModel, consolidated, statuses, stored, turns
from txmemory.testing.aio.storage import AsyncStorage
from txmemory.testing.clock import START
from txmemory.testing.contract.aio.privacy import CANARY, listening


async def test_a_consolidation_replaces_each_group_by_its_summary(storage: AsyncStorage) -> None:
    """Of all types that are grouped; the sources end in the transaction that stores the summary."""
    store = await storage.open()
    sources = {
        MemoryType.CONVERSATION: turns("talk", 3),
        MemoryType.ENTITY: [Memory.for_entity("ada", "Ada", f"fact {n}") for n in range(3)],
        MemoryType.KNOWLEDGE: [Memory.from_knowledge(f"piece {n}", "book", n) for n in range(3)],
        MemoryType.TASK: [Memory.from_task(f"task {n}", "done", success=True) for n in range(3)],
        MemoryType.USER_FACT: [Memory.user_fact(f"likes {n}") for n in range(3)],
    }
    await stored(store, *sources.values())
    model = AsyncModel()
    done = await consolidated(store.writer("jobs", 1), model, min_count=3)
    assert [(each.memory_type, each.replayed) for each in done.groups] == [(each, False) for each in sources]
    assert done.failed == ()
    for group, each in zip(done.groups, sources.values(), strict=True):
        (added,) = group.outcome.added
        assert {ref.id for ref in group.outcome.removed} == {memory.id for memory in each}
        summary = must(await store.get(added.id))
        assert summary is not None
        assert summary.memory_type is group.memory_type
        assert summary.metadata["consolidated_from"] == "3"
        assert set(summary.metadata["original_ids"].split(",")) == {memory.id for memory in each}
    assert len(await contents(store)) == 5
    assert [group.name for group in model.asked] == ["talk", "ada", "book", "true", None]


async def test_what_is_not_grouped_and_what_is_too_new_stays(storage: AsyncStorage) -> None:
    """Custom types, conversations without an id, and what is newer than asked for; up to it is inclusive."""
    store = await storage.open()
    none = [Memory.from_conversation(f"{n}", "user") for n in range(3)]
    notes = [
        Memory(f"{n}", memory_type=Custom("conversation"), metadata={"conversation_id": "x"})
        for n in range(3)
    ]
    talk = turns("talk", 4)
    await stored(store, none, notes, talk)
    done = await consolidated(store.writer("jobs", 1), AsyncModel(), older_than=talk[2].timestamp)
    assert [{ref.id for ref in group.outcome.removed} for group in done.groups] == [
        {memory.id for memory in talk[:3]}
    ]
    kept = {memory.id for memory in (*none, *notes, talk[3])}
    assert set(await contents(store)) == {*kept, done.groups[0].outcome.added[0].id}


async def test_a_group_that_is_too_small_is_left_alone_and_a_large_one_taken_in_portions(
    storage: AsyncStorage,
) -> None:
    """The least is each group's own; the oldest are taken, by number and by budget."""
    store = await storage.open()
    await stored(store, turns("small", 4), turns("right", 5), turns("large", 60))
    long = [memory.with_content("x" * 8_000) for memory in turns("long", 5)]
    await stored(store, long)
    model = AsyncModel()
    done = await consolidated(store.writer("jobs", 1), model, min_count=5, token_budget=2_826)
    assert {(group.name, len(group.memories)) for group in model.asked} == {("right", 5), ("large", 50)}
    assert statuses(done) == ["stored", "stored"]
    assert len(await contents(store)) == 4 + 1 + 1 + 10 + 5
    large = next(group for group in model.asked if group.name == "large")
    assert [memory.id for memory in large.memories] == [f"large-{n:03}" for n in range(50)]


async def test_a_summary_has_the_newest_time_the_greatest_importance_and_the_four_keys(
    storage: AsyncStorage,
) -> None:
    """And the older of two values of its sources' metadata, and no embedding."""
    store = await storage.open()
    talk = turns("talk", 3)
    talk[0] = talk[0].with_metadata({"role": "user"}).with_importance(0.25)
    talk[1] = talk[1].with_metadata({"role": "assistant"}).with_importance(0.75).with_embedding([1.0, 2.0])
    await stored(store, talk)
    done = await consolidated(store.writer("jobs", 1), AsyncModel())
    summary = must(await store.get(done.groups[0].outcome.added[0].id))
    assert summary is not None
    assert (summary.timestamp, summary.importance) == (talk[2].timestamp, 0.75)
    assert summary.embedding is None
    assert talk[2].timestamp is not None
    assert summary.metadata == {
        "conversation_id": "talk",
        "role": "user",
        "consolidated_from": "3",
        "consolidated_at": talk[2].timestamp.isoformat(timespec="microseconds"),
        "original_ids": "talk-000,talk-001,talk-002",
        "consolidation_method": "llm_summary",
    }


async def test_six_runs_over_the_same_memories_do_the_same(storage: AsyncStorage) -> None:
    """Order of groups, texts, metadata, keys."""
    opened = await storage.open()
    seen = []
    for run in range(6):
        store = opened.tenant(f"{run}")
        await stored(
            store,
            turns("b", 3),
            turns("a", 2),
            [
                Memory.user_fact(
                    f"{n}",
                    "u",
                )
                for n in range(2)
            ],
        )
        model = AsyncModel()
        done = await consolidated(store.writer("jobs", 1), model)
        summaries = [must(await store.get(group.outcome.added[0].id)) for group in done.groups]
        seen.append(
            (
                [(group.memory_type, group.name) for group in model.asked],
                [group.key for group in done.groups],
                [(each.content, each.timestamp, each.importance) for each in summaries if each is not None],
            )
        )
    assert seen == [seen[0]] * 6
    assert [name for _, name in seen[0][0]] == ["a", "b", "u"]


async def test_the_largest_group_is_one_write_and_keeps_every_id(storage: AsyncStorage) -> None:
    """999 sources and their summary are all that one write may name."""
    store = await storage.open()
    await stored(store, turns("talk", 1_002))
    done = await consolidated(store.writer("jobs", 1), AsyncModel(), max_memories_per_group=999)
    (group,) = done.groups
    assert (len(group.outcome.removed), len(group.outcome.added)) == (999, 1)
    summary = must(await store.get(group.outcome.added[0].id))
    assert summary is not None
    assert summary.metadata["original_ids"] == ",".join(f"talk-{n:03}" for n in range(999))
    assert len(await contents(store)) == 4


async def test_a_model_that_fails_leaves_its_group_and_not_the_others(storage: AsyncStorage) -> None:
    """It is named in the answer; the same key asks for it again, and for it alone."""

    async def fail(group: Group) -> None:
        if group.name == "b":
            raise TimeoutError("the model is tired")

    store = await storage.open()
    await stored(store, turns("a", 3), turns("b", 3), turns("c", 3))
    writer = store.writer("jobs", 1)
    first = await consolidated(writer, AsyncModel(fail))
    assert first.failed == (FailedGroup(MemoryType.CONVERSATION, "b", 3, "TimeoutError"),)
    assert statuses(first) == ["stored", "stored"]
    assert {memory.id for memory in turns("b", 3)} < set(await contents(store))
    assert must(await writer.applied(first.key)) is None
    model = AsyncModel()
    done = await consolidated(writer, model)
    assert [group.name for group in model.asked] == ["b"]
    assert (statuses(done), done.failed) == (["stored"] * 3, ())
    assert [group.replayed for group in done.groups] == [True, True, False]


async def test_what_a_model_raises_comes_out_of_a_strict_job(storage: AsyncStorage) -> None:
    """The groups before it are done, the others are as they were."""

    async def fail(group: Group) -> None:
        if group.name == "b":
            raise LookupError("the model's own")

    store = await storage.open()
    await stored(store, turns("a", 3), turns("b", 3), turns("c", 3))
    writer = store.writer("jobs", 1)
    with pytest.raises(LookupError, match=r"^the model's own$"):
        await consolidated(writer, AsyncModel(fail), strict=True)
    assert len(await contents(store)) == 1 + 3 + 3
    assert statuses(await consolidated(writer, AsyncModel(), strict=True)) == ["stored"] * 3


async def test_a_text_that_is_no_summary_is_a_failure_and_a_long_one_is_cut(storage: AsyncStorage) -> None:
    """Blank, not text, not storable; over 2,000 characters."""
    store = await storage.open()
    texts: dict[str, Any] = {"blank": " \n", "long": "x" * 5_000, "none": None, "nul": "a\x00"}

    async def say(group: Group) -> str:
        answer: str = texts[group.name or ""]
        return answer

    await stored(store, *[turns(name, 2) for name in texts])
    writer = store.writer("jobs", 1)
    done = must(await writer.consolidate(JOB, say, older_than=START, min_count=2))
    assert [group.name for group in done.failed] == ["blank", "none", "nul"]
    assert {group.error for group in done.failed} == {"ValueError", "TypeError"}
    (group,) = done.groups
    assert (await contents(store))[group.outcome.added[0].id] == "x" * 2_000 + "..."
    with pytest.raises(ValueError, match=r"^a summary is blank$"):
        await writer.consolidate(JOB, say, older_than=START, min_count=2, strict=True)


async def test_a_job_whose_successor_takes_over_while_the_model_works_removes_nothing(
    storage: AsyncStorage,
) -> None:
    """F8: it has planned what to replace, the successor writes over a source, and it goes on."""
    store = await storage.open()
    talk = turns("talk", 3)
    await stored(store, talk)

    async def say(_group: Group) -> str:
        newer = store.writer("jobs", 2)
        must(await newer.write("newer", [talk[0].with_content("told otherwise"), Memory("new", id="new")]))
        return "all of it"

    done = await store.writer("jobs", 1).consolidate(JOB, say, older_than=START, min_count=2)
    assert isinstance(either(done), Fenced)
    kept = {memory.id: memory.content for memory in talk[1:]}
    assert await contents(store) == {talk[0].id: "told otherwise", "new": "new", **kept}


async def test_a_consolidation_keeps_to_its_namespace_and_to_the_bounds_of_its_handle(
    storage: AsyncStorage,
) -> None:
    """What is over the bounds goes with the write that stores the summary."""
    store = await storage.open()
    users = store.within("users", bounds=Bounds(max_memories=2))
    await stored(store, turns("a", 3))
    await stored(store.within("users"), turns("a", 3), [Memory(f"{n}", memory_type="note") for n in range(4)])
    done = await consolidated(users.writer("jobs", 1), AsyncModel())
    assert len(done.groups[0].outcome.evicted) == 3
    assert must(await users.count()) == 2
    assert must(await store.count()) == 3


async def test_wrong_arguments_of_a_job_are_refused_before_anything_is_sent(storage: AsyncStorage) -> None:
    """The fence is unmoved."""
    store = await storage.open()
    before = await storage.digest()
    writer, model = store.writer("jobs", 1), AsyncModel()
    wrong: list[dict[str, Any]] = [
        {"key": ""},
        {"older_than": START.replace(tzinfo=None)},
        {"older_than": None},
        {"min_count": 1},
        {"max_memories_per_group": 1_000},
        {"max_memories_per_group": 9},
        {"token_budget": 0},
        {"summarise": "model"},
    ]
    for each in wrong:
        given = {"key": JOB, "summarise": model, "older_than": START, **each}
        with pytest.raises((TypeError, ValueError)):
            await writer.consolidate(given.pop("key"), given.pop("summarise"), **given)
    assert await storage.digest() == before


async def test_a_failure_is_logged_by_type_and_size_and_says_nothing_private(storage: AsyncStorage) -> None:
    """D6: no content, name, id, key or text of the exception; the exception's class is public."""

    async def fail(group: Group) -> None:
        raise TimeoutError(f"{CANARY} {group.memories[0].content}")

    store = (await storage.open()).within("users", CANARY)
    secrets = [each.with_content(CANARY) for each in turns(f"{CANARY}-talk", 3)]
    await stored(store, secrets)
    with listening() as lines:
        done = await consolidated(store.writer(f"{CANARY}-jobs", 1), AsyncModel(fail), f"{CANARY}-key")
        await consolidated(store.writer(f"{CANARY}-jobs", 1), AsyncModel(), f"{CANARY}-key")
    (line,) = [each for each in lines if "'name': 'txmemory'" in each]
    assert line.startswith("no summary of 3 memories of type conversation: TimeoutError")
    assert "'levelname': 'WARNING'" in line
    assert not [line for line in lines if CANARY in line]
    assert CANARY not in repr(done)
    assert done.failed[0].name == f"{CANARY}-talk"
