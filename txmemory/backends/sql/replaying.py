"""Step 0 of a keyed commit: what is recorded is read without a lock."""

from collections.abc import Mapping
from typing import Protocol, TypeVar

from txmemory.backends.sql.guarding import GuardStatements
from txmemory.backends.sql.reading import Rows
from txmemory.backends.sql.rows import recorded_from
from txmemory.model.address import Fence
from txmemory.model.commit import Commit, Recorded, Reply
from txmemory.rules.fencing import Standing, stands

Statement = TypeVar("Statement")
Statement_contra = TypeVar("Statement_contra", contravariant=True)


class Fetch(Protocol[Statement_contra]):
    """Runs one statement on committed state and fetches all its rows."""

    def __call__(self, statement: Statement_contra, values: Mapping[str, object], /) -> Rows:
        """All rows."""
        ...


def replayed(statements: GuardStatements[Statement], fetch: Fetch[Statement], commit: Commit) -> Reply | None:
    """When the presenter is the newest and every key is applied, what is recorded; nothing is written."""
    presenter = commit.presenter
    if presenter is None:
        return None
    met: list[Recorded] = []
    for entry in commit.entries:
        if entry.key is None or entry.ledger not in ("record", "look"):
            return None
        place = {"tenant": commit.tenant, "scope": presenter.scope, "key": entry.key}
        rows = fetch(statements.replayed, place)
        if not rows:
            return None
        ((generation, token, holder, *record),) = rows
        if not stands(Standing(Fence(generation, token), holder), presenter):
            return None
        fingerprint, outcome = recorded_from(record)
        met.append(Recorded(outcome, fingerprint))
    return tuple(met)
