#!/usr/bin/env python3
"""How soon another one has a scope whose holder stands still, to the limit that was set."""

import os
import time
from collections.abc import Callable
from datetime import timedelta
from multiprocessing.connection import Connection
from typing import Any

import txmemory
from scripts.benching.figures import Figure
from scripts.benching.server import Place
from scripts.benching.sizes import Sizes
from txmemory import Claim, Held, Memory, Store, either, must
from txmemory.testing.crashing import Point, at, stopped, visiting
from txmemory.testing.faults import Stall
from txmemory.testing.processes import Child, fork
from txmemory.testing.wire import Message

TARGET = 1.2
LIMIT = 1.0
"""Seconds: of the lease, or the deadline of a call."""
GRACE = 1.0
"""Seconds that the server gives a whole transaction beyond the call's deadline."""
PAUSE = 0.005


def figures(place: Place, sizes: Sizes) -> list[Figure]:
    """The rows of the table."""
    rounds = range(min(sizes.rounds, 5))
    named = "takeover, holder stopped {}, to the limit".format
    return [
        Figure(named("with a lease"), tuple(_lease(place) for _ in rounds), target=TARGET),
        Figure(
            named("inside the one call"),
            tuple(_call(place) / (LIMIT + GRACE) for _ in rounds),
            target=TARGET,
        ),
        Figure(
            named("between two statements"),
            tuple(_statements(place, "lock_heads") / LIMIT for _ in rounds),
            target=TARGET,
        ),
        Figure(
            named("behind rows sent at once"),
            tuple(_statements(place, "append_events") / (LIMIT + GRACE) for _ in rounds),
            target=TARGET,
        ),
    ]


def _lease(place: Place) -> float:
    """Whoever claims again and again has it as soon as it lapses."""
    with _holder(place.store_url, timedelta(seconds=LIMIT), lambda _: None) as child:
        child.expect("claimed")
        began = time.monotonic()
        child.stop()
        with txmemory.open(place.store_url) as store:
            while isinstance(either(store.claim(f"run {child.pid}", "bob")), Held):
                time.sleep(PAUSE)
        return (time.monotonic() - began) / LIMIT


def _call(place: Place) -> float:
    """A call that has come without its end holds the scope until the server ends it."""
    with place.behind(0) as (near, proxy), _holder(near.store_url, timedelta(hours=1), _replace) as child:
        child.expect("claimed")
        planned = proxy.plan(Stall(Message("frontend", "Sync"), "before"))
        child.say("go on")
        planned.wait()
        child.stop()
        return _token_of_its_own(place.store_url, child.pid)


def _statements(place: Place, step: str) -> float:
    """A transaction of plain statements, before the statement of that name."""
    url = f"portable+{place.store_url}"
    with _holder(url, timedelta(hours=1), _replace, Point(step, "before")) as child:
        child.expect("claimed")
        child.say("go on")
        child.stopped()
        return _token_of_its_own(url, child.pid)


def _token_of_its_own(url: str, holder: int) -> float:
    """Seconds until a worker whose token was issued elsewhere has fenced the holder."""
    with txmemory.open(url, deadline=60) as store:
        began = time.monotonic()
        must(store.writer(f"run {holder}", 9).applied("takeover"))
        return time.monotonic() - began


def _replace(claim: Claim) -> object:
    add = [Memory(f"turn {n}", id=f"{claim.scope} {n}") for n in range(3)]
    return either(claim.writer.write("step", add))


def _holder(url: str, ttl: timedelta, work: Callable[[Claim], object], point: Point | None = None) -> Child:
    """A process that claims a scope of its own number, and works when it is told to."""

    def run(line: "Connection[Any, Any]") -> None:
        with txmemory.open(url, deadline=LIMIT) as store:
            claim = _claimed(store, ttl)
            work(_claimed(store.tenant("rehearsal"), ttl))  # the connection knows the statement
            line.send("claimed")
            line.recv()
            if point is None:
                work(claim)
            else:
                with visiting(at(point, stopped)):
                    work(claim)

    return fork(run)


def _claimed(store: Store, ttl: timedelta) -> Claim:
    return must(store.claim(f"run {os.getpid()}", "ada", ttl))
