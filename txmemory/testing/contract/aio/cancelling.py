# async only
"""What a cancelled call leaves behind: all of it or nothing, and no lock."""

import asyncio
from collections.abc import Awaitable
from contextlib import suppress

from txmemory import AsyncStore, AsyncWriter, Memory, must
from txmemory.testing.aio.asking import OPERATIONS, written
from txmemory.testing.aio.storage import AsyncStorage

AWAITS = 8
ROUNDS = 6


async def test_after_a_cancelled_write_the_key_answers_the_truth(storage: AsyncStorage) -> None:
    """C13: cancelled after any number of steps of the loop, also while the commit is under way.

    A newer token asks: what was cancelled on its way to a server may still get there, and is fenced then.
    """
    store, other = await storage.open(), await storage.open()
    for turn in range(AWAITS * ROUNDS):
        key, id = f"step-{turn}", f"m-{turn}"
        await _cancelled(_tried(store.writer("run", 2 * turn), key, id), after=turn % AWAITS)
        successor = other.writer("run", 2 * turn + 1)
        told = must(await successor.applied(key))
        assert must(await other.exists(id)) is (told is not None)
        again = await written(successor, key, id)
        assert again.replayed is (told is not None)
        assert told in (None, again.outcome)
        assert [entry.revision for entry in must(await store.history(id))] == [1]
    assert must(await store.applied_count("run")) == AWAITS * ROUNDS


async def test_any_call_may_be_cancelled_and_nothing_stays_locked(storage: AsyncStorage) -> None:
    """C13: each operation, reads and plain calls too; then every other store goes on at once."""
    store, other = await storage.open(), await storage.open()
    for after in range(AWAITS):
        for place, operation in enumerate(OPERATIONS):
            writer = store.writer(f"run-{place}-{after}", 1)
            await _cancelled(operation(writer, "step"), after=after)
            await written(other.writer(f"beside-{place}", 1), f"{after}", "shared")
        for call in (
            store.store(Memory("x", id="shared")),
            store.clear(),
            store.recall(),
            store.delete("shared"),
        ):
            await _cancelled(call, after=after)
            must(await other.store(Memory("tea", id="shared")))
    revisions = [entry.revision for entry in must(await other.history("shared"))]
    assert revisions == list(range(1, len(revisions) + 1))


async def test_cancelling_many_at_once_cancels_nobody_else(storage: AsyncStorage) -> None:
    """C13: callers whose commits share one durable commit are answered each for itself."""
    store = await storage.open()
    for after in range(AWAITS):
        tasks = [asyncio.create_task(_write(store, after, n)) for n in range(10)]
        for _ in range(after):
            await asyncio.sleep(0)
        for task in tasks[::2]:
            task.cancel()
        answers = await asyncio.gather(*tasks, return_exceptions=True)
        assert not [answer for answer in answers[1::2] if isinstance(answer, BaseException)]
        for n in range(10):
            told = must(await store.writer(f"run-{n}", 1).applied(f"{after}"))
            assert must(await store.exists(f"m-{after}-{n}")) is (told is not None)


async def _tried(writer: AsyncWriter, key: str, id: str) -> object:
    return await writer.write(key, [Memory("tea", id=id)])


async def _write(store: AsyncStore, turn: int, n: int) -> object:
    return await written(store.writer(f"run-{n}", 1), f"{turn}", f"m-{turn}-{n}")


async def _cancelled(call: Awaitable[object], after: int) -> None:
    """Runs a call for so many steps of the loop and cancels it there."""
    task = asyncio.ensure_future(call)
    for _ in range(after):
        await asyncio.sleep(0)
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


# end async only
