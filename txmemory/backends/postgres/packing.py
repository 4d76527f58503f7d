"""A commit as the arguments of `commit_v1`, and its row as a reply."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, assert_never

from txmemory.backends.postgres.clauses import clause
from txmemory.backends.sql import narrowing
from txmemory.backends.sql.rows import recorded_from
from txmemory.model import limits
from txmemory.model.address import Address, Fence, namespace_text
from txmemory.model.canonical import GeneratedId, new_salt
from txmemory.model.commit import (
    Commit,
    Done,
    Entry,
    Finished,
    Forgot,
    Found,
    Met,
    Overtaken,
    Put,
    Recorded,
    Remove,
    RemoveListed,
    RemoveWhere,
    Reply,
    Trim,
)
from txmemory.model.filter import Condition, Everything
from txmemory.rules.recording import EVENT_EFFECTS

TYPES = (
    *("text", "text", "text", "int8"),
    *("text", "int8", "int8", "text"),
    *("text[]", "text[]", "bytea[]"),
    *("text[]", "text[]"),
    *("int4[]", "int4[]", "int8[]", "bool[]"),
    *("int4[]", "int4[]", "text[]"),
    *("text[]", "text[]", "text[]", "text[]"),
    *("int8[]", "int8[]", "float8[]"),
    *("bytea[]", "bytea[]", "bytea[]"),
    *("text", "text", "text", "text[]", "text[]", "int8[]"),
    *("bool", "text[]", "int4[]", "int8[]", "int4", "int4"),
)
"""Of the function's parameters, in order."""
_MOST_VICTIMS = str(limits.COMMIT_VICTIMS)
_EVENT_EFFECTS = str(EVENT_EFFECTS)


def arguments(
    commit: Commit, lock_timeout: float, clock: int | None, transaction_timeout: float | None = None
) -> tuple[object, ...]:
    """What the function is called with; addresses sorted, everything else naming them by place from 1.

    `transaction_timeout` only where the transaction is the call's own, and the server knows such a limit.
    """
    presenter = commit.presenter
    places = _places(commit.entries)
    fence: tuple[object, ...] = (None,) * 4
    if presenter is not None:
        generation, token = presenter.fence
        # As text, of whatever size a number is: another type would be another statement to prepare.
        fence = (presenter.scope, str(generation), str(token), presenter.holder)
    return (
        commit.tenant,
        milliseconds(lock_timeout),
        None if transaction_timeout is None else milliseconds(transaction_timeout),
        None if clock is None else str(clock),
        *fence,
        array([entry.key for entry in commit.entries]),
        array([_ledger(entry) for entry in commit.entries]),
        array([entry.fingerprint for entry in commit.entries]),
        array([namespace_text(address.namespace) for address in places]),
        array([address.id for address in places]),
        *_guards(places, commit.entries),
        *_changes(places, commit.entries),
        *_sweep(commit.entries),
        *_bounds(commit),
        _MOST_VICTIMS,
        _EVENT_EFFECTS,
    )


def milliseconds(seconds: float) -> str:
    """A limit as the server's settings spell it."""
    return f"{max(1, round(seconds * 1_000))}ms"


def _ledger(entry: Entry) -> str:
    return "change" if entry.key is None and entry.ledger == "record" else entry.ledger


def _places(entries: Sequence[Entry]) -> dict[Address, int]:
    named: set[Address] = set()
    for entry in entries:
        named.update([guard.address for guard in (*entry.guards, *entry.sources)])
        named.update([change.address for change in entry.changes if isinstance(change, Put | Remove)])
    ordered = sorted(named, key=lambda address: address.order)
    return {address: place for place, address in enumerate(ordered, start=1)}


def _guards(places: dict[Address, int], entries: Sequence[Entry]) -> tuple[object, ...]:
    rows = [
        (number, places[guard.address], guard.revision, source)
        for number, entry in enumerate(entries, start=1)
        for source, guards in ((False, entry.guards), (True, entry.sources))
        for guard in guards
    ]
    return _columns(rows, 4)


