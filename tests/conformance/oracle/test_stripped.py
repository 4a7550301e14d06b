"""Lawful histories stay lawful however little of them was recorded: neither rejected nor suspected."""

from __future__ import annotations

import pytest
from stripped import WAYS, stripped

from partq.conformance.adapters import open_broker
from partq.conformance.execution.runner import run
from partq.conformance.oracle.judge import Judged, judge
from partq.conformance.screens.assess import inspect
from partq.conformance.workload.generator import generate, trace_seed

SEED = 8
PARTS = 10
HISTORIES = 44
"""Of each part and profile: 2,280 in all, and each profile is stripped in each of the ways."""
PROFILES = ("azure-standard", "azure-premium", "azure-flat", "solace", "partitioned-queue", "ordered-queue")
NODES = 600
"""What is still undecided is no matter here."""


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("profile", PROFILES)
def test_what_was_not_recorded_is_no_violation(profile: str, part: int) -> None:
    broker = open_broker("reference")
    broker.profile = profile
    lacks = broker.lacks()
    for number in range(part * HISTORIES, (part + 1) * HISTORIES):
        names = WAYS[number % len(WAYS)]
        history = stripped(run(broker, generate(profile, trace_seed(SEED, number), lacks=lacks)), names)
        seen = inspect(history)
        assert not seen.broken, (number, names, seen.findings, seen.candidates)
        found = judge(history, 5.0, nodes=NODES)
        assert found.status is not Judged.REJECTED, (number, names, found)


def test_every_way_is_tried() -> None:
    assert len(WAYS) <= PARTS * HISTORIES
