"""The precedence of refusals is the same in the code, in the README and on their page, and so are the unions."""

import ast
import re
from pathlib import Path
from typing import get_args

import pytest

import txmemory
from tests.docs.pages import README
from tests.tidy.project import text, tree

PAGE = Path("design/refusals.md")
PRECEDENCE = [
    node.name
    for node in tree(Path("txmemory/model/refusal.py")).body
    if isinstance(node, ast.ClassDef) and node.name != "Refusal"
]
ROW = re.compile(r"^\| (?P<first>`[^|]*) \|(?P<rest>.*)\|$", re.MULTILINE)
NAME = re.compile(r"`(\w+)")


def section(page: Path, heading: str) -> str:
    """What stands under a heading."""
    _, _, behind = text(page).partition(f"\n## {heading}\n")
    assert behind, f"{page} has no section {heading}"
    return behind.partition("\n## ")[0]


def listed(part: str) -> list[str]:
    """The refusals that the tables of a section begin their rows with, in order."""
    names = [NAME.findall(row["first"])[0] for row in ROW.finditer(part)]
    return [name for name in names if name in PRECEDENCE]


def unions() -> list[tuple[str, list[str]]]:
    """What the page says of each call: the names of its union, and its refusals."""
    rows = ROW.finditer(section(PAGE, "Which call answers which"))
    cells = [row["rest"].split("|") for row in rows]
    return [(names, NAME.findall(refusals)) for names, refusals in cells]


def test_the_precedence_is_the_same_in_the_code_in_the_readme_and_on_the_page() -> None:
    assert listed(section(README, "Refusals")) == PRECEDENCE
    assert listed(section(PAGE, "In order of precedence")) == PRECEDENCE


@pytest.mark.parametrize(("names", "refusals"), unions())
def test_each_union_holds_what_the_page_says(names: str, refusals: list[str]) -> None:
    members: set[str] = set()
    for name in NAME.findall(names):
        named = getattr(txmemory, name)
        members |= {each.__name__ for each in get_args(named) or (named,)}
    assert members == set(refusals)
    assert refusals == sorted(refusals, key=PRECEDENCE.index)


def test_every_union_that_the_package_names_stands_on_the_page() -> None:
    named = {name for name in txmemory.__all__ if name.endswith("Refusal") and name != "Refusal"}
    assert named == {name for names, _ in unions() for name in NAME.findall(names)} & named
    assert len(named) > 5
