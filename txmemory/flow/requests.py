"""What a flow may ask of whoever drives it."""

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, TypeVar

from txmemory.model.commit import Reply, Transaction
from txmemory.model.query import Query
from txmemory.rules.settling import Accident

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Pause:
    """A moment's wait before somebody who lost a race decides anew; longer after each one that was lost."""

    lost: int


Request = Transaction | Query[Any] | Pause
"""One transaction to run, one page to read, or a moment to wait."""
Response = Reply | Accident
"""What a commit met, or what befell it. A query is answered with its page, or `Contended` or `Unavailable`."""
Flow = Generator[Request, Any, Answer]
