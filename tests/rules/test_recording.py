"""What a commit leaves behind: times that agree with every order, revisions that count on, outcomes out of events."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.rules.examples import HERE, at, effect, event, head
from txmemory.model import limits
from txmemory.model.address import Ref
from txmemory.model.commit import Guard, Put
from txmemory.model.event import Event
from txmemory.model.item import Head, Item, moment
from txmemory.rules import recording
from txmemory.rules.visible import expired, live_revision

times = st.integers(-(10**15), 10**15)


@given(times, st.none() | times, times)
def test_the_time_of_record_is_later_than_all_that_it_follows(
    clock: int, last: int | None, newest: int
) -> None:
    at = recording.time_of_record(clock, last, newest)
    assert at >= clock
    assert last is None or at > last
    assert at > newest
    assert at in {clock, 0, (last or 0) + 1, newest + 1}


@pytest.mark.parametrize(
    ("expires_at", "now", "gone"),
    [(None, 10**18, False), (5, 4, False), (5, 5, True), (5, 6, True), (0, 0, True)],
)
def test_an_item_is_gone_from_its_last_microsecond_on(
    expires_at: int | None, now: int, *, gone: bool
) -> None:
    assert expired(expires_at, now) == gone
    assert live_revision(head("a", revision=3, expires_at=expires_at), now) == (0 if gone else 3)


def test_nothing_and_a_removed_item_have_no_live_revision() -> None:
    assert live_revision(None, 0) == 0
    assert live_revision(head("a", revision=3, live=False), 0) == 0


@pytest.mark.parametrize(
    ("wanted", "accepted"), [(None, {1, 2, 3}), (0, {0}), (2, {2})], ids=["anything", "nothing", "exactly"]
)
def test_a_guard_accepts_what_it_names(wanted: int | None, accepted: set[int]) -> None:
    assert {actual for actual in range(4) if Guard(at("a"), wanted).accepts(actual)} == accepted


def test_counting_goes_on_after_a_removal() -> None:
    put = Put(at("a"), Item("task"))
    assert recording.put_head(put, None, 7, 9, 0).revision == 1
    assert recording.put_head(put, head("a", revision=4, live=False), 7, 9, 0).revision == 5
    assert recording.removed_head(head("a", revision=4), 9).revision == 5


def test_the_creation_time_is_the_given_one_else_the_live_item_s_else_now() -> None:
    given, silent = Put(at("a"), Item("task", created_at=3)), Put(at("a"), Item("task"))
    known, removed = head("a", created_at=5, expires_at=8), head("a", live=False, created_at=5)

    def created_at(put: Put, before: Head | None, now: int) -> int:
        return recording.put_head(put, before, now, 99, 0).created_at

    assert created_at(given, known, 7) == 3
    assert created_at(given, removed, 7) == 3
    assert created_at(given, None, 7) == 3
    assert created_at(silent, known, 7) == 5
    assert created_at(silent, known, 8) == 8
    assert created_at(silent, removed, 7) == 7
    assert created_at(silent, None, 7) == 7


def test_a_live_item_keeps_its_place_in_the_order_of_insertion() -> None:
    put = Put(at("a"), Item("task", expires_at=50))
    known = head("a", created_at=5, expires_at=8)
    assert recording.put_head(put, known, 7, 9, 2).added == known.added
    for before, now in ((known, 8), (head("a", live=False), 7), (None, 7)):
        put_now = recording.put_head(put, before, now, 9, 2)
        assert (put_now.added, put_now.updated_at, put_now.live, put_now.expires_at) == ((9, 2), 9, True, 50)


def test_a_removal_ends_an_item_and_leaves_all_else() -> None:
    known = head("a", revision=4, created_at=5, expires_at=8)
    assert recording.removed_head(known, 9) == known._replace(revision=5, live=False, updated_at=9)


def test_an_outcome_is_what_its_event_says() -> None:
    effects = (
        effect("a", 1),
        effect("b", 2, "remove", "replaced"),
        effect("c", 3, "remove", "evicted"),
        effect("d", 4, "remove", "expired"),
        effect("e", 5, "remove", "deleted"),
        effect("f", 6, "remove", "cleared"),
    )
    outcome = recording.outcome_of(event(*effects, seq=9))
    assert outcome.added == (Ref(HERE, "a", 1),)
    assert [ref.id for ref in outcome.removed] == ["b", "e", "f"]
    assert [ref.id for ref in outcome.evicted] == ["c", "d"]
    assert (outcome.status, outcome.seq, outcome.at, outcome.token) == ("stored", 9, moment(0), 7)


def test_an_outcome_keeps_that_it_was_superseded() -> None:
    recorded = Event("record", "run", 1, 0, 7, None, "step", None, "superseded", (), 0)
    assert recording.outcome_of(recorded).status == "superseded"
    unsaid = Event("change", None, None, None, None, None, None, None, None, (), 0)
    assert recording.outcome_of(unsaid).status == "stored"


MOST = limits.COMMIT_ITEMS + limits.COMMIT_VICTIMS


@pytest.mark.parametrize(
    ("effects", "sizes"),
    [(0, [0]), (1, [1]), (MOST, [MOST]), (MOST + 1, [MOST, 1]), (2 * MOST, [MOST, MOST])],
)
def test_a_large_removal_is_told_in_parts_that_a_reader_can_hold(effects: int, sizes: list[int]) -> None:
    removed = [effect(f"{number}", 2, "remove", "cleared") for number in range(effects)]
    whole = event(*removed, kind="change", scope=None, seq=None, key=None)
    parts = recording.readable_parts(whole)
    assert [len(part.effects) for part in parts] == sizes
    assert [each for part in parts for each in part.effects] == removed
    assert {part._replace(effects=()) for part in parts} == {whole._replace(effects=())}


def test_a_keyed_call_is_one_event_however_much_it_did() -> None:
    whole = event(*(effect(f"{number}") for number in range(MOST + 1)))
    assert recording.readable_parts(whole) == (whole,)
