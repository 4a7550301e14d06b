"""The directed cases of flows: every row their checkers judge has one, whatever the seed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from partq.conformance.adapters import open_broker
from partq.conformance.assess import assess
from partq.conformance.cases import Case, rebalancing
from partq.conformance.checkers import flow_order, flows, ownership
from partq.conformance.checkers import rebalancing as rebalancing_checker
from partq.conformance.runner import run
from partq.conformance.verdict import Status

CHECKERS = (ownership, flows, flow_order, rebalancing_checker)


def test_every_row_of_the_flow_checkers_has_a_case() -> None:
    judged = {row for module in CHECKERS for row in module.CHECKER.requirements}
    assert judged == {row for case in rebalancing.CASES for row in case.requirements}


@pytest.mark.parametrize("case", rebalancing.CASES, ids=lambda case: case.name)
def test_a_case_says_so_for_any_seed(case: Case) -> None:
    """Which flow gets which partition, and which key goes where, is the seed's choice."""
    broker = open_broker("reference")
    broker.profile = "solace"
    for seed in range(8):
        verdicts = assess(run(broker, replace(case.build("solace"), seed=seed)))
        statuses = {verdict.status for verdict in verdicts.values()}
        assert not statuses & {Status.VIOLATED, Status.UNKNOWN}
        assert all(verdicts[row].status is Status.PASS for row in case.requirements)
