"""What a store must answer, as plainly as it can be said: dictionaries, no transaction, no rule of the package.

Written from the guarantees and independent of `txmemory.rules` and of every backend, so that a mistake would have to
be made twice. Refusals and outcomes are plain tuples.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, NamedTuple

Refs = tuple[tuple[str, int], ...]


class Who(NamedTuple):
    """Who acts: a scope, a token, perhaps a holder. `made` tells apart those of one name to whom claims are given."""

    scope: str
    token: int
    holder: str | None = None
    generation: int = 0
    made: int = 0

    @property
    def fence(self) -> tuple[int, int]:
        """In the order in which they are compared."""
        return self.generation, self.token

    @property
    def identity(self) -> tuple[str, int] | None:
        """The holder, told apart from others of its name; None where none is named."""
        return None if self.holder is None else (self.holder, self.made)


class Given(NamedTuple):
    """A memory as it is given."""

    id: str
    content: str
    timestamp: datetime | None
    kind: str = "knowledge"


class Limit(NamedTuple):
    """What a place may hold: a number of items, an age, or both."""

    most: int | None = None
    age: timedelta | None = None


class Done(NamedTuple):
    """An outcome without its time of record."""

    status: str
    added: Refs
    removed: Refs
    evicted: Refs
    seq: int | None
    token: int | None


class Told(NamedTuple):
    """A receipt."""

    done: Done
    replayed: bool = False
    diverged: bool = False


@dataclass
class Revision:
    """One entry of a history."""

    number: int
    content: str | None
    created: datetime | None
    reason: str
    by: str | None
    kind: str | None = None


@dataclass
class Scope:
    """What a scope remembers."""

    fence: tuple[int, int] = (0, 0)
    holder: tuple[str, int] | None = None
    until: datetime | None = None
    seq: int = 0
    sealed: bool = False
    ledger: dict[str, tuple[object, Done]] = field(default_factory=dict)


@dataclass
class Asked:
    """A keyed write as it is asked for. `remove` of None is a write, else a replacement; bounds are of the call."""

    key: str
    add: Sequence[Given]
    remove: Mapping[str, int | None] | None = None
    expect: Mapping[str, int | None] = field(default_factory=dict)
    bound: Limit | None = None
    refuse: bool = False

    def payload(self, place: str) -> object:
        """What makes two requests the same; a namespace counts where something in it is named."""
        kind = "write" if self.remove is None else "replace"
        expected = {(place, id): revision or 0 for id, revision in self.expect.items()}
        removed = {(place, id): revision or 0 for id, revision in (self.remove or {}).items()}
        bound = None if self.bound is None else (place, self.bound)
        return kind, [(place, given) for given in self.puts], expected, removed, bound

    @property
    def puts(self) -> list[Given]:
        """Of an id given twice the last, at its place."""
        last = {given.id: place for place, given in enumerate(self.add)}
        return [given for place, given in enumerate(self.add) if last[given.id] == place]


class Model:
    """One tenant: scopes, and items by namespace and id."""

    def __init__(self) -> None:
        self.scopes: dict[str, Scope] = {}
        self.items: dict[str, dict[str, list[Revision]]] = {}

    # ---- keyed calls -----------------------------------------------------------------------------

    def write(self, place: str, who: Who, asked: Asked, now: datetime) -> Any:
        """What `write` or `replace` answers."""
        return self._fenced(who) or self._judge(place, who, [asked], now)[0]

    def write_many(self, place: str, who: Who, asked: Sequence[Asked], now: datetime) -> Any:
        """What `write_many` answers."""
        return self._fenced(who) or self._judge(place, who, asked, now)

    def applied(self, who: Who, key: str) -> Any:
        """What `applied` answers."""
        if fenced := self._fenced(who):
            return fenced
        scope = self.scopes[who.scope]
        if scope.sealed:
            return ("sealed",)
        return scope.ledger[key][1] if key in scope.ledger else None

    def forget_applied(self, who: Who, key: str) -> Any:
        """What `forget_applied` answers."""
        if fenced := self._fenced(who):
            return fenced
        scope = self.scopes[who.scope]
        if scope.sealed:
            return ("sealed",)
        if key not in scope.ledger:
            return False
        del scope.ledger[key]
        scope.seq += 1
        return True

    def seal(self, who: Who) -> Any:
        """What `seal` answers."""
        if fenced := self._fenced(who):
            return fenced
        scope = self.scopes[who.scope]
        if scope.sealed:
            return 0
        gone = len(scope.ledger)
        scope.ledger.clear()
        scope.sealed = True
        scope.seq += 1
        return gone

    # ---- plain calls -----------------------------------------------------------------------------

    def swap(
        self, place: str, add: Sequence[Given], remove: Sequence[str], bound: Limit | None, now: datetime
    ) -> Done | None:
        """What `store`, `store_all` and `swap` answer."""
        if not add and not remove:
            return None
        added = self._put(place, Asked("", add).puts, None, now)
        there = [id for id in dict.fromkeys(remove) if id in self._live(place)]
        removed = self._end(place, there, "replaced", None)
        evicted = self._evict(place, bound, None, now) if added else ()
        return Done("stored", added, removed, evicted, None, None)

    def update(self, place: str, given: Given, bound: Limit | None, now: datetime, *, rename: bool) -> Any:
        """What `update` answers, whose function puts the given content."""
        live = self._live(place).get(given.id)
        if live is None or rename:
            return ("missing",) if live is None else ("renamed",)
        changed = given._replace(kind=live.kind or "", timestamp=live.created)
        return self.swap(place, [changed], [], bound, now)

    def delete(self, place: str, id: str) -> bool:
        """What `delete` answers."""
        return bool(self._end(place, [id], "deleted", None)) if id in self._live(place) else False

    def delete_matching(self, place: str, accepts: Callable[[Revision], bool]) -> int:
        """What `delete_matching` answers."""
        return len(
            self._end(place, [id for id, one in self._live(place).items() if accepts(one)], "deleted", None)
        )

    def clear(self, place: str) -> int:
        """What `clear` answers."""
        return len(self._end(place, list(self._live(place)), "cleared", None))

    def trim(self, place: str, bound: Limit, now: datetime) -> int:
        """What `trim` answers."""
        return len(self._evict(place, bound, None, now))

    # ---- reads -----------------------------------------------------------------------------------

    def recall(
        self, place: str, then: Mapping[str, int] | None = None
    ) -> list[tuple[str, str, datetime | None, int]]:
        """(id, content, timestamp, revision) of what is there, in the order of a recall.

        With `then` of what was there when these revisions of ids were the newest, and no other id was known.
        """
        there = self._live(place) if then is None else self._then(place, then)
        found = [(id, one.content or "", one.created, one.number) for id, one in there.items()]
        return sorted(found, key=lambda row: (row[2], row[0]), reverse=True)

    def kinds(self, place: str) -> dict[str, int]:
        """How many there are of each kind that there is."""
        kinds = [one.kind or "" for one in self._live(place).values()]
        return {kind: kinds.count(kind) for kind in kinds}

    def history(self, place: str, id: str) -> list[Revision]:
        """Every revision of an id."""
        return self.items.get(place, {}).get(id, [])

    def keys(self, scope: str) -> list[str]:
        """The applied keys of a scope."""
        return sorted(self.scopes[scope].ledger) if scope in self.scopes else []

    # ---- how -------------------------------------------------------------------------------------

    def _fenced(self, who: Who) -> tuple[str, tuple[int, int]] | None:
        scope = self.scopes.setdefault(who.scope, Scope(who.fence, who.identity))
        strangers = None not in (scope.holder, who.holder) and scope.holder != who.identity
        if who.fence < scope.fence or (who.fence == scope.fence and strangers):
            return "fenced", scope.fence
        if who.fence > scope.fence:
            scope.fence, scope.holder, scope.until = who.fence, who.identity, None
        scope.holder = scope.holder or who.identity
        return None

    def _judge(self, place: str, who: Who, asked: Sequence[Asked], now: datetime) -> list[Any]:
        scope = self.scopes[who.scope]
        if scope.sealed:
            return [("sealed",) for _ in asked]
        answers: list[Any] = [self._known(scope, place, one) or self._unmet(place, one) for one in asked]
        last: int | None = None
        for number, one in enumerate(asked):
            if answers[number] is not None:
                continue
            live = self._live(place)
            met = all(id in live and rev in (None, live[id].number) for id, rev in (one.remove or {}).items())
            added = self._put(place, one.puts, who.holder, now) if met else ()
            removed = self._end(place, list(one.remove or {}), "replaced", who.holder) if met else ()
            scope.seq += 1
            status = "stored" if met else "superseded"
            answers[number] = Told(Done(status, added, removed, (), scope.seq, who.token))
            scope.ledger[one.key] = one.payload(place), answers[number].done
            if added:
                last = number
        if last is not None:
            evicted = self._evict(place, asked[last].bound, who.holder, now)
            done = answers[last].done._replace(evicted=evicted)
            answers[last] = answers[last]._replace(done=done)
            scope.ledger[asked[last].key] = asked[last].payload(place), done
        return answers

    @staticmethod
    def _known(scope: Scope, place: str, asked: Asked) -> Any:
        if asked.key not in scope.ledger:
            return None
        payload, done = scope.ledger[asked.key]
        diverged = payload != asked.payload(place)
        return ("reused",) if diverged and asked.refuse else Told(done, replayed=True, diverged=diverged)

    def _unmet(self, place: str, asked: Asked) -> Any:
        live = self._live(place)
        for id, revision in asked.expect.items():
            actual = live[id].number if id in live else 0
            if revision is None and actual:
                return "exists", actual
            if revision is not None and revision != actual:
                return "stale", revision, actual
        return None

    def _live(self, place: str) -> dict[str, Revision]:
        histories = self.items.get(place, {})
        return {id: history[-1] for id, history in histories.items() if history[-1].content is not None}

    def _then(self, place: str, numbers: Mapping[str, int]) -> dict[str, Revision]:
        found = {id: self.items[place][id][number - 1] for id, number in numbers.items()}
        return {id: one for id, one in found.items() if one.content is not None}

    def _put(self, place: str, puts: Iterable[Given], by: str | None, now: datetime) -> Refs:
        added = []
        for given in puts:
            live = self._live(place).get(given.id)
            history = self.items.setdefault(place, {}).setdefault(given.id, [])
            created = given.timestamp or (now if live is None else live.created)
            history.append(Revision(len(history) + 1, given.content, created, "stored", by, given.kind))
            added.append((given.id, len(history)))
        return tuple(added)

    def _end(self, place: str, ids: Iterable[str], reason: str, by: str | None) -> Refs:
        removed = []
        for id in ids:
            history = self.items[place][id]
            history.append(Revision(len(history) + 1, None, None, reason, by))
            removed.append((id, len(history)))
        return tuple(removed)

    def _evict(self, place: str, bound: Limit | None, by: str | None, now: datetime) -> Refs:
        evicted: Refs = ()
        while bound is not None and (live := self._live(place)):
            created, id = min((one.created or now, id) for id, one in live.items())
            many = bound.most is not None and len(live) > bound.most
            if not many and (bound.age is None or created >= now - bound.age):
                break
            evicted += self._end(place, [id], "evicted", by)
        return evicted
