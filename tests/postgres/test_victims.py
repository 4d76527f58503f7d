"""Evictions beside writers that no bound holds back, whose memories may be older than all that were there."""

import random
from datetime import timedelta
from functools import partial

import txmemory
from tests.postgres.worlds import World
from txmemory import Bounds, Memory, Outcome, either
from txmemory.testing.clock import START
from txmemory.testing.racing import race

CLIENTS, BOUNDED = 8, 2
STEPS = 1_000
IDS = 8


def work(url: str, client: int) -> None:
    """Writes, deletes and re-creates a few memories at random times of creation; two clients keep one of them."""
    by = random.Random(client)
    with txmemory.open(f"{url}?pool_size=1") as store:
        for _ in range(STEPS):
            id = f"m-{by.randrange(IDS)}"
            memory = Memory("tea", id=id, timestamp=START + timedelta(minutes=by.randrange(1_000)))
            if client < BOUNDED:
                answer: object = either(store.store(memory, bounds=Bounds(max_memories=1)))
            elif by.random() < 0.3:
                answer = either(store.delete(id))
            else:
                answer = either(store.store(memory))
            assert isinstance(answer, Outcome | bool), answer


def test_a_victim_is_never_one_that_others_may_still_change(world: World) -> None:
    """B7: one that came between the last look for victims and their choice is none."""
    race(*(partial(work, world.direct, client) for client in range(CLIENTS)))
    revisions: dict[str, list[int]] = {}
    for id, revision in world.look("SELECT id, revision FROM txmemory.revision ORDER BY id, revision"):
        revisions.setdefault(id, []).append(revision)
    assert len(revisions) == IDS
    assert all(told == list(range(1, len(told) + 1)) for told in revisions.values())
