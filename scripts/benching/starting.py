#!/usr/bin/env python3
"""What a process pays once: importing the package, and opening a store that is there."""

import json
import subprocess
import sys
from pathlib import Path

import txmemory
from scripts.benching.figures import Figure
from scripts.benching.sizes import ROOT, Sizes

_IMPORT = """
import time
began = time.perf_counter()
import {module}
print(time.perf_counter() - began)
"""

_OPEN = """
import json, sqlite3, sys, time
import txmemory.store.opening, txmemory.backends.sqlite.opening
path = sys.argv[1]

def bare():
    connection = sqlite3.connect(path)
    connection.execute("SELECT 1").fetchone()
    connection.close()

def reading():
    connection = sqlite3.connect(path)
    connection.execute("SELECT count(*) FROM txm_schema").fetchone()
    connection.close()

def whole():
    txmemory.open("sqlite:///" + path).close()

def took(call):
    began = time.perf_counter()
    call()
    return time.perf_counter() - began

took(bare)
first = took(whole)
bare, reading, again = (sorted(took(call) for _ in range(21))[10] for call in (bare, reading, whole))
print(json.dumps([again / reading, again / bare, first / reading, first * 1000]))
"""


def figures(folder: Path, sizes: Sizes) -> list[Figure]:
    """The rows of the table."""
    imports = []
    opens: list[list[float]] = []
    path = folder / "there.db"
    txmemory.open(f"sqlite:///{path}").close()
    for _ in range(sizes.starts):
        beside = float(_fresh(_IMPORT.format(module="returns.result")))
        imports.append(float(_fresh(_IMPORT.format(module="txmemory"))) / beside)
        opens.append(json.loads(_fresh(_OPEN, str(path))))
    again, to_nothing, first, milliseconds = (tuple(values) for values in zip(*opens, strict=True))
    return [
        Figure("import txmemory, to returns.result", tuple(imports), target=3, gating=True),
        Figure("open again, to connect + read of a table", again, target=10, gating=True),
        Figure("open again, to connect + SELECT 1, which opens no file", to_nothing),
        Figure("first open of a process, to connect + read", first),
        Figure("first open of a process", milliseconds, "ms"),
    ]


def _fresh(code: str, *arguments: str) -> str:
    """What the code prints in an interpreter of its own."""
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT).stdout
