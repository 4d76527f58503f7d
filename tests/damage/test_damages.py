"""Rows are changed, deleted and added behind a store's back: verify names it, and rebuild restores what follows."""

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

import txmemory
from tests.crash.sizes import size
from tests.damage.damages import Damage, damaged, might_be_true, unfindable
from tests.damage.grounds import DERIVED, Ground, derived, kinds
from txmemory import Fenced, Memory, either, must

HERE = '["memories","here"]'
ITEM = ("item", "revision")


def restorable(damage: Damage) -> bool:
    """Whether rebuild has to bring it back as it was."""
    row, column, value = damage.row, damage.column, damage.value
    if damage.name not in DERIVED:
        return False
    if damage.deed == "delete":
        return True
    if damage.name == "scope" and column == "seq":
        return bool(value < row["seq"])
    return not damage.names


def test_every_damage_is_named_and_what_follows_is_restored(
    ground: Ground, request: pytest.FixtureRequest
) -> None:
    """L8: 200 random damages. What none can find stands on the page, and nothing else."""
    seed = Random().randrange(2**32)
    whole = derived(ground)
    missed: list[tuple[str, Damage]] = []
    many = request.node.callspec.params["ground"] in ("sqlite", "postgres")
    for turn in range(size(200, 1_000) if many else 40):
        chance = Random(f"{seed} {turn}")
        damage = damaged(ground, chance)
        with txmemory.open(ground.url) as store:
            named = kinds(store)
            if not named:
                missed.append((next(unfindable(damage, ground), "NOT LISTED"), damage))
            else:
                must(store.rebuild(of="store"))
                after = kinds(store)
                if restorable(damage):
                    assert (after, derived(ground)) == (set(), whole), (seed, turn, damage, named)
                elif damage.name == "ledger" and damage.deed == "change" and damage.column == "key":
                    assert after == {"key_unexplained"}, (seed, turn, damage, named)
                elif damage.name not in DERIVED and not [*unfindable(damage, ground)]:
                    assert after or might_be_true(damage, ground), (seed, turn, damage, named)
        ground.restore()
    assert [each for why, each in missed if why == "NOT LISTED"] == [], seed
    with txmemory.open(ground.url) as store:
        assert kinds(store) == set()


def test_a_rebuild_restores_every_head_key_and_scope(ground: Ground) -> None:
    """L5: as they were, to the microsecond, out of nothing but log and history; doing it twice is doing it once."""
    whole = derived(ground)
    for name in DERIVED:
        ground.run(f"DELETE FROM {{{name}}}", {})  # noqa: S608 - our own name
    with txmemory.open(ground.url) as store:
        rebuilt = must(store.rebuild(of="store"))
        assert rebuilt.left == ()
        assert (rebuilt.heads, rebuilt.keys) == (len(whole["item"]), len(whole["ledger"]))
        looked = [row for row in whole["scope"] if row["seq"] == 0]
        whole["scope"] = [row for row in whole["scope"] if row["seq"] > 0]
        assert looked
        assert derived(ground) == whole
        assert kinds(store) == set()
        again = must(store.rebuild(of="store"))
        assert (again.scopes, again.keys, again.heads) == (0, 0, 0)


def test_a_scope_that_has_lost_its_row_and_its_first_event_gets_a_row_with_its_fence(ground: Ground) -> None:
    """A token that was outweighed stays so, and no seq is given twice, though the scope is not whole."""
    with txmemory.open(ground.url) as store:
        for key in ("first", "second"):
            must(store.writer("mended", 9).write(key, [Memory("tea")]))
        ground.run("DELETE FROM {scope} WHERE scope = 'mended'", {})
        ground.run("DELETE FROM {event} WHERE scope = 'mended' AND seq = 1", {})
        assert must(store.rebuild()).scopes == 1
        assert kinds(store) >= {"events_missing"}
        assert isinstance(either(store.writer("mended", 8).write("late", [Memory("late")])), Fenced)
        assert must(store.writer("mended", 9).write("third", [Memory("tea")])).outcome.seq == 3


