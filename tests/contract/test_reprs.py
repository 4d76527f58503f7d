"""What a debugger, a failed assertion or a log line may come to show: no value behind the public ones either."""

from collections.abc import Iterator

from txmemory import Bounds, Custom, Filter, InMemoryStore, Memory
from txmemory.backends.opening import Options, location
from txmemory.backends.sqlite.opening import place_of
from txmemory.drive import Patience
from txmemory.model import command as wanted
from txmemory.model.address import Address, Namespace, Presenter, Ref
from txmemory.model.commit import Bound, Done, Entry, Found, Guard, Recorded, RemoveWhere
from txmemory.model.event import Effect, Event
from txmemory.model.filter import Everything
from txmemory.model.item import Head, Item, Revision, Stored, moment
from txmemory.model.outcome import Outcome
from txmemory.model.query import Count, Events, Get, KeyCount, Keys, Page, Query, Revisions, Select
from txmemory.model.refusal import AlreadyExists, StaleRevision
from txmemory.rules import planning
from txmemory.rules.fencing import Standing, advanced
from txmemory.store.core import Handle

CANARY = "kanarie"
"""Part of everything that must not be seen."""
TENANT, SCOPE, KEY, HOLDER, ID = (f"{CANARY}-{word}" for word in ("tenant", "scope", "key", "holder", "id"))
NAMESPACE: Namespace = ("memories", CANARY)
HERE = Address(NAMESPACE, ID)
ITEM = Item(CANARY, CANARY, f'"{CANARY}"', {CANARY: CANARY})
WHO = Presenter(SCOPE, 1, 0, HOLDER)


def secret(id: str = ID) -> Memory:
    """A memory whose every field is private."""
    return Memory(CANARY, id=id, metadata={CANARY: CANARY}, memory_type=Custom(CANARY))


def assert_silent(values: Iterator[object]) -> None:
    shown = [(type(each).__name__, f"{each!r} {each}") for each in values]
    assert shown
    assert {name: text for name, text in shown if CANARY in text} == {}


def test_no_repr_of_a_command_or_of_its_commit_shows_anything_private() -> None:
    """D6: nor of who presents it, nor of the handle that it came through."""
    handle = Handle(None, Patience(), require_fence=False, tenant=TENANT, namespace=NAMESPACE)
    write = handle.write(KEY, [secret()], {ID: 1}, Bounds(5), "return")
    replace = handle.replace(KEY, [secret(f"{ID}-2")], [ID], None, None, "return")
    many = wanted.WriteMany((write,))
    look, forget = wanted.Applied(KEY), wanted.ForgetApplied(KEY)
    store, delete, clear = wanted.Store(write.puts[0]), wanted.Delete(HERE), wanted.Clear(NAMESPACE)
    commands: tuple[object, ...] = (write, replace, many, look, forget, store, delete, clear)
    commits = (
        planning.write(write, TENANT, WHO),
        planning.write(replace, TENANT, WHO),
        planning.write_many(many, TENANT, WHO),
        planning.applied(look, TENANT, WHO),
        planning.forget_applied(forget, TENANT, WHO),
        planning.seal(TENANT, WHO),
        planning.store(store, TENANT),
        planning.delete(delete, TENANT),
        planning.clear(clear, TENANT),
    )
    parts = [each for commit in commits for entry in commit.entries for each in (entry, *entry.changes)]
    assert_silent(iter((WHO, handle, *commands, *commits, *parts)))
    assert_silent(
        iter((Guard(HERE, 1), Bound(NAMESPACE, 5), RemoveWhere(NAMESPACE, Everything(), "cleared")))
    )


def test_no_repr_of_what_is_met_or_kept_shows_anything_private() -> None:
    """D6: items, heads, revisions, events, outcomes, the standing of a scope, what an expectation met."""
    effect = Effect(NAMESPACE, ID, 1, "put", "stored", b"")
    outcome = Outcome("stored", (Ref(NAMESPACE, ID, 1),), (), (), 1, moment(0), 1)
    assert_silent(
        iter(
            (
                HERE,
                ITEM,
                Head(HERE, 1, True, 0, 0, None, (0, 0)),  # noqa: FBT003  # live
                Stored(HERE, 1, ITEM, 0),
                Revision(HERE, 1, ITEM, 0, 0, 0, HOLDER, "stored", b""),
                effect,
                Event("record", SCOPE, 1, 1, HOLDER, KEY, b"", "stored", (effect,), 0),
                Entry(KEY, guards=(Guard(HERE),)),
                Done(outcome),
                Recorded(outcome, b""),
                Found({HERE: 1}),
                Page((Stored(HERE, 1, ITEM, 0),)),
                advanced(None, WHO),
                Standing(WHO.fence, HOLDER),
                AlreadyExists(1, ID),
                StaleRevision(1, 2, ID),
            )
        )
    )


def test_no_repr_of_a_query_shows_anything_private() -> None:
    """D6: where it looks, and behind what."""
    condition = Filter.by_type(CANARY).condition
    queries: tuple[Query[object], ...] = (
        Get(TENANT, HERE),
        Select(TENANT, NAMESPACE, condition, (1, ID)),
        Count(TENANT, NAMESPACE, condition),
        Revisions(TENANT, HERE),
        Events(TENANT),
        Keys(TENANT, SCOPE, KEY),
        KeyCount(TENANT, SCOPE),
    )
    assert_silent(iter((*queries, condition)))


def test_no_repr_of_what_opens_a_store_shows_where_it_is() -> None:
    """D6: a URL may hold a password, a path a person's name."""
    url = f"sqlite:///{CANARY}?synchronous=NORMAL"
    taken_apart = location(f"sqlite://{CANARY}:{CANARY}@host/{CANARY}?{CANARY}={CANARY}")
    assert_silent(iter((Options(url), taken_apart, place_of(f"/{CANARY}", {}, 1.0))))


def test_no_repr_of_a_store_that_is_a_value_shows_anything_private() -> None:
    """D6: nor of what it stands on."""
    store, receipt = InMemoryStore.empty().tenant(TENANT).within(CANARY).write(SCOPE, 1, KEY, [secret()])
    backend = store.handle.backend
    assert_silent(iter((store, receipt, store.handle, backend, backend.state)))
