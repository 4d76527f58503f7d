"""What a write did, as it is recorded and returned, word for word, on every replay."""

from datetime import datetime
from typing import Literal, NamedTuple

from txmemory.model.address import Ref

Status = Literal["stored", "superseded"]


class Outcome(NamedTuple):
    """What a write did. Holds no content.

    `superseded` means that a source of a replacement was gone, so nothing was written, for ever. `seq` counts the
    events of the scope from 1 without gaps and is None for a call without a key; `at` is the time of record, an
    aware datetime that agrees with every scope and every item; `token` is the one that the write carried.
    """

    status: Status
    added: tuple[Ref, ...]
    removed: tuple[Ref, ...]
    evicted: tuple[Ref, ...]
    seq: int | None
    at: datetime
    token: int | None


class Receipt(NamedTuple):
    """The answer to a keyed write: what it did, and whether that had been done before.

    `replayed`: the key was applied earlier, nothing was written now, and `outcome` is the recorded one. `diverged`:
    it was, with other content than was passed now; the caller adopts the recorded outcome.
    """

    outcome: Outcome
    replayed: bool = False
    diverged: bool = False
