# Generated from ../aio/values.py by scripts/generate. Do not edit.
"""Odd input: stored exactly, or refused when the value is built, in the same way on every backend."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from txmemory import Custom, Memory, Receipt, must
from txmemory.model.address import Address
from txmemory.model.item import commitment
from txmemory.model.query import Revisions
from txmemory.testing.sync.storage import Storage

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
NASTY = [
    "",
    " ",
    "'; DROP TABLE txm_item; --",
    'quote " back\\slash \t tab \n newline \r\n return',
    "%_\\%",
    "c:\\temp",
    "null",
    '{"a": 1}',
    "\u0130\u0131 \u00df \ufb01",
    "e\u0301 \u00e9",
    "\u4f60\u597d \U0001f375 \U0001f468\u200d\U0001f469\u200d\U0001f467",
    "\u202eright to left\u202c",
    "\ufeff\u200b\u2028\u2029\x01\x1b\x7f\x85",
    "\U0010ffff\uffff\ufffe",
]
"""Texts that something between a caller and a page of a file might spell differently."""


def test_any_text_comes_back_as_it_was(storage: Storage) -> None:
    """D1: content, metadata keys and values, types, to the code point: no normalisation anywhere."""
    store = storage.open()
    for place, text in enumerate(NASTY):
        kind = Custom(text or "x")
        memory = Memory(text, id=f"{place}", metadata={text: text}, memory_type=kind, timestamp=NOON)
        must(store.store(memory))
        assert must(store.get(f"{place}")) == memory
    assert must(store.count()) == len(NASTY)


def test_any_text_is_an_identity_of_its_own(storage: Storage) -> None:
    """D1: ids, keys, scopes, holders, tenants and namespaces are compared by code point alone."""
    store = storage.open()
    names = [*NASTY[1:], "a", "A", "a ", " a", "a%", "a_", "aa", "e", "\u00e9", "e\u0301", "1", "01", "1.0"]
    for place, name in enumerate(names):
        receipt = must(store.writer(name, place, holder=name).write(name, [Memory(f"{place}", id=name)]))
        assert not receipt.replayed
        for other in (store.within(name), store.tenant(name)):
            must(other.store(Memory(f"{place}", id=name)))
    for place, name in enumerate(names):
        for handle in (store, store.within(name), store.tenant(name)):
            found = must(handle.get(name))
            assert found is not None
            assert found.content == f"{place}"
        assert must(store.keys(name)) == [name]
    assert must(store.count()) == len(names)


def test_bad_text_is_refused_when_built(storage: Storage) -> None:
    """D1: NUL, lone surrogates, wrong types, empty names: before any I/O, with the fence unmoved."""
    store = storage.open()
    must(store.writer("run", 1).applied("step"))
    before = storage.digest()
    writer = store.writer("run", 9)
    for wrong, error in (
        ("a\x00b", ValueError),
        ("\ud800", ValueError),
        ("\udfff\ud800", ValueError),
        (b"bytes", TypeError),
        (7, TypeError),
    ):
        given: Any = wrong
        for build in _everything_that_takes_text(given):
            with pytest.raises(error):
                build()
        for call in (
            writer.applied,
            writer.forget_applied,
            store.get,
            store.delete,
            store.history,
            store.keys,
        ):
            with pytest.raises(error):
                call(given)
        with pytest.raises(error):
            writer.write(given, [])
        with pytest.raises(error):
            writer.replace("x", [], [given])
        with pytest.raises(error):
            writer.write("x", [], expect={given: 1})
        for make in (store.tenant, store.within, lambda name: store.writer(name, 1)):
            with pytest.raises(error):
                make(given)
        with pytest.raises(error):
            store.writer("run", 1, holder=given)
    assert storage.digest() == before


def test_empty_names_are_refused_when_built(storage: Storage) -> None:
    """Scope, key, id, tenant, holder and namespace parts say something; content need not."""
    store = storage.open()
    writer = store.writer("run", 1)
    for call in (writer.applied, writer.forget_applied, store.get, store.delete, store.history):
        with pytest.raises(ValueError):
            call("")
    with pytest.raises(ValueError):
        writer.write("", [])
    for build in (
        lambda: store.tenant(""),
        lambda: store.within(""),
        lambda: store.writer("", 1),
        lambda: store.writer("run", 1, holder=""),
        lambda: Memory("tea", id=""),
        lambda: Custom(""),
    ):
        with pytest.raises(ValueError):
            build()
    assert Memory("").content == ""


def test_the_longest_values_are_stored_and_longer_ones_refused_when_built(
    storage: Storage,
) -> None:
    """D1: limits count bytes of UTF-8, in the same place on every backend."""
    store = storage.open()
    name = "\u00e9" * 256
    content, metadata, kind = "\U0001f375" * 262_144, {"k": "v" * 65_000}, Custom("t" * 505)
    longest = Memory(content, id=name, metadata=metadata, memory_type=kind, timestamp=NOON)
    far = store.tenant("t" * 128).within("n" * 1_006)
    must(far.writer(name, 1, holder=name).write(name, [longest]))
    assert must(far.get(name)) == longest
    for build in (
        lambda: Memory("x" * 1_048_577),
        lambda: Memory("\u00e9" * 524_289),
        lambda: Memory("tea", metadata={"k": "v" * 65_536}),
        lambda: Memory("tea", id=f"{name}x"),
        lambda: Memory("tea", memory_type=Custom("t" * 506)),
        lambda: store.writer(f"{name}x", 1),
        lambda: store.writer("run", 1, holder=f"{name}x"),
        lambda: store.tenant("t" * 129),
        lambda: store.within("n" * 1_024),
    ):
        with pytest.raises(ValueError):
            build()
    with pytest.raises(ValueError):
        store.writer("run", 1).applied(f"{name}x")


def test_a_write_takes_a_thousand_memories_and_refuses_more(storage: Storage) -> None:
    """Limits: 1,000 items a commit, counted after an id given twice became one."""
    store = storage.open()
    writer = store.writer("run", 1)
    batch = [Memory("tea", id=f"{n}") for n in range(1_000)]
    assert len(must(writer.write("step", [*batch, batch[0]])).outcome.added) == 1_000
    with pytest.raises(ValueError):
        writer.write("more", [*batch, Memory("tea")])
    with pytest.raises(ValueError):
        writer.replace("more", [Memory("tea")], [memory.id for memory in batch])
    assert len(must(writer.replace("end", [], [memory.id for memory in batch])).outcome.removed) == 1_000


def test_numbers_that_are_none_are_refused_when_built(storage: Storage) -> None:
    """Importance is finite and in 0 .. 1; a metadata value is text; a limit is an integer."""
    store = storage.open()
    for number in (float("nan"), float("inf"), -0.1, 1.1, 2**63):
        with pytest.raises(ValueError):
            Memory("tea", importance=number)
    for wrong in (True, "1", 1j):
        with pytest.raises(TypeError):
            Memory("tea", importance=wrong)  # type: ignore[arg-type]  # the wrong type is the point
    for metadata in ({"k": 1}, {"k": None}, {1: "v"}, [("k", "v")], "kv"):
        with pytest.raises(TypeError):
            Memory("tea", metadata=metadata)  # type: ignore[arg-type]  # the same
    for limit in (1.0, True, "1", None):
        with pytest.raises(TypeError):
            store.recall(limit=limit)  # type: ignore[arg-type]  # the same
    for exact in (0, 0.0, 1, 0.1, 5e-324, 0.1 + 0.2):
        must(store.store(Memory("tea", id="m", importance=exact)))
        found = must(store.get("m"))
        assert found is not None
        assert found.importance == exact


def test_a_negative_zero_is_zero(storage: Storage) -> None:
    """D1: stored and digested as 0.0, so that the event commits to what is read back, on every backend alike."""
    store = storage.open()
    writer = store.writer("run", 1)
    first = must(writer.write("step", [Memory("tea", id="m", importance=-0.0)]))
    again = must(writer.write("step", [Memory("tea", id="m", importance=0.0)]))
    assert again == Receipt(first.outcome, replayed=True)
    found = must(store.get("m"))
    assert found is not None
    assert repr(found.importance) == repr(Memory("tea", importance=-0.0).importance) == "0.0"
    (effect,) = (effect for _, event in storage.events() for effect in event.effects)
    (revision,) = storage.read(Revisions("default", Address(effect.namespace, "m"))).rows
    assert revision.item is not None
    assert effect.commitment == commitment(revision.salt, revision.item, revision.created_at)


def test_a_memory_that_was_read_can_be_told_anew_and_looked_up(storage: Storage) -> None:
    """A memory is a plain value: `dataclasses.replace` makes another one of it, and it may be a key of a map."""
    store = storage.open()
    given = Memory("tea", id="m", metadata={"k": "v"}, timestamp=NOON, importance=1, memory_type="task")
    must(store.store(given))
    read = must(store.get("m"))
    assert read is not None
    assert (read, hash(read)) == (given, hash(given))
    told = replace(read, content="coffee")
    assert {read: "read", told: "told"}[given] == "read"
    assert told == Memory(
        "coffee", id="m", metadata={"k": "v"}, timestamp=NOON, importance=1, memory_type="task"
    )
    must(store.store(told))
    assert must(store.get("m")) == told
    with pytest.raises(ValueError):
        replace(read, importance=2.0)


def test_a_time_is_exact_or_refused(storage: Storage) -> None:
    """D2: years 1 to 9999, microseconds, zones and both sides of a fold; naive ones and others are refused."""
    store = storage.open()
    berlin = ZoneInfo("Europe/Berlin")
    first = datetime(2030, 10, 27, 2, 30, tzinfo=berlin, fold=0)
    times = [
        datetime.min.replace(tzinfo=UTC),
        datetime.max.replace(tzinfo=UTC),
        datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
        datetime(2030, 1, 1, tzinfo=timezone(timedelta(hours=14))),
        first,
        first.replace(fold=1),
    ]
    for place, time in enumerate(times):
        must(store.store(Memory("tea", id=f"{place}", timestamp=time)))
        found = must(store.get(f"{place}"))
        assert found is not None
        assert found.timestamp is not None
        assert found.timestamp - datetime(2000, 1, 1, tzinfo=UTC) == time.astimezone(UTC) - datetime(
            2000, 1, 1, tzinfo=UTC
        )
    assert [memory.id for memory in must(store.recall())] == ["1", "5", "4", "3", "2", "0"]
    for wrong in (
        datetime(2030, 1, 1),  # noqa: DTZ001  # a naive one is the point
        datetime.max.replace(tzinfo=timezone(-timedelta(hours=1))),
        datetime.min.replace(tzinfo=timezone(timedelta(hours=1))),
    ):
        with pytest.raises(ValueError):
            Memory("tea", timestamp=wrong)
    for mistyped in (1_900_000_000, "2030-01-01", first.date()):
        with pytest.raises(TypeError):
            Memory("tea", timestamp=mistyped)  # type: ignore[arg-type]  # the wrong type is the point


def test_arguments_of_the_wrong_shape_are_refused_when_built(storage: Storage) -> None:
    """`TypeError` or `ValueError` before any I/O, with the fence unmoved."""
    store = storage.open()
    must(store.store(Memory("tea", id="m")))
    before = storage.digest()
    writer: Any = store.writer("run", 9)
    wrong_writes: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
        (("k", Memory("tea")), {}),
        (("k", ["tea"]), {}),
        (("k", None), {}),
        (("k", []), {"expect": ["m"]}),
        (("k", []), {"expect": {"m": 0}}),
        (("k", []), {"expect": {"m": True}}),
        (("k", []), {"expect": {"m": 2**63}}),
        (("k", []), {"on_mismatch": "raise"}),
    ]
    for positional, named in wrong_writes:
        with pytest.raises((TypeError, ValueError)):
            writer.write(*positional, **named)
    for remove in ("m", Memory("tea"), [("m",)], [("m", 0)], [("m", 1, 2)], [None], [("m", "1")], None, 1):
        with pytest.raises((TypeError, ValueError)):
            writer.replace("k", [], remove)
    for many in (None, [("k",)], ["k"], [("k", Memory("tea"))], [("k", [1])]):
        with pytest.raises((TypeError, ValueError)):
            writer.write_many(many)
    for memory in (None, "tea", {"content": "tea"}):
        with pytest.raises(TypeError):
            store.store(memory)  # type: ignore[arg-type]  # the wrong type is the point
    assert storage.digest() == before


def _everything_that_takes_text(text: Any) -> list[Callable[[], object]]:
    return [
        lambda: Memory(text),
        lambda: Memory("tea", id=text),
        lambda: Memory("tea", memory_type=text),
        lambda: Memory("tea", metadata={text: "v"}),
        lambda: Memory("tea", metadata={"k": text}),
        lambda: Custom(text),
    ]


def test_bounds_that_are_no_bounds_are_refused_when_given(storage: Storage) -> None:
    """D1: a false value is no wish for none."""
    store = storage.open()
    before = storage.digest()
    wrong: Any = (0, False, {}, (), "")
    for bounds in wrong:
        with pytest.raises(TypeError):
            store.writer("run", 1).write("k", [Memory("tea")], bounds=bounds)
        with pytest.raises(TypeError):
            store.store(Memory("tea"), bounds=bounds)
    assert storage.digest() == before
