"""The port to a technology: one write, one read, and the faults that a backend raises instead of an answer."""

from typing import Protocol, TypeVar

from txmemory.model.commit import Commit, Reported, Transaction
from txmemory.model.query import Page, Query

Row = TypeVar("Row")


class Fault(Exception):
    """An accident of the technology; `code` is the engine's own short code, never its text."""

    def __init__(self, code: str = "") -> None:
        super().__init__(code)
        self.code = code


class Busy(Fault):
    """Others were in the way. Nothing was done; doing it again may succeed.

    `raced`: another transaction came first, as is the normal course where transactions see snapshots. `held_by`: the
    processes that were in the way, where the system tells.
    """

    def __init__(self, code: str = "", *, raced: bool = False, held_by: tuple[int, ...] = ()) -> None:
        super().__init__(code)
        self.raced = raced
        self.held_by = held_by


class Lost(Fault):
    """The answer to a commit never came: it was made or it was not."""


class Down(Fault):
    """The database cannot be reached, is full or is read-only. Nothing was done.

    `passing`: of itself, and soon, as a server starts again or a connection is made anew: worth another attempt.
    """

    def __init__(self, code: str = "", *, passing: bool = False) -> None:
        super().__init__(code)
        self.passing = passing


class CannotOpen(Exception):
    """The store cannot be opened: no such place, no permission, or not a database. `code` is the engine's own."""

    def __init__(self, message: str, code: str = "") -> None:
        super().__init__(message)
        self.code = code


class SchemaMismatch(CannotOpen):
    """The database was written by another version of the schema than this release reads."""


class Closed(Exception):
    """The store is used after `close`."""


class ForkedStore(Exception):
    """The store, or its file, was open when this process was forked: fork first and open then."""


class Corrupted(Exception):
    """The engine found its own file damaged."""


def joinable(transaction: Transaction) -> Commit:
    """The commit; `ValueError` for what has to be a transaction of its own."""
    if isinstance(transaction, Commit):
        return transaction
    raise ValueError("this needs transactions of its own: call it on the store itself")


class Backend(Protocol):
    """What a technology has to do, for callers that block."""

    def commit(self, commit: Transaction, deadline: float) -> Reported:
        """Runs one transaction within `deadline` seconds. Raises a `Fault` where it met an accident."""
        ...

    def read(self, query: Query[Row], deadline: float) -> Page[Row]:
        """Answers one query from committed state. Raises `Busy` or `Down`."""
        ...

    def joined(self, connection: object) -> "Backend":
        """A backend inside the transaction of a caller's connection, which alone begins and ends it.

        `TypeError` for a connection of another kind, `ValueError` for one that cannot be joined as it stands.
        """
        ...

    def close(self) -> None:
        """Lets go of everything; what was submitted before is finished first."""
        ...


class AsyncBackend(Protocol):
    """The same, for callers that await."""

    async def commit(self, commit: Transaction, deadline: float) -> Reported:
        """Runs one transaction. Cancelled, it has committed or will, or has done nothing: never a part."""
        ...

    async def read(self, query: Query[Row], deadline: float) -> Page[Row]:
        """Answers one query from committed state."""
        ...

    def joined(self, connection: object) -> "AsyncBackend":
        """A backend inside the transaction of a caller's connection."""
        ...

    async def close(self) -> None:
        """Lets go of everything."""
        ...
