"""The checks: what a store holds after many lives of the agent, key by key and item by item."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from txmemory import Memory, Outcome, Ref, Store, must
from txmemory.testing.demo.agent import FACTS, SCOPE, TURNS, WINDOW, WINDOW_MOST
from txmemory.testing.demo.conversation import Conversation
from txmemory.testing.demo.steps import ExtractBoth, Step, keys_of, steps_of

PAGE = 1_000
EVERYTHING = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Written:
    """One applied key: its outcome, and what was stored under it, read from the history of its items."""

    key: str
    outcome: Outcome
    items: tuple[Memory, ...]

    @property
    def attempts(self) -> set[str]:
        """The lives that these items name."""
        return {item.metadata.get("attempt", "") for item in self.items}


@dataclass(frozen=True, slots=True)
class Contents:
    """What a store holds: every applied key, how many ledger rows there are, and all that is live, by namespace."""

    written: dict[str, Written]
    ledger_rows: int
    live: dict[str, tuple[Memory, ...]]
    missing: tuple[str, ...]
    """Keys whose items have no history."""


@dataclass(frozen=True, slots=True)
class Findings:
    """What is wrong, counted and in words; nothing is wrong when `faults` is empty."""

    turns: int
    keys: int
    superseded: int
    duplicates: int
    lost: int
    mixed: int
    faults: tuple[str, ...]


def contents(store: Store, token: int) -> Contents:
    """Everything under the agent's scope, read as the newest holder: no earlier one can write while we look."""
    keys = list(_keys(store))
    spaces = {name: store.within(name) for name in (TURNS, WINDOW, FACTS)}
    written, missing = {}, []
    for key in keys:
        outcome = must(store.writer(SCOPE, token).applied(key))
        if outcome is None:
            missing.append(key)
            continue
        items = [_as_written(spaces[ref.namespace[-1]], ref) for ref in outcome.added]
        written[key] = Written(key, outcome, tuple(item for item in items if item is not None))
    live = {name: tuple(must(space.recall(limit=EVERYTHING))) for name, space in spaces.items()}
    return Contents(written, must(store.applied_count()), live, tuple(missing))


def _keys(store: Store) -> Iterator[str]:
    page = must(store.keys(SCOPE, limit=PAGE))
    while page:
        yield from page
        page = must(store.keys(SCOPE, after=page[-1], limit=PAGE))


def _as_written(space: Store, ref: Ref) -> Memory | None:
    history = must(space.history(ref.id))
    return next((entry.memory for entry in history if entry.revision == ref.revision), None)


def check(found: Contents, conversation: Conversation) -> Findings:
    """Whether every step of the plan happened exactly once, whole, and nothing else did."""
    steps = steps_of(conversation)
    whole = _Whole(found)
    faults = [
        *_ledger(found, steps),
        *_order(found),
        *_together(found, steps),
        *_turns(found, conversation),
        *whole.faults(),
    ]
    planned = {key for step in steps for key in keys_of(step)}
    lost_keys = len(planned - found.written.keys())
    return Findings(
        turns=len(found.live[TURNS]),
        keys=len(found.written),
        superseded=sum(each.outcome.status == "superseded" for each in found.written.values()),
        duplicates=len(whole.strays) + whole.surplus + len(found.written.keys() - planned),
        lost=len(whole.gone) + whole.short + lost_keys,
        mixed=len(whole.mixed),
        faults=tuple(faults),
    )


