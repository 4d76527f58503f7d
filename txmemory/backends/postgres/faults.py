"""What the driver's errors mean, without their text, which quotes rows."""

import psycopg

from txmemory.port import Busy, Corrupted, Down, Lost

_RETRYABLE = {"40001", "40P01", "55P03", "57014", "25P04"}
"""Serialization failure, deadlock, lock timeout, cancelled statement, transaction timeout: it was rolled back."""
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
