# Generated from ../aio/running.py by scripts/generate. Do not edit.
"""Runs: a step is made once, whoever runs it again, and a run that has lost its scope writes nothing."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from txmemory import (
    Bounds,
    Fenced,
    Held,
    LeaseLost,
    Memory,
    Receipt,
    Sealed,
    Store,
    either,
    must,
    step_key,
)
from txmemory.testing.sync.asking import OPERATIONS, contents, written
from txmemory.testing.sync.storage import Storage

TTL = timedelta(hours=1)
ANSWER = "answer 1 about b"
Produce = Callable[[], list[Memory]]


class Model:
    """A model that answers differently each time, and counts how often it was asked."""

    def __init__(self, *ids: str) -> None:
        self._ids = ids
        self.asked = 0

    def produce(self) -> list[Memory]:
        """Memories with these ids."""
        self.asked += 1
        return [Memory(f"answer {self.asked} about {id}", id=id) for id in self._ids]


def never() -> list[Memory]:
    """What must not be asked."""
    raise AssertionError("the step was applied")


def test_a_run_claims_its_scope_and_releases_it_at_the_end(storage: Storage) -> None:
    """While it lasts the scope is `Held`; after it the next claim need not wait, also when the run failed."""
    first, second = storage.open(), storage.open()
    for turn in (1, 2):
        run = must(first.run("run", "ada", TTL))
        try:
            with run:
                assert (run.scope, run.generation, run.token, run.valid) == ("run", 0, 2 * turn - 1, True)
                assert run.until == storage.clock() + TTL
                assert either(second.run("run", "bob", TTL)) == Held("ada", storage.clock() + TTL)
                written(run.writer, f"step-{turn}", f"m-{turn}")
                if turn == 2:
                    raise LookupError("the caller's own")
        except LookupError:
            assert turn == 2
        assert not run.valid
        taken = must(second.claim("run", "bob"))
        assert taken.token == 2 * turn
        must(taken.release())
    assert set(contents(first)) == {"m-1", "m-2"}


def test_a_step_is_produced_once_and_replayed_as_it_was_stored(storage: Storage) -> None:
    """R1, R2: what was stored under the key comes back, whatever has become of it; nothing is produced again."""
    store, model = storage.open(), Model("a", "b")
    with must(store.run("run", "ada", TTL)) as run:
        first = must(run.step("extract", model.produce))
    assert not first.receipt.replayed
    assert [memory.content for memory in first.memories] == ["answer 1 about a", "answer 1 about b"]
    assert [memory.revision for memory in first.memories] == [1, 1]
    must(store.update("a", lambda memory: memory.with_content("changed")))
    must(store.delete("b"))
    with must(storage.open().run("run", "bob", TTL)) as run:
        again = must(run.step("extract", never))
        other = must(run.step("another", model.produce))
    assert again.receipt == Receipt(first.receipt.outcome, replayed=True)
    assert again.memories == first.memories
    assert [memory.revision for memory in again.memories] == [1, 1]
    assert model.asked == 2
    assert [memory.content for memory in other.memories] == ["answer 2 about a", "answer 2 about b"]
    assert [memory.revision for memory in other.memories] == [3, 3]


def test_a_step_that_stores_nothing_is_done_all_the_same(storage: Storage) -> None:
    """An empty answer is recorded, and so is one of which the bounds took everything again."""
    store, model = storage.open(), Model()
    with must(store.run("run", "ada", TTL)) as run:
        for replayed in (False, True):
            step = must(run.step("nothing", model.produce))
            assert (step.receipt.replayed, step.memories) == (replayed, ())
        many = Model("a", "b", "c")
        first = must(run.step("bounded", many.produce, bounds=Bounds(1)))
        assert len(first.receipt.outcome.evicted) == 2
        assert [memory.id for memory in first.memories] == ["a", "b", "c"]
        assert must(run.step("bounded", never)).memories == first.memories
    assert model.asked == 1


def test_a_step_whose_answer_fails_leaves_no_trace(storage: Storage) -> None:
    """What `produce` raises comes out; the run goes on, and the same step can be made again."""
    store = storage.open()

    def failing() -> list[Memory]:
        raise LookupError("the model is out of reach")

    def wrong() -> list[Memory]:
        return ["no memory"]  # type: ignore[list-item]  # the wrong type is the point

    with must(store.run("run", "ada", TTL)) as run:
        before = storage.digest()
        with pytest.raises(LookupError):
            run.step("step", failing)
        with pytest.raises(TypeError):
            run.step("step", wrong)
        with pytest.raises(TypeError):
            run.step("step", None)  # type: ignore[arg-type]  # the wrong type is the point
        with pytest.raises(ValueError):
            run.step("", never)
        assert storage.digest() == before
        assert not must(run.step("step", Model("a").produce)).receipt.replayed


def test_a_run_that_was_taken_over_is_refused_before_it_asks_its_model(storage: Storage) -> None:
    """F3: its lease has lapsed and a successor has claimed: no look, no step, no write, and no release of theirs."""
    first, second = storage.open(), storage.open()
    with must(first.run("run", "ada", TTL)) as run:
        storage.clock.advance(TTL)
        with must(second.run("run", "bob", TTL)) as taken:
            before = storage.digest()
            assert isinstance(either(run.step("step", never)), Fenced)
            for operation in OPERATIONS:
                assert isinstance(operation(run.writer, "late"), Fenced)
            assert storage.digest() == before
            must(taken.step("step", Model("a").produce))
    assert set(contents(first)) == {"a"}


def test_a_successor_that_comes_while_the_model_answers_fences_the_step(storage: Storage) -> None:
    """The ledger said "not applied" under the fence, and the answer comes too late: nothing of it is stored."""
    first, second = storage.open(), storage.open()

    def slow() -> list[Memory]:
        storage.clock.advance(TTL)
        with must(second.run("run", "bob", TTL)) as taken:
            must(taken.step("step", Model("theirs").produce))
        return [Memory("late", id="late")]

    with must(first.run("run", "ada", TTL)) as run:
        assert isinstance(either(run.step("step", slow)), Fenced)
    assert set(contents(first)) == {"theirs"}


def test_after_its_end_a_run_sends_nothing(storage: Storage) -> None:
    """`LeaseLost`, for every call of its writers: locally, with no transaction."""
    store = storage.open()
    with must(store.run("run", "ada", TTL)) as run:
        writers = [run.writer, run.within("deep")]
    before = storage.digest()
    for writer in writers:
        for operation in OPERATIONS:
            assert operation(writer, "late") == LeaseLost()
        assert either(writer.together("late", store.storing(Memory("late")))) == LeaseLost()
    assert either(run.step("late", never)) == LeaseLost()
    assert storage.digest() == before


def test_a_sealed_scope_is_not_run_again(storage: Storage) -> None:
    """`Sealed`, for the run and for what is left of the one that sealed it."""
    store = storage.open()
    with must(store.run("run", "ada", TTL)) as run:
        must(run.step("step", Model("a").produce))
        assert must(run.writer.seal()) == 1
        assert either(run.step("step", never)) == Sealed()
    assert either(store.run("run", "ada", TTL)) == Sealed()
    assert must(store.unfinished("ada")) == []


def unfinished(store: Store, older_than: timedelta = timedelta(0)) -> list[str]:
    """The scopes that it is given."""
    return [claim.scope for claim in must(store.unfinished("sweeper", older_than=older_than))]


def test_each_unfinished_scope_goes_to_one_caller(storage: Storage) -> None:
    """Lapsed and neither released nor sealed; claimed for whoever asks first, with the next token."""
    store, second = storage.open(), storage.open()
    for scope in ("a", "b", "c", "d"):
        must(store.claim(scope, "worker", timedelta(minutes=1)))
    must(store.tenant("acme").claim("e", "worker", timedelta(minutes=1)))
    must(must(store.claim("b", "worker")).release())
    must(must(store.claim("c", "worker")).writer.seal())
    must(store.writer("foreign", 7).applied("a token from elsewhere is no lease"))
    assert unfinished(store) == []
    storage.clock.advance(timedelta(minutes=2))
    assert unfinished(store, timedelta(minutes=1, microseconds=1)) == []
    first = must(second.unfinished("sweeper", older_than=timedelta(minutes=1), limit=1))
    assert [(claim.scope, claim.token) for claim in first] == [("a", 2)]
    assert isinstance(either(store.claim("a", "worker")), Held)
    assert unfinished(store) == ["d"]
    assert unfinished(store.tenant("acme")) == ["e"]
    assert unfinished(store) == unfinished(second) == []
    must(first[0].writer.write("step", [Memory("tea")]))


def test_an_unfinished_scope_is_run_on(storage: Storage) -> None:
    """F4: with the claim that was given, into the namespace of the handle, and it is released at the end."""
    store = storage.open()
    claim = must(store.claim("run", "worker", timedelta(minutes=1)))
    must(claim.writer.write("step", [Memory("tea", id="a")]))
    storage.clock.advance(timedelta(minutes=2))
    (given,) = must(store.unfinished("sweeper", ttl=TTL))
    with store.within("deep").resume(given) as run:
        assert (run.scope, run.fence, run.valid) == ("run", (0, 2), True)
        assert must(run.step("step", never)).receipt.replayed
        must(run.step("next", Model("b").produce))
        assert isinstance(either(claim.writer.write("late", [Memory("late")])), Fenced)
    assert (contents(store), contents(store.within("deep"))) == ({"a": "tea"}, {"b": ANSWER})
    assert not given.valid
    assert must(store.unfinished("sweeper")) == []
    with pytest.raises(ValueError):
        store.tenant("acme").resume(given)
    with pytest.raises(TypeError):
        store.resume("run")  # type: ignore[arg-type]  # the wrong type is the point
    if "sharing" not in storage.lacks:
        with pytest.raises(ValueError):
            storage.open().resume(given)


def test_pieces_of_several_namespaces_are_written_together_or_not_at_all(
    storage: Storage,
) -> None:
    """One transaction, one key, one event; a source that is gone supersedes all of it."""
    store = storage.open()
    ada, bob = store.within("users", "ada"), store.within("users", "bob", bounds=Bounds(2))
    must(bob.store_all([Memory("old", id="old-1"), Memory("old", id="old-2")]))
    storage.clock.advance(timedelta(seconds=1))
    with must(store.run("run", "worker", TTL)) as run:
        pieces = [ada.storing(Memory("new", id="a")), bob.storing(Memory("new", id="b"))]
        outcome = must(run.writer.together("both", *pieces)).outcome
        assert [ref.id for ref in outcome.added] == ["a", "b"]
        assert [ref.id for ref in outcome.evicted] == ["old-1"]
        assert must(run.writer.together("both", *pieces)).replayed
        moved = run.writer.together("move", bob.removing("b"), ada.storing(Memory("new", id="b")))
        assert [ref.id for ref in must(moved).outcome.removed] == ["b"]
        late = must(run.writer.together("late", bob.removing("b"), ada.storing(Memory("no", id="no"))))
        assert late.outcome.status == "superseded"
        assert [ref.id for ref in must(run.writer.together("none")).outcome.added] == []
        with pytest.raises(ValueError):
            run.writer.together("twin", store.tenant("acme").storing(Memory("no")))
        with pytest.raises(TypeError):
            run.writer.together("wrong", Memory("no"))  # type: ignore[arg-type]  # the wrong type is the point
        with pytest.raises(ValueError):
            run.writer.together("clash", ada.storing(Memory("no", id="a")), ada.removing("a"))
    assert (set(contents(ada)), set(contents(bob))) == ({"a", "b"}, {"old-2"})


def test_keys_of_steps_tell_all_places_apart(storage: Storage) -> None:
    """Injective over texts and integers, the same in every attempt; wrong parts are refused."""
    store = storage.open()
    paths: list[tuple[str | int, ...]] = [
        ("a", 1),
        ("a", "1"),
        ("a1",),
        ("a,1",),
        ('a",1',),
        ("a", "", 1),
        (1, "a"),
        ("\u00e1",),
        ("a\u0301",),
    ]
    keys = [step_key(*path) for path in paths]
    assert len(set(keys)) == len(paths)
    assert keys == [step_key(*path) for path in paths]
    with must(store.run("run", "worker", TTL)) as run:
        for key in keys:
            assert not must(run.step(key, Model().produce)).receipt.replayed
    wrong_paths: Any = ((), (True,), (None,), (1.0,))
    for wrong in wrong_paths:
        with pytest.raises((TypeError, ValueError)):
            step_key(*wrong)
    with pytest.raises(ValueError):
        step_key("x" * 512)
