"""The flows of a consolidation job, driven by hand."""

from typing import Any

import pytest
from returns.result import Failure, Success

from tests.rules.examples import PRESENTER, at, outcome
from tests.rules.test_flow import scripted, stored
from txmemory.flow import consolidating, reading
from txmemory.model import limits
from txmemory.model.address import Fence
from txmemory.model.canonical import new_salt, sealed_digest
from txmemory.model.command import Write
from txmemory.model.commit import Commit, Finished, Found, Overtaken, Recorded
from txmemory.model.outcome import Receipt
from txmemory.model.query import Keys, Page
from txmemory.model.refusal import (
    AlreadyExists,
    Contended,
    Fenced,
    KeyReused,
    Sealed,
    StaleRevision,
    TooManyToEvict,
    Unavailable,
)
from txmemory.results import must
from txmemory.rules.settling import Unexpected, unconditional

FINGERPRINT = sealed_digest(new_salt(), b"")
RECORDED = (Recorded(outcome(), FINGERPRINT),)


def test_what_is_recorded_is_asked_for_key_by_key_to_the_end_of_the_prefix() -> None:
    flow = consolidating.recorded("t", PRESENTER, "p/")
    asked, result = scripted(flow, Page(("p/a", "p/b", "q")), RECORDED, (Found({}),))
    assert must(result) == {"p/a": outcome()}
    assert asked[0] == Keys("t", PRESENTER.scope, "p/", limits.PAGE_ROWS)
    assert [each.entries[0].key for each in asked if isinstance(each, Commit)] == ["p/a", "p/b"]


def test_many_recorded_keys_are_listed_page_by_page() -> None:
    keys = tuple(f"p/{number:04}" for number in range(limits.PAGE_ROWS))
    flow = consolidating.recorded("t", PRESENTER, "p/")
    asked, result = scripted(
        flow, Page(keys, more=True), *[RECORDED] * len(keys), Page(("p/last",)), RECORDED
    )
    assert set(must(result)) == {*keys, "p/last"}
    listed = [each.after for each in asked if isinstance(each, Keys)]
    assert listed == ["p/", keys[-1]]


def test_a_refusal_on_the_way_is_the_answer() -> None:
    def flow() -> Any:
        return consolidating.recorded("t", PRESENTER, "p/")

    assert scripted(flow(), Unavailable("AWAY"))[1] == Failure(Unavailable("AWAY"))
    newest = Fence(0, 8)
    assert scripted(flow(), Page(("p/a",)), Overtaken(newest))[1] == Failure(Fenced(PRESENTER.fence, newest))
    places = (at("00000"),)
    assert scripted(reading.there("t", places), Contended())[1] == Failure(Contended())
    assert scripted(reading.there("t", places), Page((stored(0),)))[1] == Success((stored(0),))


def test_a_replacement_that_expects_nothing_is_one_transaction() -> None:
    command = Write("replace", "k", ())
    asked, result = scripted(consolidating.replace(command, "t", PRESENTER), (Finished(),))
    assert (len(asked), result) == (1, Failure(Sealed()))


@pytest.mark.parametrize(
    "refusal", [Fenced(Fence(0, 1), Fence(0, 2)), Sealed(), TooManyToEvict(3), Contended()]
)
def test_a_write_that_expects_nothing_can_be_refused_for_what_it_is(refusal: Any) -> None:
    assert unconditional(Failure(refusal)) == Failure(refusal)
    assert unconditional(Success(Receipt(outcome()))) == Success(Receipt(outcome()))


@pytest.mark.parametrize("refusal", [KeyReused(), AlreadyExists(1), StaleRevision(1, 2)])
def test_and_not_for_what_it_never_said(refusal: Any) -> None:
    with pytest.raises(Unexpected):
        unconditional(Failure(refusal))
