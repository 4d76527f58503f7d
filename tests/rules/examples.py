"""Small values that the tests of model, rules and flow start from, and strategies for values of any kind."""

from hypothesis import strategies as st

from txmemory.model.address import Address, Namespace, Presenter, Ref
from txmemory.model.command import Write
from txmemory.model.commit import Guard, Put
from txmemory.model.event import Effect, Event, Kind, Operation, Reason
from txmemory.model.item import Head, Item, moment
from txmemory.model.outcome import Outcome

HERE: Namespace = ("memories",)
PRESENTER = Presenter("run-42", 7)


def at(id: str, namespace: Namespace = HERE) -> Address:
    return Address(namespace, id)


def put(id: str, text: str = "tea", namespace: Namespace = HERE) -> Put:
    return Put(at(id, namespace), Item("knowledge", text))


def write(*puts: Put, key: str = "step", expect: tuple[Guard, ...] = ()) -> Write:
    return Write("write", key, puts, expect=expect)


def replace(*puts: Put, sources: tuple[Guard, ...]) -> Write:
    return Write("replace", "step", puts, sources=sources)


def outcome(id: str = "a", seq: int | None = 1) -> Outcome:
    return Outcome("stored", (Ref(HERE, id, 1),), (), (), seq, moment(0), 7)


def head(
    id: str, *, revision: int = 1, live: bool = True, created_at: int = 0, expires_at: int | None = None
) -> Head:
    return Head(at(id), revision, live, created_at, created_at, expires_at, (created_at, 0))


def effect(
    id: str,
    revision: int = 1,
    operation: Operation = "put",
    reason: Reason = "stored",
    namespace: Namespace = HERE,
) -> Effect:
    return Effect(namespace, id, revision, operation, reason, b"" if operation == "put" else None)


def event(
    *effects: Effect,
    kind: Kind = "record",
    scope: str | None = "run",
    seq: int | None = 1,
    key: str | None = "step",
) -> Event:
    return Event(kind, scope, seq, 0, 7, None, key, None, "stored", effects, at=0)


texts = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), max_size=12)
names = texts.filter(bool)
namespaces = st.lists(
    st.sampled_from(["a", "b", "a,b", '"', "a\\", "ä", "-"]) | names, min_size=1, max_size=4
).map(tuple)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)
