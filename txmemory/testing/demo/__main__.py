"""The command line of the demonstration: `python -m txmemory.testing.demo`."""

import argparse
import random
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import FrameType
from typing import NoReturn

from txmemory.testing.demo.conversation import CannotRead, read, shipped
from txmemory.testing.demo.story import Options, demonstrate
from txmemory.testing.server import NoServer, PostgresServer


def main(arguments: list[str]) -> int:
    """0 when nothing was doubled and nothing lost, 1 when something was, 2 when it could not begin."""
    parser = argparse.ArgumentParser(
        prog="demo",
        description="Kills an agent again and again and shows that its memory keeps every write once.",
    )
    parser.add_argument("--kills", type=int, default=25, help="how often the agent is killed (default 25)")
    places = parser.add_mutually_exclusive_group()
    places.add_argument(
        "--url",
        help="sqlite:///file, postgresql://... or portable+postgresql://...; a fresh SQLite file without it. "
        "Every run has a tenant of its own there, and makes the tables if there are none",
    )
    places.add_argument(
        "--postgres", action="store_true", help="a fresh PostgreSQL server that is gone afterwards"
    )
    parser.add_argument(
        "--conversation", type=Path, metavar="FILE", help="JSON: a list of {role, content, time}"
    )
    parser.add_argument(
        "--index", type=int, default=0, help="which conversation of a file of many (default 0)"
    )
    parser.add_argument("--seed", type=int, help="of all chance; the moments of the clock stay the clock's")
    given = parser.parse_args(arguments)
    if given.kills < 0:
        parser.error("--kills must not be negative")
    if given.url and (given.url.startswith("memory:") or ":memory:" in given.url):
        parser.error("the agent is another process, which cannot see a memory inside this one")
    try:
        conversation = read(given.conversation, given.index) if given.conversation else shipped()
    except CannotRead as error:
        parser.error(str(error))
    seed = random.SystemRandom().randrange(1_000_000) if given.seed is None else given.seed
    signal.signal(signal.SIGTERM, _end)
    try:
        with _fresh_server() if given.postgres else nullcontext(given.url) as url:
            return 0 if demonstrate(Options(conversation, given.kills, url, seed)) else 1
    except NoServer as error:
        parser.error(str(error))


@contextmanager
def _fresh_server() -> Iterator[str]:
    """The URL of an empty database on a server that is gone with this process."""
    with PostgresServer.started() as server:
        yield server.url(database=server.create_database())


def _end(_number: int, _frame: FrameType | None) -> NoReturn:
    # As an exception, so that the children and the temporary files go too.
    raise SystemExit(143)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
