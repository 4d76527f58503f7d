"""What claims and runs do to a scope, said as plainly as can be, beside what calls do to it."""

from datetime import datetime, timedelta
from typing import Any

from txmemory.testing.model import Asked, Done, Model, Scope, Told, Who


class LeasingModel(Model):
    """One tenant whose scopes are claimed, too."""

    def claim(self, scope: str, identity: tuple[str, int], ttl: timedelta, now: datetime) -> Any:
        """What `claim` and `run` answer: the fence, and until when."""
        row = self.scopes.setdefault(scope, Scope())
        if row.sealed:
            return ("sealed",)
        if row.until is None or row.until <= now:
            generation, token = row.fence
            row.fence, row.holder, row.until = (generation, token + 1), identity, now + ttl
            row.seq += 1
        elif row.holder == identity:
            row.until = max(row.until, now + ttl)
        else:
            return "held", row.holder and row.holder[0], row.until
        return "claimed", row.fence, row.until

    def unfinished(
        self, identity: tuple[str, int], ttl: timedelta, lapsed: timedelta, limit: int, now: datetime
    ) -> list[tuple[str, Any]]:
        """What `unfinished` answers: scopes by name, each claimed."""
        over = [
            name
            for name, row in sorted(self.scopes.items())
            if row.until is not None and row.until <= now - lapsed and not row.sealed
        ]
        return [(name, self.claim(name, identity, ttl, now)) for name in over[:limit]]

    def renew(self, who: Who, ttl: timedelta, now: datetime) -> Any:
        """What `renew` answers."""
        row = self.scopes[who.scope]
        if (who.fence, who.identity) != (row.fence, row.holder):
            return "fenced", row.fence
        if row.sealed:
            return ("sealed",)
        if row.until is None:
            return ("lost",)
        row.until = now + ttl
        return row.until

    def release(self, who: Who) -> bool:
        """What `release` answers."""
        row = self.scopes[who.scope]
        if (who.fence, who.identity) != (row.fence, row.holder):
            return False
        if row.until is not None and not row.sealed:
            row.until = None
            row.seq += 1
        return True

    def reset(self, scope: str) -> int:
        """What `reset_fence` answers."""
        row = self.scopes.setdefault(scope, Scope())
        row.fence, row.holder, row.until = (row.fence[0] + 1, 0), None, None
        row.seq += 1
        return row.fence[0]

    def step(self, place: str, who: Who, asked: Asked, now: datetime) -> Any:
        """What `step` answers: a receipt, and what was stored under the key when it was."""
        known = self.applied(who, asked.key)
        if known is None:
            answer = self.write(place, who, asked, now)
        elif isinstance(known, Done):
            answer = Told(known, replayed=True)
        else:
            return known
        payload: Any = self.scopes[who.scope].ledger[asked.key][0]
        puts = payload[1] if answer.done.added else ()
        return answer, [given.content for _, given in puts]
