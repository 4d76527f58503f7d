"""Every link of a page leads somewhere, and every page can be reached from the README."""

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import pytest

from tests.docs.pages import README, ROOT, pages, prose

LINK = re.compile(r"\[[^\]]*\]\((?P<target>[^)\s]+)\)")
NAMED = re.compile(r"`(?P<path>(?:design|scripts|tests|txmemory)/[\w./-]+)`")
HEADING = re.compile(r"^#+ +(?P<title>.+?) *$", re.MULTILINE)
OUTSIDE = ("https://", "http://", "mailto:")


def targets(page: Path) -> Iterator[tuple[Path, str]]:
    """The file and the anchor of every link that stays in the project."""
    for found in LINK.finditer(prose(page)):
        if not found["target"].startswith(OUTSIDE):
            path, _, anchor = unquote(found["target"]).partition("#")
            place = (ROOT / page.parent / path).resolve() if path else ROOT / page
            yield place, anchor


def anchors(page: Path) -> set[str]:
    """The anchors that the headings of a page make."""
    titles = (found["title"].lower() for found in HEADING.finditer(prose(page)))
    return {re.sub(r"[^\w\- ]", "", title).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", pages(), ids=str)
def test_every_link_leads_somewhere(page: Path) -> None:
    broken = [
        f"{place}#{anchor}"
        for place, anchor in targets(page)
        if not place.is_relative_to(ROOT) or not place.exists() or (anchor and anchor not in anchors(place))
    ]
    assert broken == []


@pytest.mark.parametrize("page", pages(), ids=str)
def test_every_file_that_a_page_names_is_there(page: Path) -> None:
    named = [found["path"] for found in NAMED.finditer(prose(page))]
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_every_page_can_be_reached_from_the_readme() -> None:
    reached: set[Path] = set()
    open_ends = [ROOT / README]
    while open_ends:
        page = open_ends.pop()
        if page not in reached and page.suffix == ".md" and page.is_file():
            reached.add(page)
            open_ends += [place for place, _ in targets(page.relative_to(ROOT))]
    assert {ROOT / page for page in pages()} - reached == set()
