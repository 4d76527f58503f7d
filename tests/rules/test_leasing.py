"""Who may claim a scope, what a lease makes of its row, and what the caller is told."""

from collections.abc import Generator
from dataclasses import replace
from typing import Any

import pytest
from returns.result import Failure, Success

from txmemory.flow import claiming, reading
from txmemory.model.address import Address, Fence, Presenter, Ref, step_key
from txmemory.model.commit import Finished, LeaseReply, Overtaken
from txmemory.model.item import Item, Revision, Stored, moment
from txmemory.model.lease import (
    CLAIM_TOKEN_MOST,
    TTL_LEAST,
    Claim,
    Granted,
    Lease,
    Raised,
    Release,
    Released,
    Renew,
    Reset,
    Unheld,
    Withheld,
    checked_holder,
    name_of,
    named,
    scope_of,
)
from txmemory.model.limits import TOKEN_MOST
from txmemory.model.query import Lapsed, Page
from txmemory.model.refusal import (
    Contended,
    Fenced,
    Held,
    LeaseLost,
    OutcomeUnknown,
    Refusal,
    Sealed,
    Unavailable,
)
from txmemory.model.verifying import At, RevisionFound
from txmemory.rules.leasing import Claimed, Ruling, makes_a_row, ruled
from txmemory.rules.settling import Unexpected

NOW, TTL = 1_000_000_000, 30_000_000
ADA, BOB = named("ada", "1"), named("bob", "2")
CLAIM = Claim("t", "run", ADA, TTL)
HELD = Claimed(Fence(1, 5), ADA, NOW + 10)
PRESENTER = Presenter("run", 5, 1, ADA)
RENEW, RELEASE = Renew("t", PRESENTER, TTL), Release("t", PRESENTER)


def kept(met: LeaseReply) -> Ruling:
    """Nothing changes."""
    return Ruling(None, None, met)


@pytest.mark.parametrize(
    ("row", "fence"),
    [
        (None, Fence(0, 1)),
        (Claimed(Fence(0, 0)), Fence(0, 1)),
        (Claimed(Fence(2, 7), BOB), Fence(2, 8)),
        (Claimed(Fence(2, 7), BOB, NOW), Fence(2, 8)),
        (Claimed(Fence(0, CLAIM_TOKEN_MOST - 1), None, NOW - 1), Fence(0, CLAIM_TOKEN_MOST)),
    ],
    ids=["nobody", "a row", "released", "lapsed this moment", "the last token"],
)
def test_a_claim_that_nobody_holds_issues_the_next_token(row: Claimed | None, fence: Fence) -> None:
    left = Claimed(fence, ADA, NOW + TTL)
    assert ruled(CLAIM, row, NOW) == Ruling(left, "claim", Granted(fence, NOW + TTL))


def test_a_live_claim_is_withheld_from_others_and_given_back_to_its_holder() -> None:
    assert ruled(replace(CLAIM, holder=BOB), HELD, NOW) == kept(Withheld(ADA, NOW + 10))
    longer = HELD._replace(lease_until=NOW + TTL)
    assert ruled(CLAIM, HELD, NOW) == Ruling(longer, None, Granted(HELD.fence, NOW + TTL))
    far = HELD._replace(lease_until=NOW + 2 * TTL)
    assert ruled(CLAIM, far, NOW).met == Granted(HELD.fence, NOW + 2 * TTL)


def test_no_claim_is_granted_beyond_the_last_token_or_of_a_sealed_scope() -> None:
    for token in (CLAIM_TOKEN_MOST, TOKEN_MOST):
        fence = Fence(0, token)
        assert ruled(CLAIM, Claimed(fence), NOW) == kept(Overtaken(fence))
    assert ruled(CLAIM, HELD._replace(sealed=True), NOW) == kept(Finished())


