"""What the tidy tests look at: the files of the repository as they would be committed."""

import ast
import os
import shutil
import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@cache
def files() -> tuple[Path, ...]:
    """Every file that is tracked or would be, relative to the root; of an unpacked archive, every visible file."""
    # The clone may belong to another user, which git refuses unless it is told.
    command = [
        "git",
        "-c",
        f"safe.directory={ROOT}",
        "ls-files",
        "--cached",
        "--others",
        "--exclude-standard",
        "-z",
    ]
    if shutil.which("git") and (ROOT / ".git").exists():
        listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout
        names = [Path(os.fsdecode(name)) for name in listed.split(b"\0") if name]
        return tuple(sorted(name for name in set(names) if (ROOT / name).is_file()))
    found = (path.relative_to(ROOT) for path in ROOT.rglob("*") if path.is_file())
    return tuple(sorted(path for path in found if not is_hidden(path)))


def is_hidden(path: Path) -> bool:
    """Whether a file belongs to an environment or a cache rather than to the project."""
    return any(part == "__pycache__" or (part.startswith(".") and part != ".ci") for part in path.parts)


def python_files() -> tuple[Path, ...]:
    """Every Python module, generated ones too."""
    return tuple(path for path in files() if path.suffix == ".py")


def text(path: Path) -> str:
    """The text of a file of the project."""
    return (ROOT / path).read_text(encoding="utf-8")


@cache
def tree(path: Path) -> ast.Module:
    """The syntax tree of a module of the project."""
    return ast.parse(text(path), filename=str(path))
