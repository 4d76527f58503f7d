# Generated from ../aio/verifying.py by scripts/generate. Do not edit.
"""Guarantee 11: what follows from log and history is recomputed, differences are named, what follows is restored."""

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from txmemory import Checkpoint, Finding, Memory, Store, must
from txmemory.model.address import Address
from txmemory.model.commit import Commit, Entry, Put
from txmemory.model.item import Item
from txmemory.testing.cases import needs
from txmemory.testing.racing import race
from txmemory.testing.sync.asking import written
from txmemory.testing.sync.loads import Load
from txmemory.testing.sync.paging import Paging
from txmemory.testing.sync.storage import Storage

CLIENTS = 4
CALLS = 40


def nothing() -> None:
    """Nothing happens."""


def _now_and_then(load: Load, every: int) -> Callable[[], None]:
    """A call before every n-th page, 40 in all: more would be written than page after page is read."""
    count = 0

    def call() -> None:
        nonlocal count
        count += 1
        if count % every == 0 and count <= 40 * every:
            load.call()

    return call


def test_nothing_is_found_in_a_store_that_nobody_has_damaged(storage: Storage) -> None:
    """Whatever was called: of the tenant, the namespace, each scope, and the whole store."""
    store = storage.open()
    Load(store, 1).calls(300)
    Load(store.tenant("other"), 2).calls(30)
    for verified in (
        store.verify(),
        store.verify(of="namespace"),
        store.verify(of="store"),
    ):
        assert must(verified).findings == ()
    for scope in ("run-0", "run-1", "run-2", "no such scope"):
        assert must(store.verify(scope=scope)).findings == ()
    both = must(store.verify(of="store")).read
    ours = must(store.verify()).read
    theirs = must(store.tenant("other").verify()).read
    assert both.events == ours.events + theirs.events > 0
    assert both.revisions == ours.revisions + theirs.revisions > 0


def test_an_empty_store_is_whole(storage: Storage) -> None:
    store = storage.open()
    for of in ("namespace", "tenant", "store"):
        verified = must(store.verify(of=of))
        assert (verified.findings, verified.read.events) == ((), 0)
    rebuilt = must(store.rebuild())
    assert (rebuilt.scopes, rebuilt.keys, rebuilt.heads, rebuilt.left) == (0, 0, 0, ())


def test_a_verification_reads_every_row_once(storage: Storage) -> None:
    """It says how much that was."""
    store = storage.open()
    writer = store.writer("run", 1)
    written(writer, "one", "a", "b")
    written(writer, "two", "b")
    must(writer.forget_applied("two"))
    must(store.delete("a"))
    read = must(store.verify()).read
    assert (read.scopes, read.events, read.keys, read.items, read.revisions) == (1, 4, 1, 2, 4)
    store.within("x").store(Memory("tea"))
    assert must(store.verify(of="namespace")).read.items == 2


def test_a_lost_event_is_named_with_all_that_it_explained(storage: Storage) -> None:
    """L8: what was committed with it has no explanation any more; and nothing of the scope is mended by guesses."""
    store = storage.open()
    writer = store.writer("run", 1)
    written(writer, "one", "a")
    written(writer, "two", "b")
    storage.lose_newest_event()
    named = must(store.verify()).findings
    assert set(named) == {
        Finding("events_missing", "default", "run", 2),
        Finding("key_unexplained", "default", "run", key="two"),
        Finding("revision_unexplained", "default", namespace=("memories",), id="b", revision=1),
    }
    assert set(must(store.rebuild()).left) == set(named)
    assert must(store.keys("run")) == ["one", "two"]
    assert set(must(store.verify()).findings) == set(named)
    assert must(store.verify(scope="run")).findings == (
        Finding("events_missing", "default", "run", 2),
        Finding("key_unexplained", "default", "run", key="two"),
    )


def test_a_lost_event_of_a_call_without_a_key_leaves_its_revisions_unexplained(
    storage: Storage,
) -> None:
    store = storage.open()
    must(store.store(Memory("tea", id="a")))
    must(store.store(Memory("green tea", id="a")))
    storage.lose_newest_event()
    finding = Finding("revision_unexplained", "default", namespace=("memories",), id="a", revision=2)
    for of in ("namespace", "tenant", "store"):
        assert must(store.verify(of=of)).findings == (finding,)
    assert must(store.within("x").verify(of="namespace")).findings == ()
    assert must(store.rebuild()).left == (finding,)


