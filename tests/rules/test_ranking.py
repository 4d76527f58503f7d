"""Scores of texts for a query: the formula, its scale, and that no order of arrival shows in them."""

import math
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from txmemory.rules.ranking import Corpus, Counted, Scores, counted, holding

WORDS = ["ada", "tea", "green", "cup", "rain"]
texts = st.lists(st.sampled_from(WORDS), max_size=30)
corpora = st.lists(texts, min_size=1, max_size=12)
queries = st.lists(st.sampled_from([*WORDS, "unheard"]), min_size=1, max_size=6, unique=True)


def scores(corpus: list[list[str]], sought: list[str]) -> list[float]:
    """The score of each text of the corpus."""
    each = [counted(text, frozenset(sought)) for text in corpus]
    scores = Scores(sought, Corpus(len(each), sum(text.length for text in each), holding(each)))
    return [scores.of(text) for text in each]


def formula(corpus: list[list[str]], sought: list[str]) -> list[float]:
    """BM25 as it stands in books, without its constant factor, divided by what it cannot exceed."""
    average = sum(map(len, corpus)) / len(corpus)
    held = {word: sum(word in text for text in corpus) for word in sought}
    idf = {word: math.log(1 + (len(corpus) - held[word] + 0.5) / (held[word] + 0.5)) for word in sought}
    return [
        sum(
            idf[word] * text.count(word) / (text.count(word) + 1.2 * (0.25 + 0.75 * len(text) / average))
            for word in sought
            if word in text
        )
        / sum(idf.values())
        for text in corpus
    ]


def test_a_text_is_counted_for_a_query() -> None:
    assert counted(["tea", "cup", "tea", "rain"], {"tea", "rain", "ada"}) == Counted(
        4, (("tea", 2), ("rain", 1))
    )
    assert counted([], {"tea"}) == Counted(0, ())
    assert holding([Counted(4, (("tea", 2), ("rain", 1))), Counted(1, (("tea", 1),))]) == {
        "tea": 2,
        "rain": 1,
    }


@given(corpora, queries)
def test_the_scores_are_those_of_the_formula(corpus: list[list[str]], sought: list[str]) -> None:
    for ours, theirs in zip(scores(corpus, sought), formula(corpus, sought), strict=True):
        assert math.isclose(ours, theirs, rel_tol=1e-12)


@given(corpora, queries)
def test_what_has_a_sought_word_has_a_score_in_range_and_nothing_else_has_one(
    corpus: list[list[str]], sought: list[str]
) -> None:
    for text, score in zip(corpus, scores(corpus, sought), strict=True):
        assert (0 < score <= 1) if set(text) & set(sought) else score == 0


@given(corpora, queries, st.randoms(use_true_random=False))
def test_no_order_of_arrival_shows_in_a_score(
    corpus: list[list[str]], sought: list[str], random: Random
) -> None:
    """To the last bit: texts, their words, and the words of the query in any order."""
    places = random.sample(range(len(corpus)), len(corpus))
    shuffled = [random.sample(corpus[place], len(corpus[place])) for place in places]
    found = scores(shuffled, random.sample(sought, len(sought)))
    assert [score for _, score in sorted(zip(places, found, strict=True))] == scores(corpus, sought)


def test_more_often_rarer_and_shorter_is_better() -> None:
    pad = ["cup"] * 4
    often, once, rare, longer, none = scores(
        [["tea", "tea", *pad], ["tea", "cup", *pad], ["green", "cup", *pad], ["tea", "cup", *pad, *pad], pad],
        ["tea", "green"],
    )
    assert often > once > longer > none == 0
    assert rare > once


def test_both_words_are_better_than_one_of_them_twice() -> None:
    both, twice = scores(
        [["green", "tea", "cup"], ["tea", "tea", "cup"], ["rain"], ["rain"]], ["green", "tea"]
    )[:2]
    assert both > twice


def test_a_word_that_every_text_has_still_finds_them() -> None:
    assert all(score > 0 for score in scores([["tea"]] * 1_000, ["tea"]))


def test_a_word_that_nothing_has_lowers_the_scores() -> None:
    (alone,), (beside,) = scores([["tea"]], ["tea"]), scores([["tea"]], ["tea", "unheard"])
    assert 0 < beside < alone


def test_a_score_comes_near_to_one_and_stays_below() -> None:
    (most,) = scores([["tea"] * 100_000], ["tea"])
    assert 0.9999 < most < 1


def test_no_texts_at_all_are_no_error() -> None:
    assert Scores(["tea"], Corpus(0, 0, {})).of(Counted(0, ())) == 0
    assert 0 < Scores(["tea"], Corpus(0, 0, {})).of(Counted(1, (("tea", 1),))) < 1
