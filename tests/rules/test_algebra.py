"""How conditions compose: by the laws of logic, whatever they are and whatever they are asked about."""

import pytest
from hypothesis import given, settings

from tests.rules.conditions import composed, conditions, found, leaf_conditions
from txmemory import Filter
from txmemory.model.filter import AllOf, AnyOf, Condition, Not
from txmemory.model.item import Stored
from txmemory.rules.matches import matches
from txmemory.testing.algebra import laws

few = composed(leaf_conditions, 3)


@given(conditions, conditions, found)
def test_a_composition_means_what_its_operator_says(a: Condition, b: Condition, stored: Stored) -> None:
    one, other = matches(a, stored), matches(b, stored)
    both, either = Filter(a) & Filter(b), Filter(a) | Filter(b)
    assert matches(AllOf((a, b)), stored) is matches(both.condition, stored) is (one and other)
    assert matches(AnyOf((a, b)), stored) is matches(either.condition, stored) is (one or other)
    assert matches(Not(a), stored) is matches((~Filter(a)).condition, stored) is not one
    assert matches((~~Filter(a)).condition, stored) is one


@given(few, few, few, found)
@settings(max_examples=500)
def test_the_laws_hold_of_any_filters(a: Condition, b: Condition, c: Condition, stored: Stored) -> None:
    for one, other in laws(Filter(a), Filter(b), Filter(c)):
        assert matches(one.condition, stored) is matches(other.condition, stored)


@given(conditions, conditions, found)
def test_all_and_any_of_none_one_and_several(a: Condition, b: Condition, stored: Stored) -> None:
    assert matches(Filter.all().condition, stored)
    assert not matches(Filter.any().condition, stored)
    assert matches(AllOf(()), stored)
    assert not matches(AnyOf(()), stored)
    for many in ([a], [a, b], [a, b, a]):
        filters = [Filter(each) for each in many]
        answers = [matches(each, stored) for each in many]
        assert matches(Filter.all(*filters).condition, stored) is all(answers)
        assert matches(Filter.any(*filters).condition, stored) is any(answers)


def test_what_is_no_filter_composes_with_none() -> None:
    """A predicate, a text or a condition is not taken for a filter."""
    ada = Filter.by_entity("ada")
    for wrong in (None, True, "tea", lambda _: True, ada.condition):
        with pytest.raises(TypeError):
            ada & wrong  # type: ignore[operator]  # the wrong type is the point
        with pytest.raises(TypeError):
            wrong | ada  # type: ignore[operator]  # the same
        with pytest.raises(TypeError):
            Filter.all(ada, wrong)  # type: ignore[arg-type]  # the same
        with pytest.raises(TypeError):
            Filter.any(wrong)  # type: ignore[arg-type]  # the same


def test_parts_of_one_kind_stay_side_by_side() -> None:
    """Composed again and again of one kind, it stays flat: a hundred parts, not a hundred levels."""
    ada = Filter.by_entity("ada")
    many = ada
    for _ in range(97):
        many &= ada
    assert isinstance(many.condition, AllOf)
    assert many.condition.parts == (ada.condition,) * 98
    assert (ada | ada | ada).condition == AnyOf((ada.condition,) * 3)
    with pytest.raises(ValueError):
        many & ada & ada
