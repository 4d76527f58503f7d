"""The state that a log implies."""

import random

from hypothesis import given
from hypothesis import strategies as st

from tests.rules.examples import HERE, at, effect, event
from txmemory.model.event import Effect, Event
from txmemory.rules.fold import fold
from txmemory.rules.recording import outcome_of

operations = st.lists(st.sampled_from(["put", "remove"]), max_size=5)


def life(id: str, does: list[str]) -> list[Effect]:
    return [
        effect(id, place, "put") if each == "put" else effect(id, place, "remove", "deleted")
        for place, each in enumerate(does, 1)
    ]


@given(
    st.dictionaries(st.sampled_from("abc"), operations), st.randoms(use_true_random=False), st.integers(1, 4)
)
def test_the_order_of_events_makes_no_difference_to_an_item(
    lives: dict[str, list[str]], chance: random.Random, together: int
) -> None:
    effects = [each for id, does in lives.items() for each in life(id, does)]
    expected = {at(id): len(does) for id, does in lives.items() if does and does[-1] == "put"}
    for _ in range(3):
        chance.shuffle(effects)
        log = [
            event(*effects[n : n + together], kind="change", scope=None)
            for n in range(0, len(effects), together)
        ]
        state = fold(log)
        assert state.live == expected
        assert {address: each.revision for address, each in state.newest.items()} == {
            at(id): len(does) for id, does in lives.items() if does
        }


kinds = st.sampled_from(["record", "forget", "seal", "change"])
histories = st.lists(st.tuples(kinds, st.sampled_from(["x", "y", "z"])), max_size=6)


@given(st.dictionaries(st.sampled_from(["one", "two"]), histories), st.randoms(use_true_random=False))
def test_scopes_are_folded_each_in_its_own_order(
    scopes: dict[str, list[tuple[str, str]]], chance: random.Random
) -> None:
    logs: dict[str, list[Event]] = {}
    expected: dict[str, set[str]] = {}
    for scope, history in scopes.items():
        keys: set[str] = set()
        logs[scope] = []
        for seq, (kind, key) in enumerate(history, 1):
            match kind:
                case "record":
                    keys.add(key)
                    logs[scope].append(event(kind="record", scope=scope, seq=seq, key=key))
                case "forget":
                    keys.discard(key)
                    logs[scope].append(event(kind="forget", scope=scope, seq=seq, key=key))
                case "seal":
                    keys.clear()
                    logs[scope].append(event(kind="seal", scope=scope, seq=seq, key=None))
                case _:
                    logs[scope].append(event(kind="change", scope=scope, seq=seq, key=None))
        expected[scope] = keys
    turns = [scope for scope, log in logs.items() for _ in log]
    chance.shuffle(turns)
    state = fold([logs[scope].pop(0) for scope in turns])
    assert {scope: set(keys) for scope, keys in state.applied.items()} == {
        scope: keys for scope, keys in expected.items() if scopes[scope]
    }
    assert state.seq == {scope: len(history) for scope, history in scopes.items() if history}


def test_the_ledger_is_what_the_events_recorded() -> None:
    first, second = event(effect("a"), seq=1, key="one"), event(effect("b"), seq=2, key="two")
    assert fold([first, second]).applied == {"run": {"one": outcome_of(first), "two": outcome_of(second)}}


def test_a_call_without_a_key_belongs_to_no_scope() -> None:
    state = fold([event(effect("a"), kind="change", scope=None, seq=None, key=None)])
    assert (state.applied, state.seq) == ({}, {})
    assert state.live == {at("a", HERE): 1}


def test_an_event_without_its_number_moves_no_sequence() -> None:
    assert fold([event(seq=2), event(kind="forget", seq=None)]).seq == {"run": 2}
