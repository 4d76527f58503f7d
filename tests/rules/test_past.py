"""The past: what a caller may name, what an item was at a time, and what the flows ask and answer."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from returns.result import Failure, Success

from tests.rules.examples import HERE, at
from tests.rules.test_flow import drive, scripted
from txmemory.flow import past
from txmemory.flow.requests import Request
from txmemory.model.filter import Everything, KindIn, Satisfies
from txmemory.model.item import Item, Revision, Stored, moment
from txmemory.model.past import AsOf, checked_when
from txmemory.model.query import Page, Past, Settled, TimeOf
from txmemory.model.refusal import Contended, NotFound, Unavailable
from txmemory.rules.visible import as_of

TASK = KindIn(frozenset(["task"]))
YES, NO = Page((True,)), Page((False,))


def was(id: str, created_at: int = 0, kind: str = "note") -> tuple[str, Stored | None]:
    return id, Stored(at(id), 1, Item(kind), created_at)


@pytest.mark.parametrize(
    ("named", "checked"),
    [
        (datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC), 1_000_000),
        (datetime(1970, 1, 1, 1, tzinfo=timezone(timedelta(hours=1))), 0),
        (("run", 1), ("run", 1)),
        (("run", 2**63 - 1), ("run", 2**63 - 1)),
    ],
)
def test_a_moment_is_a_time_or_an_event(named: object, checked: object) -> None:
    assert checked_when(named) == checked


@pytest.mark.parametrize(
    ("named", "error"),
    [
        (datetime(2030, 1, 1), ValueError),  # noqa: DTZ001  # a naive one is the point
        (None, TypeError),
        (1.0, TypeError),
        (True, TypeError),
        ((), TypeError),
        (("run", 1, 2), TypeError),
        (["run", 1], TypeError),
        ((7, 1), TypeError),
        (("run", "1"), TypeError),
        (("run", True), TypeError),
        (("run", 0), ValueError),
        (("run", 2**63), ValueError),
        (("", 1), ValueError),
    ],
    ids=repr,
)
def test_what_is_neither_is_refused(named: object, error: type[Exception]) -> None:
    with pytest.raises(error):
        checked_when(named)


histories = st.lists(
    st.tuples(st.none() | st.none() | st.integers(0, 30), st.booleans(), st.integers(0, 3)), max_size=6
)


@given(steps=histories, when=st.integers(-1, 20), now=st.integers(0, 30))
def test_an_item_is_its_newest_revision_that_is_no_younger(steps: Any, when: int, now: int) -> None:
    """Unless that ended it, or has expired by now; several revisions may be of one time."""
    history: list[Revision] = []
    time, expected = 0, None
    for number, (expires_at, live, later) in enumerate(steps, 1):
        time += later
        item = Item("note", str(number), expires_at=expires_at) if live else None
        history.append(Revision(at("a"), number, item, 7, time, 0, None, "stored", b""))
        if time <= when:
            there = item is not None and (expires_at is None or expires_at > now)
            expected = (number, item, 7) if there else None
    found = as_of(history, when, now)
    assert (None if found is None else (found.revision, found.item, found.created_at)) == expected
    assert found is None or found.address == at("a")


def test_whether_a_time_is_settled_is_asked_before_what_there_was() -> None:
    """Else what commits in between would be missing from a settled answer."""
    asked, result = scripted(past.get("t", at("a"), 5), YES, Page((was("a"),)))
    assert asked == [Settled("t", 5), Past("t", HERE, 5, "a")]
    assert result == Success(AsOf(was("a")[1], settled=True, at=moment(5)))
    asked, number = scripted(past.count("t", HERE, Everything(), 5), NO, Page((was("a"), ("b", None))))
    assert asked == [Settled("t", 5), Past("t", HERE, 5)]
    assert number == Success(AsOf(1, settled=False, at=moment(5)))


def test_what_was_never_stored_to_was_not_there() -> None:
    for rows in ((), (("a", None),)):
        answer = scripted(past.get("t", at("a"), 5), YES, Page(rows))[1]
        assert answer == Success(AsOf(None, settled=True, at=moment(5)))


def test_an_event_stands_for_its_time() -> None:
    asked, result = scripted(past.get("t", at("a"), ("run", 3)), Page((9,)), YES, Page(()))
    assert asked == [TimeOf("t", "run", 3), Settled("t", 9), Past("t", HERE, 9, "a")]
    assert result == Success(AsOf(None, settled=True, at=moment(9)))
    assert scripted(past.get("t", at("a"), ("run", 3)), Page(()))[1] == Failure(NotFound())


def test_pages_are_read_behind_the_last_id_whether_or_not_anything_was_there() -> None:
    pages = Page((was("a"), ("b", None)), more=True), Page((("c", None), was("d", 1)))
    asked, result = scripted(past.recall("t", HERE, Everything(), 7, 5), YES, *pages)
    assert asked[1:] == [Past("t", HERE, 5), Past("t", HERE, 5, after="b")]
    assert result == Success(AsOf([was("d", 1)[1], was("a")[1]], settled=True, at=moment(5)))


def test_a_limit_of_none_reads_nothing_and_still_says_whether_it_is_settled() -> None:
    asked, result = scripted(past.recall("t", HERE, Everything(), 0, 5), NO)
    assert (asked, result) == ([Settled("t", 5)], Success(AsOf([], settled=False, at=moment(5))))


@given(
    items=st.lists(st.tuples(st.integers(0, 9), st.sampled_from(["task", "note"])), max_size=30),
    limit=st.none() | st.integers(0, 40),
    size=st.integers(1, 7),
)
def test_the_newest_of_what_the_filter_accepts_are_answered(items: Any, limit: int | None, size: int) -> None:
    rows = [was(f"{number:02}", created, kind) for number, (created, kind) in enumerate(items)]

    def answer(request: Request) -> Page[Any]:
        if isinstance(request, Settled):
            return YES
        assert isinstance(request, Past)
        behind = [row for row in rows if row[0] > request.after]
        return Page(tuple(behind[:size]), more=len(behind) > size)

    chosen = [stored for _, stored in rows if stored is not None and stored.item.kind == "task"]
    newest = sorted(chosen, key=lambda stored: (stored.created_at, stored.address.id), reverse=True)
    result = drive(past.recall("t", HERE, TASK, limit, 5), answer)[1]
    assert result == Success(AsOf(newest[:limit], settled=True, at=moment(5)))
    assert drive(past.count("t", HERE, TASK, 5), answer)[1] == Success(
        AsOf(len(chosen), settled=True, at=moment(5))
    )


def test_of_many_no_more_are_kept_than_twice_as_many_as_are_asked_for() -> None:
    """The predicate sees all of them; what is kept in between is cut, and the newest are not lost."""
    seen: list[str] = []
    rows = [was(f"{number:05}", number * 7_919 % 5_003) for number in range(5_000)]

    def answer(request: Request) -> Page[Any]:
        if isinstance(request, Settled):
            return YES
        assert isinstance(request, Past)
        start = int(request.after or -1) + 1
        return Page(tuple(rows[start : start + 1_000]), more=start < 4_000)

    def look(stored: Stored) -> bool:
        seen.append(stored.address.id)
        return True

    result = drive(past.recall("t", HERE, Satisfies(look), 3, 5), answer)[1]
    newest = sorted((stored for _, stored in rows if stored), key=lambda stored: stored.created_at)[:-4:-1]
    assert result == Success(AsOf(newest, settled=True, at=moment(5)))
    assert len(seen) == 5_000
    kept = past._Newest(3)
    for _, stored in rows[:4_500]:
        assert stored is not None
        kept.take(stored)
        assert len(kept._found) < 2_000


@pytest.mark.parametrize("accident", [Contended(), Unavailable("FULL")])
def test_an_accident_on_the_way_ends_the_read(accident: Contended | Unavailable) -> None:
    first = Page((was("a"),), more=True)
    for answers in ([accident], [Page((5,)), accident], [Page((5,)), YES, accident]):
        assert scripted(past.get("t", at("a"), ("run", 1)), *answers)[1] == Failure(accident)
        assert scripted(past.recall("t", HERE, TASK, 9, ("run", 1)), *answers)[1] == Failure(accident)
        assert scripted(past.count("t", HERE, TASK, ("run", 1)), *answers)[1] == Failure(accident)
    assert scripted(past.recall("t", HERE, TASK, 9, 5), YES, first, accident)[1] == Failure(accident)


def test_an_answer_may_be_made_into_another_one_of_the_same_moment() -> None:
    assert AsOf([1, 2], settled=True, at=moment(5)).map(len) == AsOf(2, settled=True, at=moment(5))
