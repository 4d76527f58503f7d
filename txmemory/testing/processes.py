"""Child processes that end with their parent, even if it is killed with -9, and that talk to it over a line."""

import ctypes
import os
import signal
import subprocess
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any, NoReturn, Self

SILENT = 120.0
"""Seconds without a word from a child, after which it hangs: no test of what is right ever waits this long."""
ORPHANED = 5
"""The exit code of a child that found itself without its parent."""

_PR_SET_PDEATHSIG = 1
_LINE, _LIFELINE = "TXMEMORY_LINE", "TXMEMORY_LIFELINE"


class Lifeline:
    """A pipe that nobody writes to: its end tells the children that their parent is gone, however it went."""

    def __init__(self) -> None:
        self.reading, self._writing = os.pipe()
        self._parent = os.getpid()
        self._inherited = False

    def let_go(self) -> None:
        """In a forked child, first of all: the end that keeps the children alive is the parent's alone."""
        if not self._inherited:
            self._inherited = True
            os.close(self._writing)

    def hold(self, *, signalled: bool = True) -> None:
        """In a forked child: ends this process as soon as the parent is no more.

        `signalled` asks Linux for a SIGKILL too, which also ends a child that is stopped. The kernel sends it when
        the *thread* that forked ends, so it is for children of a thread that lives as long as the parent.
        """
        self.let_go()
        watch(self.reading, self._parent, signalled=signalled)

    def close(self) -> None:
        """In the parent: lets go, which ends all children."""
        os.close(self._writing)
        os.close(self.reading)


def watch(reading: int, parent: int, *, signalled: bool) -> None:
    """Ends this process when the pipe does, and at once when the parent is gone already."""
    if signalled and sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(ORPHANED)
    threading.Thread(target=_wait_for_the_end, args=(reading,), name="lifeline", daemon=True).start()


def _wait_for_the_end(reading: int) -> NoReturn:
    while os.read(reading, 1):
        pass
    os._exit(ORPHANED)


_own: list[Lifeline] = []
"""The one lifeline of this process, made with its first child."""


def _forget_the_parents_lifeline() -> None:
    for lifeline in _own:
        lifeline.let_go()
    _own.clear()


# Whoever forks, and how: no child may keep another one alive.
os.register_at_fork(after_in_child=_forget_the_parents_lifeline)


def _lifeline() -> Lifeline:
    if not _own:
        _own.append(Lifeline())
    return _own[0]


class ChildFailed(Exception):
    """The child raised; the text is its traceback."""


@dataclass(frozen=True, slots=True)
class _Returned:
    answer: object


@dataclass(frozen=True, slots=True)
class _Raised:
    trace: str


class Child:
    """A child process. As a context manager it is killed, if it still lives, and waited for at the end."""

    def __init__(self, pid: int, line: "Connection[Any, Any]", reap: Callable[[], int]) -> None:
        self.pid = pid
        self._line = line
        self._reap = reap
        self._code: int | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()
        self.wait()
        self._line.close()

    def say(self, message: object) -> None:
        """Sends a value to the child."""
        self._line.send(message)

    def hear(self, seconds: float = SILENT) -> Any:
        """The next value that the child said. `EOFError` once it is gone, `ChildFailed` when it raised."""
        if not self._line.poll(seconds):
            raise TimeoutError(f"the child has not said a word for {seconds} seconds")
        message = self._line.recv()
        if isinstance(message, _Raised):
            raise ChildFailed(message.trace)
        return message

    def expect(self, point: object) -> None:
        """Waits until the child says that it is at this point."""
        heard = self.hear()
        assert heard == point, f"the child is at {heard!r} instead of {point!r}"

    def answer(self) -> Any:
        """What the child's work returned; what it said before is passed over."""
        while not isinstance(message := self.hear(), _Returned):
            pass
        return message.answer

    def wait(self) -> int:
        """The exit code once it has ended; a negative one is the signal that ended it."""
        if self._code is None:
            self._code = self._reap()
        return self._code

    def kill(self) -> None:
        """SIGKILL."""
        self.signal(signal.SIGKILL)

    def stop(self) -> None:
        """SIGSTOP, and waits until the child stands still."""
        self.signal(signal.SIGSTOP)
        self.stopped()

    def stopped(self) -> None:
        """Waits until the child stands still, whoever stopped it."""
        if self._code is None:
            _, status = os.waitpid(self.pid, os.WUNTRACED)
            assert os.WIFSTOPPED(status), "the child has ended"

    def go_on(self) -> None:
        """SIGCONT."""
        self.signal(signal.SIGCONT)

    def signal(self, number: signal.Signals) -> None:
        """Signals this process and no other: until it is waited for its number cannot be given away."""
        if self._code is None:
            os.kill(self.pid, number)


Work = Callable[["Connection[Any, Any]"], object]


def fork(work: Work) -> Child:
    """A copy of this process that runs `work` with its end of the line, sends what it returns, and ends.

    The copy has only the calling thread. It shares no open store with its parent unless `work` uses one on purpose.
    """
    lifeline = _lifeline()
    signalled = threading.current_thread() is threading.main_thread()
    here, there = Pipe()
    with warnings.catch_warnings():
        # Newer Pythons warn of threads that hold locks during a fork; ours are asleep or belong to the test.
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        here.close()
        lifeline.hold(signalled=signalled)
        _work(work, there)
    there.close()
    return Child(pid, here, lambda: os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


def _work(work: Work, line: "Connection[Any, Any]") -> NoReturn:
    code = 1
    try:
        answer = work(line)
        line.send(_Returned(answer))
        code = 0
    except BaseException:  # noqa: BLE001  # told to the parent: the copy must never go on with the parent's code
        line.send(_Raised(traceback.format_exc()))
    finally:
        os._exit(code)


def spawn(arguments: Sequence[str], environment: Mapping[str, str] | None = None) -> Child:
    """A new program; a Python one calls `joined()` first of all, which binds it to this process's life.

    It finds the modules that this process finds.
    """
    lifeline = _lifeline()
    here, there = Pipe()
    told = {
        _LINE: str(there.fileno()),
        _LIFELINE: str(lifeline.reading),
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    process = subprocess.Popen(
        arguments,
        env={**os.environ, **(environment or {}), **told},
        pass_fds=(there.fileno(), lifeline.reading),
        stdin=subprocess.DEVNULL,
    )
    there.close()
    return Child(process.pid, here, process.wait)


def joined() -> "Connection[Any, Any]":
    """In a spawned program: its end of the line. From here on it ends with the process that spawned it."""
    threading.Thread(
        target=_wait_for_the_end, args=(int(os.environ[_LIFELINE]),), name="lifeline", daemon=True
    ).start()
    return Connection(int(os.environ[_LINE]))