def _changes(places: dict[Address, int], entries: Sequence[Entry]) -> tuple[object, ...]:
    rows: list[tuple[object, ...]] = []
    for number, entry in enumerate(entries, start=1):
        for change in entry.changes:
            match change:
                case Put(address=address, item=item):
                    content = (item.kind, item.text, item.data, item.attributes_text)
                    times = (item.created_at, item.expires_at, item.importance)
                    bound = (item.embedding, item.content_digest, new_salt())
                    rows.append((number, places[address], "stored", *content, *times, *bound))
                case Remove(address=address, reason=reason):
                    rows.append((number, places[address], reason, *(None,) * 10))
                case RemoveWhere() | RemoveListed() | Trim():
                    pass
                case unreachable:
                    assert_never(unreachable)
    return _columns(rows, 13)


def _sweep(entries: Sequence[Entry]) -> tuple[object, ...]:
    """Where, why, and what ends: what a clause accepts with its values, or what is listed."""
    for entry in entries:
        for change in entry.changes:
            match change:
                case RemoveWhere(namespace=namespace, condition=condition, reason=reason):
                    return namespace_text(namespace), reason, *_clause(condition), None, None
                case RemoveListed(namespace=namespace, listed=listed, reason=reason):
                    return namespace_text(namespace), reason, None, None, *_columns(listed, 2)
                case _:
                    pass
    return (None,) * 6


def _clause(condition: Condition) -> tuple[str | None, str | None]:
    if condition == Everything():
        return None, None
    return clause(narrowing.shape(condition)), array([str(value) for value in narrowing.values(condition)])


def _bounds(commit: Commit) -> tuple[object, ...]:
    trims = any(isinstance(change, Trim) for entry in commit.entries for change in entry.changes)
    bounds = sorted(commit.bounds, key=lambda bound: namespace_text(bound.namespace))
    rows = [(namespace_text(bound.namespace), bound.most, bound.age) for bound in bounds]
    return "t" if trims else "f", *_columns(rows, 3)


def _columns(rows: Sequence[Sequence[object]], width: int) -> tuple[str, ...]:
    """Rows turned into one array a column."""
    return tuple([array(column) for column in zip(*rows, strict=True)]) if rows else ("{}",) * width


def array(elements: Iterable[object]) -> str:
    """An array as PostgreSQL spells one: the driver's own way costs ten times as much."""
    return "{" + ",".join(["NULL" if each is None else _SPELLED[type(each)](each) for each in elements]) + "}"


def _text(element: str) -> str:
    escaped = element.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _bytes(element: bytes) -> str:
    return f'"\\\\x{element.hex()}"'


_SPELLED: dict[type, Callable[[Any], str]] = {
    str: _text,
    GeneratedId: _text,
    bytes: _bytes,
    bool: lambda element: "t" if element else "f",
    int: repr,
    float: repr,
}


def reply_from(row: Sequence[Any], commit: Commit) -> Reply:
    """The reply in the function's row."""
    overtaken, generation, token, met, *records, forgotten, actuals, excess = row
    if overtaken:
        return Overtaken(Fence(generation, token))
    reply: list[Met] = []
    first = 0
    for place, entry in enumerate(commit.entries):
        guards = len(entry.guards)
        actual = {
            guard.address: found
            for guard, found in zip(entry.guards, actuals[first : first + guards], strict=True)
        }
        first += guards + len(entry.sources)
        match met[place]:
            case "done":
                reply.append(Done(recorded_from([column[place] for column in records])[1]))
            case "recorded":
                fingerprint, outcome = recorded_from([column[place] for column in records])
                reply.append(Recorded(outcome, fingerprint))
            case "found":
                reply.append(Found(actual))
            case "excess":
                reply.append(Found({}, excess))
            case "forgot":
                reply.append(Forgot(forgotten[place]))
            case _:
                reply.append(Finished())
    return tuple(reply)
