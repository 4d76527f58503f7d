"""Conditions that a query or a removal puts on items; `rules.matches` says what each means."""

from dataclasses import dataclass

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

    kinds: frozenset[str]

    def __post_init__(self) -> None:
        if len(self.kinds) > limits.FILTER_KINDS:
            raise ValueError(f"a filter names more than {limits.FILTER_KINDS} kinds")
        for kind in self.kinds:
            checked_text(kind, "kind", limits.TEXT_KEY_BYTES)


Condition = Everything | Nothing | KindIn
