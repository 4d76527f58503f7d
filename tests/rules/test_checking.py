"""Rows beside what they follow from."""

from collections.abc import Sequence

import pytest

from tests.rules.examples import HERE, effect
from tests.rules.test_item_check import entry, head
from txmemory.model.address import Address, Fence, namespace_text
from txmemory.model.event import Event, Kind
from txmemory.model.finding import Finding
from txmemory.model.outcome import Status
from txmemory.model.repair import FoldedHead, HeadRepair, Repair, ScopeRepair, ScopeState
from txmemory.model.verifying import (
    EntryContent,
    HeadCount,
    HeadFound,
    Heads,
    HeadsAt,
    Histories,
    KeyFound,
    LogRow,
    RevisionFound,
    ScopeFound,
)
from txmemory.rules.checking import ScopeCheck, spelled
from txmemory.rules.fold import folded_scope, head_after, keys_after
from txmemory.rules.mending import ScopeMending, folded_on
from txmemory.rules.soundness import sound
from txmemory.rules.sums import BUCKETS, Sums, key_mark, mark

PLACE = namespace_text(HERE)
FINGERPRINT = bytes(48)


def said(
    seq: int, kind: Kind = "record", *, key: str | None = "k", at: int | None = None, token: int = 1
) -> Event:
    """An event of a scope as a call leaves it."""
    told = kind == "record"
    given = FINGERPRINT if told else None
    status: Status | None = "stored" if told else None
    named = key if kind in ("record", "forget") else None
    return Event(kind, "run", seq, 0, token, None, named, given, status, (), seq if at is None else at)


def row(event: Event, applied: int | None = None, number: int | None = None) -> LogRow:
    return LogRow(event.seq if number is None else number, event.scope, event.seq, event, applied)  # type: ignore[arg-type]  # a seq


def found(
    seq: int, *, last_at: int | None = None, token: int = 1, sealed: bool = False, keys: int = 0
) -> ScopeFound:
    state = ScopeState(Fence(0, token), seq, seq if last_at is None else last_at, sealed)
    return ScopeFound("run", state, keys)


def checked(known: ScopeFound | None, *rows: LogRow) -> ScopeCheck:
    check = ScopeCheck("t", "run", known)
    for each in rows:
        check.take(each)
    check.finish()
    return check


def kinds(check: ScopeCheck) -> list[tuple[str, int | None]]:
    return [(each.kind, each.seq) for each in check.findings]


def test_a_scope_that_follows_from_its_events_has_no_findings() -> None:
    rows = [row(said(1), 1), row(said(2, key="x")), row(said(3, "forget", key="x")), row(said(4, key="y"), 4)]
    check = checked(found(4, keys=2), *rows)
    assert (check.findings, check.suspect, check.ahead, check.whole) == ([], False, False, True)
    check = checked(found(4, keys=0), *rows[:3], row(said(4, "seal")))
    assert [each.kind for each in check.findings] == ["scope_differs"]
    sealed = checked(found(2, sealed=True), row(said(1)), row(said(2, "seal")))
    assert (sealed.findings, sealed.suspect) == ([], False)
    assert checked(found(2, sealed=True, keys=1), row(said(1)), row(said(2, "seal"))).suspect
    assert checked(found(0), *[]).findings == []


def test_events_that_came_behind_the_row_s_seq_are_no_difference() -> None:
    check = checked(found(1, keys=1), row(said(1), 1), row(said(2, key="x", token=9), 2))
    assert (check.findings, check.ahead, check.suspect) == ([], True, False)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([row(said(2))], [("events_missing", 1)]),
        ([row(said(1)), row(said(3))], [("events_missing", 2)]),
        ([row(said(1))], [("events_missing", 2)]),
        ([row(said(1)), LogRow(2, "run", 2, None)], [("event_unreadable", 2)]),
        ([row(said(1, at=5)), row(said(2))], [("event_out_of_order", 2)]),
        ([row(said(1, token=2)), row(said(2))], [("event_out_of_order", 2), ("fence_lowered", None)]),
        ([row(said(1)), row(said(2), number=1)], [("event_out_of_order", 2)]),
    ],
)
def test_each_fault_of_the_log_has_its_name(rows: Sequence[LogRow], expected: list[tuple[str, int]]) -> None:
    check = checked(found(2), *rows)
    assert kinds(check) == expected
    assert not check.whole


