"""The programs of a campaign's traces, from its seed, and how to run one alone. Pure, and without Spark."""

from __future__ import annotations

import shlex

from partq.conformance.adapters import Broker, public_name
from partq.conformance.history.codec_profiles import typed
from partq.conformance.workload.generator import generate, trace_seed
from partq.conformance.workload.program import Program


def program_of(broker: Broker, seed: int, trace: int, length: int | None, lacks: frozenset[str]) -> Program:
    """The program of a campaign's trace, under the broker's profile. ``lacks``: what the broker lacks."""
    drawn = trace_seed(seed, trace)
    return generate(
        broker.profile or "", drawn, length=length, lacks=lacks, lock_duration=broker.lock_duration
    )


def command_of(broker: str, profile: str, trace: int, seed: int, length: int | None) -> str:
    """What runs that trace of the campaign alone, without the broker's password."""
    words = ["partq", "fuzz", public_name(broker), "--trace", str(trace), "--seed", str(seed)]
    words += ["--profile", typed(profile)]
    return shlex.join(words if length is None else [*words, "--length", str(length)])
