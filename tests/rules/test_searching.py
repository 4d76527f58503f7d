"""The flow of a search, driven by hand: what it asks, and what it makes of items that change meanwhile."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from returns.result import Failure, Success

from tests.rules.examples import HERE, at
from tests.rules.test_flow import drive, scripted
from txmemory.flow.requests import Request
from txmemory.flow.searching import search
from txmemory.model.filter import Everything, KindIn
from txmemory.model.item import Item, Stored
from txmemory.model.query import Get, Page, Select
from txmemory.model.refusal import Contended, Unavailable
from txmemory.results import must
from txmemory.rules.ranking import Corpus, Scores, counted, holding
from txmemory.rules.words import words

TASKS = KindIn(frozenset({"task"}))


def stored(id: str, text: str, *, created_at: int = 0, revision: int = 1, kind: str = "task") -> Stored:
    return Stored(at(id), revision, Item(kind, text), created_at)


def recalled(items: list[Stored]) -> list[Stored]:
    return sorted(items, key=lambda each: (each.created_at, each.address.id), reverse=True)


def answering(items: list[Stored], most: int) -> Callable[[Request], Page[Stored]]:
    """A store that holds these items, and cuts pages at `most` rows."""

    def answer(request: Request) -> Page[Stored]:
        if isinstance(request, Get):
            here = {each.address: each for each in items}
            return Page(tuple(here[address] for address in request.addresses))
        assert isinstance(request, Select)
        behind = [
            each
            for each in recalled(items)
            if request.after is None or (each.created_at, each.address.id) < request.after
        ]
        return Page(tuple(behind[:most]), more=len(behind) > most)

    return answer


corpora = st.lists(
    st.tuples(
        st.lists(st.sampled_from(["tea", "green", "cup", "rain"]), max_size=6).map(" ".join),
        st.integers(0, 3),
        st.sampled_from(["task", "entity"]),
    ),
    max_size=20,
).map(
    lambda rows: [
        stored(f"m{n:02}", text, created_at=time, kind=kind) for n, (text, time, kind) in enumerate(rows)
    ]
)


@given(corpora, st.integers(0, 25), st.integers(1, 7))
def test_a_search_answers_the_best_of_what_the_condition_accepts(
    items: list[Stored], top_k: int, most: int
) -> None:
    """S8: the filter comes before `top_k`, and equal scores are in recall order."""
    sought = ("green", "tea")
    accepted = [each for each in items if each.item.kind == "task"]
    texts = [counted(words(each.item.text), sought) for each in accepted]
    scores = Scores(sought, Corpus(len(texts), sum(each.length for each in texts), holding(texts)))
    ranked = [
        (scores.of(text), each.created_at, each.address.id)
        for text, each in zip(texts, accepted, strict=True)
    ]
    best = sorted((each for each in ranked if each[0] > 0), reverse=True)[:top_k]
    _, result = drive(search("t", HERE, TASKS, sought, top_k), answering(items, most))
    assert [(score, found.created_at, found.address.id) for found, score in must(result)] == best


def test_of_equal_scores_the_newest_are_answered() -> None:
    """S8: `top_k` cuts by recall order too, ids only where times are equal."""
    items = [
        stored("a", "tea", created_at=3),
        stored("c", "tea", created_at=1),
        stored("b", "tea", created_at=1),
    ]
    _, result = drive(search("t", HERE, TASKS, ("tea",), 2), answering(items, 1))
    assert [found.address.id for found, _ in must(result)] == ["a", "c"]


def test_what_needs_no_answer_asks_nothing() -> None:
    assert scripted(search("t", HERE, TASKS, (), 10)) == ([], Success([]))
    assert scripted(search("t", HERE, TASKS, ("tea",), 0)) == ([], Success([]))


def test_a_search_reads_a_thousand_rows_at_a_time_and_then_its_winners() -> None:
    items = recalled([stored(f"{n:04}", "tea" if n % 2 else "cup", created_at=n) for n in range(1_500)])
    first, second = Page(tuple(items[:1_000]), more=True), Page(tuple(items[1_000:]))
    tea = [each for each in items if each.item.text == "tea"]
    asked, result = scripted(search("t", HERE, TASKS, ("tea",), 2), first, second, Page(tuple(tea[:2])))
    assert [found for found, _ in must(result)] == tea[:2]
    assert asked == [
        Select("t", HERE, TASKS, None, 1_000),
        Select("t", HERE, TASKS, (500, "0500"), 1_000),
        Get("t", (tea[0].address, tea[1].address)),
    ]


def test_many_winners_are_read_a_thousand_at_a_time() -> None:
    items = recalled([stored(f"{n:04}", "tea", created_at=n) for n in range(2_500)])
    asked, result = drive(search("t", HERE, Everything(), ("tea",), 10**9), answering(items, 1_000))
    assert [found for found, _ in must(result)] == items
    assert [len(each.addresses) for each in asked if isinstance(each, Get)] == [1_000, 1_000, 500]


def test_where_nothing_has_a_word_nothing_is_read_again() -> None:
    asked, result = scripted(search("t", HERE, TASKS, ("tea",), 5), Page((stored("a", "cup"),)))
    assert (len(asked), must(result)) == (1, [])


@pytest.mark.parametrize("refusal", [Contended(), Unavailable("CANTOPEN")])
def test_a_search_that_fails_on_the_way_answers_no_part(refusal: Contended | Unavailable) -> None:
    whole = Page((stored("a", "tea"),), more=True)
    last = Page((stored("b", "tea", created_at=-1),))
    for replies in ([refusal], [whole, refusal], [whole, last, refusal]):
        assert scripted(search("t", HERE, TASKS, ("tea",), 5), *replies)[1] == Failure(refusal)


def test_an_item_that_went_meanwhile_is_left_out() -> None:
    scanned = Page((stored("b", "tea"), stored("a", "tea")))
    _, result = scripted(search("t", HERE, TASKS, ("tea",), 5), scanned, Page((stored("a", "tea"),)))
    assert [found.address.id for found, _ in must(result)] == ["a"]


def test_an_item_that_changed_meanwhile_is_judged_anew() -> None:
    """Its content of now is scored; it is left out when the condition or the words do not find it any more."""
    scanned = tuple(stored(id, "green tea") for id in "fedcba")
    now = (
        stored("f", "green tea"),
        stored("e", "tea", revision=2),
        stored("d", "green tea", revision=3, kind="entity"),
        stored("c", "green tea green tea", revision=2),
        stored("b", "cup", revision=2),
        stored("a", "green tea", revision=2, created_at=7),
    )
    _, result = scripted(search("t", HERE, TASKS, ("green", "tea"), 9), Page(scanned), Page(now))
    found = must(result)
    assert [each.address.id for each, _ in found] == ["c", "a", "f", "e"]
    assert [score for _, score in found] == sorted((score for _, score in found), reverse=True)
    assert found[1][1] == found[2][1]


def test_an_item_that_is_met_twice_is_found_once() -> None:
    """It was given an earlier time while the pages were read: its later state counts, also when that has no word."""
    first = Page((stored("a", "tea", created_at=9), stored("b", "tea", created_at=8)), more=True)
    second = Page(
        (stored("b", "cup", created_at=2, revision=2), stored("a", "tea tea", created_at=1, revision=2))
    )
    winners = Page((stored("a", "tea tea", created_at=1, revision=2),))
    asked, result = scripted(search("t", HERE, TASKS, ("tea",), 9), first, second, winners)
    assert asked[-1] == Get("t", (at("a"),))
    assert [found.revision for found, _ in must(result)] == [2]
