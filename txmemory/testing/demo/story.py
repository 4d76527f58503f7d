"""The demonstration from start to end, told in a few lines."""

import importlib
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import txmemory
from txmemory.testing.demo.checking import Contents, Findings, check, compare, contents
from txmemory.testing.demo.conversation import Conversation
from txmemory.testing.demo.steps import steps_of
from txmemory.testing.demo.supervisor import DemoFailed, Progress, Tally, Trial
from txmemory.testing.demo.worker import Place

_FOLDERS = {"sqlite": "sqlite", "postgresql": "postgres", "portable": "portable"}
"""Of the backends, by how a URL begins."""
LINES = 10
"""How many lines tell of the progress, and at most of faults."""


@dataclass(frozen=True, slots=True)
class Options:
    """What was asked for. Without a URL the memory is a fresh SQLite file that is removed afterwards."""

    conversation: Conversation
    kills: int = 25
    url: str | None = None
    seed: int = 0


def demonstrate(options: Options) -> bool:
    """Runs it, tells the story, and answers whether nothing was doubled and nothing lost."""
    began = time.monotonic()
    turns, steps = len(options.conversation.turns), len(steps_of(options.conversation))
    say(
        f'An agent works through "{options.conversation.name}": {turns} turns, {steps} steps, seed {options.seed}.'
    )
    say(f"It will be killed {options.kills} times and starts from the beginning every time.")
    try:
        with _places(options.url) as (place, calm_place):
            _warm(place)
            killed = Trial(place, options.conversation, options.kills, options.seed)
            tally = killed.run(_progress(options.kills, steps))
            Trial(calm_place, options.conversation, 0, options.seed).run(lambda _kills, _done: None)
            # Only now: a process that has had a store open must not be forked.
            found, calm = _read(place, killed.token + 1), _read(calm_place, killed.token + 1)
    except (DemoFailed, txmemory.Refused, txmemory.CannotOpen) as failed:
        say(f"FAILED: {failed} (seed {options.seed})")
        return False
    findings = check(found, options.conversation)
    faults = [*findings.faults, *compare(found, calm), *miscounted(tally, options)]
    faults += [f"never killed, and yet: {fault}" for fault in check(calm, options.conversation).faults]
    _tell(tally, findings, time.monotonic() - began)
    for fault in faults[:LINES]:
        say(f"FAILED: {fault} (seed {options.seed})")
    if len(faults) > LINES:
        say(f"FAILED: and {len(faults) - LINES} more")
    if not faults:
        say("Every write happened exactly once.")
    return not faults


def say(line: str) -> None:
    """One line to the reader."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _read(place: Place, token: int) -> Contents:
    with txmemory.open(place.url) as store:
        return contents(store.tenant(place.tenant), token)


@contextmanager
def _places(url: str | None) -> Iterator[tuple[Place, Place]]:
    """Two places nobody has written to: for the run that is killed, and for the one that is not."""
    name = f"demo-{uuid4().hex}"
    if url is not None:
        _prepare(url)
        yield Place(url, name), Place(url, f"{name}-calm")
        return
    with tempfile.TemporaryDirectory(prefix="txmemory-demo-") as folder:
        killed, calm = (f"sqlite:///{Path(folder, file).absolute()}" for file in ("killed.db", "calm.db"))
        yield Place(killed, name), Place(calm, name)


def _prepare(url: str) -> None:
    """Makes the tables where a server has none yet; a file gets its own when it is opened."""
    if url.startswith(("postgresql://", "portable+postgresql")):
        try:
            txmemory.migrate(url)
        except ValueError as error:
            raise DemoFailed(f"ValueError: {error}") from None


def _warm(place: Place) -> None:
    """Imports what opening a store imports, so that a child costs a fork and not a start of Python."""
    importlib.import_module("txmemory.store.opening")
    folder = _FOLDERS.get(place.url.partition("://")[0].partition("+")[0], "none")
    for name in ("migrating", "opening"):
        # What is not there is not needed, or the worker that needs it says so.
        with suppress(ModuleNotFoundError):
            importlib.import_module(f"txmemory.backends.{folder}.{name}")


def _progress(kills: int, steps: int) -> Progress:
    told = 0

    def tell(killed: int, done: int) -> None:
        nonlocal told
        if kills and killed * LINES // kills > told:
            told = killed * LINES // kills
            say(f"  kill {killed:>5}: step {done:>4} of {steps}")

    return tell


def miscounted(tally: Tally, options: Options) -> Iterator[str]:
    """Whether every kill was made, and every worker that was stopped and overtaken was refused."""
    if tally.kills != options.kills or sum(tally.places.values()) != options.kills:
        yield f"{tally.kills} kills instead of {options.kills}"
    if tally.refusals + tally.too_late != tally.stops:
        yield f"of {tally.stops} stopped workers {tally.refusals} were refused"


def _tell(tally: Tally, findings: Findings, seconds: float) -> None:
    places = tally.places
    where = f"opening {places['opening']}, replaying {places['replaying']}, "
    where += f"writing {places['writing']}, between writes {places['between']}"
    late = f"; {tally.too_late} had nothing left to do" if tally.too_late else ""
    lines = [
        ("turns", findings.turns, "as in a second run that was never killed"),
        ("keys", findings.keys, "one ledger row each, as in that run"),
        ("kills", tally.kills, where),
        ("landed", tally.landed, "writes were made although the worker died in them; none was made again"),
        ("lives", tally.lives, f"{tally.restarts} of them under the token of the one before"),
        ("replays", tally.replays, f"steps answered by the ledger; the model was asked {tally.asked} times"),
        ("stopped", tally.stops, "workers were stopped, and went on after a successor had taken over"),
        ("refusals", tally.refusals, f"Fenced, all of them of those workers{late}"),
        ("superseded", findings.superseded, "second summaries of the same facts, as planned"),
        ("mixed", findings.mixed, "keys with items of more than one life"),
        ("duplicates", findings.duplicates, ""),
        ("lost", findings.lost, ""),
    ]
    for name, number, words in lines:
        say(f"  {name:<11}{number:>7}  {words}".rstrip())
    say(f"  {'seconds':<11}{seconds:>7.1f}")
