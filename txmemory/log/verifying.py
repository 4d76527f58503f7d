"""Verifying a store: two passes, over the log and over the items, and a closer look where they differ."""

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from txmemory.flow.requests import Flow
from txmemory.log.asking import ItemsPass, ask
from txmemory.log.checkpoint import Checkpoint, Course, Progress
from txmemory.log.comparing import Compared, Place, compare, marked, told_by
from txmemory.log.scopes import Restored, ScopesPass, judged, take_effects
from txmemory.model.address import Namespace, Ref, namespace_text
from txmemory.model.finding import Finding, Verified
from txmemory.model.limits import PAGE_ROWS
from txmemory.model.verifying import (
    LEAST,
    NAMELESS,
    At,
    Intact,
    Logged,
    LogRow,
    RevisionFound,
    Scopes,
    StrayKeys,
    Tenants,
    Unscoped,
    entry_of,
)
from txmemory.rules.checking import ScopeCheck, item_finding

Extent = Literal["namespace", "tenant", "store"]


class Part(NamedTuple):
    """What is verified: of a tenant one scope, or one namespace, or all of it; without a tenant the whole store."""

    tenant: str | None
    scope: str | None = None
    namespace: Namespace | None = None

    def __repr__(self) -> str:
        """Nothing of the caller's."""
        return "<Part>"

    @property
    def name(self) -> str:
        """What tells it from others."""
        return "\n".join("" if part is None else str(part) for part in self)

    @property
    def place(self) -> str | None:
        """The stored namespace."""
        return None if self.namespace is None else namespace_text(self.namespace)


def started(part: Part, begun: Checkpoint | None, progress: Progress | None) -> Course:
    """The course of a verification from its beginning, or from where another one of the same part has come."""
    if not (begun is None or isinstance(begun, Checkpoint)):
        raise TypeError("begun is a checkpoint")
    if not (progress is None or callable(progress)):
        raise TypeError("progress is a function")
    if begun is None:
        return Course(Checkpoint(part=part.name, tenant=part.tenant or ""), progress)
    if begun.part != part.name:
        raise ValueError("begun is the checkpoint of another call")
    return Course(begun, progress)


def verify(part: Part, course: Course) -> Flow[Verified]:
    """Reads all of a part and names what differs."""
    if part.tenant is None:
        yield from _store(course)
    elif part.scope is not None:
        yield from _scope(course, part.tenant, part.scope)
    else:
        yield from audit(course, part.tenant, part.place, None)
    return Verified(course.findings, course.more, course.read)


def _store(course: Course) -> Flow[None]:
    begun = course.at.tenant
    if begun:
        yield from audit(course, begun, None, None)
    for tenant in (yield from tenants(course, begun)):
        course.begin(tenant)
        yield from audit(course, tenant, None, None)
    yield from check_file(course)


def tenants(course: Course, after: str = "") -> Flow[list[str]]:
    """Every tenant, behind one. What is no name stands behind all of them, and is none of anybody's."""
    found: list[str] = []
    more = True
    while more:
        page = yield from ask(Tenants(found[-1] if found else after))
        found.extend(page.rows)
        more = page.more
        if found and found[-1] == NAMELESS:
            course.found(Finding("file_damaged"))
            return [each for each in found if each != NAMELESS]
    return found


def check_file(course: Course) -> Flow[None]:
    """The engine's own look at its file."""
    if not (yield from ask(Intact())).rows[0]:
        course.found(Finding("file_damaged"))


class Audited(NamedTuple):
    """Where log and history differ, and whether any head does from its history."""

    compared: Compared
    heads_differ: bool


def audit(course: Course, tenant: str, namespace: str | None, restored: Restored | None) -> Flow[Audited]:
    """Goes through a tenant, or one of its namespaces, from where the course stands."""
    if course.at.stage == "scopes":
        if namespace is None:
            yield from ScopesPass(course, tenant, restored).run()
        else:
            yield from _effects_of_scopes(course, tenant, namespace)
    if course.at.stage == "others":
        yield from _effects_of_others(course, tenant, namespace)
    heads_differ = yield from _items(course, tenant, namespace, tell_heads=restored is None)
    differing = course.sums.differing()
    rows = course.read.events + course.read.revisions
    compared = Compared()
    if differing:
        compared = yield from compare(tenant, namespace, differing, course.horizon, rows)
        course.found(*compared.findings(tenant))
    return Audited(compared, heads_differ)


