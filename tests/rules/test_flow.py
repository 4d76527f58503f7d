"""The flows, driven by hand: what each asks, and what it makes of the answers."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from returns.result import Failure, Success

from tests.rules.examples import HERE, PRESENTER, at, outcome, put, write
from txmemory.flow import reading, writing
from txmemory.flow.requests import Answer, Flow, Request
from txmemory.model.command import Applied, Clear, Delete, ForgetApplied, Swap, WriteMany
from txmemory.model.commit import Commit, Done, Entry, Forgot, Found, Recorded
from txmemory.model.filter import Everything
from txmemory.model.item import Item, Revision, Stored
from txmemory.model.outcome import Receipt
from txmemory.model.query import Count, Get, KeyCount, Keys, Page, Query, Revisions, Select
from txmemory.model.refusal import Contended, Unavailable
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
    asked, result = drive(flow, lambda _request: left.pop(0))
    assert left == []
    return asked, result


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
