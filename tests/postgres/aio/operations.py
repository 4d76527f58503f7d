"""Every operation of a store, on a tenant that was prepared for it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from txmemory import AsyncClaim, AsyncStore, AsyncWriter, Bounds, Filter, Memory, Receipt, either, must

SCOPE, TOKEN = "run", 7
Run = Callable[[AsyncStore], Awaitable[object]]
Call = Callable[[], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class AsyncOperation:
    """A call; `resent` when it may be sent again after a loss. With `holds` it is one of a claim's holder."""

    name: str
    run: Run
    resent: bool = True
    holds: Callable[[AsyncClaim], Awaitable[object]] | None = None

    def __str__(self) -> str:
        return self.name

    async def ready(self, store: AsyncStore) -> Call:
        """Makes the claim that it takes; what is answered makes the call."""
        if self.holds is None:
            return partial(self.run, store)
        return partial(self.holds, must(await store.claim("claimed", "ada")))


async def prepare(store: AsyncStore) -> None:
    """Three memories under one applied key."""
    add = [Memory(f"the {id}", id=id) for id in ("first", "second", "third")]
    must(await store.writer(SCOPE, 1).write("before", add))


def writer(store: AsyncStore) -> AsyncWriter:
    """Of the scope, with a newer token than before."""
    return store.writer(SCOPE, TOKEN)


def told(answer: object) -> object:
    """An answer without saying whether it was recorded earlier."""
    match answer:
        case Receipt():
            return answer._replace(replayed=False)
        case AsyncClaim():
            return answer.fence, answer.until
        case list():
            return [told(each) for each in answer]
        case _:
            return answer


async def write(store: AsyncStore) -> object:
    """Something new."""
    return either(await writer(store).write("key", [Memory("green tea", id="new")]))


async def replay(store: AsyncStore) -> object:
    """What was written before, by the token that wrote it."""
    add = [Memory(f"the {id}", id=id) for id in ("first", "second", "third")]
    return either(await store.writer(SCOPE, 1).write("before", add))


async def replace(store: AsyncStore) -> object:
    """Two by their sum."""
    return either(await writer(store).replace("key", [Memory("the sum", id="sum")], ["first", "third"]))


async def write_many(store: AsyncStore) -> object:
    """Two keys."""
    writes = [("key", [Memory("green", id="new")]), ("key, too", [Memory("tea", id="second")])]
    answer = either(await writer(store).write_many(writes))
    return [either(one) for one in answer] if isinstance(answer, tuple) else answer


async def applied(store: AsyncStore) -> object:
    """A look that moves the fence."""
    return either(await writer(store).applied("before"))


async def forget_applied(store: AsyncStore) -> object:
    """Of the applied key."""
    return either(await writer(store).forget_applied("before"))


async def seal(store: AsyncStore) -> object:
    """Of the scope."""
    return either(await writer(store).seal())


async def store_plain(store: AsyncStore) -> object:
    """Over what is there."""
    return either(await store.store(Memory("plain", id="second")))


async def delete(store: AsyncStore) -> object:
    """Of what is there."""
    return either(await store.delete("second"))


async def clear(store: AsyncStore) -> object:
    """Of everything."""
    return either(await store.clear())


async def store_all(store: AsyncStore) -> object:
    """Something new, and over what is there."""
    return either(await store.store_all([Memory("plain", id="new"), Memory("plain", id="second")]))


async def swap(store: AsyncStore) -> object:
    """Two by their sum, and one that is gone."""
    return either(await store.swap([Memory("the sum", id="sum")], ["first", "gone", "third"]))


async def delete_matching(store: AsyncStore) -> object:
    """Of all that is there, by its type."""
    return either(await store.delete_matching(Filter.knowledge()))


async def trim(store: AsyncStore) -> object:
    """Of two that are too many."""
    return either(await store.trim(Bounds(1)))


async def bounded(store: AsyncStore) -> object:
    """Two new ones, for which two old ones go."""
    add = [Memory("green", id="new"), Memory("tea", id="newer")]
    return either(await writer(store).write("key", add, bounds=Bounds(max_memories=3)))


async def claim(store: AsyncStore) -> object:
    """Of what nobody has claimed before."""
    return either(await store.claim("claimed", "ada"))


async def renew(held: AsyncClaim) -> object:
    """For longer than before."""
    return either(await held.renew(timedelta(hours=1)))


async def release(held: AsyncClaim) -> object:
    """Of one's own claim."""
    return either(await held.release())


async def reset(store: AsyncStore) -> object:
    """Of the scope's generation."""
    return either(await store.reset_fence(SCOPE, by="ada"))


OPERATIONS = (
    AsyncOperation("write", write),
    AsyncOperation("replay", replay),
    AsyncOperation("replace", replace),
    AsyncOperation("write many", write_many),
    AsyncOperation("look with a newer token", applied),
    AsyncOperation("write within bounds", bounded),
    AsyncOperation("forget", forget_applied, resent=False),
    AsyncOperation("seal", seal, resent=False),
    AsyncOperation("store", store_plain, resent=False),
    AsyncOperation("delete", delete, resent=False),
    AsyncOperation("clear", clear, resent=False),
    AsyncOperation("store all", store_all, resent=False),
    AsyncOperation("swap", swap, resent=False),
    AsyncOperation("delete matching", delete_matching, resent=False),
    AsyncOperation("trim", trim, resent=False),
    AsyncOperation("claim", claim),
    AsyncOperation("renew", claim, holds=renew),
    AsyncOperation("release", claim, holds=release),
    AsyncOperation("reset", reset, resent=False),
)
"""All that are one request and change something, and a replay."""
