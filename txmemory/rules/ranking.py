"""How well texts answer a query: BM25 over the statistics of what was searched, on a scale from 0 to 1.

A text's score is the sum over the sought words of weight x frequency, as a share of the sum of the weights. A word's
weight is its inverse document frequency, ln(1 + (texts - holding + 0.5) / (holding + 0.5)), which is never negative;
its frequency is n / (n + K1 x (1 - B + B x length / average length)), which grows with the times n that it stands in
the text, and never reaches 1. So 1 is a bound that scores come near to and do not reach: a text full of every sought
word. A word that nothing holds counts among the weights: what answers half of a query has a low score, even where
nothing answers it better.

Numbers of words are integers, and sums are exact until they are rounded once, so it makes no difference in which
order texts and words arrive.
"""

from collections.abc import Collection, Iterable, Mapping
from math import fsum, log1p
from typing import NamedTuple

K1 = 1.2
"""How soon another time makes little difference."""
B = 0.75
"""How much a text has to answer for its length."""


class Counted(NamedTuple):
    """What a score needs to know of one text: how many words it has, and how often it has which of the sought."""

    length: int
    times: tuple[tuple[str, int], ...]

    def __repr__(self) -> str:
        """No word of anybody's."""
        return f"<Counted {self.length}>"


class Corpus(NamedTuple):
    """What a score needs to know of all texts: how many, their words together, and how many hold each sought word."""

    texts: int
    words: int
    holding: Mapping[str, int]

    def __repr__(self) -> str:
        """No word of anybody's."""
        return f"<Corpus {self.texts}>"


def counted(words: Collection[str], sought: Collection[str]) -> Counted:
    """A text's words, counted for a query."""
    times: dict[str, int] = {}
    for word in words:
        if word in sought:
            times[word] = times.get(word, 0) + 1
    return Counted(len(words), tuple(times.items()))


def holding(texts: Iterable[Counted]) -> dict[str, int]:
    """How many of the texts hold each of the sought words."""
    found: dict[str, int] = {}
    for text in texts:
        for word, _ in text.times:
            found[word] = found.get(word, 0) + 1
    return found


class Scores:
    """The scores of texts for the sought words of one query, by the statistics of one corpus."""

    def __init__(self, sought: Collection[str], corpus: Corpus) -> None:
        self._weights = {word: _weight(corpus.texts, corpus.holding.get(word, 0)) for word in sought}
        self._most = fsum(self._weights.values())
        self._average = max(corpus.words, 1) / max(corpus.texts, 1)

    def of(self, text: Counted) -> float:
        """0 when the text has none of the words, else more than 0 and at most 1."""
        if not text.times:
            return 0.0
        damping = K1 * (1 - B + B * text.length / self._average)
        found = fsum(self._weights[word] * (n / (n + damping)) for word, n in text.times)
        return min(found / self._most, 1.0)  # rounding alone may lift it above


def _weight(texts: int, holding: int) -> float:
    return log1p((texts - holding + 0.5) / (holding + 0.5))
