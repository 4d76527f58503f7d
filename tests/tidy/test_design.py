"""The design says what is true: every guarantee names a test that exists, every column stands in the schema page."""

import ast
import importlib
import re
from collections.abc import Iterable
from pathlib import Path

from tests.tidy.project import ROOT, text, tree

GUARANTEES = Path("design/guarantees.md")
COMPARED = Path("design/compared.md")
SCHEMA = Path("design/schema.md")

ITEM = re.compile(r"^\d+\.\s", re.MULTILINE)
PROOF = re.compile(r"\bTest:\s*(?P<tests>`[^`]+::[^`]+`(?:,\s*`[^`]+::[^`]+`)*)")
WAITING = re.compile(r"\bWaits for:\s*\S")
WEAKNESS = re.compile(r"^\| \d+ \|.*\|$", re.MULTILINE)
NAMED = re.compile(r"`([^`]+::[^`]+)`")
HEADING = re.compile(r"^#+ .*$", re.MULTILINE)


def guarantees() -> list[str]:
    """The items of the numbered list, each with its proof."""
    return [item.strip() for item in ITEM.split(text(GUARANTEES))[1:]]


def functions(path: Path) -> set[str]:
    return {
        node.name for node in ast.walk(tree(path)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }


def section(page: str, table: str) -> str:
    """What stands under the heading that names the table."""
    headings = list(HEADING.finditer(page))
    for heading, after in zip(headings, [*headings[1:], None], strict=True):
        if f"`{table}`" in heading.group():
            return page[heading.end() : after.start() if after else len(page)]
    return ""


def test_every_guarantee_names_its_test_or_what_it_waits_for() -> None:
    assert guarantees()
    assert [item for item in guarantees() if not PROOF.search(item) and not WAITING.search(item)] == []


def gone(named: Iterable[str]) -> list[str]:
    """Of the tests that are named, each by its path and its name, those that are not there."""
    missing = []
    for test in named:
        path, _, name = test.partition("::")
        if not (ROOT / path).is_file() or name not in functions(Path(path)):
            missing.append(test)
    return missing


def test_every_test_that_a_guarantee_names_exists() -> None:
    proofs = [proof for item in guarantees() for proof in PROOF.finditer(item)]
    assert gone(test for proof in proofs for test in proof["tests"].split("`")[1::2]) == []


def test_every_weakness_names_tests_that_exist_or_what_it_waits_for() -> None:
    rows = [[cell.strip() for cell in row.split("|")[1:-1]] for row in WEAKNESS.findall(text(COMPARED))]
    assert [row[0] for row in rows] == [str(number) for number in range(1, 19)]
    for _, weakness, here, proof in rows:
        assert weakness
        assert here
        assert NAMED.findall(proof) or WAITING.search(proof), weakness
        assert gone(NAMED.findall(proof)) == []


def test_every_table_and_column_stands_in_the_schema_page() -> None:
    tables = importlib.import_module("txmemory.backends.sqlite.dialect").TABLES.metadata.tables
    page = text(SCHEMA)
    missing = [
        f"{table.name}.{column.name}"
        for table in tables.values()
        for column in table.columns
        if f"`{column.name}`" not in section(page, table.name)
    ]
    assert tables
    assert missing == []
