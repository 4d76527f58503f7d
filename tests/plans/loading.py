"""Rows of a store that has grown, as the product would have written them, put there many at a time.

One namespace holds a hundred thousand memories, one a thousand of the same kind; of two that are at their bound one
has evicted twenty thousand.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from scripts.benching.grown import Grown
from txmemory import Bounds, Filter, Memory, Store, must
from txmemory.backends.sql.rows import Values, event_row, head_row, revision_row
from txmemory.model.address import Address, Namespace
from txmemory.model.event import Event
from txmemory.model.item import Head, Item, Revision, microseconds
from txmemory.model.query import Select

LARGE, SMALL = 100_000, 1_000
BOUND, GONE = 1_000, 20_000
BOUNDS = Bounds(max_memories=BOUND)
TENANT = "default"
AT = 1_700_000_000_000_000
"""When all this was stored: behind every timestamp."""


class Rows(NamedTuple):
    """Rows of one table, each with a value for each of its columns; of the log without their numbers."""

    table: str
    rows: Iterator[Values]


def load(store: Store, put: Callable[[Rows], None]) -> None:
    """Puts the large namespace and the small one there, and a scope with as many keys as each has memories."""
    large, small = both(store)
    _put(put, large)
    _put(put, small)
    for scope, size in (("long", LARGE), ("short", SMALL)):
        put(Rows("event", (event_row(TENANT, _event(scope, number)) for number in range(size))))
        put(Rows("ledger", ((TENANT, scope, f"key-{number:08}", number + 1) for number in range(size))))
        put(Rows("scope", iter([(TENANT, scope, 0, 1, None, size, AT + size, 0, None, None)])))
    assert must(large.store.count()) == LARGE
    assert must(small.store.count()) == SMALL
    middle = large.memory(LARGE // 2)
    assert must(large.store.get(middle.id)) == middle


def load_bounded(store: Store, put: Callable[[Rows], None]) -> None:
    """Puts the two that are at their bound there."""
    for name, gone in (("bounded", 0), ("worn", GONE)):
        here = Grown(store.within(name), BOUND + gone, BOUND)
        _put(put, here, gone)
        assert must(here.store.count()) == BOUND


def _put(put: Callable[[Rows], None], here: Grown, gone: int = 0) -> None:
    namespace: Namespace = here.store._handle.namespace
    items = [(Address(namespace, here.id(number)), here.memory(number).item) for number in range(here.size)]
    put(Rows("item", (_head(*item, live=place >= gone) for place, item in enumerate(items))))
    put(Rows("revision", (_revision(*item) for item in items)))
    put(Rows("revision", (_ended(*item) for item in items[:gone])))


def both(store: Store) -> tuple[Grown, Grown]:
    """The large namespace and the small one, through some handle."""
    return Grown(store.within("large"), LARGE, SMALL), Grown(store.within("small"), SMALL, SMALL)


def _head(address: Address, item: Item, *, live: bool) -> Values:
    return head_row(TENANT, Head(address, 1 if live else 2, live, _created(item), AT, None, (AT, 0)), item)


def _revision(address: Address, item: Item) -> Values:
    return revision_row(TENANT, Revision(address, 1, item, _created(item), AT, 0, None, "stored", b""))


def _ended(address: Address, item: Item) -> Values:
    return revision_row(TENANT, Revision(address, 2, None, _created(item), AT, 1, None, "evicted", b""))


def _created(item: Item) -> int:
    assert item.created_at is not None
    return item.created_at


def _event(scope: str, number: int) -> Event:
    key = f"key-{number:08}"
    return Event("record", scope, number + 1, 0, 1, None, key, b"f" * 48, "stored", (), AT + number)


def _bounded(store: Store, key: str) -> None:
    outcome = must(store.writer("run", 1).write(key, [Memory("tea")], bounds=BOUNDS)).outcome
    assert len(outcome.evicted) == 1


_FIRST, _LAST = (Grown.moment(number) for number in (0, LARGE - 1))
RANGES = {
    "a time range": Filter.between(_FIRST, _LAST),
    "both ends apart": Filter.after(_FIRST) & Filter.before(_LAST),
    "a type and a time range": Filter.user_facts() & Filter.between(_FIRST, _LAST),
}
"""Ranges that the whole large namespace falls into."""


def page_behind(filter: Filter, number: int) -> Select:
    """Asks for the ten memories of the large namespace that come next, behind that one."""
    place = microseconds(Grown.moment(number), "moment"), Grown.id(number)
    return Select(TENANT, ("memories", "large"), filter.condition, place, 10)


SCOPES = {"large": "long", "small": "short"}
AT_ITS_BOUND = {"large": "worn", "small": "bounded"}
WRITES: dict[str, Callable[[Store, str, str], object]] = {
    "a fresh write": lambda store, name, key: must(
        store.within(name).writer("run", 1).write(key, [Memory("tea")])
    ),
    "a replay": lambda store, name, _: must(
        store.writer(SCOPES[name], 1).write("key-00000500", [Memory("tea")])
    ),
    "a look": lambda store, name, key: must(store.writer(SCOPES[name], 1).applied(key)),
    "a plain store": lambda store, name, key: must(store.within(name).store(Memory("tea", id=key))),
    "a store over an id": lambda store, name, _: must(
        store.within(name).store(Memory("tea", id="m-00000500"))
    ),
    "a removal": lambda store, name, key: must(store.within(name).delete(f"m-000009{len(key):02}")),
    "a bounded write": lambda store, name, key: _bounded(store.within(AT_ITS_BOUND[name]), key),
}
"""Calls in the large namespace and in the small one, or in what stands for them, each under a key of its own."""
