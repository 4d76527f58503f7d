"""From a URL to an open backend. Each technology is imported only when it is asked for."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from urllib.parse import parse_qsl, unquote

from txmemory.backends.lifetime import Lifetime
from txmemory.model.item import microseconds
from txmemory.port import AsyncBackend, Backend

CLOCK_MOST = microseconds(datetime(9998, 12, 31, tzinfo=UTC), "clock")


@dataclass(frozen=True, slots=True)
class Options:
    """What `open` was told: a URL or an engine, a clock or None for the database's, seconds to wait for others."""

    url: str | None = field(repr=False)
    clock: Callable[[], datetime] | None = None
    deadline: float = 10.0
    engine: object = field(default=None, repr=False)
    check_timeline: bool = False

    def __post_init__(self) -> None:
        if (self.url is None) == (self.engine is None):
            raise TypeError("a store is opened by its url or by an engine, one of the two")
        if self.check_timeline and (self.url is None or location(self.url).scheme != "postgresql"):
            raise ValueError("check_timeline needs a postgresql:// store")

    def microseconds_clock(self) -> Callable[[], int]:
        """The clock as integer microseconds."""
        from txmemory.backends.clock import system_clock

        return self.given_clock() or system_clock

    def given_clock(self) -> Callable[[], int] | None:
        """The caller's clock as integer microseconds; None leaves time to the database."""
        clock = self.clock
        return None if clock is None else lambda: checked_clock(clock)


def checked_clock(clock: Callable[[], object]) -> int:
    """A clock's reading in microseconds, with room behind it: times of record may only grow."""
    try:
        now = microseconds(clock(), "clock")
    except StopIteration:  # which no future can carry
        raise RuntimeError("clock raised StopIteration") from None
    if now > CLOCK_MOST:
        raise ValueError("clock is beyond the year 9998")
    return now


PORTABLE = "portable+"
_SCHEMES = "url must begin with postgresql://, sqlite://, memory:// or portable+"


@dataclass(frozen=True, slots=True)
class Location:
    """A URL taken apart. Its text appears in no error: it may hold a password."""

    scheme: str
    rest: str = field(repr=False)
    query: dict[str, str] = field(repr=False)

    @property
    def portable(self) -> str:
        """What SQLAlchemy is given, without the options."""
        return f"{self.scheme.removeprefix(PORTABLE)}://{self.rest}"

    @property
    def path(self) -> str:
        """The rest as a path: percent signs decoded."""
        return unquote(self.rest)


def location(url: object) -> Location:
    """The parts of a store's URL; a malformed one is a `ValueError` that does not repeat it."""
    if not isinstance(url, str):
        raise TypeError("url must be text")
    scheme, separator, rest = url.partition("://")
    if not separator:
        raise ValueError("url must look like sqlite:///path or memory://")
    path, _, query = rest.partition("?")
    pairs = parse_qsl(query.replace("+", "%2B"), keep_blank_values=True)  # a plus is one, as drivers have it
    if len({name for name, _ in pairs}) < len(pairs):
        raise ValueError("url names an option twice")
    return Location(scheme, path, dict(pairs))


def open_backend(options: Options) -> Backend:
    """An open backend for callers that block."""
    if options.engine is not None:
        from txmemory.backends.portable.opening import open_engine

        return open_engine(options.engine, options.given_clock())
    place = location(options.url)
    match place.scheme:
        case "memory":
            from txmemory.backends.inmemory.backend import InMemory
            from txmemory.backends.inmemory.state import State

            _nothing_beside(place)
            return InMemory(State(), options.microseconds_clock(), Lifetime())
        case "sqlite":
            from txmemory.backends.sqlite.opening import open_sqlite, place_of

            file = place_of(place.path, place.query, options.deadline)
            return open_sqlite(file, options.microseconds_clock())
        case scheme if scheme.startswith(PORTABLE):
            from txmemory.backends.portable.opening import open_portable

            return open_portable(place.portable, place.query, options.deadline, options.given_clock())
        case "postgresql":
            from txmemory.backends.postgres.opening import open_postgres
            from txmemory.backends.postgres.place import place_of as server_of

            server = server_of(place.rest, place.query, options.deadline)
            return open_postgres(server, options.given_clock())
        case _:
            raise ValueError(_SCHEMES)


async def open_backend_async(options: Options) -> AsyncBackend:
    """An open backend for callers that await."""
    if options.engine is not None:
        from txmemory.backends.portable.opening import open_engine_async

        return await open_engine_async(options.engine, options.given_clock())
    place = location(options.url)
    match place.scheme:
        case "memory":
            from txmemory.backends.inmemory.backend import AsyncInMemory, InMemory
            from txmemory.backends.inmemory.state import State

            _nothing_beside(place)
            return AsyncInMemory(InMemory(State(), options.microseconds_clock(), Lifetime()))
        case "sqlite":
            from txmemory.backends.sqlite.awaiting import open_sqlite_async

            clock = options.microseconds_clock()
            return await open_sqlite_async(place.path, place.query, options.deadline, clock)
        case scheme if scheme.startswith(PORTABLE):
            from txmemory.backends.portable.opening import open_portable_async

            clock_given = options.given_clock()
            return await open_portable_async(place.portable, place.query, options.deadline, clock_given)
        case "postgresql":
            from txmemory.backends.postgres.opening import open_postgres_async
            from txmemory.backends.postgres.place import place_of as server_of

            server = server_of(place.rest, place.query, options.deadline)
            return await open_postgres_async(server, options.given_clock())
        case _:
            raise ValueError(_SCHEMES)


def migrate_backend(options: Options, runtime_role: str | None) -> None:
    """Makes the schema on a server, or brings it to this release's version, under a lock; lets a role use it."""
    place = location(options.url)
    if place.scheme.startswith(PORTABLE):
        from txmemory.backends.portable.opening import migrate

        migrate(place.portable, place.query, options.deadline, runtime_role)
        return
    if place.scheme != "postgresql":
        raise ValueError("only a postgresql:// store is migrated by itself; opening does it elsewhere")
    from txmemory.backends.postgres import migrating
    from txmemory.backends.postgres.place import place_of

    migrating.migrate(place_of(place.rest, place.query, options.deadline), runtime_role)


def _nothing_beside(place: Location) -> None:
    if place.path or place.query:
        raise ValueError("memory:// takes neither a path nor options")
