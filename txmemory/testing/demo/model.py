"""The scripted model: like a real one it answers differently every time it is asked the same."""

import random
import re
from collections.abc import Sequence

from txmemory.testing.demo.conversation import Turn

_WAYS = (
    "{who} said: {what}",
    "{who} mentions that {what}",
    "From {who}: {what}",
    "Worth keeping, from {who}: {what}",
    "According to {who}, {what}",
)
_NAME = re.compile(r"(?<=[a-z,] )[A-Z][a-z]+")
_SENTENCE = re.compile(r"(?<=[.!?])\s+")


class Model:
    """Answers drawn from a seed; `asked` counts them."""

    def __init__(self, seed: str) -> None:
        self._chance = random.Random(seed)  # a script for a play, not a secret
        self.asked = 0

    def facts(self, turns: Sequence[Turn]) -> list[str]:
        """One to three facts from what was said, in words of the moment."""
        self.asked += 1
        return [self._fact(self._chance.choice(turns)) for _ in range(self._chance.randint(1, 3))]

    def entities(self, turns: Sequence[Turn]) -> list[tuple[str, str]]:
        """One or two names that occur, each with a fact."""
        self.asked += 1
        named = [(name, turn) for turn in turns for name in _NAME.findall(turn.text)]
        named += [(turn.speaker, turn) for turn in turns]
        chosen = self._chance.sample(named, min(len(named), self._chance.randint(1, 2)))
        return [(name, self._fact(turn)) for name, turn in chosen]

    def summary(self, contents: Sequence[str]) -> str:
        """One text in place of many."""
        self.asked += 1
        few = self._chance.sample(contents, min(len(contents), 3))
        return f"{len(contents)} things are known, such as: " + " / ".join(few)

    def _fact(self, turn: Turn) -> str:
        sentence = self._chance.choice(_SENTENCE.split(turn.text))
        return self._chance.choice(_WAYS).format(who=turn.speaker, what=sentence[:200])
