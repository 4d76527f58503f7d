#!/usr/bin/env python3
"""PostgreSQL against its own commit floor: one client's calls, and what each costs in round trips and log."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg import sql

import txmemory
from scripts.benching.figures import Figure
from scripts.benching.single import MANY, Calls
from scripts.benching.sizes import Sizes
from scripts.benching.timing import TEXT, Operation, ratios
from txmemory.testing.proxy import Proxy
from txmemory.testing.roles import with_options
from txmemory.testing.server import OwnServer

SCHEMA = "txmemory_bench"
SETTINGS = {"checkpoint_timeout": "1h", "max_wal_size": "8GB", "autovacuum": "off"}
"""Of a server of the benchmark's own: durable, and nothing happens on it but what is measured."""
TARGETS = {
    "write": 2.2,
    "replay, equal token": 0.5,
    "applied, equal token": 0.5,
    "write_many of 100, per write": 0.35,
}


class Place(NamedTuple):
    """A database with our schema in it, as a superuser or its owner sees it."""

    url: str
    schema: str = SCHEMA

    @property
    def store_url(self) -> str:
        """What a store is opened with."""
        return with_options(self.url, schema=self.schema)

    def connect(self) -> psycopg.Connection:
        """A raw connection with a store's settings."""
        return psycopg.connect(self.url, autocommit=True)

    @contextmanager
    def behind(self, proxy_delay: float) -> Iterator[tuple["Place", Proxy]]:
        """The same place through a proxy that lets a round trip take so many seconds."""
        with self.connect() as connection:
            host, port = connection.info.hostaddr or connection.info.host, connection.info.port
        with Proxy.started(host, port) as proxy:
            proxy.delay(frontend=proxy_delay / 2, backend=proxy_delay / 2)
            parts = urlsplit(self.url)
            account = parts.netloc.rpartition("@")[0]
            near = urlunsplit(parts._replace(netloc=f"{account}@127.0.0.1:{proxy.port}"))
            yield self._replace(url=near), proxy


@contextmanager
def placed(url: str | None, schema: str = SCHEMA, *, durable: bool = True) -> Iterator[Place]:
    """The database of the URL, or one on a server of our own; our schema is made, and dropped again."""
    if url is None:
        with (
            OwnServer(durable=durable, settings=SETTINGS) as server,
            placed(server.url(server.create_database()), schema) as place,
        ):
            yield place
        return
    place = Place(url, schema)
    txmemory.migrate(place.store_url)
    try:
        yield place
    finally:
        with place.connect() as connection:
            connection.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(sql.Identifier(schema)))


@contextmanager
def floor_of(place: Place) -> Iterator[Operation]:
    """The cheapest durable commit: one row, inserted by a prepared statement over a raw connection."""
    with place.connect() as connection:
        connection.execute(
            "CREATE TABLE txmemory_bench.floor (number bigint GENERATED ALWAYS AS IDENTITY, text text)"
        )
        cursor = connection.cursor()
        insert = "INSERT INTO txmemory_bench.floor (text) VALUES (%s)"
        yield lambda: cursor.execute(insert, [TEXT], prepare=True)
        connection.execute("DROP TABLE txmemory_bench.floor")


def single(place: Place, sizes: Sizes) -> list[Figure]:
    """Every kind of call against the floor."""
    with txmemory.open(with_options(place.store_url, pool_size="1")) as store, floor_of(place) as floor:
        calls = Calls(store, sizes)
        cases: dict[str, tuple[Operation, int]] = {
            "write": (calls.write, sizes.full),
            "replay, equal token": (calls.replay, sizes.full),
            "applied, equal token": (calls.applied, sizes.full),
            "write_many of 100, per write": (calls.write_many, sizes.many),
            "replace of 5": (calls.replace, sizes.full),
            f"write at a bound of {sizes.bound:,}": (calls.bounded, sizes.full),
        }
        for operation, times in cases.values():  # connections, statements and plans are there
            for _ in range(times):
                operation()
        found = ratios(cases, floor, sizes.full, sizes.rounds)
    return [
        Figure(
            name,
            tuple(value / (MANY if "per write" in name else 1) for value in values),
            target=TARGETS.get(name),
        )
        for name, values in found.items()
    ]


def counters(place: Place, sizes: Sizes) -> list[Figure]:
    """What does not depend on the machine, of each call. Flushes of the log are counted by the tests."""
    rows: list[Figure] = []
    with (
        place.behind(0.0) as (near, proxy),
        place.connect() as observer,
        txmemory.open(with_options(near.store_url, pool_size="1")) as store,
    ):
        calls = Calls(store.tenant("counted"), sizes)
        for name in ("write", "replay", "applied", "write_many", "replace", "bounded"):
            call: Operation = getattr(calls, name)
            for _ in range(sizes.counted):
                call()
            proxy.forget()
            before = _written(observer)
            for _ in range(sizes.counted):
                call()
            trips = proxy.round_trips / sizes.counted
            written = (_written(observer) - before) / sizes.counted
            quiet = 0 if name in ("replay", "applied") else None
            rows.append(Figure(f"round trips per {name}", (trips,), "", 1, gating=True))
            rows.append(Figure(f"bytes of the log per {name}", (written,), "", quiet))
    return rows


def _written(observer: psycopg.Connection) -> int:
    """How many bytes the server has put into its write-ahead log."""
    row = observer.execute("SELECT (pg_current_wal_insert_lsn() - '0/0')::int8").fetchone()
    assert row is not None
    position: int = row[0]
    return position
