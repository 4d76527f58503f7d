"""How often and how long a request is tried, over a backend that answers by a script."""

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from returns.result import Failure

from tests.rules.examples import HERE, PRESENTER, outcome, write
from txmemory.drive import Patience, run, run_async
from txmemory.flow import reading, writing
from txmemory.flow.requests import Flow
from txmemory.model.command import ForgetApplied
from txmemory.model.commit import Done, Overtaken, Reply, Transaction
from txmemory.model.filter import Everything
from txmemory.model.query import Page, Query
from txmemory.model.refusal import Contended, OutcomeUnknown, Unavailable
from txmemory.port import Busy, Down, Fault, Lost
from txmemory.results import either

AWAY = Down("AWAY", passing=True)
FULL = Down("FULL")
Drive = Callable[[Flow[Any], "Scripted", Patience], object]


class Scripted:
    """A backend that meets these faults, the last one for ever unless a reply follows; it counts the attempts."""

    def __init__(self, *script: Fault | Reply | Page[Any]) -> None:
        self.script: Sequence[Fault | Reply | Page[Any]] = script
        self.attempts = 0

    def commit(self, commit: Transaction, deadline: float) -> Any:
        return self._next()

    def read(self, query: Query[Any], deadline: float) -> Any:
        return self._next()

    def joined(self, connection: object) -> "Scripted":
        raise TypeError("nothing to join")

    def close(self) -> None:
        """Nothing to close."""

    def _next(self) -> Any:
        met = self.script[min(self.attempts, len(self.script) - 1)]
        self.attempts += 1
        if isinstance(met, Fault):
            raise met
        return met


class AsyncScripted:
    """The same, awaited."""

    def __init__(self, scripted: Scripted) -> None:
        self._scripted = scripted

    async def commit(self, commit: Transaction, deadline: float) -> Any:
        return self._scripted.commit(commit, deadline)

    async def read(self, query: Query[Any], deadline: float) -> Any:
        return self._scripted.read(query, deadline)

    def joined(self, connection: object) -> "AsyncScripted":
        raise TypeError("nothing to join")

    async def close(self) -> None:
        """Nothing to close."""


def awaited(flow: Flow[Any], backend: Scripted, patience: Patience) -> object:
    return asyncio.run(run_async(flow, AsyncScripted(backend), patience))


@pytest.fixture(params=[run, awaited], ids=["blocking", "awaited"])
def drive(request: pytest.FixtureRequest) -> Drive:
    chosen: Drive = request.param
    return chosen


def keyed() -> Flow[Any]:
    return writing.write(write(), "t", PRESENTER)


def keyless() -> Flow[Any]:
    return writing.forget_applied(ForgetApplied("key"), "t", PRESENTER)


def look() -> Flow[Any]:
    return reading.count("t", HERE, Everything())


DONE = (Done(outcome()),)


@pytest.mark.parametrize(
    ("script", "attempts"),
    [
        ((DONE,), 1),
        ((Busy(), Busy(), DONE), 3),
        ((Lost(), DONE), 2),
        ((*[Busy("40001", raced=True)] * 12, DONE), 13),
        ((AWAY, AWAY, Lost(), AWAY, Busy(), DONE), 6),
    ],
)
def test_what_is_worth_another_attempt_gets_one(drive: Drive, script: Any, attempts: int) -> None:
    backend = Scripted(*script)
    assert not isinstance(drive(keyed(), backend, Patience()), Failure)
    assert backend.attempts == attempts


@pytest.mark.parametrize(
    ("flow", "script", "attempts", "refusal"),
    [
        (keyed, (FULL,), 1, Unavailable("FULL")),
        (keyless, (FULL,), 1, Unavailable("FULL")),
        (look, (FULL,), 1, Unavailable("FULL")),
        (keyed, (AWAY, FULL), 2, Unavailable("FULL")),
        (keyed, (Lost(), FULL), 2, Unavailable("FULL", outcome_unknown=True)),
        (keyless, (Lost("X"), FULL), 1, OutcomeUnknown()),
        (keyless, (AWAY, Lost("X")), 2, OutcomeUnknown()),
        (keyed, (Busy(),), 3, Contended()),
        (look, (Busy(),), 3, Contended()),
        (keyed, (AWAY, AWAY, AWAY, Busy()), 6, Contended()),
        (keyed, (Lost("X"),), 3, Unavailable("X", outcome_unknown=True)),
        (keyed, (Lost(), Busy()), 3, Contended(outcome_unknown=True)),
    ],
)
def test_what_is_not_is_answered_at_once_and_attempts_are_counted(
    drive: Drive, flow: Callable[[], Flow[Any]], script: Any, attempts: int, refusal: object
) -> None:
    backend = Scripted(*script)
    answer: Any = drive(flow(), backend, Patience(attempts=3))
    assert either(answer) == refusal
    assert backend.attempts == attempts


@pytest.mark.parametrize(
    ("flow", "first", "refusal"),
    [
        (keyed, (), Unavailable("AWAY")),
        (keyless, (), Unavailable("AWAY")),
        (look, (), Unavailable("AWAY")),
        (keyed, (Lost(),), Unavailable("AWAY", outcome_unknown=True)),
    ],
)
def test_a_database_that_stays_away_is_asked_until_the_deadline(
    drive: Drive, flow: Callable[[], Flow[Any]], first: tuple[Fault, ...], refusal: object
) -> None:
    backend = Scripted(*first, AWAY)
    began = time.monotonic()
    answer: Any = drive(flow(), backend, Patience(deadline=0.2, attempts=2))
    assert time.monotonic() - began < 2
    assert either(answer) == refusal
    assert backend.attempts > 2


def test_a_fence_that_is_met_after_a_loss_says_that_the_outcome_is_unknown(drive: Drive) -> None:
    """R18: and only then."""
    fence = Overtaken(PRESENTER.fence)
    for script, unknown in (((Lost(), fence), True), ((AWAY, Busy(), fence), False)):
        answer: Any = drive(keyed(), Scripted(*script), Patience())
        assert answer.failure().outcome_unknown is unknown


@pytest.mark.parametrize("fault", [AWAY, Busy("LOCK"), Lost("GONE")], ids=["away", "busy", "lost"])
def test_with_one_attempt_nothing_is_tried_again(drive: Drive, fault: Fault) -> None:
    """What a joined call has: its transaction is the caller's, and does not survive what befell it."""
    backend = Scripted(fault, DONE)
    assert isinstance(drive(keyed(), backend, Patience(attempts=1)), Failure)
    assert backend.attempts == 1
