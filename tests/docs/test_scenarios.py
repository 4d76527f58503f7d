"""A scenario that a test says it plays is a line of the scenarios' page."""

import ast
import re
from pathlib import Path

from tests.tidy.project import python_files, text, tree

SCENARIOS = Path("design/scenarios.md")
CODE = re.compile(r"\b[RFCBL]\d{1,2}\b")


def test_every_scenario_that_a_test_plays_is_described() -> None:
    described = set(re.findall(r"^\| (\w+) \|", text(SCENARIOS), re.MULTILINE))
    unknown = [
        f"{path}:{node.lineno}: {code}"
        for path in python_files()
        if "sync" not in path.parts
        for node in ast.walk(tree(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
        for code in CODE.findall(ast.get_docstring(node) or "")
        if code not in described
    ]
    assert "R8" in described
    assert unknown == []
