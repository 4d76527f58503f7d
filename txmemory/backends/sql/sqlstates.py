"""What a SQLSTATE means to a caller."""

from txmemory.port import Busy, Corrupted, Down, Lost, SchemaMismatch

_RETRYABLE = ("40001", "40P01", "55P03", "57014")
"""Serialization failure, deadlock, lock timeout, cancelled statement: the transaction was rolled back."""
_DOWN = ("25006", "53", "58", "08", "28", "3D", "42501")
"""Read-only, out of resources, system error, no connection, no access: nothing was done."""
_IDLE = ("25P03", "25P04")
"""The transaction stood still, or lasted, for longer than its call may take: limits of ours."""
_ENDED = (*_IDLE, "57P01", "57P02", "57P03", "57P05")
"""The server ends the session; where the transaction stood is not said."""
_PASSING = ("08", "53300")
"""No connection, or none left."""
_NO_FUNCTION = "42883"
"""No function of that name and those parameters: the schema was migrated under a store of another release."""
NO_STATE = "CONNECTION"
"""Stands for the state where a connection breaks without one."""


_AMBIGUOUS = ("08", "40003")
"""The way to the server broke, or the server itself does not know: never a promise that nothing was done."""


def fault_of_state(state: str | None, severity: str | None, *, sent: bool) -> Exception:
    """The fault for a state, or for a connection that broke without one; `sent`: a commit was on its way.

    Once it was, only a plain ERROR says that the transaction was rolled back: a FATAL or a PANIC ends the session
    wherever it stood, behind the commit too, and a pooler speaks for a server that it has lost.
    """
    if state in _RETRYABLE:
        return Busy(state, raced=state == "40001")
    if sent and (state is None or severity != "ERROR" or state.startswith(_AMBIGUOUS)):
        return Lost(state or NO_STATE)
    if state in _IDLE:
        return Busy(state)
    if state is None or state in _ENDED:
        return Down(state or NO_STATE, passing=True)
    if state.startswith(_DOWN):
        return Down(state, passing=state.startswith(_PASSING))
    if state == _NO_FUNCTION:
        return SchemaMismatch("the function that commits is missing, or of another release")
    return Corrupted(state)  # our statements meet no other error and break no rule
