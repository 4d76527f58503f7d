"""Random items, and conditions of every sort that they are likely to meet."""

from collections.abc import Callable

from hypothesis import strategies as st

from tests.rules.examples import at
from txmemory.model.filter import (
    AllOf,
    AnyOf,
    AttributeContains,
    AttributeIs,
    AttributeThere,
    Condition,
    CreatedWithin,
    Everything,
    ImportanceFrom,
    KindIn,
    Not,
    Nothing,
    Satisfies,
    TextContains,
)
from txmemory.model.item import Item, Stored

LETTERS = "aAkKi\u0131sS\u212a\u0130\u0307\u00df\u1e9e\u00e9\u00c9e\u0301%_\\\"' \n"
"""Letters of many cases and forms, and what some engine takes for more than itself."""
ODD_NAMES = ("", 'k"', "k\\", "k\t", "\x1f")
NAMES = ("k", "K", "entity_id", "conversation_id", "\u00e9", "k.k", "\x7f", *ODD_NAMES)
KINDS = ("task", "Task", "custom:task", "tas%")

words = st.text(st.sampled_from(LETTERS), max_size=3)
names = st.sampled_from(NAMES)
importances = st.sampled_from([0.0, 0.5, 0.5 + 2**-53, 1.0])
times = st.integers(0, 4)
scalars = words | st.sampled_from([0, 1, True, 0.5, "1", "true"])
items = st.builds(
    Item,
    st.sampled_from(KINDS),
    words,
    attributes=st.dictionaries(names, scalars, max_size=4),
    importance=st.none() | importances,
)
found = st.builds(Stored, st.sampled_from([at("a"), at("b")]), st.integers(1, 3), items, times)

PREDICATES: tuple[Callable[[Stored], bool], ...] = (
    lambda stored: len(stored.item.text) > 1,
    lambda stored: stored.revision == 2,
    lambda stored: stored.address.id == "a" and stored.item.importance is None,
)
decidable = st.one_of(
    st.just(Everything()),
    st.just(Nothing()),
    st.frozensets(st.sampled_from(KINDS)).map(KindIn),
    names.map(AttributeThere),
    st.builds(AttributeIs, names, words | st.sampled_from(["1", "true"])),
    st.builds(AttributeContains, names, words),
    st.builds(CreatedWithin, st.none() | times, st.none() | times),
    importances.map(ImportanceFrom),
    st.builds(TextContains, words, st.booleans()),
)
leaf_conditions: st.SearchStrategy[Condition] = decidable | st.sampled_from(PREDICATES).map(Satisfies)


def composed(leaf: st.SearchStrategy[Condition], most: int) -> st.SearchStrategy[Condition]:
    """Compositions of at most so many leaves."""
    return st.recursive(
        leaf,
        lambda inner: st.one_of(
            inner.map(Not),
            st.lists(inner, max_size=3).map(lambda parts: AllOf(tuple(parts))),
            st.lists(inner, max_size=3).map(lambda parts: AnyOf(tuple(parts))),
        ),
        max_leaves=most,
    )


conditions = composed(leaf_conditions, 6)
