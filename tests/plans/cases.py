"""Filters of every kind that an index answers, and which."""

from datetime import UTC, datetime

from txmemory import Filter

_FROM, _TO = datetime(2020, 1, 2, tzinfo=UTC), datetime(2020, 1, 3, tzinfo=UTC)
_TIMES = Filter.between(_FROM, _TO)
_CONVERSATION, _ENTITY = Filter.by_conversation("c-7"), Filter.by_entity("e-7")

_EACH: dict[str, tuple[Filter, str]] = {
    "all": (Filter.all(), "age"),
    "nothing": (Filter.none(), "age"),
    "a type": (Filter.tasks(), "kind"),
    "a rare type": (Filter.by_type("rare-7"), "kind"),
    "two types": (Filter.by_types(["task", "rare-7"]), "kind"),
    "a conversation": (_CONVERSATION, "conversation_id"),
    "an entity": (_ENTITY, "entity_id"),
    "a time range": (_TIMES, "age"),
    "from a time on": (Filter.after(_FROM), "age"),
    "until a time": (Filter.before(_TO), "age"),
    "both ends apart": (Filter.after(_FROM) & Filter.before(_TO), "age"),
    "a type and a time range": (Filter.tasks() & _TIMES, "kind"),
    "a time range and a type": (_TIMES & Filter.tasks(), "kind"),
    "a type and from a time on": (Filter.after(_FROM) & Filter.tasks(), "kind"),
    "a conversation and a type": (_CONVERSATION & Filter.tasks(), "conversation_id"),
    "a type and an entity": (Filter.tasks() & _ENTITY, "entity_id"),
    "a conversation and a time range": (_CONVERSATION & _TIMES, "conversation_id"),
    "a conversation and two types": (_CONVERSATION & Filter.by_types(["task", "rare-7"]), "conversation_id"),
    "a type and words": (Filter.tasks() & Filter.content_contains("step"), "kind"),
    "a conversation and importance": (_CONVERSATION & Filter.important(), "conversation_id"),
    "importance": (Filter.important(), "age"),
    "other types": (~Filter.tasks(), "age"),
}
CASES = {name: filter for name, (filter, _) in _EACH.items()}
INDEX_OF = {name: index for name, (_, index) in _EACH.items()}
