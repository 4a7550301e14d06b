"""The directed cases of flows: every row that is checked of them has one, whatever the seed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from partq.conformance.adapters.reference import Reference
from partq.conformance.evaluation.decision import check_history
from partq.conformance.execution.runner import run
from partq.conformance.mechanisms.rebalancing import programs as rebalancing
from partq.conformance.mechanisms.rebalancing import reading
from partq.conformance.screens.delivery import turns as flow_order
from partq.conformance.screens.flows import deliveries as flows
from partq.conformance.screens.flows import ownership
from partq.conformance.screens.flows import rebalancing as rebalancing_screen
from partq.conformance.verdict import Status
from partq.conformance.workload.cases.case import Case

SCREENS = (ownership, flows, flow_order, rebalancing_screen)


def test_every_row_on_flows_has_a_case() -> None:
    judged = {row for module in SCREENS for row in module.SCREEN.requirements if not row.startswith("ORD")}
    counted = {*reading.EXERCISED}
    assert judged | counted == {row for case in rebalancing.CASES for row in case.requirements}


@pytest.mark.parametrize("case", rebalancing.CASES, ids=lambda case: case.name)
def test_a_case_says_so_for_any_seed(case: Case) -> None:
    """Which flow gets which partition, and which key goes where, is the seed's choice."""
    broker = Reference("solace")
    for seed in range(8):
        verdicts = check_history(run(broker, replace(case.build("solace"), seed=seed)))
        statuses = {verdict.status for verdict in verdicts.values()}
        assert not statuses & {Status.VIOLATED, Status.UNKNOWN}
        assert all(verdicts[row].status is Status.PASS for row in case.requirements)
