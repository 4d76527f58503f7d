"""Conditions that a query or a removal puts on items; `rules.matches` says what each means."""

from dataclasses import dataclass, field

from txmemory.model import limits
from txmemory.model.canonical import checked_text


@dataclass(frozen=True, slots=True)
class Everything:
    """Every item matches."""


@dataclass(frozen=True, slots=True)
class Nothing:
    """No item matches."""


@dataclass(frozen=True, slots=True)
class KindIn:
    """An item matches when its kind is one of `kinds`; of none, nothing matches."""

    kinds: frozenset[str] = field(repr=False)

    def __post_init__(self) -> None:
        if len(self.kinds) > limits.FILTER_KINDS:
            raise ValueError(f"a filter names more than {limits.FILTER_KINDS} kinds")
        checked = frozenset(checked_text(kind, "kind", limits.TEXT_KEY_BYTES) for kind in self.kinds)
        object.__setattr__(self, "kinds", checked)


Condition = Everything | Nothing | KindIn
