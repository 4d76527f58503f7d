#!/usr/bin/env python3
"""Namespaces that are alike but for their size: what they hold, how it is loaded, and what may be asked of it.

Loaded through the product's own `store_all`, a thousand memories a transaction, and counted afterwards.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import cycle

from txmemory import Filter, Memory, MemoryType, Store, must

START = datetime(2020, 1, 1, tzinfo=UTC)
KINDS = tuple(MemoryType)
RARE, OF_EACH = 10, 10
"""So many types of the caller's own, and so many memories of each, in a namespace of whatever size: they stand where
the first of the built-in types would, so that there is as much of any other in every stretch of time."""
TOGETHER = 20
"""Memories of one conversation, which stand together, and of one entity, which do not."""
STEP = timedelta(seconds=10)
PER_CALL = 1_000
PRIME = 7_919


@dataclass(frozen=True, slots=True)
class Grown:
    """One namespace of `size` memories, of which no more is asked for than one of `few` could answer."""

    store: Store
    size: int
    few: int

    def memory(self, number: int) -> Memory:
        """The memory with this number, oldest first."""
        apart = self.size // (RARE * OF_EACH)
        kind = f"rare-{number // apart % RARE}" if number % apart == 0 else KINDS[number % 5]
        entity = number * PRIME % (self.size // TOGETHER)
        words = f"What was said in step {number} "
        return Memory(
            (words * 8)[:200],
            id=self.id(number),
            memory_type=kind,
            metadata={"conversation_id": f"c-{number // TOGETHER}", "entity_id": f"e-{entity}"},
            importance=number * 37 % 100 / 100 if number % 3 == 0 else None,
            timestamp=self.moment(number),
        )

    def load(self) -> None:
        """Stores them all, and counts them."""
        for first in range(0, self.size, PER_CALL):
            numbers = range(first, min(first + PER_CALL, self.size))
            must(self.store.store_all([self.memory(number) for number in numbers]))
        assert must(self.store.count()) == self.size
        sample = self.memory(self.size // 2)
        assert must(self.store.get(sample.id)) == sample

    @staticmethod
    def id(number: int) -> str:
        """Ids sort by time, as those that the product makes."""
        return f"m-{number:08}"

    @staticmethod
    def moment(number: int) -> datetime:
        """When that memory was."""
        return START + number * STEP

    def ids(self) -> Iterator[str]:
        """Ids from all over the namespace: `few` of them, round and round."""
        return cycle([self.id(number) for number in self._spread(self.few, 1)])

    def conversations(self) -> Iterator[str]:
        """Conversations from all over the namespace."""
        found = [number // TOGETHER for number in self._spread(self.few // TOGETHER, TOGETHER)]
        return cycle([f"c-{number}" for number in found])

    def entities(self) -> Iterator[str]:
        """Entities from all over the namespace."""
        last = self.size // TOGETHER
        number = self.few // TOGETHER
        return cycle([f"e-{place * (last // number)}" for place in _shuffled(number)])

    def rare(self) -> Iterator[str]:
        """The rare types."""
        return cycle([f"rare-{number}" for number in _shuffled(RARE)])

    def ranges(self, rows: int) -> Iterator[Filter]:
        """Ranges of time that so many memories fall into."""
        starts = self._spread(self.few // rows, rows)
        return cycle([Filter.between(self.moment(at), self.moment(at + rows - 1)) for at in starts])

    def _spread(self, number: int, rows: int) -> list[int]:
        """The first of `rows` memories each, in so many places, in no order."""
        apart = self.size // number // rows * rows
        return [place * apart for place in _shuffled(number)]


def _shuffled(number: int) -> list[int]:
    return random.Random(number).sample(range(number), number)
