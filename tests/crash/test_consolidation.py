"""A consolidation job is killed with -9 wherever it is, and run again by another process until it is done."""

import random
import signal
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from tests.crash.operations import copy, opened
from tests.crash.servers import PORTABLE, Tenant, fresh, through
from tests.crash.sizes import size
from tests.crash.snapshot import Snapshot, snapshot
from txmemory import Consolidation, Group, Memory, Store, must
from txmemory.testing.clock import START
from txmemory.testing.crashing import Moment, Point, Trace, Visit, at, killed, visiting
from txmemory.testing.faults import Stall, Where
from txmemory.testing.processes import Child, fork
from txmemory.testing.proxy import Proxy
from txmemory.testing.wire import Message

SCOPE, KEY = "jobs", "night"
GROUPS = ("ada", "bob")
SOURCES = {name: [f"{name} {number}" for number in range(3)] for name in GROUPS}
ASKING = Message("frontend", "Sync")
"""What ends whatever is asked of a server."""
ALONE = "alone 0"
"""A memory that is a group by itself, and stays."""


def fill(store: Store) -> None:
    """Three memories of each group and one of another, in one transaction."""
    ids = [*(id for each in SOURCES.values() for id in each), ALONE]
    memories = [
        Memory(
            f"tea of {id}",
            id=id,
            memory_type="conversation",
            metadata={"conversation_id": id.partition(" ")[0]},
            timestamp=START - timedelta(days=1),
        )
        for id in ids
    ]
    must(store.store_all(memories))


def consolidate(store: Store, token: int, visit: Visit | None = None) -> Consolidation:
    """The job; a visit is also paid to the model."""

    def summarise(group: Group) -> str:
        if visit is not None:
            visit("model", "before")
        text = " and ".join(memory.content for memory in group.memories)
        if visit is not None:
            visit("model", "after")
        return text

    return must(store.writer(SCOPE, token).consolidate(KEY, summarise, older_than=START, min_count=2))


def assert_done_once(store: Store, done: Consolidation, found: Snapshot) -> None:
    """No source is lost or doubled, and each group was replaced once, whoever did it."""
    assert done.failed == ()
    summaries = {}
    for group in done.groups:
        assert group.outcome.status == "stored"
        (added,) = group.outcome.added
        summary = must(store.get(added.id))
        assert summary is not None
        name = summary.conversation_id or ""
        assert summary.metadata["original_ids"] == ",".join(SOURCES[name])
        assert {ref.id for ref in group.outcome.removed} == set(SOURCES[name])
        summaries[name] = added.id
    assert set(summaries) == set(GROUPS)
    assert {(id, revision) for id, revision, _ in found.items} == {
        (id, 1) for id in (*summaries.values(), ALONE)
    }
    for id in (id for each in SOURCES.values() for id in each):
        assert [entry.reason for entry in must(store.history(id))] == ["stored", "replaced"]
    assert {(scope, key) for scope, key, _ in found.ledger} == {
        (SCOPE, key) for key in (done.key, *(group.key for group in done.groups))
    }
    assert len(found.events) == 1 + len(GROUPS) + 1


def life(path: Path, token: int, made: Callable[[], Visit]) -> Child:
    """A process that runs the job, with a visit that is made in it."""

    def work(_line: "Connection[Any, Any]") -> None:
        visit = made()
        with visiting(visit), opened(path) as store:
            consolidate(store, token, visit)

    return fork(work)


def was_killed(child: Child) -> bool:
    """Whether it died, rather than come to its end."""
    with child:
        try:
            child.answer()
        except EOFError:
            assert child.wait() == -signal.SIGKILL
            return True
        return False


def finish(path: Path, token: int) -> None:
    """Another process runs the job to its end; and what is there then is right."""

    def work(_line: "Connection[Any, Any]") -> None:
        with opened(path) as store:
            assert_done_once(store, consolidate(store, token), snapshot(path))

    with fork(work) as child:
        child.answer()


@pytest.fixture
def prepared(tmp_path: Path) -> Path:
    path = tmp_path / "prepared.db"
    with opened(path) as store:
        fill(store)
    return path


def points_of(path: Path) -> list[Point]:
    """Every point that the whole job passes."""
    trace = Trace()
    with visiting(trace), opened(path) as store:
        consolidate(store, 1, trace)
    return trace.points


def test_killed_at_any_step_and_run_again_a_job_has_replaced_each_group_once(
    prepared: Path, tmp_path: Path
) -> None:
    """R1, B6: every step of every transaction, and the model; the next process has the same token or a newer one."""
    points = points_of(copy(prepared, tmp_path / "never killed.db"))
    assert {point.step for point in points} >= {"model", "begin", "commit"}
    for place, point in enumerate(points):
        path = copy(prepared, tmp_path / f"{place}.db")
        assert was_killed(life(path, 1, partial(at, point, killed))), f"survived {point}"
        finish(path, 1 + place % 2)


class Countdown:
    """A visit that is the last one of its process when so many have been paid."""

    def __init__(self, left: int) -> None:
        self._left = left

    def __call__(self, step: str, moment: Moment) -> None:
        """One less."""
        self._left -= 1
        if self._left < 0:
            killed()


@pytest.mark.parametrize("workers", [1, 2])
def test_killed_at_random_until_it_is_done_a_job_has_replaced_each_group_once(
    workers: int, prepared: Path, tmp_path: Path
) -> None:
    """R1, R2: one process after the other, or always two at once; all with one token, or newer ones each time."""
    steps = len(points_of(copy(prepared, tmp_path / "never killed.db")))
    turns, deaths = size(10, 100), 0
    for turn in range(turns):
        path = copy(prepared, tmp_path / f"{turn}.db")
        token, working = 1, True
        while working:
            token += turn % 2
            lefts = [random.randrange(2 * steps // 3) for _ in range(workers)]
            children = [life(path, token, partial(Countdown, left)) for left in lefts]
            ended = [was_killed(child) for child in children]
            deaths += sum(ended)
            working = all(ended)
        finish(path, token)
    assert deaths > turns


@pytest.mark.parametrize("way", ["postgres", PORTABLE])
def test_killed_at_messages_to_a_server_and_run_again_a_job_has_replaced_each_group_once(
    way: str, database: str, proxy: Proxy
) -> None:
    """R1, B6: at commits and at whatever else is asked; sent or not, answered or not."""

    def work(line: "Connection[Any, Any]", tenant: Tenant) -> None:
        with tenant.open(url=through(proxy, tenant)) as store:
            must(store.count())
            line.send("ready")
            line.recv()
            consolidate(store, 1)

    def ready(tenant: Tenant) -> Child:
        with tenant.open() as store:
            fill(store)
        child = fork(lambda line: work(line, tenant))
        child.expect("ready")
        proxy.forget()
        return child

    with ready(fresh(way, database)) as child:
        child.say("go on")
        child.answer()
        asked = sum(seen.message == ASKING for seen in proxy.messages)
    assert asked > 2 * len(GROUPS)
    for skip in sorted(random.sample(range(asked), min(asked, size(12, 200)))):
        tenant = fresh(way, database)
        with ready(tenant) as child:
            where: Where = random.choice(("before", "inside", "reply"))
            planned = proxy.plan(Stall(ASKING, where, skip))
            child.say("go on")
            planned.wait()
            child.kill()
            assert child.wait() == -signal.SIGKILL
        proxy.cut()
        with tenant.open() as store:
            assert_done_once(store, consolidate(store, 1 + skip % 2), tenant.snapshot())
