"""Rebuilding what follows from log and history, in many short transactions, while the store is in use."""

from txmemory.flow.requests import Flow
from txmemory.log.asking import ItemsPass
from txmemory.log.checkpoint import Course
from txmemory.log.scopes import Restored, mend
from txmemory.log.verifying import Part, audit, check_file, started, tenants
from txmemory.model.address import namespace_text
from txmemory.model.finding import Finding, Rebuilt
from txmemory.model.repair import REPAIR_MOST, HeadRepair, Repair
from txmemory.rules.checking import ItemCheck


def rebuild(tenant: str | None) -> Flow[Rebuilt]:
    """Restores what follows in one tenant, or with None in all."""
    course, restored = started(Part(tenant), None, None), Restored()
    for each in (yield from tenants(course)) if tenant is None else [tenant]:
        course.begin(each)
        yield from _tenant(course, each, restored)
    if tenant is None:
        yield from check_file(course)
    told = (restored.scopes, restored.keys, restored.heads)
    return Rebuilt(*told, course.findings, course.more, course.read)


def _tenant(course: Course, tenant: str, restored: Restored) -> Flow[None]:
    """Scopes and their ledgers as they are verified; then, knowing which histories are whole, the heads."""
    compared, heads_differ = yield from audit(course, tenant, None, restored)
    if heads_differ:
        yield from _heads(course, tenant, compared.addresses, restored)


def _heads(course: Course, tenant: str, broken: frozenset[tuple[str, str]], restored: Restored) -> Flow[None]:
    """Heads of items whose history is not as the log tells it stay as they are."""
    items, waiting = ItemsPass(tenant, None), _Waiting(course, tenant, broken, restored)
    while items.more():
        for found in (yield from items.page()):
            items.check.take(found)
        yield from items.finish()
        yield from waiting.take(items.check)
    yield from waiting.finish()


class _Waiting:
    """Repairs of heads, until there are enough of them for a transaction."""

    def __init__(
        self, course: Course, tenant: str, broken: frozenset[tuple[str, str]], restored: Restored
    ) -> None:
        self._course = course
        self._tenant = tenant
        self._broken = broken
        self._restored = restored
        self._repairs: list[HeadRepair] = []

    def take(self, check: ItemCheck) -> Flow[None]:
        """What a page has brought; what is not to be mended is told."""
        mended = {_stored(each) for each in check.repairs} - self._broken
        self._repairs.extend(each for each in check.repairs if _stored(each) in mended)
        self._course.found(*(each for each in check.findings if each.derived and _place(each) not in mended))
        check.findings.clear()
        check.repairs.clear()
        while len(self._repairs) >= REPAIR_MOST:
            yield from self._mend()

    def finish(self) -> Flow[None]:
        """There are no more."""
        if self._repairs:
            yield from self._mend()

    def _mend(self) -> Flow[None]:
        part, self._repairs = self._repairs[:REPAIR_MOST], self._repairs[REPAIR_MOST:]
        self._restored.add((yield from mend(Repair(self._tenant, heads=tuple(part)))))


def _stored(repair: HeadRepair) -> tuple[str, str]:
    return namespace_text(repair.address.namespace), repair.address.id


def _place(finding: Finding) -> tuple[str, str]:
    return namespace_text(finding.namespace or ()), finding.id or ""
