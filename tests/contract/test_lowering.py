"""That an engine's lower case of any text holds the ASCII that Python's holds, code point by code point."""

import re
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import psycopg
import pytest
from sqlalchemy import Text, column, make_url, select

from txmemory.backends.sql.texts import PostgresTexts, SqliteTexts, Texts

ASCII = re.compile(r"[\x00-\x7f]+")
SURROGATES = range(0xD800, 0xE000)


def code_points() -> Iterator[int]:
    """All that a text may hold."""
    return (code for code in range(1, sys.maxunicode + 1) if code not in SURROGATES)


def lowered(texts: Texts, url: str) -> str:
    """The words by which a store lowers a column named `letter`, in the dialect of such a URL."""
    dialect = make_url(url).get_dialect()()
    words = select(texts.lowered(column("letter", Text()))).compile(dialect=dialect)
    assert not words.params
    return str(words).removeprefix("SELECT ").partition(" AS ")[0]


def of_sqlite() -> Iterator[tuple[int, str]]:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE point (code INTEGER PRIMARY KEY, letter TEXT)")
        connection.executemany(
            "INSERT INTO point VALUES (?, ?)", ((code, chr(code)) for code in code_points())
        )
        words = lowered(SqliteTexts(), "sqlite://")
        yield from connection.execute(f"SELECT code, {words} FROM point")  # noqa: S608  # the store's own words


def of_postgres(url: str) -> Iterator[tuple[int, str]]:
    words = lowered(PostgresTexts(), "postgresql+psycopg://")
    points = "SELECT code, chr(code) AS letter FROM generate_series(1, %s) AS code"
    points += " WHERE code NOT BETWEEN 55296 AND 57343"
    with psycopg.connect(url) as connection, connection.cursor(name="points") as cursor:
        cursor.itersize = 100_000
        asked = f"SELECT code, {words} FROM ({points}) AS point"  # noqa: S608  # as above
        cursor.execute(asked.encode(), [sys.maxunicode])
        yield from cursor


@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
def test_an_engine_s_lower_case_holds_the_ascii_that_python_s_holds(
    engine: str, request: pytest.FixtureRequest
) -> None:
    """S2: every code point; between other letters nothing changes, because each is lowered by itself."""
    answers: Any = of_sqlite() if engine == "sqlite" else of_postgres(request.getfixturevalue("server"))
    asked = 0
    for code, answer in answers:
        asked += 1
        assert ASCII.findall(answer) == ASCII.findall(chr(code).lower()), hex(code)
    assert asked == sys.maxunicode - len(SURROGATES)


@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
def test_an_engine_lowers_each_letter_of_a_text_by_itself(
    engine: str, request: pytest.FixtureRequest
) -> None:
    """S2: beside whatever letters stand there, at the end of a word and in its middle."""
    text = "K\u212aI\u0130i\u0307\u03a3S\u00df\u1e9e A\u0308\u03a3 \ufb01\u01c5 \U0001f375\u0130Z"
    if engine == "sqlite":
        words = lowered(SqliteTexts(), "sqlite://")
        with closing(sqlite3.connect(":memory:")) as connection:
            found = connection.execute(f"SELECT {words} FROM (SELECT ? AS letter)", [text]).fetchone()  # noqa: S608  # as above
    else:
        words = lowered(PostgresTexts(), "postgresql+psycopg://")
        asked = f"SELECT {words} FROM (SELECT %s::text AS letter) AS one"  # noqa: S608  # as above
        with psycopg.connect(request.getfixturevalue("server")) as server:
            found = server.execute(asked.encode(), [text]).fetchone()
    assert found is not None
    assert ASCII.findall(found[0]) == ASCII.findall(text.lower())
