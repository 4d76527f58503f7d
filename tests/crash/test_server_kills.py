"""Clients of a server are killed at every step of every operation, and the run is replayed."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any

import pytest

from tests.crash.blocking import Blocker
from tests.crash.operations import ONE_REQUEST, OPERATIONS, SCOPE, TOKEN, Operation
from tests.crash.servers import PORTABLE, SENT, Tenant, points_of, prepared, through, undisturbed
from tests.crash.snapshot import Snapshot
from txmemory import Fenced, Memory, either, must
from txmemory.testing.crashing import STEPS, Point, at, killed, visiting
from txmemory.testing.faults import Stall
from txmemory.testing.processes import Child, fork
from txmemory.testing.proxy import Proxy
from txmemory.testing.wire import Message

KEYED = [operation for operation in OPERATIONS if not operation.plain]


def replayed_alike(tenant: Tenant, operation: Operation, token: int, never: Snapshot, when: object) -> None:
    """Makes the call again and compares; a plain one is not made again, but the store goes on."""
    with tenant.open() as store:
        if operation.plain:
            must(store.store(Memory("the store goes on", id="another")))
            return
        operation.run(store, token)
        assert isinstance(either(store.writer(SCOPE, token - 1).applied("key")), Fenced), (
            "a predecessor comes back"
        )
    after = tenant.snapshot()
    if token == TOKEN:
        assert after == never, f"killed {when}, replayed with the same token"
    assert after.by_any_token() == never.by_any_token(), f"killed {when}, replayed with a newer token"


@contextmanager
def ready(tenant: Tenant, operation: Operation, url: str | None = None) -> Iterator[Child]:
    """A process that has the store open and makes the call when it is told to, and is killed by itself after it."""

    def work(line: "Connection[Any, Any]") -> None:
        with tenant.open(url=url) as store:
            operation.run(
                store.tenant(f"rehearsal of {tenant.name}"), TOKEN
            )  # the connection knows the statement
            line.send("ready")
            line.recv()
            operation.run(store, TOKEN)
            os.kill(os.getpid(), signal.SIGKILL)

    with fork(work) as child:
        child.expect("ready")
        yield child


@pytest.mark.parametrize("operation", ONE_REQUEST, ids=str)
def test_a_client_killed_at_any_message_of_its_one_call_and_replayed_has_written_exactly_once(
    operation: Operation, database: str, proxy: Proxy
) -> None:
    """R1, B6: before the call is sent, half sent, sent but for its end, and answered but not told."""
    before, never = undisturbed("postgres", database, operation)
    for kind, where in SENT:
        for token in (TOKEN, TOKEN + 1):
            tenant = prepared("postgres", database)
            with ready(tenant, operation, through(proxy, tenant)) as child:
                planned = proxy.plan(Stall(Message("frontend", kind), where))
                child.say("go on")
                planned.wait()
                child.kill()
                assert child.wait() == -signal.SIGKILL
            proxy.cut()
            assert tenant.snapshot() == (never if where == "reply" else before), f"killed {where} {kind}"
            replayed_alike(tenant, operation, token, never, f"{where} {kind}")


@pytest.mark.parametrize("way", ["postgres", PORTABLE])
@pytest.mark.parametrize("operation", OPERATIONS, ids=str)
def test_a_client_killed_after_the_answer_and_before_it_could_tell_has_written_exactly_once(
    operation: Operation, way: str, database: str
) -> None:
    _, never = undisturbed(way, database, operation)
    tenant = prepared(way, database)
    with ready(tenant, operation) as child:
        child.say("go on")
        assert child.wait() == -signal.SIGKILL
    assert tenant.snapshot() == never
    replayed_alike(tenant, operation, TOKEN, never, "after the answer")


@pytest.mark.parametrize("operation", KEYED, ids=str)
def test_a_call_whose_client_was_killed_while_it_waited_lands_before_its_successor_or_never(
    operation: Operation, database: str
) -> None:
    """F10, R1: nobody reads the answer, and the server carries the call out; a look that comes after it sees it."""
    _, never = undisturbed("postgres", database, operation)
    tenant = prepared("postgres", database)
    with Blocker(database) as blocker:
        blocker.hold("the scope", tenant.name)
        with ready(tenant, operation) as child:
            child.say("go on")
            blocker.wait()
            child.kill()
            assert child.wait() == -signal.SIGKILL
        blocker.let_go()
    replayed_alike(tenant, operation, TOKEN, never, "waiting for the scope")


def dies_at(point: Point, operation: Operation, tenant: Tenant) -> int:
    """How a process ended that was to die at the point."""

    def work(_line: "Connection[Any, Any]") -> None:
        with tenant.open() as store, visiting(at(point, killed)):
            operation.run(store, TOKEN)

    with fork(work) as child:
        return child.wait()


@pytest.mark.parametrize("operation", OPERATIONS, ids=str)
def test_a_client_killed_at_any_step_of_plain_statements_and_replayed_has_written_exactly_once(
    operation: Operation, database: str
) -> None:
    """R1, B6: before and after every statement of the guard and around COMMIT.

    Between two steps is one state, which is replayed with the same token after the first and a newer one before the
    second.
    """
    points, before, never = points_of(operation, database)
    for point in points:
        tenant = prepared(PORTABLE, database)
        assert dies_at(point, operation, tenant) == -signal.SIGKILL, f"{operation} was not killed {point}"
        durable = point == Point("commit", "after")
        assert tenant.snapshot() == (never if durable else before), f"killed {point}"
        replayed_alike(tenant, operation, TOKEN + (point.moment == "before"), never, point)


def test_the_points_of_plain_statements_are_two_hundred_and_at_every_step(database: str) -> None:
    each = [points_of(operation, database)[0] for operation in OPERATIONS]
    assert sum(map(len, each)) >= 200
    assert {point.step for points in each for point in points} == set(STEPS) - {"fence"}
