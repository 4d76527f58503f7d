"""What a store says to its database of a filter that the database cannot decide: all of it that narrows."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, create_engine, event

import txmemory
from txmemory import Filter, Memory, Store, must
from txmemory.testing.corpus import MEMORIES, NOON

CUSTOM = Filter.custom(lambda memory: memory.id != "wild")
LEAVES: list[tuple[str, Filter, *tuple[str, ...]]] = [
    ("type", Filter.by_type("knowledge"), "txm_item.kind = ?", "txm_item.kind >= ?"),
    ("types", Filter.by_types(["knowledge", "task"]), "txm_item.kind IN (?, ?)", "txm_item.kind >= ?"),
    ("entity", Filter.by_entity("ada"), "json_extract(txm_item.attributes, '$.\"entity_id\"') = ?"),
    (
        "metadata",
        Filter.by_metadata("note", "x"),
        "json_extract(txm_item.attributes, '$.\"' || ? || '\"') = ?",
    ),
    ("time", Filter.after(NOON), "txm_item.created_at >= ?", "txm_item.created_at + 0 >= ?"),
    ("importance", Filter.min_importance(0.5), "txm_item.importance >= ?"),
    ("content", Filter.content_contains("tea"), "instr(replace(replace(lower(txm_revision.text)"),
    ("spelling", Filter.content_contains("tea", case_sensitive=True), "instr(txm_revision.text, ?)"),
]


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    engine = create_engine(f"sqlite:///{tmp_path / 'store.db'}")
    yield engine
    engine.dispose()


def wanted(engine: Engine, call: Callable[[], Any]) -> list[str]:
    """What stands behind WHERE in each statement of a call, as it is sent."""
    sent: list[str] = []

    def record(_connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        sent.append(statement)

    event.listen(engine, "before_cursor_execute", record)
    must(call())
    event.remove(engine, "before_cursor_execute", record)
    return [" ".join(each.partition("WHERE")[2].split()) for each in sent if "txm_item" in each]


def calls(store: Store, filter: Filter) -> list[Callable[[], Any]]:
    return [
        lambda: store.recall(filter),
        lambda: store.recent(10, filter),
        lambda: store.count(filter),
        lambda: store.delete_matching(filter & Filter.by_conversation("nobody's")),
    ]


def says(where: str, clauses: Sequence[str]) -> bool:
    """Whether one of the spellings of a leaf stands there: as a condition, or as where a walk along an index ends."""
    return any(clause in where for clause in clauses)


@pytest.mark.parametrize(
    ("narrowing", "clauses"), [(each[1], each[2:]) for each in LEAVES], ids=[each[0] for each in LEAVES]
)
def test_what_narrows_is_sent_beside_a_predicate_and_nowhere_where_it_would_lose_some(
    engine: Engine, narrowing: Filter, clauses: Sequence[str]
) -> None:
    with txmemory.open(engine=engine) as store:
        must(store.store(Memory("tea", id="m")))
        sent = [narrowing & CUSTOM, CUSTOM & narrowing, CUSTOM & (CUSTOM & narrowing) & ~CUSTOM]
        sent += [narrowing & ~(narrowing & CUSTOM), (narrowing & CUSTOM) | (narrowing & ~CUSTOM)]
        for filter in sent:
            for call in calls(store, filter):
                assert [says(where, clauses) for where in wanted(engine, call)] == [True]
        for filter in (narrowing | CUSTOM, ~(narrowing & CUSTOM), ~(narrowing | CUSTOM), ~~CUSTOM):
            for call in calls(store, filter):
                assert [says(where, clauses) for where in wanted(engine, call)] == [False]


def test_what_may_have_no_answer_is_made_false_before_it_is_negated(engine: Engine) -> None:
    """S3: of a negation, whatever it negates."""
    with txmemory.open(engine=engine) as store:
        for _, leaf, *clauses in LEAVES:
            (where,) = wanted(engine, partial(store.count, ~leaf))
            first = min(where.find(clause) for clause in clauses if clause in where)
            assert "coalesce(" in where[:first]


def test_what_is_exact_is_counted_and_limited_by_the_database(engine: Engine) -> None:
    """S6: one statement that answers a number, and one that answers no more rows than are wanted."""
    with txmemory.open(engine=engine) as store:
        must(store.store_all(MEMORIES))
        rows: list[tuple[str, Any]] = []

        def record(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_rest: Any) -> None:
            rows.append((statement, parameters))

        event.listen(engine, "before_cursor_execute", record)
        must(store.count(Filter.by_entity("ada")))
        must(store.recall(Filter.by_entity("ada"), limit=1))
        counting, limiting = [each for each in rows if "txm_item" in each[0]]
        assert counting[0].startswith("SELECT count(")
        assert limiting[0].rstrip().endswith("LIMIT ? OFFSET 0")
        assert limiting[1][-1] == 1 + 1
