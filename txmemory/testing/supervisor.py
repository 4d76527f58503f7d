"""Runs the processes of a test server for a parent and takes them away with it, however the parent ended.

It is run as a script, by its path and without site-packages: what it imports is what a test waits for.
"""

import ctypes
import json
import os
import select
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

LOG = "server.log"
"""What the processes print, in the directory that the supervisor makes."""

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_ENDS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_IMPATIENT = 10.0
"""Seconds after which a server that was told to stop at once is killed; it kills its own children after five."""
_LOOK = 500
"""Milliseconds between two looks at the parent where the system has no better way to learn of its end."""


class ParentGone(Exception):
    """Whoever asked for the processes is no more, or has said that it needs them no longer."""


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value)


class Supervisor:
    """One directory, one process at a time in it, and an end to both."""

    def __init__(self, directory: Path, parent: int, uid: int, gid: int) -> None:
        self._directory, self._parent, self._uid, self._gid = directory, parent, uid, gid
        self._child: int | None = None
        self._code: int | None = None

    def serve(self) -> None:
        """Answers the parent's lines until it is gone. Nothing that was started or written outlives this."""
        self._directory.mkdir(mode=0o700)
        try:
            if self._uid != os.getuid():
                os.chown(self._directory, self._uid, self._gid)
            for line in self._lines():
                os.write(1, json.dumps(self._answer(json.loads(line))).encode() + b"\n")
        except (ParentGone, BrokenPipeError):
            pass
        finally:
            for number in _ENDS:
                signal.signal(number, signal.SIG_IGN)
            self._end()
            shutil.rmtree(self._directory, ignore_errors=True)

    def _lines(self) -> Iterator[bytes]:
        """What the parent writes. The end of its pipe is not enough: a copy that it forked keeps that open."""
        poller = select.poll()
        poller.register(0, select.POLLIN)
        watched = -1
        if sys.platform == "linux":
            with suppress(OSError):
                watched = os.pidfd_open(self._parent)
                poller.register(watched, select.POLLIN)
        buffer = b""
        while True:
            ready = {descriptor for descriptor, _ in poller.poll(_LOOK)}
            if watched in ready or os.getppid() != self._parent:
                raise ParentGone
            if 0 in ready:
                if not (chunk := os.read(0, 65536)):
                    raise ParentGone
                *lines, buffer = (buffer + chunk).split(b"\n")
                yield from lines

    def _answer(self, asked: dict[str, Any]) -> dict[str, int | None]:
        match asked:
            case {"start": [*arguments], "environment": environment}:
                self._start([str(argument) for argument in arguments], environment)
            case {"signal": int(number)}:
                self._signal(number)
            case _:
                raise ParentGone
        self._look()
        return {"pid": self._child, "code": self._code}

    def _start(self, arguments: list[str], environment: dict[str, str]) -> None:
        self._look()
        assert self._child is None, "one process at a time"
        self._code = None
        supervisor = os.getpid()
        self._child = os.fork()
        if self._child == 0:
            try:
                self._become(arguments, environment, supervisor)
            except BaseException as error:  # noqa: BLE001  # a copy of the supervisor must not go on as one
                os.write(2, f"{arguments[0]}: {error}\n".encode())
            finally:
                os._exit(127)

    def _become(self, arguments: list[str], environment: dict[str, str], supervisor: int) -> NoReturn:
        log = os.open(self._directory / LOG, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.setsid()
        os.chdir(self._directory)
        if self._uid != os.getuid():
            os.setgroups([])
            os.setgid(self._gid)
            os.setuid(self._uid)
        # A change of user takes this wish away, so it is the last thing that is said. SIGQUIT: stop at once.
        _prctl(_PR_SET_PDEATHSIG, signal.SIGQUIT)
        if os.getppid() != supervisor:
            os._exit(127)
        for number in (*_ENDS, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)
        os.execve(arguments[0], arguments, environment)  # noqa: S606  # no shell is what is wanted

    def _signal(self, number: int) -> None:
        """Its number cannot have been given to another process: only `_look` lets go of it."""
        if number and self._child is not None:
            os.kill(self._child, number)

    def _look(self) -> None:
        """Learns of ends: that of the process, and those of what a killed one has left to this process."""
        with suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if not pid:
                    return
                if pid == self._child:
                    self._child, self._code = None, os.waitstatus_to_exitcode(status)

    def _end(self) -> None:
        self._look()
        self._signal(signal.SIGQUIT)
        self._signal(signal.SIGCONT)
        patience = time.monotonic() + _IMPATIENT
        while self._child is not None and time.monotonic() < patience:
            time.sleep(0.005)
            self._look()
        self._signal(signal.SIGKILL)
        # Processes that a killed server left behind are ours now, because this process asked for orphans.
        with suppress(ChildProcessError):
            while True:
                for orphan in _children():
                    os.kill(orphan, signal.SIGKILL)
                os.wait()


def _children() -> list[int]:
    """The processes whose parent is this one, where the system says so."""
    try:
        listed = Path(f"/proc/self/task/{os.getpid()}/children").read_text(encoding="ascii")
    except OSError:
        return []
    return [int(pid) for pid in listed.split()]


def _leave(*_: object) -> None:
    raise ParentGone


def main(directory: str, parent: str, uid: str, gid: str) -> None:
    """Serves until the parent is gone."""
    for number in _ENDS:
        signal.signal(number, _leave)
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    Supervisor(Path(directory), int(parent), int(uid), int(gid)).serve()


if __name__ == "__main__":
    main(*sys.argv[1:])