def _effects_of_scopes(course: Course, tenant: str, namespace: str) -> Flow[None]:
    more = True
    while more:
        page = yield from ask(Logged(tenant, course.at.scope))
        course.count(events=len(page.rows))
        for row in page.rows:
            take_effects(course, namespace, row)
        more = page.more
        if more:
            course.move(scope=(page.rows[-1].scope or "", page.rows[-1].seq or 0))
    course.move(stage="others")


def _effects_of_others(course: Course, tenant: str, namespace: str | None) -> Flow[None]:
    """Events that have no place in a scope."""
    more = True
    while more:
        page = yield from ask(Unscoped(tenant, course.at.row))
        for row in page.rows:
            if row.scope is None or row.seq is None:
                course.count(events=1)
                if row.event is None:
                    course.found(Finding("event_unreadable", tenant, row.scope, row.seq))
                take_effects(course, namespace, row)
        more = page.more
        if more:
            course.move(row=page.rows[-1].row)
    course.move(stage="items")


def _items(course: Course, tenant: str, namespace: str | None, *, tell_heads: bool) -> Flow[bool]:
    """Answers whether a head differs from what follows."""
    items, heads_differ, take = ItemsPass(tenant, namespace, course.at.item), False, course.sums.take
    check = items.check
    while items.more():
        rows, horizon = (yield from items.page()), course.horizon
        for found in rows:
            check.take(found)
            entry = found.entry
            if entry is not None:
                take(marked(found, entry), young=entry.at > horizon)
        course.count(items=(yield from items.finish()), revisions=len(rows))
        heads_differ = heads_differ or any(each.derived for each in check.findings)
        course.found(*(each for each in check.findings if tell_heads or not each.derived))
        check.findings.clear()
        check.repairs.clear()
        if items.at is not None:
            course.move(item=items.at)
    return heads_differ


def _scope(course: Course, tenant: str, scope: str) -> Flow[None]:
    """One scope: its row, its ledger, and what its events say of revisions."""
    rows = (yield from ask(Scopes(tenant, scope=scope))).rows
    check = ScopeCheck(tenant, scope, rows[0] if rows else None)
    course.count(scopes=len(rows), keys=rows[0].keys if rows else 0)
    seq, more = LEAST, True
    while more:
        page = yield from ask(Logged(tenant, (scope, seq), scope))
        course.count(events=len(page.rows))
        for row in page.rows:
            check.take(row)
            seq = row.seq or 0
        yield from _revisions(course, tenant, page.rows)
        more = page.more
    if rows or check.seq:
        findings, _ = yield from judged(tenant, check)
        course.found(*findings)
    else:
        yield from _strays(course, tenant, scope)


def _strays(course: Course, tenant: str, scope: str) -> Flow[None]:
    """Keys of a scope of which there is nothing else."""
    after, more = "", True
    while more:
        page = yield from ask(StrayKeys(tenant, (scope, after), scope))
        course.found(*(Finding("key_unexplained", tenant, scope, key=row.key) for row in page.rows))
        more = page.more
        after = page.rows[-1].key if more else ""


def _revisions(course: Course, tenant: str, rows: Sequence[LogRow]) -> Flow[None]:
    told = [
        (Ref(effect.namespace, effect.id, effect.revision), place, mark)
        for row in rows
        if row.event is not None
        for effect, (place, mark) in zip(row.event.effects, told_by(row.event), strict=True)
    ]
    for start in range(0, len(told), PAGE_ROWS):
        part = told[start : start + PAGE_ROWS]
        page = yield from ask(At(tenant, tuple(ref for ref, _, _ in part)))
        found = {Place(*each[:3]): each for each in page.rows}
        course.count(revisions=len(found))
        course.found(*_unlike(tenant, part, found))


def _unlike(
    tenant: str, told: list[tuple[Ref, Place, int]], found: dict[Place, RevisionFound]
) -> Iterator[Finding]:
    for _, place, mark in told:
        there = found.get(place)
        if there is None:
            yield item_finding("revision_missing", tenant, place[:2], place.number)
        elif there.revision is None or marked(place, entry_of(there.revision)) != mark:
            yield item_finding("revision_changed", tenant, place[:2], place.number)
