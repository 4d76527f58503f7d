"""Histories and heads beside what follows from them."""

from collections.abc import Sequence
from typing import Literal

import pytest

from tests.rules.examples import HERE
from txmemory.model.address import namespace_text
from txmemory.model.item import Item, Revision
from txmemory.model.repair import HeadState
from txmemory.model.verifying import EntryFound, HeadFound, entry_of
from txmemory.rules.checking import ItemCheck

PLACE = namespace_text(HERE)


def entry(number: int, text: str | None = "tea", *, at: int | None = None, **given: object) -> EntryFound:
    item = None if text is None else Item("knowledge", text, **given)  # type: ignore[arg-type]  # whatever is given
    reason = "deleted" if text is None else "stored"
    when = number if at is None else at
    revision = Revision((HERE, "a"), number, item, 7, when, 0, None, reason, b"salt" if item else b"")  # type: ignore[arg-type]  # an address
    return EntryFound(PLACE, "a", number, entry_of(revision))


def head(number: int, *, live: bool = True, added: tuple[int, int] = (1, 0), **given: object) -> HeadState:
    state = HeadState(number, live, "knowledge", "{}", 7, number, None, None, added)
    return state._replace(**given)  # type: ignore[arg-type]  # whatever is given


def looked(*rows: EntryFound, head: HeadState | Literal["alone"] | None = None) -> ItemCheck:
    """As a backend tells of a history and a head, "alone" being that of the last entry."""
    check = ItemCheck("t")
    number = rows[-1].number if head == "alone" else -1 if head is None else head.revision
    for each in rows:
        check.take(each._replace(head=head) if each.number == number else each)
    check.finish()
    there = [] if head is None else [HeadFound(PLACE, "a", number, has_history=bool(rows))]
    check.settle(there)
    if there and not rows:
        check.orphan(there[0])
    return check


@pytest.mark.parametrize(
    ("life", "last"),
    [
        ((entry(1),), head(1)),
        ((entry(1),), "alone"),
        ((entry(1), entry(2)), head(2)),
        ((entry(1), entry(2, None)), head(2, live=False)),
        ((entry(1), entry(2, None), entry(3)), head(3, added=(3, 0))),
        ((entry(1), entry(2, None), entry(3)), "alone"),
        ((entry(1, expires_at=2), entry(2)), head(2, added=(2, 0))),
        ((entry(1, expires_at=2), entry(2)), head(2, added=(1, 0))),
        ((entry(1, expires_at=2), entry(2)), "alone"),
        ((entry(1, expires_at=3), entry(2)), head(2)),
    ],
)
def test_an_item_that_follows_from_its_history_has_no_findings(
    life: Sequence[EntryFound], last: HeadState | Literal["alone"]
) -> None:
    check = looked(*life, head=last)
    assert (check.findings, check.repairs, check.unheaded) == ([], [], [])


@pytest.mark.parametrize(
    ("rows", "last", "expected", "repaired"),
    [
        ([entry(1)], None, [("head_missing", None)], True),
        ([entry(1)], head(1, kind="task"), [("head_differs", None)], True),
        ([entry(1), entry(2)], head(1), [("head_differs", None)], True),
        ([entry(1), entry(2)], head(3), [("head_differs", None)], True),
        ([entry(1), entry(2)], "alone", [("head_differs", None)], True),
        ([entry(1), entry(2, None)], head(2, live=False, created_at=8), [("head_differs", None)], True),
        ([], head(0), [("placeholder", None)], True),
        ([], head(3), [("revision_missing", 3)], False),
        ([entry(1), entry(3)], head(3), [("revision_missing", 2)], False),
        ([entry(1), entry(3)], head(4), [("revision_missing", 2)], False),
        ([entry(1), EntryFound(PLACE, "a", 2, None)], head(2), [("revision_changed", 2)], False),
        ([EntryFound(PLACE, "a", 1, None)], "alone", [("revision_changed", 1)], False),
        ([entry(2, None)], head(2), [("revision_missing", 1)], False),
        ([entry(1, None)], head(1, live=False), [("revision_changed", 1)], False),
        ([entry(1), entry(2, None), entry(3, None)], head(3), [("revision_changed", 3)], False),
        ([entry(1), entry(3, None)], None, [("revision_missing", 2), ("head_missing", None)], False),
    ],
)
def test_each_fault_of_an_item_has_its_name(
    rows: Sequence[EntryFound],
    last: HeadState | Literal["alone"] | None,
    expected: list[tuple[str, int | None]],
    *,
    repaired: bool,
) -> None:
    check = looked(*rows, head=last)
    assert [(each.kind, each.revision) for each in check.findings] == expected
    assert bool(check.repairs) is repaired
    assert check.unheaded == []


def test_an_item_s_faults_are_not_its_neighbour_s() -> None:
    check = ItemCheck("t")
    for entered in (entry(1), EntryFound(PLACE, "b", 1, entry(1)[3], head(1))):
        check.take(entered)
    check.finish()
    assert [each.place for each in check.unheaded] == [(PLACE, "a")]
    assert "hush" not in repr(check.unheaded[0]._replace(place=("hush", "hush")))
    check.settle([])
    assert [(each.kind, each.id) for each in check.findings] == [("head_missing", "a")]
