"""The state in memory, which no SQL reaches, damaged and restored."""

import txmemory
from txmemory import must
from txmemory.model.address import Fence
from txmemory.rules.fencing import Standing


def test_a_scope_whose_fence_was_raised_is_free_to_claim() -> None:
    """Nobody holds it, though its lease has not lapsed: the token that had been issued is outweighed."""
    with txmemory.open("memory://") as store:
        claim = must(store.claim("mended", "ada"))
        state, place = store._handle.backend.state, ("default", "mended")  # type: ignore[attr-defined]  # this backend's
        state.scopes[place] = state.scopes[place]._replace(standing=Standing(Fence(0, 0), "ada"))
        assert [finding.kind for finding in must(store.verify()).findings] == ["fence_lowered"]
        assert must(store.rebuild()).scopes == 1
        assert must(store.claim("mended", "bob")).token == claim.token + 1
