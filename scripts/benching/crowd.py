#!/usr/bin/env python3
"""Many clients on one file: threads, processes and tasks, each with a scope of its own, against one alone."""

import asyncio
import json
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

import txmemory
from scripts.benching.figures import Figure
from scripts.benching.single import opened
from scripts.benching.sizes import ROOT, Sizes
from scripts.benching.timing import TEXT
from txmemory import Memory, Store, must

CROWD = 8


def figures(folder: Path, sizes: Sizes) -> list[Figure]:
    """The rows of the table."""
    rows: dict[str, list[float]] = {}
    for run in range(sizes.runs):
        for synchronous in ("FULL", "NORMAL"):
            place = folder / f"{synchronous}-{run}"
            place.mkdir()
            with opened(place, "one", synchronous) as store:
                alone, _ = _threads(store, 1, sizes.crowd)
            with opened(place, "threads", synchronous) as store:
                total, waits = _threads(store, CROWD, sizes.crowd)
            url = f"sqlite:///{place}/tasks.db?synchronous={synchronous}"
            tasks = asyncio.run(_tasks(url, sizes.crowd))
            rows.setdefault(f"{synchronous:6} 8 threads, total to one", []).append(total / alone)
            longest = max(waits) / statistics.median(waits)
            rows.setdefault(f"{synchronous:6} 8 threads, longest wait to median", []).append(longest)
            rows.setdefault(f"{synchronous:6} 8 tasks (async), total to 8 threads", []).append(tasks / total)
            processes, errors = _processes(place / "processes.db", synchronous, sizes.crowd)
            single, _ = _processes(place / "process.db", synchronous, sizes.crowd, 1)
            rows.setdefault(f"{synchronous:6} 8 processes, total to one", []).append(processes / single)
            rows.setdefault(f"{synchronous:6} 8 processes, refused calls", []).append(errors)
    return [_figure(name, tuple(values)) for name, values in rows.items()]


def _figure(name: str, values: tuple[float, ...]) -> Figure:
    if name.endswith("refused calls"):
        return Figure(name, values, "", 0, gating=True)
    if "8 processes, total" in name:
        return Figure(name, values, target=0.8, at_least=True)
    if "longest wait" in name:
        return Figure(name, values, target=50)
    return Figure(name, values)


def _threads(store: Store, threads: int, writes: int) -> tuple[float, list[float]]:
    """Writes a second of all threads together, and how long each write took."""
    waits: list[float] = []
    begin = threading.Barrier(threads + 1)

    def work(number: int) -> None:
        writer = store.writer(f"run-{number}", token=1)
        mine = []
        must(writer.write("first", [Memory(TEXT)]))
        begin.wait()
        for step in range(writes):
            began = time.perf_counter()
            must(writer.write(f"step-{step}", [Memory(TEXT)]))
            mine.append(time.perf_counter() - began)
        waits.extend(mine)

    workers = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
    for worker in workers:
        worker.start()
    begin.wait()
    began = time.perf_counter()
    for worker in workers:
        worker.join()
    return threads * writes / (time.perf_counter() - began), waits


async def _tasks(url: str, writes: int) -> float:
    """Writes a second of eight tasks together."""
    async with txmemory.open_async(url) as store:

        async def work(number: int) -> None:
            writer = store.writer(f"run-{number}", token=1)
            for step in range(writes):
                must(await writer.write(f"step-{step}", [Memory(TEXT)]))

        await asyncio.gather(*(work(number + CROWD) for number in range(CROWD)))
        began = time.perf_counter()
        await asyncio.gather(*(work(number) for number in range(CROWD)))
        return CROWD * writes / (time.perf_counter() - began)


def _processes(path: Path, synchronous: str, writes: int, processes: int = CROWD) -> tuple[float, int]:
    """Writes a second of all processes together, and how many calls were refused."""
    url = f"sqlite:///{path}?synchronous={synchronous}"
    txmemory.open(url).close()
    command = [sys.executable, "-m", "scripts.benching.crowd", url, str(writes)]
    workers = [
        subprocess.Popen(
            [*command, str(number)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
        )
        for number in range(processes)
    ]
    for worker in workers:  # each says that it is ready
        assert worker.stdout is not None, "a pipe was asked for"
        worker.stdout.readline()
    for worker in workers:
        assert worker.stdin is not None, "a pipe was asked for"
        worker.stdin.write("\n")
        worker.stdin.flush()
    answers = [json.loads(worker.communicate()[0]) for worker in workers]
    took = max(answer["ended"] for answer in answers) - min(answer["began"] for answer in answers)
    return processes * writes / took, sum(answer["refused"] for answer in answers)


def main() -> None:
    """One process of the crowd."""
    url, writes, number = sys.argv[1:]
    with txmemory.open(url) as store:
        writer = store.writer(f"run-{number}", token=1)
        must(writer.write("first", [Memory(TEXT)]))
        print("ready", flush=True)
        sys.stdin.readline()
        began = time.time()
        results = [writer.write(f"step-{step}", [Memory(TEXT)]) for step in range(int(writes))]
        ended = time.time()
    refused = sum(isinstance(txmemory.either(result), txmemory.Refusal) for result in results)
    print(json.dumps({"began": began, "ended": ended, "refused": refused}))


if __name__ == "__main__":
    main()
