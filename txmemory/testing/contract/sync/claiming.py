# Generated from ../aio/claiming.py by scripts/generate. Do not edit.
"""Guarantees 3, 4 and 10: one live claim of a scope, tokens that only grow, and no clock that safety depends on."""

from datetime import timedelta
from functools import partial

import pytest

from txmemory import (
    Claim,
    Fence,
    Fenced,
    Held,
    LeaseLost,
    Memory,
    Receipt,
    Sealed,
    Store,
    either,
    must,
)
from txmemory.testing.cases import needs
from txmemory.testing.racing import race
from txmemory.testing.sync.asking import OPERATIONS, contents, written
from txmemory.testing.sync.storage import Storage

TTL = timedelta(seconds=30)
LARGEST = 2**63 - 1
LAST_ISSUED = 2**62


def kinds(storage: Storage) -> list[tuple[str, int | None, int | None, int | None]]:
    """Kind, seq, generation and token of every event."""
    return [(event.kind, event.seq, event.generation, event.token) for _, event in storage.events()]


def other(storage: Storage) -> Store:
    """A store of another process, as far as claims can tell."""
    return storage.open()


def test_a_claim_issues_the_next_token_and_fences_who_had_an_older_one(storage: Storage) -> None:
    """Granting is the fence advance: before the claim has written anything its predecessor is refused."""
    store = storage.open()
    written(store.writer("run", 4), "step", "a")
    claim = must(store.claim("run", "worker"))
    assert (claim.scope, claim.generation, claim.token) == ("run", 0, 5)
    assert claim.until == storage.clock() + TTL
    assert claim.valid
    before = storage.digest()
    for operation in OPERATIONS:
        assert operation(store.writer("run", 4), "late") == Fenced(Fence(0, 4), Fence(0, 5))
    assert storage.digest() == before
    assert written(claim.writer, "next", "b").outcome.token == 5
    assert kinds(storage) == [("record", 1, 0, 4), ("claim", 2, 0, 5), ("record", 3, 0, 5)]


def test_one_claim_is_live_and_another_holder_is_told_whose_and_until_when(
    storage: Storage,
) -> None:
    """`Held` names the holder as it named itself, and changes nothing; another scope or tenant is free."""
    first, second = storage.open(), other(storage)
    must(first.claim("run", "ada"))
    before = storage.digest()
    for name in ("bob", "ada"):
        assert either(second.claim("run", name)) == Held("ada", storage.clock() + TTL)
    assert either(first.claim("run", "bob")) == Held("ada", storage.clock() + TTL)
    assert storage.digest() == before
    for place, scope in ((second, "Run"), (second, "run "), (second.tenant("acme"), "run")):
        assert must(place.claim(scope, "bob")).token == 1


def test_the_holder_who_asks_again_gets_its_own_claim_back_for_longer(storage: Storage) -> None:
    """F12: the answer to a claim was lost; asked again it is the same token, not `Held`, and no event."""
    store = storage.open()
    first = must(store.claim("run", "ada"))
    storage.clock.advance(timedelta(seconds=20))
    again = must(store.within("deep").claim("run", "ada"))
    assert (again.generation, again.token) == (first.generation, first.token)
    assert again.until == storage.clock() + TTL
    assert len(storage.events()) == 1
    storage.clock.advance(timedelta(seconds=29))
    assert isinstance(either(other(storage).claim("run", "ada")), Held)
    assert isinstance(either(first.writer.write("step", [Memory("tea")])), Receipt)


def test_a_lapsed_lease_is_taken_over_and_the_old_holder_is_fenced(storage: Storage) -> None:
    """F3: expiry decides who may claim; until somebody does the holder goes on."""
    first, second = storage.open(), other(storage)
    old = must(first.claim("run", "ada"))
    storage.clock.advance(TTL - timedelta(microseconds=1))
    assert isinstance(either(second.claim("run", "bob")), Held)
    storage.clock.advance(timedelta(microseconds=1))
    written(old.writer, "after the end", "a")
    new = must(second.claim("run", "bob"))
    assert new.token == old.token + 1
    before = storage.digest()
    fenced = Fenced(Fence(0, 1), Fence(0, 2))
    assert either(old.writer.write("late", [Memory("late")])) == fenced
    assert either(old.renew()) == fenced
    assert must(old.release()) is False
    assert storage.digest() == before
    written(new.writer, "step", "b")
    assert set(contents(first)) == {"a", "b"}


def test_a_renewal_lets_a_claim_hold_for_longer_and_is_no_event(storage: Storage) -> None:
    """From the renewal on, also once the lease had ended, as long as nobody has claimed."""
    first, second = storage.open(), other(storage)
    claim = must(first.claim("run", "ada", timedelta(seconds=10)))
    storage.clock.advance(timedelta(seconds=9))
    must(claim.renew(timedelta(seconds=10)))
    assert claim.until == storage.clock() + timedelta(seconds=10)
    storage.clock.advance(timedelta(seconds=9))
    assert isinstance(either(second.claim("run", "bob")), Held)
    storage.clock.advance(timedelta(days=1))
    must(claim.renew(timedelta(seconds=10)))
    assert isinstance(either(second.claim("run", "bob")), Held)
    assert [kind for kind, *_ in kinds(storage)] == ["claim"]


