"""What is stored are words of the schema, not names of this package's classes."""

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import txmemory
from tests.damage.grounds import fill
from tests.tidy.project import ROOT
from txmemory import must
from txmemory.testing.clock import FakeClock

RENAMED = """
import sys, txmemory
from txmemory import must
store = txmemory.open(sys.argv[1])
must(store.verify(of="store"))  # so that every module is there
for module in [each for name, each in sys.modules.items() if name.startswith("txmemory")]:
    for value in list(vars(module).values()):
        if isinstance(value, type) and value.__module__ == module.__name__:
            value.__name__ = value.__qualname__ = f"Renamed{len(value.__name__)}"
again = txmemory.open(sys.argv[1])
verified, rebuilt = must(again.verify(of="store")), must(again.rebuild(of="store"))
assert verified.findings == () and verified.read.events > 40, verified
assert (rebuilt.scopes, rebuilt.keys, rebuilt.heads, rebuilt.left) == (0, 0, 0, ()), rebuilt
assert must(again.recall())
again.close(), store.close()
"""


def test_a_store_opens_and_follows_though_every_class_is_renamed(tmp_path: Path) -> None:
    """L9: and no row holds the name of one."""
    url, clock = f"sqlite:///{tmp_path / 'names.db'}", FakeClock()
    with txmemory.open(url, clock=clock) as store:
        fill(store)
        must(store.verify())
    command = [sys.executable, "-c", RENAMED, url]
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    with closing(sqlite3.connect(tmp_path / "names.db")) as connection:
        stored = "\n".join(connection.iterdump())
    modules = [each for name, each in sys.modules.items() if name.startswith("txmemory")]
    names = {name for module in modules for name, value in vars(module).items() if isinstance(value, type)}
    assert len(names) > 100
    inserted = "\n".join(line for line in stored.splitlines() if line.startswith("INSERT"))
    assert [name for name in sorted(names) if f"{name}" in inserted and len(name) > 4] == []
