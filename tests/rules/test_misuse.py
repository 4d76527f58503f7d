"""What is not meant is refused when it is built, not taken for something wider."""

import copy
import pickle
from datetime import UTC, datetime
from typing import Any

import pytest

from txmemory import Custom, Filter, Memory, MemoryStats, MemoryType
from txmemory.memories.consolidation import Group, summary_of
from txmemory.memories.statistics import stats_from
from txmemory.model.query import Totals


def test_a_filter_by_a_time_that_is_not_there_means_no_memory_at_all() -> None:
    """A retention job whose cutoff was never set must not delete everything."""
    unset: Any = None
    now = datetime.now(UTC)
    with pytest.raises(TypeError):
        Filter.before(unset)
    with pytest.raises(TypeError):
        Filter.after(unset)
    for ends in ((unset, now), (now, unset)):
        with pytest.raises(TypeError):
            Filter.between(*ends)
    open_ended = Filter.by_time_range()
    assert open_ended == Filter.by_time_range(None, None)


def test_a_filter_is_built_by_its_class_methods_alone() -> None:
    wrong: list[Any] = ["x", None, Filter.all()]
    for condition in wrong:
        with pytest.raises(TypeError):
            Filter(condition)


def test_a_summary_that_is_no_text_is_told_so() -> None:
    group = Group(MemoryType.TASK, "true", (Memory("tea"), Memory("tea")))
    wrong: list[Any] = [None, 5, b"text"]
    for answer in wrong:
        with pytest.raises(TypeError, match="summarise must answer text"):
            summary_of(group, answer)
    with pytest.raises(ValueError):
        summary_of(group, " ")


def test_figures_can_be_copied_and_sent() -> None:
    totals = Totals((("task", 3), ("custom:x", 1)), (1, 2), 0, 5, 6)
    figures = stats_from(totals)
    for again in (copy.deepcopy(figures), pickle.loads(pickle.dumps(figures))):  # noqa: S301 - our own
        assert isinstance(again, MemoryStats)
        assert again == figures
        by_type: Any = again.by_type
        with pytest.raises(TypeError):
            by_type[MemoryType.TASK] = 4


def test_a_type_of_the_caller_s_own_is_written_as_its_name_and_shown_without_it() -> None:
    assert str(Custom("research")) == "research"
    assert "research" not in repr(Custom("research"))
