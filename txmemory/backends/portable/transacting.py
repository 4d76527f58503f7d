"""One commit as one transaction of plain statements, and one query."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from txmemory.backends.leasing import lease_out
from txmemory.backends.portable.faults import fault_of
from txmemory.backends.portable.ground import Ground
from txmemory.backends.portable.tables import PortableTables
from txmemory.backends.sql.claiming import StatementClaims
from txmemory.backends.sql.mending import mended
from txmemory.backends.sql.reading import Asked
from txmemory.backends.sql.replaying import replayed
from txmemory.backends.steps import carry_out
from txmemory.model.commit import Commit, Reported
from txmemory.model.commit import Transaction as Wanted
from txmemory.model.repair import Repair

Clock = Callable[[], int]


def no_time() -> None:
    """Says no time, which leaves it to the database."""


class Transaction:
    """Carries one commit out, all or nothing, over whatever connection it is run on."""

    def __init__(self, ground: Ground, clock: Clock | None, commit: Wanted, seconds: float) -> None:
        self.sent = False
        """Whether the COMMIT was on its way: from then on only its answer says what became of it."""
        self._ground = ground
        self._clock = clock
        self._wanted = commit
        self._seconds = seconds

    def run(self, connection: Connection) -> Reported:
        """What the commit met. Nothing of a transaction that raised stays, but for a `Lost` one, which may."""
        try:
            self.begin(connection)
            reply = self._carried_out(connection)
            self.commit(connection)
        except SQLAlchemyError as error:
            with suppress(SQLAlchemyError):
                connection.rollback()
            raise fault_of(error, sent=self.sent) from None
        except BaseException:
            connection.invalidate()  # interrupted, or cancelled: the server may still be at it
            raise
        return reply

    def begin(self, connection: Connection) -> None:
        """Bounds what the transaction may wait for."""
        self._ground.begin(connection, self._seconds)

    def commit(self, connection: Connection) -> None:
        """From here on nobody but the server knows."""
        self.sent = True
        connection.commit()

    def _carried_out(self, connection: Connection) -> Reported:
        tables = PortableTables(connection, self._ground, self._clock)
        if isinstance(self._wanted, Repair):
            return mended(self._ground.mends.mended(self._wanted), tables.rows)
        if not isinstance(self._wanted, Commit):
            return lease_out(StatementClaims(tables, self._ground.claims), self._wanted)
        known = replayed(self._ground.guard, tables.fetch, self._wanted)
        if known is not None:
            return known
        reply = carry_out(tables, self._wanted)
        tables.finish()
        return reply


def fetched(connection: Connection, asked: Asked[Any]) -> list[Any]:
    """The rows that each binding of a query finds."""
    try:
        return [connection.execute(asked.statement, values).fetchall() for values in asked.bindings]
    except SQLAlchemyError as error:
        raise fault_of(error, sent=False) from None
