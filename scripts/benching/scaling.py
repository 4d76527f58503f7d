#!/usr/bin/env python3
"""A namespace of a million memories beside one of a thousand: each call in the one, to the same call in the other.

Both stand in one store, are asked for as many different rows, give as many answers and take turns. In a file the time
of the processor is measured; on a server, which is another process and here need not be durable, that of the clock.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import count, repeat
from pathlib import Path
from typing import Any, NamedTuple

from psycopg import sql

import txmemory
from scripts.benching import server
from scripts.benching.figures import Figure
from scripts.benching.grown import Grown
from scripts.benching.single import fill, opened
from scripts.benching.sizes import Sizes
from scripts.benching.timing import TEXT, Clock, Operation, burst
from txmemory import Bounds, Filter, Memory, Store, must

MOST = 1.4
"""What a call may cost at a million, to what it costs at a thousand."""
LOOSE = ("recall by importance", "count", "write", "store over", "delete")
"""Beginnings of the names of what is reported alone."""
_number = count()


def _nothing(_: int) -> None:
    """What most need before a burst."""


@dataclass(frozen=True, slots=True)
class Pair:
    """One call in two places, and what is done before each burst of so many."""

    large: Operation
    small: Operation
    before: Callable[[int], None] = _nothing

    def ratio(self, times: int, clock: Clock) -> float:
        """The medians of a burst in each, as a ratio."""
        self.before(times)
        small = burst(self.small, times, clock)
        return burst(self.large, times, clock) / small


def alike(pair: Pair) -> bool:
    """Whether both places answer as much, and not nothing."""
    large, small = _size(pair.large()), _size(pair.small())
    return large == small > 0


def _size(answer: object) -> int:
    match answer:
        case list():
            return len(answer)
        case int():
            return answer
        case _:
            return int(answer is not None)


class Asked(NamedTuple):
    """A call, and what it is about, another thing each time."""

    call: Callable[[Store, Any], object]
    about: Callable[[Grown], Iterator[Any]]

    def at(self, here: Grown) -> Operation:
        """The call in one namespace."""
        about = self.about(here)
        return lambda: self.call(here.store, next(about))


def _recall(limit: int) -> Callable[[Store, Filter], object]:
    return lambda store, wanted: must(store.recall(wanted, limit))


def _count(store: Store, wanted: Filter) -> object:
    return must(store.count(wanted))


def _always(wanted: Filter) -> Callable[[Grown], Iterator[Filter]]:
    return lambda _: repeat(wanted)


def reads(large: Grown, small: Grown) -> dict[str, Pair]:
    """Every read, by the name of its figure."""
    few = small.few
    page, short, some = few // 10, few // 100, few // 25
    facts = Filter.user_facts()

    def two(here: Grown) -> Iterator[Filter]:
        return (Filter.by_types([rare, "task"]) for rare in here.rare())

    def rare(here: Grown) -> Iterator[Filter]:
        return map(Filter.by_type, here.rare())

    def conversation(here: Grown) -> Iterator[Filter]:
        return map(Filter.by_conversation, here.conversations())

    def entity(here: Grown) -> Iterator[Filter]:
        return map(Filter.by_entity, here.entities())

    def times(here: Grown) -> Iterator[Filter]:
        return here.ranges(few // 20)

    def facts_of_times(here: Grown) -> Iterator[Filter]:
        return (facts & wanted for wanted in here.ranges(few // 4))

    def facts_of_conversation(here: Grown) -> Iterator[Filter]:
        return (wanted & facts for wanted in conversation(here))

    asked = {
        "get": Asked(lambda store, name: must(store.get(name)), Grown.ids),
        "exists": Asked(lambda store, name: must(store.exists(name)), Grown.ids),
        f"recall all, {page}": Asked(_recall(page), _always(Filter.all())),
        f"recall all, {short}": Asked(_recall(short), _always(Filter.all())),
        f"recall by a frequent type, {page}": Asked(_recall(page), _always(facts)),
        f"recall by a frequent type, {short}": Asked(_recall(short), _always(facts)),
        "recall by a rare type": Asked(_recall(page), rare),
        f"recall by two types, {page}": Asked(_recall(page), two),
        f"recall by two types, {short}": Asked(_recall(short), two),
        "recall by conversation": Asked(_recall(page), conversation),
        "recall by entity": Asked(_recall(page), entity),
        "recall by time range": Asked(_recall(page), times),
        f"recall by type and time range, {some}": Asked(_recall(some), facts_of_times),
        "recall by conversation and type": Asked(_recall(page), facts_of_conversation),
        f"recall by importance, {some}": Asked(_recall(some), _always(Filter.min_importance(0.5))),
        "conversation()": Asked(lambda store, name: must(store.conversation(name)), Grown.conversations),
        "entity()": Asked(lambda store, name: must(store.entity(name)), Grown.entities),
        "count by a rare type": Asked(_count, rare),
        "count by conversation": Asked(_count, conversation),
        "count by entity": Asked(_count, entity),
        "count by time range": Asked(_count, times),
        "count by type and time range": Asked(_count, facts_of_times),
    }
    return {name: Pair(each.at(large), each.at(small)) for name, each in asked.items()}


def writes(large: Grown, small: Grown) -> dict[str, Pair]:
    """Fresh writes, changes and removals in the two namespaces."""

    def fresh(here: Grown) -> Operation:
        writer = here.store.writer(f"writing-{here.size}", token=1)
        return lambda: must(writer.write(f"step-{next(_number)}", [Memory(TEXT)]))

    def over(here: Grown) -> Operation:
        ids = here.ids()
        numbers = {here.id(number): number for number in range(0, here.size, max(1, here.size // here.few))}
        return lambda: must(here.store.store(here.memory(numbers[next(ids)])))

    passing: dict[int, list[str]] = {large.size: [], small.size: []}

    def arrive(times: int) -> None:
        for here in (large, small):
            memories = [Memory(TEXT) for _ in range(times)]
            must(here.store.store_all(memories))
            passing[here.size].extend(memory.id for memory in memories)

    def gone(here: Grown) -> Operation:
        return lambda: must(here.store.delete(passing[here.size].pop()))

    return {
        "write": Pair(fresh(large), fresh(small)),
        "store over an id": Pair(over(large), over(small)),
        "delete": Pair(gone(large), gone(small), arrive),
    }


def bounded(beside: Store, alone: Store, sizes: Sizes) -> dict[str, Pair]:
    """A bounded write beside the million, and one where very many have gone, to one in a store without either."""
    bounds = Bounds(max_memories=sizes.bound)

    def at_its_bound(store: Store, gone: int = 0) -> Operation:
        here = store.within(f"bounded-{next(_number)}")
        fill(here.within(bounds=bounds), sizes.bound + gone)
        writer = here.writer(f"bounded-{next(_number)}", token=1)

        def write() -> None:
            outcome = must(writer.write(f"{next(_number)}", [Memory(TEXT)], bounds=bounds)).outcome
            assert len(outcome.evicted) == 1

        return write

    few, worn = at_its_bound(alone), at_its_bound(beside, sizes.gone)
    return {
        f"bounded write beside {sizes.rows:,}, to alone": Pair(at_its_bound(beside), few),
        f"the same after {sizes.gone:,} evictions, to after none": Pair(worn, few),
    }


def measured(
    prefix: str, pairs: Mapping[str, Pair], sizes: Sizes, clock: Clock, *, gating: bool
) -> list[Figure]:
    """A figure of each pair, its rounds taken in turns."""
    found: dict[str, list[float]] = {name: [] for name in pairs}
    for pair in pairs.values():
        pair.ratio(sizes.normal // 3 or 1, clock)  # statements and pages are there
    for _ in range(sizes.rounds):
        for name, pair in pairs.items():
            found[name].append(pair.ratio(sizes.normal, clock))
    return [
        Figure(
            f"{prefix} {name}",
            tuple(ratios),
            target=None if name.startswith(LOOSE) else MOST,
            gating=gating and not name.startswith(LOOSE),
        )
        for name, ratios in found.items()
    ]


def _grown(store: Store, sizes: Sizes, prefix: str) -> tuple[Grown, Grown, list[Figure]]:
    """Both namespaces, loaded, and what a memory took."""
    small = Grown(store.within("small"), sizes.few, sizes.few)
    large = Grown(store.within("large"), sizes.rows, sizes.few)
    small.load()
    began = time.perf_counter()
    large.load()
    took = (time.perf_counter() - began) / sizes.rows
    return large, small, [Figure(f"{prefix} loading, each", (took * 1e6,), "us")]


def in_a_file(folder: Path, sizes: Sizes) -> list[Figure]:
    """The rows of the table for SQLite."""
    clock = time.process_time_ns
    with opened(folder, "grown", "NORMAL") as store, opened(folder, "alone", "NORMAL") as alone:
        large, small, rows = _grown(store, sizes, "sqlite")
        asked = reads(large, small)
        assert all(map(alike, asked.values()))
        for pairs in (asked, writes(large, small), bounded(store, alone, sizes)):
            rows.extend(measured("sqlite", pairs, sizes, clock, gating=True))
    return rows


def on_a_server(url: str | None, sizes: Sizes) -> list[Figure]:
    """The rows of the table for PostgreSQL, its tables analysed, as it soon does by itself."""
    clock = time.perf_counter_ns
    with ExitStack() as stack:
        place = stack.enter_context(server.placed(url, durable=False))
        apart = stack.enter_context(server.placed(place.url, schema=f"{server.SCHEMA}_alone"))
        store = stack.enter_context(txmemory.open(place.store_url))
        alone = stack.enter_context(txmemory.open(apart.store_url))
        large, small, rows = _grown(store, sizes, "postgres")
        with place.connect() as connection:
            for table in ("item", "revision", "event", "ledger", "scope"):
                connection.execute(sql.SQL("VACUUM ANALYZE {}").format(sql.Identifier(place.schema, table)))
        asked = reads(large, small)
        assert all(map(alike, asked.values()))
        rows.extend(measured("postgres", asked, sizes, clock, gating=True))
        for pairs in (writes(large, small), bounded(store, alone, sizes)):
            rows.extend(measured("postgres", pairs, sizes, clock, gating=False))
    return rows
