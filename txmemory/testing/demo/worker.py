"""A life of the agent as a child process that reports what it does, and dies with whoever started it."""

import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import NoReturn

import txmemory
from txmemory import Fenced, Refused
from txmemory.testing.demo.agent import Agent, Doing, Report
from txmemory.testing.demo.conversation import Conversation
from txmemory.testing.demo.model import Model
from txmemory.testing.processes import Lifeline

_FINISHED, _FENCED, _FAILED = 0, 3, 4
_CHUNK = 65_536


@dataclass(frozen=True, slots=True)
class Place:
    """Where a run keeps its memory."""

    url: str
    tenant: str


@dataclass(frozen=True, slots=True)
class Did:
    """The worker is at this step."""

    doing: Doing
    step: int


@dataclass(frozen=True, slots=True)
class WasFenced:
    """The worker was refused: this newer token has taken over."""

    presented: int
    newest: int


@dataclass(frozen=True, slots=True)
class Finished:
    """The worker came to the end of the conversation."""


@dataclass(frozen=True, slots=True)
class Failed:
    """The worker met something that must not happen."""

    why: str


Message = Did | WasFenced | Finished | Failed


class Worker:
    """One child process. It is forked before any store is open, so it shares nothing with its parent."""

    def __init__(self, token: int, pid: int, reports: int) -> None:
        self.token = token
        self.pid = pid
        self.reports = reports
        self.began = time.monotonic()
        self.last: Did | None = None
        self.accepted = 0
        self.overtaken = False
        self.ended = False
        self.killed = False
        self._rest = b""

    def read(self) -> Iterator[Message]:
        """What the worker says next. At the end of its reports it is waited for, and `ended` is true."""
        chunk = os.read(self.reports, _CHUNK)
        if not chunk:
            os.close(self.reports)
            _, status = os.waitpid(self.pid, 0)
            self.ended = True
            self.killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        for line in lines:
            message = _message(line.decode())
            if isinstance(message, Did):
                self.last = message
                self.accepted += message.doing in {"replayed", "wrote"}
            yield message

    def send(self, number: signal.Signals) -> None:
        """Signals this process and no other: until `ended` its number cannot be given away."""
        if not self.ended:
            os.kill(self.pid, number)

    def end(self) -> None:
        """Kills the process, if it is still there, and returns when it is gone."""
        if not self.ended:
            os.kill(self.pid, signal.SIGKILL)
            os.close(self.reports)
            os.waitpid(self.pid, 0)
            self.ended = True


@dataclass(frozen=True, slots=True)
class Life:
    """What a worker is to do, and as whom."""

    place: Place
    conversation: Conversation
    token: int
    number: int
    seed: int

    def begin(self, lifeline: Lifeline) -> Worker:
        """Starts the child."""
        reading, writing = os.pipe()
        sys.stdout.flush()
        pid = os.fork()
        if pid == 0:
            os.close(reading)
            self._live(lifeline, writing)
        os.close(writing)
        return Worker(self.token, pid, reading)

    def _live(self, lifeline: Lifeline, reports: int) -> NoReturn:
        code = _FAILED
        try:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides who dies, and how
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            lifeline.hold()
            with txmemory.open(self.place.url) as store:
                self._work(store.tenant(self.place.tenant), _reporter(reports))
            _say(reports, "finished")
            code = _FINISHED
        except Refused as refused:
            code = self._refused(refused, reports)
        finally:
            # The child was forked in the middle of its parent's code and must never go on with it.
            if error := sys.exception():
                _say(reports, f"failed {type(error).__name__}: {error}")
            os._exit(code)

    def _work(self, store: txmemory.Store, report: Report) -> None:
        attempt = f"{self.number}-{os.getpid()}"
        model = Model(f"{self.seed}/{attempt}")
        Agent(store, self.conversation, token=self.token, attempt=attempt, model=model, report=report).work()

    def _refused(self, refused: Refused, reports: int) -> int:
        match refused.refusal:
            case Fenced(presented, newest):
                _say(reports, f"fenced {presented.token} {newest.token}")
                return _FENCED
            case refusal:
                _say(reports, f"failed refused: {refusal!r}")
                return _FAILED


def _reporter(reports: int) -> Report:
    def report(doing: Doing, step: int) -> None:
        _say(reports, f"{doing} {step}")

    return report


def _say(reports: int, line: str) -> None:
    with suppress(BrokenPipeError):
        os.write(reports, line.replace("\n", " ").encode() + b"\n")


def _message(line: str) -> Message:
    match line.split():
        case [("begin" | "asked" | "replayed" | "wrote") as doing, step]:
            return Did(doing, int(step))
        case ["fenced", presented, newest]:
            return WasFenced(int(presented), int(newest))
        case ["finished"]:
            return Finished()
        case _:
            return Failed(line.removeprefix("failed "))
