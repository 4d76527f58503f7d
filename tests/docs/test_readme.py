"""What the README and the docstrings show is run."""

import doctest
import importlib
import re
from pathlib import Path
from typing import Any

import pytest

import txmemory
from tests.docs.pages import README, ROOT, blocks
from tests.tidy.project import python_files, text

PUBLIC = {name: getattr(txmemory, name) for name in txmemory.__all__}


def modules_with_examples() -> list[str]:
    return [
        ".".join(path.with_suffix("").parts).removesuffix(".__init__")
        for path in python_files()
        if path.parts[0] == "txmemory" and ">>> " in text(path)
    ]


def test_the_readme_s_python_runs_from_top_to_bottom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {"__name__": "tour"}
    shown = blocks(README, "python")
    assert len(shown) > 5
    for line, code in shown:
        placed = "\n" * (line - 1) + code  # so that a failure names the line of the page
        exec(compile(placed, str(README), "exec"), namespace)  # noqa: S102 - the README is ours
    assert (tmp_path / "agent.db").is_file()


def test_every_command_that_the_readme_shows_is_there() -> None:
    commands = [line for _, code in blocks(README, "console") for line in code.splitlines()]
    scripts = [found["path"] for line in commands if (found := re.search(r"\./(?P<path>scripts/\w+)", line))]
    assert {"scripts/demo", "scripts/test"} <= set(scripts)
    assert [path for path in scripts if not (ROOT / path).is_file()] == []


@pytest.mark.parametrize("name", modules_with_examples())
def test_the_examples_of_docstrings_hold(name: str) -> None:
    result = doctest.testmod(importlib.import_module(name), extraglobs=PUBLIC, report=True)
    assert result.attempted > 0
    assert result.failed == 0


def test_the_front_doors_show_how_they_are_used() -> None:
    named = {*modules_with_examples()}
    assert {"txmemory.store.opening", "txmemory.results", "txmemory.memories.values"} <= named
