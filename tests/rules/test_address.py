"""Where things are: no two namespaces are stored alike, and everything below a namespace is one range."""

from typing import Any

import pytest
from hypothesis import given

from tests.rules.examples import namespaces
from txmemory.model.address import (
    Address,
    Fence,
    Namespace,
    Presenter,
    Ref,
    checked_namespace,
    namespace_from,
    namespace_text,
)


@given(namespaces, namespaces)
def test_two_namespaces_are_stored_alike_only_when_they_are_one(one: Namespace, other: Namespace) -> None:
    assert (namespace_text(one) == namespace_text(other)) == (one == other)


@given(namespaces)
def test_a_stored_namespace_is_read_back_as_it_was(namespace: Namespace) -> None:
    assert namespace_from(namespace_text(checked_namespace(namespace))) == namespace


@given(namespaces, namespaces)
def test_what_lies_below_a_namespace_is_one_range_of_stored_texts(above: Namespace, other: Namespace) -> None:
    for namespace in (other, above, (*above, *other)):
        below = len(namespace) > len(above) and namespace[: len(above)] == above
        stem = namespace_text(above).removesuffix("]")
        assert (f"{stem}," <= namespace_text(namespace) < f"{stem}-") == below


@pytest.mark.parametrize("part", ["a\x00", "\ud800"])
def test_a_part_that_some_backend_cannot_hold_is_refused(part: str) -> None:
    with pytest.raises(ValueError):
        checked_namespace(("memories", part))


def test_a_part_that_is_no_text_is_refused() -> None:
    namespace: Any = ("memories", 7)
    with pytest.raises(TypeError):
        checked_namespace(namespace)


def test_everybody_locks_in_one_order() -> None:
    addresses = [Address(("b",), "a"), Address(("a", "b"), "a"), Address(("a",), "b"), Address(("a",), "a")]
    ordered = sorted(addresses, key=lambda address: address.order)
    assert ordered == [addresses[1], addresses[3], addresses[2], addresses[0]]


def test_a_ref_knows_its_address() -> None:
    assert Ref(("a",), "x", 3).address == Address(("a",), "x")


def test_a_newer_generation_outweighs_any_token() -> None:
    assert Fence(1, 0) > Fence(0, 2**63 - 1)
    assert Presenter("run", 5, generation=1).fence == Fence(1, 5)


def test_whose_item_it_is_stays_out_of_logs() -> None:
    assert "ada" not in repr(Address(("memories", "ada"), "ada"))
    assert repr(Ref(("memories", "ada"), "ada", 3)) == "<Ref revision=3>"
