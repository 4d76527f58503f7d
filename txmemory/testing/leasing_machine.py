"""Random histories in which scopes are claimed, run, lapse, are taken over, released and reset, too."""

import inspect
from datetime import timedelta
from typing import Any, NamedTuple

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from txmemory import LeaseLost, Memory, either, must
from txmemory.testing.leasing_model import LeasingModel
from txmemory.testing.machine import Machine, batches, bounds, names, places
from txmemory.testing.model import Asked, Given, Limit, Who
from txmemory.testing.words import bounds_of, memory_of, told

claimers = st.sampled_from(["X", "Y"])
claimable = st.sampled_from(["run", "Run"])
minutes = st.integers(1, 90).map(lambda number: timedelta(minutes=number))
hours = st.integers(1, 3).map(lambda number: timedelta(hours=number))
"""How long a run's lease is: so long that none is renewed in the background while an example lasts."""
lapses = st.just(timedelta()) | st.just(timedelta()) | minutes
picks = st.integers(0, 3)


class Taken(NamedTuple):
    """A claim, or a run, with whom the model takes it for, and the place that it was made through."""

    lease: Any
    who: Who
    place: str


class LeasingMachine(Machine):
    """Set `place` as in `Machine`."""

    model: LeasingModel

    def __init__(self) -> None:
        super().__init__()
        self.model = LeasingModel()
        self.claims: list[Taken] = []
        self.runs: list[Taken] = []
        self._made = 1
        self._store = 1
        """Which of those that were made the opened store is: one of its name has its own claim back."""

    def _next(self) -> int:
        self._made += 1
        return self._made

    @rule(place=places, scope=claimable, holder=claimers, ttl=minutes)
    def claim(self, place: str, scope: str, holder: str, ttl: timedelta) -> None:
        """A claim by the store."""
        expected = self.model.claim(scope, (holder, self._store), ttl, self.storage.clock())
        answer = either(self.run(self.at(place).claim(scope, holder, ttl)))
        if self._answered(answer, expected):
            self.claims.append(self._taken(answer, place, holder, self._store))

    @rule(place=places, scope=claimable, holder=claimers, ttl=hours)
    def begin_run(self, place: str, scope: str, holder: str, ttl: timedelta) -> None:
        """A run, which is a holder of its own."""
        self._begin(place, scope, holder, ttl)

    def _begin(self, place: str, scope: str, holder: str, ttl: timedelta) -> None:
        made = self._next()
        expected = self.model.claim(scope, (holder, made), ttl, self.storage.clock())
        answer = either(self.run(self.at(place).run(scope, holder, ttl)))
        if self._answered(answer, expected):
            self._enter(self._taken(answer, place, holder, made))

    @precondition(lambda self: self.claims or self.runs)
    @rule(pick=picks, holder=claimers, late=st.booleans())
    def take_over(self, *, pick: int, holder: str, late: bool) -> None:
        """Another run of a scope that is held, once its lease is over, or before."""
        taken = [*self.claims, *self.runs]
        lease, now = taken[pick % len(taken)].lease, self.storage.clock()
        if late and lease.until > now:
            self.storage.clock.advance(lease.until - now)
        self._begin("", lease.scope, holder, timedelta(hours=1))

    @rule(place=places, holder=claimers, ttl=hours, lapsed=lapses, limit=st.integers(0, 5))
    def sweep(self, *, place: str, holder: str, ttl: timedelta, lapsed: timedelta, limit: int) -> None:
        """What others have left behind, taken."""
        made = self._next()
        expected = self.model.unfinished((holder, made), ttl, lapsed, limit, self.storage.clock())
        found = must(self.run(self.at(place).unfinished(holder, older_than=lapsed, ttl=ttl, limit=limit)))
        assert [(claim.scope, self._told(claim)) for claim in found] == expected
        self.claims += [self._taken(claim, place, holder, made) for claim in found]

    @precondition(lambda self: self.claims)
    @rule(pick=picks, place=places)
    def resume(self, pick: int, place: str) -> None:
        """A run of a claim, be it lapsed by now, or another's; it may be released already."""
        claim, who, _ = self.claims.pop(pick % len(self.claims))
        if claim.ttl >= 3_600:
            self._enter(Taken(self.at(place).resume(claim), who, place))

    @precondition(lambda self: self.claims)
    @rule(pick=picks, ttl=hours)
    def renew(self, pick: int, ttl: timedelta) -> None:
        """A renewal."""
        claim, who, _ = self.claims[pick % len(self.claims)]
        expected = self.model.renew(who, ttl, self.storage.clock())
        answer = either(self.run(claim.renew(ttl)))
        assert told(answer) == expected
        assert claim.until == expected if answer == expected else not claim.valid

    @precondition(lambda self: self.claims)
    @rule(pick=picks)
    def release(self, pick: int) -> None:
        """A release, perhaps the second one."""
        claim, who, _ = self.claims[pick % len(self.claims)]
        assert must(self.run(claim.release())) is self.model.release(who)
        assert not claim.valid

    @precondition(lambda self: self.claims)
    @rule(pick=picks, key=names, add=batches, expect=st.just({}), bound=bounds, refuse=st.booleans())
    def write_by_claim(self, pick: int, **given: Any) -> None:
        """A keyed write under a claim's token."""
        claim, who, place = self.claims[pick % len(self.claims)]
        self._write(None, place, who, claim.writer, **given)

    @precondition(lambda self: self.claims)
    @rule(pick=picks, key=names)
    def look_by_claim(self, pick: int, key: str) -> None:
        """A look under a claim's token."""
        claim, who, _ = self.claims[pick % len(self.claims)]
        assert told(either(self.run(claim.writer.applied(key)))) == self.model.applied(who, key)

    @precondition(lambda self: self.claims or self.runs)
    @rule(pick=picks, chance=st.integers(0, 3))
    def seal_by_claim(self, pick: int, chance: int) -> None:
        """A seal under a claim's token, now and then."""
        taken = [*self.claims, *self.runs]
        lease, who, _ = taken[pick % len(taken)]
        if not chance and lease.valid:
            assert told(either(self.run(lease.writer.seal()))) == self.model.seal(who)

    @precondition(lambda self: self.runs)
    @rule(
        pick=picks,
        keys=st.lists(names, min_size=1, max_size=4),
        adds=st.lists(batches, min_size=4),
        bound=bounds,
    )
    def steps(self, pick: int, keys: list[str], adds: list[list[Given]], bound: Limit | None) -> None:
        """Steps of a run, whose model answers with something else each time."""
        for key, add in zip(keys, adds, strict=False):
            self._step(self.runs[pick % len(self.runs)], key, add, bound)

    def _step(self, taken: Taken, key: str, add: list[Given], bound: Limit | None) -> None:
        run, who, place = taken
        asked, now = Asked(key, add, bound=bound), self.storage.clock()
        fresh = self.model.keys(who.scope).count(key) == 0
        expected = self.model.step(place, who, asked, now) if run.valid else ("lost",)
        times: list[int] = []
        answer = either(self.run(run.step(key, self._producing(add, times), bounds=bounds_of(bound))))
        if hasattr(answer, "receipt"):
            assert (told(answer.receipt), [memory.content for memory in answer.memories]) == expected
            self._remember(who.scope, key, answer.receipt)
        else:
            assert told(answer) == expected
        assert len(times) == (fresh and hasattr(answer, "receipt"))

    @precondition(lambda self: self.runs)
    @rule(pick=picks)
    def end_run(self, pick: int) -> None:
        """The end of a run: from then on nothing is sent."""
        taken = self.runs.pop(pick % len(self.runs))
        self._exit(taken)
        assert either(self.run(taken.lease.writer.applied("a"))) == LeaseLost()

    @rule(time=hours)
    def lapse(self, time: timedelta) -> None:
        """Leases come to their end."""
        self.storage.clock.advance(time)

    @rule(scope=claimable, chance=st.integers(0, 4))
    def reset_fence(self, scope: str, chance: int) -> None:
        """A new generation, now and then."""
        if not chance:
            assert must(self.run(self.store.reset_fence(scope, by="X"))) == self.model.reset(scope)

    @rule()
    def reopen(self) -> None:
        """As by a crash: what was held stays so until it lapses, and nobody has it back."""
        if "persistence" in self.storage.lacks:
            return
        self.run(self.store.close())
        for run, _, _ in self.runs:
            self._leave(run)
        self.claims, self.runs, self._store = [], [], self._next()
        self.store = self.run(self.storage.open())

    def teardown(self) -> None:
        """Every run ends."""
        try:
            for taken in self.runs:
                self._exit(taken)
        finally:
            super().teardown()

    @staticmethod
    def _told(lease: Any) -> Any:
        return "claimed", tuple(lease.fence), lease.until

    def _answered(self, answer: Any, expected: Any) -> bool:
        """Whether it was granted, as expected."""
        granted = hasattr(answer, "fence")
        assert (self._told(answer) if granted else told(answer)) == expected
        return granted

    @staticmethod
    def _taken(lease: Any, place: str, holder: str, made: int) -> Taken:
        return Taken(lease, Who(lease.scope, lease.token, holder, lease.generation, made), place)

    def _enter(self, taken: Taken) -> None:
        run = taken.lease
        self.run(run.__aenter__() if hasattr(run, "__aenter__") else run.__enter__())
        self.runs.append(taken)

    def _exit(self, taken: Taken) -> None:
        self.model.release(taken.who)
        self._leave(taken.lease)

    def _leave(self, run: Any) -> None:
        nothing = (None, None, None)
        self.run(run.__aexit__(*nothing) if hasattr(run, "__aexit__") else run.__exit__(*nothing))

    def _producing(self, add: list[Given], times: list[int]) -> Any:
        """What makes these memories, and counts how often."""

        def produce() -> list[Memory]:
            times.append(1)
            return [memory_of(given) for given in add]

        async def awaited() -> list[Memory]:
            return produce()

        return awaited if inspect.iscoroutinefunction(self.storage.open) else produce
