"""What a debugger, a failed assertion or a log line may come to show of a call: nothing of the caller's."""

from collections.abc import Iterator

from txmemory import Consolidated, Consolidation, FailedGroup, Group, Memory, MemoryType
from txmemory.memories.consolidation import Gathered, Gathering, Job, Topic
from txmemory.memories.filter import Filter
from txmemory.model import command as wanted
from txmemory.model.address import Address, Namespace, Presenter, Ref
from txmemory.model.commit import Bound, Done, Found, Guard, Put, Recorded, RemoveListed, RemoveWhere, Trim
from txmemory.model.event import Effect, Event
from txmemory.model.filter import (
    AllOf,
    AnyOf,
    AttributeContains,
    AttributeIs,
    AttributeThere,
    Everything,
    KindIn,
    Not,
    Satisfies,
    TextContains,
)
from txmemory.model.item import Head, Item, Revision, Stored, moment
from txmemory.model.outcome import Outcome
from txmemory.model.query import Count, Events, Get, KeyCount, Keys, Page, Query, Revisions, Select
from txmemory.model.refusal import AlreadyExists, StaleRevision
from txmemory.rules import planning
from txmemory.rules.fencing import Standing, advanced
from txmemory.rules.ranking import Corpus, counted, holding

CANARY = "kanarie"
"""Part of everything that must not be seen."""
TENANT, SCOPE, KEY, HOLDER, ID = (f"{CANARY}-{word}" for word in ("tenant", "scope", "key", "holder", "id"))
NAMESPACE: Namespace = ("memories", CANARY)
HERE = Address(NAMESPACE, ID)
ITEM = Item(CANARY, CANARY, f'"{CANARY}"', {CANARY: CANARY})
WHO = Presenter(SCOPE, 1, 0, HOLDER)


def leaks(values: Iterator[object]) -> list[tuple[str, str]]:
    """What shows something private, and what that is."""
    shown = [(type(each).__name__, f"{each!r} {each}") for each in values]
    assert shown
    return [(name, text) for name, text in shown if CANARY in text]


def test_no_repr_of_a_command_or_of_its_commit_shows_anything_private() -> None:
    """D6: nor of who presents it."""
    put, guard, bound = Put(HERE, ITEM), Guard(HERE, 1), Bound(NAMESPACE, 5)
    write = wanted.Write("write", KEY, (put,), expect=(guard,), bounds=(bound,))
    replace = wanted.Write("replace", KEY, (), sources=(guard,))
    many = wanted.WriteMany((write,))
    look, forget = wanted.Applied(KEY), wanted.ForgetApplied(KEY)
    store, delete, clear = wanted.Swap((put,), (), (bound,)), wanted.Delete(HERE), wanted.Clear(NAMESPACE)
    commands: tuple[object, ...] = (write, replace, many, look, forget, store, delete, clear)
    commits = (
        planning.write(write, TENANT, WHO),
        planning.write(replace, TENANT, WHO),
        planning.write_many(many, TENANT, WHO),
        planning.applied(look, TENANT, WHO),
        planning.forget_applied(forget, TENANT, WHO),
        planning.seal(TENANT, WHO),
        planning.swap(store, TENANT),
        planning.delete(delete, TENANT),
        planning.clear(clear, TENANT),
    )
    parts = [each for commit in commits for entry in commit.entries for each in (entry, *entry.changes)]
    sweep = RemoveWhere(NAMESPACE, Everything(), "cleared")
    listed = RemoveListed(NAMESPACE, ((ID, 1),), "deleted")
    assert (repr(listed), repr(Trim())) == ("<RemoveListed 1 deleted>", "<Trim>")
    assert leaks(iter((WHO, put, guard, bound, sweep, *commands, *commits, *parts))) == []


def test_no_repr_of_what_is_met_or_kept_shows_anything_private() -> None:
    """D6: items, heads, revisions, events, outcomes, the standing of a scope, what an expectation met."""
    effect = Effect(NAMESPACE, ID, 1, "put", "stored", b"")
    outcome = Outcome("stored", (Ref(NAMESPACE, ID, 1),), (), (), 1, moment(0), 1)
    stored = Stored(HERE, 1, ITEM, 0)
    kept: tuple[object, ...] = (
        HERE,
        ITEM,
        Head(HERE, revision=1, live=True, created_at=0, updated_at=0, expires_at=None, added=(0, 0)),
        stored,
        Revision(HERE, 1, ITEM, 0, 0, 0, HOLDER, "stored", b""),
        effect,
        Event("record", SCOPE, 1, 0, 1, HOLDER, KEY, b"", "stored", (effect,), 0),
        Page((stored,)),
        Standing(WHO.fence, HOLDER),
        advanced(None, WHO),
    )
    met: tuple[object, ...] = (
        Done(outcome),
        Recorded(outcome, b""),
        Found({HERE: 1}),
        AlreadyExists(1, ID),
        StaleRevision(1, 2, ID),
    )
    assert leaks(iter((*kept, *met))) == []


def test_no_repr_of_a_query_shows_anything_private() -> None:
    """D6: neither where it looks nor behind what."""
    condition = KindIn(frozenset({CANARY}))
    queries: tuple[Query[object], ...] = (
        Get(TENANT, (HERE,)),
        Select(TENANT, NAMESPACE, condition, (1, ID)),
        Count(TENANT, NAMESPACE, condition),
        Revisions(TENANT, HERE),
        Events(TENANT),
        Keys(TENANT, SCOPE, KEY),
        KeyCount(TENANT, SCOPE),
    )
    assert leaks(iter((*queries, condition))) == []


def test_no_repr_of_a_consolidation_shows_whose_memories_they_are() -> None:
    """D6: neither what is to be summed up nor what became of it."""
    outcome = Outcome("stored", (Ref(NAMESPACE, ID, 1),), (), (), 1, moment(0), 1)
    entity, topic = MemoryType.ENTITY, Topic(MemoryType.ENTITY, CANARY)
    done, failed = (
        Consolidated(entity, KEY, outcome, replayed=False),
        FailedGroup(entity, CANARY, 3, "TimeoutError"),
    )
    shown: tuple[object, ...] = (
        Job(NAMESPACE, KEY, moment(0)),
        topic,
        Gathered(topic, ((ID, 1),)),
        Gathering(3),
        Group(entity, CANARY, (Memory(CANARY, id=ID),)),
        Consolidation(KEY, (done,), (failed,)),
    )
    assert leaks(iter(shown)) == []


def test_no_repr_of_a_filter_shows_what_is_asked_for() -> None:
    """D6: names, values and texts of every leaf, however composed."""
    leaves = (
        AttributeThere(CANARY),
        AttributeIs(CANARY, CANARY),
        AttributeContains(CANARY, CANARY),
        TextContains(CANARY),
        KindIn(frozenset({CANARY})),
        Satisfies(lambda stored: stored.item.text == CANARY),
    )
    composed = (AllOf(leaves), AnyOf(leaves), *(Not(leaf) for leaf in leaves))
    assert leaks(iter((*leaves, *composed, Filter(AllOf(leaves))))) == []


def test_no_repr_of_a_search_shows_what_was_sought() -> None:
    """D6: neither what a text was counted for, nor what all texts hold."""
    text = counted([CANARY], [CANARY])
    assert text.times == ((CANARY, 1),)
    assert leaks(iter((text, Corpus(1, 1, holding([text]))))) == []
