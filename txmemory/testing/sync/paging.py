# Generated from ../aio/paging.py by scripts/generate. Do not edit.
"""Tiny pages, and something that happens before each of them."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from txmemory import Store
from txmemory.drive import Patience
from txmemory.model.commit import Reported, Transaction
from txmemory.model.query import Page, Query, Row
from txmemory.port import Backend
from txmemory.store.core import Handle

SECONDS = 30.0


class Paging:
    """A backend whose pages hold `rows` rows at the most; `before` runs before each page and each transaction."""

    def __init__(self, backend: Backend, rows: int, before: Callable[[], object]) -> None:
        self._backend = backend
        self._rows = rows
        self._before = before
        self.pages = 0

    def commit(self, commit: Transaction, deadline: float) -> Reported:
        """Commits, after what comes before."""
        self._before()
        return self._backend.commit(commit, deadline)

    def read(self, query: Query[Row], deadline: float) -> Page[Row]:
        """Reads a smaller page, after what comes before."""
        self._before()
        self.pages += 1
        asked: Any = query
        if hasattr(asked, "limit"):
            asked = replace(asked, limit=min(self._rows, asked.limit))
        page: Page[Row] = self._backend.read(asked, deadline)
        return page

    def joined(self, connection: object) -> Backend:
        """Inside a caller's transaction pages are as they are."""
        return self._backend.joined(connection)

    def close(self) -> None:
        """The backend is its owner's to close."""

    def store(self) -> Store:
        """A store over this backend."""
        return Store(Handle(self, Patience(SECONDS), require_fence=False))
