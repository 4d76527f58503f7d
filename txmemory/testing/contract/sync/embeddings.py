# Generated from ../aio/embeddings.py by scripts/generate. Do not edit.
"""Embeddings: content of a memory like any other, kept as float32, and no part of what a replay is known by."""

import struct
from array import array
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

from txmemory import Memory, must
from txmemory.testing.sync.storage import Storage

VECTOR = (0.5, -1.0, 0.0, 3.0e38, 1.0e-45, 1.25)
"""Numbers that float32 holds exactly, but for the two that it rounds."""
LARGEST = struct.unpack("<f", b"\xff\xff\x7f\x7f")[0]


def rounded(*numbers: float) -> tuple[float, ...]:
    """The nearest float32 to each."""
    return struct.unpack(f"<{len(numbers)}f", struct.pack(f"<{len(numbers)}f", *numbers))


class Number:
    """A number of some library, which only says how to make a float of it."""

    def __init__(self, value: float) -> None:
        self._value = value

    def __float__(self) -> float:
        return self._value


class Vector:
    """A vector of some library, which can be gone through."""

    def __iter__(self) -> Iterator[Any]:
        return iter([Number(0.5), Number(-1.0)])


def embedded(storage: Storage, embedding: Any) -> Memory:
    """What comes back of a memory with this embedding."""
    store = storage.open()
    must(store.store(Memory("tea", id="m", embedding=embedding)))
    found = must(store.get("m"))
    assert found is not None
    return found


def test_an_embedding_comes_back_wherever_its_memory_does(storage: Storage) -> None:
    """By get, recall, the lists and the history, as tuples of the nearest float32, equal to what was given."""
    store = storage.open()
    given = Memory("tea", id="m", metadata={"entity_id": "ada"}, embedding=VECTOR, timestamp=storage.clock())
    assert given.embedding == rounded(*VECTOR) != VECTOR
    assert rounded(*given.embedding) == given.embedding
    must(store.store(given))
    must(store.store(Memory("coffee", id="n", timestamp=storage.clock())))
    found, other = must(store.get("m")), must(store.get("n"))
    assert found is not None
    assert other is not None
    assert found == given
    assert (found.embedding, found.is_embedded) == (given.embedding, True)
    assert (other.embedding, other.is_embedded) == (None, False)
    assert found != given.with_embedding(None)
    assert found != given.with_embedding([0.5, -1.0])
    assert must(store.recall()) == [other, found]
    assert must(store.entity("ada")) == [found]
    (entry,) = must(store.history("m"))
    assert entry.memory == found
    assert must(store.statistics()).embedded_count == 1


def test_numbers_are_rounded_to_the_nearest_that_is_kept(storage: Storage) -> None:
    """Up to the largest float32; a negative zero and numbers too small for it are zeros of their sign."""
    given = (0.1, LARGEST, -LARGEST, -0.0, -1e-60, 1, 2**24 + 1)
    found = embedded(storage, given)
    kept = found.embedding
    assert kept is not None
    assert kept == rounded(*map(float, given))
    assert [*kept] == [0.10000000149011612, LARGEST, -LARGEST, 0.0, 0.0, 1.0, 2.0**24]
    assert [str(number) for number in kept[3:5]] == ["-0.0", "-0.0"]


def test_any_iterable_of_numbers_is_an_embedding(storage: Storage) -> None:
    """Of one number or of as many as are allowed; detached from the caller's object."""
    numbers = [0.5, -1.0]
    for given in (numbers, (0.5, -1), array("f", numbers), array("d", numbers), iter(numbers), Vector()):
        assert embedded(storage, given).embedding == (0.5, -1.0)
    memory = Memory("tea", embedding=numbers)
    numbers.append(7.0)
    assert memory.embedding == (0.5, -1.0)
    assert embedded(storage, [0.25]).embedding == (0.25,)
    many = [float(n) for n in range(16_384)]
    assert embedded(storage, many).embedding == tuple(many)


