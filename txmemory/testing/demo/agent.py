"""The agent: works through a conversation, and knows of what it did before only what the memory tells it."""

from collections.abc import Callable, Iterable, Sequence
from typing import Literal, TypeVar, assert_never

from returns.result import Result

from txmemory import (
    Bounds,
    Filter,
    Memory,
    MemoryType,
    Outcome,
    Receipt,
    Refusal,
    Store,
    Writer,
    either,
    must,
)
from txmemory.testing.demo.conversation import Conversation, Turn
from txmemory.testing.demo.model import Model
from txmemory.testing.demo.steps import (
    Consolidate,
    ConsolidateAgain,
    Extract,
    ExtractBoth,
    Listen,
    Step,
    Window,
    steps_of,
)

SCOPE = "conversation-run"
TURNS, WINDOW, FACTS = "turns", "window", "facts"
"""The namespaces."""
WINDOW_MOST = 12
"""How many turns the window holds."""
TRIES = 5
"""How often a call that met the others' locks is made again."""

Doing = Literal["begin", "asked", "replayed", "wrote"]
Report = Callable[[Doing, int], None]
"""Tells whoever watches what is being done about which step."""
Value = TypeVar("Value")


class TornTransaction(Exception):
    """Of two keys that were written in one transaction only one is applied."""


class Agent:
    """One life of the agent: it starts at the beginning and asks the ledger what earlier lives have done.

    `attempt` names this life in the metadata of everything it stores, so that two lives that both wrote a part of
    one step would be found out.
    """

    def __init__(
        self,
        store: Store,
        conversation: Conversation,
        *,
        token: int,
        attempt: str,
        model: Model,
        report: Report,
    ) -> None:
        self._conversation = conversation
        self._attempt = attempt
        self._model = model
        self._report = report
        self._facts = store.within(FACTS)
        self._to_turns = store.within(TURNS).writer(SCOPE, token)
        window = store.within(WINDOW, bounds=Bounds(max_memories=WINDOW_MOST))
        self._to_window = window.writer(SCOPE, token)
        self._to_facts = self._facts.writer(SCOPE, token)

    def work(self) -> None:
        """Takes every step once, whoever takes it. Raises `Refused` when a newer life has taken over."""
        for number, step in enumerate(steps_of(self._conversation)):
            self._report("begin", number)
            replayed = self._take(number, step)
            self._report("replayed" if replayed else "wrote", number)

    def _take(self, number: int, step: Step) -> bool:
        match step:
            case Listen(key, turn):
                # What is to be stored is at hand: the receipt tells whether that had been done.
                return self._write(self._to_turns, key, self._turns([turn]))
            case Window(key, turns):
                return self._write(self._to_window, key, self._turns(turns))
            case Extract(key, turns):
                if self._applied(key):
                    return True
                self._report("asked", number)
                return self._write(self._to_facts, key, [*self._told(turns), *self._named(turns)])
            case ExtractBoth():
                return self._extract_both(number, step)
            case Consolidate(key):
                if self._applied(key):
                    return True
                self._report("asked", number)
                return self._consolidate(key)
            case ConsolidateAgain(key, earlier):
                return self._consolidate_again(key, earlier)
            case _:
                assert_never(step)

    def _extract_both(self, number: int, step: ExtractBoth) -> bool:
        facts_known, entities_known = self._applied(step.facts_key), self._applied(step.entities_key)
        if entities_known and not facts_known:
            # A server may end, between two looks, what a killed life of the same token had sent: both, then.
            facts_known = self._applied(step.facts_key)
        if facts_known and entities_known:
            return True
        if facts_known or entities_known:
            raise TornTransaction(step.facts_key)
        self._report("asked", number)
        facts, entities = self._told(step.turns), self._named(step.turns)
        writes = [
            (step.facts_key, self._stamped(step.facts_key, facts)),
            (step.entities_key, self._stamped(step.entities_key, entities)),
        ]
        receipts = insist(lambda: self._to_facts.write_many(writes))
        return all(must(receipt).replayed for receipt in receipts)

    def _consolidate(self, key: str) -> bool:
        # Facts that became part of a summary are gone, so what is recalled is what is not consolidated yet.
        sources = insist(lambda: self._facts.recall(Filter.by_type(MemoryType.USER_FACT), limit=1_000))
        summary = [self._summary(sources)]
        stamped = self._stamped(key, summary)
        return insist(lambda: self._to_facts.replace(key, stamped, remove=sources)).replayed

    def _consolidate_again(self, key: str, earlier: str) -> bool:
        outcome = self._applied(earlier)
        sources = [ref.id for ref in outcome.removed] if outcome else []
        stamped = self._stamped(key, [Memory("A second summary of what is summed up already.")])
        return insist(lambda: self._to_facts.replace(key, stamped, remove=sources)).replayed

    def _applied(self, key: str) -> Outcome | None:
        return insist(lambda: self._to_facts.applied(key))

    def _write(self, writer: Writer, key: str, memories: Sequence[Memory]) -> bool:
        stamped = self._stamped(key, memories)
        receipt: Receipt = insist(lambda: writer.write(key, stamped))
        return receipt.replayed

    def _stamped(self, key: str, memories: Sequence[Memory]) -> list[Memory]:
        """The memories with the life and the key they belong to, and how many belong together."""
        stamp = {"attempt": self._attempt, "key": key, "items": str(len(memories))}
        return [
            Memory(
                memory.content,
                memory_type=memory.memory_type,
                metadata={"conversation_id": self._conversation.name, **memory.metadata, **stamp},
                timestamp=memory.timestamp,
            )
            for memory in memories
        ]

    def _turns(self, turns: Iterable[Turn]) -> list[Memory]:
        return [
            Memory(
                turn.text,
                memory_type=MemoryType.CONVERSATION,
                metadata={"speaker": turn.speaker, "turn": str(turn.number)},
                timestamp=turn.time,
            )
            for turn in turns
        ]

    def _told(self, turns: Sequence[Turn]) -> list[Memory]:
        facts, time = self._model.facts(turns), turns[-1].time
        return [Memory(fact, memory_type=MemoryType.USER_FACT, timestamp=time) for fact in facts]

    def _named(self, turns: Sequence[Turn]) -> list[Memory]:
        time = turns[-1].time
        return [
            Memory(fact, memory_type=MemoryType.ENTITY, metadata={"entity_id": name.lower()}, timestamp=time)
            for name, fact in self._model.entities(turns)
        ]

    def _summary(self, sources: Sequence[Memory]) -> Memory:
        newest = max((source.timestamp for source in sources if source.timestamp), default=None)
        content = self._model.summary([source.content for source in sources])
        return Memory(content, memory_type=MemoryType.KNOWLEDGE, timestamp=newest)


def insist(call: Callable[[], Result[Value, Refusal]]) -> Value:
    """The value; a call that was only in others' way is made again, which its key makes safe."""
    for _ in range(TRIES - 1):
        result = call()
        answer = either(result)
        if not isinstance(answer, Refusal) or not answer.retryable:
            return must(result)
    return must(call())
