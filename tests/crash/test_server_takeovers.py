"""F3, F10, C7 on a server: a holder stands still past its lease anywhere in a call, and another takes over."""

from collections.abc import Callable
from datetime import timedelta
from multiprocessing.connection import Connection
from typing import Any

import pytest

import txmemory
from tests.crash.claims import TTL
from tests.crash.servers import PORTABLE, SENT, Tenant, fresh, through
from txmemory import Claim, Fenced, Memory, either, must
from txmemory.testing.clock import START, FakeClock
from txmemory.testing.crashing import Point, Trace, at, stopped, visiting
from txmemory.testing.faults import Stall
from txmemory.testing.processes import Child, fork
from txmemory.testing.proxy import Proxy
from txmemory.testing.wire import Message

LIMIT = 1.0
"""The deadline of who stands still. So long, and a second on top, the server lets its transaction live."""
LATER = START + timedelta(hours=3)
Calls = Callable[[Claim], object]
CALLS: dict[str, Calls] = {
    "write": lambda claim: either(claim.writer.write("mine", [Memory("of ada's", id="mine")])),
    "replace": lambda claim: either(claim.writer.replace("mine", [Memory("of ada's", id="mine")], ["tea"])),
    "renew": lambda claim: either(claim.renew()),
    "release": lambda claim: either(claim.release()),
}


def prepared(way: str, database: str) -> Tenant:
    tenant = fresh(way, database)
    with tenant.open() as store:
        must(store.store(Memory("tea", id="tea")))
    return tenant


def holder(tenant: Tenant, call: Calls, point: Point | None, url: str | None = None) -> Child:
    """A process that makes its call when it is told to, and says what became of it and of later ones."""

    def work(line: "Connection[Any, Any]") -> object:
        with txmemory.open(url or tenant.url, clock=FakeClock(), deadline=LIMIT) as opened:
            store = opened.tenant(tenant.name)
            call(must(opened.tenant(f"rehearsal of {tenant.name}").claim("run", "ada", TTL)))
            claim = must(store.claim("run", "ada", TTL))
            line.send("ready")
            line.recv()
            if point is None:
                first = call(claim)
            else:
                with visiting(at(point, stopped)):
                    first = call(claim)
            line.send("goes on")
            line.recv()
            return (
                first,
                either(claim.writer.write("late", [Memory("late", id="late")])),
                either(claim.renew()),
            )

    child = fork(work)
    child.expect("ready")
    return child


def taken_over(tenant: Tenant) -> bool:
    """Another one claims the scope and writes; answers whether the call of its predecessor had landed by then."""
    with txmemory.open(tenant.url, clock=FakeClock(LATER), deadline=30) as opened:
        store = opened.tenant(tenant.name)
        claim = must(store.claim("run", "bob", TTL))
        assert claim.token == 2
        landed = must(claim.writer.applied("mine")) is not None
        must(claim.writer.write("bob's", [Memory("taken over", id="bob's")]))
        return landed


def all_there_is(tenant: Tenant, *, landed: bool, when: object) -> None:
    """Nothing of what came too late, and what had landed."""
    with tenant.open() as store:
        assert must(store.exists("mine")) is landed, f"stopped {when}"
        assert must(store.exists("bob's"))
        assert not must(store.exists("late"))
        assert must(store.verify()).findings == ()


@pytest.mark.parametrize("name", ["replace", "renew"])
def test_who_stands_still_between_two_statements_is_taken_over_and_fenced(name: str, database: str) -> None:
    """Its transaction is ended by the server; only at the end of COMMIT it had landed."""
    call, trace = CALLS[name], Trace()
    with prepared(PORTABLE, database).open() as store:
        claim = must(store.claim("run", "ada", TTL))
        with visiting(trace):
            call(claim)
    last = Point("commit", "after")
    for point in [each for each in trace.points if each.moment == "before" or each == last]:
        tenant = prepared(PORTABLE, database)
        with holder(tenant, call, point) as child:
            child.say("go on")
            child.stopped()
            landed = taken_over(tenant)
            assert landed is (point == last and name == "replace"), f"stopped {point}"
            child.go_on()
            child.expect("goes on")
            child.say("go on")
            _, *late = child.answer()
        assert [type(each) for each in late] == [Fenced, Fenced], f"stopped {point}"
        all_there_is(tenant, landed=landed, when=point)


@pytest.mark.parametrize("name", CALLS)
def test_who_stands_still_at_any_message_of_its_call_is_taken_over_and_fenced(
    name: str, database: str, proxy: Proxy
) -> None:
    """Before it is sent, half sent, sent but for its end, and answered but not told."""
    for kind, where in SENT:
        tenant = prepared("postgres", database)
        with holder(tenant, CALLS[name], None, through(proxy, tenant)) as child:
            planned = proxy.plan(Stall(Message("frontend", kind), where))
            child.say("go on")
            planned.wait()
            child.stop()
            landed = taken_over(tenant)
            assert landed is (where == "reply" and name in ("write", "replace")), f"stopped {where} {kind}"
            child.go_on()
            proxy.cut()
            child.expect("goes on")
            child.say("go on")
            _, *late = child.answer()
        assert [type(each) for each in late] == [Fenced, Fenced], f"stopped {where} {kind}"
        all_there_is(tenant, landed=landed, when=f"{where} {kind}")
