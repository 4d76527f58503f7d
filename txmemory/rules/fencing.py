"""When a presenter passes a scope's fence, and what the fence is afterwards."""

from typing import NamedTuple

from txmemory.model.address import Fence, Presenter


class Standing(NamedTuple):
    """A scope's fence, and the first holder who was named with its token."""

    fence: Fence
    holder: str | None

    def __repr__(self) -> str:
        """The fence alone."""
        return f"<Standing {self.fence}>"


def advanced(standing: Standing | None, presenter: Presenter) -> Standing | None:
    """What stands once the presenter has passed, the very same when nothing changes; None when it is fenced.

    A newer fence takes the presenter's name or none. An equal one passes unless both sides name holders and the names
    differ; the first name sticks, and a presenter without one changes none.
    """
    if standing is None or presenter.fence > standing.fence:
        return Standing(presenter.fence, presenter.holder)
    if presenter.fence < standing.fence:
        return None
    if presenter.holder is None or presenter.holder == standing.holder:
        return standing
    return Standing(standing.fence, presenter.holder) if standing.holder is None else None


def stands(standing: Standing, presenter: Presenter) -> bool:
    """Whether the fence is as the presenter would leave it: there is nothing to raise and no name to note."""
    return advanced(standing, presenter) is standing
