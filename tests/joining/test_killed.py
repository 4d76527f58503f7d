"""A caller that is killed with -9 between a joined write and its COMMIT, or just behind it."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

import txmemory
from txmemory import Memory, must
from txmemory.testing.processes import fork

TEA = [Memory("tea", id="a")]


class Place:
    """A store's URL, and how a caller connects to it, who keeps its steps there in a table."""

    def __init__(self, url: str, connect: Callable[[], Any]) -> None:
        self.url = url
        self.connect = connect
        with closing(connect()) as connection:
            connection.execute("CREATE TABLE step (name text)")

    def steps(self) -> list[tuple[str]]:
        with closing(self.connect()) as connection:
            found: list[tuple[str]] = connection.execute("SELECT name FROM step").fetchall()
            return found


@pytest.fixture(params=["sqlite-file", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    if request.param == "sqlite-file":
        path = tmp_path / "agent.db"
        return Place(f"sqlite:///{path}", lambda: sqlite3.connect(path, isolation_level=None))
    url, schema = request.getfixturevalue("database"), request.getfixturevalue("schema")
    here = f"-c search_path={schema}"
    return Place(f"{url}?schema={schema}", lambda: psycopg.connect(url, autocommit=True, options=here))


@pytest.mark.parametrize("committed", [False, True], ids=["before COMMIT", "after COMMIT"])
def test_killed_between_the_write_and_commit_neither_is_there_and_behind_it_both_are(
    place: Place, *, committed: bool
) -> None:
    def work(line: Any) -> None:
        connection = place.connect()
        with txmemory.open(place.url) as store:
            connection.execute("BEGIN")
            connection.execute("INSERT INTO step VALUES ('step')")
            must(store.joined(connection).writer("run", 5).write("step", TEA))
            if committed:
                connection.execute("COMMIT")
            line.send("there")
            line.recv()

    with fork(work) as child:
        child.expect("there")
        child.kill()
        assert child.wait() == -9
    assert place.steps() == ([("step",)] if committed else [])
    with txmemory.open(place.url) as store:
        assert must(store.keys("run")) == (["step"] if committed else [])
        assert must(store.count()) == int(committed)
        token = 5 if committed else 1  # the raised one went with the transaction
        again = must(store.writer("run", token).write("step", TEA))
        assert (again.replayed, again.outcome.seq) == (committed, 1)
