"""What the driver's errors mean, without their text, which quotes rows."""

import psycopg

from txmemory.port import Busy, CannotOpen, Corrupted, Down, Lost

_RETRYABLE = {"40001", "40P01", "55P03", "57014"}
"""Serialization failure, deadlock, lock timeout, cancelled statement: the transaction was rolled back."""
_DOWN = ("25006", "53", "58", "08", "28", "3D", "42501")
"""Read-only, out of resources, system error, no connection, no access: nothing was done."""
_ENDED = ("57P01", "57P02", "57P03")
"""The server ends the session; where the transaction stood is not said."""


def fault_of(error: psycopg.Error, *, sent: bool) -> Exception:
    """The fault that a caller meets; `sent`: a commit had been sent when the error came."""
    code = error.sqlstate
    if code is None and not isinstance(error, psycopg.OperationalError):
        return error  # ours, not the server's: it speaks of parameters alone
    if code is None or code in _ENDED:
        return Lost(code or "CONNECTION") if sent else Down(code or "CONNECTION")
    if code in _RETRYABLE:
        return Busy(code)
    if code.startswith(_DOWN):
        return Down(code)
    if code.startswith("XX"):
        return Corrupted(code)
    return error


def cannot_open(error: psycopg.Error) -> Exception:
    """Why a store cannot be opened or migrated."""
    if error.sqlstate is None and not isinstance(error, psycopg.OperationalError):
        return error  # ours, not the server's
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
    return CannotOpen(why, error.sqlstate or "CONNECTION")
