"""Many clients of a server on the same memories at once: one winner, no deadlock, no order that is turned round."""

import random
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count
from uuid import uuid4

import psycopg
import pytest

import txmemory
from tests.crash.servers import WAYS, Tenant, fresh
from tests.crash.sizes import LONG, size
from txmemory import Bounds, Contended, Memory, Refusal, Store, either, must
from txmemory.testing.clock import START
from txmemory.testing.racing import race
from txmemory.testing.server import PostgresServer

CLIENTS = 8
ROUNDS = size(40, 500)
CALLS = size(40, 400)
"""Of each client in a load."""
EVICTIONS = size(600, 5_000)
SECONDS = 60.0


class Deadlocks:
    """Counts the deadlocks of a database of its own, once all who used it have gone."""

    def __init__(self, server: PostgresServer, url: str, name: str) -> None:
        self.url = url
        self._server = server
        self._name = name

    def counted(self) -> int:
        """How many the server has found; it counts a connection's when that has ended."""
        end = time.monotonic() + SECONDS
        while self._server.backend_pids(self._name):
            assert time.monotonic() < end, "somebody stays connected"
        with psycopg.connect(self._server.superuser_url, autocommit=True) as connection:
            asked = "SELECT deadlocks FROM pg_stat_database WHERE datname = %s"
            ((found,),) = connection.execute(asked, [self._name]).fetchall()
        return int(found)


@pytest.fixture
def deadlocks(server: PostgresServer) -> Iterator[Deadlocks]:
    """Of a fresh database with our tables."""
    name = server.create_database()
    url = server.url(database=name)
    txmemory.migrate(url)
    yield Deadlocks(server, url, name)
    server.drop_database(name)


def test_a_deadlock_would_be_counted(deadlocks: Deadlocks) -> None:
    def crossing(first: int, second: int, both: threading.Barrier) -> bool:
        with psycopg.connect(deadlocks.url) as connection:
            connection.execute("SELECT pg_advisory_xact_lock(%s)", [first])
            both.wait(SECONDS)
            try:
                connection.execute("SELECT pg_advisory_xact_lock(%s)", [second])
            except psycopg.errors.DeadlockDetected:
                return True
        return False

    both = threading.Barrier(2)
    assert sorted(race(partial(crossing, 1, 2, both), partial(crossing, 2, 1, both))) == [False, True]
    assert deadlocks.counted() == 1


@pytest.mark.parametrize("way", ["postgres", "portable read committed"])
def test_of_eight_replacers_of_the_same_memories_in_opposite_orders_one_wins_each_round(
    way: str, deadlocks: Deadlocks
) -> None:
    """B1, C6, C15: from different scopes, 500 rounds at full length; no deadlock, surfacing or not."""
    tenant, together = fresh(way, deadlocks.url), threading.Barrier(CLIENTS, timeout=SECONDS)

    def replacer(place: int) -> list[str]:
        ended: list[str] = []
        with tenant.open() as store:
            writer = store.writer(f"replacer {place}", 1)
            for number in range(ROUNDS):
                sources = [f"{number} {each}" for each in range(5)]
                if place == 0:
                    add = [Memory("tea", id=id) for id in sources]
                    must(store.writer("sources", 1).write(f"{number}", add))
                together.wait()
                order = -1 if place % 2 else 1
                add = [Memory("the sum", id=f"{number} of {place} {each}") for each in range(2)]
                if number % 2:
                    add.append(Memory("whose it is", id=f"{number} taken"))  # a new place that all want, too
                outcome = must(writer.replace(f"{number}", add[::order], sources[::order])).outcome
                ended.append(outcome.status)
                together.wait()
        return ended

    statuses = race(*(partial(replacer, place) for place in range(CLIENTS)))
    for told in zip(*statuses, strict=True):
        assert sorted(told) == ["stored", *["superseded"] * (CLIENTS - 1)]
    assert len(tenant.snapshot().items) == 2 * ROUNDS + ROUNDS // 2
    assert deadlocks.counted() == 0


