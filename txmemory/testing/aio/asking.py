"""Short forms of what nearly every case asks a store."""

from collections.abc import Awaitable, Callable

from txmemory import AsyncStore, AsyncWriter, Memory, Receipt, either, must

Operation = Callable[[AsyncWriter, str], Awaitable[object]]


async def contents(store: AsyncStore) -> dict[str, str]:
    """The content of every memory of the store's namespace by id."""
    return {memory.id: memory.content for memory in must(await store.recall(limit=100_000))}


async def written(writer: AsyncWriter, key: str, *ids: str, content: str = "tea") -> Receipt:
    """The receipt of a write of memories with these ids."""
    return must(await writer.write(key, [Memory(content, id=id) for id in ids]))


async def write(writer: AsyncWriter, key: str) -> object:
    """A write of a new memory."""
    return either(await writer.write(key, [Memory("green tea")]))


async def replace(writer: AsyncWriter, key: str) -> object:
    """A replacement of something that is not there."""
    return either(await writer.replace(key, [Memory("green tea")], ["no such memory"]))


async def write_many(writer: AsyncWriter, key: str) -> object:
    """Two writes at once."""
    return either(await writer.write_many([(key, [Memory("green")]), (f"{key}, too", [Memory("tea")])]))


async def applied(writer: AsyncWriter, key: str) -> object:
    """A look-up."""
    return either(await writer.applied(key))


async def forget_applied(writer: AsyncWriter, key: str) -> object:
    """A forget of a key that is not applied."""
    return either(await writer.forget_applied(key))


async def seal(writer: AsyncWriter, key: str) -> object:
    """A seal; the key is of no use to it."""
    assert key
    return either(await writer.seal())


OPERATIONS: tuple[Operation, ...] = (write, replace, write_many, applied, forget_applied, seal)
"""Everything that a writer can do."""
