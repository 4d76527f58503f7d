"""However the process that has a server ends, nothing of the server is left."""

import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Self

import pytest

from tests.postgres.watching import PATIENCE, alive, answers, processes, run_by, until
from txmemory.testing import binaries
from txmemory.testing.server import NoServer, OwnServer, PostgresServer

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.skipif(binaries.installed() is None, reason=str(PostgresServer.missing()))

# A process that has a server, says where, and then waits to be told to end in order or to be killed.
HOLDER = """
import os, sys
from txmemory.testing.server import OwnServer
with OwnServer(durable=False) as server:
    if "fork" in sys.argv and not os.fork():
        os.read(int(sys.argv[2]), 1)
        os._exit(0)
    print(os.getuid(), server.pid, server.supervisor_pid, server.directory, server.superuser_url, flush=True)
    sys.stdin.read()
"""


def hold(*arguments: str, prefix: tuple[str, ...] = (), descriptors: tuple[int, ...] = ()) -> "Holder":
    process = subprocess.Popen(
        [*prefix, sys.executable, "-c", HOLDER, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        pass_fds=descriptors,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONDONTWRITEBYTECODE": "1"},
    )
    return Holder(process)


class Holder:
    """A process that has a server."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        self.process = process
        uid, pid, supervisor, directory, self.url = process.stdout.readline().split()
        self.uid, self.pid, self.directory = int(uid), int(pid), Path(directory)
        self.everything = processes(int(supervisor))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()

    def is_gone(self) -> bool:
        return not self.directory.exists() and not any(alive(pid) for pid in self.everything)


def test_a_server_that_is_closed_leaves_nothing() -> None:
    server = OwnServer(durable=False)
    with server:
        everything = processes(server.supervisor_pid)
        assert len(everything) > 3
    assert not server.directory.exists()
    assert not any(alive(pid) for pid in everything)
    server.close()
    with pytest.raises(NoServer):
        server.start()


def test_a_server_is_gone_with_its_process_when_that_is_killed() -> None:
    with hold() as holder:
        assert answers(holder.url)
        assert len(holder.everything) > 3
        holder.process.kill()
        until(holder.is_gone)


def test_a_server_is_gone_with_its_process_even_if_a_copy_of_that_lives_on() -> None:
    reading, writing = os.pipe()
    try:
        with hold("fork", str(reading), descriptors=(reading,)) as holder:
            holder.process.kill()
            until(holder.is_gone)
    finally:
        os.close(writing)
        os.close(reading)


def test_a_stopped_server_is_gone_with_its_process_too() -> None:
    with hold() as holder:
        os.kill(holder.pid, signal.SIGSTOP)
        holder.process.kill()
        until(holder.is_gone)


def test_a_server_is_gone_with_its_supervisor() -> None:
    with OwnServer(durable=False) as server:
        everything = processes(server.supervisor_pid)
        os.kill(server.supervisor_pid, signal.SIGKILL)
        until(lambda: not any(alive(pid) for pid in everything))
        with pytest.raises(NoServer):
            server.start()
    assert not server.directory.exists()


def test_a_server_outlives_the_thread_that_has_started_it() -> None:
    server = OwnServer(durable=False)
    thread = threading.Thread(target=server.__enter__)
    thread.start()
    thread.join(PATIENCE)
    try:
        assert answers(server.superuser_url)
    finally:
        server.close()


def ordinary_user() -> tuple[str, ...]:
    """A command that runs another one as an ordinary user who can read this Python, even a private one of root's."""
    reading = ("--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search")
    ways = (
        ("runuser", "-u", "nobody", "--"),
        ("setpriv", "--reuid=nobody", "--regid=65534", "--clear-groups", *reading, "--"),
    )
    for program, *arguments in ways:
        if (found := shutil.which(program)) is not None:
            command = (found, *arguments)
            tried = [*command, sys.executable, "-c", "import psycopg"]
            if subprocess.run(tried, check=False, cwd="/", capture_output=True).returncode == 0:
                return command
    pytest.skip("no way to run this Python as an ordinary user")


@pytest.mark.skipif(os.getuid() != 0, reason="every other test is run by an ordinary user")
def test_an_ordinary_user_has_a_server_too() -> None:
    with hold(prefix=ordinary_user()) as holder:
        assert holder.uid != 0
        assert run_by(holder.pid) == holder.uid
        assert answers(holder.url)
        holder.process.communicate("")
        assert holder.is_gone()
