"""The pages of the project, and what stands in them."""

import re
from pathlib import Path

from tests.tidy.project import ROOT, files, text

README = Path("README.md")

_FENCED = re.compile(r"^```(?P<language>\w*)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)


def pages() -> list[Path]:
    """Every Markdown page."""
    return [path for path in files() if path.suffix == ".md"]


def blocks(page: Path, language: str) -> list[tuple[int, str]]:
    """The fenced blocks of a language, each with the number of its first line."""
    whole = text(page)
    return [
        (whole.count("\n", 0, found.start("code")) + 1, found["code"])
        for found in _FENCED.finditer(whole)
        if found["language"] == language
    ]


def prose(page: Path) -> str:
    """The page without its fenced blocks."""
    return _FENCED.sub("", text(page))


def tour() -> str:
    """All Python of the README as one program."""
    return "\n".join(code for _, code in blocks(README, "python"))


__all__ = ["README", "ROOT", "blocks", "pages", "prose", "tour"]
