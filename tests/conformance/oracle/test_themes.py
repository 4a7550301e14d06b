"""Lawful programs about one mechanism are accepted, whole and stripped: what a new mechanism has to pass."""

from __future__ import annotations

import pytest
from stripped import WAYS, stripped

from partq.conformance.adapters import open_broker
from partq.conformance.execution.runner import run
from partq.conformance.of_mechanisms import given
from partq.conformance.oracle.judge import Judged, judge
from partq.conformance.workload.generator import generate, trace_seed
from partq.conformance.workload.themes import THEMES
from partq.model.profiles import PROFILES, requirements_of

SEED = 20
HISTORIES = 40
PHRASES = 14
NODES = 1_500

ABOUT = given("programs", "THEME")
WHERE = [
    (name, profile)
    for name, theme in ABOUT.items()
    for profile in PROFILES
    if theme.rule in requirements_of(profile)
]


@pytest.mark.slow
@pytest.mark.parametrize(("mechanism", "profile"), WHERE)
def test_no_history_about_a_mechanism_is_rejected(mechanism: str, profile: str) -> None:
    broker = open_broker("reference")
    broker.profile = profile
    lacks, decided = broker.lacks(), 0
    theme = ABOUT[mechanism].name
    themes = {theme: THEMES[theme]}
    for number in range(HISTORIES):
        seed = trace_seed(SEED, number)
        whole = run(broker, generate(profile, seed, length=PHRASES, lacks=lacks, themes=themes))
        found = judge(whole, nodes=NODES)
        assert found.status is not Judged.REJECTED, (number, found)
        decided += found.status is Judged.ACCEPTED
        names = WAYS[number % len(WAYS)]
        poorer = judge(stripped(whole, names), nodes=NODES)
        assert poorer.status is not Judged.REJECTED, (number, names, poorer)
    assert decided >= HISTORIES * 0.9
