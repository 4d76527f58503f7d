"""The only place that waits: runs a flow over a backend, with retries and a deadline."""

import asyncio
import logging
import random
import threading
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import tenacity

from txmemory.flow.requests import Flow, Pause, Request
from txmemory.model.commit import Commit, Finished, Overtaken, Transaction
from txmemory.model.lease import Reset
from txmemory.model.refusal import Contended, OutcomeUnknown, Unavailable
from txmemory.port import AsyncBackend, Backend, Busy, Closed, Corrupted, Down, Fault, Lost
from txmemory.rules.planning import resendable

Answer = TypeVar("Answer")
_log = logging.getLogger("txmemory")
LEAST = 0.05
"""Seconds that another attempt needs: one that the deadline cuts off would leave its outcome unknown."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long and how often one request is tried: seconds until it is given up, and attempts."""

    deadline: float = 10.0
    attempts: int = 8


class _Attempts:
    """What became of the attempts at one request so far."""

    def __init__(self, request: Request, patience: Patience) -> None:
        self.request = request
        self._ends = time.monotonic() + patience.deadline
        self._least = min(LEAST, patience.deadline / 4)
        self.most = patience.attempts
        self._lost = False
        self._answered = 0
        """Attempts that count: of those that did not get as far, or lost a race, only the deadline makes an end."""

    @property
    def spent(self) -> bool:
        """Whether no attempt is left, or too little time for one."""
        return self.most == 1 or self._answered >= self.most or self.remaining <= self._least

    @property
    def remaining(self) -> float:
        """Seconds until the deadline, never negative."""
        return max(0.0, self._ends - time.monotonic())

    def worth_repeating(self, fault: BaseException) -> bool:
        """Whether doing it again can neither double anything nor be in vain."""
        match fault:
            case Lost():
                self._lost = True
                self._answered += 1
                return self._repeatable
            case Busy(raced=raced):
                self._answered += not raced
                return True
            case _:
                return isinstance(fault, Down) and fault.passing

    @property
    def _repeatable(self) -> bool:
        match self.request:
            case Commit() as commit:
                return resendable(commit)
            case Reset():
                return False  # twice is another generation
            case request:
                return isinstance(request, Transaction)  # what a claim or a repair has done, it finds done

    def policy(self) -> dict[str, Any]:
        """The one retry policy: full jitter, capped attempts and the deadline."""
        late = tenacity.stop_before_delay(max(0.0, self.remaining - self._least))
        return {
            "retry": tenacity.retry_if_exception(self.worth_repeating),
            "wait": tenacity.wait_random_exponential(multiplier=0.005, max=0.5),
            "stop": lambda state: self.spent or late(state),
            "reraise": True,
        }

    def pause(self, request: Pause) -> float:
        """Seconds, with full jitter; none in a caller's own transaction, where nothing is tried again."""
        longest = 0.0 if self.most == 1 else min(0.5, 0.01 * 2**request.lost, self.remaining)
        return random.uniform(0, longest)

    def answer(self, reply: object) -> object:
        """The reply; a fence or a finished scope that was met after a lost attempt says so."""
        if not self._lost:
            return reply
        if isinstance(reply, Overtaken):
            return replace(reply, lost=True)
        if isinstance(reply, tuple):
            return tuple(replace(met, lost=True) if isinstance(met, Finished) else met for met in reply)
        return reply

    def refusal(self, fault: Fault) -> object:
        """What the caller is told when it stays with this fault."""
        match fault:
            case Down() | Lost() if self._repeatable or not self._lost:
                return Unavailable(fault.code, outcome_unknown=self._lost)
            case _ if self._lost:
                return OutcomeUnknown()
            case Busy(held_by=held_by):
                return Contended(held_by=held_by)
            case _:
                return Contended()


