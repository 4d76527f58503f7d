"""The state that the log implies, computed from nothing but events."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import assert_never

from txmemory.model.address import Address
from txmemory.model.event import Effect, Event
from txmemory.model.outcome import Outcome
from txmemory.rules.recording import outcome_of


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
    keys = state.applied.setdefault(scope, {})
    match event.kind:
        case "record":
            keys[event.key or ""] = outcome_of(event)
        case "forget":
            keys.pop(event.key or "", None)
        case "seal":
            keys.clear()
        case "change" | "claim" | "release" | "reset":
            pass
        case unreachable:
            assert_never(unreachable)
