"""What each condition means. SQL may narrow; this decides."""

from typing import assert_never

from txmemory.model.filter import (
    AllOf,
    AnyOf,
    AttributeContains,
    AttributeIs,
    AttributeThere,
    Condition,
    CreatedWithin,
    Everything,
    ImportanceFrom,
    KindIn,
    Not,
    Nothing,
    Satisfies,
    TextContains,
)
from txmemory.model.item import Stored


def matches(condition: Condition, stored: Stored) -> bool:
    """Whether the item satisfies the condition."""
    item = stored.item
    match condition:
        case Everything():
            return True
        case Nothing():
            return False
        case KindIn(kinds=kinds):
            return item.kind in kinds
        case AttributeThere(name=name):
            return isinstance(item.attributes.get(name), str)
        case AttributeIs(name=name, value=value):
            return item.attributes.get(name) == value
        case AttributeContains(name=name, text=text):
            found = item.attributes.get(name)
            return isinstance(found, str) and text in found
        case CreatedWithin(after=after, before=before):
            created = stored.created_at
            return (after is None or created >= after) and (before is None or created <= before)
        case ImportanceFrom(least=least):
            return item.importance is not None and item.importance >= least
        case TextContains(text=text, case_sensitive=True):
            return text in item.text
        case TextContains(text=text):
            return text.lower() in item.text.lower()
        case Satisfies(predicate=predicate):
            answer = predicate(stored)
            if not isinstance(answer, bool):
                raise TypeError("a predicate must answer True or False")
            return answer
        case AllOf(parts=parts):
            return all(matches(part, stored) for part in parts)
        case AnyOf(parts=parts):
            return any(matches(part, stored) for part in parts)
        case Not(part=part):
            return not matches(part, stored)
        case unreachable:
            assert_never(unreachable)
