"""From a URL or an engine to an open portable backend."""

from collections.abc import Callable, Mapping
from math import ceil
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, func, make_url, select
from sqlalchemy.exc import ArgumentError, OperationalError, ProgrammingError, SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.pool import ConnectionPoolEntry

from txmemory.backends.portable.backend import AsyncPortable, Portable
from txmemory.backends.portable.faults import fault_of, is_missing
from txmemory.backends.portable.ground import Ground, ground_of
from txmemory.backends.postgres.dialect import MIGRATING
from txmemory.backends.postgres.place import pool_size_of, schema_of
from txmemory.backends.sql.tables import VERSION
from txmemory.backends.sql.versions import refuse_to_migrate, refuse_to_open
from txmemory.port import CannotOpen, Fault

Clock = Callable[[], int]


def open_portable(url: str, options: Mapping[str, str], patience: float, clock: Clock | None) -> Portable:
    """An open backend over an engine of its own."""
    place, schema = _place(url, options)
    engine = create_engine(place, **_pool(place, options, patience))
    _watch_for_poolers(engine)
    try:
        return _opened(engine, ground_of(engine.dialect.name, schema), clock, borrowed=False)
    except BaseException:
        engine.dispose()
        raise


def open_engine(engine: object, clock: Clock | None) -> Portable:
    """An open backend over a borrowed engine that blocks."""
    if not isinstance(engine, Engine):
        raise TypeError("engine must be an Engine of sqlalchemy; open_async takes an AsyncEngine")
    return _opened(engine, ground_of(engine.dialect.name), clock, borrowed=True)


async def open_portable_async(
    url: str, options: Mapping[str, str], patience: float, clock: Clock | None
) -> AsyncPortable:
    """An open backend over an awaited engine of its own."""
    place, schema = _place(url, options)
    if place.get_backend_name() == "sqlite":
        raise ValueError("a portable sqlite store blocks: open it without async, or as sqlite://")
    engine = create_async_engine(place, **_pool(place, options, patience))
    _watch_for_poolers(engine.sync_engine)
    try:
        return await _opened_async(engine, ground_of(engine.dialect.name, schema), clock, borrowed=False)
    except BaseException:
        await engine.dispose()
        raise


async def open_engine_async(engine: object, clock: Clock | None) -> AsyncPortable:
    """An open backend over a borrowed engine that is awaited."""
    if not isinstance(engine, AsyncEngine):
        raise TypeError("engine must be an AsyncEngine of sqlalchemy; open takes an Engine")
    return await _opened_async(engine, ground_of(engine.dialect.name), clock, borrowed=True)


def migrate(url: str, options: Mapping[str, str], patience: float, runtime_role: str | None) -> None:
    """Makes the schema or brings it up to date, in one transaction, under a lock, and lets a role use it."""
    place, schema = _place(url, options)
    engine = create_engine(place, **_pool(place, options, patience))
    ground = ground_of(engine.dialect.name, schema)
    if ground.embedded:
        raise ValueError("a file needs no migration: opening it does that")
    try:
        # Each statement has to see what was committed while the lock was waited for.
        with engine.execution_options(isolation_level="READ COMMITTED").begin() as connection:
            ground.refuse(connection)
            ground.begin(connection, patience)
            _prepare(connection, ground, runtime_role)
    except SQLAlchemyError as error:
        raise _cannot_open(error) from None
    finally:
        engine.dispose()


def _place(url: str, options: Mapping[str, str]) -> tuple[URL, str]:
    rest = {name: value for name, value in options.items() if name not in ("schema", "pool_size")}
    try:
        place = make_url(url).update_query_dict(rest)
    except (ArgumentError, ValueError):  # a bad port is quoted, with what stands before it
        raise ValueError("url must look like portable+postgresql://user@host/database") from None
    if place.drivername == "postgresql":
        place = place.set(drivername="postgresql+psycopg")
    return place, schema_of(options)


def _pool(place: URL, options: Mapping[str, str], patience: float) -> dict[str, Any]:
    size = pool_size_of(options)
    wanted: dict[str, Any] = {"hide_parameters": True, "pool_pre_ping": True}
    if place.get_backend_name() != "sqlite":
        wanted |= {"pool_size": size, "max_overflow": 0, "pool_timeout": patience}
    if place.get_driver_name() == "psycopg":  # each driver has a name of its own for this
        wanted["connect_args"] = {"connect_timeout": max(1, ceil(patience))}
    return wanted


def _watch_for_poolers(engine: Engine) -> None:
    """Where a pooler stands between and shares its sessions, the driver is to keep no statement on the server.

    There a name may stand for another client's statement. A pooler greets with a process of its own invention.
    """

    def look(connection: Any, record: ConnectionPoolEntry) -> None:
        driver: Any = record.driver_connection
        cursor = connection.cursor()
        cursor.execute("SELECT pg_backend_pid()")
        if cursor.fetchone() != (driver.info.backend_pid,):
            driver.prepare_threshold = None
        cursor.close()
        connection.rollback()

    if engine.url.get_driver_name() == "psycopg":
        event.listen(engine, "connect", look)


def _opened(engine: Engine, ground: Ground, clock: Clock | None, *, borrowed: bool) -> Portable:
    try:
        with engine.connect() as connection:
            _check(connection, ground)
    except SQLAlchemyError as error:
        raise _cannot_open(error) from None
    return Portable(engine, ground, clock or ground.clock, borrowed=borrowed)


async def _opened_async(
    engine: AsyncEngine, ground: Ground, clock: Clock | None, *, borrowed: bool
) -> AsyncPortable:
    try:
        async with engine.connect() as connection:
            await connection.run_sync(_check, ground)
    except SQLAlchemyError as error:
        raise _cannot_open(error) from None
    return AsyncPortable(engine, ground, clock or ground.clock, borrowed=borrowed)


def _check(connection: Connection, ground: Ground) -> None:
    """Makes or migrates the tables of a file; on a server they are only looked at."""
    ground.refuse(connection)
    version = _version(connection, ground)
    connection.rollback()
    if version != VERSION and ground.embedded:
        connection.exec_driver_sql("BEGIN IMMEDIATE")
        _prepare(connection, ground, None)
        connection.commit()
    else:
        refuse_to_open(version)


def _prepare(connection: Connection, ground: Ground, role: str | None) -> None:
    """Makes what is not there, inside the connection's transaction."""
    if not ground.embedded:
        connection.execute(select(func.pg_advisory_xact_lock(MIGRATING)))
    version = _version(connection, ground)
    refuse_to_migrate(version)
    if version is None:
        ground.make(connection)
        connection.execute(ground.tables.version.insert(), {"version_num": VERSION})
    elif version != VERSION:
        from txmemory.backends.sql.migrations import upgrade

        upgrade(connection, ground.tables)
    ground.renew(connection, role)


def _version(connection: Connection, ground: Ground) -> str | None:
    """The version that the schema is stamped with; None where there is none."""
    try:
        with connection.begin_nested():
            found = connection.execute(select(ground.tables.version.c.version_num)).scalars().all()
    except (OperationalError, ProgrammingError) as error:
        if not is_missing(error):
            raise
        return None
    return found[0] if len(found) == 1 else ""


def _cannot_open(error: SQLAlchemyError) -> CannotOpen:
    fault = fault_of(error, sent=False)
    code = fault.code if isinstance(fault, Fault) else str(fault)
    return CannotOpen(f"the database cannot be reached or used ({code})", code)