@pytest.mark.parametrize(
    ("kind", "seq", "there"),
    [("record", 1, {"first", "second", "changed"}), ("forget", 3, {"first", "second"})],
)
def test_a_key_that_stood_in_the_log_is_never_run_again_because_an_event_was_changed(
    ground: Ground, kind: str, seq: int, there: set[str]
) -> None:
    """L8: whichever event names another key now, and however often a rebuild is called; who knows better forgets."""
    with txmemory.open(ground.url) as store:
        writer = store.writer("mended", 9)
        for key in ("first", "second"):
            must(writer.write(key, [Memory("tea")]))
        assert must(writer.forget_applied("second"))
        other = "first" if kind == "forget" else "changed"
        ground.run(
            "UPDATE {event} SET key = :key WHERE scope = 'mended' AND seq = :seq", {"key": other, "seq": seq}
        )
        if kind == "record":
            there = there - {"second"}
        for _ in range(3):
            left = [each.kind for each in must(store.rebuild()).left]
            assert left == ["key_unexplained"]
            assert {*must(store.keys("mended"))} == there
        assert must(writer.forget_applied("first"))
        assert must(store.rebuild()).left == ()
        assert kinds(store) == set()


@pytest.mark.parametrize("name", ["item", "revision"])
def test_a_namespace_that_cannot_be_spelled_is_named_by_what_stands_there(ground: Ground, name: str) -> None:
    """However deep it goes."""
    ground.run(f"UPDATE {{{name}}} SET namespace = :deep WHERE tenant = 'other'", {"deep": "[" * 3_000})  # noqa: S608 - our own names
    with txmemory.open(ground.url) as store:
        assert kinds(store) & {"revision_missing", "revision_unexplained", "head_missing"}
        must(store.rebuild(of="store"))


def test_a_head_that_went_elsewhere_is_named_in_its_namespace_and_in_no_other(ground: Ground) -> None:
    """Where it was it is missing, where it is it has no history."""
    with txmemory.open(ground.url) as store:
        here, there = store.within("here"), store.within("there")
        for each in (here, there):
            must(each.store_all(Memory("tea", id=id) for id in ("a", "b", "c")))
        ground.run("UPDATE {item} SET id = 'moved' WHERE id = 'b' AND namespace = :here", {"here": HERE})
        found = must(here.verify(of="namespace"))
        assert {(each.kind, each.id) for each in found.findings} == {
            ("head_missing", "b"),
            ("revision_missing", "moved"),
        }
        assert found.read.items == 3
        assert must(there.verify(of="namespace")).findings == ()
        rebuilt = must(store.rebuild())
        assert (rebuilt.heads, [each.id for each in rebuilt.left]) == (1, ["moved"])


def test_a_scope_whose_fence_was_raised_is_free_to_claim(ground: Ground) -> None:
    """Nobody holds it, though its row said so: the token that had been issued is outweighed."""
    with txmemory.open(ground.url) as store:
        claim = must(store.claim("mended", "ada"))
        ground.run("UPDATE {scope} SET token = 0 WHERE scope = 'mended'", {})
        assert must(store.rebuild()).scopes == 1
        assert must(store.claim("mended", "bob")).token == claim.token + 1


SHOWN: dict[str, Callable[[Ground], Any]] = {
    "a fence raised": lambda ground: ground.run("UPDATE {scope} SET token = token + 1", {}),
    "a holder": lambda ground: ground.run("UPDATE {scope} SET holder = 'somebody else'", {}),
    "a lease": lambda ground: ground.run("UPDATE {scope} SET lease_until = 1", {}),
    "a scope with all that is its own": lambda ground: [
        ground.run(f"DELETE FROM {{{name}}} WHERE {column} = '{value}'", {})  # noqa: S608 - our own names
        for column, value, names in (("scope", "sealed", ("scope", "ledger", "event")), ("id", "s", ITEM))
        for name in names
    ],
    "a fingerprint": lambda ground: ground.run(
        "UPDATE {event} SET fingerprint = :value WHERE fingerprint IS NOT NULL", {"value": bytes(48)}
    ),
    "a scope that was only looked at": lambda ground: ground.run(
        "DELETE FROM {scope} WHERE scope = 'looked at'", {}
    ),
}


@pytest.mark.parametrize("what", SHOWN)
def test_what_none_can_find_is_not_found(ground: Ground, what: str) -> None:
    """L8: so says the page."""
    SHOWN[what](ground)
    with txmemory.open(ground.url) as store:
        assert kinds(store) == set()
