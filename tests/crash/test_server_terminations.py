"""The server ends the process that serves a call, at every step of every operation: the caller is told the truth."""

from concurrent.futures import Future, ThreadPoolExecutor

import psycopg
import pytest

import txmemory
from tests.crash.blocking import HELD, Blocker
from tests.crash.operations import ONE_REQUEST, OPERATIONS, SCOPE, TOKEN, Operation
from tests.crash.servers import PORTABLE, SENT, Tenant, points_of, prepared, through, undisturbed
from tests.crash.sizes import LONG
from txmemory import Contended, Memory, OutcomeUnknown, Refusal, Unavailable
from txmemory.testing.clock import FakeClock
from txmemory.testing.crashing import Point, at, visiting
from txmemory.testing.faults import Stall
from txmemory.testing.proxy import Proxy
from txmemory.testing.wire import Message

REACHED = {
    "write something new": 7,
    "write over something": 5,
    "write and evict": 13,
    "replace": 9,
    "replace superseded": 5,
    "write many, one replayed": 8,
    "look with a newer token": 1,
    "forget": 3,
    "seal": 3,
    "store": 2,
    "delete": 2,
    "clear": 6,
    "store all": 4,
    "swap": 6,
    "delete matching": 4,
    "trim": 5,
}
"""How many of the things that can be held each operation comes to wait for."""


def end_servants(tenant: Tenant) -> int:
    """Ends the processes that serve this tenant's stores, waits for their ends, and says how many there were."""
    asked = "SELECT pg_terminate_backend(pid, 30000) FROM pg_stat_activity WHERE application_name = %s"
    with psycopg.connect(tenant.database, autocommit=True) as connection:
        ended = connection.execute(asked, [tenant.name]).fetchall()
    return sum(gone for (gone,) in ended)


def waits(blocker: Blocker, call: "Future[object]") -> int | None:
    """The server's process that serves the call, once it waits for what is held; nothing if the call ends."""
    while not call.done():
        if found := blocker.waiting():
            return found[0]
    return None


@pytest.mark.parametrize("way", ["postgres", PORTABLE] if LONG else ["postgres"])
@pytest.mark.parametrize("operation", ONE_REQUEST, ids=str)
def test_a_call_whose_server_process_is_ended_inside_its_transaction_is_told_the_truth(
    operation: Operation, way: str, database: str
) -> None:
    """R18, C10: inside the one function, too, which waits for whatever another connection holds.

    The one call of `postgresql://` may have been committed for all its client knows: where a key tells, it is made
    again by itself. Plain statements have not, before COMMIT is sent: the caller is told so, and makes it again.
    """
    before, never = undisturbed(way, database, operation)
    reached = []
    for held in HELD:
        tenant = prepared(way, database)
        with tenant.open() as store, Blocker(database) as blocker, ThreadPoolExecutor(1) as thread:
            blocker.hold(held, tenant.name)
            call = thread.submit(operation.run, store, TOKEN)
            pid = waits(blocker, call)
            if pid is None:
                continue
            reached.append(held)
            blocker.terminate(pid)
            blocker.let_go()
            answer = call.result()
            if way == "postgres" and operation.resendable:
                assert not isinstance(answer, Refusal), f"ended at {held}"
            else:
                told = OutcomeUnknown if way == "postgres" else Unavailable
                assert isinstance(answer, told), f"ended at {held}"
                assert tenant.snapshot() == before, f"ended at {held}"
                operation.run(store, TOKEN)
            assert tenant.snapshot() == never, f"ended at {held}"
    assert len(reached) == REACHED[operation.name], reached


@pytest.mark.parametrize("operation", ONE_REQUEST, ids=str)
def test_a_call_whose_server_process_is_ended_at_any_message_is_told_the_truth(
    operation: Operation, database: str, proxy: Proxy
) -> None:
    """C1, C10: before the call has come, half of it, all but its end, and when it is committed and not yet told."""
    before, never = undisturbed("postgres", database, operation)
    for kind, where in SENT:
        tenant = prepared("postgres", database)
        with tenant.open(url=through(proxy, tenant)) as store, ThreadPoolExecutor(1) as thread:
            operation.run(store.tenant(f"rehearsal of {tenant.name}"), TOKEN)
            planned = proxy.plan(Stall(Message("frontend", kind), where))
            call = thread.submit(operation.run, store, TOKEN)
            planned.wait()
            assert end_servants(tenant)
            proxy.release()
            answer = call.result()
            if not operation.resendable and where != "reply":
                assert isinstance(answer, OutcomeUnknown), f"ended {where} {kind}"
                assert tenant.snapshot() == before, f"ended {where} {kind}"
            else:
                assert not isinstance(answer, Refusal), f"ended {where} {kind}"
                assert tenant.snapshot() == never, f"ended {where} {kind}"


def test_a_transaction_that_stood_still_beyond_its_deadline_is_contended_and_holds_nothing(
    database: str,
) -> None:
    """C7: the server ends it, so nobody waits for a client that stands still, which is told to come back."""
    tenant = prepared(PORTABLE, database)
    asked = "SELECT count(*) FROM pg_stat_activity WHERE application_name = %s"

    def stand_still() -> None:
        with psycopg.connect(database, autocommit=True) as connection:
            while connection.execute(asked, [tenant.name]).fetchone() != (0,):
                pass

    before = tenant.snapshot()
    with txmemory.open(tenant.url, deadline=0.2, clock=FakeClock()) as store:
        writer = store.tenant(tenant.name).writer(SCOPE, TOKEN)
        with visiting(at(Point("applied", "after"), stand_still)):
            assert writer.write("key", [Memory("tea")]).failure() == Contended()
        assert tenant.snapshot() == before


def nothing_behind(point: Point, points: list[Point]) -> bool:
    """Whether no statement but COMMIT is sent after the point. The clock of these tests asks nobody."""
    behind = points[points.index(point) + (point.moment == "after") :]
    return all(each.step in {"now", "commit"} for each in behind)


@pytest.mark.parametrize("operation", OPERATIONS, ids=str)
def test_a_call_whose_server_process_is_ended_between_two_statements_is_told_the_truth(
    operation: Operation, database: str
) -> None:
    """C10: before and after every statement of the portable backend and around COMMIT."""
    points, before, never = points_of(operation, database)
    for point in points:
        tenant = prepared(PORTABLE, database)
        ended: list[int] = []

        def end(tenant: Tenant = tenant, ended: list[int] = ended) -> None:
            ended.append(end_servants(tenant))

        with tenant.open() as store:
            with visiting(at(point, end)):
                answer = operation.run(store, TOKEN)
            assert any(ended), f"nothing was ended {point}"
            # Sooner nothing can have happened, and it is done anew; with only COMMIT left to say the answer is lost.
            if point == Point("commit", "before"):
                assert isinstance(answer, OutcomeUnknown) != operation.resendable, f"ended {point}"
            if isinstance(answer, Refusal):
                assert nothing_behind(point, points), f"ended {point}"
                assert isinstance(answer, OutcomeUnknown), f"ended {point}"
                assert not operation.resendable, f"ended {point}"
                assert tenant.snapshot() == before, f"ended {point}"
                operation.run(store, TOKEN)
            assert tenant.snapshot() == never, f"ended {point}"
