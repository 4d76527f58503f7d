"""From what a caller wants to one transaction as a value."""

import pytest

from tests.rules.examples import HERE, PRESENTER, at, put, replace, write
from txmemory.model.address import Namespace
from txmemory.model.canonical import opens
from txmemory.model.command import Applied, Clear, Delete, ForgetApplied, Swap, Write, WriteMany
from txmemory.model.commit import Bound, Commit, Entry, Guard, Remove, RemoveWhere
from txmemory.model.filter import Everything
from txmemory.rules import planning

ELSEWHERE: Namespace = ("memories", "ada")


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
        (Commit("t", PRESENTER, (Entry("k"), Entry("k", "forget"))), False),
    ],
)
def test_only_what_the_ledger_makes_a_look_up_of_may_be_sent_again(commit: Commit, *, safe: bool) -> None:
    assert planning.resendable(commit) == safe
