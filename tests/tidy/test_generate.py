"""The generator of synchronous modules keeps its promises, and this repository's generated files are its own."""

import subprocess
import sys
from pathlib import Path

import pytest

from scripts.generate import CannotGenerate, formatted, generate
from tests.tidy.project import ROOT

HEADER = "# Generated from ../aio/face.py by scripts/generate. Do not edit.\n"


def twin(source: str) -> str:
    """The generated text without its header."""
    text = generate(source, "../aio/face.py")
    assert text is not None
    assert text.startswith(HEADER)
    return text.removeprefix(HEADER)


def run(root: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "scripts/generate.py"), "--root", str(root), *options]
    return subprocess.run(command, check=False, capture_output=True, text=True)


def place(root: Path, name: str, source: str) -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(source)
    return path


@pytest.mark.parametrize(
    ("written", "made"),
    [
        ("async def get(): ...", "def get(): ..."),
        ("async with lock as held, other: ...", "with lock as held, other: ..."),
        ("async for row in rows: ...", "for row in rows: ..."),
        ("[row async for row in rows if await row.live()]", "[row for row in rows if row.live()]"),
        ("return -await store.count()", "return -store.count()"),
        ("class AsyncStore(AsyncBackend, _AsyncPlace): ...", "class Store(Backend, _Place): ..."),
        ("await open_async(url); race_async()", "open(url); race()"),
        ("async def __aenter__(self) -> 'AsyncStore': ...", "def __enter__(self) -> 'Store': ..."),
        (
            "__aexit__, __aiter__, __anext__, StopAsyncIteration",
            "__exit__, __iter__, __next__, StopIteration",
        ),
        ("from txmemory.store.aio.run import AsyncRun", "from txmemory.store.sync.run import Run"),
        ("rows: AsyncIterator[int]", "rows: Iterator[int]"),
        ("call: Callable[[list[int]], Awaitable[list[int]]]", "call: Callable[[list[int]], list[int]]"),
        ("name = 'txmemory.store.aio.run:AsyncRun'", "name = 'txmemory.store.sync.run:Run'"),
        ('f"{await store.get(key)!r} is AsyncStore"', 'f"{store.get(key)!r} is Store"'),
        ("awaited, asynchronous, Async, _async = 1", "awaited, asynchronous, Async, _async = 1"),
        ("'we await nothing'  # so we await nothing", "'we await nothing'  # so we await nothing"),
        ("# then `await store.get()`", "# then `store.get()`"),
    ],
)
def test_what_waits_becomes_what_does_not(written: str, made: str) -> None:
    assert twin(written) == made


@pytest.mark.parametrize(
    ("written", "made"),
    [
        ("if (await self.read(query, [1])).rows[0]: ...", "if self.read(query, [1]).rows[0]: ..."),
        ("both = (await one()) + (await other())", "both = one() + other()"),
        ("print(await one())", "print(one())"),
        ("call()(await one())", "call()(one())"),
        ("(await one() or other).rows", "(one() or other).rows"),
        ("(await one(), 2)", "(one(), 2)"),
    ],
)
def test_only_parentheses_that_served_await_are_left_out(written: str, made: str) -> None:
    assert twin(written) == made


def test_comments_and_layout_survive() -> None:
    source = "x = {  # first\n    'a': 1,\n\n    # second\n    'b': '''# no comment\n  await\n''',\n}\n"
    assert twin(source) == source


def test_examples_in_docstrings_are_code_and_prose_is_prose() -> None:
    written = '''"""We await the reply of AsyncStore. Use `async with` or `await store.close()`.

>>> async with open_async("memory://") as store:
...     await store.get("a")

```python
await store.get("a")
```
They await nothing.
"""'''
    made = '''"""We await the reply of Store. Use `with` or `store.close()`.

>>> with open("memory://") as store:
...     store.get("a")

```python
store.get("a")
```
They await nothing.
"""'''
    assert twin(written) == made


