"""What an error of any driver means to a caller, without its text, which quotes rows."""

import sqlite3

from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from txmemory.backends.sql.sqlstates import fault_of_state
from txmemory.backends.sqlite import connecting
from txmemory.port import Busy, Corrupted


def fault_of(error: SQLAlchemyError, *, sent: bool) -> Exception:
    """The fault that a caller meets; `sent`: the COMMIT had been sent when the error came."""
    if isinstance(error, PoolTimeout):
        return Busy("POOL")
    if not isinstance(error, DBAPIError):
        return Corrupted(type(error).__name__)  # its text may quote what was bound
    cause = error.orig
    if isinstance(cause, sqlite3.Error):
        return connecting.fault_of_commit(cause) if sent else connecting.fault_of(cause)
    state = _state(error)
    if state is None and not error.connection_invalidated and not _operational(error):
        return Corrupted(type(cause).__name__)
    return fault_of_state(state, _severity(cause), sent=sent)


def is_missing(error: DBAPIError) -> bool:
    """Whether the error says that a table, or its schema, is not there."""
    if isinstance(error.orig, sqlite3.Error):
        return error.orig.sqlite_errorname == "SQLITE_ERROR"
    return _state(error) in ("42P01", "3F000")


def _severity(cause: object) -> str | None:
    """How bad the server says it is, in no language of its own, wherever the driver keeps that."""
    said = getattr(cause, "diag", cause)
    return getattr(said, "severity_nonlocalized", None) or getattr(said, "severity", None)


def is_aborted(error: DBAPIError) -> bool:
    """Whether an earlier error of the transaction is all that was met."""
    return _state(error) == "25P02"


def _state(error: DBAPIError) -> str | None:
    return getattr(error.orig, "sqlstate", None) or getattr(error.orig, "pgcode", None)


def _operational(error: DBAPIError) -> bool:
    """Whether the driver blames the server or the way to it, by the name that every driver gives this class."""
    return type(error).__name__ in ("OperationalError", "InterfaceError", "InternalError")
