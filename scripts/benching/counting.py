#!/usr/bin/env python3
"""What does not depend on the machine: fsyncs, pages of the write-ahead log, bytes on the disk."""

import json
import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import txmemory
from scripts.benching.figures import Figure
from scripts.benching.sizes import ROOT, Sizes
from txmemory import Memory, must

DISK_TEXT = "y" * 392
_SYNC = re.compile(r"\b(?:fsync|fdatasync)\(")
_FRAME_HEADER = 24
_LOG_HEADER = 32


def figures(folder: Path, sizes: Sizes) -> list[Figure]:
    """The rows of the table."""
    log = run_child("count", folder / "counted.db", sizes.counted)
    rows = [
        Figure("commits to the log per write", (log["commits_fresh"],), "", 1, gating=True),
        Figure("commits to the log per replay", (log["commits_replay"],), "", 0, gating=True),
        Figure("commits to the log per applied", (log["commits_look"],), "", 0, gating=True),
        Figure("pages of the log per write", (log["pages"],), ""),
        Figure("bytes of the log per write", (log["bytes"],), ""),
        Figure("disk per write of 392 B", (_disk(folder / "disk.db", sizes.disk),), "B", 800),
    ]
    syncs = _syncs(folder / "traced.db", sizes.counted)
    if syncs is not None:
        fresh, replay = syncs
        rows.insert(0, Figure("fsyncs per write", (fresh,), "", 1, gating=True))
        rows.insert(1, Figure("fsyncs per replay", (replay,), "", 0, gating=True))
    return rows


def commits_in(path: Path) -> list[int]:
    """The number of pages of each commit that the write-ahead log holds, oldest first."""
    data = Path(f"{path}-wal").read_bytes()
    if len(data) < _LOG_HEADER:
        return []
    (page,) = struct.unpack(">I", data[8:12])
    salts = data[16:24]
    commits: list[int] = []
    pages = 0
    for start in range(_LOG_HEADER, len(data) - page, _FRAME_HEADER + page):
        if data[start + 8 : start + 16] != salts:
            break  # left over from before the log was begun anew
        pages += 1
        if data[start + 4 : start + 8] != b"\0\0\0\0":
            commits.append(pages)
            pages = 0
    return commits


def run_child(task: str, path: Path, times: int, *, trace: Path | None = None) -> dict[str, float]:
    """What the task answers that this module does in a process of its own, under strace where `trace` is given."""
    command = [sys.executable, "-m", "scripts.benching.counting", task, str(path), str(times)]
    if trace is not None:
        command = [
            "strace",
            "-f",
            "-q",
            "-o",
            str(trace),
            "-e",
            "trace=fsync,fdatasync,mkdir,mkdirat",
            *command,
        ]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT)
    answer: dict[str, float] = json.loads(done.stdout)
    return answer


def _syncs(path: Path, times: int) -> tuple[float, float] | None:
    """How often a fresh write and a replay call fsync, or None where system calls cannot be watched."""
    if shutil.which("strace") is None:
        return None
    trace = path.with_suffix(".trace")
    try:
        run_child("marked", path, times, trace=trace)
    except subprocess.CalledProcessError:
        return None
    _, fresh, replay, *_ = re.split(r"\bmkdir(?:at)?\([^\n]*mark", trace.read_text())
    return len(_SYNC.findall(fresh)) / times, len(_SYNC.findall(replay)) / times


def _disk(path: Path, writes: int) -> float:
    with txmemory.open(f"sqlite:///{path}") as store:
        writer = store.writer("run", token=1)
        for number in range(writes):
            must(writer.write(f"step-{number}", [Memory(DISK_TEXT)]))
    return path.stat().st_size / writes


def _marked(path: Path, times: int) -> dict[str, float]:
    """Writes and replays, with a system call that the trace shows in front of, between and behind them."""
    with txmemory.open(f"sqlite:///{path}") as store:
        writer = store.writer("run", token=1)
        must(writer.write("first", [Memory(DISK_TEXT)]))
        _mark(path, "writes")
        for number in range(times):
            must(writer.write(f"step-{number}", [Memory(DISK_TEXT)]))
        _mark(path, "replays")
        for number in range(times):
            assert must(writer.write(f"step-{number}", [Memory(DISK_TEXT)])).replayed
        _mark(path, "end")
    return {}


def _mark(path: Path, name: str) -> None:
    path.with_name(f"{path.name}.mark-{name}").mkdir()


def _count(path: Path, times: int) -> dict[str, float]:
    """The pages of commits in the steady state, when the first pages of each table are full."""
    with txmemory.open(f"sqlite:///{path}?synchronous=NORMAL") as store:
        writer = store.writer("run", token=1)
        for number in range(times * 10):
            must(writer.write(f"before-{number:06}", [Memory(DISK_TEXT)]))
        settled = len(commits_in(path))
        answered = 0
        while answered < times:
            must(writer.write(f"step-{answered:06}", [Memory(DISK_TEXT)]))
            answered += 1
        after = commits_in(path)
        if len(after) < settled:  # the log was begun anew in between
            settled, answered = 0, len(after)
        new = after[settled:]
        for number in range(times):
            assert must(writer.write(f"step-{number:06}", [Memory(DISK_TEXT)])).replayed
        replayed = len(commits_in(path)) - len(after)
        for number in range(times):
            assert must(writer.applied(f"step-{number:06}")) is not None
        looked = len(commits_in(path)) - len(after) - replayed
    frame = _FRAME_HEADER + 4_096
    return {
        "commits_fresh": len(new) / answered,
        "commits_replay": replayed / times,
        "commits_look": looked / times,
        "pages": sum(new) / len(new),
        "bytes": sum(new) / len(new) * frame,
    }


def main() -> None:
    """Does one task and prints its answer."""
    task, path, times = sys.argv[1:]
    tasks = {"count": _count, "marked": _marked}
    print(json.dumps(tasks[task](Path(path), int(times))))


if __name__ == "__main__":
    main()
