"""What a flow may ask of whoever drives it."""

from collections.abc import Generator
from typing import Any, TypeVar

from txmemory.model.commit import Reply, Transaction
from txmemory.model.query import Query
from txmemory.rules.settling import Accident

Answer = TypeVar("Answer")

Request = Transaction | Query[Any]
"""One transaction to run, or one page to read."""
Response = Reply | Accident
"""What a commit met, or what befell it. A query is answered with its page, or `Contended` or `Unavailable`."""
Flow = Generator[Request, Any, Answer]
