"""Who passes a scope's fence, against its definition over everybody who has passed before."""

from hypothesis import given
from hypothesis import strategies as st

from txmemory.model.address import Fence, Presenter
from txmemory.rules.fencing import Standing, advanced, stands

presenters = st.builds(
    Presenter,
    st.just("run"),
    st.integers(0, 3),
    st.integers(0, 1),
    st.none() | st.sampled_from(["X", "Y", "x"]),
)


def newest(passed: list[Presenter]) -> Fence | None:
    """The newest fence that was presented."""
    return max((each.fence for each in passed), default=None)


def holder(passed: list[Presenter]) -> str | None:
    """The first name that was given with the newest fence."""
    named = (each.holder for each in passed if each.fence == newest(passed) and each.holder is not None)
    return next(named, None)


@given(st.lists(presenters, max_size=12))
def test_who_passes_is_newer_or_equal_and_of_no_other_name(history: list[Presenter]) -> None:
    passed: list[Presenter] = []
    standing: Standing | None = None
    for presenter in history:
        fence, known = newest(passed), holder(passed)
        equal = fence == presenter.fence and (None in (known, presenter.holder) or known == presenter.holder)
        after = advanced(standing, presenter)
        assert (after is not None) is (fence is None or presenter.fence > fence or equal)
        if after is not None:
            passed.append(presenter)
            standing = after
            assert after == (newest(passed), holder(passed))


@given(presenters)
def test_a_presenter_passes_its_own_standing_and_changes_nothing(presenter: Presenter) -> None:
    standing = advanced(None, presenter)
    assert standing == Standing(presenter.fence, presenter.holder)
    assert advanced(standing, presenter) == standing


def test_a_fence_stands_where_a_presenter_would_leave_it_as_it_is() -> None:
    standing = Standing(Fence(0, 5), "ada")
    assert stands(standing, Presenter("run", 5))
    assert stands(standing, Presenter("run", 5, holder="ada"))
    assert not stands(standing, Presenter("run", 5, holder="bob"))
    assert not stands(standing, Presenter("run", 4))
    assert not stands(standing, Presenter("run", 6))
    assert not stands(Standing(Fence(0, 5), None), Presenter("run", 5, holder="ada"))
