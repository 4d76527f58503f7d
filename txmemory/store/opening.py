"""Opening a store."""

import math
from collections.abc import Callable, Generator
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any

from txmemory.backends.opening import Options, migrate_backend, open_backend, open_backend_async
from txmemory.drive import Patience
from txmemory.store.aio.store import AsyncStore
from txmemory.store.core import Handle
from txmemory.store.sync.store import Store

if TYPE_CHECKING:
    from txmemory.backends.portable import AsyncEngine, Engine

DEADLINE_MOST = 86_400
Clock = Callable[[], datetime]


def open(
    url: str | None = None,
    *,
    engine: "Engine | None" = None,
    clock: Clock | None = None,
    require_fence: bool = False,
    check_timeline: bool = False,
    deadline: float = 10.0,
) -> Store:
    """An open store, usable from many threads and as a context manager; the place is made when it is not there.

    `url` is `sqlite:///relative/path.db`, `sqlite:////absolute/path.db`, `sqlite:///:memory:`, `memory://`, or
    `postgresql://user@host/database`, where `migrate` has made the tables; `?schema=`, `?pool_size=` and
    `?prepare=off` are ours, and every other option is the driver's.
    `portable+` before a URL of SQLAlchemy speaks plain statements to whatever speaks PostgreSQL's dialect; so does
    `engine`, which is borrowed and not closed, and decides about isolation level and pool.
    `?synchronous=NORMAL` trades the last writes before a power loss for speed; the default FULL loses none.
    `clock` answers an aware datetime and replaces the database's clock; it must be quick and must not use the store.
    `require_fence` refuses calls without a writer. `check_timeline`, of `postgresql://` alone, lets a claim raise the
    generation where a standby was promoted since the last one, which may have lost what the scope had seen.
    `deadline` is how many seconds a call may wait for others before it is `Contended`.

    Raises `CannotOpen`, or `SchemaMismatch` for a file of a newer release.

    >>> with open("memory://") as memory:
    ...     must(memory.writer("run-1", token=1).write("step-1", [Memory("green tea")])).replayed
    False
    """
    patience = _patience(deadline)
    _flag(require_fence, "require_fence")
    options = Options(url, clock, deadline, engine, check_timeline)
    return Store(Handle(open_backend(options), patience, require_fence, check_timeline=check_timeline))


class open_async:  # noqa: N801  # reads as the function that it stands for; awaited or entered
    """The same, awaited: `async with open_async(url) as memory` or `memory = await open_async(url)`."""

    def __init__(
        self,
        url: str | None = None,
        *,
        engine: "AsyncEngine | None" = None,
        clock: Clock | None = None,
        require_fence: bool = False,
        check_timeline: bool = False,
        deadline: float = 10.0,
    ) -> None:
        self._options = Options(url, clock, deadline, engine, check_timeline)
        self._require_fence = _flag(require_fence, "require_fence")
        self._patience = _patience(deadline)
        self._store: AsyncStore | None = None

    def __await__(self) -> Generator[Any, None, AsyncStore]:
        return self._opened().__await__()

    async def __aenter__(self) -> AsyncStore:
        self._store = await self._opened()
        return self._store

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._store is not None:
            await self._store.close()

    async def _opened(self) -> AsyncStore:
        backend = await open_backend_async(self._options)
        check = self._options.check_timeline
        return AsyncStore(Handle(backend, self._patience, self._require_fence, check_timeline=check))


def migrate(url: str, *, runtime_role: str | None = None, deadline: float = 10.0) -> None:
    """Makes the tables of a `postgresql://` store, or brings them to this release's version; twice is no harm.

    The role of `url` has to own the schema or be allowed to create it; the role that opens stores needs neither.
    A `runtime_role`, which has to be there, is granted what opening, reading and writing need, and nothing else.
    Files need no call: opening them does it. Raises `CannotOpen`, or `SchemaMismatch` for a newer release's tables.
    """
    migrate_backend(Options(url, deadline=_patience(deadline).deadline), runtime_role)


def _flag(value: bool, name: str) -> bool:  # noqa: FBT001 - it is what is checked
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False")
    return value


def _patience(deadline: float) -> Patience:
    if not isinstance(deadline, int | float) or isinstance(deadline, bool):  # type: ignore[redundant-expr]  # untyped callers
        raise TypeError("deadline must be a number of seconds")
    if not math.isfinite(deadline) or not 0 < deadline <= DEADLINE_MOST:
        raise ValueError(f"deadline must be a number of seconds above 0 and at most {DEADLINE_MOST}")
    return Patience(deadline=float(deadline))
