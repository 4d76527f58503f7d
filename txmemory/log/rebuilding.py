"""Rebuilding what follows from log and history, in many short transactions, while the store is in use."""

from txmemory.flow.requests import Flow
from txmemory.log.asking import ItemPages
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
    check = ItemCheck(tenant)
    waiting: list[HeadRepair] = []
    pages = ItemPages(tenant, None)
    while pages.more():
        for found in (yield from pages.page()):
            check.take(found)
        if not pages.more():
            check.finish()
        waiting.extend(each for each in check.repairs if _stored(each) not in broken)
        mended = {_stored(each) for each in check.repairs} - broken
        course.found(*(each for each in check.findings if each.derived and _place(each) not in mended))
        check.findings.clear()
        check.repairs.clear()
        while len(waiting) >= REPAIR_MOST or (waiting and not pages.more()):
            part, waiting = waiting[:REPAIR_MOST], waiting[REPAIR_MOST:]
            restored.add((yield from mend(Repair(tenant, heads=tuple(part)))))


def _stored(repair: HeadRepair) -> tuple[str, str]:
    return namespace_text(repair.address.namespace), repair.address.id


def _place(finding: Finding) -> tuple[str, str]:
    return namespace_text(finding.namespace or ()), finding.id or ""
