"""Runs the package's migrations on a SQLite connection. Imports Alembic."""

import sqlite3
from collections.abc import Callable

from sqlalchemy import create_engine
from sqlalchemy.pool import StaticPool

from txmemory.backends.sql.migrations import upgrade
from txmemory.backends.sqlite.dialect import TABLES


def migrate(connection: sqlite3.Connection, *, still_needed: Callable[[], bool] = lambda: True) -> None:
    """Brings the schema to this release's version in one transaction, under the file's write lock.

    `still_needed` is asked once the lock is held: another process may have been quicker.
    """
    engine = create_engine(
        "sqlite://", creator=lambda: connection, poolclass=StaticPool, pool_reset_on_return=None
    )
    engine.connect().close()  # its first connection probes the driver, and rolls back: not inside our transaction
    connection.execute("BEGIN IMMEDIATE")
    try:
        if still_needed():
            with engine.begin() as borrowed:
                upgrade(borrowed, TABLES)
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
