"""Every call about claims that changes something, on a store that was prepared for it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, NamedTuple

from txmemory import Fence, Fenced, Held, Memory, Receipt, Store, either, must
from txmemory.model.lease import name_of
from txmemory.testing.clock import START, FakeClock

TTL = timedelta(minutes=1)
LONGER = timedelta(hours=2)


@dataclass(frozen=True, slots=True)
class Call:
    """A call of ada's about a scope. `ready` does all that it takes and answers the call itself."""

    name: str
    scope: str
    ready: Callable[[Store], Callable[[], object]]

    def __str__(self) -> str:
        return self.name


def _claim(scope: str) -> Callable[[Store], Callable[[], object]]:
    return lambda store: lambda: either(store.claim(scope, "ada", LONGER))


def _again(store: Store) -> Callable[[], object]:
    must(store.claim("own", "ada", TTL))
    return _claim("own")(store)


def _renew(store: Store) -> Callable[[], object]:
    claim = must(store.claim("own", "ada", TTL))
    return lambda: either(claim.renew(LONGER))


def _release(store: Store) -> Callable[[], object]:
    claim = must(store.claim("own", "ada", TTL))
    return lambda: either(claim.release())


def _reset(store: Store) -> Callable[[], object]:
    must(store.claim("own", "ada", TTL))
    return lambda: either(store.reset_fence("own", by="ada"))


CALLS = (
    Call("claim what nobody has claimed", "fresh", _claim("fresh")),
    Call("claim what has lapsed", "lapsed", _claim("lapsed")),
    Call("claim one's own again", "own", _again),
    Call("renew", "own", _renew),
    Call("release", "own", _release),
    Call("reset", "own", _reset),
)


class Row(NamedTuple):
    """A scope's row as the tables have it, with the holder's own name."""

    scope: str
    generation: int
    token: int
    holder: str | None
    lease_until: int | None
    seq: int


SCOPE_ROWS = "SELECT scope, generation, token, holder, lease_until, seq FROM {} WHERE tenant = {} ORDER BY 1"


def rows_of(found: Iterable[tuple[Any, ...]]) -> list[Row]:
    """What the tables answer to `SCOPE_ROWS`."""
    rows = [Row(*row) for row in found]
    return [row._replace(holder=None if row.holder is None else name_of(row.holder)) for row in rows]


def fill(store: Store, clock: FakeClock) -> None:
    """A claim of bob's that has lapsed at START, with what it wrote."""
    clock.set(START - timedelta(hours=1))
    claim = must(store.claim("lapsed", "bob", TTL))
    must(claim.writer.write("before", [Memory("tea", id="before")]))
    clock.set(START)


def inherited(store: Store, call: Call, rows: list[Row]) -> None:
    """The next who comes is told that somebody has the scope, or has it, and nobody of before writes any more."""
    row = next((row for row in rows if row.scope == call.scope), Row(call.scope, 0, 0, None, None, 0))
    met = either(store.claim(call.scope, "cy", TTL))
    now = int(START.timestamp() * 1_000_000)
    if row.lease_until is not None and row.lease_until > now:
        assert isinstance(met, Held)
        assert met.holder == "ada"
    else:
        fence = Fence(row.generation, row.token + 1)
        assert not isinstance(met, Held)
        assert must(store.claim(call.scope, "cy", TTL)).fence == fence
        late = store.writer(call.scope, row.token, generation=row.generation).applied("late")
        assert row.token == 0 or either(late) == Fenced(Fence(row.generation, row.token), fence)
        written = must(store.claim(call.scope, "cy", TTL)).writer.write("goes on", [Memory("on", id="on")])
        assert isinstance(either(written), Receipt)
    assert must(store.verify()).findings == ()
