"""What a caller wants: checked when built, and known again by its fingerprint."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.rules.examples import HERE, at, put, replace, texts, write
from txmemory.memories.translate import put_of
from txmemory.memories.values import Memory
from txmemory.model.canonical import generated_id
from txmemory.model.command import (
    Applied,
    ForgetApplied,
    Swap,
    Write,
    WriteMany,
    distinct_guards,
    last_occurrences,
)
from txmemory.model.commit import Bound, Guard, Put
from txmemory.model.item import Item, checked_data

BOUND = (Bound(HERE, 10),)


def stored(item: Item, id: str = "a") -> Write:
    return write(Put(at(id), item))


# Each differs from the first, and from each other, in one thing that the caller said.
DIFFERENT: list[Callable[[], Write]] = [
    lambda: stored(Item("knowledge", "tea")),
    lambda: stored(Item("task", "tea")),
    lambda: stored(Item("knowledge", "coffee")),
    lambda: stored(Item("knowledge", "tea", checked_data(1))),
    lambda: stored(Item("knowledge", "tea", attributes={"a": 1})),
    lambda: stored(Item("knowledge", "tea", attributes={"a": "1"})),
    lambda: stored(Item("knowledge", "tea", created_at=0)),
    lambda: stored(Item("knowledge", "tea", expires_at=0)),
    lambda: stored(Item("knowledge", "tea", importance=0)),
    lambda: stored(Item("knowledge", "tea"), id="b"),
    lambda: stored(Item("knowledge", "tea"), id=generated_id()),
    lambda: write(put("a", namespace=("memories", "ada"))),
    lambda: write(put("a"), put("b")),
    lambda: write(put("b"), put("a")),
    write,
    lambda: write(put("a"), expect=(Guard(at("a"), 0),)),
    lambda: write(put("a"), expect=(Guard(at("a"), 1),)),
    lambda: write(put("a"), expect=(Guard(at("a")),)),
    lambda: Write("replace", "step", (put("a"),)),
    lambda: replace(put("a"), sources=(Guard(at("b")),)),
    lambda: replace(put("a"), sources=(Guard(at("b"), 1),)),
    lambda: Write("write", "step", (put("a"),), bounds=BOUND, given_bounds=True),
    lambda: Write("write", "step", (put("a"),), bounds=(Bound(HERE, 11),), given_bounds=True),
]


def test_everything_that_the_caller_said_is_part_of_the_fingerprint() -> None:
    assert len({build().fingerprint for build in DIFFERENT}) == len(DIFFERENT)


def test_the_kind_of_the_call_is_part_of_the_fingerprint() -> None:
    assert (
        Write("write", "step", (put("a"),)).fingerprint != Write("replace", "step", (put("a"),)).fingerprint
    )


# Pairs of the same request: what was not said, or made by us, makes no difference.
SAME: list[tuple[Callable[[], Write], Callable[[], Write]]] = [
    (lambda: write(put(generated_id())), lambda: write(put(generated_id()))),
    (lambda: write(put("a")), lambda: write(put("a"), key="another")),
    (lambda: write(put("a")), lambda: Write("write", "step", (put("a"),), on_mismatch="refuse")),
    (lambda: write(put("a")), lambda: Write("write", "step", (put("a"),), bounds=BOUND)),
    (
        lambda: stored(Item("knowledge", attributes={"a": 1, "b": 2})),
        lambda: stored(Item("knowledge", attributes={"b": 2, "a": 1})),
    ),
    (
        lambda: stored(Item("knowledge", data=checked_data({"a": 1, "b": 2}))),
        lambda: stored(Item("knowledge", data=checked_data({"b": 2, "a": 1}))),
    ),
    (lambda: stored(Item("knowledge", importance=1)), lambda: stored(Item("knowledge", importance=1.0))),
    (lambda: write(put("a", "old"), put("b"), put("a")), lambda: write(put("b"), put("a"))),
    (
        lambda: replace(sources=(Guard(at("a")), Guard(at("b"), 2))),
        lambda: replace(sources=(Guard(at("b")), Guard(at("a")), Guard(at("b"), 2))),
    ),
    (
        lambda: write(expect=(Guard(at("a"), 0), Guard(at("b"), 2))),
        lambda: write(expect=(Guard(at("b"), 2), Guard(at("a"), 0))),
    ),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_what_the_caller_did_not_say_is_left_out_of_the_fingerprint(
    one: Callable[[], Write], other: Callable[[], Write]
) -> None:
    assert one().fingerprint == other().fingerprint


@given(texts, st.none() | st.floats(0, 1), st.dictionaries(texts, texts, max_size=3))
def test_an_honest_replay_has_the_fingerprint_of_the_first_call(
    content: str, importance: float | None, metadata: dict[str, str]
) -> None:
    def once() -> Write:
        return write(put_of(HERE, Memory(content, importance=importance, metadata=metadata)))

    assert once().puts[0].address != once().puts[0].address
    assert once().fingerprint == once().fingerprint


@given(st.lists(st.sampled_from("abc").map(put), max_size=8))
def test_of_an_id_put_twice_the_last_counts_at_its_place(puts: list[Put]) -> None:
    kept: list[Put] = []
    for each in puts:
        kept = [*(other for other in kept if other.address != each.address), each]
    assert last_occurrences(tuple(puts)) == tuple(kept)
    assert write(*puts).puts == tuple(kept)


def test_an_exact_revision_of_a_source_wins_over_any() -> None:
    anyhow, exact, other = Guard(at("a")), Guard(at("a"), 2), Guard(at("b"))
    for guards in ((anyhow, exact, other), (exact, anyhow, other), (exact, other, exact)):
        assert set(distinct_guards(guards)) == {exact, other}
    with pytest.raises(ValueError):
        distinct_guards((exact, Guard(at("a"), 3)))


def test_an_id_both_added_and_removed_is_refused() -> None:
    for source in (Guard(at("a")), Guard(at("a"), 1)):
        with pytest.raises(ValueError):
            replace(put("a"), sources=(source,))


def test_the_same_id_of_two_namespaces_is_two_items() -> None:
    elsewhere = Guard(at("a", ("memories", "ada")))
    assert replace(put("a"), sources=(elsewhere,)).addresses == {at("a"), elsewhere.address}


def test_a_write_names_what_it_puts_expects_and_ends() -> None:
    command = Write("replace", "step", (put("a"),), (Guard(at("b"), 1),), (Guard(at("c")),))
    assert command.addresses == {at("a"), at("b"), at("c")}


def test_what_is_done_on_a_mismatch_is_one_of_two_words() -> None:
    word: Any = "raise"
    with pytest.raises(ValueError):
        Write("write", "step", (), on_mismatch=word)


@pytest.mark.parametrize("build", [lambda key: Write("write", key, ()), Applied, ForgetApplied])
@pytest.mark.parametrize("key", ["", "a\x00", "\ud800", "a" * 513])
def test_every_call_checks_its_key(build: Callable[[str], object], key: str) -> None:
    with pytest.raises(ValueError):
        build(key)


def test_a_write_many_names_each_key_and_each_item_once() -> None:
    assert WriteMany((write(put("a"), key="1"), write(put("b"), key="2"))).writes[1].key == "2"
    with pytest.raises(ValueError, match="key"):
        WriteMany((write(put("a")), write(put("b"))))
    with pytest.raises(ValueError, match="item"):
        WriteMany((write(put("a"), key="1"), write(expect=(Guard(at("a"), 1),), key="2")))


def test_a_swap_does_not_end_what_it_puts() -> None:
    with pytest.raises(ValueError):
        Swap((put("a"),), (at("a"),))
    assert Swap((put("a"), put("a")), (at("b"), at("b"))) == Swap((put("a"),), (at("b"),))


@pytest.mark.parametrize(
    ("bounds", "fingerprint"),
    [
        ((), "cd0faf0829c870399e984007f2c31c8162c9b3fa1e936f99063974a7a4ffc380"),
        ((Bound(HERE, 5),), "564dea8d9d0f2d926e4d6245d8d87af6b00997c835d59c7f1ed81445e0702780"),
        ((Bound(HERE, 5, 60),), "27c1e2332ec585588726dcfd9ee09a91a757a84e213a16b88df84a18e073ff4e"),
        ((Bound(HERE, None, 60),), "9638c353cb0f0f9535bac66fb0ee5372f6fb1c147f116b06c5d00a5668a4e09f"),
    ],
)
def test_a_fingerprint_never_changes_from_one_release_to_the_next(
    bounds: tuple[Bound, ...], fingerprint: str
) -> None:
    memory = put_of(HERE, Memory("tea", id="a"))
    write = Write("write", "k", (memory,), bounds=bounds, given_bounds=bool(bounds))
    assert write.fingerprint.hex() == fingerprint
