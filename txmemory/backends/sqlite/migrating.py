"""Runs the package's migrations on a SQLite connection that is inside a transaction. Imports Alembic."""

import sqlite3

from sqlalchemy import create_engine
from sqlalchemy.pool import StaticPool

from txmemory.backends.sql.migrations import upgrade
from txmemory.backends.sqlite.dialect import TABLES


def migrate(connection: sqlite3.Connection) -> None:
    """Brings the schema to this release's version and commits the transaction."""
    engine = create_engine(
        "sqlite://", creator=lambda: connection, poolclass=StaticPool, pool_reset_on_return=None
    )
    with engine.begin() as borrowed:
        upgrade(borrowed, TABLES)
