"""What a namespace stores at an id: exact times, detached attributes, a commitment to all of it."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from types import MappingProxyType
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from txmemory.model.item import (
    NO_ATTRIBUTES,
    TIME_LEAST,
    TIME_MOST,
    Item,
    Scalar,
    checked_attributes,
    checked_data,
    checked_importance,
    commitment,
    commitment_to,
    embedding_bytes,
    embedding_from,
    microseconds,
    moment,
)

zones = st.integers(-1_439, 1_439).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@given(st.datetimes(timezones=zones))
def test_a_time_is_kept_to_the_microsecond_whatever_its_zone(given: datetime) -> None:
    elapsed = (given - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    if TIME_LEAST <= elapsed <= TIME_MOST:
        assert moment(microseconds(given, "timestamp")) == given
    else:
        with pytest.raises(ValueError):
            microseconds(given, "timestamp")


@given(st.integers(TIME_LEAST, TIME_MOST))
def test_every_stored_time_has_a_moment(elapsed: int) -> None:
    assert microseconds(moment(elapsed), "timestamp") == elapsed


def test_both_times_of_a_folded_hour_are_told_apart() -> None:
    early = datetime(2026, 10, 25, 2, 30, tzinfo=ZoneInfo("Europe/Berlin"))
    late = early.replace(fold=1)
    assert microseconds(late, "timestamp") - microseconds(early, "timestamp") == 3_600_000_000


def test_the_first_and_the_last_moment_are_exact() -> None:
    first, last = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
    assert moment(microseconds(first, "timestamp")) == first
    assert moment(microseconds(last, "timestamp")) == last


@pytest.mark.parametrize(
    "outside",
    [
        datetime.min.replace(tzinfo=timezone(timedelta(hours=1))),
        datetime.max.replace(tzinfo=timezone(timedelta(hours=-1))),
    ],
)
def test_a_moment_that_utc_cannot_write_is_refused(outside: datetime) -> None:
    with pytest.raises(ValueError, match="years"):
        microseconds(outside, "timestamp")


def test_a_naive_time_is_refused_and_what_is_no_time_too() -> None:
    with pytest.raises(ValueError, match="aware"):
        microseconds(datetime(2026, 1, 1), "timestamp")  # noqa: DTZ001 - the point of the test
    with pytest.raises(TypeError):
        microseconds("2026-01-01", "timestamp")


@pytest.mark.parametrize(
    "build", [lambda at: Item("knowledge", created_at=at), lambda at: Item("knowledge", expires_at=at)]
)
def test_times_of_an_item_stay_within_what_can_be_written(build: Callable[[int], Item]) -> None:
    assert build(TIME_LEAST) != build(TIME_MOST)
    for elapsed in (TIME_LEAST - 1, TIME_MOST + 1):
        with pytest.raises(ValueError):
            build(elapsed)


def test_attributes_are_detached_and_cannot_be_changed() -> None:
    given: dict[str, Scalar] = {"a": 1, "b": "tea", "c": 0.5, "d": True}
    item = Item("knowledge", attributes=given)
    given["a"] = 2
    assert item.attributes == {"a": 1, "b": "tea", "c": 0.5, "d": True}
    assert isinstance(item.attributes, MappingProxyType)
    assert item.attributes_text == '{"a":1,"b":"tea","c":0.5,"d":true}'


def test_no_attributes_are_the_same_as_empty_ones() -> None:
    assert Item("knowledge") == Item("knowledge", attributes={})
    assert Item("knowledge").attributes is NO_ATTRIBUTES
    assert Item("knowledge").attributes_text == Item("knowledge", attributes={}).attributes_text


@pytest.mark.parametrize("value", [None, [], {}, b"a", 1j])
def test_an_attribute_is_flat(value: object) -> None:
    with pytest.raises(TypeError):
        checked_attributes({"a": value})


@pytest.mark.parametrize("attributes", [None, [("a", 1)], "a", {1: "a"}])
def test_attributes_map_texts(attributes: object) -> None:
    with pytest.raises(TypeError):
        checked_attributes(attributes)


@pytest.mark.parametrize("value", [float("nan"), float("-inf"), "a\x00", "\ud800", 2**63, -(2**63) - 1])
def test_an_attribute_that_some_backend_cannot_hold_is_refused(value: object) -> None:
    with pytest.raises(ValueError):
        checked_attributes({"a": value})


def test_importance_is_a_number_from_zero_to_one() -> None:
    assert [checked_importance(each) for each in (0, 0.5, 1)] == [0.0, 0.5, 1.0]
    assert isinstance(Item("knowledge", importance=1).importance, float)
    for outside in (-0.001, 1.001, float("nan"), float("inf")):
        with pytest.raises(ValueError):
            checked_importance(outside)
    for other in (True, "1", b"1"):
        with pytest.raises(TypeError):
            checked_importance(other)


CHANGES: list[Callable[[], Item]] = [
    lambda: Item("task", "tea"),
    lambda: Item("knowledge", "coffee"),
    lambda: Item("knowledge", "tea", checked_data({"a": 1})),
    lambda: Item("knowledge", "tea", attributes={"a": 1}),
    lambda: Item("knowledge", "tea", expires_at=5),
    lambda: Item("knowledge", "tea", importance=0.5),
    lambda: Item("knowledge", "tea", embedding=embedding_bytes([0.5])),
]


def test_what_an_item_says_is_digested_once() -> None:
    item = Item("knowledge", "tea")
    assert item.digest is item.digest
    assert item.digest == Item("knowledge", "tea", created_at=5).digest


def test_a_commitment_binds_everything_that_the_item_says() -> None:
    salt = bytes(16)
    bound = commitment(salt, Item("knowledge", "tea"), 0)
    assert bound == commitment(salt, Item("knowledge", "tea", created_at=0), 0)
    others = [commitment(salt, change(), 0) for change in CHANGES]
    for item in (change() for change in CHANGES):  # as it is told of content that is read, and of no item
        content = item.kind, item.text, item.data, item.attributes_text, item.expires_at, item.importance
        assert commitment_to(salt, content, item.embedding, 7) == commitment(salt, item, 7)
    others.append(commitment(salt, Item("knowledge", "tea"), 1))
    others.append(commitment(bytes(15) + b"\x01", Item("knowledge", "tea"), 0))
    assert len({bound, *others}) == len(others) + 1


class Spoken(str):
    """A text that says something else of itself."""

    __slots__ = ()

    def __str__(self) -> str:
        return "***"


def test_a_text_of_another_class_is_kept_and_digested_as_the_text_that_it_is() -> None:
    spoken = Item(Spoken("note"), Spoken("tea"), attributes={Spoken("k"): Spoken("v")})
    plain = Item("note", "tea", attributes={"k": "v"})
    assert spoken == plain
    assert spoken.digest == plain.digest
    assert {type(spoken.kind), type(spoken.text), *map(type, spoken.attributes.values())} == {str}


@given(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1, max_size=8))
def test_an_embedding_comes_back_as_the_float32_numbers_that_it_is(numbers: list[float]) -> None:
    packed = embedding_bytes(numbers)
    assert len(packed) == 4 * len(numbers)
    assert embedding_from(packed) == tuple(numbers)
    assert Item("knowledge", "tea", embedding=packed).digest == Item("knowledge", "tea").digest


@pytest.mark.parametrize("wrong", ["0.5", b"0.5", ["0.5"], [b"1"], [None], 5])
def test_what_is_no_sequence_of_numbers_is_no_embedding(wrong: object) -> None:
    with pytest.raises(TypeError, match="sequence of numbers"):
        embedding_bytes(wrong)  # type: ignore[arg-type]  # the wrong type is the point


@pytest.mark.parametrize("wrong", [[], [1e39], [float("nan")], [float("-inf")], [0.0] * 16_385])
def test_an_embedding_is_of_finite_float32_numbers_and_not_of_any_length(wrong: list[float]) -> None:
    with pytest.raises(ValueError):
        embedding_bytes(wrong)


def test_bytes_that_are_no_float32_numbers_are_no_embedding() -> None:
    with pytest.raises(ValueError):
        Item("knowledge", "tea", embedding=b"123")
