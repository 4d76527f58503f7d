# Generated from ../aio/fencing.py by scripts/generate. Do not edit.
"""Guarantees 3 to 5 and 10: an older holder can neither write, nor look, nor forget, and tokens outlive all else."""

from datetime import timedelta
from functools import partial

import pytest

from txmemory import Fence, Fenced, FenceRequired, Memory, Receipt, Sealed, StaleRevision, either, must
from txmemory.testing.cases import needs
from txmemory.testing.racing import race
from txmemory.testing.sync.asking import OPERATIONS, contents, written
from txmemory.testing.sync.storage import Storage

LARGEST = 2**63 - 1


def test_an_older_token_is_refused_and_changes_nothing(storage: Storage) -> None:
    """F1: tokens 5, 5, 4, 7, 6, 7, for every operation: ok, ok, fenced, ok, fenced, ok."""
    store = storage.open()
    for place, operation in enumerate(OPERATIONS):
        newest = 0
        for step, token in enumerate((5, 5, 4, 7, 6, 7)):
            before = storage.digest()
            answer = operation(store.writer(f"run-{place}", token), f"step-{step}")
            if token < newest:
                assert answer == Fenced(Fence(0, token), Fence(0, newest))
                assert storage.digest() == before
            else:
                assert not isinstance(answer, Fenced)
                newest = token


def test_any_operation_of_a_successor_fences_every_operation_of_its_predecessor(
    storage: Storage,
) -> None:
    """R3, guarantee 3: a mere look-up, a replay or a forget of an absent key is enough."""
    store = storage.open()
    for place, operation in enumerate(OPERATIONS):
        scope = f"run-{place}"
        written(store.writer(scope, 1), "done", f"m-{place}")
        operation(store.writer(scope, 2), "done" if place < 4 else "absent")
        before = storage.digest()
        for late in OPERATIONS:
            for key in ("done", "new"):
                assert late(store.writer(scope, 1), key) == Fenced(Fence(0, 1), Fence(0, 2))
        assert storage.digest() == before


def test_the_fence_is_of_one_scope_and_one_tenant(storage: Storage) -> None:
    """A newer token on one scope says nothing about another."""
    store = storage.open()
    written(store.writer("run", 9), "step", "a")
    for writer in (store.writer("Run", 1), store.writer("run ", 1), store.tenant("acme").writer("run", 1)):
        assert must(writer.applied("step")) is None
    assert must(store.within("deep").writer("run", 9).applied("step")) is not None


def test_a_stalled_writer_is_fenced_and_never_told_what_was_applied(storage: Storage) -> None:
    """R6: a step stalls, a successor does it, the stalled one returns and writes and asks."""
    store = storage.open()
    stalled = store.writer("run", 1, holder="a")
    assert must(stalled.applied("step")) is None
    written(store.writer("run", 2, holder="b"), "step", "m", content="tea")
    fenced = Fenced(Fence(0, 1), Fence(0, 2))
    assert either(stalled.write("step", [Memory("coffee", id="m")])) == fenced
    assert either(stalled.applied("step")) == fenced
    assert either(stalled.write("step", [], on_mismatch="refuse")) == fenced
    assert contents(store) == {"m": "tea"}
    assert must(store.applied_count()) == 1


def test_a_fenced_worker_is_told_so_before_anything_else(storage: Storage) -> None:
    """R17: whatever is missing, stale, in the way or sealed, it is `Fenced`."""
    store = storage.open()
    written(store.writer("run", 2), "step", "a")
    late = store.writer("run", 1)
    fenced = Fenced(Fence(0, 1), Fence(0, 2))
    assert either(late.replace("new", [], ["gone"])) == fenced
    assert either(late.write("new", [], expect={"a": 7})) == fenced
    assert either(late.write("new", [], expect={"a": None})) == fenced
    must(store.writer("run", 2).seal())
    assert either(late.write("new", [])) == fenced
    assert either(late.applied("step")) == fenced


def test_racing_first_operations_of_a_scope_leave_the_newest_token(storage: Storage) -> None:
    """F2: eight tokens on a brand-new scope: it ends at 8, and nobody meets anything but `Fenced`."""
    stores = [storage.open() for _ in range(4)]
    for turn in range(15):
        scope = f"run-{turn}"
        calls = (
            partial(stores[token % 4].writer(scope, token).write, f"step-{token}", [Memory("tea")])
            for token in range(1, 9)
        )
        answers = [either(result) for result in race(*calls)]
        assert all(isinstance(answer, Fenced | Receipt) for answer in answers)
        assert isinstance(answers[-1], Receipt)
        assert either(stores[0].writer(scope, 7).applied("x")) == Fenced(Fence(0, 7), Fence(0, 8))
        done = sum(isinstance(answer, Receipt) for answer in answers)
        assert must(stores[0].applied_count(scope)) == done


