"""Tenants on a PostgreSQL server, each as good as a file of its own: prepared, opened, looked at."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import quote, urlsplit
from uuid import uuid4

import psycopg

import txmemory
from tests.crash.operations import TOKEN, Operation, fill
from tests.crash.snapshot import Rows, Snapshot, checked
from txmemory import Store
from txmemory.backends.opening import Options, open_backend
from txmemory.testing.clock import START, FakeClock
from txmemory.testing.crashing import Point, Trace, visiting
from txmemory.testing.faults import Where
from txmemory.testing.proxy import Proxy

WAYS = {
    "postgres": ("", "read committed"),
    **{
        f"portable {level}": ("portable+", level)
        for level in ("read committed", "repeatable read", "serializable")
    },
}
"""By name, how a URL begins and at which level the transactions run."""


PORTABLE = "portable read committed"
SENT: tuple[tuple[str, Where], ...] = (
    ("Bind", "before"),
    ("Bind", "inside"),
    ("Execute", "before"),
    ("Sync", "before"),
    ("Sync", "reply"),
)
"""Where the one call of `postgresql://` can be reached: at its messages; the transaction commits at the last."""


@dataclass(frozen=True, slots=True)
class Tenant:
    """A tenant that nobody else writes to, and the URLs of its store and of its database."""

    url: str
    database: str
    name: str

    def __repr__(self) -> str:
        return f"<Tenant {self.name}>"

    @contextmanager
    def open(self, clock: Callable[[], datetime] | None = None, url: str | None = None) -> Iterator[Store]:
        """A store of its own, at a clock that stands still unless told; another `url` leads through a proxy."""
        with txmemory.open(url or self.url, clock=clock or FakeClock()) as store:
            yield store.tenant(self.name)

    def snapshot(self) -> Snapshot:
        """What the tenant holds. Fails where log, heads, history, ledger and order do not agree."""
        backend = open_backend(Options(self.url, FakeClock()))
        try:
            with psycopg.connect(self.database) as connection:
                rows = Rows(*(connection.execute(text, [self.name]).fetchall() for text in _TABLES))
            return checked(backend, self.name, rows)
        finally:
            backend.close()


_TABLES = (
    "SELECT namespace, id, revision, live FROM txmemory.item WHERE tenant = %s",
    "SELECT scope, key, seq FROM txmemory.ledger WHERE tenant = %s",
    "SELECT scope, seq FROM txmemory.scope WHERE tenant = %s AND seq > 0",
)


def url_of(way: str, database: str) -> str:
    """The URL of a store on a database, by the name of the way there; it has one connection."""
    begins, level = WAYS[way]
    options = quote("-c default_transaction_isolation=" + level.replace(" ", "\\ "))
    return f"{begins}{database}?options={options}&pool_size=1"


def through(proxy: Proxy, tenant: Tenant) -> str:
    """The URL of its store through the proxy."""
    return tenant.url.replace(f":{urlsplit(tenant.database).port}/", f":{proxy.port}/")


def fresh(way: str, database: str) -> Tenant:
    """A new tenant with nothing in it."""
    name = f"t{uuid4().hex}"
    return Tenant(f"{url_of(way, database)}&application_name={name}", database, name)


def prepared(way: str, database: str) -> Tenant:
    """A new tenant that holds what `fill` leaves."""
    tenant, clock = fresh(way, database), FakeClock(START - timedelta(hours=1))
    with tenant.open(clock) as store:
        fill(store, clock)
    return tenant


def undisturbed(way: str, database: str, operation: Operation) -> tuple[Snapshot, Snapshot]:
    """What is there before the operation and what it leaves behind when nothing happens to it."""
    tenant = prepared(way, database)
    before = tenant.snapshot()
    with tenant.open() as store:
        operation.run(store, TOKEN)
    return before, tenant.snapshot()


def points_of(operation: Operation, database: str) -> tuple[list[Point], Snapshot, Snapshot]:
    """Every named step that the operation passes, what is there before it and what it leaves behind."""
    tenant, trace = prepared(PORTABLE, database), Trace()
    before = tenant.snapshot()
    with tenant.open() as store, visiting(trace):
        operation.run(store, TOKEN)
    return trace.points, before, tenant.snapshot()
