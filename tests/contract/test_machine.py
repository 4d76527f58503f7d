"""Random histories against the plain model, on every storage, awaited and blocking."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from txmemory.testing.leasing_machine import LeasingMachine

MODEST = settings(
    max_examples=200,
    stateful_step_count=40,
    deadline=None,
    database=None,
    report_multiple_bugs=False,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


FEWER = settings(MODEST, max_examples=40)
"""Where each example makes a schema on a server, and each answer comes from there."""


def test_random_histories_are_answered_as_the_model_answers(
    make_storage: Callable[[], Any], request: pytest.FixtureRequest
) -> None:
    class Here(LeasingMachine):
        place = staticmethod(make_storage)

    name = request.node.callspec.params["make_storage"]
    near = name.endswith(("memory", "sqlite-file"))
    run_state_machine_as_test(Here, settings=MODEST if near else FEWER)
