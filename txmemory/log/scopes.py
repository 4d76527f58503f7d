"""Every scope beside its events: the first pass over the log, and mending what follows from it."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from txmemory.flow.requests import Flow
from txmemory.log import ledgers
from txmemory.log.asking import Stopped, ask
from txmemory.log.checkpoint import Course
from txmemory.model.address import namespace_text
from txmemory.model.finding import Finding
from txmemory.model.refusal import Contended, Unavailable
from txmemory.model.repair import REPAIR_MOST, Mended, Repair, ScopeRepair
from txmemory.model.verifying import LAST, LEAST, KeyFound, Logged, LogRow, ScopeFound, Scopes, StrayKeys
from txmemory.rules.checking import ScopeCheck
from txmemory.rules.sums import mark


@dataclass(slots=True)
class Restored:
    """How much a rebuild has restored."""

    scopes: int = 0
    keys: int = 0
    heads: int = 0

    def add(self, mended: Mended) -> None:
        """One transaction more."""
        self.scopes += mended.scopes
        self.keys += mended.keys
        self.heads += mended.heads


def take_effects(course: Course, namespace: str | None, row: LogRow) -> None:
    """Adds what an event says of revisions to the log's side."""
    event = row.event
    if event is None:
        return
    at, by = event.at, event.actor
    course.horizon = max(course.horizon, at)
    for path, id, revision, _, reason, bound in event.effects:
        place = namespace_text(path)
        if namespace is None or place == namespace:
            course.sums.add(mark(place, id, revision, reason, bound, at, by))


class ScopesPass:
    """Reads the rows of scopes, a page at a time, and behind each page the events of its scopes."""

    def __init__(self, course: Course, tenant: str, restored: Restored | None) -> None:
        self._course = course
        self._tenant = tenant
        self._restored = restored
        """Where what is found is mended as it is found, how much that was."""

    def run(self) -> Flow[None]:
        """All scopes from where the course stands."""
        more = True
        while more:
            after = self._course.at.scope[0]
            page = yield from ask(Scopes(self._tenant, after))
            more = page.more
            until = page.rows[-1].scope if more else None
            yield from self._range(page.rows, after, until)
            if until is not None:
                self._course.move(scope=(until, LAST))
        self._course.move(stage="others")

    def _range(self, rows: Sequence[ScopeFound], after: str, until: str | None) -> Flow[None]:
        waiting = deque(rows)
        check: ScopeCheck | None = None
        place, more = (after, LAST if after else LEAST), True
        while more:
            page = yield from ask(Logged(self._tenant, place, until))
            self._course.count(events=len(page.rows))
            for row in page.rows:
                name = row.scope or ""
                if check is None or check.scope != name:
                    if check is not None:
                        yield from self._close(check)
                    while waiting and waiting[0].scope < name:
                        yield from self._close(self._check(waiting.popleft()))
                    known = bool(waiting) and waiting[0].scope == name
                    check = self._check(waiting.popleft()) if known else ScopeCheck(self._tenant, name, None)
                check.take(row)
                take_effects(self._course, None, row)
            more = page.more
            if page.rows:
                place = (page.rows[-1].scope or "", page.rows[-1].seq or 0)
        if check is not None:
            yield from self._close(check)
        for found in waiting:
            yield from self._close(self._check(found))
        yield from self._strays(after, until)

    def _check(self, found: ScopeFound) -> ScopeCheck:
        self._course.count(scopes=1, keys=found.keys)
        return ScopeCheck(self._tenant, found.scope, found)

    def _close(self, check: ScopeCheck) -> Flow[None]:
        findings, repairs = yield from judged(self._tenant, check)
        if self._restored is not None:
            for repair in repairs:
                self._restored.add((yield from mend(Repair(self._tenant, repair))))
            mended = {key for repair in repairs for key, _ in repair.keys}
            findings = [each for each in findings if not _mended(each, mended, whole=check.whole)]
        self._course.found(*findings)

    def _strays(self, after: str, until: str | None) -> Flow[None]:
        """Keys whose scope is gone, with all of its events: nothing says whether they may go, too."""
        place, more = (after, "\U0010ffff" if after else ""), True
        while more:
            page = yield from ask(StrayKeys(self._tenant, place, until))
            for scope, keys in _by_scope(page.rows).items():
                if not (yield from self._is_told(scope)):
                    self._course.found(*(_unexplained(self._tenant, scope, key) for key in keys))
            more = page.more
            if page.rows:
                place = page.rows[-1].scope, page.rows[-1].key

    def _is_told(self, scope: str) -> Flow[bool]:
        """Whether the scope has events: then it was looked at."""
        page = yield from ask(Logged(self._tenant, (scope, LEAST), scope, limit=1))
        return bool(page.rows)


def _unexplained(tenant: str, scope: str, key: str) -> Finding:
    return Finding("key_unexplained", tenant, scope, key=key)


def _mended(finding: Finding, keys: set[str], *, whole: bool) -> bool:
    """Whether a rebuild restores it: where events are missing it only sees to it that there is a fence."""
    if finding.kind in ("fence_lowered", "scope_missing"):
        return True
    return finding.derived and whole and (finding.key is None or finding.key in keys)


def _by_scope(rows: Sequence[KeyFound]) -> dict[str, list[str]]:
    scopes: dict[str, list[str]] = {}
    for row in rows:
        scopes.setdefault(row.scope, []).append(row.key)
    return scopes


def judged(tenant: str, check: ScopeCheck) -> Flow[tuple[list[Finding], list[ScopeRepair]]]:
    """What is wrong with a scope whose events were all read, and what would mend it."""
    check.finish()
    findings, state = check.findings, check.state
    if check.row is None or check.ahead:  # written since its row was read, or wrong: by now its row must know
        rows = (yield from ask(Scopes(tenant, scope=check.scope))).rows
        if not rows:
            findings.append(check.finding("scope_missing"))
        elif rows[0].state.seq < check.seq:
            findings.append(check.finding("scope_differs"))
    differing: tuple[ledgers.KeyDifference, ...] = ()
    if check.suspect:
        state, differing = yield from ledgers.differences(tenant, check.scope)
        findings.extend(check.finding(each.kind, key=each.key) for each in differing)
    if not any(finding.derived for finding in findings):
        return findings, []
    keys = [(each.key, each.wanted) for each in differing if not each.doubted]
    starts = range(0, max(1, len(keys)), REPAIR_MOST)
    parts = [tuple(keys[start : start + REPAIR_MOST]) for start in starts]
    return findings, [ScopeRepair(check.scope, state, part, check.whole) for part in parts]


def mend(repair: Repair) -> Flow[Mended]:
    """Carries a repair out; raises `Stopped` where it is refused."""
    mended: Mended | Contended | Unavailable = yield repair
    if not isinstance(mended, Mended):
        raise Stopped(mended)
    return mended
