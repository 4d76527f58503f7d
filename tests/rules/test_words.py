"""The words of texts and queries: examples of many scripts, and what holds for every code point and every text."""

import re
import sys
from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from txmemory.rules.words import STOP_WORDS, sought, words

CODE_POINTS = range(sys.maxunicode + 1)
anything = st.text(st.characters(exclude_categories=()))
"""Lone surrogates too."""
SPELLINGS = (
    "aAıİiIßẞςΣéÅ\u0301\u0323\u0338\u0345ﬁﷺ１①½\u00ad\ufe0f '_-.🍵",
    "한ᄒ\u1161\u11abㅎａ \u200d",
    "ｶﾞガか\u3099\u309a々東ー 1",
    "กทิ่\u0e33\u0e38\u0e48๓ a",
    "कनि\u093c\u094dक़\u0951٢ -",
    "ကြမိန်ဥဦ\u1037\u1039\u200b a",
)
letters = st.one_of([st.text(st.sampled_from(spellings), max_size=30) for spellings in SPELLINGS])
"""Where one letter has several spellings, or its neighbours matter; marks of one script at a time, as in texts."""

EXAMPLES = [
    ("nothing", "", []),
    ("no word", " \t\n.,;!?'\"()[]{}<>|\\/*&^%$#@~`+=-_", []),
    ("symbols and emoji", "🍵 ❤️ 👩‍🚀 → ∑ € © °", []),
    (
        "controls, surrogates and code points without a meaning",
        "a\x00b\x7fc\ud800d\U000e0fffe\uffff",
        [*"abcde"],
    ),
    ("punctuation", "Java? (yes), C++; e.g. this", ["java", "yes", "c", "e", "g", "this"]),
    ("hyphens of all kinds", "Berlin-based co\u2010op", ["berlin", "based", "co", "op"]),
    ("a hyphen that is not seen", "co\u00adoperate", ["cooperate"]),
    ("apostrophes of all kinds", "don't don\u2019t п\u02bcять п'ять", ["don", "t"] * 2 + ["п", "ять"] * 2),
    ("underscores", "snake_case __init__", ["snake", "case", "init"]),
    ("units and paths", "100GB/s a/b C:\\temp", ["100gb", "s", "a", "b", "c", "temp"]),
    ("digits", "v2 007 3.14 1,000", ["v2", "007", "3", "14", "1", "000"]),
    ("digits of any script", "٢٠٣٠ २०३० ２０３０ 𝟚𝟘𝟛𝟘", ["2030"] * 4),
    ("digits in a script without spaces", "ปี๒๕๖๗", ["ปี", "2567"]),
    ("fractions and digits in a circle", "½ ① H₂O x²", ["1", "2", "1", "h2o", "x2"]),
    ("case", "STRASSE Straße straẞe ΛΌΓΟΣ λόγος", ["strasse"] * 3 + ["λογοσ"] * 2),
    ("the Turkish i", "İSTANBUL ISTANBUL istanbul ıstanbul i\u0307stanbul", ["istanbul"] * 5),
    (
        "diacritics",
        "Zoë ZOE\u0308 naïve Ångström Việt й ё",
        [*["zoe"] * 2, "naive", "angstrom", "viet", "и", "е"],
    ),
    ("strokes through letters and frames around them", "a\u0338b 1\ufe0f\u20e3", ["ab", "1"]),
    ("letters of their own", "øl Łódź þ", ["øl", "łodz", "þ"]),
    ("ligatures", "ﬁsh ﬀ ĳ œuvre", ["fish", "ff", "ij", "œuvre"]),
    ("full and half width", "Ｇｒｅｅｎ　ｔｅａ ﾊﾟﾝ", ["green", "tea", "パ", "パン", "ン"]),
    ("mathematical letters and roman numerals", "𝐆𝓇𝕖𝖊𝗇 Ⅻ", ["green", "xii"]),
    ("points of Hebrew and Arabic", "שָׁלוֹם مُحَمَّد مـحـمـد", ["שלום", "محمد", "محمد"]),
    ("Persian with a joiner that is not seen", "می\u200cخواهم", ["میخواهم"]),
    ("vowels of Devanagari", "कि कु की हिन्दी", ["कि", "कु", "की", "हिन्दी"]),
    ("Hangul", "녹차를 좋아해 \u1112\u1161\u11ab", ["녹차를", "좋아해", "한"]),
    ("Han", "喜欢绿茶", ["喜", "喜欢", "欢", "欢绿", "绿", "绿茶", "茶"]),
    ("one character of Han", "茶", ["茶"]),
    ("Han and others", "iPhone手机2030年", ["iphone", "手", "手机", "机", "2030", "年"]),
    ("Hiragana and Katakana", "カ゚が人々", ["カ゚", "カ゚が", "が", "が人", "人", "人々", "々"]),
    ("kana with marks apart", "か\u3099", ["が"]),
    ("Thai with marks", "กินข้าว", ["กิ", "กิน", "น", "นข้", "ข้", "ข้า", "า", "าว", "ว"]),
    ("Lao", "ລາວ", ["ລ", "ລາ", "າ", "າວ", "ວ"]),
    ("Khmer", "ខ្មែរ", ["ខ្", "ខ្មែ", "មែ", "មែរ", "រ"]),
    ("Myanmar", "မြန်မာ", ["မြ", "မြန်", "န်", "န်မာ", "မာ"]),
    ("a space that is not seen", "ក\u200bខ a\u200bb", ["ក", "ខ", "a", "b"]),
    ("marks on nothing", "\u0e34\u0e34 \u0301 \u093f", ["\u0e34\u0e34", "\u093f"]),
]


