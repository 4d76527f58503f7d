"""What a store holds of a large namespace while it works through it."""

import tracemalloc
from datetime import timedelta
from pathlib import Path

import txmemory
from txmemory import Group, Memory, must
from txmemory.testing.clock import START, FakeClock

PAGE, PAGES, SIZE = 1_000, 5, 20_000


def test_a_consolidation_holds_a_page_of_memories_at_a_time_and_never_all(tmp_path: Path) -> None:
    """Of five pages there are never three: of all that it passes it keeps where it is, and one group as it is."""

    def summarise(group: Group) -> str:
        return group.memories[0].content

    with txmemory.open(f"sqlite:///{tmp_path / 'held.db'}?synchronous=NORMAL", clock=FakeClock()) as store:
        for page in range(PAGES):
            talk = (Memory.from_conversation("x" * SIZE, "user", f"{page} {n // 10}") for n in range(PAGE))
            must(store.store_all(talk))
        writer = store.writer("jobs", 1)
        tracemalloc.start()
        try:
            job = writer.consolidate("night", summarise, older_than=START + timedelta(days=1), min_count=11)
            assert must(job).groups == ()
            _, most = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert must(store.count()) == PAGES * PAGE
    assert PAGE * SIZE < most < 3 * PAGE * SIZE