def test_a_row_that_differs_is_named() -> None:
    assert kinds(checked(found(1, last_at=9), row(said(1)))) == [("scope_differs", None)]
    assert kinds(checked(found(1, token=0), row(said(1)))) == [("fence_lowered", None)]
    assert kinds(checked(None, row(said(1)))) == []
    assert checked(None, row(said(1))).suspect
    assert checked(found(-5), row(said(1))).suspect
    assert checked(found(1, keys=1), row(said(1), None)).suspect
    assert not checked(None).ahead


def test_a_finding_of_a_scope_says_where() -> None:
    assert checked(None).finding("key_missing", key="k") == Finding("key_missing", "t", "run", None, "k")


def test_a_namespace_that_is_none_is_one_part() -> None:
    assert spelled('["a","b"]') == ("a", "b")
    assert [spelled(text) for text in ("nonsense", "[1]", "7")] == [("nonsense",), ("[1]",), ("7",)]


def test_sums_are_zero_where_both_have_the_same_in_any_order() -> None:
    marks = [
        mark(PLACE, "a", number, "stored", b"c", 5, by) for number in range(9) for by in (None, "x", "-")
    ]
    assert len(set(marks)) == len(marks)
    sums = Sums()
    for each in marks:
        sums.add(each)
    for each in reversed(marks):
        sums.take(each, young=False)
    assert sums.differing() == []
    sums.take(marks[0], young=True)
    assert sums.differing() == [Sums.bucket(marks[0], young=True)]
    assert Sums.bucket(marks[0], young=True) - Sums.bucket(marks[0], young=False) == BUCKETS
    assert Sums(sums.sums).differing() == sums.differing()
    assert key_mark("a") != key_mark("b")


def test_a_tombstone_is_bound_by_nothing() -> None:
    entries = [entry(1).entry, entry(2, None).entry]
    assert [each is not None and each.commitment is not None for each in entries] == [True, False]


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (said(1), True),
        (said(1)._replace(status="superseded"), True),
        (said(1)._replace(status="superseded", effects=(effect("a"),)), False),
        (said(1)._replace(status=None), False),
        (said(1)._replace(fingerprint=b"short"), False),
        (said(1)._replace(fingerprint=None), False),
        (said(0), False),
        (said(1)._replace(token=None), False),
        (said(1)._replace(seq=None), False),
        (said(1)._replace(scope=None), False),
        (Event("record", None, None, None, None, None, None, None, "stored", (), 1), False),
        (Event("change", None, None, None, None, None, None, None, "stored", (effect("a"),), 1), True),
        (Event("change", None, None, None, None, None, None, None, "stored", (), 1), False),
        (Event("change", None, None, None, None, None, None, None, None, (effect("a"),), 1), False),
        (said(1, "forget"), True),
        (said(1, "forget")._replace(key=None), False),
        (said(1, "forget")._replace(status="stored"), False),
        (said(1, "seal"), True),
        (said(1, "claim"), True),
        (said(1, "seal")._replace(effects=(effect("a"),)), False),
        (said(1)._replace(effects=(effect("a", operation="put", reason="deleted"),)), False),
        (said(1)._replace(effects=(effect("a")._replace(commitment=None),)), False),
        (said(1)._replace(effects=(effect("a", 2, "remove", "replaced"),)), True),
        (said(1)._replace(effects=(effect("a", 2, "remove", "stored"),)), False),
        (said(1)._replace(effects=(effect("a", 2, "remove", "replaced")._replace(commitment=b""),)), False),
        (said(1)._replace(effects=(effect("a", 2**63, "remove", "replaced"),)), False),
        (said(1)._replace(effects=(effect("\u00e9", 2, "remove", "replaced"),)), True),
        (said(1)._replace(effects=(effect("a\0", 2, "remove", "replaced"),)), False),
        (said(1)._replace(effects=(effect("\ud800", 2, "remove", "replaced"),)), False),
        (said(1)._replace(effects=(effect("a", 0.5),)), False),  # type: ignore[arg-type]  # as a row may say it
    ],
)
def test_an_event_is_sound_when_a_call_could_have_said_it(event: Event, *, expected: bool) -> None:
    assert sound(event) is expected


