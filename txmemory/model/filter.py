"""Conditions that a query or a removal puts on items; `rules.matches` says what each means."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from txmemory.model import limits
from txmemory.model.canonical import checked_integer, checked_text
from txmemory.model.item import TIME_LEAST, TIME_MOST, Stored, checked_importance


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
        if len(self.kinds) > limits.FILTER_VALUES:
            raise ValueError(f"a filter names more than {limits.FILTER_VALUES} values")
        checked = frozenset(checked_text(kind, "kind", limits.TEXT_KEY_BYTES) for kind in self.kinds)
        object.__setattr__(self, "kinds", checked)


@dataclass(frozen=True, slots=True)
class AttributeThere:
    """An item matches when it has the attribute, as a text, an empty one too."""

    name: str = field(repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", _name(self.name))


@dataclass(frozen=True, slots=True)
class AttributeIs:
    """An item matches when it has the attribute and its value is exactly this text."""

    name: str = field(repr=False)
    value: str = field(repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", _name(self.name))
        object.__setattr__(self, "value", _text(self.value, limits.ATTRIBUTES_BYTES))


@dataclass(frozen=True, slots=True)
class AttributeContains:
    """An item matches when it has the attribute and this text stands in its value, letter for letter."""

    name: str = field(repr=False)
    text: str = field(repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", _name(self.name))
        object.__setattr__(self, "text", _text(self.text, limits.ATTRIBUTES_BYTES))


@dataclass(frozen=True, slots=True)
class CreatedWithin:
    """An item matches when it was created in this range, in microseconds, both ends included; None is an open end."""

    after: int | None = None
    before: int | None = None

    def __post_init__(self) -> None:
        for name in ("after", "before"):
            end = getattr(self, name)
            if end is not None:
                checked = checked_integer(end, "an end of a time range", TIME_LEAST, TIME_MOST)
                object.__setattr__(self, name, checked)


@dataclass(frozen=True, slots=True)
class ImportanceFrom:
    """An item matches when it has an importance, and it is at least this."""

    least: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "least", checked_importance(self.least))


@dataclass(frozen=True, slots=True)
class TextContains:
    """An item matches when this text stands in its own, letter for letter, or in lower case of both."""

    text: str = field(repr=False)
    case_sensitive: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", _text(self.text, limits.TEXT_BYTES))
        if not isinstance(self.case_sensitive, bool):
            raise TypeError("case_sensitive must be True or False")


@dataclass(frozen=True, slots=True)
class Satisfies:
    """An item matches when the predicate says so. No backend is asked: it runs outside every transaction."""

    predicate: Callable[[Stored], bool] = field(repr=False)


@dataclass(frozen=True, slots=True)
class AllOf:
    """An item matches when all parts do."""

    parts: "tuple[Condition, ...]"

    def __post_init__(self) -> None:
        _refuse_large(self)


@dataclass(frozen=True, slots=True)
class AnyOf:
    """An item matches when one of the parts does."""

    parts: "tuple[Condition, ...]"

    def __post_init__(self) -> None:
        _refuse_large(self)


@dataclass(frozen=True, slots=True)
class Not:
    """An item matches when the part does not."""

    part: "Condition"

    def __post_init__(self) -> None:
        _refuse_large(self)


Leaf = (
    Everything
    | Nothing
    | KindIn
    | AttributeThere
    | AttributeIs
    | AttributeContains
    | CreatedWithin
    | ImportanceFrom
    | TextContains
    | Satisfies
)
Condition = Leaf | AllOf | AnyOf | Not


def leaves(condition: Condition) -> Iterator[Leaf]:
    """The conditions that a condition is composed of, from left to right."""
    match condition:
        case AllOf(parts=parts) | AnyOf(parts=parts):
            for part in parts:
                yield from leaves(part)
        case Not(part=part):
            yield from leaves(part)
        case _:
            yield condition


def _parts(condition: Condition) -> int:
    match condition:
        case AllOf(parts=parts) | AnyOf(parts=parts):
            return 1 + sum(map(_parts, parts))
        case Not(part=part):
            return 1 + _parts(part)
        case _:
            return 1


def _refuse_large(condition: AllOf | AnyOf | Not) -> None:
    if _parts(condition) > limits.FILTER_PARTS:
        raise ValueError(f"a filter has more than {limits.FILTER_PARTS} parts")
    values = sum(len(leaf.kinds) for leaf in leaves(condition) if isinstance(leaf, KindIn))
    if values > limits.FILTER_VALUES:
        raise ValueError(f"a filter names more than {limits.FILTER_VALUES} values")


def _name(name: object) -> str:
    return checked_text(name, "an attribute's name", limits.ATTRIBUTES_BYTES, empty=True)


def _text(text: object, most: int) -> str:
    return checked_text(text, "a filter's text", most, empty=True)
