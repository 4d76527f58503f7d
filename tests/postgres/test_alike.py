"""The function of PostgreSQL meets what the shared steps meet, commit by commit, whatever the commits."""

import random
from collections.abc import Iterator, Mapping, Sequence

import pytest

from txmemory.backends.inmemory.backend import InMemory
from txmemory.backends.inmemory.state import State
from txmemory.backends.lifetime import Lifetime
from txmemory.backends.opening import Options, open_backend
from txmemory.backends.postgres import packing
from txmemory.model import limits
from txmemory.model.address import Address, Namespace, Presenter
from txmemory.model.commit import (
    Bound,
    Commit,
    Done,
    Entry,
    Found,
    Guard,
    Met,
    Put,
    Remove,
    RemoveListed,
    RemoveWhere,
    Reported,
    Trim,
)
from txmemory.model.filter import (
    AllOf,
    AnyOf,
    AttributeContains,
    AttributeIs,
    AttributeThere,
    Condition,
    CreatedWithin,
    Everything,
    ImportanceFrom,
    KindIn,
    Not,
    Nothing,
)
from txmemory.model.item import Item, Scalar, Stored, moment
from txmemory.model.query import Events, Select
from txmemory.testing.server import PostgresServer
from txmemory.testing.shared import new_schema, runtime_url

HERE: Namespace = ("here",)
THERE: Namespace = ("there",)
IDS = "abcdefghijkl"
COMMITS = 150
VICTIMS = 3
"""So few that commits meet the limit."""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    if reason := PostgresServer.missing():
        pytest.skip(reason)
    with PostgresServer.started(durable=False) as server:
        yield server.url(server.create_database())


class Chance(random.Random):
    """Commits of every kind, about few items whose times lie close together."""

    now = 1_600_000_000_000_000

    def item(self) -> Item:
        values: list[Scalar] = ["x", "y", "", 5, True, "a%b_\u00fc"]
        attributes = {
            name: self.choice(values) for name in ("conversation_id", "other") if self.random() < 0.5
        }
        created = self.choice([None, None, self.now - self.randrange(60)])
        expires = self.choice([None, None, None, self.now + self.randrange(-5, 40)])
        importance = self.choice([None, 0.0, 0.5, 1.0])
        return Item(self.choice("klm"), "tea", "null", attributes, created, expires, importance)

    def leaf(self) -> Condition:
        name = self.choice(["conversation_id", "other", "absent"])
        ends = [self.choice([None, self.now - self.randrange(60)]) for _ in range(2)]
        leaves: list[Condition] = [
            Everything(),
            Nothing(),
            KindIn(frozenset(self.sample("klmn", self.randrange(4)))),
            AttributeThere(name),
            AttributeIs(name, self.choice(["x", "", "5", "true"])),
            AttributeContains(name, self.choice(["", "a%", "_", "\u00dc"])),
            CreatedWithin(*ends),
            ImportanceFrom(self.choice([0.0, 0.5, 0.7])),
        ]
        return self.choice(leaves)

    def condition(self, depth: int = 3) -> Condition:
        parts = (self.condition(depth - 1) for _ in range(self.randrange(4))) if depth else ()
        match self.randrange(4) if depth else 0:
            case 0:
                return self.leaf()
            case 1:
                return Not(self.condition(depth - 1))
            case 2:
                return AllOf(tuple(parts))
            case _:
                return AnyOf(tuple(parts))

    def entry(self, key: str, namespace: Namespace, ids: list[str]) -> Entry:
        places = [Address(namespace, id) for id in ids]
        changes = tuple(
            Put(place, self.item()) if self.random() < 0.8 else Remove(place, "replaced") for place in places
        )
        guards = tuple(Guard(place, self.choice([0, 1, 2])) for place in places if self.random() < 0.1)
        return Entry(key, "record", b"f" * 48, guards, (), changes)

    def commit(self, number: int, found: Mapping[Namespace, Sequence[Stored]]) -> Commit:
        namespace = self.choice([HERE, HERE, THERE])
        bound = Bound(namespace, self.choice([None, 2, 4]), self.choice([None, 10, 30]))
        match self.randrange(6):
            case 0:
                return Commit("default", None, (Entry(changes=(Trim(),)),), (bound,))
            case 1:
                return Commit(
                    "default", None, (Entry(changes=(RemoveWhere(namespace, self.condition(), "deleted"),)),)
                )
            case 2:
                live = [(each.address.id, each.revision + (self.random() < 0.1)) for each in found[namespace]]
                listed = sorted(self.sample(live, self.randint(0, len(live))))
                removal = RemoveListed(namespace, tuple(listed), "deleted")
                return Commit("default", None, (Entry(changes=(removal,)),))
            case _:
                ids = self.sample(IDS, 5)
                parts = (ids[:2], ids[2:3], ids[3:])[: self.randint(1, 3)]
                entries = tuple(self.entry(f"{number}-{n}", namespace, part) for n, part in enumerate(parts))
                bounds = tuple(Bound(where, bound.most, bound.age) for where in (HERE, THERE))
                return Commit("default", Presenter("run", 1), entries, bounds if self.random() < 0.6 else ())


def counted(reply: Reported) -> list[Met]:
    """What was met; that too many would have to go, not how many, which is counted to about the limit."""
    assert isinstance(reply, tuple)
    return [Found(met.actual, min(met.excess, 1)) if isinstance(met, Found) else met for met in reply]


@pytest.mark.parametrize("seed", range(3))
def test_any_commits_meet_the_same(url: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "COMMIT_VICTIMS", VICTIMS)
    monkeypatch.setattr(packing, "_MOST_VICTIMS", str(VICTIMS))
    chance = Chance(seed)
    steps = InMemory(State(), lambda: chance.now, Lifetime())
    server = open_backend(Options(runtime_url(url, new_schema(url)), lambda: moment(chance.now)))
    met: set[str] = set()
    try:
        for number in range(COMMITS):
            found = {
                place: steps.read(Select("default", place, Everything()), 30.0).rows
                for place in (HERE, THERE)
            }
            chance.now += chance.randrange(8)  # what was read may have expired since
            commit = chance.commit(number, found)
            expected = counted(steps.commit(commit, 30.0))
            assert counted(server.commit(commit, 30.0)) == expected, (
                number,
                [entry.changes for entry in commit.entries],
            )
            for each in expected:
                met.add("excess" if isinstance(each, Found) and each.excess else type(each).__name__)
                met.update(["evicted"] if isinstance(each, Done) and each.outcome.evicted else ())
        logs = [
            [
                event._replace(effects=tuple(effect._replace(commitment=None) for effect in event.effects))
                for _, event in backend.read(Events("default", 0, 10_000), 30.0).rows
            ]
            for backend in (steps, server)
        ]
        assert logs[0] == logs[1]
        assert met == {"Done", "Found", "excess", "evicted"}
    finally:
        server.close()