def test_a_lapsed_claim_is_taken_only_where_one_has_lapsed_so_long_ago() -> None:
    sweep = replace(CLAIM, holder=BOB, lapsed=10)
    for row in (None, HELD, HELD._replace(lease_until=None), HELD._replace(lease_until=NOW - 9)):
        assert isinstance(ruled(sweep, row, NOW).met, Withheld)
    assert ruled(sweep, HELD._replace(lease_until=NOW - 10), NOW).met == Granted(Fence(1, 6), NOW + TTL)
    assert (makes_a_row(CLAIM), makes_a_row(sweep), makes_a_row(RENEW)) == (True, False, False)


def test_a_sweep_whose_answer_was_lost_finds_its_own_claim_and_no_other_live_one() -> None:
    """F12: sent again it is granted what it was granted, though that has not lapsed."""
    sweep = replace(CLAIM, lapsed=1)
    lapsed = Claimed(Fence(0, 1), BOB, NOW - 5)
    first = ruled(sweep, lapsed, NOW)
    assert first.met == Granted(Fence(0, 2), NOW + TTL)
    assert ruled(sweep, first.left, NOW).met == first.met
    assert ruled(replace(sweep, holder=BOB), first.left, NOW).met == Withheld(ADA, NOW + TTL)


def test_another_timeline_of_the_server_raises_the_generation_also_of_one_s_own_claim() -> None:
    claim = replace(CLAIM, timeline=True)
    first = ruled(claim, None, NOW, 1)
    assert first.left == Claimed(Fence(0, 1), ADA, NOW + TTL, 1)
    assert ruled(claim, first.left, NOW, 1).met == Granted(Fence(0, 1), NOW + TTL)
    moved = ruled(claim, first.left, NOW, 2)
    assert moved.left == Claimed(Fence(1, 1), ADA, NOW + TTL, 2)
    assert ruled(replace(claim, holder=BOB), first.left, NOW, 2).met == Withheld(ADA, NOW + TTL)
    last = Claimed(Fence(TOKEN_MOST, 1), ADA, NOW + 1, 1)
    assert ruled(claim, last, NOW, 2).met == Overtaken(last.fence)
    careless = ruled(CLAIM, first.left, NOW + TTL)
    assert careless.left == Claimed(Fence(0, 2), ADA, NOW + 2 * TTL, 1)
    assert ruled(Reset("t", "run"), first.left, NOW).left == Claimed(Fence(1, 0), timeline=1)


@pytest.mark.parametrize(
    ("row", "met"),
    [
        (None, Unheld()),
        (Claimed(Fence(1, 4), ADA, NOW + 1), Unheld()),
        (Claimed(Fence(1, 6), ADA, NOW + 1), Overtaken(Fence(1, 6))),
        (Claimed(Fence(2, 0)), Overtaken(Fence(2, 0))),
        (Claimed(Fence(1, 5), BOB, NOW + 1), Overtaken(Fence(1, 5))),
        (Claimed(Fence(1, 5), None, NOW + 1), Unheld()),
        (Claimed(Fence(1, 5), ADA), Unheld()),
        (Claimed(Fence(1, 5), ADA, NOW + 1, sealed=True), Finished()),
    ],
)
def test_a_claim_that_is_not_the_presenter_s_is_not_renewed(row: Claimed | None, met: LeaseReply) -> None:
    assert ruled(RENEW, row, NOW) == kept(met)


def test_a_claim_is_renewed_also_when_it_has_lapsed() -> None:
    for until in (NOW + 10, NOW - 10):
        row = HELD._replace(lease_until=until)
        assert ruled(RENEW, row, NOW).left == HELD._replace(lease_until=NOW + TTL)


def test_a_release_ends_the_presenter_s_claim_and_no_other() -> None:
    assert ruled(RELEASE, HELD, NOW) == Ruling(
        HELD._replace(lease_until=None), "release", Released(there=True)
    )
    for row in (HELD._replace(lease_until=None), HELD._replace(sealed=True)):
        assert ruled(RELEASE, row, NOW) == kept(Released(there=True))
    for other in (None, HELD._replace(holder=BOB), HELD._replace(fence=Fence(1, 6))):
        assert ruled(RELEASE, other, NOW) == kept(Released(there=False))


