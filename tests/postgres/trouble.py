"""What befalls a server or its connections while others work, on a thread of its own."""

import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tests.postgres.watching import until
from tests.postgres.worlds import World

STEP = 25
"""Answers that are awaited between two accidents, so that each meets a working store."""
Deed = Callable[[World, random.Random], object]


class Trouble:
    """Accidents of one kind, one after each `STEP` answers; workers go on until it is over."""

    def __init__(self, world: World, deeds: list[Deed], seed: int) -> None:
        self._world, self._deeds, self._random = world, deeds, random.Random(seed)
        self.answers: list[object] = []
        """Workers put here what they were answered."""
        self._thread = threading.Thread(target=self._run, name="trouble")

    @property
    def over(self) -> bool:
        """Whether all has happened."""
        return not self._thread.is_alive()

    @contextmanager
    def happening(self) -> Iterator["Trouble"]:
        """While workers work."""
        self._thread.start()
        try:
            yield self
        finally:
            self._thread.join()

    def _run(self) -> None:
        for deed in self._deeds:
            answered = len(self.answers)
            until(lambda answered=answered: len(self.answers) >= answered + STEP)  # type: ignore[misc]  # bound early
            deed(self._world, self._random)


def restart(world: World, _: random.Random) -> None:
    """In order, its clients cut off."""
    world.server.restart()


def crash(world: World, _: random.Random) -> None:
    """At once, with a recovery."""
    world.server.restart(immediate=True)


def terminate(world: World, by: random.Random) -> None:
    """One of the connections of our database."""
    for pid in by.sample(sorted(world.others()), 1):
        world.server.terminate(pid)


def cut(world: World, _: random.Random) -> None:
    """All connections through the proxy."""
    world.proxy.cut()


TROUBLES: dict[str, list[Deed]] = {
    "restarts": [restart, crash, restart, crash],
    "terminations": [terminate] * 30,
    "cuts": [cut] * 30,
}


@contextmanager
def beside(deed: Callable[[], object]) -> Iterator[None]:
    """Does it on a thread of its own while something else is done here; its failure is raised."""
    failures: list[BaseException] = []

    def run() -> None:
        try:
            deed()
        except BaseException as error:  # noqa: BLE001 - handed on
            failures.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        thread.join()
    for failure in failures:
        raise failure
