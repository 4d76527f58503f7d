"""Where a PostgreSQL store is, and how to speak to it."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from urllib.parse import quote, urlencode

import psycopg
from psycopg.conninfo import make_conninfo

from txmemory.model.canonical import checked_text

OPTIONS = ("pool_size", "prepare", "schema")
SCHEMA_BYTES = 63
POOL_MOST = 1_000


@dataclass(frozen=True, slots=True)
class Place:
    """A server and database as the driver takes them, the schema of our tables, and what the URL asked for."""

    conninfo: str
    patience: int
    """Whole seconds until an attempt to connect is given up."""
    schema: str = "txmemory"
    prepare: bool = True
    pool_size: int = 10

    def __repr__(self) -> str:
        """The schema alone: the rest may hold a password."""
        return f"<Place schema={self.schema}>"


def pool_size_of(options: Mapping[str, str]) -> int:
    """How many connections a store keeps at the most: 1 .. 1,000, 10 where nothing is said."""
    size = options.get("pool_size", "10")
    if not size.isdecimal() or not 1 <= int(size) <= POOL_MOST:
        raise ValueError("pool_size must be a number in 1 .. 1000")
    return int(size)


def schema_of(options: Mapping[str, str]) -> str:
    """The schema of the tables: `txmemory` where nothing is said."""
    schema = checked_text(options.get("schema", "txmemory"), "schema", SCHEMA_BYTES)
    if "$$" in schema:
        raise ValueError("schema must not hold $$, which ends the text of a function")
    return schema


def place_of(path: str, options: Mapping[str, str], patience: float) -> Place:
    """The place that a URL's rest and options name; options that are not ours go to the driver."""
    prepare = options.get("prepare", "on")
    if prepare not in ("on", "off"):
        raise ValueError("prepare must be on or off")
    # The driver takes a plus for a plus, so that a space has to be spelled otherwise.
    others = {name: value for name, value in options.items() if name not in OPTIONS}
    rest = urlencode(others, quote_via=quote)
    conninfo = f"postgresql://{path}" + (f"?{rest}" if rest else "")
    try:
        conninfo = make_conninfo(conninfo, client_encoding="UTF8")  # whatever the URL or the environment says
    except psycopg.ProgrammingError:
        raise ValueError(
            "url is none that the driver takes, or names an option that it does not know"
        ) from None
    return Place(conninfo, max(1, ceil(patience)), schema_of(options), prepare == "on", pool_size_of(options))
