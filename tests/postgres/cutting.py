"""Every point at which a call's messages can be cut, and what may have happened there."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal, get_args

from txmemory.testing.faults import Cut, Seen, Where
from txmemory.testing.wire import ANSWERED

Fate = Literal["untouched", "either", "made", "answered"]
"""What became of a call that was cut there: not made, made or not, made, made and heard of."""


def cuts(seen: Sequence[Seen]) -> Iterator[tuple[Cut, Fate]]:
    """Each point of each message of a call that made these, with what must have become of the call.

    The call commits when the server gets its last Sync, and has been heard when the last message was passed on.
    """
    commits = max(place for place, each in enumerate(seen) if each.message.kind == "Sync")
    executes = max(place for place, each in enumerate(seen) if each.message.kind == "Execute")
    before: Counter[object] = Counter()
    for place, each in enumerate(seen):
        message, skip = each.message, before[each.message]
        before[message] += 1
        for where in get_args(Where):
            if where == "reply" and message.kind not in ANSWERED:
                continue
            yield Cut(message, where, skip), _fate(seen, place, where, (commits, executes))


def _fate(seen: Sequence[Seen], place: int, where: Where, ends: tuple[int, int]) -> Fate:
    commits, executes = ends
    last = place == len(seen) - 1 and where == "after"
    if last:
        return "answered"
    if seen[place].message.direction == "backend":
        return "made" if place > commits else "untouched"
    if where == "reply":
        # All of a round has reached the server before anything of its answer is cut off.
        return "made" if _round(seen, place) == _round(seen, executes) else "untouched"
    return "either" if (place, where) == (commits, "after") else "untouched"


def _round(seen: Sequence[Seen], place: int) -> int:
    return sum(each.message.kind == "Sync" for each in seen[:place])
