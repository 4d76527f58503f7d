"""A memory that a search found, and how well it answers."""

from dataclasses import dataclass, field
from typing import Self

from txmemory.memories.values import Memory
from txmemory.model.item import Stored


@dataclass(frozen=True, slots=True)
class ScoredMemory:
    """A memory and its score, 0 .. 1. Ordered by score alone, the best first: `sorted` gives the best first."""

    memory: Memory = field(repr=False)
    score: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "score", _checked_score(self.score))

    @classmethod
    def perfect(cls, memory: Memory) -> Self:
        """The memory with the highest score, for rankings of your own."""
        return cls(memory, 1.0)

    @classmethod
    def found(cls, stored: Stored, score: float) -> Self:
        """What a search found."""
        return cls(Memory.found(stored), score)

    def __lt__(self, other: object) -> bool:
        return self.score > other.score if isinstance(other, ScoredMemory) else NotImplemented

    def __gt__(self, other: object) -> bool:
        return self.score < other.score if isinstance(other, ScoredMemory) else NotImplemented


def _checked_score(score: object) -> float:
    if not isinstance(score, int | float) or isinstance(score, bool):
        raise TypeError("score must be a number")
    if not 0 <= score <= 1:
        raise ValueError("score is outside 0 .. 1")
    return float(score) + 0.0  # a negative zero is a zero
