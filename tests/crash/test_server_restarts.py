"""A server that crashes, or cuts its clients off, under load: it recovers unaided, and so do they."""

import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from multiprocessing.connection import Connection
from typing import Any

import pytest

import txmemory
from tests.crash.servers import PORTABLE, Tenant, fresh
from tests.crash.sizes import size
from txmemory import Memory, Outcome, OutcomeUnknown, Refusal, Store, either
from txmemory.testing.processes import fork
from txmemory.testing.server import GIVEN, GivenServer, PostgresServer

CLIENTS = 4
CRASHES = size(3, 20)
BETWEEN = 15
"""So many acknowledged calls of each client come between two crashes."""


@pytest.fixture(scope="module")
def durable() -> Iterator[PostgresServer]:
    """A server that has written what it acknowledges."""
    if missing := PostgresServer.missing():
        pytest.skip(missing)
    with PostgresServer.started() as started:
        yield started


class Worker:
    """A process that writes without end, tells each answer, and never opens its store again."""

    def __init__(self, tenant: Tenant, place: int) -> None:
        self.kept: dict[str, Outcome] = {}
        self.plain: dict[str, bool] = {}
        """By id, whether it was acknowledged: otherwise nobody knows."""
        self.child = fork(lambda line: _work(line, tenant, place))

    def listen(self, calls: int) -> None:
        """Hears of so many acknowledged writes under keys."""
        until = len(self.kept) + calls
        while len(self.kept) < until:
            self._hear()

    def finish(self) -> None:
        """Lets it end, and hears the rest."""
        self.child.say("enough")
        while self._hear():
            pass

    def _hear(self) -> bool:
        match self.child.hear():
            case ("kept", str(key), Outcome() as outcome):
                self.kept[key] = outcome
            case ("plain", str(id), bool(acknowledged)):
                self.plain[id] = acknowledged
            case "done":
                return False
            case other:
                raise AssertionError(f"it has said {other!r}")
        return True


def _work(line: "Connection[Any, Any]", tenant: Tenant, place: int) -> None:
    with tenant.open() as store:
        number = 0
        while not line.poll():
            number += 1
            _keyed(line, store, place, f"{place} {number}")
            _plain(line, store, f"plain {place} {number}")
    line.send("done")


def _keyed(line: "Connection[Any, Any]", store: Store, place: int, key: str) -> None:
    """The same call until it is acknowledged: its key makes that safe."""
    while True:
        answer = either(store.writer(f"run {place % 2}", 1).write(key, [Memory("tea", id=f"keyed {key}")]))
        if not isinstance(answer, Refusal):
            line.send(("kept", key, answer.outcome))
            return
        assert answer.retryable, answer


def _plain(line: "Connection[Any, Any]", store: Store, id: str) -> None:
    """One call: unless it was refused, it may have happened."""
    answer = either(store.store(Memory("tea", id=id)))
    if isinstance(answer, OutcomeUnknown) or not isinstance(answer, Refusal):
        line.send(("plain", id, not isinstance(answer, Refusal)))


def crashed(server: PostgresServer, _database: str) -> None:
    """The whole server, as by a failing machine, and its recovery."""
    server.restart(immediate=True)


def cut_off(server: PostgresServer, database: str) -> None:
    """Some of the clients' connections."""
    for pid in server.backend_pids(database):
        if random.random() < 0.5:
            server.terminate(pid)


@pytest.mark.parametrize("way", ["postgres", PORTABLE])
@pytest.mark.parametrize("deed", [crashed, cut_off])
def test_a_server_that_ends_under_load_loses_nothing_it_acknowledged_and_doubles_nothing(
    deed: Callable[[PostgresServer, str], None], way: str, durable: PostgresServer
) -> None:
    """C10, R7: processes go on by themselves, with the stores that they have."""
    if deed is crashed and isinstance(durable, GivenServer):
        pytest.skip(f"a server of {GIVEN} is not restarted by tests")
    name = durable.create_database()
    database = durable.url(database=name)
    txmemory.migrate(database)
    tenant = fresh(way, database)
    with ExitStack() as ends:
        workers = [Worker(tenant, place) for place in range(CLIENTS)]
        for worker in workers:
            ends.enter_context(worker.child)
        for _ in range(CRASHES):
            for worker in workers:
                worker.listen(BETWEEN)
            deed(durable, name)
        for worker in workers:
            worker.listen(BETWEEN)
            worker.finish()
    found = tenant.snapshot()
    assert {key: outcome for _, key, outcome in found.ledger} == {
        key: outcome for worker in workers for key, outcome in worker.kept.items()
    }
    there = {id: revision for id, revision, _ in found.items}
    assert set(there.values()) == {1}, "something was stored twice"
    plain = {id: acknowledged for worker in workers for id, acknowledged in worker.plain.items()}
    assert {id for id, acknowledged in plain.items() if acknowledged} <= there.keys()
    assert {id for id in there if id.startswith("plain")} <= plain.keys()
    assert {id for id in there if id.startswith("keyed")} == {f"keyed {key}" for _, key, _ in found.ledger}
