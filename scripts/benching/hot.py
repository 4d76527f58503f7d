#!/usr/bin/env python3
"""Eight clients on one scope, half a millisecond away: one function against load, decide and write by hand."""

import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from itertools import count

import psycopg

import txmemory
from scripts.benching.figures import Figure
from scripts.benching.server import Place
from scripts.benching.sizes import Sizes
from scripts.benching.timing import TEXT
from txmemory import Memory, must
from txmemory.testing.roles import with_options

CROWD = 8
ROUND_TRIP = 0.0005
Write = Callable[[str], object]

FENCE = (
    "SELECT token, seq, last_at FROM txmemory_bench.scope"
    " WHERE tenant = 'default' AND scope = 'by hand' FOR UPDATE"
)
APPLIED = "SELECT seq FROM txmemory_bench.ledger WHERE tenant = 'default' AND scope = 'by hand' AND key = %s"
ITEM = (
    "INSERT INTO txmemory_bench.item (tenant, namespace, id, live, revision, kind, attributes, created_at,"
    " updated_at, added_at, added_ordinal) VALUES ('default', '[\"by hand\"]', %s, 1, 1, 'fact', '{}', %s, %s, %s, 0)"
)
REVISION = (
    "INSERT INTO txmemory_bench.revision (tenant, namespace, id, revision, kind, text, attributes, created_at,"
    " salt, at, ordinal, reason)"
    " VALUES ('default', '[\"by hand\"]', %s, 1, 'fact', %s, '{}', %s, '', %s, 0, 'stored')"
)
EVENT = (
    "INSERT INTO txmemory_bench.event (tenant, version, kind, scope, seq, token, key, fingerprint, status,"
    " effects, at) VALUES ('default', 1, 'record', 'by hand', %s, 1, %s, %s, 'stored', '[]', %s)"
)
LEDGER = "INSERT INTO txmemory_bench.ledger (tenant, scope, key, seq) VALUES ('default', 'by hand', %s, %s)"
SCOPE = (
    "UPDATE txmemory_bench.scope SET seq = %s, last_at = %s WHERE tenant = 'default' AND scope = 'by hand'"
)
NEW_SCOPE = (
    "INSERT INTO txmemory_bench.scope (tenant, scope, generation, token, seq, last_at, sealed)"
    " VALUES ('default', 'by hand', 0, 1, 0, 0, 0)"
)


def by_hand(connection: psycopg.Connection) -> Write:
    """The same write into the same tables, as one would spell it: a statement after the other, in a transaction."""

    def write(key: str) -> None:
        with connection.transaction():
            execute = connection.execute
            held = execute(FENCE, prepare=True).fetchone()
            assert held is not None
            token, seq, last_at = held
            assert token == 1
            if execute(APPLIED, [key], prepare=True).fetchone() is not None:
                return
            at = max(last_at + 1, time.time_ns() // 1_000)
            execute(ITEM, [key, at, at, at], prepare=True)
            execute(REVISION, [key, TEXT, at, at], prepare=True)
            execute(EVENT, [seq + 1, key, b"f" * 48, at], prepare=True)
            execute(LEDGER, [key, seq + 1], prepare=True)
            execute(SCOPE, [seq + 1, at], prepare=True)

    return write


def figures(place: Place, sizes: Sizes) -> list[Figure]:
    """The rows of the table: writes a second of each, and their ratio, round by round."""
    ours: list[float] = []
    theirs: list[float] = []
    with ExitStack() as stack, place.connect() as connection:
        connection.execute(NEW_SCOPE)
        far, _ = stack.enter_context(place.behind(ROUND_TRIP))
        store = stack.enter_context(txmemory.open(with_options(far.store_url, pool_size=f"{CROWD}")))
        writer = store.writer("hot", token=1)
        called: list[Write] = [lambda key: must(writer.write(key, [Memory(TEXT)]))] * CROWD
        spelled = [by_hand(stack.enter_context(far.connect())) for _ in range(CROWD)]
        numbers = count()
        for each in (called, spelled):
            _rate(each, sizes.crowd, numbers)
        for _ in range(sizes.runs * 3):
            ours.append(_rate(called, sizes.crowd, numbers))
            theirs.append(_rate(spelled, sizes.crowd, numbers))
    ratios = tuple(one / other for one, other in zip(ours, theirs, strict=True))
    return [
        Figure("hot scope, 8 clients, 0.5 ms away: write", tuple(ours), "1/s"),
        Figure("hot scope, 8 clients, 0.5 ms away: load, decide, write", tuple(theirs), "1/s"),
        Figure("hot scope, 8 clients, 0.5 ms away: ratio", ratios, target=3, gating=True, at_least=True),
    ]


def _rate(writes: list[Write], times: int, numbers: "count[int]") -> float:
    """Writes a second of all clients together, each with a connection of its own."""
    begin = threading.Barrier(len(writes) + 1)
    failed: list[BaseException] = []

    def work(write: Write) -> None:
        begin.wait()
        try:
            for _ in range(times):
                write(f"key-{next(numbers)}")
        except BaseException as error:  # noqa: BLE001  # told in the thread that waits
            failed.append(error)

    clients = [threading.Thread(target=work, args=(write,)) for write in writes]
    for client in clients:
        client.start()
    begin.wait()
    began = time.perf_counter()
    for client in clients:
        client.join()
    if failed:
        raise failed[0]
    return len(writes) * times / (time.perf_counter() - began)