def test_a_released_scope_is_free_and_its_tokens_go_on(storage: Storage) -> None:
    """F4: claim, release, claim: the token grows, and a released claim is not renewed."""
    first, second = storage.open(), other(storage)
    old = must(first.claim("run", "ada"))
    assert must(old.release()) is True
    assert not old.valid
    assert either(old.renew()) == LeaseLost()
    before = storage.digest()
    assert must(old.release()) is True  # as the first time, and nothing changes
    assert storage.digest() == before
    written(old.writer, "after the release", "a")  # it is still the newest
    new = must(second.claim("run", "bob"))
    assert new.token == 2
    assert kinds(storage) == [
        ("claim", 1, 0, 1),
        ("release", 2, 0, 1),
        ("record", 3, 0, 1),
        ("claim", 4, 0, 2),
    ]


def test_a_newer_token_from_elsewhere_ends_a_lease(storage: Storage) -> None:
    """Tokens issued elsewhere enter by `writer`: the claim is over, and the next one goes on behind them."""
    store = storage.open()
    claim = must(store.claim("run", "ada"))
    must(store.writer("run", 1).applied("an equal token changes nothing"))
    must(claim.renew())
    must(store.writer("run", 9).applied("step"))
    lived = [claim.valid]
    assert either(claim.renew()) == Fenced(Fence(0, 1), Fence(0, 9))
    assert [*lived, claim.valid] == [True, False]
    assert must(claim.release()) is False
    assert must(other(storage).claim("run", "bob")).token == 10


def test_of_sixteen_claimers_at_once_one_gets_it(storage: Storage) -> None:
    """All others are told who holds it; also of a scope that was claimed before."""
    stores = [storage.open() for _ in range(4)]
    for turn in range(4):
        storage.clock.advance(timedelta(minutes=1))
        calls = (partial(stores[n % 4].claim, "run", f"worker-{n}") for n in range(16))
        answers = [either(result) for result in race(*calls)]
        (claim,) = (answer for answer in answers if isinstance(answer, Claim))
        assert claim.token == turn + 1
        assert all(isinstance(answer, Claim | Held) for answer in answers)
    assert [event.seq for _, event in storage.events()] == [1, 2, 3, 4]


def test_claims_and_writes_at_once_keep_one_order(storage: Storage) -> None:
    """Whatever the race, the events of a scope count without gaps and their tokens never fall."""
    stores = [storage.open() for _ in range(4)]

    def work(store: Store, name: str) -> int:
        done = 0
        for turn in range(10):
            match either(store.claim("run", name)):
                case Claim() as claim:
                    wrote = either(claim.writer.write(f"{name}-{turn}", [Memory("tea")]))
                    assert isinstance(wrote, Receipt | Fenced)
                    done += isinstance(wrote, Receipt)
                    must(claim.release())
                case Held():
                    pass
                case refusal:
                    raise AssertionError(refusal)
        return done

    done = race(*(partial(work, store, f"w{n}") for n, store in enumerate(stores)))
    events = [event for _, event in storage.events()]
    events.sort(key=lambda event: event.seq or 0)
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    tokens = [event.token or 0 for event in events]
    assert tokens == sorted(tokens)
    assert sum(event.kind == "record" for event in events) == sum(done) > 0


@needs("persistence")
def test_tokens_grow_over_release_takeover_clear_and_reopening(storage: Storage) -> None:
    """F4, F5: a claim is durable when it was answered, and nothing takes its token back."""
    store = storage.open()
    claim = must(store.claim("run", "ada"))
    written(claim.writer, "step", "a")
    must(store.clear())
    store.close()
    store = storage.open()
    assert either(store.claim("run", "ada")) == Held("ada", storage.clock() + TTL)
    assert isinstance(either(store.writer("run", 0).applied("step")), Fenced)
    storage.clock.advance(TTL)
    assert must(store.claim("run", "ada")).token == 2
    store.close()
    storage.clock.advance(timedelta(days=400))
    store = storage.open()
    assert must(store.claim("run", "bob")).token == 3


def test_a_holder_of_a_claim_is_told_apart_by_its_token_and_its_name(storage: Storage) -> None:
    """F11: the claim names its holder, so another who presents its very token under a name is refused."""
    store = storage.open()
    claim = must(store.claim("run", "ada"))
    assert must(store.writer("run", claim.token).applied("nameless")) is None
    refused = either(store.writer("run", claim.token, holder="ada").applied("step"))
    assert refused == Fenced(Fence(0, 1), Fence(0, 1))
    must(claim.renew())


def test_a_sealed_scope_is_not_claimed_and_its_claim_is_over(storage: Storage) -> None:
    """Finished is finished: `Sealed` for a claim and a renewal, before and after the lease has ended."""
    store = storage.open()
    claim = must(store.claim("run", "ada"))
    must(claim.writer.seal())
    before = storage.digest()
    for late in (timedelta(0), TTL):
        storage.clock.advance(late)
        assert either(store.claim("run", "ada")) == Sealed()
        assert either(other(storage).claim("run", "bob")) == Sealed()
        assert either(claim.renew()) == Sealed()
    assert must(claim.release()) is True
    assert storage.digest() == before