def test_a_ledger_follows_its_events() -> None:
    keys: dict[str, int] = {}
    for event in (
        said(1),
        said(2, key="x"),
        said(3, "claim"),
        said(4, "forget", key="x"),
        said(5, "forget", key="y"),
    ):
        keys_after(keys, event, lambda each: each.seq or 0)
    assert keys == {"k": 1}
    keys_after(keys, said(6, "seal"), lambda each: each.seq or 0)
    assert keys == {}
    assert folded_scope([said(1, token=3), said(2, "seal")]) == ScopeState(Fence(0, 3), 2, 2, sealed=True)


def test_a_head_whose_beginning_is_lost_is_folded_from_what_is_there() -> None:
    revision = entry(4, None).entry
    assert revision is not None
    folded = head_after(None, revision)
    assert (folded.head.revision, folded.head.live, folded.head.created_at) == (4, False, 7)
    assert folded_on(folded, []) == folded
    assert isinstance(folded_on(None, [revision]), FoldedHead)
    assert folded_on(None, []) is None


def mending(*since: Event, whole: bool = True) -> ScopeMending:
    state = ScopeState(Fence(0, 2), 3, 3, sealed=False)
    made = ScopeMending(ScopeRepair("run", state, (("a", 1), ("b", None), ("c", 2)), whole))
    for event in since:
        made.take(row(event))
    return made


KNOWN = ScopeState(Fence(0, 5), 1, 1, sealed=True)


def test_a_repair_follows_what_came_since_it_was_made() -> None:
    assert mending().row(KNOWN) == ScopeState(Fence(0, 5), 3, 3, sealed=False)
    assert dict(mending().keys(KNOWN)) == {"a": 1, "b": None, "c": 2}
    since = mending(said(4, "forget", key="a"), said(5, key="b", token=7), said(6, key="other", token=7))
    assert since.row(KNOWN) == ScopeState(Fence(0, 7), 6, 6, sealed=False)
    assert dict(since.keys(KNOWN)) == {"a": None, "b": 5, "c": 2}
    assert dict(mending(said(4, "seal")).keys(KNOWN)) == {"a": None, "b": None, "c": None}


@pytest.mark.parametrize(
    "broken",
    [mending(said(5)), mending(whole=False)],
)
def test_where_events_are_missing_a_repair_only_raises_the_fence(broken: ScopeMending) -> None:
    low = KNOWN._replace(fence=Fence(0, 1))
    assert broken.row(low) == low._replace(fence=Fence(0, 2))
    assert dict(broken.keys(low)) == {}


def test_a_seq_that_the_log_has_not_tells_of_a_loss() -> None:
    ahead = KNOWN._replace(seq=4)
    assert mending().row(ahead) == ahead
    assert dict(mending().keys(ahead)) == {}
    unread = mending()
    unread.take(LogRow(4, "run", None, None))
    assert unread.seq == 4


def test_nothing_shows_whose_it_is() -> None:
    shown = [
        found(1),
        row(said(1)),
        KeyFound("hush", "hush", 1),
        entry(1),
        entry(1).entry,
        RevisionFound("hush", "hush", 1, None),
        EntryContent("hush", "hush", None, None),
        head(1),
        HeadFound("hush", "hush", 1, has_history=True),
        ScopeRepair("hush", KNOWN, (("hush", 1),), whole=True),
        Repair("hush", None, (HeadRepair(Address(("hush",), "hush"), None),)),
        Histories("hush", "hush"),
        Heads("hush", "hush"),
        HeadCount("hush", "hush", ("hush", "hush"), None, 1),
        HeadsAt("hush", (("hush", "hush"),)),
        Finding("key_missing", "hush", "hush", key="hush", namespace=("hush",), id="hush"),
    ]
    assert "hush" not in repr(shown)
    assert "run" not in repr(shown)


def test_what_is_derived_is_named() -> None:
    assert Finding("head_differs").derived
    assert not Finding("revision_changed").derived
