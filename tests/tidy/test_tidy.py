"""The repository checks itself: sizes, words, places."""

import ast
import os
import re
from pathlib import Path

from tests.tidy.project import ROOT, files, python_files, text, tree

MOST_LINES_OF_A_MODULE = 350
MOST_LINES_OF_A_FUNCTION = 60

TOP_LEVEL = {"LICENSE", "README.md", "design", "pyproject.toml", "scripts", "tests", "txmemory"}

# Names that say nothing about what a thing is.
EMPTY_NAMES = {"base", "helper", "helpers", "impl", "manager", "util", "utils"}

# Work left undone; a pragma that stops every reader; a path that exists on one machine only.
UNFINISHED = re.compile(r"\b(?:TODO|FIXME|XXX)\b")
CHECKPOINT = re.compile("wal_checkpoint", re.IGNORECASE)
MACHINE_PATH = re.compile(r"(?<![\w.~:/-])/(?:Users|home|mnt|opt|root|tmp|work)/|\b[A-Z]:\\Users\\")

# A place in a text that is no part of the project: whoever reads the code cannot look it up.
ELSEWHERE = re.compile(r"\b(?:section|weakness|seed|requirement) \d", re.IGNORECASE)

# A switched-off check, and the reason that has to stand behind it.
SILENCED = re.compile(r"#\s*(?:type:\s*ignore|noqa|pyright:\s*ignore|pragma:\s*no)\b(?P<rest>.*)")
REASON = re.compile(r"^(?:\[[\w, -]+\]|:\s*[A-Z]+\d+(?:,\s*[A-Z]+\d+)*|\s+(?:cover|branch))\s*[-#]\s*\S")

# The license is not ours to write, and this file has to name what it forbids.
UNREAD = {Path("LICENSE"), Path("tests/tidy/test_tidy.py")}


def prose_and_code() -> list[Path]:
    return [path for path in files() if path not in UNREAD]


def places(pattern: re.Pattern[str], among: list[Path]) -> list[str]:
    return [
        f"{path}:{number}: {line.strip()}"
        for path in among
        for number, line in enumerate(text(path).splitlines(), 1)
        if pattern.search(line)
    ]


def words(name: str) -> set[str]:
    return {word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)}


def test_every_module_fits_its_size() -> None:
    sizes = {path: len(text(path).splitlines()) for path in python_files()}
    assert {path: size for path, size in sizes.items() if size > MOST_LINES_OF_A_MODULE} == {}


def test_every_function_fits_a_screen() -> None:
    too_long = [
        f"{path}:{node.lineno}: {node.name}"
        for path in python_files()
        for node in ast.walk(tree(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or node.lineno) - node.lineno >= MOST_LINES_OF_A_FUNCTION
    ]
    assert too_long == []


def test_nothing_is_left_unfinished() -> None:
    assert places(UNFINISHED, prose_and_code()) == []


def test_no_checkpoint_of_the_log_is_forced() -> None:
    assert places(CHECKPOINT, [path for path in prose_and_code() if path.parts[0] != "design"]) == []


def test_no_path_of_one_machine_is_written_down() -> None:
    assert places(MACHINE_PATH, prose_and_code()) == []


def test_nothing_points_to_a_text_that_is_not_here() -> None:
    assert places(ELSEWHERE, prose_and_code()) == []


def test_no_check_is_silenced_without_a_reason() -> None:
    silenced = [
        f"{path}:{number}: {line.strip()}"
        for path in python_files()
        if path not in UNREAD
        for number, line in enumerate(text(path).splitlines(), 1)
        if (found := SILENCED.search(line)) and not REASON.match(found["rest"])
    ]
    assert silenced == []


def test_every_name_says_what_the_thing_is() -> None:
    classes = [
        f"{path}:{node.lineno}: {node.name}"
        for path in python_files()
        for node in ast.walk(tree(path))
        if isinstance(node, ast.ClassDef) and words(node.name) & EMPTY_NAMES
    ]
    modules = [str(path) for path in python_files() if any(words(part) & EMPTY_NAMES for part in path.parts)]
    assert classes + modules == []


def test_the_top_level_holds_what_it_should_and_nothing_else() -> None:
    visible = {path.parts[0] for path in files() if not path.parts[0].startswith(".")}
    assert visible == TOP_LEVEL


def test_every_script_can_be_run() -> None:
    scripts = [path for path in files() if path.parts[0] in {".ci", "scripts"}]
    assert [str(path) for path in scripts if not os.access(ROOT / path, os.X_OK)] == []
    assert [str(path) for path in scripts if not text(path).startswith("#!/usr/bin/env ")] == []
    assert Path(".ci/run") in scripts