class Client:
    """Makes calls by chance on a few memories, at a clock that is up to an hour off."""

    def __init__(self, tenant: Tenant, place: int, seed: str, *, sweeping: bool) -> None:
        self.answers: Counter[str] = Counter()
        self._tenant = tenant
        self._place = place
        self._chance = random.Random(f"{seed}/{place}")
        self._offset = timedelta(seconds=self._chance.randint(-1800, 1800))
        self._sweeping = sweeping
        self._keys = 0

    def _clock(self) -> datetime:
        return datetime.now(UTC) + self._offset

    def run(self) -> None:
        """All its calls."""
        with self._tenant.open(self._clock) as store:
            for _ in range(CALLS):
                space = store.within(self._chance.choice(["one", "other"]))
                answer = self._call(space)
                name = type(answer).__name__ if isinstance(answer, Refusal) else "done"
                self.answers[name] += 1

    def _call(self, space: Store) -> object:
        ways = ["write", "write", "replace", "replace", "many", "store", "delete"]
        ways += ["bounded", "bounded", "clear"] if self._sweeping else []
        writer = space.writer(f"run {self._chance.randint(1, 3)}", 1)
        self._keys += 1
        key = f"{self._place} {self._keys}"
        shared = self._chance.sample(range(12), 9)
        match self._chance.choice(ways):
            case "write":
                return either(writer.write(key, self._some(shared[:3])))
            case "replace":
                return either(
                    writer.replace(key, self._some(shared[:3]), [f"{each}" for each in shared[3:5]])
                )
            case "many":
                parts = shared[:3], shared[3:6], shared[6:]
                return either(writer.write_many([(f"{key} {part[0]}", self._some(part)) for part in parts]))
            case "store":
                return either(space.store(self._some(shared[:1])[0]))
            case "delete":
                return either(space.delete(f"{shared[0]}"))
            case "bounded":
                bounds = Bounds(max_memories=self._chance.randint(3, 8))
                return either(writer.write(key, self._some(shared[:3]), bounds=bounds))
            case _:
                return either(space.clear())

    def _some(self, shared: Sequence[int]) -> list[Memory]:
        """Of the shared memories, in any order, and one that is new and may be older than all others."""
        ids = [*(f"{each}" for each in shared), uuid4().hex]
        old = datetime(2020, 1, 1, tzinfo=UTC) + timedelta(seconds=self._chance.randrange(10**8))
        self._chance.shuffle(ids)
        return [Memory("tea", id=id, timestamp=self._chance.choice([None, old])) for id in ids]


def load(tenant: Tenant, *, sweeping: bool) -> Counter[str]:
    """What eight clients were told, all together. The seed is printed, and follows from that of the run."""
    seed = f"{random.randrange(1_000_000)}"
    clients = [Client(tenant, place, seed, sweeping=sweeping) for place in range(CLIENTS)]
    race(*(client.run for client in clients))
    told = sum((client.answers for client in clients), Counter[str]())
    sys.stdout.write(f"seed {seed}: {dict(told)}\n")
    return told


@pytest.mark.parametrize("way", WAYS)
def test_batches_of_the_same_ids_in_opposite_orders_meet_no_deadlock(way: str, deadlocks: Deadlocks) -> None:
    tenant, ids = fresh(way, deadlocks.url), [f"m-{n}" for n in range(6)]

    def batches(order: Sequence[str]) -> None:
        with tenant.open() as store:
            for turn in range(100):
                must(store.store_all([Memory(f"{turn}", id=id) for id in order]))
                must(store.swap([Memory(f"{turn}", id=id) for id in order[:3]], order[3:]))

    race(partial(batches, ids), partial(batches, ids[::-1]))
    assert deadlocks.counted() == 0


@pytest.mark.parametrize("way", WAYS)
def test_writes_replacements_and_deletions_by_clocks_an_hour_apart_turn_no_order_round_and_meet_no_deadlock(
    way: str, deadlocks: Deadlocks
) -> None:
    """L5, C11, C15: 8 clients on the same memories from shared scopes; the snapshot checks every order."""
    tenant = fresh(way, deadlocks.url)
    told = load(tenant, sweeping=False)
    assert told.keys() <= {"done", Contended.__name__}
    assert told["done"] > 0.95 * told.total()
    assert len(tenant.snapshot().ledger) > CALLS
    assert deadlocks.counted() == 0


@pytest.mark.parametrize("way", WAYS)
def test_evictions_and_clears_beside_them_turn_no_order_round_either(way: str, deadlocks: Deadlocks) -> None:
    """L5, L11, B7: they alone may meet a deadlock, which is counted here and never surfaces."""
    tenant = fresh(way, deadlocks.url)
    told = load(tenant, sweeping=True)
    assert told.keys() <= {"done", Contended.__name__}
    assert told["done"] > 0.95 * told.total()
    assert len(tenant.snapshot().ledger) > CALLS
    sys.stdout.write(f"{deadlocks.counted()} deadlocks\n")


@pytest.mark.parametrize("way", ["postgres", "portable read committed"] if LONG else ["postgres"])
def test_evictions_beside_writers_of_ever_older_memories_take_only_what_they_hold(
    way: str, deadlocks: Deadlocks
) -> None:
    """B7: what was committed after the victims were locked, and is older than they, is somebody else's to change."""
    tenant, over = fresh(way, deadlocks.url), threading.Event()

    def evict(place: int) -> None:
        try:
            with tenant.open() as store:
                writer = store.writer(f"run {place}", 1)
                for number in range(EVICTIONS):
                    add = [Memory("tea", id=f"{place} {number % 5}")]
                    must(writer.write(f"{number}", add, bounds=Bounds(max_memories=3)))
        finally:
            over.set()

    def store_older(place: int) -> None:
        with tenant.open() as store:
            for number in count():
                if over.is_set():
                    return
                old = START - timedelta(seconds=10 * number + place)
                must(store.store(Memory("tea", id=f"shared {(number + place) % 6}", timestamp=old)))

    race(partial(evict, 0), partial(evict, 1), *(partial(store_older, place) for place in range(CLIENTS - 2)))
    tenant.snapshot()
