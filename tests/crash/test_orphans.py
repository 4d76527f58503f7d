"""When a process is killed with -9 nothing that it started stays behind."""

import os
import select
import signal
import sys
from pathlib import Path

import pytest

from txmemory.testing.processes import ChildFailed, fork, spawn

SECONDS = 60.0

PARENT = """
import os, signal, sys, threading
from txmemory.testing.processes import fork, joined, spawn

line = joined()
kinds, alive = sys.argv[2:], sys.argv[1]

def lives(line):
    kept = open(alive, "wb", buffering=0)
    kept.write(b"1")
    threading.Event().wait()

def has_a_child(line):
    grandchild = fork(lives)
    lives(line)

def stands_still(line):
    kept = open(alive, "wb", buffering=0)
    kept.write(b"1")
    os.kill(os.getpid(), signal.SIGSTOP)

CHILD = '''
import sys, threading
from txmemory.testing.processes import joined
line = joined()
kept = open(sys.argv[1], "wb", buffering=0)
kept.write(b"1")
threading.Event().wait()
'''

children = []
for kind in kinds:
    if kind == "spawned":
        children.append(spawn([sys.executable, "-c", CHILD, alive]))
    else:
        children.append(fork({"forked": lives, "with a child": has_a_child, "stopped": stands_still}[kind]))
        if kind == "stopped":
            children[-1].stopped()
line.send("started")
threading.Event().wait()
"""
KINDS = {"forked": 1, "with a child": 2, "spawned": 1, "stopped": 1}
"""What a parent may have started, and how many processes that is."""


@pytest.mark.parametrize("kind", KINDS)
def test_a_parent_that_is_killed_takes_its_children_along(kind: str, tmp_path: Path) -> None:
    if kind == "stopped" and sys.platform != "linux":
        pytest.skip("only Linux ends a child that stands still")
    alive = tmp_path / "alive"
    os.mkfifo(alive)
    reading = os.open(alive, os.O_RDONLY | os.O_NONBLOCK)
    writing = os.open(alive, os.O_WRONLY)
    kinds = [kind, "forked", kind]
    with spawn([sys.executable, "-W", "ignore", "-c", PARENT, str(alive), *kinds]) as parent:
        parent.expect("started")
        expected = sum(KINDS[each] for each in kinds)
        assert len(read(reading, expected)) == expected
        parent.kill()
        assert parent.wait() == -signal.SIGKILL
        os.close(writing)
        # Each of them held the other end open: that it is closed is that they are all gone.
        assert read(reading, 1) == b""
    os.close(reading)


def read(reading: int, size: int) -> bytes:
    """So many bytes, or fewer at the end."""
    got = b""
    while len(got) < size:
        ready, _, _ = select.select([reading], [], [], SECONDS)
        assert ready, "somebody is still there and says nothing"
        chunk = os.read(reading, size - len(got))
        if not chunk:
            break
        got += chunk
    return got


def test_what_a_child_raises_is_told_to_its_parent() -> None:
    def work(_line: object) -> None:
        raise LookupError("nothing there")

    with fork(work) as child:
        with pytest.raises(ChildFailed, match="LookupError: nothing there"):
            child.answer()
        assert child.wait() == 1
