"""What ends in an unusual way leaves nothing behind: closes that are cancelled, forks, interrupted reconnections."""

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

import txmemory
from txmemory import CannotOpen, Closed, Memory, must
from txmemory.backends.sqlite import writer as writing
from txmemory.backends.sqlite.backend import Sqlite
from txmemory.testing.processes import fork


def writers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "txmemory-writer"]


async def test_a_cancelled_close_closes(tmp_path: Path) -> None:
    store = await txmemory.open_async(f"sqlite:///{tmp_path}/a.db")
    before = [thread for thread in writers() if thread.is_alive()]
    closing = asyncio.create_task(store.close())
    await asyncio.sleep(0)
    closing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing
    with pytest.raises(Closed):
        await store.count()
    await store.close()
    assert len(writers()) == len(before) - 1


def test_an_interrupt_while_the_writer_reconnects_is_forgotten_by_the_next_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_given: Any) -> None:
        raise KeyboardInterrupt

    with txmemory.open(f"sqlite:///{tmp_path}/a.db") as store:
        backend = store._handle.backend
        assert isinstance(backend, Sqlite)
        backend.writer._drop()
        with monkeypatch.context() as patched:
            patched.setattr(writing, "SqliteTables", interrupted)
            with pytest.raises(KeyboardInterrupt):
                store.store(Memory("tea", id="a"))
        must(store.store(Memory("tea", id="a")))
        assert must(store.count()) == 1


def test_a_forked_child_ends_though_a_lock_was_held_when_it_was_forked(tmp_path: Path) -> None:
    with txmemory.open(f"sqlite:///{tmp_path}/a.db") as store:
        backend = store._handle.backend
        assert isinstance(backend, Sqlite)

        def work(_line: object) -> str:
            store.close()  # and its finalizer runs when the child ends
            return "ended"

        with backend.writer._accepting, fork(work) as child:
            assert child.answer() == "ended"
        must(store.store(Memory("tea", id="a")))


def test_a_file_with_another_name_is_refused_since_it_would_have_another_log(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    txmemory.open(f"sqlite:///{path}").close()
    path.with_name("b.db").hardlink_to(path)
    with pytest.raises(CannotOpen, match="other names"):
        txmemory.open(f"sqlite:///{path}")
