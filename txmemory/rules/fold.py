"""The state that log and history imply: of items and scopes from events, of a head from its revisions."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Protocol, TypeVar, assert_never

from txmemory.model.address import Address, Fence
from txmemory.model.event import Effect, Event
from txmemory.model.outcome import Outcome
from txmemory.model.repair import NEW_SCOPE, FoldedHead, HeadState, ScopeState
from txmemory.rules.recording import outcome_of
from txmemory.rules.visible import expired

Recorded = TypeVar("Recorded")


class _Content(Protocol):
    @property
    def kind(self) -> str: ...
    @property
    def attributes_text(self) -> str: ...
    @property
    def expires_at(self) -> int | None: ...
    @property
    def importance(self) -> float | None: ...


class Entered(Protocol):
    """What a head follows from: a `Revision`, or of one an `Entry`."""

    @property
    def revision(self) -> int: ...  # noqa: D102 - as they say
    @property
    def item(self) -> _Content | None: ...  # noqa: D102 - the same
    @property
    def created_at(self) -> int: ...  # noqa: D102 - the same
    @property
    def at(self) -> int: ...  # noqa: D102 - the same
    @property
    def ordinal(self) -> int: ...  # noqa: D102 - the same


@dataclass(slots=True)
class Folded:
    """What follows from a log: the newest effect of each item, each scope's keys and last seq."""

    newest: dict[Address, Effect] = field(default_factory=dict)
    applied: dict[str, dict[str, Outcome]] = field(default_factory=dict)
    seq: dict[str, int] = field(default_factory=dict)

    @property
    def live(self) -> dict[Address, int]:
        """The revision of every item that is there."""
        return {
            address: effect.revision for address, effect in self.newest.items() if effect.operation == "put"
        }


def fold(events: Iterable[Event]) -> Folded:
    """Of each item the effect with the highest revision wins; of each scope the keys not taken away."""
    state = Folded()
    for event in events:
        for effect in event.effects:
            address = Address(effect.namespace, effect.id)
            known = state.newest.get(address)
            if known is None or known.revision < effect.revision:
                state.newest[address] = effect
        if event.scope is not None:
            _fold_scope(state, event, event.scope)
    return state


def _fold_scope(state: Folded, event: Event, scope: str) -> None:
    state.seq[scope] = max(state.seq.get(scope, 0), event.seq or 0)
    keys_after(state.applied.setdefault(scope, {}), event, outcome_of)


def scope_after(state: ScopeState, event: Event) -> ScopeState:
    """A scope's row as the next of its events leaves it. A generation that was not kept is the first."""
    fence, told = state.fence, (event.generation or 0, event.token or 0)
    if told > fence:
        fence = Fence(*told)
    return ScopeState(fence, event.seq or 0, event.at, state.sealed or event.kind == "seal")


def folded_scope(events: Iterable[Event]) -> ScopeState:
    """A scope's row as all of its events, in order, leave it."""
    state = NEW_SCOPE
    for event in events:
        state = scope_after(state, event)
    return state


def keys_after(keys: dict[str, Recorded], event: Event, recorded: Callable[[Event], Recorded]) -> None:
    """Makes of a ledger what the next event leaves; `recorded` says what is kept of one that records."""
    match event.kind:
        case "record":
            keys[event.key or ""] = recorded(event)
        case "forget":
            keys.pop(event.key or "", None)
        case "seal":
            keys.clear()
        case "change" | "claim" | "release" | "reset":
            pass
        case unreachable:
            assert_never(unreachable)


def head_after(folded: FoldedHead | None, revision: Entered) -> FoldedHead:
    """A head as the next revision of its history leaves it, the first one where there was none."""
    place = (revision.at, revision.ordinal)
    item = revision.item
    if item is None:
        return _ended(folded, revision)
    added: tuple[tuple[int, int], ...] = (place,)
    if folded is None or not folded.head.live:
        pass
    elif expired(folded.head.expires_at, revision.at):
        added = (place, *folded.added)  # by the clock it may have been there still: `at` may be ahead of it
    else:
        added = folded.added
    said = item.kind, item.attributes_text, revision.created_at, revision.at, item.expires_at, item.importance
    return FoldedHead(HeadState(revision.revision, True, *said, added[0]), added)  # noqa: FBT003 - as it is spelled


_NOTHING = HeadState(
    0,
    live=False,
    kind="",
    attributes="{}",
    created_at=0,
    updated_at=0,
    expires_at=None,
    importance=None,
    added=(0, 0),
)


def _ended(folded: FoldedHead | None, revision: Entered) -> FoldedHead:
    """A head of which only its last content's kind and times stay."""
    number, at = revision.revision, revision.at
    if folded is None:  # what it ended is lost
        folded = FoldedHead(_NOTHING._replace(created_at=revision.created_at), (_NOTHING.added,))
    head = folded.head._replace(revision=number, live=False, attributes="{}", updated_at=at, importance=None)
    return FoldedHead(head, folded.added)
