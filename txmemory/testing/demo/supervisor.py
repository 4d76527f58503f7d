"""The supervisor: starts the agent, kills it or stops it at random moments, starts it again, and keeps count."""

import random
import select
import signal
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, assert_never

from txmemory.testing.demo.agent import Doing
from txmemory.testing.demo.conversation import Conversation
from txmemory.testing.demo.steps import steps_of
from txmemory.testing.demo.worker import (
    Did,
    Failed,
    Finished,
    Life,
    Message,
    Place,
    WasFenced,
    Worker,
)
from txmemory.testing.processes import Lifeline

STOP_EVERY = 6
"""Every so many lives one is stopped instead of killed, and goes on when a successor has taken over."""
SAME_TOKEN = 0.25
"""How often a killed worker comes back under its own token: the same claim, started again."""
ANY_MOMENT = 0.2
"""How often a kill is aimed at a moment counted from the start, not at a new step."""
LATEST = 1.3
"""How long after the beginning of a step its kill comes at most, in times of a write."""
MISSES = 100
"""So many workers in a row that finished before they were struck are too many."""
STALLED = 0.2
"""Seconds without a word from a successor, after which the stopped worker may end its transaction."""
SILENT = 60.0
"""Seconds without a word from anybody, after which the demonstration has failed."""


class DemoFailed(Exception):
    """Something that must not happen; the text says what."""


Progress = Callable[[int, int], None]
"""Is told after every life how many kills there were, and how many steps are done."""
Where = Literal["opening", "replaying", "between", "writing"]


@dataclass(slots=True)
class Tally:
    """What happened, counted."""

    lives: int = 0
    kills: int = 0
    places: Counter[Where] = field(default_factory=Counter)
    """What the killed were doing."""
    landed: int = 0
    """How many were killed after their write was made and before they could say so."""
    restarts: int = 0
    """How many lives took over the token of the one before."""
    stops: int = 0
    refusals: int = 0
    too_late: int = 0
    """How many were let go when they had nothing left to do."""
    replays: int = 0
    asked: int = 0


@dataclass(frozen=True, slots=True)
class Aim:
    """When to strike: in the write of a new step, after `ahead` others, or before that at a moment of the life."""

    ahead: int
    moment: float | None
    stop: bool
    """To stop instead of to kill."""


