"""What the agent does, step by step: it follows from the conversation alone, so every run has the same plan."""

from collections.abc import Iterator
from dataclasses import dataclass

from txmemory.testing.demo.conversation import Conversation, Turn

TURNS_A_LOOK = 3
"""After so many turns the agent moves its window on and asks the model for facts."""
LOOKS_IN_TWO_KEYS = 3
"""Every so many looks are written as two keys in one transaction."""
LOOKS_A_SUMMARY = 4
"""After so many looks the facts become one summary."""


@dataclass(frozen=True, slots=True)
class Listen:
    """Stores one turn."""

    key: str
    turn: Turn


@dataclass(frozen=True, slots=True)
class Window:
    """Stores the last turns in the namespace that is bounded."""

    key: str
    turns: tuple[Turn, ...]


@dataclass(frozen=True, slots=True)
class Extract:
    """Asks the model for facts from the last turns and stores them under one key."""

    key: str
    turns: tuple[Turn, ...]


@dataclass(frozen=True, slots=True)
class ExtractBoth:
    """Asks the model for facts and for entities, and stores them under two keys in one transaction."""

    facts_key: str
    entities_key: str
    turns: tuple[Turn, ...]


@dataclass(frozen=True, slots=True)
class Consolidate:
    """Replaces all facts that are there by one summary."""

    key: str


@dataclass(frozen=True, slots=True)
class ConsolidateAgain:
    """Tries to replace the same facts once more, as a rival would who read them in time: it must be superseded."""

    key: str
    earlier: str


Step = Listen | Window | Extract | ExtractBoth | Consolidate | ConsolidateAgain


def steps_of(conversation: Conversation) -> tuple[Step, ...]:
    """The whole plan."""
    return tuple(_steps(conversation.turns))


def keys_of(step: Step) -> tuple[str, ...]:
    """The keys that the step applies, together or not at all."""
    return (step.facts_key, step.entities_key) if isinstance(step, ExtractBoth) else (step.key,)


def _steps(turns: tuple[Turn, ...]) -> Iterator[Step]:
    for number, turn in enumerate(turns, 1):
        yield Listen(f"turn/{number:05}", turn)
        if number % TURNS_A_LOOK == 0 or number == len(turns):
            look = -(-number // TURNS_A_LOOK)
            yield from _look(look, turns[(look - 1) * TURNS_A_LOOK : number])


def _look(look: int, turns: tuple[Turn, ...]) -> Iterator[Step]:
    yield Window(f"window/{look:05}", turns)
    name = f"extract/{look:05}"
    if look % LOOKS_IN_TWO_KEYS == 0:
        yield ExtractBoth(f"{name}/facts", f"{name}/entities", turns)
    else:
        yield Extract(name, turns)
    if look % LOOKS_A_SUMMARY == 0:
        summary = look // LOOKS_A_SUMMARY
        yield Consolidate(f"consolidate/{summary:05}")
        yield ConsolidateAgain(f"consolidate/{summary:05}/again", f"consolidate/{summary:05}")
