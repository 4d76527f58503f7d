"""What a repair comes to, once its transaction has read what was written since the repair was made."""

from collections.abc import Iterable

from txmemory.model.repair import FoldedHead, ScopeRepair, ScopeState
from txmemory.model.verifying import LogRow
from txmemory.rules.fold import Entered, head_after, scope_after


def folded_on(folded: FoldedHead | None, since: Iterable[Entered]) -> FoldedHead | None:
    """The head behind later revisions, too."""
    for revision in since:
        folded = head_after(folded, revision)
    return folded


class ScopeMending:
    """A repair of a scope, and the events behind those that it was made from."""

    def __init__(self, repair: ScopeRepair) -> None:
        self.seq = repair.state.seq
        """Up to which events were taken."""
        self._state = repair.state
        self._whole = repair.whole
        self._keys = dict(repair.keys)

    def take(self, row: LogRow) -> None:
        """The next event; where one is missing, or cannot be read, nothing follows any more."""
        event, expected = row.event, self.seq + 1
        self.seq = row.seq or expected
        if event is None or self.seq != expected:
            self._whole = False
            return
        self._state = scope_after(self._state, event)
        if event.kind == "seal":
            self._keys = dict.fromkeys(self._keys)
        elif event.key in self._keys:
            self._keys[event.key] = event.seq if event.kind == "record" else None

    def row(self, known: ScopeState) -> ScopeState:
        """How the scope's row should be. Its fence only rises, and of a seq that the log has not it tells a loss."""
        fence = max(known.fence, self._state.fence)
        if self._follows(known):
            return self._state._replace(fence=fence)
        return known._replace(fence=fence)

    def keys(self, known: ScopeState) -> Iterable[tuple[str, int | None]]:
        """The keys, each with the seq that the ledger should have for it, or None."""
        return self._keys.items() if self._follows(known) else ()

    def _follows(self, known: ScopeState) -> bool:
        return self._whole and known.seq <= self._state.seq
