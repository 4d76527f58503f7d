# Generated from ../aio/clients.py by scripts/generate. Do not edit.
"""Clients that each have a store of their own to one database, and what is there when all have done their work."""

from functools import partial

import txmemory
from tests.postgres.loads import Load
from txmemory import Bounds, Memory, Receipt, Store, must
from txmemory.testing.racing import race

MOST = 5
SECONDS = 60.0
SHARED = "shared"


def key(client: int, number: int) -> str:
    """In the shared scope nobody else has it."""
    return f"{client}/{number}"


def scope(client: int, number: int) -> str:
    """Of a key."""
    return SHARED if number % 2 else f"run-{client}"


def work(url: str, load: Load) -> None:
    """All clients at once, every call of which is done."""
    race(*(partial(_client, url, client, load.keys) for client in range(load.clients)))


def _client(url: str, client: int, keys: int) -> None:
    with txmemory.open(url, deadline=SECONDS) as store:
        for number in range(keys):
            _step(store, client, number)


def _step(store: Store, client: int, number: int) -> None:
    """One key, and by turns what else a client does with it."""
    name = key(client, number)
    mine = store.within("client", str(client))
    writer = mine.writer(scope(client, number), token=1)
    add = [Memory(f"the {name}", id=name), Memory("plain", id=f"{name} too")]
    first = must(writer.write(name, add))
    assert isinstance(first, Receipt)
    assert not first.replayed
    found = must(mine.get(name))
    assert found is not None
    assert found.content == f"the {name}"
    match number % 5:
        case 0:
            again = must(writer.write(name, add))
            assert again == first._replace(replayed=True)
        case 1:
            told = must(writer.applied(name))
            assert told is not None
            assert must(writer.applied(f"{name} never")) is None
        case 2:
            bounds = Bounds(max_memories=MOST)
            bounded = store.within("bounded")
            must(bounded.writer(f"bounded-{client}", token=1).write(name, add[:1], bounds=bounds))
            assert must(bounded.count()) <= MOST
        case 3:
            total = [Memory("the sum", id=f"{name} sum")]
            replaced = must(writer.replace(f"{name} replaced", total, [name, f"{name} too"]))
            assert not replaced.replayed
            assert must(mine.exists(name)) is False
        case _:
            must(writer.write(f"{name} passing", [Memory("passing", id=f"{name} passing")]))
            assert must(writer.forget_applied(f"{name} passing"))
            assert len(must(mine.recall())) == held(number + 1)


def held(numbers: int) -> int:
    """How many memories a client has after so many of its keys."""
    return sum({3: 1, 4: 3}.get(number % 5, 2) for number in range(numbers))


def check(url: str, load: Load) -> None:
    """Every key is applied once, by whoever had it, and nothing else is there."""
    numbers = range(load.keys)
    expected: dict[str, set[str]] = {}
    with txmemory.open(url) as store:
        for client in range(load.clients):
            for number in numbers:
                names = {key(client, number)}
                if number % 5 == 3:
                    names.add(f"{key(client, number)} replaced")
                expected.setdefault(scope(client, number), set()).update(names)
            expected[f"bounded-{client}"] = {key(client, number) for number in numbers if number % 5 == 2}
            mine = store.within("client", str(client))
            assert must(mine.count()) == held(load.keys)
            for memory in must(mine.recall()):
                assert [entry.revision for entry in must(mine.history(memory.id))] == [1]
        for named, keys in expected.items():
            assert must(store.keys(named)) == sorted(keys)
            assert must(store.applied_count(named)) == len(keys)
        assert must(store.within("bounded").count()) == MOST
