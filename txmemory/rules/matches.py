"""What each condition means. SQL may narrow; this decides."""

from typing import assert_never

from txmemory.model.filter import Condition, Everything, KindIn, Nothing


def matches(condition: Condition, kind: str) -> bool:
    """Whether an item of this kind satisfies the condition."""
    match condition:
        case Everything():
            return True
        case Nothing():
            return False
        case KindIn(kinds=kinds):
            return kind in kinds
        case unreachable:
            assert_never(unreachable)
