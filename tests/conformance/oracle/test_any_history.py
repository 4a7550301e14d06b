"""Whatever a file can hold is judged without a crash, by the screens and by the exact judge."""

from __future__ import annotations

import any_history
from hypothesis import HealthCheck, given, settings

from partq.conformance.history import History
from partq.conformance.oracle.judge import judge
from partq.conformance.screens.assess import inspect


@settings(max_examples=250, deadline=None, suppress_health_check=list(HealthCheck))
@given(any_history.histories())
def test_no_screen_fails(history: History) -> None:
    assert not [reason for reason in inspect(history).open.values() if reason.startswith("screen ")]


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(any_history.histories())
def test_the_judge_answers(history: History) -> None:
    assert judge(history, seconds=0.05).status
