"""A store's place, which others can get in the way of."""

import asyncio
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import Protocol
from uuid import uuid4

import psycopg

PATIENCE = 60.0
PAUSE = 0.005


def until(true: Callable[[], bool]) -> None:
    """Waits for what becomes true by itself in time."""
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end
        time.sleep(PAUSE)


async def until_async(true: Callable[[], bool]) -> None:
    """The same, while the event loop goes on."""
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end
        await asyncio.sleep(PAUSE)


def renewing() -> int:
    """How many threads renew something."""
    return sum(thread.name == "txmemory-renewing" for thread in threading.enumerate())


async def renewing_async() -> int:
    """How many tasks of this event loop are at work beside the caller's."""
    return len(asyncio.all_tasks()) - 1


class Place(Protocol):
    """A URL, and a tenant that is the case's own."""

    url: str
    tenant: str

    def blocked(self) -> AbstractContextManager[None]:
        """Inside the block nobody can renew a claim on the scope `run`."""
        ...

    def lapse(self) -> None:
        """Ends the claim on the scope `run` as its time would, so that others may claim it."""
        ...


class FilePlace:
    """A file."""

    def __init__(self, path: Path) -> None:
        self.url = f"sqlite:///{path}"
        self.tenant = "default"
        self._path = path

    @contextmanager
    def blocked(self) -> Iterator[None]:
        """Somebody else writes."""
        with closing(sqlite3.connect(self._path, isolation_level=None)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            yield

    def lapse(self) -> None:
        """Sets its end to an earlier time."""
        with closing(sqlite3.connect(self._path, isolation_level=None)) as connection:
            connection.execute("UPDATE txm_scope SET lease_until = 1 WHERE scope = 'run'")


class ServerPlace:
    """A tenant on a server."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.tenant = f"t{uuid4().hex}"

    @contextmanager
    def blocked(self) -> Iterator[None]:
        """Somebody holds the row."""
        with psycopg.connect(self.url) as connection:
            held = "SELECT FROM txmemory.scope WHERE tenant = %s AND scope = 'run' FOR UPDATE"
            assert connection.execute(held, [self.tenant]).rowcount == 1
            yield
            connection.rollback()

    def lapse(self) -> None:
        """Sets its end to an earlier time."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            ended = "UPDATE txmemory.scope SET lease_until = 1 WHERE tenant = %s AND scope = 'run'"
            assert connection.execute(ended, [self.tenant]).rowcount == 1
