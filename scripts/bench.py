#!/usr/bin/env python3
"""What `scripts/bench` runs: the table of ratios to the commit floor, or the stages of one keyed write."""

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from scripts.benching import (
    counting,
    crowd,
    hot,
    scaling,
    server,
    single,
    stages,
    starting,
    takeover,
    verifying,
)
from scripts.benching.figures import Figure, failures, table, write_json
from scripts.benching.sizes import SMALL, USUAL, Sizes

PARTS: dict[str, Callable[[Path, Sizes], list[Figure]]] = {
    "counters": counting.figures,
    "single": single.figures,
    "crowd": crowd.figures,
    "starting": starting.figures,
}
SERVER_PARTS: dict[str, Callable[[server.Place, Sizes], list[Figure]]] = {
    "counters": server.counters,
    "single": server.single,
    "hot": hot.figures,
    "takeover": takeover.figures,
}
SCALING_PARTS = ("sqlite", "postgres")


def main(arguments: list[str] | None = None) -> int:
    """Runs what was asked for; 1 where `--check` found that a gating figure is missed."""
    given = _parser().parse_args(arguments)
    sizes = SMALL if given.small else USUAL
    if given.rounds is not None:
        sizes = replace(sizes, rounds=given.rounds)
    if getattr(given, "rows", None) is not None:
        sizes = replace(sizes, rows=given.rows)
    with tempfile.TemporaryDirectory(prefix="txmemory-bench-", dir=given.directory) as name:
        folder = Path(name).resolve()
        if given.command == "profile":
            print(stages.profile(folder, sizes))
            return 0
        if given.command == "postgres":
            with server.placed(given.url) as place:
                figures = [
                    row for part in given.part or SERVER_PARTS for row in SERVER_PARTS[part](place, sizes)
                ]
        elif given.command == "verify":
            figures = verifying.figures(folder, sizes)
        elif given.command == "scaling":
            figures = _scaling(folder, sizes, given.part or SCALING_PARTS, given.url)
        else:
            figures = _writes(folder, sizes, given.part or PARTS)
    print(table(figures))
    if given.json is not None:
        write_json(figures, given.json)
    missed = failures(figures)
    for figure in missed:
        print(f"missed: {figure.name}", file=sys.stderr)
    return 1 if given.check and missed else 0


def _writes(folder: Path, sizes: Sizes, parts: Iterable[str]) -> list[Figure]:
    found: list[Figure] = []
    for part in parts:
        place = folder / part
        place.mkdir()
        found.extend(PARTS[part](place, sizes))
    return found


def _scaling(folder: Path, sizes: Sizes, parts: Iterable[str], url: str | None) -> list[Figure]:
    found: list[Figure] = []
    for part in parts:
        found.extend(
            scaling.in_a_file(folder, sizes) if part == "sqlite" else scaling.on_a_server(url, sizes)
        )
    return found


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    writes = commands.add_parser(
        "writes", help="keyed writes, replays, imports and counters against the floor"
    )
    postgres = commands.add_parser(
        "postgres", help="the same on a server, a durable one of its own unless told"
    )
    grown = commands.add_parser(
        "scaling", help="each call in a namespace of a million memories, to the same in one of a thousand"
    )
    verified = commands.add_parser("verify", help="verify and rebuild, to reading and decoding the same rows")
    grown.add_argument("--rows", type=int, metavar="N", help="how many memories, if not a million")
    for command in (postgres, grown):
        command.add_argument(
            "--url", metavar="URL", help="a database where a schema can be made, and is dropped again"
        )
    for command, parts in (
        (writes, PARTS),
        (postgres, SERVER_PARTS),
        (grown, SCALING_PARTS),
        (verified, ("sqlite",)),
    ):
        command.add_argument(
            "--check", action="store_true", help="exit with 1 where a gating figure is missed"
        )
        command.add_argument("--json", type=Path, metavar="FILE", help="write the figures to FILE, too")
        command.add_argument(
            "--part", action="append", choices=parts, help="only this part; may be given again"
        )
    profile = commands.add_parser("profile", help="the microseconds of each stage of one keyed write")
    for command in (writes, postgres, grown, verified, profile):
        command.add_argument("--rounds", type=int, metavar="N", help="how many interleaved rounds")
        command.add_argument("--small", action="store_true", help="a tiny size: shows that it runs, no more")
        command.add_argument("--directory", type=Path, metavar="PATH", help="where the databases are put")
    return parser


if __name__ == "__main__":
    sys.exit(main())
