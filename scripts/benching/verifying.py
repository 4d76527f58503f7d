#!/usr/bin/env python3
"""What verify and rebuild take, to reading and decoding the same rows; and whether it grows with them alone."""

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import txmemory
from scripts.benching.figures import Figure
from scripts.benching.sizes import Sizes
from txmemory import Memory, Store, must
from txmemory.backends.sql.rows import (
    EVENT_COLUMNS,
    HEAD_COLUMNS,
    REVISION_COLUMNS,
    event_from,
    head_from,
    revision_from,
)
from txmemory.model.address import Address, namespace_from

TOGETHER = 1_000
SCOPE = 2_000
"""Events of a scope."""


def figures(folder: Path, sizes: Sizes) -> list[Figure]:
    """The rows of the table, on files of a tenth of the events and of all of them."""
    few, many = sizes.events // 10, sizes.events
    found: list[Figure] = []
    each: dict[int, float] = {}
    for events in (few, many):
        path = folder / f"{events}.db"
        with txmemory.open(f"sqlite:///{path}?synchronous=NORMAL") as store:
            fill(store, events)
            rows, each[events] = _measured(path, store, events, sizes.rounds)
            found.extend(rows)
    target = 1.3
    found.append(Figure(f"verify an event, of {many} to of {few}", (each[many] / each[few],), target=target))
    return found


def _measured(path: Path, store: Store, events: int, rounds: int) -> tuple[list[Figure], float]:
    verified, rebuilt, lost, took = [], [], [], []
    for _ in range(rounds):
        floor = _took(lambda: _read(path))
        took.append(_took(lambda: must(store.verify())))
        verified.append(took[-1] / floor)
        rebuilt.append(_took(lambda: must(store.rebuild())) / floor)
        _lose(path)
        lost.append(_took(lambda: must(store.rebuild())) / floor)
    assert must(store.verify()).findings == ()
    named = f"of {events} events, to reading and decoding them"
    return [
        Figure(f"verify {named}", tuple(verified), target=2, gating=True),
        Figure(f"rebuild {named}", tuple(rebuilt), target=3, gating=True),
        Figure(f"rebuild with 1 in 100 heads and keys lost, {named}", tuple(lost)),
        Figure(
            f"verify {events} events, events a second of the processor",
            tuple(events / each for each in took),
            "1/s",
        ),
    ], sorted(took)[len(took) // 2] / events


def fill(store: Store, events: int) -> None:
    """One memory an event; each tenth replaces an older one."""
    for start in range(0, events, TOGETHER):
        writer = store.writer(f"run-{start // SCOPE}", 1)
        numbers = range(start, min(start + TOGETHER, events))
        ids = (n - TOGETHER if n % 10 == 0 and n >= TOGETHER else n for n in numbers)
        memories = (Memory(f"turn {id} " + "of tea " * 12, id=f"m-{id}") for id in ids)
        must(writer.write_many((f"{n}", [memory]) for n, memory in zip(numbers, memories, strict=True)))


def _read(path: Path) -> None:
    """Every row, decoded, and none kept."""
    with closing(sqlite3.connect(path)) as connection:
        for row in _rows(connection, "event", EVENT_COLUMNS):
            event_from(row)
        for row in _rows(connection, "item", HEAD_COLUMNS):
            head_from(row)
        for namespace, id, *row in _rows(connection, "revision", ("namespace", "id", *REVISION_COLUMNS)):
            revision_from(Address(namespace_from(namespace), id), row)
        for table in ("scope", "ledger"):
            for _ in _rows(connection, table, ("*",)):
                pass


def _rows(connection: sqlite3.Connection, table: str, columns: tuple[str, ...]) -> Iterator[Any]:
    named = ", ".join(column if column == "*" else f'"{column}"' for column in columns)
    return connection.execute(f"SELECT {named} FROM txm_{table}")  # noqa: S608 - our own names


def _lose(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("DELETE FROM txm_item WHERE id LIKE '%00'")
        connection.execute("DELETE FROM txm_ledger WHERE key LIKE '%00'")


def _took(call: Callable[[], object]) -> float:
    began = time.process_time()
    call()
    return time.process_time() - began
