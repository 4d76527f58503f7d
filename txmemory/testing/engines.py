"""Engines of SQLAlchemy for the portable backend: an isolation level, and a schema of its own for each case."""

from sqlalchemy import Engine, create_engine
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from txmemory.backends.portable.ground import SCHEMA

POOL = 16


def engine(url: str, level: str, schema: str) -> Engine:
    """One that blocks."""
    made = create_engine(_dialect(url), isolation_level=level, pool_size=POOL, hide_parameters=True)
    return made.execution_options(schema_translate_map={SCHEMA: schema})


def engine_async(url: str, level: str, schema: str) -> AsyncEngine:
    """One that is awaited."""
    made = create_async_engine(_dialect(url), isolation_level=level, pool_size=POOL, hide_parameters=True)
    return made.execution_options(schema_translate_map={SCHEMA: schema})


def _dialect(url: str) -> str:
    return url.replace("postgresql://", "postgresql+psycopg://", 1)
