"""Which memories are consolidated together, against a plain spelling, and what takes their place."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.rules.examples import HERE, at, texts
from txmemory import Group, Memory, MemoryType
from txmemory.memories.consolidation import GROUP_MOST, Gathered, Gathering, Job, Topic, summary_of, topic_of
from txmemory.model import limits
from txmemory.model.item import Item, Stored, microseconds
from txmemory.rules.matches import matches

START = datetime(2031, 5, 17, 12, tzinfo=UTC)
NAMES = {
    "conversation": "conversation_id",
    "entity": "entity_id",
    "user_fact": "user_id",
    "knowledge": "source",
    "task": "success",
}


def stored(id: str, memory: Memory, revision: int = 1) -> Stored:
    item = memory.item
    return Stored(at(id), revision, item, item.created_at or 0)


def said(number: int, content: str = "tea", **more: Any) -> Stored:
    """The number-th turn of one conversation."""
    more = {"metadata": {"conversation_id": "c"}, **more}
    time = START + timedelta(minutes=number)
    return stored(
        f"{number:04}",
        Memory(content, memory_type="conversation", timestamp=time, **more),
        revision=number + 1,
    )


def job(**rules: Any) -> Job:
    return Job(HERE, "job", START + timedelta(days=1), **{"min_count": 2, **rules})


def grouped(rules: Job, there: list[Stored], most: int | None = None) -> list[Group]:
    """The groups of what is there, as a run of the job comes to them."""
    gathering = Gathering(most or rules.max_memories_per_group)
    newest_first = sorted(there, key=lambda each: (each.created_at, each.address.id), reverse=True)
    for each in newest_first:
        if matches(rules.condition, each):
            gathering.take(each)
    groups = [rules.group_of(each, there) for each in gathering.of_at_least(rules.min_count)]
    return [group for group in groups if group is not None]


def group(*memories: Stored, name: str | None = "c") -> Group:
    return Group(MemoryType.CONVERSATION, name, tuple(Memory.found(each) for each in memories))


def plainly(rules: Job, there: list[Stored]) -> dict[tuple[str, str | None], list[str]]:
    """The rules one after the other, each over everything."""
    old = [each for each in there if each.created_at <= microseconds(rules.older_than, "older_than")]
    members: dict[tuple[str, str | None], list[Stored]] = {}
    for each in sorted(old, key=lambda each: (each.created_at, each.address.id)):
        kind, named = each.item.kind, each.item.attributes.get(NAMES.get(each.item.kind, ""))
        name = str(named) if named is not None else {"task": "unknown"}.get(kind)
        if kind == "user_fact" or (kind in NAMES and name is not None):
            members.setdefault((kind, name), []).append(each)
    groups = {}
    for topic, each_of in members.items():
        first = each_of[: rules.max_memories_per_group]
        taken = [first[0]]
        for each in first[1:]:
            tokens = sum(len(one.item.text) // 4 for one in [*taken, each])
            if rules.token_budget is not None and tokens > rules.token_budget:
                break
            taken.append(each)
        if len(taken) >= rules.min_count:
            groups[topic] = [each.address.id for each in taken]
    return groups


def _named(kind: str, name: str | None, minute: int, length: int) -> Memory:
    metadata = {"role": "user"} if name is None else {NAMES.get(kind, "source"): name}
    return Memory(
        "x" * length, memory_type=kind, metadata=metadata, timestamp=START + timedelta(minutes=minute)
    )


kinds = st.sampled_from(["conversation", "user_fact", "task", "note"]) | st.sampled_from(
    [*NAMES, "custom:task"]
)
memories = st.builds(
    _named,
    kinds,
    st.none() | st.sampled_from(["", "a", "unknown"]),
    st.integers(0, 5),
    st.integers(0, 40),
)
corpora = st.lists(memories, min_size=5, max_size=40).map(
    lambda corpus: [stored(f"{place:02}", each) for place, each in enumerate(corpus)]
)
rules = st.builds(
    lambda minute, most, least, budget: Job(
        HERE, "job", START + timedelta(minutes=minute), least, max(most, least), budget
    ),
    st.integers(0, 5),
    st.integers(2, 6),
    st.integers(2, 4),
    st.none() | st.integers(1, 30),
)


@given(rules, corpora)
def test_groups_are_those_of_the_plain_spelling(rules: Job, there: list[Stored]) -> None:
    found = grouped(rules, there)
    ids = {(str(each.memory_type), each.name): [one.id for one in each.memories] for each in found}
    assert ids == plainly(rules, there)
    assert len(ids) == len(found)
    assert [each.memory_type for each in found] == sorted(each.memory_type for each in found)


@given(corpora, st.randoms(use_true_random=False))
def test_the_order_of_groups_does_not_depend_on_what_was_stored_first(
    there: list[Stored], chance: Any
) -> None:
    shuffled = [*there]
    chance.shuffle(shuffled)
    assert grouped(job(), shuffled) == grouped(job(), there)


@given(st.lists(st.integers(0, 200), min_size=1, max_size=200), st.integers(2, 9))
def test_of_a_stream_no_more_is_held_than_the_places_of_each_group(names: list[int], most: int) -> None:
    """However much goes by, a group is at most so many ids, and no content."""
    gathering = Gathering(most)
    for place, name in enumerate(names):
        gathering.take(stored(str(place), Memory.from_conversation("x" * 1_000, "user", str(name % 7))))
    held = gathering.of_at_least(1)
    assert all(len(each.places) <= most for each in held)
    assert {type(part) for each in held for place in each.places for part in place} == {str, int}


def test_the_age_is_inclusive_to_the_microsecond() -> None:
    there = [said(0), said(1), said(2)]
    newest = START + timedelta(minutes=2)
    assert [len(each.memories) for each in grouped(Job(HERE, "j", newest, 2), there)] == [3]
    earlier = newest - timedelta(microseconds=1)
    assert [len(each.memories) for each in grouped(Job(HERE, "j", earlier, 2), there)] == [2]


def test_what_does_not_say_what_it_tells_of_belongs_to_no_group() -> None:
    """But for facts about nobody named and tasks of unknown success, which are groups of their own."""
    assert topic_of(Memory("", memory_type="conversation").item) is None
    assert topic_of(Memory("", memory_type="entity").item) is None
    assert topic_of(Memory("", memory_type="knowledge").item) is None
    assert topic_of(Memory("", memory_type="note", metadata={"source": "a"}).item) is None
    assert topic_of(Item("knowledge", attributes={"source": 1})) is None
    assert topic_of(Memory.user_fact("tea").item) == Topic(MemoryType.USER_FACT, None)
    assert topic_of(Memory("", memory_type="task").item) == Topic(MemoryType.TASK, "unknown")
    assert topic_of(Memory.from_task("a", "b", success=True).item) == Topic(MemoryType.TASK, "true")


def test_the_budget_ends_a_group_at_the_first_that_is_too_much() -> None:
    """Three of 2,000 tokens stay three under a budget of 2,826, three small ones become one."""
    long, small = [said(number, "x" * 8_000) for number in range(3)], [said(number) for number in range(3)]
    assert grouped(job(token_budget=2_826), long) == []
    assert [len(each.memories) for each in grouped(job(token_budget=2_826), small)] == [3]
    assert [len(each.memories) for each in grouped(job(), long)] == [3]
    mixed = [said(0, "x" * 8_000), said(1), said(2, "x" * 8_000), said(3)]
    assert [len(each.memories) for each in grouped(job(token_budget=2_001), mixed)] == [2]
    exact = [said(0, "x" * 40), said(1, "x" * 40)]
    assert [len(each.memories) for each in grouped(job(token_budget=20), exact)] == [2]
    assert grouped(job(token_budget=19), exact) == []


def test_a_group_that_the_portion_or_the_budget_makes_too_small_is_left_alone() -> None:
    there = [said(number, "x" * 40) for number in range(9)]
    assert [len(each.memories) for each in grouped(job(min_count=9), there)] == [9]
    assert grouped(job(min_count=10), there) == []
    assert grouped(job(min_count=9, token_budget=80), there) == []
    (portion,) = grouped(job(max_memories_per_group=4), there)
    assert [each.id for each in portion.memories] == ["0000", "0001", "0002", "0003"]


def test_what_changed_or_went_since_it_was_gathered_is_left_out() -> None:
    there = [said(number) for number in range(4)]
    gathered = Gathered(Topic(MemoryType.CONVERSATION, "c"), tuple((e.address.id, e.revision) for e in there))
    changed = [there[0], there[1]._replace(revision=7), there[3]]
    found = job().group_of(gathered, changed)
    assert found is not None
    assert [each.id for each in found.memories] == ["0000", "0003"]
    assert job(min_count=3).group_of(gathered, changed) is None


def test_all_ids_are_kept_and_as_many_memories_as_they_have_room_for() -> None:
    """A thousand ordinary ids fit; of the longest possible ids 127 do, and the rest waits for the next job."""
    ordinary = [said(number) for number in range(GROUP_MOST)]
    ordinary = [each._replace(address=at(f"{place:036}")) for place, each in enumerate(ordinary)]
    (whole,) = grouped(job(max_memories_per_group=GROUP_MOST), ordinary)
    assert summary_of(whole, "sum").metadata["original_ids"].split(",") == [e.address.id for e in ordinary]
    longest = [each._replace(address=at(f"{place:0512}")) for place, each in enumerate(ordinary)]
    (some,) = grouped(job(max_memories_per_group=GROUP_MOST), longest)
    assert len(some.memories) == 127
    assert summary_of(some, "x" * 3_000).metadata["original_ids"].count(",") == 126
    assert grouped(job(max_memories_per_group=GROUP_MOST, min_count=128), longest) == []


@given(
    st.lists(st.dictionaries(texts, texts.map(lambda text: text * 3_000), max_size=3), min_size=2, max_size=9)
)
def test_a_group_is_as_large_as_its_summary_has_room_for(metadata: list[dict[str, str]]) -> None:
    """So no summary is refused once the model has been asked, and one more memory would be too much."""
    there = []
    for number, names in enumerate(metadata):
        try:
            there.append(said(number, metadata={**names, "conversation_id": "c"}))
        except ValueError:
            continue
    found = grouped(job(), there)
    for each in found:
        summary_of(each, "x" * 5_000)
    taken = len(found[0].memories) if found else 1
    if taken < len(there):
        with pytest.raises(ValueError, match=r"^attributes are longer than 65536 bytes of JSON$"):
            summary_of(group(*there[: taken + 1]), "sum")


def test_the_room_for_metadata_is_used_to_the_last_byte() -> None:
    def there(padding: int) -> list[Stored]:
        return [said(0), said(1, metadata={"conversation_id": "c", "padding": "x" * padding})]

    (least,) = grouped(job(), there(0))
    room = limits.ATTRIBUTES_BYTES - len(summary_of(least, "sum").item.attributes_text)
    (most,) = grouped(job(), there(room))
    assert len(summary_of(most, "sum").item.attributes_text) == limits.ATTRIBUTES_BYTES
    assert grouped(job(), there(room + 1)) == []


def test_a_summary_says_what_it_was_made_of() -> None:
    """The newest time, the greatest importance, merged metadata of which the older value stays, the four keys."""
    there = [
        said(0, metadata={"conversation_id": "c", "role": "user", "consolidated_from": "7"}, importance=0.3),
        said(1, metadata={"conversation_id": "c", "role": "system", "agent_id": "a"}, embedding=[1.0]),
        said(2, metadata={"conversation_id": "c", "topic": "tea"}, importance=0.7),
    ]
    summary = summary_of(group(*there), "They talked.")
    assert (summary.content, summary.memory_type) == ("They talked.", MemoryType.CONVERSATION)
    assert summary.timestamp == START + timedelta(minutes=2)
    assert (summary.importance, summary.embedding, summary.revision) == (0.7, None, None)
    assert summary.metadata == {
        "conversation_id": "c",
        "role": "user",
        "agent_id": "a",
        "topic": "tea",
        "consolidated_from": "3",
        "consolidated_at": "2031-05-17T12:02:00.000000+00:00",
        "original_ids": "0000,0001,0002",
        "consolidation_method": "llm_summary",
    }
    assert summary.id not in {each.address.id for each in there}
    assert summary_of(group(said(0), said(1)), "sum").importance is None


def test_a_summary_follows_from_its_group_and_its_text_six_times() -> None:
    there = group(*[said(number, importance=number / 10) for number in range(5)])
    (only,) = {summary_of(there, "sum").item.content_digest for _ in range(6)}
    assert only == summary_of(replace(there), "sum").item.content_digest


def test_a_long_text_is_cut_and_a_blank_one_is_refused() -> None:
    there = group(said(0), said(1))
    assert summary_of(there, "x" * 2_000).content == "x" * 2_000
    assert summary_of(there, "x" * 2_001).content == "x" * 2_000 + "..."
    for blank in ("", " \n\t"):
        with pytest.raises(ValueError, match=r"^a summary is blank$"):
            summary_of(there, blank)


def test_no_two_groups_and_no_two_jobs_share_a_key_and_each_keeps_its_own() -> None:
    """Not even where their parts, put together, are the same text; and a key fits, whatever they are called."""
    names = [None, "", "a", "b", "a/", "None", "c" * 60_000]
    places = [
        (HERE, "j"),
        (HERE, "j/"),
        (HERE, "k" * limits.TEXT_KEY_BYTES),
        ((*HERE, "j"), "j"),
        (("j",), "j"),
    ]
    jobs = [
        Job(namespace, key, START)
        for namespace, key in [*places, (("memories", "j", "j"), "j"), (("memories", "j/j"), "j")]
    ]
    topics = [Topic(kind, name) for kind in MemoryType for name in names]
    keys = {(job, topic): job.key_of(topic) for job in jobs for topic in topics}
    assert len({*keys.values(), *(job.finished for job in jobs)}) == len(jobs) * (len(topics) + 1)
    assert all(len(key.encode()) <= limits.TEXT_KEY_BYTES for key in keys.values())
    for (job, topic), key in keys.items():
        assert key == Job(job.namespace, job.key, START + timedelta(days=9), 3, 7, 100).key_of(topic)
        assert job.type_of(key) is topic.memory_type
        assert [other for other in jobs if key.startswith(other.prefix)] == [job]


def test_the_keys_of_a_job_never_change_from_one_release_to_the_next() -> None:
    """Or one that is run again after an upgrade would do again what is done."""
    night = Job(("memories", "users", "ada"), "night", START)
    assert night.finished == "consolidated/4d6fc2c017e0a1b6271436b91729ce88b05aeb6c5067a6cffa98f3b91056c048"
    assert night.key_of(Topic(MemoryType.USER_FACT, None)) == (
        "consolidated/4d6fc2c017e0a1b6271436b91729ce88b05aeb6c5067a6cffa98f3b91056c048/"
        "user_fact/2464d9b8ad22a249133a7958e0efa49be29bc5871c4e37f00b86b6d8ad83f970"
    )


@pytest.mark.parametrize(
    ("rules", "error"),
    [
        ({"key": ""}, ValueError),
        ({"key": "k" * 513}, ValueError),
        ({"key": 7}, TypeError),
        ({"older_than": START.replace(tzinfo=None)}, ValueError),
        ({"older_than": "yesterday"}, TypeError),
        ({"min_count": 1}, ValueError),
        ({"min_count": 51}, ValueError),
        ({"min_count": True}, TypeError),
        ({"max_memories_per_group": 1_000}, ValueError),
        ({"max_memories_per_group": 9}, ValueError),
        ({"token_budget": 0}, ValueError),
        ({"token_budget": 1.5}, TypeError),
    ],
)
def test_a_job_that_makes_no_sense_is_refused_when_built(
    rules: dict[str, Any], error: type[Exception]
) -> None:
    given: dict[str, Any] = {"namespace": HERE, "key": "job", "older_than": START, **rules}
    with pytest.raises(error):
        Job(**given)
    Job(HERE, "job", START.astimezone(timezone(timedelta(hours=3))), 2, GROUP_MOST, 1)
