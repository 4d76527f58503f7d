"""Which items a bound evicts, against its definition said one victim at a time."""

from hypothesis import given
from hypothesis import strategies as st

from tests.rules.examples import HERE, head
from txmemory.model.address import Namespace
from txmemory.model.commit import Bound
from txmemory.model.item import Head
from txmemory.rules import bounds
from txmemory.rules.visible import expired, live_revision

NOW = 5
ids = st.sampled_from("abcdefgh")
moments = st.integers(0, 9)
stored_heads = st.dictionaries(ids, st.tuples(moments, st.none() | moments), max_size=8).map(
    lambda rows: [head(id, created_at=made, expires_at=ends) for id, (made, ends) in rows.items()]
)
arriving_heads = st.dictionaries(ids, moments, max_size=4).map(
    lambda rows: [head(id, created_at=made) for id, made in rows.items()]
)


def candidates(stored: list[Head]) -> list[Head]:
    """How a backend lists them: what has expired by when it did, then the rest by age."""
    gone = [each for each in stored if expired(each.expires_at, NOW)]
    rest = [each for each in stored if not expired(each.expires_at, NOW)]
    by_age = sorted(rest, key=lambda each: (each.created_at, each.address.id))
    return [*sorted(gone, key=lambda each: (each.expires_at or 0, each.address.id)), *by_age]


def one_at_a_time(stored: list[Head], arriving: list[Head], named: set[str], number: int) -> list[str]:
    """The definition: while too many are there, what expired first goes, or else the oldest of all."""
    pool = [each for each in stored if each.address.id not in named]
    arriving = [*arriving]
    chosen: list[str] = []
    while len(chosen) < number and (pool or arriving):
        gone = [each for each in pool if expired(each.expires_at, NOW)]
        if gone:
            victim = min(gone, key=lambda each: (each.expires_at or 0, each.address.id))
        else:
            victim = min([*pool, *arriving], key=lambda each: (each.created_at, each.address.id))
        (pool if victim in pool else arriving).remove(victim)
        chosen.append(victim.address.id)
    return chosen


@given(stored_heads, arriving_heads, st.sets(ids), st.integers(0, 6))
def test_a_bounded_namespace_keeps_no_more_than_its_bound_and_the_newest_of_all(
    stored: list[Head], arriving: list[Head], ended: set[str], most: int
) -> None:
    put = {each.address.id for each in arriving}
    there = {each.address.id: each for each in stored}
    removed = {id for id in ended - put if id in there and live_revision(there[id], NOW)}
    named = {each.address for each in arriving} | {there[id].address for id in removed}
    excess = bounds.excess(len(stored), len(put - there.keys()), len(removed), most)

    # A backend lists only as many as can be needed.
    enough = candidates(stored)[: excess + len(named)]
    victims = bounds.victims(enough, arriving, named, excess, NOW)

    assert [each.address.id for each in victims] == one_at_a_time(stored, arriving, put | removed, excess)
    left = (there.keys() | put) - removed - {each.address.id for each in victims}
    assert len(left) == min(most, len((there.keys() | put) - removed))


def test_nothing_goes_while_there_is_room() -> None:
    assert bounds.excess(live=3, added=2, removed=1, most=4) == 0
    assert bounds.excess(live=3, added=2, removed=1, most=10) == 0
    assert bounds.excess(live=3, added=2, removed=1, most=1) == 3


def test_what_was_just_added_may_go() -> None:
    old, new = head("old", created_at=3), head("new", created_at=1)
    assert bounds.victims([old], [new], {new.address}, 1, NOW) == (new,)


def test_what_is_stored_over_takes_part_with_its_new_age() -> None:
    a, b = head("a", created_at=1), head("b", created_at=2)
    renewed = a._replace(created_at=4, revision=2)
    assert bounds.victims([a, b], [renewed], {a.address}, 1, NOW) == (b,)


limits = st.none() | st.integers(0, 5)
namespaces: st.SearchStrategy[Namespace] = st.sampled_from([HERE, ("memories", "ada"), ("records",)])
given_bounds = st.lists(st.builds(Bound, namespaces, limits, limits), max_size=6)


@given(given_bounds)
def test_of_a_namespace_bounded_often_each_limit_is_the_lowest_that_is_given(given: list[Bound]) -> None:
    tightest = bounds.tightest(given)
    assert len({bound.namespace for bound in tightest}) == len(tightest)
    assert {bound.namespace for bound in tightest} == {bound.namespace for bound in given}
    for bound in tightest:
        here = [each for each in given if each.namespace == bound.namespace]
        for name in ("most", "age"):
            named = [getattr(each, name) for each in here if getattr(each, name) is not None]
            assert getattr(bound, name) == (min(named) if named else None)


def test_an_item_is_past_from_a_microsecond_beyond_its_age_on_or_once_it_has_expired() -> None:
    cutoff = bounds.cutoff(Bound(HERE, age=2), NOW)
    assert cutoff == 3
    assert bounds.cutoff(Bound(HERE, most=2), NOW) is None
    assert [bounds.past(head("a", created_at=at), NOW, cutoff) for at in (2, 3, 9)] == [True, False, False]
    expiring = [head("a", created_at=4, expires_at=at) for at in (4, NOW, NOW + 1)]
    assert [bounds.past(each, NOW, cutoff) for each in expiring] == [True, True, False]
