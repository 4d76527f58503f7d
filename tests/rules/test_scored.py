"""A memory with its score: in range, ordered by it, silent about its content."""

import math

import pytest

from txmemory import Memory, ScoredMemory

TEA = Memory("kanarie", id="kanarie")


def test_sorted_gives_the_best_first_and_keeps_equals_in_place() -> None:
    scores = [ScoredMemory(TEA, 0.25), ScoredMemory(TEA, 1), ScoredMemory(TEA, 0), ScoredMemory(TEA, 0.5)]
    assert [each.score for each in sorted(scores)] == [1, 0.5, 0.25, 0]
    assert [each.score for each in sorted(scores, reverse=True)] == [0, 0.25, 0.5, 1]
    assert ScoredMemory(TEA, 0.5) < ScoredMemory(TEA, 0.25)
    assert ScoredMemory(TEA, 0.25) > ScoredMemory(TEA, 0.5)
    one, other = ScoredMemory(TEA, 0.5), ScoredMemory(Memory("cup"), 0.5)
    assert sorted([other, one]) == [other, one]
    assert sorted([one, other]) == [one, other]


def test_a_score_is_compared_with_a_score_only() -> None:
    with pytest.raises(TypeError):
        _ = ScoredMemory(TEA, 0.5) < 0.5
    with pytest.raises(TypeError):
        _ = ScoredMemory(TEA, 0.5) > 0.5


@pytest.mark.parametrize("score", [-0.01, 1.01, math.nan, math.inf, -math.inf])
def test_a_score_outside_its_range_is_refused(score: float) -> None:
    with pytest.raises(ValueError):
        ScoredMemory(TEA, score)


@pytest.mark.parametrize("score", [None, "1", True, 1j])
def test_a_score_is_a_number(score: object) -> None:
    with pytest.raises(TypeError):
        ScoredMemory(TEA, score)  # type: ignore[arg-type]  # the wrong type is the point


def test_a_perfect_memory_has_the_highest_score() -> None:
    assert ScoredMemory.perfect(TEA) == ScoredMemory(TEA, 1.0)
    assert isinstance(ScoredMemory(TEA, 1).score, float)


def test_a_scored_memory_shows_its_score_alone() -> None:
    """D6: neither content nor id."""
    assert repr(ScoredMemory(TEA, 0.5)) == "ScoredMemory(score=0.5)"
