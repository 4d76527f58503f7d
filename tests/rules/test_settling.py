"""Every reply of a backend to every call: the one right member of its union, or a fault of that backend."""

from collections.abc import Callable
from typing import Any

import pytest
from returns.result import Result

from tests.rules.examples import PRESENTER, at, outcome, put, write
from txmemory.model.address import Fence
from txmemory.model.canonical import new_salt, sealed_digest
from txmemory.model.command import Write
from txmemory.model.commit import Done, Finished, Forgot, Found, Guard, Overtaken, Recorded, Reply
from txmemory.model.outcome import Receipt
from txmemory.model.refusal import (
    AlreadyExists,
    Contended,
    Fenced,
    KeyReused,
    OutcomeUnknown,
    Refusal,
    Sealed,
    StaleRevision,
    TooManyToEvict,
    Unavailable,
)
from txmemory.results import either
from txmemory.rules import settling
from txmemory.rules.settling import Accident, Unexpected

WRITE = write(put("a"))
REFUSING = Write("write", "step", (put("a"),), on_mismatch="refuse")
SAME = sealed_digest(new_salt(), WRITE.fingerprint)
OTHER = sealed_digest(new_salt(), write(put("b")).fingerprint)
NEWEST = Fence(0, 8)

CALLS: dict[str, Callable[[Any], Result[Any, Any]]] = {
    "write": lambda reply: settling.write(WRITE, PRESENTER, reply),
    "write, refusing": lambda reply: settling.write(REFUSING, PRESENTER, reply),
    "applied": lambda reply: settling.applied(PRESENTER, reply),
    "forget_applied": lambda reply: settling.forget_applied(PRESENTER, reply),
    "seal": lambda reply: settling.seal(PRESENTER, reply),
    "store": settling.store,
    "plain": settling.plain,
}

FENCED = Fenced(PRESENTER.fence, NEWEST)
REPLAYED = Receipt(outcome(), replayed=True)
DIVERGED = Receipt(outcome(), replayed=True, diverged=True)
UNTOLD = Contended(outcome_unknown=True)
SEALED = Sealed(outcome_unknown=True)
NEVER = Unexpected

# For each reply what each call answers, in the order of CALLS.
ANSWERS: dict[str, tuple[Reply | Accident, list[object]]] = {
    "overtaken": (Overtaken(NEWEST), [FENCED, FENCED, FENCED, FENCED, FENCED, NEVER, NEVER]),
    "contended": (Contended(), [Contended()] * 7),
    "lost": (OutcomeUnknown(), [UNTOLD, UNTOLD, UNTOLD, *[OutcomeUnknown()] * 4]),
    "down": (Unavailable("FULL"), [Unavailable("FULL")] * 7),
    "done": (
        (Done(outcome()),),
        [Receipt(outcome()), Receipt(outcome()), NEVER, NEVER, NEVER, outcome(), outcome()],
    ),
    "recorded": (
        (Recorded(outcome(), SAME),),
        [REPLAYED, REPLAYED, outcome(), NEVER, NEVER, NEVER, NEVER],
    ),
    "recorded with another payload": (
        (Recorded(outcome(), OTHER),),
        [DIVERGED, KeyReused(), outcome(), NEVER, NEVER, NEVER, NEVER],
    ),
    "finished": ((Finished(),), [Sealed(), Sealed(), Sealed(), Sealed(), NEVER, NEVER, NEVER]),
    "finished since": ((Finished(lost=True),), [SEALED, SEALED, SEALED, SEALED, NEVER, NEVER, NEVER]),
    "too many to evict": (
        (Found({}, 1_001),),
        [TooManyToEvict(1_001), TooManyToEvict(1_001), None, NEVER, NEVER, TooManyToEvict(1_001), NEVER],
    ),
    "nothing forgotten": ((Forgot(0),), [NEVER, NEVER, NEVER, False, 0, NEVER, NEVER]),
    "forgotten": ((Forgot(2),), [NEVER, NEVER, NEVER, True, 2, NEVER, NEVER]),
    "no entry": ((), [NEVER] * 7),
    "two entries": ((Done(outcome()), Done(outcome())), [NEVER] * 7),
}