def test_a_predecessor_cannot_land_after_its_successor_has_looked(storage: Storage) -> None:
    """Guarantees 4 and 5: whatever the race, "not applied" stays true and "applied" was true."""
    old, new = storage.open(), storage.open()
    for turn in range(50):
        scope = f"run-{turn}"

        def look(scope: str = scope) -> object:
            return either(new.writer(scope, 2).applied("step"))

        def write(scope: str = scope) -> object:
            return either(old.writer(scope, 1).write("step", [Memory("tea", id=scope)]))

        wrote, seen = race(write, look)
        if seen is None:
            assert isinstance(wrote, Fenced)
        else:
            assert isinstance(wrote, Receipt)
            assert seen == wrote.outcome
        assert must(new.exists(scope)) is (seen is not None)


def test_a_holder_s_own_token_passes_however_often(storage: Storage) -> None:
    """F6: a thousand ordinary writes do not wear a token out, and seq counts them without gaps."""
    writer = storage.open().writer("run", 3, holder="ada")
    for turn in range(1, 1_001):
        receipt = written(writer, f"step-{turn}", f"m-{turn}")
        assert (receipt.replayed, receipt.outcome.seq, receipt.outcome.token) == (False, turn, 3)


def test_refused_and_failed_operations_burn_no_number(storage: Storage) -> None:
    """F9: after fenced, stale, malformed and sealed-elsewhere calls the next seq is the next."""
    store = storage.open()
    writer = store.writer("run", 2)
    written(writer, "step-1", "a")
    assert isinstance(either(store.writer("run", 1).write("x", [])), Fenced)
    assert either(writer.write("x", [], expect={"a": 9})) == StaleRevision(9, 1)
    with pytest.raises(TypeError):
        writer.write("x", ["no memory"])  # type: ignore[list-item]  # the wrong type is the point
    assert must(writer.applied("x")) is None
    assert not must(writer.forget_applied("x"))
    assert written(writer, "step-2", "b").outcome.seq == 2
    assert [event.seq for _, event in storage.events()] == [1, 2]


def test_the_largest_token_passes_and_a_larger_one_is_refused_when_built(storage: Storage) -> None:
    """F9: 2^63-1 is stored exactly; 2^63, -1, a bool and a float never reach the store."""
    store = storage.open()
    before = storage.digest()
    for token in (2**63, -1):
        with pytest.raises(ValueError):
            store.writer("run", token)
    for wrong in (True, 1.0, "1", None):
        with pytest.raises(TypeError):
            store.writer("run", wrong)  # type: ignore[arg-type]  # the wrong type is the point
    assert storage.digest() == before
    assert written(store.writer("run", LARGEST), "step", "a").outcome.token == LARGEST
    refused = either(store.writer("run", LARGEST - 1).applied("step"))
    assert refused == Fenced(Fence(0, LARGEST - 1), Fence(0, LARGEST))
    assert must(store.writer("zero", 0).applied("step")) is None


def test_holders_share_a_token_only_if_one_of_them_is_nameless(storage: Storage) -> None:
    """F11: (5, X), (5, nameless), (5, Y), (6, Y), (6, X): ok, ok and X stays, fenced, ok, fenced."""
    store = storage.open()
    for place, operation in enumerate(OPERATIONS):
        scope = f"run-{place}"

        def ask(token: int, holder: str | None, step: int) -> object:
            return operation(store.writer(scope, token, holder=holder), f"step-{step}")  # noqa: B023  # awaited in its own turn

        assert not isinstance(ask(5, "X", 1), Fenced)
        assert not isinstance(ask(5, None, 2), Fenced)
        before = storage.digest()
        assert ask(5, "Y", 3) == Fenced(Fence(0, 5), Fence(0, 5))
        assert storage.digest() == before
        assert not isinstance(ask(5, "X", 4), Fenced)
        assert not isinstance(ask(6, "Y", 5), Fenced)
        assert isinstance(ask(6, "X", 6), Fenced)
        assert not isinstance(ask(6, "Y", 7), Fenced)


def test_the_first_name_sticks_and_a_newer_token_may_be_nameless(storage: Storage) -> None:
    """F11: a nameless token takes the first name; a newer nameless one takes the old name away."""
    store = storage.open()
    assert must(store.writer("run", 5).applied("x")) is None
    assert must(store.writer("run", 5, holder="X").applied("x")) is None
    assert isinstance(either(store.writer("run", 5, holder="x").applied("x")), Fenced)
    assert must(store.writer("run", 6).applied("x")) is None
    assert must(store.writer("run", 6, holder="Y").applied("x")) is None
    assert isinstance(either(store.writer("run", 6, holder="X").applied("x")), Fenced)


def test_a_replay_names_the_first_holder_of_a_token(storage: Storage) -> None:
    """F11: the name sticks also where the first named call only replays what a nameless one did."""
    store = storage.open()
    first = written(store.writer("run", 5), "step", "a")
    assert written(store.writer("run", 5, holder="X"), "step", "a") == Receipt(first.outcome, replayed=True)
    assert isinstance(either(store.writer("run", 5, holder="Y").applied("step")), Fenced)


