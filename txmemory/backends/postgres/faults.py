"""What the driver's errors mean, without their text, which quotes rows."""

import psycopg

from txmemory.backends.sql.sqlstates import fault_of_state


def fault_of(error: psycopg.Error, *, sent: bool) -> Exception:
    """The fault that a caller meets; `sent`: a commit had been sent when the error came."""
    if error.sqlstate is None and not isinstance(error, psycopg.OperationalError):
        return error  # ours, not the server's: it speaks of parameters alone
    return fault_of_state(error.sqlstate, sent=sent)
