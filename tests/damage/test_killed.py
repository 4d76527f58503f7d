"""A rebuild is killed with -9 at its statements, and called again."""

import os
import signal
from collections.abc import Sequence
from multiprocessing.connection import Connection
from typing import Any

import txmemory
from tests.crash.sizes import size
from tests.damage.grounds import DERIVED, Ground, derived, kinds
from txmemory import must
from txmemory.backends.sql.mending import Mending
from txmemory.log import rebuilding, scopes
from txmemory.testing.processes import fork

FEW = 3
"""Heads, or keys, of a transaction, so that there are many."""


def dying(url: str, after: int) -> int:
    """How a process ends that rebuilds, and is killed once so many statements were answered."""

    def work(_line: "Connection[Any, Any]") -> None:
        for module in (rebuilding, scopes):
            vars(module)["REPAIR_MOST"] = FEW
        count = 0
        take = Mending.take

        def counted(self: Mending[Any], rows: Sequence[Any]) -> None:
            nonlocal count
            count += 1
            if count == after:
                os.kill(os.getpid(), signal.SIGKILL)
            take(self, rows)

        Mending.take = counted  # type: ignore[method-assign]  # in this process alone
        with txmemory.open(url) as store:
            must(store.rebuild(of="store"))

    with fork(work) as child:
        return child.wait()


def test_killed_at_any_statement_and_called_again_a_rebuild_comes_to_the_same_end(ground: Ground) -> None:
    """L5: nothing is restored by halves, and what was restored is not restored otherwise."""
    whole = derived(ground)
    whole["scope"] = [row for row in whole["scope"] if row["seq"] > 0]
    ended = []
    for after in range(1, 1_000, size(23, 5)):
        for name in DERIVED:
            ground.run(f"DELETE FROM {{{name}}}", {})  # noqa: S608 - our own name
        ended.append(dying(ground.url, after))
        for row in ground.rows("item"):
            assert row in whole["item"]
        with txmemory.open(ground.url) as store:
            must(store.rebuild(of="store"))
            assert kinds(store) == set()
        assert derived(ground) == whole
        if ended[-1] == 0:
            break
        ground.restore()
    assert ended[-1] == 0
    assert len(ended) > 3
    assert set(ended[:-1]) == {-signal.SIGKILL}
