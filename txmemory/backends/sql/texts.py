"""How each dialect looks into attributes and texts: letter for letter, whatever wildcards or collations it knows."""

from string import ascii_lowercase, ascii_uppercase
from typing import Protocol

from sqlalchemy import ColumnElement, Text, and_, cast, func, literal_column
from sqlalchemy.dialects.postgresql import JSONB

from txmemory.backends.sql.tables import INDEXED_BYTES

KELVIN, DOTTED_I = "\u212a", "\u0130"
"""The two letters beyond A .. Z whose lower case holds ASCII letters: k, and i with a dot above."""


class Texts(Protocol):
    """A dialect's way. A name of an attribute is a text known beforehand, or one that is bound."""

    def attribute(self, attributes: ColumnElement[str], name: str | ColumnElement[str]) -> ColumnElement[str]:
        """The value of an attribute that is a text."""
        ...

    def is_text(self, attributes: ColumnElement[str], name: str | ColumnElement[str]) -> ColumnElement[bool]:
        """Whether the attribute is there and a text."""
        ...

    def is_value(
        self, attributes: ColumnElement[str], name: str | ColumnElement[str], value: ColumnElement[str]
    ) -> ColumnElement[bool]:
        """Whether the attribute is this text, in the words of its index where it has one."""
        ...

    def holds(self, text: ColumnElement[str], part: ColumnElement[str]) -> ColumnElement[bool]:
        """Whether the part stands in the text."""
        ...

    def lowered(self, text: ColumnElement[str]) -> ColumnElement[str]:
        """The text in lower case, as far as a part that is ASCII can tell."""
        ...


class SqliteTexts:
    """By SQLite's own functions; its `lower` knows ASCII alone."""

    def attribute(self, attributes: ColumnElement[str], name: str | ColumnElement[str]) -> ColumnElement[str]:
        """By its path."""
        found: ColumnElement[str] = func.json_extract(attributes, _path(name))
        return found

    def is_text(self, attributes: ColumnElement[str], name: str | ColumnElement[str]) -> ColumnElement[bool]:
        """By its path."""
        return func.json_type(attributes, _path(name)) == literal_column("'text'")

    def is_value(
        self, attributes: ColumnElement[str], name: str | ColumnElement[str], value: ColumnElement[str]
    ) -> ColumnElement[bool]:
        """By its path, which is what the index has."""
        return and_(self.attribute(attributes, name) == value, self.is_text(attributes, name))

    def holds(self, text: ColumnElement[str], part: ColumnElement[str]) -> ColumnElement[bool]:
        """By place: LIKE has wildcards, and takes A for a."""
        return func.instr(text, part) > literal_column("0")

    def lowered(self, text: ColumnElement[str]) -> ColumnElement[str]:
        """ASCII by the engine, the two others by name."""
        plain = func.replace(func.lower(text), _literal(KELVIN), _literal("k"))
        lower: ColumnElement[str] = func.replace(plain, _literal(DOTTED_I), _literal(DOTTED_I.lower()))
        return lower


class PostgresTexts:
    """By PostgreSQL's functions, none of which asks a collation."""

    def attribute(self, attributes: ColumnElement[str], name: str | ColumnElement[str]) -> ColumnElement[str]:
        """Compared by code point."""
        return cast(attributes, JSONB()).op("->>", return_type=Text())(_name(name)).collate("C")

    def is_text(self, attributes: ColumnElement[str], name: str | ColumnElement[str]) -> ColumnElement[bool]:
        """By the type of the member."""
        member = cast(attributes, JSONB()).op("->", return_type=JSONB())(_name(name))
        return func.jsonb_typeof(member) == literal_column("'string'")

    def is_value(
        self, attributes: ColumnElement[str], name: str | ColumnElement[str], value: ColumnElement[str]
    ) -> ColumnElement[bool]:
        """By the text; one that an index has is as short as those that it holds, which has to be said."""
        found = self.attribute(attributes, name)
        is_it = and_(found == value, self.is_text(attributes, name))
        if not isinstance(name, str):
            return is_it
        return and_(is_it, func.octet_length(found) <= literal_column(f"{INDEXED_BYTES}"))

    def holds(self, text: ColumnElement[str], part: ColumnElement[str]) -> ColumnElement[bool]:
        """By place."""
        return func.strpos(text, part) > literal_column("0")

    def lowered(self, text: ColumnElement[str]) -> ColumnElement[str]:
        """Letter by letter."""
        undotted = func.replace(text, _literal(DOTTED_I), _literal(DOTTED_I.lower()))
        lower: ColumnElement[str] = func.translate(
            undotted, _literal(ascii_uppercase + KELVIN), _literal(ascii_lowercase + "k")
        )
        return lower


def _literal(text: str) -> ColumnElement[str]:
    return literal_column(f"'{text}'")


def _name(name: str | ColumnElement[str]) -> ColumnElement[str]:
    return _literal(name) if isinstance(name, str) else name


def _path(name: str | ColumnElement[str]) -> ColumnElement[str]:
    if isinstance(name, str):
        return _literal(f'$."{name}"')
    opened: ColumnElement[str] = _literal('$."').concat(name)
    return opened.concat(_literal('"'))
