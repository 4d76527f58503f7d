"""What `open` refuses, and that no part of a URL is repeated in the error."""

import asyncio
import traceback
from pathlib import Path

import pytest

import txmemory

CANARY = "kanarie"


def _urls(folder: Path) -> list[str]:
    broken = folder / f"{CANARY}.db"
    broken.write_text(f"{CANARY} is no database" * 100)
    return [
        CANARY,
        f"{CANARY}://x",
        f"memory://{CANARY}",
        f"memory://?{CANARY}=1",
        f"postgresql://{CANARY}:{CANARY}@host/db",
        f"sqlite:///{CANARY}?{CANARY}=1",
        f"sqlite:///{CANARY}?synchronous={CANARY}",
        f"sqlite:///{CANARY}?synchronous=FULL&synchronous=FULL",
        f"sqlite://{CANARY}",
        f"sqlite:///{CANARY}%00",
        f"sqlite:////{CANARY}/{CANARY}/x.db",
        f"sqlite:///{folder}",
        f"sqlite:///{broken}",
    ]


def _silent(error: BaseException, folder: Path) -> None:
    shown = "".join(traceback.TracebackException.from_exception(error).format_exception_only())
    for part in (CANARY, str(folder)):
        assert part not in f"{shown} {error!r} {error.args!r}"
    assert error.__cause__ is None
    assert error.__context__ is None or error.__suppress_context__


def test_a_url_that_cannot_be_opened_is_not_repeated(tmp_path: Path) -> None:
    for url in _urls(tmp_path):
        with pytest.raises((ValueError, txmemory.CannotOpen)) as refused:
            txmemory.open(url)
        _silent(refused.value, tmp_path)


def test_a_url_that_cannot_be_opened_is_not_repeated_to_who_awaits(tmp_path: Path) -> None:
    async def opened(url: str) -> None:
        async with txmemory.open_async(url):
            pass

    for url in _urls(tmp_path):
        with pytest.raises((ValueError, txmemory.CannotOpen)) as refused:
            asyncio.run(opened(url))
        _silent(refused.value, tmp_path)


def test_a_deadline_is_a_positive_number_of_seconds() -> None:
    for wrong in (0, -1, float("nan"), float("inf")):
        with pytest.raises(ValueError):
            txmemory.open("memory://", deadline=wrong)
