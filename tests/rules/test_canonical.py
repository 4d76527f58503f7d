"""One spelling for every value, whoever spells it."""

import json
import uuid
from typing import Any

import pytest
from hypothesis import given

from tests.rules.examples import json_values
from txmemory.model import canonical
from txmemory.model.canonical import (
    GeneratedId,
    canonical_json,
    checked_integer,
    checked_json,
    checked_text,
    digest,
    generated_id,
    new_salt,
    opens,
    sealed_digest,
)


def turned(value: Any) -> Any:
    """The same value with the keys of every object in the opposite order."""
    match value:
        case dict():
            return {key: turned(value[key]) for key in reversed(value)}
        case list():
            return [turned(each) for each in value]
        case _:
            return value


@given(json_values)
def test_the_order_of_keys_makes_no_difference_and_nothing_is_lost(value: Any) -> None:
    text = checked_json(value, "data", 10_000)
    assert checked_json(turned(value), "data", 10_000) == text
    assert json.loads(text) == value
    assert canonical_json(json.loads(text)) == text


def test_characters_stand_for_themselves_and_no_space_is_wasted() -> None:
    assert canonical_json({"b": [1, "grün"], "a": None}) == '{"a":null,"b":[1,"grün"]}'


def test_a_tuple_is_spelled_as_a_list() -> None:
    assert checked_json(("a", ("b",)), "data", 100) == '["a",["b"]]'


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), "a\x00b", "\ud800", {"a": "\udfff"}, {"\x00": 1}]
)
def test_what_some_backend_cannot_hold_is_refused_wherever_it_stands(value: object) -> None:
    for placed in (value, [value], {"a": [value]}):
        with pytest.raises(ValueError):
            checked_json(placed, "data", 10_000)


@pytest.mark.parametrize("value", [b"bytes", {1}, object(), {1: "a"}, {None: "a"}, 1j])
def test_what_is_not_json_is_refused_wherever_it_stands(value: object) -> None:
    for placed in (value, [value], {"a": [value]}):
        with pytest.raises(TypeError):
            checked_json(placed, "data", 10_000)


@pytest.mark.parametrize(
    ("value", "error"),
    [
        (None, TypeError),
        (b"a", TypeError),
        (1, TypeError),
        ("", ValueError),
        ("a\x00", ValueError),
        ("\ud800", ValueError),
        ("\udc00a", ValueError),
    ],
)
def test_a_text_that_backends_would_store_differently_is_refused(
    value: object, error: type[Exception]
) -> None:
    with pytest.raises(error):
        checked_text(value, "a text", 100)


def test_an_error_names_what_was_wrong_and_never_the_value() -> None:
    for value in ("secret\x00", "secret\ud800", "secret" * 10):
        with pytest.raises(ValueError, match=r"^key ") as caught:
            checked_text(value, "key", 10)
        assert "secret" not in str(caught.value)


def test_length_is_counted_in_bytes_of_utf_8() -> None:
    assert checked_text("ä" * 5, "a text", 10) == "ä" * 5
    with pytest.raises(ValueError):
        checked_text("ä" * 5 + "a", "a text", 10)


def test_normalisation_forms_are_different_texts() -> None:
    assert checked_text("\u00e9", "a text", 10) != checked_text("e\u0301", "a text", 10)


@pytest.mark.parametrize("value", [True, 1.0, "1", None])
def test_only_an_integer_is_an_integer(value: object) -> None:
    with pytest.raises(TypeError):
        checked_integer(value, "token", 0, 10)


@pytest.mark.parametrize("value", [-1, 11])
def test_an_integer_outside_its_range_is_refused(value: int) -> None:
    with pytest.raises(ValueError):
        checked_integer(value, "token", 0, 10)


def test_a_sealed_digest_opens_for_what_it_was_made_from_alone() -> None:
    one, other = digest("green tea"), digest("black tea")
    sealed = sealed_digest(new_salt(), one)
    assert len(sealed) == 48
    assert opens(sealed, one)
    assert not opens(sealed, other)
    assert sealed_digest(new_salt(), one) != sealed


def test_ids_that_we_make_are_new_and_sort_in_the_order_they_were_made() -> None:
    made = [generated_id() for _ in range(100)]
    assert made == sorted(set(made))
    assert {uuid.UUID(each).version for each in made} == {7}


def test_ids_are_made_by_the_standard_library_where_it_can(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uuid, "uuid7", lambda: uuid.UUID(int=7), raising=False)
    canonical._uuid7_source.cache_clear()
    try:
        made = generated_id()
    finally:
        canonical._uuid7_source.cache_clear()
    assert isinstance(made, GeneratedId)
    assert made == str(uuid.UUID(int=7))


def test_ids_are_made_by_a_library_where_the_standard_one_cannot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(uuid, "uuid7", raising=False)
    canonical._uuid7_source.cache_clear()
    try:
        made = generated_id()
    finally:
        canonical._uuid7_source.cache_clear()
    assert uuid.UUID(made).version == 7
