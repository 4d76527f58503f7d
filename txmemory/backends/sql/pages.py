"""Pages of rows as verify reads them, each made when it is asked for."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, overload

from txmemory.backends.sql.rows import Row
from txmemory.model.query import Page
from txmemory.model.verifying import NAMELESS

Rows = Sequence[Row]


class Decoding(Sequence[Any]):
    """Rows that are made of what was read as they are asked for: a page of all of them is much to keep."""

    def __init__(self, make: Callable[[Row], Any], rows: Rows) -> None:
        self._make = make
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Any]:
        return map(self._make, self._rows)

    @overload
    def __getitem__(self, place: int) -> Any: ...
    @overload
    def __getitem__(self, place: slice) -> "Decoding": ...
    def __getitem__(self, place: int | slice) -> Any:
        if isinstance(place, slice):
            return Decoding(self._make, self._rows[place])
        return self._make(self._rows[place])


def page(make: Callable[[Row], Any], limit: int) -> Callable[[Sequence[Rows]], Page[Any]]:
    """How the rows of one binding make a page."""

    def paged(found: Sequence[Rows]) -> Page[Any]:
        rows = found[0][:limit]
        more = len(found[0]) > limit
        # Behind a whole page of names that are none nothing can be asked for.
        stuck = more and all(NAMELESS in make(row) for row in (rows[0], rows[-1]))
        return Page(Decoding(make, rows), more=more and not stuck)

    return paged