class Trial:
    """Many lives of one agent over one store."""

    def __init__(self, place: Place, conversation: Conversation, kills: int, seed: int) -> None:
        self.tally = Tally()
        self.token = 1
        self._place = place
        self._conversation = conversation
        self._kills = kills
        self._seed = seed
        self._chance = random.Random(seed)  # chance for a play, not for a secret
        self._steps = len(steps_of(conversation))
        self._frontier = 0  # the first step that nobody has reported as done
        self._wrote: set[int] = set()
        self._inside: int | None = None  # the step in whose write the last worker was killed
        self._until_new = 0.05  # seconds from a start to the first new step, as last seen
        self._write = 0.001  # seconds that a write takes, on a moving average
        self._step_began = 0.0
        self._misses = 0
        self._lifeline = Lifeline()
        self._workers: list[Worker] = []
        self._stopped: Worker | None = None
        self._stopped_at = 0.0
        self._loose = False  # the stopped worker goes on for a moment, to end a transaction
        self._patience = 1  # how many accepted calls of a successor the stopped worker waits for
        self._heard = time.monotonic()

    def run(self, progress: Progress) -> Tally:
        """Kills as often as was asked, lets the last life finish, and answers what happened."""
        try:
            while self.tally.kills < self._kills:
                self._live(self._aim())
                self._take_over()
                progress(self.tally.kills, self._frontier)
            self._live(None)
            while self._workers:
                self._let_go(self._workers[-1])
                self._listen(0.1)
        finally:
            self._lifeline.close()
            for worker in self._workers:
                worker.end()
        if self._frontier < self._steps:
            raise DemoFailed(f"the last life ended at step {self._frontier} of {self._steps}")
        return self.tally

    def _aim(self) -> Aim:
        steps, kills = self._steps - self._frontier, self._kills - self.tally.kills
        if self._misses > MISSES:
            raise DemoFailed("the workers finish before they can be killed")
        stop = self._stopped is None and self.tally.lives % STOP_EVERY == STOP_EVERY // 2
        # So many new steps a life lets the last kills meet the last steps.
        share = steps / (kills + 1)
        if steps == 0 or self._chance.random() < (ANY_MOMENT if share > 1 else 1 - share / 2):
            most = 1.1 * self._until_new / (1 + self._misses)
            return Aim(0, self._chance.uniform(0, most), stop)
        return Aim(min(self._chance.randint(0, round(2 * share)), steps - 1), None, stop)

    def _live(self, aim: Aim | None) -> None:
        """One life, from its start until it is struck or has ended."""
        number = self.tally.lives = self.tally.lives + 1
        life = Life(self._place, self._conversation, self.token, number, self._seed)
        worker = life.begin(self._lifeline)
        self._workers.append(worker)
        target = self._frontier + (aim.ahead if aim else 0)
        due = None if aim is None or aim.moment is None else worker.began + aim.moment
        aimed = False
        while not worker.ended:
            pause = 0.05 if due is None else min(0.05, max(0.0, due - time.monotonic()))
            self._listen(pause)
            if aim and worker.last and worker.last.step >= target and not aimed:
                aimed, due = True, time.monotonic() + self._chance.uniform(0, LATEST * self._write)
            if aim and due is not None and time.monotonic() >= due and not worker.ended:
                self._strike(worker, stop=aim.stop)
                return
            self._let_go(worker)
        self._misses += 1

    def _strike(self, worker: Worker, *, stop: bool) -> None:
        if stop:
            self._stop(worker)
            worker.overtaken = True
            self._patience = self._chance.randint(1, 4)
            self.tally.stops += 1
            return
        worker.send(signal.SIGKILL)
        while not worker.ended:
            self._listen(0.05)
        if not worker.killed:
            self._misses += 1
            return
        self._misses = 0
        self.tally.kills += 1
        where = self._where(worker.last)
        self.tally.places[where] += 1
        if where == "writing" and worker.last:
            self._inside = worker.last.step

    def _where(self, last: Did | None) -> Where:
        match last:
            case None:
                return "opening"
            case Did("begin" | "asked", step) if step >= self._frontier:
                return "writing"
            case Did("wrote"):
                return "between"
            case _:
                return "replaying"

    def _take_over(self) -> None:
        """Gives the next life its token: a greater one, or that of a worker that is dead for certain."""
        if self._workers and self._workers[-1].token == self.token:
            self.token += 1
        elif self._chance.random() < SAME_TOKEN:
            self.tally.restarts += 1
        else:
            self.token += self._chance.randint(1, 3)

    def _let_go(self, successor: Worker) -> None:
        """Lets the stopped worker go on once a successor was accepted: from then on it must be refused.

        It may have been stopped inside a transaction that holds the file's lock. Then its successor stalls, and
        it goes on until that transaction is over.
        """
        stopped = self._stopped
        if stopped is None or stopped.ended:
            self._stopped = None
        elif successor is stopped or successor.accepted >= self._patience:
            stopped.send(signal.SIGCONT)
            self._stopped = None
        elif successor.accepted == 0 and time.monotonic() - max(successor.began, self._stopped_at) > STALLED:
            stopped.send(signal.SIGCONT)
            self._loose = True

    def _stop(self, worker: Worker) -> None:
        worker.send(signal.SIGSTOP)
        self._stopped, self._stopped_at, self._loose = worker, time.monotonic(), False

    def _listen(self, seconds: float) -> None:
        """Hears what the workers say within the time."""
        heard, _, _ = select.select([worker.reports for worker in self._workers], [], [], seconds)
        for worker in [each for each in self._workers if each.reports in heard]:
            for message in worker.read():
                self._note(worker, message)
            if worker.ended:
                self._workers.remove(worker)
        now = time.monotonic()
        if heard:
            self._heard = now
        elif now - self._heard > SILENT:
            raise DemoFailed(f"no worker has said a word for {SILENT:.0f} seconds")

    def _note(self, worker: Worker, message: Message) -> None:
        match message:
            case Did(doing, step):
                self._count(worker, doing, step)
                if worker is self._stopped and self._loose and doing in {"wrote", "replayed"}:
                    self._stop(worker)
            case WasFenced(presented, newest):
                if not (worker.overtaken and presented == worker.token < newest <= self.token):
                    raise DemoFailed(
                        f"token {presented} was refused for {newest}, and had not been overtaken"
                    )
                self.tally.refusals += 1
            case Finished():
                self.tally.too_late += worker.overtaken
            case Failed(why):
                raise DemoFailed(f"a worker failed: {why}")
            case _:
                assert_never(message)

    def _count(self, worker: Worker, doing: Doing, step: int) -> None:
        match doing:
            case "begin":
                self._step_began = time.monotonic()
                if step == self._frontier:
                    self._until_new = time.monotonic() - worker.began
            case "asked":
                self.tally.asked += 1
            case "replayed":
                self.tally.replays += 1
                self.tally.landed += step == self._inside
                self._done(step)
            case "wrote":
                if step in self._wrote:
                    raise DemoFailed(f"step {step} was written by two lives")
                self._wrote.add(step)
                self._time(time.monotonic() - self._step_began)
                self._done(step)
            case _:
                assert_never(doing)

    def _time(self, write: float) -> None:
        if write < 10 * self._write:  # longer ones waited for somebody
            self._write += 0.1 * (write - self._write)

    def _done(self, step: int) -> None:
        self._frontier = max(self._frontier, step + 1)
        if step == self._inside:
            self._inside = None
