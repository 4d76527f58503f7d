# Generated from ../aio/joining.py by scripts/generate. Do not edit.
"""A store inside a caller's own transaction: both commit together, or neither does."""

import pytest

from txmemory import (
    AlreadyExists,
    Bounds,
    Closed,
    Contended,
    Fence,
    Fenced,
    FenceRequired,
    Memory,
    StaleRevision,
    either,
    must,
)
from txmemory.testing.cases import needs
from txmemory.testing.sync.asking import OPERATIONS, contents, written
from txmemory.testing.sync.storage import Storage

SHORT = 1.0
"""The deadline of a store whose call is to wait in vain."""


@needs("joining")
def test_a_joined_write_is_there_for_others_once_its_caller_commits(storage: Storage) -> None:
    """Nobody sees a part of it before; the transaction itself sees all of it."""
    store, caller = storage.open(), storage.caller()
    caller.begin()
    caller.note("step-1")
    joined = store.joined(caller.connection)
    receipt = written(joined.writer("run", 1), "step-1", "a", "b")
    assert (receipt.outcome.seq, receipt.replayed) == (1, False)
    assert contents(joined) == {"a": "tea", "b": "tea"}
    assert must(joined.keys("run")) == ["step-1"]
    assert must(joined.count()) == 2
    assert [entry.revision for entry in must(joined.history("a"))] == [1]
    assert contents(store) == {}
    assert must(store.keys("run")) == []
    assert storage.events() == []
    caller.commit()
    assert contents(store) == {"a": "tea", "b": "tea"}
    assert must(store.writer("run", 1).applied("step-1")) == receipt.outcome
    assert caller.notes() == ["step-1"]


@needs("joining")
def test_of_a_joined_transaction_that_is_rolled_back_nothing_remains(storage: Storage) -> None:
    """No key, no memory, no event, no place in the scope's order, and the fence stands where it stood."""
    store, caller = storage.open(), storage.caller()
    written(store.writer("run", 3), "before", "a")
    for operation in OPERATIONS:
        before = storage.digest()
        caller.begin()
        caller.note("step")
        joined = store.joined(caller.connection)
        operation(joined.writer("run", 8), "step")
        operation(joined.writer("another run", 8), "step")
        must(joined.store(Memory("coffee", id="a")))
        must(joined.clear())
        caller.roll_back()
        assert storage.digest() == before, operation.__name__
    after = written(store.writer("run", 3), "after", "b")
    assert after.outcome.seq == 2
    assert written(store.writer("another run", 1), "first", "c").outcome.seq == 1


@needs("joining")
def test_a_token_that_was_raised_is_raised_for_others_only_by_the_caller_s_commit(
    storage: Storage,
) -> None:
    """Rolled back, the older one still passes; committed, it is fenced, though all that happened was a look."""
    store, caller = storage.open(), storage.caller()
    caller.begin()
    assert must(store.joined(caller.connection).writer("run", 9).applied("step")) is None
    caller.roll_back()
    written(store.writer("run", 4), "step", "a")
    caller.begin()
    assert must(store.joined(caller.connection).writer("run", 9).applied("step")) is not None
    caller.commit()
    assert either(store.writer("run", 4).applied("step")) == Fenced(Fence(0, 4), Fence(0, 9))


@needs("joining")
def test_a_replay_in_a_joined_transaction_answers_the_recorded_outcome(storage: Storage) -> None:
    """Recorded outside, in an earlier transaction or in this one; it writes nothing."""
    store, caller = storage.open(), storage.caller()
    outside = written(store.writer("run", 1), "outside", "a")
    caller.begin()
    joined = store.joined(caller.connection)
    inside = written(joined.writer("run", 1), "inside", "b")
    caller.commit()
    before = storage.digest()
    caller.begin()
    for key, first in (("outside", outside), ("inside", inside)):
        again = must(joined.writer("run", 1).write(key, [Memory("coffee", id="a")]))
        assert (again.replayed, again.diverged, again.outcome) == (True, True, first.outcome)
    caller.commit()
    assert storage.digest() == before
    caller.begin()
    here = written(joined.writer("run", 1), "here", "c")
    assert written(joined.writer("run", 1), "here", "c").outcome == here.outcome
    caller.commit()
    assert len(storage.events()) == 3


@needs("joining")
def test_a_refusal_leaves_the_caller_s_transaction_to_the_caller(storage: Storage) -> None:
    """Fenced, a stale revision: what the caller did itself commits, and so does a raised fence."""
    store, caller = storage.open(), storage.caller()
    written(store.writer("run", 5), "step", "a")
    before = storage.events()
    caller.begin()
    caller.note("mine")
    joined = store.joined(caller.connection)
    late = joined.writer("run", 4).write("late", [Memory("coffee", id="b")])
    assert either(late) == Fenced(Fence(0, 4), Fence(0, 5))
    stale = joined.writer("run", 6).write("stale", [Memory("coffee", id="a")], expect={"a": 7})
    assert either(stale) == StaleRevision(7, 1, "a")
    caller.note("and mine")
    caller.commit()
    assert caller.notes() == ["and mine", "mine"]
    assert contents(store) == {"a": "tea"}
    assert storage.events() == before
    assert either(store.writer("run", 5).applied("step")) == Fenced(Fence(0, 5), Fence(0, 6))


