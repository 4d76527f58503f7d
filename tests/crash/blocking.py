"""A connection that holds what calls want, so that they wait inside their transaction, at a step of one's choice."""

import time
from types import TracebackType
from typing import Self

import psycopg

SPACE = '["memories"]'
PATIENCE = 60.0

_SCOPE = "UPDATE txmemory.scope SET seq = seq WHERE tenant = %(tenant)s AND scope = 'run'"
_NAMESPACE = "INSERT INTO txmemory.namespace VALUES (%(tenant)s, %(space)s)"
_NEW_HEAD = (
    "INSERT INTO txmemory.item (tenant, namespace, id, live, revision, kind, attributes, created_at, updated_at, "
    "added_at, added_ordinal) VALUES (%(tenant)s, %(space)s, %(id)s, 0, 0, '', '{}', 0, 0, 0, 0)"
)
_HEAD = (
    "UPDATE txmemory.item SET live = live WHERE tenant = %(tenant)s AND namespace = %(space)s AND id = %(id)s"
)
_REVISION = (
    "INSERT INTO txmemory.revision (tenant, namespace, id, revision, created_at, salt, at, ordinal, reason) "
    "VALUES (%(tenant)s, %(space)s, %(id)s, %(revision)s, 0, '', 0, 0, 'stored')"
)
_EVENT = (
    "INSERT INTO txmemory.event (tenant, version, kind, scope, seq, effects, at) "
    "VALUES (%(tenant)s, 1, 'record', 'run', 4, '[[],[]]', 0)"
)
_NEW_KEY = "INSERT INTO txmemory.ledger VALUES (%(tenant)s, 'run', %(id)s, 4)"
_KEY = "UPDATE txmemory.ledger SET seq = seq WHERE tenant = %(tenant)s AND scope = 'run' AND key = %(id)s"
HELD: dict[str, tuple[str, dict[str, object]]] = {
    "the scope": (_SCOPE, {}),
    "the namespace": (_NAMESPACE, {}),
    **{f"the place of {id}": (_NEW_HEAD, {"id": id}) for id in ("new", "newer", "sum")},
    **{f"the head of {id}": (_HEAD, {"id": id}) for id in ("first", "second", "third")},
    **{f"revision 1 of {id}": (_REVISION, {"id": id, "revision": 1}) for id in ("new", "newer", "sum")},
    **{f"revision 2 of {id}": (_REVISION, {"id": id, "revision": 2}) for id in ("first", "second", "third")},
    "the event": (_EVENT, {}),
    **{f"the new row of {key!r}": (_NEW_KEY, {"id": key}) for key in ("key", "key, too")},
    "the row of 'before second'": (_KEY, {"id": "before second"}),
}
"""What can be held, in the order in which a call comes to them: rows that are there, and rows that are to be made."""


class Blocker:
    """A connection with a transaction that is taken back in the end."""

    def __init__(self, database: str) -> None:
        self._holding = psycopg.connect(database)
        self._watching = psycopg.connect(database, autocommit=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._holding.close()
        self._watching.close()

    def hold(self, what: str, tenant: str) -> None:
        """Holds it until it is let go."""
        statement, values = HELD[what]
        self._holding.execute(statement, {"tenant": tenant, "space": SPACE, **values})

    def let_go(self) -> None:
        """Whoever waits goes on."""
        self._holding.rollback()

    def waiting(self) -> list[int]:
        """The server's processes that wait for what is held, at this moment."""
        pid = self._holding.info.backend_pid
        asked = "SELECT pid FROM pg_stat_activity WHERE %s = ANY (pg_blocking_pids(pid))"
        return [found for (found,) in self._watching.execute(asked, [pid])]

    def wait(self) -> int:
        """The process that has come to wait."""
        end = time.monotonic() + PATIENCE
        while not (found := self.waiting()):
            assert time.monotonic() < end, "nobody waits"
        return found[0]

    def terminate(self, pid: int) -> None:
        """Ends the process and waits for its end."""
        assert self._watching.execute("SELECT pg_terminate_backend(%s, 30000)", [pid]).fetchone() == (True,)
