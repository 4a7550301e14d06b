"""A single case on a broker, run and judged."""

from __future__ import annotations

from partq.conformance.adapters import Broker
from partq.conformance.evaluation.suite import NamedProgram, Run, runs
from partq.conformance.workload.cases.case import Case


def run_case(broker: Broker, profile: str, case: Case) -> Run:
    """Run one case and judge its history."""
    ((_, done),) = runs(broker, profile, [NamedProgram(case.name, case.build(profile))])
    return done
