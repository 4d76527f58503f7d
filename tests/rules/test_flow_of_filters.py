"""What reads and removals by a filter ask, and what they make of the answers, driven by hand."""

import pytest
from returns.result import Failure, Success

from tests.rules.examples import HERE, at
from tests.rules.test_flow import scripted
from txmemory.flow import reading, writing
from txmemory.model.address import Ref
from txmemory.model.command import DeleteMatching
from txmemory.model.commit import Commit, Done, Entry, Found, RemoveListed, RemoveWhere
from txmemory.model.filter import AllOf, Condition, KindIn, Satisfies, TextContains
from txmemory.model.item import Item, Stored, moment
from txmemory.model.outcome import Outcome
from txmemory.model.query import Count, Page, Select
from txmemory.model.refusal import Contended, OutcomeUnknown, Unavailable

TASK = KindIn(frozenset(["task"]))
TEA = TextContains("tea")
GREEN = AllOf((TASK, Satisfies(lambda found: found.item.text == "green tea")))
ROWS = [
    Stored(at(id), revision, Item("task", text), 0)
    for id, revision, text in (
        ("d", 1, "green tea"),
        ("c", 4, "tea"),
        ("b", 2, "black tea"),
        ("a", 3, "green tea"),
    )
]
PAGES = (Page(tuple(ROWS[:2]), more=True), Page(tuple(ROWS[2:])))
SURE = AllOf((TASK,))


def matching(condition: Condition) -> DeleteMatching:
    return DeleteMatching(HERE, condition)


def listed(*items: tuple[str, int]) -> Commit:
    return Commit("t", None, (Entry(changes=(RemoveListed(HERE, items, "deleted"),)),))


def done(*ids: str) -> tuple[Done]:
    removed = tuple(Ref(HERE, id, 9) for id in ids)
    return (Done(Outcome("stored", (), removed, (), None, moment(0), None)),)


def test_a_filter_that_is_decided_after_reading_takes_whole_pages_whatever_the_limit() -> None:
    """S6: asked for what narrows; read on behind the last row, matching or not; cut to the limit at the end."""
    asked, result = scripted(reading.recall("t", HERE, GREEN, 2), *PAGES)
    assert asked == [
        Select("t", HERE, SURE, None, 1_000),
        Select("t", HERE, SURE, (0, "c"), 1_000),
    ]
    assert result == Success([ROWS[0], ROWS[3]])
    asked, result = scripted(reading.recall("t", HERE, GREEN, 1), PAGES[0])
    assert (len(asked), result) == (1, Success([ROWS[0]]))
    whole = Page((ROWS[0], ROWS[3]), more=True)
    assert scripted(reading.recall("t", HERE, GREEN, 1), whole)[1] == Success([ROWS[0]])


def test_a_count_is_of_what_matches() -> None:
    """By the database where it is exact, else of what was read; a page that fails leaves no part of a number."""
    assert scripted(reading.count("t", HERE, TEA), Page((7,))) == ([Count("t", HERE, TEA)], Success(7))
    asked, result = scripted(reading.count("t", HERE, GREEN), *PAGES)
    assert result == Success(2)
    assert [type(each) for each in asked] == [Select, Select]
    assert scripted(reading.count("t", HERE, GREEN), PAGES[0], Contended())[1] == Failure(Contended())


def test_what_heads_decide_is_ended_where_they_are() -> None:
    ended = RemoveWhere(HERE, TASK, "deleted")
    asked, result = scripted(writing.delete_matching(matching(TASK), "t"), done("a", "b"))
    assert (asked, result) == ([Commit("t", None, (Entry(changes=(ended,)),))], Success(2))


def test_what_is_read_first_is_ended_at_the_revisions_that_were_read() -> None:
    """All pages in one commit; what did not match is not in it."""
    asked, result = scripted(writing.delete_matching(matching(GREEN), "t"), *PAGES, done("a", "d"))
    assert (asked[2:], result) == ([listed(("a", 3), ("d", 1))], Success(2))
    asked, result = scripted(writing.delete_matching(matching(TEA), "t"), *PAGES, done("a", "b", "c", "d"))
    assert isinstance(asked[0], Select)
    assert asked[0].condition == TEA
    assert (asked[2:], result) == ([listed(("a", 3), ("b", 2), ("c", 4), ("d", 1))], Success(4))


def test_where_nothing_matches_nothing_is_committed() -> None:
    asked, result = scripted(writing.delete_matching(matching(GREEN), "t"), Page(tuple(ROWS[1:3])))
    assert (len(asked), result) == (1, Success(0))


def test_what_has_changed_is_read_and_decided_again_five_times_at_most() -> None:
    """C8: and once more than that is `Contended`."""
    changed, one = (Found({at("a"): 4}),), Page((ROWS[3],))
    asked, result = scripted(
        writing.delete_matching(matching(GREEN), "t"), *[one, changed] * 4, Page((ROWS[0],)), done("d")
    )
    assert (asked[-1], result) == (listed(("d", 1)), Success(1))
    asked, result = scripted(writing.delete_matching(matching(GREEN), "t"), *[one, changed] * 5)
    assert (len(asked), result) == (10, Failure(Contended()))


@pytest.mark.parametrize("accident", [Contended(), Unavailable("FULL")])
def test_an_accident_on_the_way_ends_the_call(accident: Contended | Unavailable) -> None:
    assert scripted(writing.delete_matching(matching(TASK), "t"), accident)[1] == Failure(accident)
    assert scripted(writing.delete_matching(matching(GREEN), "t"), PAGES[0], accident)[1] == Failure(accident)
    assert scripted(writing.delete_matching(matching(GREEN), "t"), *PAGES, accident)[1] == Failure(accident)


def test_a_lost_answer_is_not_asked_for_again() -> None:
    unknown = OutcomeUnknown()
    assert scripted(writing.delete_matching(matching(GREEN), "t"), *PAGES, unknown)[1] == Failure(unknown)
