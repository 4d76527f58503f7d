# Generated from ../aio/asking.py by scripts/generate. Do not edit.
"""Short forms of what nearly every case asks a store."""

from collections.abc import Callable

from txmemory import Memory, Receipt, Store, Writer, either, must

Operation = Callable[[Writer, str], object]


def contents(store: Store) -> dict[str, str]:
    """The content of every memory of the store's namespace by id."""
    return {memory.id: memory.content for memory in must(store.recall(limit=100_000))}


def written(writer: Writer, key: str, *ids: str, content: str = "tea") -> Receipt:
    """The receipt of a write of memories with these ids."""
    return must(writer.write(key, [Memory(content, id=id) for id in ids]))


def write(writer: Writer, key: str) -> object:
    """A write of a new memory."""
    return either(writer.write(key, [Memory("green tea")]))


def replace(writer: Writer, key: str) -> object:
    """A replacement of something that is not there."""
    return either(writer.replace(key, [Memory("green tea")], ["no such memory"]))


def write_many(writer: Writer, key: str) -> object:
    """Two writes at once."""
    return either(writer.write_many([(key, [Memory("green")]), (f"{key}, too", [Memory("tea")])]))


def applied(writer: Writer, key: str) -> object:
    """A look-up."""
    return either(writer.applied(key))


def forget_applied(writer: Writer, key: str) -> object:
    """A forget of a key that is not applied."""
    return either(writer.forget_applied(key))


def seal(writer: Writer, key: str) -> object:
    """A seal; the key is of no use to it."""
    assert key
    return either(writer.seal())


OPERATIONS: tuple[Operation, ...] = (write, replace, write_many, applied, forget_applied, seal)
"""Everything that a writer can do."""
