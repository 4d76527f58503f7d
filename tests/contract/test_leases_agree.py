"""Random claims, renewals, releases, resets, looks and seals meet the same and log the same on every technology."""

import random
from collections.abc import Iterator
from contextlib import ExitStack, closing
from datetime import timedelta
from pathlib import Path

import pytest

from tests.crash.sizes import size
from txmemory.model import limits
from txmemory.model.address import Presenter
from txmemory.model.commit import Commit, Entry, Overtaken, Reported, Transaction
from txmemory.model.lease import CLAIM_TOKEN_MOST, Claim, Granted, Release, Renew, Reset
from txmemory.port import Backend
from txmemory.testing.portable_file import PortableSqliteFile
from txmemory.testing.sync.portable import PortableSchema
from txmemory.testing.sync.storage import MemoryPlace, Place, PostgresSchema, SqliteFile

SEEDS = size(3, 20)
STEPS = 150
SECONDS = 30.0
SECOND = 1_000_000
SCOPES = ("run", "Run")
HOLDERS = ("ada#1", "ada#2", "bob#1")
LAST = CLAIM_TOKEN_MOST


@pytest.fixture
def places(server: str, tmp_path: Path) -> Iterator[list[Place]]:
    """A fresh place of each technology."""
    folders = [tmp_path / name for name in ("sqlite", "portable")]
    for folder in folders:
        folder.mkdir()
    made: list[Place] = [
        MemoryPlace(),
        SqliteFile(folders[0]),
        PostgresSchema(server),
        PortableSchema(server, "READ COMMITTED"),
        PortableSchema(server, "SERIALIZABLE"),
        PortableSqliteFile(folders[1]),
    ]
    with ExitStack() as closed:
        yield [closed.enter_context(closing(place)) for place in made]


class Chance:
    """What is asked next, now and then by who was granted something."""

    def __init__(self, seed: int) -> None:
        self._by = random.Random(seed)
        self._claims: list[Presenter] = []
        self._asked = 0

    def seconds(self) -> timedelta:
        """How much later it is."""
        return timedelta(seconds=self._by.choice((0, 0, 1, 3, 12)))

    def asked(self) -> Transaction:
        """A transaction."""
        self._asked += 1
        by, scope = (
            self._by,
            f"{self._by.choice(SCOPES)}-{self._asked // 30}",
        )  # a sealed one is soon behind us
        match by.randrange(20):
            case 0:
                return Reset("t", scope)
            case 1:
                return Commit("t", self._who(scope), (Entry(ledger="seal"),))
            case 2 | 3:
                return Commit("t", self._who(scope), (Entry("key", "look"),))
            case 4 | 5 | 6:
                return Commit("t", self._who(scope), (Entry(f"k{by.random()}", fingerprint=b""),))
            case 7 | 8 | 9:
                return Renew("t", self._who(scope), by.randrange(1, 10) * SECOND)
            case 10 | 11:
                return Release("t", self._who(scope))
            case _:
                lapsed = by.choice((None, None, 0, 3 * SECOND))
                return Claim("t", scope, by.choice(HOLDERS), by.randrange(1, 10) * SECOND, lapsed)

    def noted(self, asked: Transaction, met: Reported) -> None:
        """Remembers who was granted what."""
        if isinstance(asked, Claim) and isinstance(met, Granted):
            generation, token = met.fence
            self._claims.append(Presenter(asked.scope, token, generation, asked.holder))

    def _who(self, scope: str) -> Presenter:
        mine = [each for each in self._claims[-4:] if each.scope == scope]
        if mine and self._by.random() < 0.8:
            return self._by.choice(mine)
        token = self._by.choice((0, 1, 2, 5, LAST - 1, LAST + 3) if self._by.random() < 0.1 else (0, 1, 2))
        return Presenter(scope, token, self._by.randrange(2), self._by.choice((None, *HOLDERS)))


@pytest.mark.parametrize("seed", range(SEEDS))
def test_any_leases_meet_the_same_and_log_the_same(places: list[Place], seed: int) -> None:
    chance = Chance(seed)
    backends: list[Backend] = [place.backend() for place in places]
    met: set[str] = set()
    for number in range(STEPS):
        later, asked = chance.seconds(), chance.asked()
        replies = []
        for place, backend in zip(places, backends, strict=True):
            place.clock.advance(later)
            replies.append(backend.commit(asked, SECONDS))
        assert [reply == replies[0] for reply in replies] == [True] * len(replies), (number, asked, replies)
        chance.noted(asked, replies[0])
        met.add(type(replies[0]).__name__)
    logs = [[event for _, event in place.events("t")] for place in places]
    assert [log == logs[0] for log in logs] == [True] * len(logs)
    assert met >= {"Granted", "Withheld", "Unheld", "Released", "Overtaken"}


def test_an_exhausted_scope_says_so_on_every_technology(places: list[Place]) -> None:
    for place in places:
        backend = place.backend()
        backend.commit(Commit("t", Presenter("run", LAST), (Entry("key", "look"),)), SECONDS)
        backend.commit(Commit("t", Presenter("end", 0, limits.TOKEN_MOST), (Entry("key", "look"),)), SECONDS)
        for asked in (Claim("t", "run", "ada#1", SECOND), Reset("t", "end")):
            assert isinstance(backend.commit(asked, SECONDS), Overtaken)
