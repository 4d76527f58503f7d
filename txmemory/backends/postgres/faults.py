"""What the driver's errors mean, without their text, which quotes rows."""

import psycopg

from txmemory.port import Busy, Corrupted, Down, Lost

_RETRYABLE = {"40001", "40P01", "55P03", "57014"}
"""Serialization failure, deadlock, lock timeout, cancelled statement: the transaction was rolled back."""
_DOWN = ("25006", "53", "58", "08", "28", "3D", "42501")
"""Read-only, out of resources, system error, no connection, no access: nothing was done."""
_ENDED = ("57P01", "57P02", "57P03", "57P05", "25P03", "25P04")
"""The server ends the session, by a limit on idle or long ones too; where the transaction stood is not said."""
_PASSING = ("08", "53300")
"""No connection, or none left."""
_LOST = "CONNECTION"


def fault_of(error: psycopg.Error, *, sent: bool) -> Exception:
    """The fault that a caller meets; `sent`: a commit had been sent when the error came."""
    code = error.sqlstate
    if code is None and not isinstance(error, psycopg.OperationalError):
        return error  # ours, not the server's: it speaks of parameters alone
    if code is None or code in _ENDED:
        return Lost(code or _LOST) if sent else Down(code or _LOST, passing=True)
    if code in _RETRYABLE:
        return Busy(code)
    if code.startswith(_DOWN):
        return Down(code, passing=code.startswith(_PASSING))
    if code.startswith("XX"):
        return Corrupted(code)
    return error


def fault_of_connecting(error: psycopg.Error) -> Down:
    """The fault of an attempt to connect, for which the driver has no code.

    A server that starts, stops or is full says so before it asks who comes: what it refuses after it has taken a
    password (the password, the role, the database) it will refuse again.
    """
    ended = error.pgconn
    refused = ended is not None and ended.used_password and b"FATAL" in ended.error_message
    return Down(error.sqlstate or _LOST, passing=not refused)
