"""From what a caller wants to one transaction as a value."""

import pytest

from tests.rules.examples import HERE, PRESENTER, at, put, replace, write
from txmemory.model.address import Address, Namespace
from txmemory.model.canonical import GeneratedId, opens
from txmemory.model.command import (
    Applied,
    Clear,
    Delete,
    DeleteMatching,
    ForgetApplied,
    Swap,
    Write,
    WriteMany,
)
from txmemory.model.commit import Bound, Commit, Entry, Guard, Put, Remove, RemoveListed, RemoveWhere, Trim
from txmemory.model.filter import Everything, KindIn
from txmemory.model.item import Item, Stored
from txmemory.rules import planning

ELSEWHERE: Namespace = ("memories", "ada")
FOUND = Stored(at("a"), 7, Item("knowledge", "tea"), 0)


def test_a_write_is_one_entry_that_records_its_key() -> None:
    command = Write("write", "step", (put("a"),), (Guard(at("b"), 2),), bounds=(Bound(HERE, 10),))
    commit = planning.write(command, "acme", PRESENTER)
    assert (commit.tenant, commit.presenter, commit.bounds) == ("acme", PRESENTER, (Bound(HERE, 10),))
    (entry,) = commit.entries
    assert (entry.key, entry.ledger) == ("step", "record")
    assert (entry.guards, entry.sources, entry.changes) == (command.expect, (), command.puts)


def test_a_replacement_puts_first_and_ends_all_of_its_sources() -> None:
    command = replace(put("new"), sources=(Guard(at("a")), Guard(at("b"), 2)))
    (entry,) = planning.write(command, "acme", PRESENTER).entries
    assert entry.sources == command.sources
    assert entry.changes == (put("new"), Remove(at("a"), "replaced"), Remove(at("b"), "replaced"))


def test_what_the_ledger_keeps_of_a_payload_is_sealed_anew_each_time() -> None:
    command = write(put("a"))
    seals = [planning.write(command, "acme", PRESENTER).entries[0].fingerprint for _ in range(2)]
    assert seals[0] != seals[1]
    assert all(seal is not None and opens(seal, command.fingerprint) for seal in seals)


def test_of_a_namespace_bounded_twice_the_tighter_bound_counts() -> None:
    bounds = [(Bound(HERE, 10),), (Bound(HERE, 5), Bound(ELSEWHERE, 7)), (Bound(HERE, 8),), ()]
    writes = tuple(Write("write", f"{n}", (put(f"{n}"),), bounds=each) for n, each in enumerate(bounds))
    commit = planning.write_many(WriteMany(writes), "acme", PRESENTER)
    assert [entry.key for entry in commit.entries] == ["0", "1", "2", "3"]
    assert set(commit.bounds) == {Bound(HERE, 5), Bound(ELSEWHERE, 7)}


def test_each_call_becomes_one_transaction() -> None:
    everything = RemoveWhere(HERE, Everything(), "cleared")
    bound = (Bound(HERE, 3),)
    assert planning.applied(Applied("k"), "t", PRESENTER) == Commit("t", PRESENTER, (Entry("k", "look"),))
    assert planning.forget_applied(ForgetApplied("k"), "t", PRESENTER) == Commit(
        "t", PRESENTER, (Entry("k", "forget"),)
    )
    assert planning.seal("t", PRESENTER) == Commit("t", PRESENTER, (Entry(None, "seal"),))
    assert planning.swap(Swap((put("a"),), (), bound), "t") == Commit(
        "t", None, (Entry(changes=(put("a"),)),), bound
    )
    assert planning.delete(Delete(at("a")), "t") == Commit(
        "t", None, (Entry(changes=(Remove(at("a"), "deleted"),)),)
    )
    assert planning.clear(Clear(HERE), "t") == Commit("t", None, (Entry(changes=(everything,)),))
    tasks = KindIn(frozenset({"task"}))
    assert planning.delete_matching(DeleteMatching(HERE, tasks), "t") == Commit(
        "t", None, (Entry(changes=(RemoveWhere(HERE, tasks, "deleted"),)),)
    )


def test_a_swap_puts_first_and_ends_whatever_is_there() -> None:
    bound = (Bound(HERE, 3, 5),)
    commit = planning.swap(Swap((put("new"), put("b", "coffee")), (at("a"), at("c")), bound), "t")
    changes = (put("new"), put("b", "coffee"), Remove(at("a"), "replaced"), Remove(at("c"), "replaced"))
    assert commit == Commit("t", None, (Entry(changes=changes),), bound)


def test_an_update_is_a_put_over_exactly_what_was_found() -> None:
    bound = (Bound(HERE, 3),)
    commit = planning.update(FOUND, put("a", "coffee"), bound, "t")
    entry = Entry(guards=(Guard(at("a"), 7),), changes=(put("a", "coffee"),))
    assert commit == Commit("t", None, (entry,), bound)


def test_what_was_found_to_match_is_ended_at_its_revision_in_order() -> None:
    commit = planning.delete_listed(HERE, [("b", 2), ("a", 9), ("B", 1)], "t")
    listed = RemoveListed(HERE, (("B", 1), ("a", 9), ("b", 2)), "deleted")
    assert commit == Commit("t", None, (Entry(changes=(listed,)),))


def test_a_trim_brings_its_bound_and_nothing_else() -> None:
    bound = Bound(HERE, None, 5)
    assert planning.trim(bound, "t") == Commit("t", None, (Entry(changes=(Trim(),)),), (bound,))


def test_that_we_made_an_id_is_forgotten_in_a_transaction() -> None:
    ours = Put(Address(HERE, GeneratedId("a")), Item("knowledge", "tea"))
    for commit in (planning.swap(Swap((ours,)), "t"), planning.update(FOUND, ours, (), "t")):
        ((change,),) = [entry.changes for entry in commit.entries]
        assert isinstance(change, Put)
        assert type(change.address.id) is str


@pytest.mark.parametrize(
    ("commit", "safe"),
    [
        (planning.write(write(), "t", PRESENTER), True),
        (planning.write_many(WriteMany((write(), write(key="two"))), "t", PRESENTER), True),
        (planning.applied(Applied("k"), "t", PRESENTER), True),
        (planning.forget_applied(ForgetApplied("k"), "t", PRESENTER), False),
        (planning.seal("t", PRESENTER), False),
        (planning.swap(Swap((put("a"),)), "t"), False),
        (planning.delete(Delete(at("a")), "t"), False),
        (planning.clear(Clear(HERE), "t"), False),
        (planning.update(FOUND, put("a"), (), "t"), False),
        (planning.delete_matching(DeleteMatching(HERE, Everything()), "t"), False),
        (planning.delete_listed(HERE, [("a", 1)], "t"), False),
        (planning.trim(Bound(HERE, 1), "t"), False),
        (Commit("t", PRESENTER, (Entry("k"), Entry("k", "forget"))), False),
    ],
)
def test_only_what_the_ledger_makes_a_look_up_of_may_be_sent_again(commit: Commit, *, safe: bool) -> None:
    assert planning.resendable(commit) == safe
