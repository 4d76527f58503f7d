"""What a SQLSTATE means to a caller."""

from txmemory.port import Busy, Corrupted, Down, Lost

_RETRYABLE = ("40001", "40P01", "55P03", "57014")
"""Serialization failure, deadlock, lock timeout, cancelled statement: the transaction was rolled back."""
_DOWN = ("25006", "53", "58", "08", "28", "3D", "42501")
"""Read-only, out of resources, system error, no connection, no access: nothing was done."""
_IDLE = "25P03"
"""The transaction said nothing for longer than its call may take: a limit of ours, for clients that stand still."""
_ENDED = (_IDLE, "57P01", "57P02", "57P03", "57P05")
"""The server ends the session; where the transaction stood is not said."""


def fault_of_state(state: str | None, *, sent: bool) -> Exception:
    """The fault for a state, or for a connection that broke without one; `sent`: a commit was on its way."""
    if state == _IDLE and not sent:
        return Busy(state)
    if state is None or state in _ENDED:
        return (Lost if sent else Down)(state or "CONNECTION")
    if state in _RETRYABLE:
        return Busy(state)
    if state.startswith(_DOWN):
        return Down(state)
    return Corrupted(state)  # our statements meet no other error and break no rule