@pytest.mark.parametrize("reply", ANSWERS)
@pytest.mark.parametrize("call", CALLS)
def test_a_reply_settles_a_call_in_one_way(reply: str, call: str) -> None:
    met, answers = ANSWERS[reply]
    expected = answers[list(CALLS).index(call)]
    if expected is NEVER:
        with pytest.raises(Unexpected):
            CALLS[call](met)
    else:
        assert either(CALLS[call](met)) == expected


def test_a_fence_met_after_a_lost_answer_says_that_the_outcome_cannot_be_told() -> None:
    for call in list(CALLS)[:5]:
        answer = either(CALLS[call](Overtaken(NEWEST, lost=True)))
        assert answer == Fenced(PRESENTER.fence, NEWEST, outcome_unknown=True)


@pytest.mark.parametrize(
    ("expected", "actual", "refusal"),
    [
        (0, 3, AlreadyExists(3)),
        (2, 3, StaleRevision(2, 3)),
        (2, 0, StaleRevision(2, 0)),
        (None, 0, StaleRevision(0, 0)),
    ],
)
def test_a_failed_guard_says_what_was_found(expected: int | None, actual: int, refusal: object) -> None:
    command = write(put("a"), expect=(Guard(at("b"), 1), Guard(at("a"), expected)))
    reply = (Found({at("b"): 1, at("a"): actual}),)
    answer = either(settling.write(command, PRESENTER, reply))
    assert answer == refusal
    assert isinstance(answer, AlreadyExists | StaleRevision)
    assert answer.id == "a"


def test_of_several_failed_guards_the_first_that_the_caller_named_is_told() -> None:
    command = write(expect=(Guard(at("b"), 1), Guard(at("a"), 0)))
    reply = (Found({at("a"): 5, at("b"): 2}),)
    assert either(settling.write(command, PRESENTER, reply)) == StaleRevision(1, 2)


def test_a_backend_cannot_report_a_failed_guard_where_all_hold() -> None:
    for command, actual in ((WRITE, {}), (write(expect=(Guard(at("a"), 1),)), {at("a"): 1})):
        with pytest.raises(Unexpected):
            settling.write(command, PRESENTER, (Found(actual),))


def test_each_of_many_keys_is_answered_for_itself_and_in_order() -> None:
    commands = (WRITE, REFUSING, write(put("c"), expect=(Guard(at("c"), 0),)))
    reply = (Done(outcome("a")), Recorded(outcome("z"), OTHER), Found({at("c"): 4}))
    result = either(settling.write_many(commands, PRESENTER, reply))
    assert isinstance(result, tuple)
    assert [either(each) for each in result] == [Receipt(outcome("a")), KeyReused(), AlreadyExists(4)]


@pytest.mark.parametrize(
    ("reply", "refusal"),
    [
        (Overtaken(NEWEST), FENCED),
        (Overtaken(NEWEST, lost=True), Fenced(PRESENTER.fence, NEWEST, outcome_unknown=True)),
        (Contended(), Contended()),
        (OutcomeUnknown(), UNTOLD),
        (Unavailable("FULL"), Unavailable("FULL")),
    ],
)
def test_what_befalls_a_transaction_befalls_all_of_many(reply: Reply | Accident, refusal: object) -> None:
    assert either(settling.write_many((WRITE,), PRESENTER, reply)) == refusal


def test_many_keys_need_as_many_answers() -> None:
    for reply in ((), (Done(outcome()), Done(outcome()))):
        with pytest.raises((Unexpected, ValueError)):
            settling.write_many((WRITE,), PRESENTER, reply)


def test_what_may_be_tried_again_is_said_by_the_refusal_itself() -> None:
    again: dict[type[Refusal], bool] = {
        Contended: True,
        Unavailable: True,
        OutcomeUnknown: False,
        Fenced: False,
        Sealed: False,
        KeyReused: False,
    }
    assert {refusal: refusal.retryable for refusal in again} == again


@pytest.mark.parametrize("reply", ANSWERS)
def test_only_what_was_not_as_it_was_read_is_read_again(reply: str) -> None:
    met, _ = ANSWERS[reply]
    assert settling.stale(met) is False
    assert settling.stale((Found({at("a"): 2}),)) is True
    assert settling.stale((Found({}),)) is True
