"""What the cases of consolidation start from: conversations, and a model that notes what it is asked."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

from txmemory import AsyncStore, AsyncWriter, Consolidation, Group, Memory, MemoryType, must
from txmemory.testing.clock import START

JOB = "night"
Deed = Callable[[Group], Awaitable[object]]


class AsyncModel:
    """Sums up, and notes what it was asked; `then` is done while it thinks. No two of its texts are the same."""

    def __init__(self, then: Deed | None = None) -> None:
        self.asked: list[Group] = []
        self._then = then

    async def __call__(self, group: Group) -> str:
        """The sum of a group."""
        self.asked.append(group)
        if self._then is not None:
            await self._then(group)
        return f"{len(self.asked)}: " + " ".join(memory.content for memory in group.memories)


def turns(conversation: str, count: int, **more: Any) -> list[Memory]:
    """So many turns of a conversation, a minute apart, the last of them an hour ago."""
    first = START - timedelta(minutes=59 + count)
    return [
        Memory(
            f"turn {number}",
            id=f"{conversation}-{number:03}",
            memory_type=MemoryType.CONVERSATION,
            metadata={"conversation_id": conversation},
            timestamp=first + timedelta(minutes=number),
            **more,
        )
        for number in range(count)
    ]


async def stored(store: AsyncStore, *groups: list[Memory]) -> None:
    """Stores them, the newest first: that must make no difference."""
    for group in groups:
        for start in range(0, len(group), 500):
            must(await store.store_all(group[::-1][start : start + 500]))


async def consolidated(writer: AsyncWriter, model: AsyncModel, key: str = JOB, **more: Any) -> Consolidation:
    """The answer to a job over groups of two and more."""
    return must(await writer.consolidate(key, model, **{"older_than": START, "min_count": 2, **more}))


def statuses(done: Consolidation) -> list[str]:
    """How the groups ended."""
    return [group.outcome.status for group in done.groups]
