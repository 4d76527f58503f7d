"""Random histories of calls, each answer compared with the model's; for stores that block and stores that await."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from txmemory import (
    AlreadyExists,
    Bounds,
    Fenced,
    KeyReused,
    Memory,
    Outcome,
    Receipt,
    Sealed,
    StaleRevision,
    either,
    must,
)
from txmemory.model.address import Address
from txmemory.model.item import moment
from txmemory.rules.fold import fold
from txmemory.testing.model import Asked, Done, Given, Model, Told, Who

NASTY = ["a", "A", "a%", "a_", "\u00e9", "e\u0301"]
NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)

names = st.sampled_from(NASTY)
scopes = st.sampled_from(["run", "Run", "run%", "r\u00e9n"])
writers = st.builds(Who, scopes, st.integers(0, 3), st.sampled_from([None, None, "X", "Y"]))
places = st.sampled_from(["", "x"])
times = st.none() | st.integers(0, 5).map(lambda minutes: NOON + timedelta(minutes=minutes))
memories = st.builds(Given, names, st.sampled_from(["tea", "coffee"]), times)
batches = st.lists(memories, max_size=3)
revisions = st.none() | st.integers(1, 4)
sources = st.dictionaries(names, revisions, max_size=2)
bounds = st.none() | st.none() | st.integers(0, 4)


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
        return self.at(place).writer(who.scope, who.token, holder=who.holder)

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
    def write_many(self, place: str, who: Who, keys: list[str], bound: int | None) -> None:
        """Several keyed writes, each of an item of its own."""
        asked = [Asked(key, [Given(key, "tea", None)], bound=bound) for key in keys]
        expected = self.model.write_many(place, who, asked, self.storage.clock())
        pairs = [(one.key, [_memory(given) for given in one.add]) for one in asked]
        answer = either(self.run(self.writer(place, who).write_many(pairs, bounds=_bounds(bound))))
        if isinstance(answer, Fenced):
            assert _told(answer) == expected
        else:
            assert [_told(either(one)) for one in answer] == expected
            for key, one in zip(keys, answer, strict=True):
                self._remember(who.scope, key, either(one))

    @rule(who=writers, key=names)
    def applied(self, who: Who, key: str) -> None:
        """A look-up."""
        answer = either(self.run(self.writer("", who).applied(key)))
        assert _told(answer) == self.model.applied(who, key)
        assert not isinstance(answer, Outcome) or answer == self.outcomes[who.scope, key]

    @rule(who=writers, key=names)
    def forget_applied(self, who: Who, key: str) -> None:
        """A forget."""
        expected = self.model.forget_applied(who, key)
        assert _told(either(self.run(self.writer("x", who).forget_applied(key)))) == expected
        if expected is True:
            del self.outcomes[who.scope, key]

    @rule(who=writers, chance=st.integers(0, 5))
    def seal(self, who: Who, chance: int) -> None:
        """A seal, now and then."""
        if not chance:
            assert _told(either(self.run(self.writer("", who).seal()))) == self.model.seal(who)

    @rule(place=places, given=memories, bound=bounds)
    def store_one(self, place: str, given: Given, bound: int | None) -> None:
        """A plain store."""
        expected = self.model.store(place, given, bound, self.storage.clock())
        result = self.run(self.at(place).store(_memory(given), bounds=_bounds(bound)))
        assert _told(either(result)) == expected

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
        got = must(self.run(store.get(id)))
        told = [] if got is None else [(got.id, got.content, got.timestamp, got.revision)]
        assert told == [row for row in expected if row[0] == id]
        assert must(self.run(store.exists(id))) is (got is not None)

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
            )
            for one in must(self.run(self.at(place).history(id)))
        ]
        expected = self.model.history(place, id)
        assert told == [(one.number, one.content, one.created, one.reason, one.by) for one in expected]

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

    def _write(self, remove: Any, place: str, who: Who, **asked: Any) -> None:
        wanted = Asked(remove=remove, **asked)
        if wanted.remove is not None:
            wanted.add = [given for given in wanted.add if given.id not in wanted.remove]
        expected = self.model.write(place, who, wanted, self.storage.clock())
        writer = self.writer(place, who)
        add = [_memory(given) for given in wanted.add]
        more = {"bounds": _bounds(wanted.bound), "on_mismatch": "refuse" if wanted.refuse else "return"}
        if wanted.remove is None:
            answer = either(self.run(writer.write(wanted.key, add, expect=wanted.expect, **more)))
        else:
            ended = [id if revision is None else (id, revision) for id, revision in wanted.remove.items()]
            answer = either(self.run(writer.replace(wanted.key, add, ended, **more)))
        assert _told(answer) == expected
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
                assert _told(ledger.pop((name, key))) == done
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


def _memory(given: Given) -> Memory:
    return Memory(given.content, id=given.id, timestamp=given.timestamp)


def _bounds(bound: int | None) -> Bounds | None:
    return None if bound is None else Bounds(bound)


def _told(answer: object) -> object:
    """An answer in the model's words."""
    match answer:
        case Fenced(newest=newest):
            return "fenced", newest.token
        case Sealed():
            return ("sealed",)
        case KeyReused():
            return ("reused",)
        case StaleRevision(expected=expected, actual=actual):
            return "stale", expected, actual
        case AlreadyExists(actual=actual):
            return "exists", actual
        case Receipt(outcome=outcome, replayed=replayed, diverged=diverged):
            return Told(_done(outcome), replayed, diverged)
        case Outcome():
            return _done(answer)
        case _:
            return answer


def _done(outcome: Outcome) -> Done:
    added, removed, evicted = (
        tuple((ref.id, ref.revision) for ref in refs)
        for refs in (outcome.added, outcome.removed, outcome.evicted)
    )
    return Done(outcome.status, added, removed, evicted, outcome.seq, outcome.token)
