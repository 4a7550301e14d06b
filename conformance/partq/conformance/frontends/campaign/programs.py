"""The programs of a campaign's traces, from its seed. Pure, and without Spark."""

from __future__ import annotations

from partq.conformance.adapters import Broker
from partq.conformance.workload.generator import generate, trace_seed
from partq.conformance.workload.program import Program


def program_of(broker: Broker, seed: int, trace: int, length: int | None, lacks: frozenset[str]) -> Program:
    """The program of a campaign's trace, under the broker's profile. ``lacks``: what the broker lacks."""
    drawn = trace_seed(seed, trace)
    return generate(
        broker.profile or "", drawn, length=length, lacks=lacks, lock_duration=broker.lock_duration
    )
