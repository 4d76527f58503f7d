"""What a flow may ask of whoever drives it."""

from collections.abc import Generator
from typing import Any, TypeVar, cast

from txmemory.model.commit import Commit, Reply
from txmemory.model.query import Page, Query
from txmemory.model.refusal import Contended, Unavailable
from txmemory.rules.settling import Accident

Answer = TypeVar("Answer")
Row = TypeVar("Row")

Request = Commit | Query[Any]
Flow = Generator[Request, Any, Answer]


def send(commit: Commit) -> Flow[Reply | Accident]:
    """Runs one transaction; the answer is what it met, or the accident that befell it."""
    return cast(Reply | Accident, (yield commit))


def ask(query: Query[Row]) -> Flow[Page[Row] | Contended | Unavailable]:
    """Reads one page."""
    return cast(Page[Row] | Contended | Unavailable, (yield query))