def test_a_reset_raises_the_generation_and_leaves_a_sealed_scope_sealed() -> None:
    reset = Reset("t", "run", by="the operator")
    assert ruled(reset, None, NOW) == Ruling(Claimed(Fence(1, 0)), "reset", Raised(1))
    assert ruled(reset, HELD, NOW).left == Claimed(Fence(2, 0))
    assert ruled(reset, HELD._replace(sealed=True), NOW).left == Claimed(Fence(2, 0), sealed=True)
    last = Claimed(Fence(TOKEN_MOST, 3))
    assert ruled(reset, last, NOW) == kept(Overtaken(last.fence))
    assert makes_a_row(reset)


def test_each_lease_names_its_scope_and_shows_no_name() -> None:
    leases: list[Lease] = [CLAIM, RENEW, RELEASE, Reset("t", "run")]
    assert [scope_of(each) for each in leases] == ["run"] * 4
    shown = f"{leases} {HELD} {Withheld(ADA, NOW)} {Granted(Fence(0, 1), NOW)}"
    assert "ada" not in shown
    assert "run" not in shown


def test_wrong_leases_are_refused_when_they_are_built() -> None:
    for ttl in (TTL_LEAST - 1, 10**15):
        with pytest.raises(ValueError):
            Claim("t", "run", ADA, ttl)
    with pytest.raises(ValueError):
        Reset("t", "run", by="")
    assert checked_holder("a" * 480) == "a" * 480
    with pytest.raises(ValueError):
        checked_holder("a" * 481)


def test_a_holder_is_told_by_the_name_that_it_gave() -> None:
    assert name_of(named("a#b", "12")) == "a#b"
    assert (name_of("alone"), name_of(None)) == ("alone", "")


def driven(flow: Generator[Any, Any, Any], *answers: object) -> Any:
    """What a flow answers when it is sent these replies."""
    next(flow)
    for answer in answers[:-1]:
        flow.send(answer)
    with pytest.raises(StopIteration) as stopped:
        flow.send(answers[-1])
    return stopped.value.value


GRANTED = Granted(Fence(0, 1), NOW)
ACCIDENTS = [
    (Contended(), Contended()),
    (Unavailable("57P03"), Unavailable("57P03")),
    (OutcomeUnknown(), Contended(outcome_unknown=True)),
]


@pytest.mark.parametrize(
    ("reply", "refusal"),
    [
        (Withheld(ADA, NOW), Held("ada", moment(NOW))),
        (Overtaken(Fence(3, TOKEN_MOST)), Fenced(Fence(3, CLAIM_TOKEN_MOST), Fence(3, TOKEN_MOST))),
        (Finished(), Sealed()),
        *ACCIDENTS,
    ],
)
def test_a_claim_is_refused_by_what_it_met(reply: Any, refusal: Refusal) -> None:
    assert driven(claiming.claim(CLAIM), reply) == Failure(refusal)


@pytest.mark.parametrize(
    ("reply", "refusal"),
    [
        (Unheld(), LeaseLost()),
        (Overtaken(Fence(1, 6)), Fenced(Fence(1, 5), Fence(1, 6))),
        (Finished(), Sealed()),
        *ACCIDENTS,
    ],
)
def test_a_renewal_is_refused_by_what_it_met(reply: Any, refusal: Refusal) -> None:
    assert driven(claiming.renew(RENEW), reply) == Failure(refusal)


def test_what_is_granted_is_answered() -> None:
    assert driven(claiming.claim(CLAIM), GRANTED) == Success(GRANTED)
    assert driven(claiming.renew(RENEW), GRANTED) == Success(GRANTED)
    assert driven(claiming.release(RELEASE), Released(there=True)).unwrap() is True
    assert driven(claiming.reset(Reset("t", "run")), Raised(4)) == Success(4)


