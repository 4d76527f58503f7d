"""What the package offers: every `__all__` is sorted, complete and true, and importing the package is light."""

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tidy.project import ROOT, python_files, tree

HEAVY = {"alembic", "asyncio", "numpy", "psycopg", "rich", "sqlalchemy", "typer"}


def exporting() -> list[Path]:
    """The modules of the package that say what they export."""
    return [
        path for path in python_files() if path.parts[0] == "txmemory" and "__all__" in assigned(tree(path))
    ]


def assigned(module: ast.Module) -> dict[str, ast.expr | None]:
    """The names that a module gives a value at its top level."""
    names: dict[str, ast.expr | None] = {}
    for node in module.body:
        targets = (
            node.targets
            if isinstance(node, ast.Assign)
            else [node.target]
            if isinstance(node, ast.AnnAssign)
            else []
        )
        for target in targets:
            if isinstance(target, ast.Name) and isinstance(node, ast.Assign | ast.AnnAssign):
                names[target.id] = node.value
    return names


def public_names(path: Path) -> set[str]:
    """What a module defines for others, and what a package hands on from its own modules."""
    defined = {
        node.name
        for node in tree(path).body
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
    }
    values = {name for name, value in assigned(tree(path)).items() if not is_type_variable(value)}
    return {name for name in defined | values | handed_on(path) if not name.startswith("_")}


def is_type_variable(value: ast.expr | None) -> bool:
    """A type variable is used by a module, not offered."""
    return (
        isinstance(value, ast.Call)
        and isinstance(value.func, ast.Name)
        and value.func.id in {"ParamSpec", "TypeVar"}
    )


def handed_on(path: Path) -> set[str]:
    """The names that a package's `__init__` imports from the package."""
    return {
        alias.asname or alias.name
        for node in tree(path).body
        if path.name == "__init__.py"
        and isinstance(node, ast.ImportFrom)
        and (node.module or "").startswith("txmemory")
        for alias in node.names
    }


def dotted(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def order(name: str) -> tuple[int, str]:
    """Constants, then classes, then the rest, as ruff sorts them."""
    return (0 if name.isupper() else 1 if name[:1].isupper() else 2), name


def test_the_package_says_what_it_exports() -> None:
    assert Path("txmemory/__init__.py") in exporting()


@pytest.mark.parametrize("path", exporting(), ids=str)
def test_what_a_module_exports_is_sorted_complete_and_there(path: Path) -> None:
    module = importlib.import_module(dotted(path))
    exported = list(module.__all__)
    assert exported == sorted(set(exported), key=order)
    assert public_names(path) - set(exported) == set()
    assert [name for name in exported if not hasattr(module, name)] == []


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = "import sys, txmemory; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    loaded = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout
    assert set(loaded.split()) & HEAVY == set()
    assert "txmemory" in loaded.split()
