"""Planted defects: each kind is rejected in a short history; long lawful ones are accepted at first sight."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from random import Random

import pytest
from benchmarks.planted import PROFILES, lawful
from benchmarks.planting import KINDS, plant

from partq.conformance.history import History
from partq.conformance.oracle.judge import Judged, judge

SHORT = cache(lawful)


def planted(kind: str) -> Iterator[History]:
    for phrases in (40, 150):
        for seed in range(5):
            for profile in PROFILES:
                broken = plant(SHORT(profile, seed, phrases, bool(seed % 2)), kind, Random(1))
                if broken is not None:
                    yield broken


@pytest.mark.parametrize("kind", KINDS)
def test_a_planted_defect_is_rejected(kind: str) -> None:
    said = (judge(history, seconds=60, nodes=4_000).status for history in planted(kind))
    assert Judged.REJECTED in said


LAWFUL = [
    *(("azure-premium", 18), ("azure-premium", 26), ("azure-flat", 18)),
    *(("solace", seed) for seed in (18, 20, 21, 22, 23)),
]


@pytest.mark.parametrize(("profile", "seed"), LAWFUL)
def test_a_long_lawful_history_with_faults_is_accepted(profile: str, seed: int) -> None:
    history = lawful(profile, seed, 1_400, faults=True)
    assert judge(history, seconds=600, nodes=3 * len(history)).status is Judged.ACCEPTED
