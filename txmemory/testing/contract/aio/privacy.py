"""Guarantee 15: no content, key, scope, holder, user id or metadata in an error, a refusal, a log line or a repr."""

import logging
import traceback
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest

import txmemory
from txmemory import (
    AlreadyExists,
    AsyncStore,
    Bounds,
    Closed,
    Fenced,
    Filter,
    KeyReused,
    Memory,
    Receipt,
    Refusal,
    Refused,
    Sealed,
    StaleRevision,
    TooManyToEvict,
    either,
    must,
)
from txmemory.testing.aio.storage import AsyncStorage

CANARY = "kanarie"
"""Part of everything that must not be seen again."""
USER, SCOPE, KEY, HOLDER, ID = (f"{CANARY}-{word}" for word in ("user", "scope", "key", "holder", "id"))
METADATA = {f"{CANARY}-name": f"{CANARY}-value"}


def secret(content: str = f"{CANARY} content", *, id: str = ID) -> Memory:
    """A memory whose every field is private."""
    return Memory(content, id=id, metadata=METADATA)


@contextmanager
def listening() -> Iterator[list[str]]:
    """Every line that is logged at any level meanwhile, with its traceback."""
    lines: list[str] = []

    class Listener(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(f"{self.format(record)} {record.__dict__!r}")

    root, listener = logging.getLogger(), Listener(logging.DEBUG)
    before = root.level
    root.addHandler(listener)
    root.setLevel(logging.DEBUG)
    try:
        yield lines
    finally:
        root.setLevel(before)
        root.removeHandler(listener)


def assert_silent(error: BaseException) -> None:
    """Neither the error nor what is printed of its causes says anything private."""
    shown: traceback.TracebackException | None = traceback.TracebackException.from_exception(error)
    while shown is not None:
        assert CANARY not in "".join(shown.format_exception_only())
        shown = shown.__cause__ or (None if shown.__suppress_context__ else shown.__context__)
    assert CANARY not in f"{error!r} {error.args!r} {vars(error)!r}"


async def test_no_repr_of_a_public_object_shows_anything_private(storage: AsyncStorage) -> None:
    """D6: stores, writers, memories, receipts, outcomes, refs, histories."""
    store = (await storage.open()).tenant(f"{CANARY}-tenant").within("users", USER)
    writer = store.writer(SCOPE, 1, holder=HOLDER)
    receipt = must(await writer.write(KEY, [secret()]))
    replaced = must(await writer.replace(f"{KEY}-2", [secret(id=f"{ID}-2")], [ID], bounds=Bounds(0)))
    found = must(await store.history(ID))
    shown: list[object] = [
        store,
        writer,
        secret(),
        receipt,
        receipt.outcome,
        receipt.outcome.added[0],
        receipt.outcome.added[0].address,
        replaced,
        found,
        must(await store.recall(as_of=(SCOPE, 1))),
        Filter.by_type(f"{CANARY}-type"),
        Bounds(7),
        txmemory.InMemoryStore.empty().within(USER),
    ]
    for each in shown:
        assert CANARY not in repr(each), type(each).__name__
        assert CANARY not in str(each), type(each).__name__


async def test_no_refusal_shows_anything_private(storage: AsyncStorage) -> None:
    """D6: every refusal that can be provoked, as a value and raised by `must`."""
    store = (await storage.open()).within("users", USER)
    writer = store.writer(SCOPE, 2, holder=HOLDER)
    must(await writer.write(KEY, [secret()]))
    must(await writer.write_many([(f"{KEY}-{n}", _many(n)) for n in (1, 2)]))
    must(await writer.write(f"{KEY}-3", [secret(id=f"{ID}-3"), secret(id=f"{ID}-4")]))
    sealed = store.writer(f"{SCOPE}-sealed", 1)
    must(await sealed.seal())
    results = [
        await store.writer(SCOPE, 1).write(KEY, [secret()]),
        await store.writer(SCOPE, 2, holder=f"{HOLDER}-2").write(KEY, [secret()]),
        await writer.write(KEY, [secret("other")], on_mismatch="refuse"),
        await sealed.write(KEY, [secret()]),
        await writer.write("new", [secret()], expect={ID: 9}),
        await writer.write("new", [secret()], expect={ID: None}),
        await writer.write("new", [secret()], bounds=Bounds(0)),
    ]
    refusals: list[object] = [either(result) for result in results]
    expected = [Fenced, Fenced, KeyReused, Sealed, StaleRevision, AlreadyExists, TooManyToEvict]
    assert [type(refusal) for refusal in refusals] == expected
    for refusal, result in zip(refusals, results, strict=True):
        assert isinstance(refusal, Refusal)
        assert CANARY not in repr(refusal)
        with pytest.raises(Refused) as refused:
            must(result)
        assert_silent(refused.value)
        assert CANARY not in repr(result)


async def test_no_error_shows_anything_private(storage: AsyncStorage) -> None:
    """D6: whatever is wrong with an argument, the message names the argument, not its value."""
    store = await storage.open()
    writer = store.writer(SCOPE, 1)
    for bad in (f"{CANARY}\x00", f"{CANARY}\ud800", CANARY * 200, [CANARY]):
        await _check_text(store, bad)
    twice: list[tuple[str, list[Memory]]] = [(KEY, []), (KEY, [])]
    await _silent(lambda: writer.write_many(twice))
    await _silent(lambda: writer.write_many([(KEY, [secret()]), (f"{KEY}-2", [secret()])]))
    await _silent(lambda: writer.replace(KEY, [secret()], [ID]))
    await _silent(lambda: writer.replace(KEY, [], [(ID, 1), (ID, 2)]))
    await _silent(lambda: writer.write(KEY, [], expect={ID: -1}))
    builds: list[Callable[[], object]] = [
        lambda: Memory(f"{CANARY}\x00"),
        lambda: Memory(f"{CANARY}\ud800"),
        lambda: Memory("tea", metadata={CANARY: f"{CANARY}\x00"}),
        lambda: Memory("tea", metadata={f"{CANARY}\ud800": CANARY}),
        lambda: Memory("tea", metadata={CANARY: CANARY * 10_000}),
    ]
    for build in builds:
        with pytest.raises(ValueError) as refused:
            build()
        assert_silent(refused.value)


async def test_no_log_line_shows_anything_private(storage: AsyncStorage) -> None:
    """D6: at DEBUG, over everything that a store does, refusals, errors and closing included."""
    with listening() as lines:
        store = (await storage.open()).within("users", USER)
        writer = store.writer(SCOPE, 2, holder=HOLDER)
        must(await writer.write(KEY, [secret()]))
        must(await writer.write(KEY, [secret("other")]))
        must(await writer.replace(f"{KEY}-2", [secret(id="b")], [ID]))
        await store.writer(SCOPE, 1).applied(KEY)
        await writer.write(f"{KEY}-3", [secret()], expect={ID: 9})
        must(await store.store(secret()))
        must(await store.recall(Filter.by_type("task")))
        must(await store.history(ID))
        must(await writer.forget_applied(KEY))
        must(await store.delete(ID))
        must(await store.clear())
        must(await writer.seal())
        await _silent(lambda: store.get(f"{CANARY}\x00"))
        await store.close()
        with pytest.raises(Closed) as closed:
            await store.store(secret())
        assert_silent(closed.value)
        logging.getLogger("txmemory").debug("the listener listens")
    assert any("the listener listens" in line for line in lines)
    assert not [line for line in lines if CANARY in line]


async def test_what_is_public_is_shown(storage: AsyncStorage) -> None:
    """The canary's own test: what stands in a repr is found there."""
    receipt = must(await (await storage.open()).writer("run", 77).write("step", []))
    assert isinstance(receipt, Receipt)
    assert "77" in repr(receipt)


async def _check_text(store: AsyncStore, bad: Any) -> None:
    writer = store.writer(SCOPE, 1)
    calls: list[Callable[[], object]] = [
        lambda: Memory("tea", id=bad),
        lambda: Memory("tea", memory_type=bad),
        lambda: store.within(bad),
        lambda: store.tenant(bad),
        lambda: store.writer(bad, 1),
        lambda: store.writer("run", 1, holder=bad),
    ]
    for call in calls:
        with pytest.raises((TypeError, ValueError)) as raised:
            call()
        assert_silent(raised.value)
    asks: list[Callable[[Any], Awaitable[object]]] = [
        writer.applied,
        writer.forget_applied,
        store.get,
        store.delete,
        store.history,
    ]
    for ask in asks:
        await _silent(partial(ask, bad))
    await _silent(lambda: writer.write(bad, []))
    await _silent(lambda: writer.replace("k", [], [bad]))
    await _silent(lambda: writer.replace("k", [], [(bad, 1)]))


def _many(turn: int) -> list[Memory]:
    return [secret(id=f"{ID}-{turn}-{n}") for n in range(498 + turn)]


async def _silent(call: Callable[[], Awaitable[object]]) -> None:
    with pytest.raises((TypeError, ValueError)) as raised:
        await call()
    assert_silent(raised.value)
