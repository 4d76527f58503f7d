"""What `verify` and `rebuild` tell: what they have read, and every difference by name."""

from dataclasses import dataclass, field
from typing import Literal

from txmemory.model.address import Namespace

FindingKind = Literal[
    "event_unreadable",
    "events_missing",
    "event_out_of_order",
    "scope_missing",
    "scope_differs",
    "fence_lowered",
    "key_missing",
    "key_misplaced",
    "key_unexplained",
    "head_missing",
    "head_differs",
    "placeholder",
    "revision_missing",
    "revision_changed",
    "revision_unexplained",
    "file_damaged",
]
DERIVED: frozenset[FindingKind] = frozenset(
    {
        "scope_missing",
        "scope_differs",
        "fence_lowered",
        "key_missing",
        "key_misplaced",
        "key_unexplained",
        "head_missing",
        "head_differs",
        "placeholder",
    }
)
FINDINGS_MOST = 10_000
"""Findings that are listed; what is beyond them is counted."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One difference: what kind it is, and where. `design/verify.md` says what each kind means."""

    kind: FindingKind
    tenant: str = field(default="", repr=False)
    scope: str | None = field(default=None, repr=False)
    seq: int | None = None
    key: str | None = field(default=None, repr=False)
    namespace: Namespace | None = field(default=None, repr=False)
    id: str | None = field(default=None, repr=False)
    revision: int | None = None

    @property
    def derived(self) -> bool:
        """Whether `rebuild` restores it, as long as the log and the history that it follows from are whole."""
        return self.kind in DERIVED


@dataclass(frozen=True, slots=True)
class Read:
    """How much was read."""

    scopes: int = 0
    events: int = 0
    keys: int = 0
    items: int = 0
    revisions: int = 0


@dataclass(frozen=True, slots=True)
class Verified:
    """What `verify` found: the first 10,000 findings, how many more there are, and how much it has read."""

    findings: tuple[Finding, ...]
    more: int
    read: Read


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """What `rebuild` restored, and what it has left as it is, because nothing says how it was."""

    scopes: int
    keys: int
    heads: int
    left: tuple[Finding, ...]
    more: int
    read: Read