def test_what_is_no_embedding_is_refused_when_built(storage: Storage) -> None:
    """Not finite, beyond float32, none at all, too many; text is no number, and bytes are not numbers either."""
    store = storage.open()
    memory = Memory("tea", id="m")
    values: tuple[Any, ...] = (
        [float("nan")],
        [1, float("inf")],
        [-float("inf")],
        [1e39],
        [-3.5e38],
        [10**400],
        [],
        [0.0] * 16_385,
    )
    types: tuple[Any, ...] = ("12", b"1234", bytearray(b"1234"), ["1"], [b"1"], [None], [[1.0]], 1.0, [1j])
    for wrong, error in ((values, ValueError), (types, TypeError)):
        for given in wrong:
            with pytest.raises(error):
                Memory("tea", embedding=given)
            with pytest.raises(error):
                memory.with_embedding(given)
    assert must(store.count()) == 0


def test_an_embedding_is_replaced_and_removed_with_its_memory(storage: Storage) -> None:
    """Storing over an id leaves nothing of the old one; every revision keeps its own."""
    store = storage.open()
    for given in ([1.0, 2.0], [3.0], None, [4.0, 5.0]):
        must(store.store(Memory("tea", id="m", embedding=given)))
        found = must(store.get("m"))
        assert found is not None
        assert found.embedding == (None if given is None else tuple(given))
    must(store.delete("m"))
    assert must(store.statistics()).embedded_count == 0
    must(store.store(Memory("tea", id="m")))
    found = must(store.get("m"))
    assert found is not None
    assert found.embedding is None
    kept = [entry.memory and entry.memory.embedding for entry in must(store.history("m"))]
    assert kept == [(1.0, 2.0), (3.0,), None, (4.0, 5.0), None, None]


def test_an_update_keeps_the_embedding_unless_the_content_changes(storage: Storage) -> None:
    """It was of the old content; metadata and importance are not what it was made from."""
    store = storage.open()
    must(store.store(Memory("tea", id="m", embedding=[0.5, 0.1])))
    must(store.update("m", lambda memory: memory.with_metadata({"a": "1"}).with_importance(0.5)))
    found = must(store.get("m"))
    assert found is not None
    assert found.embedding == rounded(0.5, 0.1)
    must(store.update("m", lambda memory: memory.with_content("green tea")))
    found = must(store.get("m"))
    assert found is not None
    assert (found.content, found.embedding) == ("green tea", None)
    must(store.update("m", lambda memory: memory.with_content("tea").with_embedding([0.25])))
    found = must(store.get("m"))
    assert found is not None
    assert (found.content, found.embedding) == ("tea", (0.25,))


def test_the_same_content_with_another_embedding_is_an_honest_replay(storage: Storage) -> None:
    """A model that is run again gives other numbers: nothing diverges, and what was stored first stays."""
    store = storage.open()
    writer = store.writer("run", 1)
    first = must(writer.write("step", [Memory("tea", id="m", embedding=[0.5])]))
    for other in ([0.25], None, [0.5, 0.5]):
        memory = Memory("tea", id="m", embedding=other)
        again = must(writer.write("step", [memory], on_mismatch="refuse"))
        assert (again.replayed, again.diverged, again.outcome) == (True, False, first.outcome)
    assert must(writer.write("step", [Memory("coffee", id="m", embedding=[0.5])])).diverged
    found = must(store.get("m"))
    assert found is not None
    assert (found.content, found.embedding, found.revision) == ("tea", (0.5,), 1)


def test_a_memory_with_an_embedding_is_stored_elsewhere_as_it_was_read(storage: Storage) -> None:
    """Every number to the bit, through as many stores as it goes."""
    store = storage.open()
    must(store.store(Memory("tea", id="m", embedding=VECTOR)))
    places = [store, *(store.within(f"{turn}") for turn in range(3))]
    for here, there in pairwise(places):
        (read,) = must(here.recall())
        must(there.store_all([read]))
        assert must(there.recall()) == [read]