def test_the_fence_compares_the_generation_before_the_token(storage: Storage) -> None:
    """Guarantee 3: (1, 0) is newer than (0, 2^63-1), for every operation."""
    store = storage.open()
    for place, operation in enumerate(OPERATIONS):
        scope = f"run-{place}"
        assert not isinstance(operation(store.writer(scope, LARGEST), "a"), Fenced)
        assert not isinstance(operation(store.writer(scope, 0, generation=1), "b"), Fenced)
        before = storage.digest()
        refused = operation(store.writer(scope, LARGEST), "c")
        assert refused == Fenced(Fence(0, LARGEST), Fence(1, 0))
        assert storage.digest() == before


@needs("persistence")
def test_tokens_survive_clear_a_restart_and_time(storage: Storage) -> None:
    """F4, guarantee 10: the fence only ever grows."""
    store = storage.open()
    written(store.writer("run", 7, holder="ada"), "step", "a")
    must(store.clear())
    must(store.writer("run", 7).forget_applied("step"))
    store.close()
    storage.clock.advance(timedelta(days=4_000))
    store = storage.open()
    assert either(store.writer("run", 6).applied("step")) == Fenced(Fence(0, 6), Fence(0, 7))
    assert isinstance(either(store.writer("run", 7, holder="bob").applied("step")), Fenced)
    assert must(store.writer("run", 7, holder="ada").applied("step")) is None


@needs("persistence")
def test_a_successor_that_only_looked_still_fences_after_a_restart(storage: Storage) -> None:
    """F5: its look-up was a commit."""
    store = storage.open()
    must(store.writer("run", 2).applied("step"))
    store.close()
    store = storage.open()
    assert isinstance(either(store.writer("run", 1).write("step", [])), Fenced)


def test_a_late_key_of_a_sealed_scope_is_refused_and_never_executed_again(
    storage: Storage,
) -> None:
    """Guarantee 10: its keys are gone, so every keyed call but a seal is `Sealed`."""
    store = storage.open()
    writer = store.writer("run", 2)
    written(writer, "step-1", "a")
    written(writer, "step-2", "b")
    assert must(writer.seal()) == 2
    assert must(store.applied_count("run")) == 0
    before = storage.digest()
    assert either(writer.write("step-1", [Memory("tea", id="a")])) == Sealed()
    assert either(writer.replace("step-3", [], ["a"])) == Sealed()
    assert [either(one) for one in must(writer.write_many([("x", []), ("step-2", [])]))] == [
        Sealed(),
        Sealed(),
    ]
    assert either(writer.applied("step-1")) == Sealed()
    assert either(writer.forget_applied("step-1")) == Sealed()
    assert must(writer.seal()) == 0
    assert isinstance(either(store.writer("run", 1).seal()), Fenced)
    assert storage.digest() == before
    assert set(contents(store)) == {"a", "b"}
    assert [event.kind for _, event in storage.events()] == ["record", "record", "seal"]


def test_a_newer_token_moves_the_fence_of_a_sealed_scope(storage: Storage) -> None:
    """Guarantee 3: a refusal found behind the fence still commits the fence."""
    store = storage.open()
    must(store.writer("run", 1).seal())
    assert either(store.writer("run", 3).applied("step")) == Sealed()
    assert either(store.writer("run", 2).applied("step")) == Fenced(Fence(0, 2), Fence(0, 3))


def test_what_is_refused_behind_the_fence_has_moved_it(storage: Storage) -> None:
    """Stale, existing, reused and superseded calls with a newer token fence older ones."""
    store = storage.open()
    written(store.writer("run", 1), "step", "a")
    token = 1
    for refused in (
        partial(store.writer("run", 2).write, "x", [], expect={"a": 9}),
        partial(store.writer("run", 3).write, "x", [], expect={"a": None}),
        partial(store.writer("run", 4).write, "step", [], on_mismatch="refuse"),
        partial(store.writer("run", 5).replace, "y", [], ["gone"]),
    ):
        refused()
        token += 1
        answer = either(store.writer("run", token - 1).applied("x"))
        assert answer == Fenced(Fence(0, token - 1), Fence(0, token))


def test_a_store_that_requires_fences_refuses_plain_calls(storage: Storage) -> None:
    """`FenceRequired`, nothing changed; reads and writers work, and wrong arguments come first."""
    store = storage.open(require_fence=True)
    written(store.writer("run", 1), "step", "a")
    before = storage.digest()
    assert either(store.store(Memory("tea"))) == FenceRequired()
    assert either(store.delete("a")) == FenceRequired()
    assert either(store.within("deep").tenant("acme").clear()) == FenceRequired()
    with pytest.raises(ValueError):
        store.delete("")
    assert storage.digest() == before
    assert must(store.count()) == 1
