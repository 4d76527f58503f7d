"""A scenario that a test says it plays is a line of the scenarios' page, and every line is played by a test."""

import ast
import re
from functools import cache
from pathlib import Path

from tests.tidy.project import python_files, text, tree

SCENARIOS = Path("design/scenarios.md")
CODE = re.compile(r"\b[RFCBLSD]\d{1,2}\b")


def described() -> set[str]:
    """The codes that the page has a line for."""
    return set(re.findall(rf"^\| ({CODE.pattern}) \|", text(SCENARIOS), re.MULTILINE))


@cache
def played() -> dict[str, list[str]]:
    """Each code that a test names, and where."""
    places: dict[str, list[str]] = {}
    for path in python_files():
        if "sync" in path.parts:
            continue
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
                for code in CODE.findall(ast.get_docstring(node) or ""):
                    places.setdefault(code, []).append(f"{path}:{node.lineno}")
    return places


def test_every_scenario_that_a_test_plays_is_described() -> None:
    assert {"R8", "D1"} <= described()
    assert {code: places for code, places in played().items() if code not in described()} == {}


def test_every_scenario_that_is_described_is_played() -> None:
    assert described() - played().keys() == set()
