"""SQLite keeps a value of any type in a column, and text that is none: verify names it, and nothing is raised."""

from pathlib import Path
from random import Random
from typing import Any

import pytest

import txmemory
from tests.crash.sizes import size
from tests.damage.grounds import FileGround, Impossible, derived, key_of, kinds, table
from txmemory import must

ODD: dict[str, Any] = {
    "bytes": b"\xff\0x",
    "no bytes": b"",
    "text": "odd",
    "no text": "",
    "a fraction": 1.5,
    "a small number": 7,
    "a negative number": -1,
    "a large number": 2**62,
    "nothing": None,
    "deep": "[" * 3_000,
}
NO_UTF_8 = "no UTF-8"
SAYS_NOTHING = {"holder", "lease_until", "timeline"}
"""Columns of a scope of which the log tells nothing."""


@pytest.fixture
def ground(tmp_path: Path) -> FileGround:
    """A file."""
    return FileGround(tmp_path)


def damage(ground: FileGround, name: str, column: str, odd: str) -> bool:
    """Puts the odd value into one row; False where the engine refuses, or keeps what was there."""
    before = ground.rows(name)
    row = [each for each in before if name != "scope" or each["seq"] > 0][len(before) // 2]
    this = " AND ".join(f'"{key}" = :was_{key}' for key in key_of(name))
    values = {f"was_{key}": row[key] for key in key_of(name)}
    value = "CAST(x'ff41' AS TEXT)" if odd == NO_UTF_8 else ":value"
    update = f'UPDATE {{{name}}} SET "{column}" = {value} WHERE {this}'  # noqa: S608 - our own names
    try:
        ground.run(update, values if odd == NO_UTF_8 else {**values, "value": ODD[odd]})
    except Impossible:
        return False
    return odd == NO_UTF_8 or ground.rows(name) != before


def cases() -> list[tuple[str, str, str]]:
    """Every column with every odd value; in a short run some of them."""
    names = ("scope", "ledger", "event", "item", "revision")
    every = [(name, each.name, odd) for name in names for each in table(name).c for odd in (*ODD, NO_UTF_8)]
    return Random().sample(every, size(120, len(every)))


def unfindable(name: str, column: str, odd: str) -> bool:
    """What stands on the page as not to be found."""
    grown = odd in ("a small number", "a large number")
    match name, column:
        case "scope", _ if column in SAYS_NOTHING:
            return True
        case ("scope", "token" | "generation") | ("event", "row") if grown:
            return True
        case "event", "generation":
            return odd == "nothing"
        case "revision", "ordinal":
            return odd in ("a small number", "a large number", "a negative number")
        case _:
            return False


def test_whatever_type_a_value_has_it_is_named_and_nothing_is_raised(ground: FileGround) -> None:
    """L8: and a rebuild, called twice, restores of it what follows, and takes nothing of the log's side away."""
    whole = derived(ground)
    for name, column, odd in cases():
        if damage(ground, name, column, odd):
            told = ground.rows("event"), ground.rows("revision")
            with txmemory.open(ground.url) as store:
                named = kinds(store)
                assert named or unfindable(name, column, odd), (name, column, odd)
                for scope in ("run-0", "run-1", "sealed"):
                    must(store.verify(scope=scope))
                for _ in range(2):
                    must(store.rebuild(of="store"))
                after = kinds(store)
            assert (ground.rows("event"), ground.rows("revision")) == told
            if name == "item" and column not in ("tenant", "namespace", "id"):
                assert (after, derived(ground)) == (set(), whole), (name, column, odd)
        ground.restore()
    with txmemory.open(ground.url) as store:
        assert kinds(store) == set()


def test_more_than_a_page_of_names_that_are_none_comes_to_an_end(ground: FileGround) -> None:
    """And in every table: what can be asked for behind them is none."""
    many = "WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 2500) "
    odd = "CAST('odd ' || n AS BLOB)"
    for name, column in (
        ("scope", "scope"),
        ("ledger", "key"),
        ("ledger", "scope"),
        ("event", "scope"),
        ("item", "id"),
        ("item", "namespace"),
        ("revision", "id"),
        ("revision", "tenant"),
    ):
        kept = [each.name for each in table(name).c if (name, each.name) != ("event", "row")]
        put = ", ".join(f'"{each}"' for each in kept)
        taken = ", ".join(odd if each == column else f'"{each}"' for each in kept)
        some = "WHERE seq > 0" if name in ("scope", "event") else ""
        one = f"(SELECT * FROM {{{name}}} {some} LIMIT 1), n"  # noqa: S608 - our own names
        ground.run(f"INSERT INTO {{{name}}} ({put}) {many}SELECT {taken} FROM {one}", {})  # noqa: S608 - the same
        with txmemory.open(ground.url) as store:
            assert kinds(store), (name, column)
            must(store.rebuild(of="store"))
        ground.restore()


def test_text_that_is_none_is_told_as_damage_of_the_file(ground: FileGround) -> None:
    """By a read that meets it: the file is damaged, and asking again would not help."""
    ground.run("UPDATE {revision} SET text = CAST(x'ff41' AS TEXT) WHERE text IS NOT NULL", {})
    with txmemory.open(ground.url) as store, pytest.raises(txmemory.Corrupted):
        store.recall()