def test_a_poisoned_scope_is_cured_by_a_reset_that_is_noted(storage: Storage) -> None:
    """F9: a bogus token closes a scope for claims; the reset raises the generation, which outweighs it."""
    store = storage.open()
    poisoned = store.writer("run", LARGEST)
    written(poisoned, "bogus", "a")
    before = storage.digest()
    newest = Fence(0, LARGEST)
    assert either(store.claim("run", "ada")) == Fenced(Fence(0, LAST_ISSUED), newest)
    assert storage.digest() == before
    assert must(store.reset_fence("run")) == 1
    claim = must(store.claim("run", "ada"))
    assert (claim.generation, claim.token) == (1, 1)
    refused = either(poisoned.write("late", []))
    assert refused == Fenced(newest, Fence(1, 1))
    written(claim.writer, "step", "b")
    assert kinds(storage) == [
        ("record", 1, 0, LARGEST),
        ("reset", 2, 1, 0),
        ("claim", 3, 1, 1),
        ("record", 4, 1, 1),
    ]
    assert must(store.keys("run")) == ["bogus", "step"]


def test_claims_issue_tokens_up_to_two_to_the_62(storage: Storage) -> None:
    """F9: the last is issued, the one behind it is not, and a live claim of the last one comes back."""
    store = storage.open()
    must(store.writer("run", LAST_ISSUED - 1).applied("x"))
    last = must(store.claim("run", "ada"))
    assert last.token == LAST_ISSUED
    assert must(store.claim("run", "ada")).token == LAST_ISSUED
    must(last.release())
    fence = Fence(0, LAST_ISSUED)
    assert either(store.claim("run", "ada")) == Fenced(fence, fence)


def test_a_reset_ends_every_claim_and_asks_nobody(storage: Storage) -> None:
    """A live claim, a scope that nobody has named, a sealed one, and the last generation that there is."""
    store = storage.open()
    claim = must(store.claim("run", "ada"))
    assert must(other(storage).reset_fence("run")) == 1
    assert either(claim.renew()) == Fenced(Fence(0, 1), Fence(1, 0))
    assert isinstance(either(claim.writer.applied("x")), Fenced)
    assert must(other(storage).claim("run", "bob")).token == 1
    assert must(store.reset_fence("new")) == 1
    assert must(store.reset_fence("new")) == 2
    assert isinstance(either(store.writer("new", 5, generation=1).applied("x")), Fenced)
    assert must(store.writer("new", 0, generation=2).applied("x")) is None
    must(store.writer("done", 3).seal())
    assert must(store.reset_fence("done")) == 1
    assert either(store.claim("done", "ada")) == Sealed()
    must(store.writer("last", 7, generation=LARGEST).applied("x"))
    before = storage.digest()
    fenced = Fenced(Fence(LARGEST, 0), Fence(LARGEST, 7))
    assert either(store.reset_fence("last")) == fenced
    assert storage.digest() == before


@needs("sharing")
def test_a_claim_is_judged_by_the_clock_that_it_brings(storage: Storage) -> None:
    """F7: where stores bring clocks of their own; times of record still only grow."""
    behind = storage.clock.behind(timedelta(minutes=10))
    ahead, late = storage.open(), storage.open(clock=behind)
    must(late.claim("run", "late"))  # for its clock until 9 minutes and 30 seconds ago
    claim = must(ahead.claim("run", "ahead"))
    assert claim.token == 2
    assert isinstance(either(late.claim("run", "late")), Held)
    must(claim.release())
    assert must(late.claim("run", "late")).token == 3
    times = [event.at for _, event in sorted(storage.events(), key=lambda each: each[1].seq or 0)]
    assert times == sorted(set(times))


def test_wrong_arguments_of_claims_are_refused_before_anything_is_sent(storage: Storage) -> None:
    """A lease of no length, of a day and more, no time at all; names that are empty or too long."""
    store = storage.open()
    claim = must(store.claim("run", "n" * 480, timedelta(days=1)))
    must(claim.renew(timedelta(milliseconds=100)))
    before = storage.digest()
    least, day = timedelta(milliseconds=100), timedelta(days=1)
    for ttl in (least - timedelta(microseconds=1), day + timedelta(microseconds=1), -TTL):
        with pytest.raises(ValueError):
            store.claim("other", "ada", ttl)
        with pytest.raises(ValueError):
            claim.renew(ttl)
    for scope, holder in (("", "ada"), ("run", ""), ("s" * 513, "ada"), ("run", "n" * 481), ("run", "a\x00")):
        with pytest.raises(ValueError):
            store.claim(scope, holder)
    with pytest.raises(TypeError):
        store.claim("run", "ada", 30)  # type: ignore[arg-type]  # the wrong type is the point
    with pytest.raises(TypeError):
        store.claim("run", None)  # type: ignore[arg-type]  # the wrong type is the point
    with pytest.raises(ValueError):
        store.reset_fence("")
    assert storage.digest() == before
