"""The words of a text, and those that a query seeks: one tokenizer for every backend, locale and platform.

A word is a run of letters, marks and numbers (general categories L, M and N); everything else separates, underscores,
apostrophes and symbols included. Folded are compatibility forms (NFKD), case (`str.casefold`, and the dotless i, as
its capital does not tell it from the other), decimal digits of any script (to ASCII), and diacritics: enclosing
marks, and nonspacing marks whose canonical combining class is 1 (overlays), 10 to 36 (points of Hebrew, Arabic and
Syriac) or from 200 (above, below, attached). Marks of other classes are vowels, tones and voicings, which make
another letter, and stay. Format characters (Cf) and other invisible ones are as if not there, but for the zero width
space, which separates. What is left is composed (NFC).

Scripts that put no spaces between words have no words that could be told apart by a rule: of a run of them a text has
each character, with the marks on it, and each pair of neighbours; a query seeks the pairs, or the one character.

The tables are those of `unicodedata`, so a Python of a later Unicode may see letters where an earlier one saw none.
No database's idea of a word plays a part. Only single words are normalized: putting the marks of a whole text in
order would take time that grows with the square of their number.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from unicodedata import category, combining, decimal, is_normalized, normalize

from txmemory.model import limits

_ENGLISH = """
a am an and are as at be been but by can could did do does for from had has have he her him his how i if in into is it
its me my no not of on or our s she should so such t than that the their them then there these they this to us was we
were what when where which who whom whose why will with would you your
"""
STOP_WORDS = frozenset(_ENGLISH.split())
"""English words that say little of what is sought (`s` and `t` are what an apostrophe leaves): a query does without
them, unless it has no others. Texts keep them, so in any language they are found when they are all that is asked."""

_SEPARATORS = frozenset("\u02bb\u02bc\u200b")
"""Letters that are written for an apostrophe, and the format character that is a space."""
_INVISIBLE = frozenset(
    "\u034f\u0640\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f"
    + "".join(map(chr, (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))))
)
"""Joiners, fillers and variation selectors that are no format characters, and the stroke that stretches Arabic."""
_HAN = (
    (0x2E80, 0x2FDF),  # radicals
    (0x3005, 0x3007),  # what repeats a character, and zero
    (0x3021, 0x303C),  # numerals
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x3FFFD),
)
_MARKED = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Myanmar
    (0x1780, 0x17FF),  # Khmer
    (0x3041, 0x30FF),  # Hiragana, Katakana
    (0x31F0, 0x31FF),  # Katakana
    (0xA9E0, 0xA9FF),  # Myanmar
    (0xAA60, 0xAA7F),  # Myanmar
    (0x1AFF0, 0x1B16F),  # Hiragana, Katakana
)
"""The other scripts without spaces, whose characters may have marks that stay."""
_UNSPACED = "".join(f"{chr(first)}-{chr(last)}" for first, last in _HAN + _MARKED)
_RUN = re.compile(f"([{_UNSPACED}]+)|[^ {_UNSPACED}]+")
_MARKS = "".join(
    chr(code)
    for first, last in _MARKED
    for code in range(first, last + 1)
    if category(chr(code)).startswith("M")
)
_CHARACTER = re.compile(f"[^{_MARKS}][{_MARKS}]*|[{_MARKS}]+")
_UNCUT = 1_024
"""So many code points are at least `limits.WORD_BYTES` bytes when they are composed."""
_REMEMBERED = 32_768
"""Code points whose folding is kept: more than any corpus has, unless somebody sends all there are."""


_Split = Callable[[Iterable[str]], Iterator[str]]


class _Folding(dict[int, str]):
    """What each code point becomes, a space where it separates: made when it is first met, for `str.translate`."""

    def __missing__(self, code: int) -> str:
        folded = normalize("NFC", "".join(map(_folded, normalize("NFKD", chr(code)))))
        if len(self) < _REMEMBERED:
            self[code] = folded
        return folded


_FOLDING = _Folding()


def words(text: str) -> list[str]:
    """The words of a text in their order, as often as they stand there: all that a search can find it by.

    Each is at most 255 bytes of UTF-8, cut between characters; of a text are taken the first 100,000 words, and no
    more than 900,000 bytes.

    >>> words("Zoë's GB/s: ½ ﬁsh_tank, 緑茶")
    ['zoe', 's', 'gb', 's', '1', '2', 'fish', 'tank', '緑', '緑茶', '茶']
    """
    taken: list[str] = []
    room = limits.TEXT_WORDS_BYTES
    for word in _spelled(text, _characters_and_pairs):
        room -= len(word) if word.isascii() else len(word.encode())
        if room < 0 or len(taken) == limits.TEXT_WORDS:
            break
        taken.append(word)
    return taken


def sought(query: str) -> tuple[str, ...]:
    """The words that a query seeks, each once: any text is a query, and nothing in it is an operator.

    >>> sought("Don't the teas NEAR 緑茶*?"), sought("to be or not to be")
    (('don', 'teas', 'near', '緑茶'), ('to', 'be', 'or', 'not'))
    """
    every = tuple(dict.fromkeys(_spelled(query, _pairs)))
    return tuple(word for word in every if word not in STOP_WORDS) or every


def _folded(char: str) -> str:
    """One code point that NFKD leaves as it is."""
    if char in _SEPARATORS:
        return " "
    if char in _INVISIBLE:
        return ""
    match category(char):
        case "Cf" | "Me":
            return ""
        case "Mn":
            return "" if _is_diacritic(combining(char)) else char
        case "Nd":
            return str(decimal(char))
        case kind if kind[0] not in "LMN":
            return " "
    small = "i" if char == "\u0131" else char.casefold()
    return char if small == char else "".join(map(_folded, small))


def _is_diacritic(combining_class: int) -> bool:
    return combining_class == 1 or 10 <= combining_class <= 36 or combining_class >= 200  # noqa: PLR2004 - see above


def _spelled(text: str, split: _Split) -> Iterator[str]:
    folded = text.translate(_FOLDING)
    if folded.isascii():
        yield from map(_cut, folded.split())
        return
    for run in _RUN.finditer(folded):
        if run.lastindex:
            yield from map(_cut, split(_composed(each[0]) for each in _CHARACTER.finditer(run[0])))
        else:
            yield _composed(run[0])


def _composed(word: str) -> str:
    word = word[:_UNCUT]
    return _cut(word if is_normalized("NFC", word) else normalize("NFC", word))


def _cut(word: str) -> str:
    if len(word) * 4 <= limits.WORD_BYTES:
        return word
    return word.encode()[: limits.WORD_BYTES].decode(errors="ignore")


def _characters_and_pairs(characters: Iterable[str]) -> Iterator[str]:
    before = ""
    for character in characters:
        if before:
            yield before + character
        yield character
        before = character


def _pairs(characters: Iterable[str]) -> Iterator[str]:
    before = pair = ""
    for character in characters:
        if before:
            pair = before + character
            yield pair
        before = character
    if not pair:
        yield before
