"""The cases about front ends: what each is about does happen on the reference, which draws how many there are
and what they fetch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from one_case import run_case

from partq.conformance.adapters import open_broker
from partq.conformance.execution.runner import run
from partq.conformance.history import History
from partq.conformance.workload.cases.steps import LOCK
from partq.conformance.workload.cases.table import ALL_CASES
from partq.model.profiles import SECOND

PARTITIONED = ("azure-standard", "azure-premium")


def finds_nothing(history: History) -> bool:
    """Whether a receive finds nothing while a message is there that no client has received before, and which
    one receives later."""
    sent: set[str] = set()
    left: set[str] = set()
    for record in history.records:
        if record.op == "send":
            sent |= {one.id for one in record.args["messages"]}
        if record.op == "receive":
            got = {one.id for one in record.messages}
            if got & left:
                return True
            sent -= got
            left = set(sent) if not got else left - got
    return False


def ends_early(history: History) -> bool:
    """Whether a lock is shown that ends half a second, or more, before one would that began just then."""
    return any(
        one.locked_until is not None and one.locked_until < record.call + LOCK - SECOND // 2
        for record in history.records
        if record.op == "receive"
        for one in record.messages
    )


def is_counted_unseen(history: History) -> bool:
    """Whether a message that no client received before is delivered with a count."""
    seen: set[str] = set()
    for record in history.records:
        if record.op == "receive":
            if any(one.delivery_count and one.id not in seen for one in record.messages):
                return True
            seen |= {one.id for one in record.messages}
    return False


@pytest.mark.parametrize("profile", PARTITIONED)
@pytest.mark.parametrize(
    ("name", "happens"),
    [
        ("held-by-another-front-end", finds_nothing),
        ("fetched-before-it-was-asked-for", ends_early),
        ("counted-though-nobody-saw-it", is_counted_unseen),
    ],
)
def test_what_a_case_is_about_happens(name: str, happens: Callable[[History], bool], profile: str) -> None:
    broker, program = open_broker("reference"), ALL_CASES[name].build(profile)
    assert any(happens(run(broker, replace(program, seed=program.seed + n))) for n in range(8))


@pytest.mark.parametrize("profile", PARTITIONED)
def test_time_outs_of_up_to_fifteen_seconds_may_fail_and_longer_ones_do_not(profile: str) -> None:
    case = ALL_CASES["patient-and-impatient-sends"]
    history = run_case(open_broker("reference"), profile, case).history
    keyless = [r for r in history.records if r.op == "send" and r.args["messages"][0].partition_key is None]
    patient = {r.outcome for r in keyless if r.args["timeout"] > 15 * SECOND}
    impatient = {r.outcome for r in keyless if r.args["timeout"] <= 15 * SECOND}
    assert patient == {"ok"} and "unknown" in impatient