def test_lines_that_are_async_only_are_dropped() -> None:
    source = "a = 1\n# async only\nimport asyncio\n# end async only\nb = 2\n"
    nested = "  # async only\n  c\n  # end async only\n"
    assert twin(source + nested) == "a = 1\nb = 2\n"


def test_a_module_that_is_async_only_has_no_twin() -> None:
    assert generate("# async only\nimport asyncio\n# end async only\n", "../aio/face.py") is None


@pytest.mark.parametrize(
    "source",
    ["# async only\nx = 1\n", "x = 1\n# end async only\n", "import asyncio\n", "is_async = True\n"],
)
def test_what_has_no_twin_is_refused(source: str) -> None:
    with pytest.raises(CannotGenerate):
        generate(source, "../aio/face.py")


def test_imports_and_exports_are_sorted_again_and_imports_for_waiting_only_go() -> None:
    source = (
        'from a import AsyncZoo, Awaitable, Bound\n\n__all__ = ["AsyncZoo", "Bound"]\nx: Awaitable[int]\n'
    )
    text = formatted(generate(source, "../aio/face.py") or "", ROOT / "txmemory" / "sync" / "face.py")
    assert text == HEADER + 'from a import Bound, Zoo\n\n__all__ = ["Bound", "Zoo"]\nx: int\n'


def test_every_aio_folder_gets_its_sync_folder(tmp_path: Path) -> None:
    place(tmp_path, "txmemory/store/aio/face.py", "async def get(): ...\n")
    place(tmp_path, "tests/store/aio/deep/test_face.py", "async def test_it(): ...\n")
    assert run(tmp_path).returncode == 0
    assert (tmp_path / "txmemory/store/sync/face.py").read_text() == HEADER + "def get(): ...\n"
    deep = (tmp_path / "tests/store/sync/deep/test_face.py").read_text()
    assert deep.startswith("# Generated from ../../aio/deep/test_face.py by scripts/generate.")
    assert run(tmp_path, "--check").returncode == 0


def test_check_names_what_is_missing_stale_or_orphaned_and_writes_nothing(tmp_path: Path) -> None:
    place(tmp_path, "txmemory/aio/missing.py", "x = 1\n")
    place(tmp_path, "txmemory/aio/stale.py", "x = 1\n")
    stale = place(tmp_path, "txmemory/sync/stale.py", "x = 2\n")
    orphan = place(tmp_path, "tests/sync/orphan.py", HEADER)
    done = run(tmp_path, "--check")
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "missing: txmemory/sync/missing.py",
        "stale: txmemory/sync/stale.py",
        "orphaned: tests/sync/orphan.py",
    ]
    assert stale.read_text() == "x = 2\n"
    assert orphan.exists()
    assert not (tmp_path / "txmemory/sync/missing.py").exists()


def test_generating_removes_orphans_but_nothing_that_was_written_by_hand(tmp_path: Path) -> None:
    place(tmp_path, "txmemory/aio/face.py", "x = 1\n")
    orphan = place(tmp_path, "txmemory/sync/orphan.py", HEADER)
    by_hand = place(tmp_path, "txmemory/sync/by_hand.py", "x = 1\n")
    done = run(tmp_path)
    assert (done.returncode, orphan.exists(), by_hand.exists()) == (1, False, True)
    assert "txmemory/sync/by_hand.py" in done.stderr
    assert (tmp_path / "txmemory/sync/face.py").exists()


def test_a_source_that_is_refused_is_named_and_nothing_is_written(tmp_path: Path) -> None:
    place(tmp_path, "txmemory/aio/fine.py", "x = 1\n")
    place(tmp_path, "txmemory/aio/refused.py", "import asyncio\n")
    place(tmp_path, "tests/aio/broken.py", "def\n")
    done = run(tmp_path)
    assert done.returncode == 2
    assert "txmemory/aio/refused.py" in done.stderr
    assert not (tmp_path / "txmemory/sync").exists()


def test_the_generated_files_of_this_repository_are_up_to_date() -> None:
    done = run(ROOT, "--check")
    assert (done.returncode, done.stderr) == (0, "")
