"""What only callers that block meet: an interrupt from the keyboard, a call inside a call, a close beside a wait."""

import os
import signal
import threading
from collections.abc import Iterator
from typing import Any

import pytest

import txmemory
from tests.postgres.sync.operations import prepare
from tests.postgres.trouble import beside
from tests.postgres.watching import until
from tests.postgres.worlds import World
from txmemory import Closed, Memory, Store, must
from txmemory.testing.faults import Stall, Where
from txmemory.testing.wire import Message

SECONDS = 30.0
KINDS = ("Parse", "Bind", "Execute", "Sync")


def connections(store: Store) -> Any:
    """What keeps the connections."""
    backend: Any = store._handle.backend
    return backend._connections


@pytest.mark.parametrize("where", ["before", "reply"])
@pytest.mark.parametrize("kind", KINDS)
def test_an_interrupted_call_is_made_or_not_and_the_store_goes_on(
    world: World, kind: str, where: Where
) -> None:
    """C13: while any of its messages is on its way. A newer token asks: what is still on its way is fenced then."""
    tenant = f"interrupted {kind} {where}"
    with (
        txmemory.open(world.direct) as direct,
        txmemory.open(world.through, deadline=SECONDS) as opened,
    ):
        store = opened.tenant(tenant)
        must(store.count())
        planned = world.proxy.plan(Stall(Message("frontend", kind), where))

        def interrupt() -> None:
            planned.wait()
            os.kill(os.getpid(), signal.SIGINT)
            world.proxy.release()

        with pytest.raises(KeyboardInterrupt), beside(interrupt):
            store.writer("run", 1).write("key", [Memory("tea", id="a")])
        told = must(direct.tenant(tenant).writer("run", 2).applied("key"))
        again = must(store.writer("run", 2).write("key", [Memory("tea", id="a")]))
        assert again.replayed is (told is not None)
        assert [entry.revision for entry in must(store.history("a"))] == [1]
        assert len(connections(opened)._idle) == 1


def test_a_call_inside_the_arguments_of_a_call_needs_no_second_connection(world: World) -> None:
    """C12: arguments are consumed before a connection is taken."""
    with txmemory.open(f"{world.direct}?pool_size=1", deadline=SECONDS) as opened:
        store = opened.tenant("nested")
        prepare(store)

        def memories() -> Iterator[Memory]:
            for n in range(3):
                yield Memory(f"beside {must(store.count())}", id=f"new-{n}")

        def sources() -> Iterator[str]:
            yield from [memory.id for memory in must(store.recall()) if memory.id == "first"]

        must(store.writer("run", 2).replace("key", memories(), sources()))
        assert must(store.count()) == 5


def test_who_waits_for_a_turn_while_the_store_is_closed_is_told_so(world: World) -> None:
    """C14: as soon as the turn comes."""
    told: list[BaseException] = []
    store = txmemory.open(f"{world.direct}?pool_size=1", deadline=SECONDS)

    def count() -> None:
        try:
            store.count()
        except Closed as closed:
            told.append(closed)

    waiting = threading.Thread(target=count)
    turns = connections(store)._turns._free
    with connections(store).taken(SECONDS):
        waiting.start()
        until(lambda: bool(turns._cond._waiters))
        store.close()
    waiting.join()
    assert len(told) == 1
    until(lambda: not world.others())
