"""What happened: one entry of the log per accepted entry of a commit. Events hold no content."""

from typing import Literal, NamedTuple

from txmemory.model.address import Namespace
from txmemory.model.outcome import Status

VERSION = 1
Kind = Literal["record", "change", "forget", "seal", "claim", "release", "reset"]
Operation = Literal["put", "remove"]
Reason = Literal["stored", "replaced", "deleted", "cleared", "evicted", "expired"]


class Effect(NamedTuple):
    """One revision that came, or (a removal) one that ended an item; `commitment` binds its content."""

    namespace: Namespace
    id: str
    revision: int
    operation: Operation
    reason: Reason
    commitment: bytes | None

    def __repr__(self) -> str:
        """Nothing of the caller's: a namespace or an id may be a person's."""
        return f"<Effect {self.reason} revision={self.revision}>"


class Event(NamedTuple):
    """One entry of the log. Calls without a key have no scope, and so no seq, generation or token."""

    kind: Kind
    scope: str | None
    seq: int | None
    generation: int | None
    token: int | None
    actor: str | None
    key: str | None
    fingerprint: bytes | None
    status: Status | None
    effects: tuple[Effect, ...]
    at: int

    def __repr__(self) -> str:
        """Nothing of the caller's: a scope or a key may be a person's."""
        return f"<Event {self.kind} seq={self.seq}>"