class _Whole:
    """Every item belongs to one key, every key has the items of one attempt, and what should be live is live."""

    def __init__(self, found: Contents) -> None:
        outcomes = [each.outcome for each in found.written.values()]
        added = [_place(ref) for outcome in outcomes for ref in outcome.added]
        ended = {_place(ref)[:2] for outcome in outcomes for ref in (*outcome.removed, *outcome.evicted)}
        expected = Counter(place for place in added if place[:2] not in ended)
        live = Counter((name, item.id, item.revision) for name, items in found.live.items() for item in items)
        self.strays = live - expected
        self.gone = expected - live
        self.mixed: list[str] = []
        self.surplus = self.short = 0
        for each in found.written.values():
            self._judge(each)

    def _judge(self, written: Written) -> None:
        if written.outcome.status == "superseded" and not written.outcome.added:
            return
        declared = {item.metadata.get("items", "") for item in written.items}
        named = {item.metadata.get("key", "") for item in written.items}
        if len(written.attempts) != 1 or len(declared) != 1 or named != {written.key}:
            self.mixed.append(written.key)
            return
        most = int(declared.pop())
        self.surplus += max(0, len(written.items) - most)
        self.short += max(0, most - len(written.items))

    def faults(self) -> Iterator[str]:
        """What is wrong, in words."""
        yield from (
            f"duplicate: an item in {name!r} that no key accounts for" for name, *_ in self.strays.elements()
        )
        yield from (
            f"lost: an item in {name!r} that a key stored is gone" for name, *_ in self.gone.elements()
        )
        yield from (f"mixed: {key} holds items of more than one attempt, or of none" for key in self.mixed)
        if self.surplus:
            yield f"duplicate: {self.surplus} items more than their attempt wrote"
        if self.short:
            yield f"lost: {self.short} items fewer than their attempt wrote"


def _place(ref: Ref) -> tuple[str, str, int | None]:
    return ref.namespace[-1], ref.id, ref.revision


def _ledger(found: Contents, steps: Iterable[Step]) -> Iterator[str]:
    planned = {key for step in steps for key in keys_of(step)}
    yield from (f"lost: {key} was never applied" for key in sorted(planned - found.written.keys()))
    yield from (f"duplicate: {key} is in no plan" for key in sorted(found.written.keys() - planned))
    yield from (f"{key} is listed as applied, and the ledger does not know it" for key in found.missing)
    if found.ledger_rows != len(planned):
        yield f"the ledger has {found.ledger_rows} rows for {len(planned)} keys"
    for key, each in found.written.items():
        expected = "superseded" if key.endswith("/again") else "stored"
        if each.outcome.status != expected:
            yield f"{key} is {each.outcome.status} and should be {expected}"


def _order(found: Contents) -> Iterator[str]:
    """One event a key, and no older worker after a newer one."""
    outcomes = [each.outcome for each in found.written.values()]
    seqs = sorted(outcome.seq or 0 for outcome in outcomes)
    if seqs != list(range(1, len(seqs) + 1)):
        yield "the scope's events are not one for each key"
    ordered = sorted(outcomes, key=lambda outcome: outcome.seq or 0)
    for earlier, later in pairwise(ordered):
        if (later.token or 0) < (earlier.token or 0):
            yield f"token {later.token} wrote after token {earlier.token}"


def _together(found: Contents, steps: Iterable[Step]) -> Iterator[str]:
    """Two keys of one transaction were written by one attempt."""
    for step in steps:
        if isinstance(step, ExtractBoth):
            both = [found.written[key].attempts for key in keys_of(step) if key in found.written]
            if len(both) == 2 and both[0] != both[1]:
                yield f"mixed: {step.facts_key} and {step.entities_key} are of different attempts"


def _turns(found: Contents, conversation: Conversation) -> Iterator[str]:
    said = [(turn.speaker, turn.text, turn.time) for turn in conversation.turns]
    if turns_of(found.live[TURNS]) != said:
        yield "the turns are not those of the conversation"
    if turns_of(found.live[WINDOW]) != said[-WINDOW_MOST:]:
        yield f"the window does not hold the last {WINDOW_MOST} turns"


def turns_of(memories: Iterable[Memory]) -> list[tuple[object, ...]]:
    """Who said what and when, in order."""
    ordered = sorted(memories, key=lambda memory: (memory.timestamp is None, memory.timestamp, memory.id))
    return [(memory.metadata.get("speaker"), memory.content, memory.timestamp) for memory in ordered]


def compare(killed: Contents, calm: Contents) -> tuple[str, ...]:
    """In what the run that was killed differs from the one that never was, beyond the model's wording."""
    faults = []
    if killed.written.keys() != calm.written.keys():
        faults.append("the keys are not those of the run that was never killed")
    faults += [
        f"the namespace {name!r} differs from that of the run that was never killed"
        for name in (TURNS, WINDOW)
        if turns_of(killed.live[name]) != turns_of(calm.live[name])
    ]
    faults += [
        f"{key} ended otherwise than in the run that was never killed"
        for key in sorted(killed.written.keys() & calm.written.keys())
        if killed.written[key].outcome.status != calm.written[key].outcome.status
    ]
    return tuple(faults)