def run(flow: Flow[Answer], backend: Backend, patience: Patience) -> Answer:
    """The flow's answer, blocking while the backend works."""
    answer: object = None
    try:
        while True:
            try:
                request = flow.send(answer)
            except StopIteration as stop:
                return stop.value  # type: ignore[no-any-return]  # a generator's value has no type of its own
            attempts = _Attempts(request, patience)
            try:
                answer = _once(attempts, backend)
            except Fault as fault:
                answer = _again(fault, attempts, backend)
    except Corrupted as damage:
        damage.__context__ = None  # a driver's error quotes rows, also where no traceback shows it
        raise
    finally:
        flow.close()


def _again(first: Fault, attempts: _Attempts, backend: Backend) -> object:
    if not attempts.worth_repeating(first) or attempts.spent:
        return attempts.refusal(first)
    try:
        return tenacity.Retrying(**attempts.policy())(_once, attempts, backend)
    except Fault as last:
        return attempts.refusal(last)


def _once(attempts: _Attempts, backend: Backend) -> object:
    request = attempts.request
    if isinstance(request, Pause):
        time.sleep(attempts.pause(request))
        return None
    if isinstance(request, Transaction):
        return attempts.answer(backend.commit(request, attempts.remaining))
    return backend.read(request, attempts.remaining)


async def run_async(flow: Flow[Answer], backend: AsyncBackend, patience: Patience) -> Answer:
    """The flow's answer, awaited."""
    answer: object = None
    try:
        while True:
            try:
                request = flow.send(answer)
            except StopIteration as stop:
                return stop.value  # type: ignore[no-any-return]  # a generator's value has no type of its own
            attempts = _Attempts(request, patience)
            try:
                answer = await _once_async(attempts, backend)
            except Fault as fault:
                answer = await _again_async(fault, attempts, backend)
    except Corrupted as damage:
        damage.__context__ = None  # a driver's error quotes rows, also where no traceback shows it
        raise
    finally:
        flow.close()


async def _again_async(first: Fault, attempts: _Attempts, backend: AsyncBackend) -> object:
    if not attempts.worth_repeating(first) or attempts.spent:
        return attempts.refusal(first)
    try:
        return await tenacity.AsyncRetrying(**attempts.policy())(_once_async, attempts, backend)
    except Fault as last:
        return attempts.refusal(last)


async def _once_async(attempts: _Attempts, backend: AsyncBackend) -> object:
    request = attempts.request
    if isinstance(request, Pause):
        await asyncio.sleep(attempts.pause(request))
        return None
    if isinstance(request, Transaction):
        return attempts.answer(await backend.commit(request, attempts.remaining))
    return await backend.read(request, attempts.remaining)


class Repeating:
    """Calls something at intervals on a thread of its own, until it answers False or is stopped.

    What takes as long as an interval, or longer, is called again at once.
    """

    def __init__(self, call: Callable[[], bool], every: float) -> None:
        self._call = call
        self._every = every
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """The first call comes one interval later."""
        self._thread = threading.Thread(target=self._repeat, name="txmemory-renewing", daemon=True)
        self._thread.start()

    def _repeat(self) -> None:
        pause = self._every
        while not self._stopped.wait(pause):
            began = time.monotonic()
            try:
                if not self._call():
                    return
            except Closed:
                return
            except Exception as error:  # noqa: BLE001  # a caller's clock, say: the next time it may be right
                _log.warning("what is repeated raised %s", type(error).__name__)
            pause = max(0.0, self._every - (time.monotonic() - began))

    def stop(self) -> None:
        """No call is under way any more when it returns."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join()


class AsyncRepeating:
    """The same in a task of the event loop."""

    def __init__(self, call: Callable[[], Awaitable[bool]], every: float) -> None:
        self._call = call
        self._every = every
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """The first call comes one interval later."""
        self._task = asyncio.get_running_loop().create_task(self._repeat())

    async def _repeat(self) -> None:
        pause = self._every
        while True:
            await asyncio.sleep(pause)
            began = time.monotonic()
            try:
                if not await self._call():
                    return
            except Closed:
                return
            except Exception as error:  # noqa: BLE001  # as above
                _log.warning("what is repeated raised %s", type(error).__name__)
            pause = max(0.0, self._every - (time.monotonic() - began))

    async def stop(self) -> None:
        """No call is under way any more when it returns."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
