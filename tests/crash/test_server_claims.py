"""F5 on a server: clients are killed, or stand still, at every step and message of what they do with a claim."""

import signal
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

import psycopg
import pytest

from tests.crash.claims import CALLS, SCOPE_ROWS, Call, Row, fill, inherited, rows_of
from tests.crash.servers import PORTABLE, SENT, Tenant, fresh, through
from txmemory.testing.clock import FakeClock
from txmemory.testing.crashing import CLAIM_STEPS, Point, Trace, at, killed, visiting
from txmemory.testing.faults import Stall
from txmemory.testing.processes import Child, fork
from txmemory.testing.proxy import Proxy
from txmemory.testing.wire import Message

LIMIT = 1.0
"""The deadline of who stands still: so long the server lets its transaction live."""


def prepared(way: str, database: str) -> Tenant:
    tenant, clock = fresh(way, database), FakeClock()
    with tenant.open(clock) as store:
        fill(store, clock)
    return tenant


def scopes(tenant: Tenant) -> list[Row]:
    with psycopg.connect(tenant.database) as connection:
        found = connection.execute(SCOPE_ROWS.format("txmemory.scope", "%s").encode(), [tenant.name])
        return rows_of(found.fetchall())


def undisturbed(way: str, database: str, call: Call) -> tuple[list[Point], list[Row], list[Row]]:
    """Every step that the call passes, and the scopes before and after it."""
    tenant, trace = prepared(way, database), Trace()
    with tenant.open() as store:
        ready = call.ready(store)
        before = scopes(tenant)
        with visiting(trace):
            ready()
    return trace.points, before, scopes(tenant)


def at_work(call: Call, point: Point, deed: Callable[[], object], tenant: Tenant) -> Child:
    """A process that does the deed at the point of the call."""

    def work(_line: "Connection[Any, Any]") -> object:
        with tenant.open() as store:
            ready = call.ready(store)
            with visiting(at(point, deed)):
                return ready()

    return fork(work)


@pytest.mark.parametrize("call", CALLS, ids=str)
def test_killed_at_any_step_of_plain_statements_a_claim_was_changed_wholly_or_not_at_all(
    call: Call, database: str
) -> None:
    points, before, after = undisturbed(PORTABLE, database, call)
    assert {point.step for point in points} <= {"begin", "now", "append_events", *CLAIM_STEPS, "commit"}
    for point in points:
        tenant = prepared(PORTABLE, database)
        with at_work(call, point, killed, tenant) as child:
            assert child.wait() == -signal.SIGKILL, f"was not killed {point}"
        found = scopes(tenant)
        assert found == (after if point == Point("commit", "after") else before), f"killed {point}"
        with tenant.open() as store:
            inherited(store, call, found)


def waiting_client(call: Call, tenant: Tenant, url: str) -> Child:
    """A process that makes the call when it is told to, and another one when it is told to go on."""

    def work(line: "Connection[Any, Any]") -> object:
        with tenant.open(url=url) as store:
            call.ready(store.tenant(f"rehearsal of {tenant.name}"))()  # the connection knows the statement
            ready = call.ready(store)
            line.send("ready")
            line.recv()
            return ready()

    child = fork(work)
    child.expect("ready")
    return child


@pytest.mark.parametrize("call", CALLS, ids=str)
def test_a_client_killed_at_any_message_has_changed_its_claim_wholly_or_not_at_all(
    call: Call, database: str, proxy: Proxy
) -> None:
    _, before, after = undisturbed("postgres", database, call)
    for kind, where in SENT:
        tenant = prepared("postgres", database)
        with waiting_client(call, tenant, through(proxy, tenant)) as child:
            planned = proxy.plan(Stall(Message("frontend", kind), where))
            child.say("go on")
            planned.wait()
            child.kill()
            assert child.wait() == -signal.SIGKILL
        proxy.cut()
        found = scopes(tenant)
        assert found == (after if where == "reply" else before), f"killed {where} {kind}"
        with tenant.open() as store:
            inherited(store, call, found)
