"""A process's hold on the supervisor of its test server."""

import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from txmemory.testing import binaries, supervisor
from txmemory.testing.binaries import Account, NoServer

_PATIENCE = 60.0
_PAUSE = 0.005


class Supervision:
    """A directory and one process at a time in it, both gone with this process. Any thread may call."""

    def __init__(self, directory: Path, account: Account) -> None:
        self._directory = directory
        self._owner = os.getpid()
        self._lock = threading.Lock()
        who = (self._owner, account.uid, account.gid)
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", supervisor.__file__, str(directory), *map(str, who)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # A terminal's Ctrl-C is not meant for it: it ends with its parent.
            start_new_session=True,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._orders, self._answers = self._process.stdin, self._process.stdout
        # Its first answer says that the directory is there.
        self.child()

    @property
    def pid(self) -> int:
        """The supervisor's process."""
        return self._process.pid

    def start(self, program: str, *arguments: str) -> int | None:
        """Starts the process and returns its number, or nothing if it has ended already."""
        return self._order(start=[program, *arguments], environment=binaries.environment())[0]

    def signal(self, number: int) -> None:
        """Signals the process if it is still there."""
        self._order(signal=int(number))

    def child(self) -> tuple[int | None, int | None]:
        """The number of the process while it runs, and its exit code when it has ended."""
        return self._order(signal=0)

    def log(self) -> str:
        """What the processes have printed so far."""
        return (self._directory / supervisor.LOG).read_text(encoding="utf-8", errors="replace")

    def close(self) -> None:
        """Ends the process at once and removes the directory. In a forked copy of this process nothing is ended."""
        if os.getpid() != self._owner:
            return
        with self._lock:
            # A copy that was forked keeps the pipe open, so its end alone says nothing.
            with suppress(BrokenPipeError, ValueError):
                self._orders.write(b'{"end": true}\n')
                self._orders.flush()
            self._process.wait(_PATIENCE)
            for pipe in (self._orders, self._answers):
                with suppress(BrokenPipeError):
                    pipe.close()
        # Only a supervisor that was killed itself has left anything.
        shutil.rmtree(self._directory, ignore_errors=True)

    def _order(self, **asked: object) -> tuple[int | None, int | None]:
        if os.getpid() != self._owner:
            raise RuntimeError("the server belongs to the process that has started it, not to a forked copy")
        line = b""
        # Both pipes are at their end with the supervisor, and closed after `close`.
        with self._lock, suppress(BrokenPipeError, ValueError):
            self._orders.write(json.dumps(asked).encode() + b"\n")
            self._orders.flush()
            line = self._answers.readline()
        if not line:
            raise NoServer("the server is closed, or its supervisor is gone and the server with it")
        answer = json.loads(line)
        return answer["pid"], answer["code"]


def patiently(trouble: str) -> Iterator[None]:
    """Comes round again and again after a pause, and at last with the trouble."""
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        yield
        time.sleep(_PAUSE)
    raise TimeoutError(trouble)


def free_port() -> int:
    """A port on 127.0.0.1 that nobody had a moment ago."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port
