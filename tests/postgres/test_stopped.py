"""C7: a client that stands still holds nothing that anybody has to wait for."""

import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import txmemory
from tests.postgres.watching import until
from tests.postgres.worlds import World
from txmemory import Fenced, Memory, Outcome, either, must

ROOT = Path(__file__).resolve().parents[2]
STOPS = 40
SECONDS = 10.0
PATIENT = "run"

# Writes the same memory again and again under ever new keys, and says each key, until it is fenced.
CLIENT = """
import sys, txmemory
from txmemory import Fenced, Memory, Receipt, either
with txmemory.open(sys.argv[1]) as store:
    writer = store.writer("run", 1)
    for n in range(10 ** 9):
        answer = either(writer.write(f"key-{n}", [Memory("tea", id="shared")]))
        if isinstance(answer, Fenced):
            sys.exit(3)
        assert isinstance(answer, Receipt), answer
        print(n, flush=True)
"""


@contextmanager
def client(url: str) -> Iterator[subprocess.Popen[str]]:
    """A process that writes."""
    process = subprocess.Popen(
        [sys.executable, "-c", CLIENT, url],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONDONTWRITEBYTECODE": "1"},
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def holding(world: World) -> bool:
    """Whether somebody has a transaction that has written."""
    query = "SELECT 1 FROM pg_locks WHERE locktype = 'transactionid' AND pid <> pg_backend_pid()"
    return bool(world.look(query))


def test_nobody_waits_for_a_client_that_stands_still(world: World) -> None:
    """C7: stopped anywhere in its calls, 40 times; its items and its scope are free, and its token can be ended."""
    by = random.Random(7)
    with (
        client(f"{world.direct}?pool_size=1") as process,
        txmemory.open(world.direct, deadline=SECONDS) as other,
    ):
        assert process.stdout is not None
        for _ in range(STOPS):
            for _ in range(by.randint(1, 5)):
                assert process.stdout.readline()
            for _ in range(by.randint(0, 2_000)):
                pass  # so that it is stopped somewhere in its next call
            os.kill(process.pid, signal.SIGSTOP)
            until(lambda: not holding(world))
            assert isinstance(either(other.store(Memory("coffee", id="shared"))), Outcome)
            assert must(other.writer(PATIENT, 1).applied("nothing")) is None
            os.kill(process.pid, signal.SIGCONT)
        os.kill(process.pid, signal.SIGSTOP)
        assert must(other.writer(PATIENT, 2).applied("nothing")) is None
        os.kill(process.pid, signal.SIGCONT)
        process.communicate()
        assert process.returncode == 3
        assert isinstance(either(other.writer(PATIENT, 1).applied("nothing")), Fenced)
    keys = [key for _, key, _ in sorted(world.picture().ledger, key=lambda row: row[2])]
    assert keys == [f"key-{n}" for n in range(len(keys))]
