"""The README's program as a user's type checker sees it: clean, and not when a refusal is left out of a match."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, tour

QUICK = {
    "npm_config_fetch_retries": "0",
    "npm_config_fetch_timeout": "20000",
    "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1",
}
LEFT_OUT = [("case Sealed():", 'case "Sealed":'), ("KeyReused() | AlreadyExists()", "AlreadyExists()")]


def program(folder: Path, source: str) -> Path:
    path = folder / "tour.py"
    path.write_text(source, encoding="utf-8")
    return path


def without_a_refusal(before: str, after: str) -> str:
    source = tour()
    assert before in source
    return source.replace(before, after)


def mypy(path: Path) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--follow-imports=silent",
        "--config-file=",
        str(path),
    ]
    return subprocess.run(
        command,
        env={"MYPY_CACHE_DIR": str(ROOT / ".mypy_cache"), **os.environ, "MYPYPATH": str(ROOT)},
        cwd=path.parent,
        check=False,
        capture_output=True,
        text=True,
    )


def pyright(path: Path) -> subprocess.CompletedProcess[str]:
    (path.parent / "pyrightconfig.json").write_text(
        f'{{"typeCheckingMode": "standard", "extraPaths": ["{ROOT}"]}}'
    )
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, str(path)]
    return subprocess.run(
        command, env={**os.environ, **QUICK}, cwd=path.parent, check=False, capture_output=True, text=True
    )


@pytest.fixture(scope="module")
def pyright_runs() -> None:
    """Skips where pyright cannot run: it needs node, and the first time it fetches itself."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.skip("pyright needs node and npm, which are not here")
    version = subprocess.run(
        [sys.executable, "-m", "pyright", "--version"],
        env={**os.environ, **QUICK},
        check=False,
        capture_output=True,
    )
    if version.returncode != 0:
        pytest.skip("pyright is not installed yet and cannot be fetched from here")


def test_mypy_finds_nothing_in_the_tour(tmp_path: Path) -> None:
    checked = mypy(program(tmp_path, tour()))
    assert (checked.returncode, checked.stderr) == (0, ""), checked.stdout


@pytest.mark.parametrize(("before", "after"), LEFT_OUT)
def test_mypy_misses_a_refusal_that_is_left_out(tmp_path: Path, before: str, after: str) -> None:
    checked = mypy(program(tmp_path, without_a_refusal(before, after)))
    assert checked.returncode == 1, checked.stderr
    assert "assert_never" in checked.stdout


@pytest.mark.usefixtures("pyright_runs")
def test_pyright_finds_nothing_in_the_tour(tmp_path: Path) -> None:
    checked = pyright(program(tmp_path, tour()))
    assert checked.returncode == 0, checked.stdout


@pytest.mark.usefixtures("pyright_runs")
@pytest.mark.parametrize(("before", "after"), LEFT_OUT)
def test_pyright_misses_a_refusal_that_is_left_out(tmp_path: Path, before: str, after: str) -> None:
    checked = pyright(program(tmp_path, without_a_refusal(before, after)))
    assert checked.returncode == 1, checked.stdout
    assert "assert_never" in checked.stdout
