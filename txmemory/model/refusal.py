"""Why nothing was done: every refusal, in order of precedence. Read each as "refused because it is ..."."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import ClassVar

from txmemory.model.address import Fence


@dataclass(frozen=True, slots=True)
class Refusal:
    """What all refusals share: whether the same call with the same key may succeed later."""

    retryable: ClassVar[bool] = False


@dataclass(frozen=True, slots=True)
class FenceRequired(Refusal):
    """A call without a writer, on a store that was opened with `require_fence=True`."""


@dataclass(frozen=True, slots=True)
class Fenced(Refusal):
    """An older token, an older generation, or an equal token of another holder. Stop: somebody has taken over.

    `outcome_unknown`: an earlier attempt of this call was sent, its answer was lost, and it can no longer be told.
    """

    presented: Fence
    newest: Fence
    outcome_unknown: bool = False


@dataclass(frozen=True, slots=True)
class KeyReused(Refusal):
    """The key is applied with another payload, and the caller asked for `on_mismatch="refuse"`."""


@dataclass(frozen=True, slots=True)
class Sealed(Refusal):
    """The scope is finished and its keys are gone: a late replay is refused, never executed again.

    `outcome_unknown`: an earlier attempt of this call was sent and its answer lost; it may have landed.
    """

    outcome_unknown: bool = False


@dataclass(frozen=True, slots=True)
class Held(Refusal):
    """The scope is claimed: by a holder of that name, who is live until then."""

    retryable: ClassVar[bool] = True
    holder: str = field(repr=False)
    until: datetime


@dataclass(frozen=True, slots=True)
class LeaseLost(Refusal):
    """The claim is no longer the caller's: stop. It was released, or not renewed in time; nothing was sent."""


@dataclass(frozen=True, slots=True)
class NotFound(Refusal):
    """Nothing is live at the id, or no such event is there to read as of."""


@dataclass(frozen=True, slots=True)
class IdChanged(Refusal):
    """What is to be stored over an id names another one."""


@dataclass(frozen=True, slots=True)
class AlreadyExists(Refusal):
    """The caller expected that nothing is at `id`; `actual` is the live revision."""

    actual: int
    id: str = field(default="", repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class StaleRevision(Refusal):
    """The caller expected revision `expected` at `id`; `actual` is the live one, 0 when it is gone."""

    expected: int
    actual: int
    id: str = field(default="", repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class TooManyToEvict(Refusal):
    """The bounds ask for at least `excess` evictions, more than one commit makes."""

    excess: int


@dataclass(frozen=True, slots=True)
class Contended(Refusal):
    """The budget of time or attempts was used up waiting for others. Nothing was done by the last attempt.

    `held_by`: the processes that held an SQLite file when it was given up, where the system tells.
    """

    retryable: ClassVar[bool] = True
    outcome_unknown: bool = False
    held_by: tuple[int, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class OutcomeUnknown(Refusal):
    """The answer to a commit was lost: it was made or it was not, and no key can tell. The caller decides."""


@dataclass(frozen=True, slots=True)
class Unavailable(Refusal):
    """The database cannot be reached, is full or is read-only; `code` is the engine's own, never its text."""

    retryable: ClassVar[bool] = True
    code: str = ""
    outcome_unknown: bool = False