def test_releases_and_resets_are_refused_by_what_they_met() -> None:
    reset, newest = Reset("t", "run"), Fence(TOKEN_MOST, 9)
    for accident, told in ACCIDENTS:
        assert driven(claiming.release(RELEASE), accident) == Failure(told)
        assert driven(claiming.reset(reset), accident) == Failure(accident)
    assert driven(claiming.reset(reset), Overtaken(newest)) == Failure(Fenced(Fence(TOKEN_MOST, 0), newest))


@pytest.mark.parametrize(
    "flow",
    [
        claiming.claim(CLAIM),
        claiming.renew(RENEW),
        claiming.release(RELEASE),
        claiming.reset(Reset("t", "run")),
    ],
    ids=["claim", "renew", "release", "reset"],
)
def test_what_a_lease_cannot_meet_is_a_fault_of_the_backend(flow: Generator[Any, Any, Any]) -> None:
    next(flow)
    with pytest.raises(Unexpected):
        flow.send(())


def test_unfinished_takes_what_it_gets_up_to_its_limit() -> None:
    sweep = replace(CLAIM, scope="any", lapsed=5)
    flow = claiming.unfinished(sweep, 2)
    assert next(flow) == Lapsed("t", 5, "")
    assert flow.send(Page(("a", "b"), more=True)) == replace(sweep, scope="a")
    assert flow.send(GRANTED) == replace(sweep, scope="b")
    assert flow.send(Withheld(BOB, NOW)) == Lapsed("t", 5, "b")
    assert flow.send(Page(("c", "d"))) == replace(sweep, scope="c")
    with pytest.raises(StopIteration) as stopped:
        flow.send(GRANTED)
    taken = stopped.value.value.unwrap()
    assert [claim.scope for claim, _ in taken] == ["a", "c"]


def test_unfinished_answers_what_it_has_when_something_gets_in_the_way() -> None:
    sweep = replace(CLAIM, scope="any", lapsed=5)
    one = Page(("a", "b"), more=True)
    assert driven(claiming.unfinished(sweep, 9), Page(())) == Success([])
    assert len(driven(claiming.unfinished(sweep, 2), one, GRANTED, GRANTED).unwrap()) == 2
    assert driven(claiming.unfinished(sweep, 9), Contended()) == Failure(Contended())
    assert driven(claiming.unfinished(sweep, 9), one, Contended()) == Failure(Contended())
    for last in ((Contended(),), (Finished(), Unavailable())):
        taken = driven(claiming.unfinished(sweep, 9), one, GRANTED, *last)
        if isinstance(taken, Success):
            assert [claim.scope for claim, _ in taken.unwrap()] == ["a"]


def test_revisions_that_were_recorded_are_read_as_they_were() -> None:
    address = Address(("memories",), "a")
    refs = (Ref(*address, 2), Ref(*address, 3))
    item = Item("knowledge", "tea")
    stored = Revision(address, 2, item, 7, 8, 0, None, "stored", b"")
    ended = Revision(address, 3, None, 7, 9, 0, None, "deleted", b"")
    rows = tuple(RevisionFound("[]", "a", each.revision, each) for each in (stored, ended))
    flow = reading.recorded("t", refs)
    assert next(flow) == At("t", refs)
    with pytest.raises(StopIteration) as stopped:
        flow.send(Page((*rows, RevisionFound("[]", "a", 4, None))))
    assert stopped.value.value == Success([Stored(address, 2, item, 7)])
    assert driven(reading.recorded("t", refs), Contended()) == Failure(Contended())
    with pytest.raises(StopIteration) as nothing:
        next(reading.recorded("t", ()))
    assert nothing.value.value == Success([])


def test_the_key_of_a_step_is_its_path() -> None:
    assert step_key("extract", 3) == '["extract",3]'
    assert step_key(3) != step_key("3")
    wrong: list[Any] = [(True,), (None,), (1.5,)]
    for path in wrong:
        with pytest.raises(TypeError):
            step_key(*path)
    with pytest.raises(ValueError):
        step_key()
