"""What of a condition a datastore can decide. It narrows; where that is not exact, `matches` decides."""

import re
from typing import NamedTuple

from txmemory.model.filter import (
    AllOf,
    AnyOf,
    AttributeContains,
    AttributeIs,
    AttributeThere,
    Condition,
    Everything,
    Not,
    Satisfies,
    TextContains,
    leaves,
)

_ODD_NAME = re.compile(r'[\x00-\x1f"\\]')
"""What JSON would spell with an escape: engines disagree on how a path names such a member."""
DEEPEST = 16
"""How deep compositions nest that a datastore is asked: SQLite's parser holds 100 tokens, up to four for a level."""


class Narrowed(NamedTuple):
    """A condition that every datastore decides, and whether it accepts no more than was asked."""

    condition: Condition
    exact: bool


def narrowed(condition: Condition, deepest: int = DEEPEST) -> Narrowed:
    """The narrowest condition for a datastore that accepts all that `condition` accepts."""
    match condition:
        case AllOf() | AnyOf() | Not() if not deepest:
            return _ANYTHING
        case AllOf(parts=parts):
            each = [narrowed(part, deepest - 1) for part in parts]
            sure = tuple(part.condition for part in each if part.exact or part.condition != Everything())
            return Narrowed(AllOf(sure), all(part.exact for part in each))
        case AnyOf(parts=parts):
            each = [narrowed(part, deepest - 1) for part in parts]
            if any(part == _ANYTHING for part in each):
                return _ANYTHING
            return Narrowed(AnyOf(tuple(part.condition for part in each)), all(part.exact for part in each))
        case Not(part=part):
            inside = narrowed(part, deepest - 1)
            return Narrowed(Not(inside.condition), exact=True) if inside.exact else _ANYTHING
        case _:
            return Narrowed(condition, exact=True) if _decidable(condition) else _ANYTHING


_ANYTHING = Narrowed(Everything(), exact=False)


def _decidable(leaf: Condition) -> bool:
    match leaf:
        case Satisfies():
            return False
        case TextContains(text=text, case_sensitive=False):
            return text.lower().isascii()
        case AttributeThere(name=name) | AttributeIs(name=name) | AttributeContains(name=name):
            return bool(name) and not _ODD_NAME.search(name)
        case _:
            return True


def on_heads(condition: Condition) -> bool:
    """Whether a datastore decides it by heads alone, which are what it locks: kind, attributes, time, importance."""
    return narrowed(condition).exact and not any(isinstance(leaf, TextContains) for leaf in leaves(condition))
