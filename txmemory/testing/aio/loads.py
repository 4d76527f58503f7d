"""Random calls of every kind over few scopes, keys and ids, so that each of them meets what others have left."""

from collections.abc import Callable
from random import Random

from txmemory import AsyncStore, Bounds, Memory, either


class AsyncLoad:
    """One client; the same seed makes the same calls. What they are answered is of no interest."""

    def __init__(self, store: AsyncStore, seed: int) -> None:
        self._store = store
        self._chance = Random(seed)
        self._turn = 0

    async def calls(self, number: int) -> None:
        """So many calls."""
        for _ in range(number):
            await self.call()

    async def call(self) -> None:
        """One call."""
        chance = self._chance
        self._turn += 1
        scope, token = f"run-{chance.randrange(5)}", chance.randrange(3)
        store = self._store.within("x") if chance.random() < 0.3 else self._store
        writer = store.writer(scope, token, holder=chance.choice([None, None, "X"]))
        key, ids = f"k{chance.randrange(12)}", chance.sample("abcdefgh", 3)
        match chance.randrange(12):
            case 0 | 1:
                either(await writer.write(key, self._memories(ids), bounds=self._bounds()))
            case 2:
                pairs = [(f"{key}-{id}", self._memories([id])) for id in ids]
                either(await writer.write_many(pairs, bounds=self._bounds()))
            case 3:
                either(await writer.replace(key, self._memories(ids[:1]), ids[1:]))
            case 4 | 5:
                either(await writer.forget_applied(key))
            case 6:
                either(await store.delete(ids[0]))
            case 7:
                either(await store.swap(self._memories(ids[:1]), ids[1:]))
            case 8 if chance.random() < 0.3:
                either(await store.clear())
            case 9 if chance.random() < 0.2:
                ended = store.writer(f"ended-{self._turn}-{chance.random()}", 1)
                either(await ended.write(key, self._memories(ids)))
                either(await ended.seal())
            case 10:
                either(await store.update(ids[0], lambda memory: memory.with_content("changed")))
            case _:
                either(await store.store_all(self._memories(ids), bounds=self._bounds()))

    def _memories(self, ids: list[str]) -> list[Memory]:
        chance = self._chance
        some: Callable[[object], object] = lambda value: chance.choice([None, value])  # noqa: E731 - a choice
        return [
            Memory(
                f"tea {self._turn}",
                id=id,
                metadata={"entity_id": id} if some(1) else None,
                importance=0.5 if some(1) else None,
                embedding=[0.25, -1.0] if some(1) else None,
            )
            for id in ids
        ]

    def _bounds(self) -> Bounds | None:
        return Bounds(4) if self._chance.random() < 0.3 else None
