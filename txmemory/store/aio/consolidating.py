"""A consolidation job, group by group: the summariser takes its time between two transactions, never inside one."""

import logging
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from returns.result import Failure, Result, Success

from txmemory.drive import run_async
from txmemory.flow import consolidating, reading, writing
from txmemory.flow.requests import Flow
from txmemory.memories.consolidation import (
    Consolidated,
    Consolidation,
    FailedGroup,
    Gathered,
    Gathering,
    Group,
    Job,
    summary_of,
)
from txmemory.memories.values import Memory
from txmemory.model import command as wanted
from txmemory.model.address import Address, Presenter
from txmemory.model.outcome import Outcome, Receipt
from txmemory.model.refusal import LeaseLost, Refusal
from txmemory.port import AsyncBackend
from txmemory.rules.settling import AppliedRefusal, ConsolidateRefusal
from txmemory.store.core import Handle

Value = TypeVar("Value")
AnyRefusal = TypeVar("AnyRefusal", bound=Refusal)
_log = logging.getLogger("txmemory")


@dataclass(frozen=True, slots=True)
class AsyncConsolidating:
    """One run of a job through a writer's handle and token."""

    handle: Handle[AsyncBackend]
    presenter: Presenter
    holds: Callable[[], bool]
    """Whether its lease, if it has one, is still there: asked before anything is sent."""
    job: Job
    summarise: Callable[[Group], Awaitable[str]]
    strict: bool

    async def run(self) -> Result[Consolidation, ConsolidateRefusal]:
        """What is recorded in the end, by this run and by others; the job's key says that it is finished."""
        stored: set[str] = set()
        failed: list[FailedGroup] = []
        finished = await self._applied(self.job.finished)
        if isinstance(finished, Failure):
            return finished
        if finished.unwrap() is None:
            worked = await self._work(stored, failed)
            if isinstance(worked, Failure):
                return worked
        flow = consolidating.recorded(self.handle.tenant, self.presenter, self.job.prefix)
        recorded = await self._ask(flow)
        return recorded.map(
            lambda found: Consolidation(self.job.finished, self._told(found, stored), tuple(failed))
        )

    async def _work(self, stored: set[str], failed: list[FailedGroup]) -> Result[None, ConsolidateRefusal]:
        """Takes every group once; notes the keys of those it stored, and those that failed."""
        handle, job = self.handle, self.job
        gathering = Gathering(job.max_memories_per_group)
        flow = reading.visited(handle.tenant, handle.namespace, job.condition, None, gathering.take)
        seen = await self._ask(flow)
        if isinstance(seen, Failure):
            return seen
        for gathered in gathering.of_at_least(job.min_count):
            key = job.key_of(gathered.topic)
            taken = await self._take(key, gathered)
            if isinstance(taken, Failure):
                return taken
            match taken.unwrap():
                case Receipt(replayed=False):
                    stored.add(key)
                case FailedGroup() as group:
                    failed.append(group)
                case _:
                    pass
        if failed:
            return Success(None)
        finished = await self._replace(job.finished, (), ())
        return finished.map(lambda _: None)

    async def _take(
        self, key: str, gathered: Gathered
    ) -> Result[Receipt | FailedGroup | None, ConsolidateRefusal]:
        """Replaces one group; None where that is recorded already, or too little of the group is left."""
        looked = await self._applied(key)
        if isinstance(looked, Failure):
            return looked
        if looked.unwrap() is not None:
            return Success(None)
        handle = self.handle
        places = tuple(Address(handle.namespace, id) for id, _ in gathered.places)
        found = await self._ask(reading.there(handle.tenant, places))
        if isinstance(found, Failure):
            return found
        group = self.job.group_of(gathered, found.unwrap())
        if group is None:
            return Success(None)
        try:
            summary = summary_of(group, await self.summarise(group))
        except Exception as error:  # whatever a model raises, the other groups go on
            if self.strict:
                raise
            return Success(_failed(group, error))
        return await self._replace(key, (summary,), group.memories)

    async def _applied(self, key: str) -> Result[Outcome | None, AppliedRefusal]:
        return await self._ask(writing.applied(wanted.Applied(key), self.handle.tenant, self.presenter))

    async def _replace(
        self, key: str, add: Iterable[Memory], remove: Iterable[Memory]
    ) -> Result[Receipt, ConsolidateRefusal]:
        command = self.handle.write("replace", key, add, remove, None, None, "return")
        return await self._ask(consolidating.replace(command, self.handle.tenant, self.presenter))

    async def _ask(self, flow: Flow[Result[Value, AnyRefusal]]) -> Result[Value, AnyRefusal | LeaseLost]:
        if not self.holds():
            return Failure(LeaseLost())
        return await run_async(flow, self.handle.backend, self.handle.patience)

    def _told(self, recorded: dict[str, Outcome], stored: set[str]) -> tuple[Consolidated, ...]:
        in_order = sorted(recorded.items(), key=lambda each: each[1].seq or 0)
        return tuple(
            Consolidated(self.job.type_of(key), key, outcome, replayed=key not in stored)
            for key, outcome in in_order
        )


def _failed(group: Group, error: Exception) -> FailedGroup:
    """Says so without saying whose it was, or what."""
    name, size = type(error).__name__, len(group.memories)
    _log.warning("no summary of %d memories of type %s: %s", size, group.memory_type, name)
    return FailedGroup(group.memory_type, group.name, size, name)