@pytest.mark.parametrize("rows", [2])
def test_what_is_written_between_any_two_pages_is_no_difference(storage: Storage, rows: int) -> None:
    """L8 in use: calls of any kind between two pages are taken for damage neither by verify nor by rebuild."""
    store = storage.open()
    backend = storage.backend()
    load = Load(store, 10 + rows)
    load.calls(30)

    def busy() -> Store:
        return Paging(backend, rows, _now_and_then(load, 12 // rows)).store()

    assert must(busy().verify()).findings == ()
    assert must(busy().verify(of="namespace")).findings == ()
    assert must(busy().verify(of="store")).findings == ()
    assert must(busy().verify(scope="run-1")).findings == ()
    rebuilt = must(busy().rebuild())
    assert (rebuilt.scopes, rebuilt.keys, rebuilt.heads, rebuilt.left) == (0, 0, 0, ())
    assert must(store.verify()).findings == ()


@needs("sharing")
def test_beside_writers_nothing_is_found(storage: Storage) -> None:
    """Clients whose clocks differ by hours, and two that verify all the while."""
    clocks = [storage.clock.behind(timedelta(hours=client)) for client in range(CLIENTS)]
    stores = [storage.open(clock=clock) for clock in clocks]

    def verify() -> None:
        store = storage.open()
        for _ in range(4):
            assert must(store.verify()).findings == ()
            assert must(store.rebuild()).left == ()

    loads = (partial(Load(store, client).calls, CALLS) for client, store in enumerate(stores))
    race(*loads, verify, verify)
    assert must(stores[0].verify(of="store")).findings == ()


def test_a_verification_goes_on_from_any_of_its_checkpoints(storage: Storage) -> None:
    """In another process, too: the checkpoint is a text; and it is of no use to another call."""
    store = storage.open()
    load = Load(store, 5)
    load.calls(60)
    storage.lose_newest_event()
    paging = Paging(storage.backend(), 5, nothing).store()
    told: list[Checkpoint] = []
    whole = must(paging.verify(progress=told.append))
    assert len(told) > 10
    assert whole.findings
    assert [each.read.events for each in told] == sorted(each.read.events for each in told)
    for each in told[::3]:
        begun = Checkpoint.from_text(each.text())
        assert begun == each
        again = must(paging.verify(begun=begun))
        assert set(again.findings) == set(whole.findings)
        assert again.read == whole.read
    with pytest.raises(ValueError, match="another call"):
        store.verify(of="store", begun=told[0])
    for text in ("", "{}", "[", '{"read":{},"findings":[],"scope":1}', "[" * 3_000):
        with pytest.raises(ValueError, match="not the text of a checkpoint"):
            Checkpoint.from_text(text)
    wrongs: list[dict[str, Any]] = [{"begun": told[0].text()}, {"progress": told}]
    for wrong in wrongs:
        with pytest.raises(TypeError):
            store.verify(**wrong)


def test_a_verification_of_the_whole_store_goes_on_too(storage: Storage) -> None:
    store = storage.open()
    for tenant in ("a", "b", "c"):
        Load(store.tenant(tenant), 3).calls(20)
    paging = Paging(storage.backend(), 7, nothing).store()
    told: list[Checkpoint] = []
    whole = must(paging.verify(of="store", progress=told.append))
    for each in told[::4]:
        again = must(paging.verify(of="store", begun=each))
        assert (again.findings, again.read) == ((), whole.read)


def test_an_item_that_expired_and_came_again_is_whole(storage: Storage) -> None:
    """By the clock it was there still, or not; its history tells only when it came."""
    store = storage.open()
    here = Address(("memories",), "a")
    now = int(storage.clock().timestamp() * 1_000_000)
    for expires_at in (now + 5, now + 1_000_000, None, now + 2_000_000, now + 3_000_000):
        put = Put(here, Item("knowledge", "tea", expires_at=expires_at))
        storage.commit(Commit("default", None, (Entry(changes=(put,)),)))
        storage.clock.advance(timedelta(microseconds=3))
        assert must(store.verify()).findings == ()
        storage.clock.advance(timedelta(seconds=1))
    must(store.clear())
    assert must(store.verify()).findings == ()
    rebuilt = must(store.rebuild())
    assert (rebuilt.heads, rebuilt.left) == (0, ())


def test_what_is_found_shows_nothing_of_the_caller_s(storage: Storage) -> None:
    """D6: a finding has identifiers, and no repr that shows them."""
    store = storage.open()
    secret = store.within("hush-namespace").tenant("hush-tenant")
    written(secret.writer("hush-scope", 1), "hush-key", "hush-id", content="hush-content")
    storage.lose_newest_event()
    told: list[Checkpoint] = []
    verified = must(secret.verify(progress=told.append))
    rebuilt = must(secret.rebuild())
    assert {finding.kind for finding in verified.findings} > {"key_unexplained", "revision_unexplained"}
    for shown in (verified, rebuilt, told):
        assert "hush" not in repr(shown)
    assert "hush-content" not in told[-1].text()


def test_only_a_tenant_or_a_store_is_rebuilt(storage: Storage) -> None:
    store = storage.open()
    with pytest.raises(ValueError, match="rebuild"):
        store.rebuild(of="namespace")
    with pytest.raises(ValueError, match="of must be"):
        store.verify(of="galaxy")  # type: ignore[arg-type]  # that is what is refused
