"""Random damage by SQL, and what of it none can find."""

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any, Literal

from sqlalchemy import Float, Integer, LargeBinary

from tests.damage.grounds import Ground, Impossible, Row, key_of, table

Deed = Literal["change", "delete", "add", "cut"]


@dataclass(frozen=True)
class Damage:
    """What was done to one row."""

    deed: Deed
    name: str
    row: Row
    column: str = ""
    value: Any = None

    @property
    def names(self) -> bool:
        """Whether the row got another name."""
        return self.column in table(self.name).primary_key.columns or self.deed == "add"


def damaged(ground: Ground, chance: Random) -> Damage:
    """Damages a row: the engine may refuse what breaks its keys, and then another is tried."""
    while True:
        name = chance.choice([each for each in ground.names if ground.rows(each)])
        damage = _drawn(ground, chance, name)
        try:
            if _do(ground, damage):
                return damage
        except Impossible:
            continue


def _drawn(ground: Ground, chance: Random, name: str) -> Damage:
    rows = sorted(ground.rows(name), key=repr)
    row = chance.choice(rows)
    deeds: list[Deed] = ["change", "delete", "add", "cut"]
    deed = chance.choices(deeds, [12, 3, 2, 1])[0]
    if deed == "cut":
        scoped = [each for each in ground.rows("event") if each["scope"] is not None]
        last = max(scoped, key=lambda each: (each["scope"] == row.get("scope"), each["scope"], each["seq"]))
        return Damage("cut", "event", last)
    if deed == "delete":
        return Damage("delete", name, row)
    named = (
        [each.name for each in table(name).primary_key]
        if name != "event"
        else ["tenant", "scope", "seq", "row"]
    )
    column = chance.choice(named if deed == "add" else [each.name for each in table(name).c])
    return Damage(deed, name, row, column, _other(chance, name, column, row[column]))


def _other(chance: Random, name: str, column: str, value: Any) -> Any:
    """Another value of the column's type."""
    kind = table(name).c[column]
    if kind.nullable and value is not None and chance.random() < 0.2:
        return None
    if isinstance(kind.type, Float):
        return 0.75 if value != 0.75 else 0.25
    if isinstance(kind.type, Integer):
        return (value or 0) + chance.choice([-1, 1, 1, 7, 1_000_000])
    if isinstance(kind.type, LargeBinary):
        return bytes([(value or b"\0")[0] ^ 1]) + (value or b"\0")[1:] if value else b"\0\0\0\0"
    if column == "effects":
        return _other_effects(chance, value)
    if column == "attributes":
        return '{"entity_id":"another"}'
    return chance.choice(["another", f"{value or ''}x", "["])


def _other_effects(chance: Random, value: str) -> str:
    swaps = [("stored", "deleted"), ("put", "remove"), (",1,", ",9,"), ("[", ""), ("A", "B"), ('"a"', '"z"')]
    changed = [value.replace(old, new, 1) for old, new in swaps if old in value]
    return chance.choice([each for each in changed if each != value] or ["[]"])


def _do(ground: Ground, damage: Damage) -> int:
    name, row = damage.name, damage.row
    keys = key_of(name)
    this = " AND ".join(f'"{key}" = :was_{key}' for key in keys)
    was = {f"was_{key}": row[key] for key in keys}
    if damage.deed in ("delete", "cut"):
        return ground.run(f"DELETE FROM {{{name}}} WHERE {this}", was)  # noqa: S608 - our own names
    if damage.deed == "change":
        values = {**was, "value": damage.value}
        return ground.run(f'UPDATE {{{name}}} SET "{damage.column}" = :value WHERE {this}', values)  # noqa: S608 - the same
    added = {**row, damage.column: damage.value}
    if name == "event" and damage.column != "row":
        added["row"] = max(each["row"] for each in ground.rows("event")) + 1
    columns = ", ".join(f'"{each}"' for each in added)
    places = ", ".join(f":{each}" for each in added)
    overriding = "OVERRIDING SYSTEM VALUE " if ground.url.find("postgresql") >= 0 else ""
    return ground.run(f"INSERT INTO {{{name}}} ({columns}) {overriding}VALUES ({places})", added)


def might_be_true(damage: Damage, ground: Ground) -> bool:
    """Whether an event was added behind the last of its scope, and tells of no memory: then what follows is made."""
    if damage.deed != "add" or damage.name != "event" or '"put"' in damage.row["effects"]:
        return False
    added = {**damage.row, damage.column: damage.value}
    scope = added["tenant"], added["scope"]
    seqs = [each["seq"] for each in ground.rows("event") if (each["tenant"], each["scope"]) == scope]
    return sorted(seqs) == list(range(1, len(seqs) + 1)) and added["seq"] == len(seqs)


def unfindable(damage: Damage, ground: Ground) -> Iterator[str]:
    """Why nothing can tell, in the words of `design/verify.md`; none where it has to be found."""
    row, column, value = damage.row, damage.column, damage.value
    effects = '"put"' in row.get("effects", "") or '"remove"' in row.get("effects", "")
    match damage.name, damage.deed, column:
        case "namespace", _, _:
            yield "the rows that bounded writers lock"
        case "scope", "change", "holder" | "lease_until" | "timeline":
            yield "a holder, a lease"
        case "scope", "change", "token" | "generation" if value > row[column] or row["seq"] == 0:
            yield "a fence that was raised, or that no event carried"
        case "scope", _, _ if row["seq"] == 0:
            yield "a scope that was only looked at"
        case "scope", "change", "token":
            events = [each for each in ground.rows("event") if each["scope"] == row["scope"]]
            if all(each["token"] <= value for each in events if each["tenant"] == row["tenant"]):
                yield "a fence that no event carried"
        case "event", "change", "row":
            yield "the number of an event, as long as its scope's are in order"
        case "event", "change", "fingerprint" if value is not None and effects is not None:
            yield "a fingerprint"
        case "event", "change", "token" | "generation":
            yield "a token that is in order"
        case "event", "change", "status" | "at" | "actor" if not effects:
            yield "of an event without effects its status, its holder, its time"
        case "event", "change", "actor" if row["scope"] is None:
            return
        case "event", "change", "key" | "kind" if row["scope"] == "sealed":
            yield "a key of a scope that is sealed"
        case "event", "change", "key" if row["kind"] in ("claim", "release", "reset"):
            yield "what such events do not tell"
        case "revision", "change", "ordinal":
            yield "the place of a revision in its commit, but for the first"
        case _:
            return
