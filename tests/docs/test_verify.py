"""The page about verifying names every finding, says of each whether it is restored, and its example runs."""

import re
from pathlib import Path
from typing import Any, get_args

from tests.docs.pages import blocks
from tests.tidy.project import text
from txmemory.model.finding import DERIVED, FindingKind

PAGE = Path("design/verify.md")
ROW = re.compile(r"^\| (?P<kinds>`\w+`(?:, `\w+`)*) \|.*\| (?P<rebuild>[^|]*) \|$", re.MULTILINE)


def test_the_page_has_every_finding_and_says_what_becomes_of_it() -> None:
    told = {
        kind: row["rebuild"] != "stays"
        for row in ROW.finditer(text(PAGE))
        for kind in re.findall(r"`(\w+)`", row["kinds"])
    }
    assert told == {kind: kind in DERIVED for kind in get_args(FindingKind)}


def test_its_example_runs() -> None:
    ((_, code),) = blocks(PAGE, "python")
    namespace: dict[str, Any] = {}
    exec(compile(code, str(PAGE), "exec"), namespace)  # noqa: S102 - the page is ours
    assert namespace["told"]
