"""What the driver's errors mean, without their text, which quotes rows."""

import psycopg

from txmemory.backends.sql.sqlstates import NO_STATE, fault_of_state
from txmemory.port import CannotOpen, Down

_OURS = (psycopg.ProgrammingError, psycopg.DataError, psycopg.NotSupportedError)


def fault_of(error: psycopg.Error, *, sent: bool) -> Exception:
    """The fault that a caller meets; `sent`: a commit had been sent when the error came."""
    if error.sqlstate is None and isinstance(error, _OURS):
        return error  # not the server's: it speaks of parameters alone
    return fault_of_state(error.sqlstate, error.diag.severity_nonlocalized, sent=sent)


def fault_of_connecting(error: psycopg.Error) -> Down:
    """The fault of an attempt to connect, for which the driver has no code.

    A server that starts, stops or is full says so before it asks who comes: what it refuses after it has taken a
    password (the password, the role, the database) it will refuse again.
    """
    ended = error.pgconn
    refused = ended is not None and ended.used_password and b"FATAL" in ended.error_message
    return Down(error.sqlstate or NO_STATE, passing=not refused)


def cannot_open(error: psycopg.Error) -> Exception:
    """Why a store cannot be opened or migrated."""
    if error.sqlstate is None and isinstance(error, _OURS):
        return error  # not the server's
    match error:
        case psycopg.errors.InsufficientPrivilege():
            why = "the role may not do that in this database or schema"
        case psycopg.errors.LockNotAvailable():
            why = "others hold what a migration needs"
        case psycopg.Error(sqlstate=str()):
            why = "the server has refused"
        case psycopg.errors.ConnectionTimeout():
            why = "the server does not answer in time"
        case _ if error.pgconn is not None and error.pgconn.needs_password:
            why = "the server asks for a password"
        case _:
            why = "the server cannot be reached, or does not know the role, its password or the database"
    return CannotOpen(why, error.sqlstate or NO_STATE)
