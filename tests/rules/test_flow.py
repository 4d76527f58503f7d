"""The flows, driven by hand: what each asks, and what it makes of the answers."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from returns.result import Failure, Success

from tests.rules.examples import HERE, PRESENTER, at, outcome, put, write
from txmemory.flow import reading, writing
from txmemory.flow.requests import Answer, Flow, Pause, Request
from txmemory.model.address import Ref
from txmemory.model.command import Applied, Clear, Delete, ForgetApplied, Swap, WriteMany
from txmemory.model.commit import Bound, Commit, Done, Entry, Forgot, Found, Put, Recorded
from txmemory.model.filter import Everything, Satisfies
from txmemory.model.item import Item, Revision, Stored
from txmemory.model.outcome import Receipt
from txmemory.model.query import Count, Figures, Get, KeyCount, Keys, Page, Query, Revisions, Select, Totals
from txmemory.model.refusal import (
    Contended,
    IdChanged,
    NotFound,
    OutcomeUnknown,
    Refusal,
    TooManyToEvict,
    Unavailable,
)
from txmemory.results import either, must


def drive(flow: Flow[Answer], answer: Callable[[Request], object]) -> tuple[list[Request], Answer]:
    """Runs a flow to its end; answers what it asked on the way, and what it came to."""
    asked: list[Request] = []
    reply: object = None
    while True:
        try:
            request = flow.send(reply)
        except StopIteration as stop:
            result: Answer = stop.value
            return asked, result
        asked.append(request)
        reply = answer(request)


def scripted(flow: Flow[Answer], *replies: object) -> tuple[list[Request], Answer]:
    """The same with answers that are known beforehand, all of which must be asked for."""
    left = list(replies)
    asked, result = drive(flow, lambda request: None if isinstance(request, Pause) else left.pop(0))
    assert left == []
    return [request for request in asked if not isinstance(request, Pause)], result


def stored(number: int) -> Stored:
    return Stored(at(f"{number:05}"), 1, Item("knowledge"), 100_000 - number)


def revision(number: int) -> Revision:
    return Revision(at("a"), number, None, 0, number, 0, None, "deleted", b"")


def page(rows: Sequence[object], query: Query[Any], start: int, most: int) -> Page[Any]:
    """A page of at most `most` rows, as a backend may cut it, but never more than were asked for."""
    limit: int = getattr(query, "limit", most)
    taken = tuple(rows[start : start + min(limit, most)])
    return Page(taken, more=start + len(taken) < len(rows))


@given(st.integers(0, 60), st.integers(0, 70), st.integers(1, 20))
def test_a_list_is_read_page_by_page_up_to_its_limit(there: int, limit: int, most: int) -> None:
    rows = [stored(number) for number in range(there)]

    def answer(request: Request) -> object:
        assert isinstance(request, Select)
        places = [(each.created_at, each.address.id) for each in rows]
        start = 0 if request.after is None else places.index(request.after) + 1
        return page(rows, request, start, most)

    asked, result = drive(reading.recall("t", HERE, Everything(), limit), answer)
    assert must(result) == rows[:limit]
    assert len(asked) <= -(-limit // most)


def test_a_recall_asks_for_no_more_than_it_needs() -> None:
    rows = [stored(number) for number in range(2_500)]
    pages = [
        Page(tuple(rows[:1_000]), more=True),
        Page(tuple(rows[1_000:2_000]), more=True),
        Page(tuple(rows[2_000:]), more=True),
    ]
    asked, result = scripted(reading.recall("t", HERE, Everything(), 2_500), *pages)
    assert must(result) == rows
    assert [(each.after, each.limit) for each in asked if isinstance(each, Select)] == [
        (None, 1_000),
        ((99_001, "00999"), 1_000),
        ((98_001, "01999"), 500),
    ]


def test_a_limit_of_zero_asks_nothing() -> None:
    assert scripted(reading.recall("t", HERE, Everything(), 0)) == ([], Success([]))
    assert scripted(reading.keys("t", "run", "", 0)) == ([], Success([]))


def test_a_history_is_read_to_its_end() -> None:
    first, second = tuple(map(revision, range(1, 1_001))), tuple(map(revision, range(1_001, 1_004)))
    asked, result = scripted(reading.history("t", at("a")), Page(first, more=True), Page(second))
    assert must(result) == [*first, *second]
    assert asked == [Revisions("t", at("a"), 0, 1_000), Revisions("t", at("a"), 1_000, 1_000)]


def test_keys_are_read_behind_where_the_caller_stood() -> None:
    asked, result = scripted(
        reading.keys("t", "run", "b", 3), Page(("c", "d"), more=True), Page(("e",), more=True)
    )
    assert must(result) == ["c", "d", "e"]
    assert asked == [Keys("t", "run", "b", 3), Keys("t", "run", "d", 1)]


@pytest.mark.parametrize("refusal", [Contended(), Unavailable("CANTOPEN")])
def test_a_read_that_fails_on_the_way_answers_no_part(refusal: Contended | Unavailable) -> None:
    whole = Page((stored(1),), more=True)
    assert scripted(reading.recall("t", HERE, Everything(), 5), whole, refusal)[1] == Failure(refusal)
    assert scripted(reading.history("t", at("a")), refusal)[1] == Failure(refusal)
    assert scripted(reading.get("t", at("a")), refusal)[1] == Failure(refusal)
    assert scripted(reading.count("t", HERE, Everything()), refusal)[1] == Failure(refusal)
    assert scripted(reading.key_count("t", None), refusal)[1] == Failure(refusal)


def test_a_get_answers_the_item_or_none() -> None:
    asked, found = scripted(reading.get("t", at("00001")), Page((stored(1),)))
    assert (asked, must(found)) == ([Get("t", (at("00001"),))], stored(1))
    assert must(scripted(reading.get("t", at("a")), Page(()))[1]) is None


def test_a_count_is_one_number() -> None:
    asked, counted = scripted(reading.count("t", HERE, Everything()), Page((7,)))
    assert (asked, must(counted)) == ([Count("t", HERE, Everything())], 7)
    asked, counted = scripted(reading.key_count("t", "run"), Page((8,)))
    assert (asked, must(counted)) == ([KeyCount("t", "run")], 8)


def test_the_figures_of_a_namespace_are_one_question_whose_answer_is_one_row() -> None:
    totals = Totals((("custom:tea", 5), ("task", 2_000_000)), (3, 4), 7, 1, 9)
    asked, figures = scripted(reading.figures("t", HERE), Page((totals,)))
    assert (asked, must(figures)) == ([Figures("t", HERE)], totals)


@given(st.integers(0, 5_000), st.none() | st.integers(0, 6_000))
def test_no_page_that_is_asked_for_holds_more_than_a_thousand(there: int, limit: int | None) -> None:
    rows = [stored(number) for number in range(there)]
    start = 0

    def answer(request: Request) -> object:
        nonlocal start
        assert isinstance(request, Select)
        assert 1 <= request.limit <= 1_000
        found = page(rows, request, start, request.limit)
        start += len(found.rows)
        return found

    for condition in (Everything(), Satisfies(lambda _item: True)):
        start = 0
        _, found = drive(reading.recall("t", HERE, condition, limit), answer)
        assert must(found) == rows[:limit]


COMMAND = write(put("a"))
FINGERPRINT = bytes(48)
OUTCOME = outcome()

# A flow, what its one transaction met, what is answered.
WRITES: list[tuple[str, Callable[[], Flow[Any]], tuple[object, ...], object]] = [
    ("write", lambda: writing.write(COMMAND, "t", PRESENTER), (Done(OUTCOME),), Receipt(OUTCOME)),
    (
        "applied",
        lambda: writing.applied(Applied("k"), "t", PRESENTER),
        (Recorded(OUTCOME, FINGERPRINT),),
        OUTCOME,
    ),
    ("not applied", lambda: writing.applied(Applied("k"), "t", PRESENTER), (Found({}),), None),
    ("forget", lambda: writing.forget_applied(ForgetApplied("k"), "t", PRESENTER), (Forgot(1),), True),
    ("seal", lambda: writing.seal("t", PRESENTER), (Forgot(3),), 3),
    ("store", lambda: writing.swap(Swap((put("a"),)), "t"), (Done(OUTCOME),), OUTCOME),
    ("delete", lambda: writing.delete(Delete(at("a")), "t"), (Done(OUTCOME),), OUTCOME),
    ("clear", lambda: writing.clear(Clear(HERE), "t"), (Done(OUTCOME),), OUTCOME),
]


@pytest.mark.parametrize(
    ("flow", "reply", "answer"), [each[1:] for each in WRITES], ids=[each[0] for each in WRITES]
)
def test_a_call_that_changes_something_is_one_transaction(
    flow: Callable[[], Flow[Any]], reply: tuple[object, ...], answer: object
) -> None:
    asked, result = scripted(flow(), reply)
    assert either(result) == answer
    assert [type(request) for request in asked] == [Commit]


def test_many_writes_are_one_transaction_too() -> None:
    commands = WriteMany((COMMAND, write(put("b"), key="two")))
    asked, result = scripted(writing.write_many(commands, "t", PRESENTER), (Done(OUTCOME), Done(OUTCOME)))
    assert [must(each) for each in must(result)] == [Receipt(OUTCOME)] * 2
    (commit,) = asked
    assert isinstance(commit, Commit)
    assert [entry.key for entry in commit.entries] == ["step", "two"]
    assert all(isinstance(entry, Entry) for entry in commit.entries)


def told(stored: Stored) -> Put:
    """A change that says at which revision it was made."""
    return put("00000", f"changed at {stored.revision}")


def other_than(answer: Put, _stored: Stored) -> Put:
    """A change that has nothing to do with what is there."""
    return answer


def update(change: Callable[[Stored], Put] = told) -> Flow[Any]:
    return writing.update("t", at("00000"), change, (Bound(HERE, 3),))


def found_at(number: int) -> Page[Stored]:
    return Page((stored(0)._replace(revision=number),))


STALE = (Found({at("00000"): 9}),)


def test_an_update_reads_and_commits_over_what_it_read_until_that_holds() -> None:
    replies = [found_at(1), STALE, found_at(4), STALE, found_at(6), (Done(OUTCOME),)]
    asked, result = scripted(update(), *replies)
    assert either(result) == OUTCOME
    commits = [request for request in asked if isinstance(request, Commit)]
    assert asked[::2] == [Get("t", (at("00000"),))] * 3
    guards = [[guard.revision for guard in entry.guards] for commit in commits for entry in commit.entries]
    assert guards == [[1], [4], [6]]
    texts = [
        change.item.text
        for commit in commits
        for change in commit.entries[0].changes
        if isinstance(change, Put)
    ]
    assert texts == ["changed at 1", "changed at 4", "changed at 6"]
    assert {commit.bounds for commit in commits} == {(Bound(HERE, 3),)}


def test_an_update_is_decided_at_most_five_times() -> None:
    left = [found_at(1), STALE] * 5
    asked, result = drive(update(), lambda request: None if isinstance(request, Pause) else left.pop(0))
    assert either(result) == Contended()
    assert len([request for request in asked if not isinstance(request, Pause)]) == 10
    assert [request for request in asked if isinstance(request, Pause)] == [
        Pause(lost) for lost in range(1, 5)
    ]


@pytest.mark.parametrize(
    ("replies", "answer"),
    [
        ([Page(())], NotFound()),
        ([found_at(1), STALE, Page(())], NotFound()),
        ([Unavailable("AWAY")], Unavailable("AWAY")),
        ([found_at(1), STALE, Contended()], Contended()),
        ([found_at(1), OutcomeUnknown()], OutcomeUnknown()),
        ([found_at(1), (Found({}, 1_001),)], TooManyToEvict(1_001)),
    ],
)
def test_an_update_ends_with_what_it_meets(replies: list[object], answer: Refusal) -> None:
    assert either(scripted(update(), *replies)[1]) == answer


def test_an_update_that_changes_the_id_commits_nothing() -> None:
    for other in (put("00001"), put("00000", namespace=("memories", "ada"))):
        asked, result = scripted(update(partial(other_than, other)), found_at(1))
        assert either(result) == IdChanged()
        assert len(asked) == 1


def evicting(number: int) -> tuple[Done]:
    """An outcome of that many evictions."""
    return (Done(OUTCOME._replace(added=(), evicted=tuple(Ref(HERE, f"{n}", 2) for n in range(number)))),)


def test_a_trim_goes_on_while_whole_transactions_are_full() -> None:
    bound = Bound(HERE, 1)
    for sizes, total in (([0], 0), ([999], 999), ([1_000, 0], 1_000), ([1_000, 1_000, 7], 2_007)):
        asked, result = scripted(writing.trim(bound, "t"), *map(evicting, sizes))
        assert must(result) == total
        assert len(set(asked)) == 1
    for refusal in (Contended(), Unavailable("AWAY"), OutcomeUnknown()):
        assert either(scripted(writing.trim(bound, "t"), evicting(1_000), refusal)[1]) == refusal
