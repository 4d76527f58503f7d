"""How far a verification has come: a value to go on from, in another process if need be."""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from txmemory.model.finding import FINDINGS_MOST, Finding, Read
from txmemory.model.verifying import LEAST
from txmemory.rules.sums import BUCKETS, Sums

Stage = Literal["scopes", "others", "items"]


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """How far a verification has come, and what it has found. Pass it as `begun`, to the same call, to go on.

    It holds identifiers of yours, as findings do, and no content.
    """

    read: Read = field(default_factory=Read)
    findings: tuple[Finding, ...] = ()
    more: int = 0
    """Findings beyond those that are listed."""
    part: str = field(default="", repr=False)
    """What is verified; another call takes no other's checkpoint."""
    tenant: str = field(default="", repr=False)
    stage: Stage = "scopes"
    scope: tuple[str, int] = field(default=("", LEAST), repr=False)
    row: int = field(default=LEAST, repr=False)
    item: tuple[str, str, int] = field(default=("", "", LEAST), repr=False)
    horizon: int = field(default=LEAST, repr=False)
    sums: tuple[int, ...] = field(default=(0,) * (2 * BUCKETS), repr=False)

    def text(self) -> str:
        """It as JSON."""
        return json.dumps(asdict(self), separators=(",", ":"))

    @classmethod
    def from_text(cls, text: str) -> "Checkpoint":
        """The checkpoint whose `text` this is; a `ValueError` for any other text."""
        try:
            said: dict[str, Any] = json.loads(text)
            said["read"] = Read(**said["read"])
            said["findings"] = tuple(_finding(each) for each in said["findings"])
            for name in ("scope", "item", "sums"):
                said[name] = tuple(said[name])
            return cls(**said)
        except (ValueError, TypeError, LookupError, RecursionError):
            raise ValueError("not the text of a checkpoint") from None


def _finding(said: dict[str, Any]) -> Finding:
    namespace = said["namespace"]
    return Finding(**{**said, "namespace": None if namespace is None else tuple(namespace)})


Progress = Callable[[Checkpoint], None]


class Course:
    """A verification under way: what it has found and read, and where it stands."""

    def __init__(self, begun: Checkpoint, progress: Progress | None) -> None:
        self._progress = progress
        self.at = begun
        self.sums = Sums([*begun.sums])
        self.horizon = begun.horizon
        self._findings = dict.fromkeys(begun.findings)
        self._more = begun.more
        self._read = begun.read

    def found(self, *findings: Finding) -> None:
        """Notes findings, each once."""
        for finding in findings:
            if len(self._findings) < FINDINGS_MOST:
                self._findings[finding] = None
            elif finding not in self._findings:
                self._more += 1

    def count(self, **read: int) -> None:
        """Notes how much was read."""
        self._read = replace(
            self._read, **{name: getattr(self._read, name) + more for name, more in read.items()}
        )

    def move(self, **where: Any) -> None:
        """Has come as far as this, and tells so."""
        self.at = replace(
            self.at,
            read=self._read,
            findings=self.findings,
            more=self._more,
            horizon=self.horizon,
            sums=tuple(self.sums.sums) if self._progress else (),
            **where,
        )
        if self._progress is not None:
            self._progress(self.at)

    def begin(self, tenant: str) -> None:
        """Goes on to another tenant."""
        self.sums = Sums()
        self.horizon = LEAST
        start = Checkpoint()
        self.at = replace(
            self.at,
            tenant=tenant,
            stage=start.stage,
            scope=start.scope,
            row=start.row,
            item=start.item,
        )

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What was found so far, as much as is listed."""
        return tuple(self._findings)

    @property
    def more(self) -> int:
        """How much is not listed."""
        return self._more

    @property
    def read(self) -> Read:
        """How much was read."""
        return self._read