@needs("joining")
def test_two_joined_transactions_on_one_scope_are_serial(storage: Storage) -> None:
    """The second cannot pass the first; told that it is contended, it has changed nothing, and comes again."""
    store, hasty = storage.open(), storage.open(deadline=SHORT)
    first, second = storage.caller(), storage.caller()
    first.begin()
    written(store.joined(first.connection).writer("run", 1), "first", "a")
    second.begin()
    met = hasty.joined(second.connection).writer("run", 1).write("second", [Memory("tea", id="b")])
    assert either(met) == Contended()
    second.roll_back()
    first.commit()
    second.begin()
    second.note("second")
    receipt = written(hasty.joined(second.connection).writer("run", 1), "second", "b")
    second.commit()
    assert receipt.outcome.seq == 2
    assert [event.key for _, event in storage.events()] == ["first", "second"]


@needs("joining")
def test_of_two_writes_that_each_expect_the_other_s_not_to_be_there_one_is_made(
    storage: Storage,
) -> None:
    """What a guard found missing stays so until its transaction ends; nothing is left of having looked."""
    store, hasty = storage.open(), storage.open(deadline=SHORT)
    caller = storage.caller()
    caller.begin()
    joined = store.joined(caller.connection).writer("run", 1)
    must(joined.write("step", [Memory("tea", id="b")], expect={"a": None}))
    other = hasty.writer("another run", 1)
    late = other.write("step", [Memory("tea", id="a")], expect={"b": None})
    assert either(late) == Contended()
    caller.commit()
    late = other.write("step", [Memory("tea", id="a")], expect={"b": None})
    assert either(late) == AlreadyExists(1, "b")
    assert contents(store) == {"b": "tea"}
    written(other, "next", "a")
    assert [entry.revision for entry in must(store.history("a"))] == [1]


@needs("joining")
def test_a_store_beside_a_joined_transaction_neither_sees_nor_passes_it(storage: Storage) -> None:
    """It waits in vain, and finds its key applied once the caller has committed."""
    store, hasty = storage.open(), storage.open(deadline=SHORT)
    caller = storage.caller()
    caller.begin()
    written(store.joined(caller.connection).writer("run", 1), "step", "a")
    late = hasty.writer("run", 1).write("step", [Memory("coffee", id="b")])
    assert either(late) == Contended()
    caller.commit()
    again = must(hasty.writer("run", 1).write("step", [Memory("coffee", id="b")]))
    assert (again.replayed, again.diverged) == (True, True)
    assert contents(store) == {"a": "tea"}


@needs("joining")
def test_a_joined_handle_stands_where_its_store_stands(storage: Storage) -> None:
    """Tenant, namespace, bounds and the need for a fence are those of the handle that it was made from."""
    store, caller = storage.open(require_fence=True), storage.caller()
    ada = store.tenant("acme").within("users", "ada", bounds=Bounds(max_memories=2))
    caller.begin()
    joined = ada.joined(caller.connection)
    assert either(joined.store(Memory("tea"))) == FenceRequired()
    for key in ("a", "b", "c"):
        written(joined.writer("run", 1), key, key)
    written(joined.within("deeper").writer("run", 1), "d", "d")
    caller.commit()
    assert sorted(contents(ada)) == ["b", "c"]
    assert sorted(contents(ada.within("deeper"))) == ["d"]
    assert contents(store) == {}
    assert must(store.keys("run")) == []


@needs("joining")
def test_closing_a_joined_handle_closes_nothing_of_the_caller_s(storage: Storage) -> None:
    """Neither the connection nor the transaction nor the store; the handle itself is closed."""
    store, caller = storage.open(), storage.caller()
    caller.begin()
    with store.joined(caller.connection) as joined:
        written(joined.writer("run", 1), "step", "a")
    with pytest.raises(Closed):
        joined.count()
    with pytest.raises(Closed):
        joined.writer("run", 1).write("other", [])
    caller.note("still here")
    caller.commit()
    assert contents(store) == {"a": "tea"}
    assert caller.notes() == ["still here"]


@needs("joining")
def test_a_joined_write_never_begins_a_transaction_of_its_own(storage: Storage) -> None:
    """Before one, behind one and on something else it is refused, and nothing happens."""
    store, caller = storage.open(), storage.caller()
    before = storage.digest()
    with pytest.raises(ValueError, match="begin one"):
        store.joined(caller.connection)
    caller.begin()
    joined = store.joined(caller.connection)
    caller.roll_back()
    with pytest.raises(ValueError, match="begin one"):
        joined.writer("run", 1).write("step", [Memory("tea")])
    with pytest.raises(ValueError, match="begin one"):
        joined.count()
    with pytest.raises(TypeError, match="joins a"):
        store.joined(object())
    assert storage.digest() == before
    store.close()
    with pytest.raises(Closed):
        store.joined(caller.connection)
