"""The demonstration on servers: the same story, over a connection instead of a file."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

import txmemory
from txmemory import Outcome
from txmemory.testing.demo.agent import Agent, TornTransaction
from txmemory.testing.demo.checking import check, contents
from txmemory.testing.demo.conversation import shipped
from txmemory.testing.demo.model import Model
from txmemory.testing.server import GIVEN, PostgresServer

ROOT = Path(__file__).resolve().parents[2]
CONVERSATION = shipped()
KILLS = 6

pytestmark = pytest.mark.skipif(PostgresServer.missing() is not None, reason=str(PostgresServer.missing()))


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with PostgresServer.started(durable=False) as started:
        yield started


def run(*arguments: str) -> None:
    """A run that finds nothing doubled and nothing lost, and no stopped worker that was not refused."""
    command = [sys.executable, "-m", "txmemory.testing.demo", "--kills", f"{KILLS}", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Every write happened exactly once." in done.stdout
    for name, number in {
        "kills": KILLS,
        "turns": len(CONVERSATION.turns),
        "duplicates": 0,
        "lost": 0,
    }.items():
        assert re.search(rf"^ +{name} +{number}\b", done.stdout, re.MULTILINE), done.stdout


@pytest.mark.parametrize("way", ["", "portable+"], ids=["postgres", "portable"])
def test_an_agent_that_is_killed_writes_everything_exactly_once_on_a_database_that_others_use(
    server: PostgresServer, way: str
) -> None:
    url = server.url(database=server.create_database())
    for seed in ("1", "2"):
        run("--url", f"{way}{url}", "--seed", seed)
    with psycopg.connect(url) as connection:
        (tenants,) = connection.execute("SELECT count(DISTINCT tenant) FROM txmemory.ledger").fetchone() or (
            0,
        )
    assert tenants == 4, "two runs that were killed, and beside each the one that was not"


def test_without_any_server_the_demonstration_brings_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(GIVEN, raising=False)
    if missing := PostgresServer.missing():
        pytest.skip(missing)
    run("--postgres", "--seed", "1")


def test_a_server_that_is_not_there_is_told_in_a_line_without_its_url() -> None:
    command = [sys.executable, "-m", "txmemory.testing.demo", "--kills", "1"]
    for url, words in {
        "postgresql://ada:secret@127.0.0.1:1/db": "FAILED: the server cannot be reached",
        "portable+postgresql://ada:secret@127.0.0.1:1/db": "FAILED: the database cannot be reached",
        "postgresql://ada:secret@127.0.0.1:1/db?pool_size=none": "FAILED: ValueError: pool_size",
    }.items():
        done = subprocess.run([*command, "--url", url], cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 1
        assert words in done.stdout
        assert "secret" not in done.stdout + done.stderr


class _Landing(Agent):
    """A life that begins while a killed one's last write, under the same token, is still under way on the server."""

    landing: list[str]
    predecessor: Agent

    def _applied(self, key: str) -> Outcome | None:
        answer = super()._applied(key)
        if key in self.landing:
            self.landing.remove(key)
            self.predecessor.work()
        return answer


def test_a_write_of_a_killed_life_that_lands_between_two_looks_is_no_torn_transaction() -> None:
    with txmemory.open("memory://") as store:
        predecessor, agent = (
            kind(store, CONVERSATION, token=1, attempt=name, model=Model(name), report=lambda *_: None)
            for kind, name in ((Agent, "killed"), (_Landing, "restarted"))
        )
        assert isinstance(agent, _Landing)
        agent.predecessor, agent.landing = predecessor, ["extract/00003/facts"]
        agent.work()
        assert agent.landing == []
        assert check(contents(store, token=2), CONVERSATION).faults == ()


def test_two_keys_of_one_transaction_of_which_one_is_applied_are_torn() -> None:
    with txmemory.open("memory://") as store:
        agent = Agent(store, CONVERSATION, token=1, attempt="one", model=Model("one"), report=lambda *_: None)
        for key in ("extract/00003/facts", "extract/00006/entities"):
            store.writer("conversation-run", 1).write(key, [])
            with pytest.raises(TornTransaction):
                agent.work()
            store.writer("conversation-run", 1).forget_applied(key)
