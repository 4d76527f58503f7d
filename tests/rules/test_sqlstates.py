"""What a SQLSTATE says of a commit: once it was sent, only a plain ERROR promises that nothing was done."""

import pytest

from txmemory.backends.sql.sqlstates import fault_of_state
from txmemory.port import Busy, Corrupted, Down, Lost, SchemaMismatch


@pytest.mark.parametrize(
    ("state", "severity"),
    [
        (None, None),
        ("08P01", "FATAL"),  # what a pooler says of a server that it has lost
        ("08006", "ERROR"),
        ("08007", "ERROR"),
        ("40003", "ERROR"),
        ("53100", "PANIC"),
        ("58030", "PANIC"),
        ("57P01", "FATAL"),
        ("25P04", "FATAL"),
        ("XX000", "PANIC"),
        ("25006", None),
    ],
)
def test_a_commit_that_was_on_its_way_is_in_doubt(state: str | None, severity: str | None) -> None:
    assert isinstance(fault_of_state(state, severity, sent=True), Lost)
    assert not isinstance(fault_of_state(state, severity, sent=False), Lost)


@pytest.mark.parametrize("sent", [True, False])
@pytest.mark.parametrize(
    ("state", "fault"),
    [("40001", Busy), ("40P01", Busy), ("55P03", Busy), ("57014", Busy), ("25006", Down), ("53100", Down)],
)
def test_an_error_undid_the_transaction(state: str, fault: type[Exception], *, sent: bool) -> None:
    assert isinstance(fault_of_state(state, "ERROR", sent=sent), fault)


@pytest.mark.parametrize(
    ("state", "passing"), [("08006", True), ("53300", True), ("53100", False), ("42501", False)]
)
def test_what_passes_of_itself_is_told_from_what_does_not(state: str, *, passing: bool) -> None:
    fault = fault_of_state(state, "ERROR", sent=False)
    assert isinstance(fault, Down)
    assert fault.passing is passing


def test_who_lost_a_race_is_told_from_who_met_a_lock() -> None:
    raced, locked = (fault_of_state(state, "ERROR", sent=True) for state in ("40001", "55P03"))
    assert isinstance(raced, Busy)
    assert isinstance(locked, Busy)
    assert (raced.raced, locked.raced) == (True, False)


def test_an_error_that_our_statements_never_meet_is_damage() -> None:
    assert isinstance(fault_of_state("23505", "ERROR", sent=True), Corrupted)


def test_a_function_that_is_not_there_is_told_as_another_release_s() -> None:
    assert isinstance(fault_of_state("42883", "ERROR", sent=True), SchemaMismatch)
