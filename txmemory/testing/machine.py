"""Random histories of calls, each answer compared with the model's; for stores that block and stores that await."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from txmemory import Fenced, Filter, Memory, Outcome, Receipt, either, must
from txmemory.model.address import Address
from txmemory.model.item import moment
from txmemory.rules.fold import fold
from txmemory.testing.model import Asked, Given, Limit, Model, Who
from txmemory.testing.words import bounds_of, memory_of, told

NASTY = ["a", "A", "a%", "a_", "\u00e9", "e\u0301"]
NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)

names = st.sampled_from(NASTY)
scopes = st.sampled_from(["run", "Run", "run%", "r\u00e9n"])
holders = st.sampled_from([None, None, "X", "Y"])
writers = st.builds(
    Who, scopes, st.sampled_from([0, 1, 2, 3, 3, 9]), holders, st.sampled_from([0, 0, 0, 1]), made=st.just(0)
)
places = st.sampled_from(["", "x"])
times = st.none() | st.integers(0, 5).map(lambda minutes: NOON + timedelta(minutes=minutes))
kinds = st.sampled_from(["knowledge", "knowledge", "task", "Task"])
memories = st.builds(Given, names, st.sampled_from(["tea", "coffee"]), times, kinds)
batches = st.lists(memories, max_size=3)
revisions = st.none() | st.integers(1, 4)
sources = st.dictionaries(names, revisions, max_size=2)
numbers, ages = st.integers(0, 4), st.integers(1, 90).map(lambda minutes: timedelta(minutes=minutes))
limits = (
    st.tuples(st.none() | numbers, st.none() | ages)
    .filter(lambda pair: pair != (None, None))
    .map(lambda pair: Limit(*pair))
)
bounds = st.none() | st.none() | limits


class Machine(RuleBasedStateMachine):
    """Subclass it and set `place`: what makes a fresh storage, async or not."""

    place: Callable[[], Any]

    def __init__(self) -> None:
        super().__init__()
        self.storage = type(self).place()
        self.runner = asyncio.Runner()
        self.model = Model()
        self.outcomes: dict[tuple[str, str], Outcome] = {}
        self.store: Any = self.run(self.storage.open())

    def run(self, answer: Any) -> Any:
        """The answer, awaited if it is to be."""
        return self.runner.run(answer) if asyncio.iscoroutine(answer) else answer

    def at(self, place: str) -> Any:
        """The handle on a namespace."""
        return self.store.within(place) if place else self.store

    def writer(self, place: str, who: Who) -> Any:
        """A writer as the model names it."""
        return self.at(place).writer(who.scope, who.token, holder=who.holder, generation=who.generation)

    @rule(
        place=places, who=writers, key=names, add=batches, expect=sources, bound=bounds, refuse=st.booleans()
    )
    def write(self, **given: Any) -> None:
        """A keyed write."""
        self._write(None, **given)

    @rule(
        place=places, who=writers, key=names, add=batches, remove=sources, bound=bounds, refuse=st.booleans()
    )
    def replace(self, **given: Any) -> None:
        """A keyed replacement."""
        self._write(expect={}, **given)

    @rule(place=places, who=writers, keys=st.lists(names, min_size=1, max_size=3, unique=True), bound=bounds)
    def write_many(self, place: str, who: Who, keys: list[str], bound: Limit | None) -> None:
        """Several keyed writes, each of an item of its own."""
        asked = [Asked(key, [Given(key, "tea", None)], bound=bound) for key in keys]
        expected = self.model.write_many(place, who, asked, self.storage.clock())
        pairs = [(one.key, [memory_of(given) for given in one.add]) for one in asked]
        answer = either(self.run(self.writer(place, who).write_many(pairs, bounds=bounds_of(bound))))
        if isinstance(answer, Fenced):
            assert told(answer) == expected
        else:
            assert [told(either(one)) for one in answer] == expected
            for key, one in zip(keys, answer, strict=True):
                self._remember(who.scope, key, either(one))

    @rule(who=writers, key=names)
    def applied(self, who: Who, key: str) -> None:
        """A look-up."""
        answer = either(self.run(self.writer("", who).applied(key)))
        assert told(answer) == self.model.applied(who, key)
        assert not isinstance(answer, Outcome) or answer == self.outcomes[who.scope, key]

    @rule(who=writers, key=names)
    def forget_applied(self, who: Who, key: str) -> None:
        """A forget."""
        expected = self.model.forget_applied(who, key)
        assert told(either(self.run(self.writer("x", who).forget_applied(key)))) == expected
        if expected is True:
            del self.outcomes[who.scope, key]

    @rule(who=writers, chance=st.integers(0, 5))
    def seal(self, who: Who, chance: int) -> None:
        """A seal, now and then."""
        if not chance:
            assert told(either(self.run(self.writer("", who).seal()))) == self.model.seal(who)

    @rule(place=places, given=memories, bound=bounds)
    def store_one(self, place: str, given: Given, bound: Limit | None) -> None:
        """A plain store."""
        expected = self.model.swap(place, [given], [], bound, self.storage.clock())
        result = self.run(self.at(place).store(memory_of(given), bounds=bounds_of(bound)))
        assert told(either(result)) == expected

    @rule(place=places, add=batches, bound=bounds)
    def store_all(self, place: str, add: list[Given], bound: Limit | None) -> None:
        """A plain batch."""
        expected = self.model.swap(place, add, [], bound, self.storage.clock())
        batch = [memory_of(given) for given in add]
        assert told(either(self.run(self.at(place).store_all(batch, bounds=bounds_of(bound))))) == expected

    @rule(place=places, add=batches, remove=st.lists(names, max_size=3), bound=bounds)
    def swap(self, place: str, add: list[Given], remove: list[str], bound: Limit | None) -> None:
        """A plain swap."""
        kept = [given for given in add if given.id not in remove]
        expected = self.model.swap(place, kept, remove, bound, self.storage.clock())
        batch = [memory_of(given) for given in kept]
        result = self.run(self.at(place).swap(batch, remove, bounds=bounds_of(bound)))
        assert told(either(result)) == expected

    @rule(place=places, given=memories, rename=st.booleans(), bound=bounds)
    def update(self, *, place: str, given: Given, rename: bool, bound: Limit | None) -> None:
        """An update of the content, through a handle with bounds, that keeps the id or does not."""

        def change(memory: Memory) -> Memory:
            return Memory("renamed") if rename else memory.with_content(given.content)

        expected = self.model.update(place, given, bound, self.storage.clock(), rename=rename)
        handle = self.at(place).within(bounds=bounds_of(bound))
        assert told(either(self.run(handle.update(given.id, change)))) == expected

    @rule(place=places, kind=kinds, content=st.none() | st.sampled_from(["tea", "coffee"]))
    def delete_matching(self, place: str, kind: str, content: str | None) -> None:
        """A deletion by type, or by what no database decides."""
        if content is None:
            chosen = Filter.by_type(kind)
            expected = self.model.delete_matching(place, lambda one: one.kind == kind)
        else:
            chosen = ~Filter.by_type(kind) & Filter.custom(lambda memory: memory.content == content)
            expected = self.model.delete_matching(
                place, lambda one: one.kind != kind and one.content == content
            )
        assert must(self.run(self.at(place).delete_matching(chosen))) == expected

    @rule(place=places, bound=limits)
    def trim(self, place: str, bound: Limit) -> None:
        """A trim."""
        expected = self.model.trim(place, bound, self.storage.clock())
        assert must(self.run(self.at(place).trim(bounds_of(bound)))) == expected

    @rule(place=places, id=names)
    def delete(self, place: str, id: str) -> None:
        """A plain delete."""
        assert must(self.run(self.at(place).delete(id))) == self.model.delete(place, id)

    @rule(place=places, chance=st.integers(0, 3))
    def clear(self, place: str, chance: int) -> None:
        """A clear, now and then."""
        if not chance:
            assert must(self.run(self.at(place).clear())) == self.model.clear(place)

    @rule(place=places, limit=st.integers(0, 8), id=names)
    def read(self, place: str, limit: int, id: str) -> None:
        """Every read of one namespace."""
        expected = self.model.recall(place)
        store = self.at(place)
        found = must(self.run(store.recall(limit=limit)))
        assert [(one.id, one.content, one.timestamp, one.revision) for one in found] == expected[:limit]
        assert must(self.run(store.count())) == len(expected)
        for kind, number in self.model.kinds(place).items():
            assert must(self.run(store.count(Filter.by_type(kind)))) == number
        figures, times = must(self.run(store.statistics())), [row[2] for row in expected]
        assert figures.total_memories == len(expected)
        assert sum(figures.by_type.values()) == len(expected) - self.model.kinds(place).get("Task", 0)
        assert (figures.oldest_memory, figures.newest_memory) == (
            (times[-1], times[0]) if times else (None, None)
        )
        got = must(self.run(store.get(id)))
        told = [] if got is None else [(got.id, got.content, got.timestamp, got.revision)]
        assert told == [row for row in expected if row[0] == id]
        assert must(self.run(store.exists(id))) is (got is not None)

    @rule(place=places, back=st.integers(0, 20), limit=st.integers(0, 8), id=names)
    def read_as_of(self, place: str, back: int, limit: int, id: str) -> None:
        """What was there as of an earlier event, which is named by its scope and seq, or by its time."""
        events = [event for _, event in self.run(self.storage.events())]
        if not events:
            return
        event = events[-1 - back % len(events)]
        as_of = moment(event.at) if event.scope is None or back % 2 else (event.scope, event.seq)
        then: dict[str, int] = {}
        for effect in (effect for each in events if each.at <= event.at for effect in each.effects):
            if effect.namespace == ("memories", *filter(None, [place])):
                then[effect.id] = max(effect.revision, then.get(effect.id, 0))
        expected, store = self.model.recall(place, then), self.at(place)
        found = must(self.run(store.recall(limit=limit, as_of=as_of)))
        assert [(one.id, one.content, one.timestamp, one.revision) for one in found.value] == expected[:limit]
        assert must(self.run(store.count(as_of=as_of))).value == len(expected)
        assert must(self.run(store.exists(id, as_of=as_of))).value is (id in {row[0] for row in expected})
        over = found.at < self.storage.clock() and "settling" not in self.storage.lacks
        assert (found.at, found.settled) == (moment(event.at), over)

    @rule(place=places, id=names)
    def history(self, place: str, id: str) -> None:
        """The history of one id."""
        told = [
            (
                one.revision,
                one.memory and one.memory.content,
                one.memory and one.memory.timestamp,
                one.reason,
                one.by,
                one.ended and (one.ended.reason, one.ended.by),
            )
            for one in must(self.run(self.at(place).history(id)))
        ]
        expected = self.model.history(place, id)
        ends = [*((one.reason, one.by) for one in expected[1:]), None]
        assert told == [
            (one.number, one.content, one.created, one.reason, one.by, ended)
            for one, ended in zip(expected, ends, strict=False)
        ]

    @rule(scope=scopes)
    def ledger(self, scope: str) -> None:
        """The keys of one scope."""
        assert must(self.run(self.store.keys(scope))) == self.model.keys(scope)
        assert must(self.run(self.store.applied_count(scope))) == len(self.model.keys(scope))

    @rule()
    def reopen(self) -> None:
        """Close and open again, where the data outlive that."""
        if "persistence" not in self.storage.lacks:
            self.run(self.store.close())
            self.store = self.run(self.storage.open())

    @rule(minutes=st.integers(-90, 90))
    def move_clock(self, minutes: int) -> None:
        """Time passes, or is set back."""
        self.storage.clock.advance(timedelta(minutes=minutes))

    @rule()
    def rebuild(self) -> None:
        """Restores nothing where nothing is lost."""
        rebuilt = must(self.run(self.store.rebuild()))
        assert (rebuilt.scopes, rebuilt.keys, rebuilt.heads, rebuilt.left) == (0, 0, 0, ())

    @invariant()
    def verified(self) -> None:
        """All that follows from log and history does."""
        assert must(self.run(self.store.verify())).findings == ()

    @invariant()
    def counts_agree(self) -> None:
        """Nothing appears or vanishes between calls."""
        expected = sum(len(scope.ledger) for scope in self.model.scopes.values())
        assert must(self.run(self.store.applied_count())) == expected

    def teardown(self) -> None:
        """The log implies the state, and its orders agree."""
        try:
            self._check_log()
        finally:
            self.run(self.storage.close())
            self.runner.close()

    def _write(self, remove: Any, place: str, who: Who, writer: Any = None, **asked: Any) -> None:
        wanted = Asked(remove=remove, **asked)
        if wanted.remove is not None:
            wanted.add = [given for given in wanted.add if given.id not in wanted.remove]
        expected = self.model.write(place, who, wanted, self.storage.clock())
        writer = writer or self.writer(place, who)
        add = [memory_of(given) for given in wanted.add]
        more = {"bounds": bounds_of(wanted.bound), "on_mismatch": "refuse" if wanted.refuse else "return"}
        if wanted.remove is None:
            answer = either(self.run(writer.write(wanted.key, add, expect=wanted.expect, **more)))
        else:
            ended = [id if revision is None else (id, revision) for id, revision in wanted.remove.items()]
            answer = either(self.run(writer.replace(wanted.key, add, ended, **more)))
        assert told(answer) == expected
        self._remember(who.scope, wanted.key, answer)

    def _remember(self, scope: str, key: str, answer: object) -> None:
        """A replay is the first answer in every field, `at` too."""
        if isinstance(answer, Receipt):
            assert self.outcomes.setdefault((scope, key), answer.outcome) == answer.outcome

    def _check_log(self) -> None:
        events = [event for _, event in self.run(self.storage.events())]
        folded = fold(events)
        live = {
            Address(("memories", *filter(None, [place])), id): number
            for place in ("", "x")
            for id, _, _, number in self.model.recall(place)
        }
        assert folded.live == live
        assert {name: scope.seq for name, scope in self.model.scopes.items() if scope.seq} == folded.seq
        ledger = {
            (scope, key): outcome for scope, keys in folded.applied.items() for key, outcome in keys.items()
        }
        for name, scope in self.model.scopes.items():
            for key, (_, done) in scope.ledger.items():
                assert told(ledger.pop((name, key))) == done
        assert not ledger
        last: dict[object, tuple[int, datetime]] = {}
        for event in events:
            places = [(Address(effect.namespace, effect.id), effect.revision) for effect in event.effects]
            for address, number in places:
                assert last.get(address, (0, NOON))[0] == number - 1
                assert address not in last or last[address][1] <= moment(event.at)
                last[address] = number, moment(event.at)
            if event.scope is not None and event.seq is not None:
                assert last.get(event.scope, (0, NOON))[0] == event.seq - 1
                assert event.scope not in last or last[event.scope][1] <= moment(event.at)
                last[event.scope] = event.seq, moment(event.at)