@pytest.mark.parametrize(
    ("text", "expected"), [each[1:] for each in EXAMPLES], ids=[each[0] for each in EXAMPLES]
)
def test_a_text_has_these_words(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", ()),
        (" \n", ()),
        ("?!", ()),
        ("🍵", ()),
        ("tea Tea TEA green", ("tea", "green")),
        ('"green tea" OR NEAR(cup, 2) AND NOT -milk*', ("green", "tea", "near", "cup", "2", "milk")),
        ("What did I say about the tea?", ("say", "about", "tea")),
        ("I", ("i",)),
        ("To be, or not to be", ("to", "be", "or", "not")),
        ("don't", ("don",)),
        ("GB/s", ("gb",)),
        ("绿茶好", ("绿茶", "茶好")),
        ("茶", ("茶",)),
        ("กินข้าว", ("กิน", "นข้", "ข้า", "าว")),
    ],
)
def test_a_query_seeks_these_words(query: str, expected: tuple[str, ...]) -> None:
    assert sought(query) == expected


def test_the_folding_of_every_code_point_is_folded() -> None:
    changed = [f"{code:04X}" for code in CODE_POINTS for word in words(chr(code)) if sought(word) != (word,)]
    assert changed == []


def test_the_case_of_every_code_point_makes_no_difference() -> None:
    """But for the iota below a letter, which is a mark in small letters only."""
    differ = [
        f"{code:04X}"
        for code in CODE_POINTS
        for char in (chr(code),)
        if not words(char.upper()) == words(char.lower()) == words(char)
        if "\u0345" not in normalize("NFD", char)
    ]
    assert differ == []


@given(anything | letters)
def test_any_text_has_words_that_are_folded_and_fit(text: str) -> None:
    """S1: nothing is an error; a word that is asked for is itself."""
    for word in (*words(text), *sought(text)):
        assert 0 < len(word.encode()) <= 255
        assert sought(word) == (word,)


@given(anything | letters)
def test_a_text_has_every_word_that_is_sought_by_it(text: str) -> None:
    assert set(sought(text)) <= set(words(text))


@given(
    st.text(st.characters(exclude_categories=["Mn"])) | letters,
    st.sampled_from(["NFC", "NFD", "NFKC", "NFKD"]),
)
def test_the_form_in_which_letters_are_written_makes_no_difference(text: str, form: str) -> None:
    assert words(normalize(form, text)) == words(text)  # type: ignore[arg-type]  # one of the four forms


@given(st.text(st.characters(codec="ascii")))
def test_the_words_of_ascii_are_its_runs_of_letters_and_digits(text: str) -> None:
    assert words(text) == re.findall("[a-z0-9]+", text.lower())


@given(st.text(st.sampled_from("東京都庁水曜日のカレー茶ทกนຂလကမ"), min_size=1, max_size=12), st.data())
def test_a_text_without_spaces_is_found_by_each_part_of_it(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    part = text[start : data.draw(st.integers(start + 1, len(text)))]
    assert set(sought(part)) <= set(words(text))


def test_a_long_word_is_cut_between_characters() -> None:
    """S9: 255 bytes are kept, and a query is cut alike."""
    assert words("a" * 255) == ["a" * 255]
    assert words("a" * 3_000) == list(sought("A" * 2_000)) == ["a" * 255]
    assert words("ж" * 1_500) == ["ж" * 127]
    assert words("각" * 1_500) == words(normalize("NFD", "각" * 1_500)) == ["각" * 85]
    assert words("\U00010428" * 64) == ["\U00010428" * 63]
    assert words("กิ" + "\u0e48" * 500) == ["กิ" + "\u0e48" * 83]
    assert words("กข" + "\u0e48" * 500) == ["ก", "กข" + "\u0e48" * 83, "ข" + "\u0e48" * 84]


def test_of_a_text_so_many_words_are_taken() -> None:
    """S9: the first 100,000, and of them no more than 900,000 bytes; a word that does not fit ends it."""
    assert words("ab " * 110_000) == ["ab"] * 100_000
    assert len(words("ж" * 300_000)) == 1
    assert len(words("水" * 60_000)) == 100_000
    ten = "ж" * 5
    assert len(words(f"{ten} " * 90_001)) == 90_000
    assert words(f"{'a' * 250} " * 3_599 + f"{'a' * 255} b") == ["a" * 250] * 3_599
    assert words(f"{'a' * 250} " * 3_600 + "b") == ["a" * 250] * 3_600


def test_marks_in_any_number_are_no_burden() -> None:
    """Putting half a million marks in order would take minutes: only what is left of a word is normalized."""
    assert words("a" + "\u0301\u0323" * 250_000) == ["a"]
    assert words("น" + "\u0e48\u0e38" * 250_000) == ["น" + "\u0e38" * 84]
    assert words("n" + "\u094d\u093c" * 250_000) == ["n" + "\u093c" * 84]


def test_a_stop_word_is_a_word() -> None:
    assert [word for word in STOP_WORDS if words(word) != [word]] == []
