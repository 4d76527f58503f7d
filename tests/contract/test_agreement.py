"""The same reads, answered alike by every technology and by a plain model: random memories, filters and limits."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.crash.sizes import size
from txmemory import Custom, Filter, Memory, MemoryStats, MemoryType, Store, must
from txmemory.testing.meanings import (
    Meant,
    both,
    having,
    holding,
    negated,
    newest_first,
    one_of,
    saying,
    spelling,
    timed,
    typed,
    valued,
    weighing,
)
from txmemory.testing.portable_file import PortableSqliteFile
from txmemory.testing.sync.portable import PortableSchema
from txmemory.testing.sync.storage import MemoryPlace, Place, PostgresSchema, SqliteFile

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
CORPORA = size(100, 1_000)
QUESTIONS = 20
"""That are asked about each corpus."""

LETTERS = "aAkKi\u212a\u0130\u0307\u03a3\u00df\u00e9\u00c9%_\\\"'\n"
"""Letters of many cases and forms, and what some engine takes for more than itself: few, so that they meet."""
NAMES = (
    "conversation_id",
    "entity_id",
    "k",
    "K",
    "\u00e9",
    "e\u0301",
    "a.b",
    "$",
    "it's",
    "%",
    "",
    '"',
    "\\",
    "\t",
)
TYPES = (*MemoryType, Custom("task"), Custom("Task"), Custom("\u0130"), Custom("\U0001f375"))

words = st.text(st.sampled_from(LETTERS), max_size=2)
sentences = st.text(st.sampled_from(LETTERS), max_size=8)
names = st.sampled_from(NAMES[:3]) | st.sampled_from(NAMES)
types = st.sampled_from(TYPES)
times = st.integers(-2, 2).map(lambda away: NOON + timedelta(microseconds=away))
importances = st.sampled_from([0.0, 2**-1074, 0.5, 0.5 + 2**-53, 1.0])
memories = st.builds(
    Memory,
    sentences,
    memory_type=types,
    metadata=st.dictionaries(names, words, max_size=4),
    timestamp=times,
    importance=st.none() | importances,
    embedding=st.none() | st.lists(st.floats(-2, 2, width=32), min_size=1, max_size=3),
    id=st.text(st.sampled_from("aA\u00e9e\u0301_\uffff\U0001f375"), min_size=1, max_size=3),
)
corpora = st.lists(memories, min_size=1, max_size=30, unique_by=lambda memory: memory.id)

PREDICATES: tuple[Callable[[Memory], bool], ...] = (
    lambda memory: len(memory.content) > 3,
    lambda memory: memory.is_embedded,
    lambda memory: memory.importance is None and "a" in memory.id,
)
decided = st.one_of(
    st.builds(valued, names, words),
    st.builds(having, names),
    st.builds(holding, names, words),
    st.builds(saying, words),
    st.builds(spelling, words),
    st.lists(types, max_size=3).map(lambda chosen: typed(*chosen)),
    st.builds(weighing, importances),
    st.builds(timed, st.none() | times, st.none() | times),
    st.sampled_from(
        [Meant("all", Filter.all(), lambda _: True), Meant("none", Filter.none(), lambda _: False)]
    ),
)
custom = st.sampled_from(
    [Meant(f"predicate {n}", Filter.custom(each), each) for n, each in enumerate(PREDICATES)]
)
leaves = st.sampled_from([decided, decided, custom]).flatmap(lambda sort: sort)


def composed(depth: int) -> st.SearchStrategy[Meant]:
    """Filters that nest at most so deep."""
    if not depth:
        return leaves
    inner = composed(depth - 1)
    ways = [leaves, inner.map(negated), st.builds(both, inner, inner), st.builds(one_of, inner, inner)]
    return st.sampled_from(ways).flatmap(lambda way: way)  # each as often as any other


class Question(NamedTuple):
    """A read, and what a plain model answers to it."""

    name: str
    asked: Callable[[Store], Any]
    answer: Callable[[list[Memory]], Any]

    def __repr__(self) -> str:
        return self.name


def recall(meant: Meant, limit: int) -> Question:
    return Question(
        f"recall {limit} that {meant.name}",
        lambda store: store.recall(meant.filter, limit),
        lambda held: [each for each in held if meant.means(each)][:limit],
    )


def recent(meant: Meant, limit: int) -> Question:
    return recall(meant, limit)._replace(
        name=f"recent {limit} that {meant.name}", asked=lambda store: store.recent(limit, meant.filter)
    )


def counted(meant: Meant) -> Question:
    return Question(
        f"count of what {meant.name}",
        lambda store: store.count(meant.filter),
        lambda held: sum(map(meant.means, held)),
    )


def conversation(id: str, limit: int) -> Question:
    return Question(
        f"{limit} of conversation {id!r}",
        lambda store: store.conversation(id, limit),
        lambda held: [each for each in held if each.metadata.get("conversation_id") == id][:limit][::-1],
    )


def entity(id: str) -> Question:
    return Question(
        f"entity {id!r}",
        lambda store: store.entity(id),
        lambda held: [each for each in held if each.metadata.get("entity_id") == id],
    )


def important(threshold: float, limit: int) -> Question:
    return Question(
        f"{limit} of {threshold}",
        lambda store: store.important(threshold, limit),
        lambda held: [each for each in held if each.importance is not None and each.importance >= threshold][
            :limit
        ],
    )


def figures(held: list[Memory]) -> MemoryStats:
    times = [each.timestamp for each in held]
    names = [{each.metadata[name] for each in held if name in each.metadata} for name in NAMES[:2]]
    kinds = [each.memory_type for each in held if isinstance(each.memory_type, MemoryType)]
    return MemoryStats(
        total_memories=len(held),
        by_type={kind: kinds.count(kind) for kind in kinds},
        entity_count=len(names[1]),
        conversation_count=len(names[0]),
        embedded_count=sum(each.embedding is not None for each in held),
        oldest_memory=times[-1] if times else None,
        newest_memory=times[0] if times else None,
    )


filters = composed(4)
most = st.sampled_from([0, 1, 2, 3, 5, 100])
questions = st.one_of(
    st.builds(recall, filters, most),
    st.builds(recall, filters, most),
    st.builds(recent, filters, most),
    st.builds(counted, filters),
    st.builds(counted, filters),
    st.builds(conversation, words, most),
    st.builds(entity, words),
    st.builds(important, importances, most),
    st.just(Question("statistics", Store.statistics, figures)),
)


@pytest.fixture(scope="module")
def stores(server: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Store]]:
    """A store of each technology."""
    places: list[Place] = [
        MemoryPlace(),
        SqliteFile(tmp_path_factory.mktemp("sqlite")),
        PostgresSchema(server),
        PortableSchema(server, "READ COMMITTED"),
        PortableSqliteFile(tmp_path_factory.mktemp("portable")),
    ]
    with ExitStack() as closed:
        yield {place.name: closed.enter_context(closing(place)).open() for place in places}


corpus_numbers = count()


@given(corpora, st.lists(questions, min_size=QUESTIONS, max_size=QUESTIONS))
@settings(
    max_examples=CORPORA,
    deadline=None,
    database=None,
    phases=[Phase.generate],  # what differs names its question; to make its corpus small would take minutes
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
def test_every_store_answers_every_question_as_the_model_does(
    stores: dict[str, Store], corpus: list[Memory], asked: Sequence[Question]
) -> None:
    """S2, S3, S6, S8: what is found, in which order, with every field, and how much of it."""
    held, namespace = newest_first(corpus), f"{next(corpus_numbers)}"
    for name, store in stores.items():
        here = store.within(namespace)
        must(here.store_all(corpus))
        for question in asked:
            assert must(question.asked(here)) == question.answer(held), (name, question)
