"""What is found on a live broker becomes a few steps, and is found and shrunk within a stated time."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import count
from statistics import median
from typing import Any, NamedTuple

import pytest
import wrong_toys

from partq.conformance.evaluation.live_shrinking import LiveShrinking
from partq.conformance.evaluation.suite import NamedProgram, Run, runs
from partq.conformance.workload.cases.table import ALL_CASES

PROFILE = "azure-premium"
LOOKS = 16
"""How often the shrinking of a defect may look at the clock, which it does before each candidate: counted, so
that a slow machine comes to the same steps."""

CASES = {
    "SomeKeysApart": "partition-key-is-the-key",
    "NewestFirst": "numbers-roll-over",
    "Swapped": "numbers-stay",
    "Renumbered": "numbers-after-restart",
    "AbandonCompletes": "numbers-stay",
    "LongLost": "valid-requests",
    "Forgets": "finished-stays-gone",
    "CompletesFirst": "finished-stays-gone-after-restart",
    "ShortLocks": "two-receivers-in-order",
    "LateAllowed": "lost-lock-settles-nothing",
    "NotCounted": "numbers-stay",
}
"""The first case that shows the defect, where it is not the first of all."""


class Shrunk(NamedTuple):
    name: str
    found: int
    steps: int
    seconds: float
    rule: str
    small: LiveShrinking


def shrunk(name: str, looks: int) -> Shrunk:
    """The first case that shows the defect, shrunk until so many looks at the clock."""
    begun = time.monotonic()
    broker: Any = getattr(wrong_toys, f"Toy{name}")()
    done = first_violated(broker, CASES.get(name, "session-id-is-the-key"))
    clock = count().__next__
    small = LiveShrinking(broker, done.program, done.history, done.findings[0], looks, clock)
    small.shrink()
    took = time.monotonic() - begun
    return Shrunk(
        name, len(done.program.steps), len(small.program.steps), took, small.finding.requirement, small
    )


def first_violated(broker: Any, case: str) -> Run:
    task = NamedProgram(case, ALL_CASES[case].build(PROFILE))
    with closing(runs(broker, PROFILE, [task])) as ending:
        ((_, done),) = ending
    assert done.findings, "nothing was found"
    return done


@pytest.mark.parametrize(("name", "rule"), [("Forgets", "RCV-7"), ("KeysApart", "ROUTE-2")])
def test_a_counterexample_of_a_live_broker_is_a_few_steps(name: str, rule: str) -> None:
    one = shrunk(name, LOOKS)
    assert one.rule == rule
    assert one.steps <= 5 < one.found
    assert one.small.history.records, "the history that it was seen in"
    assert one.small.finding.witness
    assert one.small.over or one.small.seen is not None


def test_time_cuts_it_short_and_what_was_found_stays() -> None:
    broker: Any = wrong_toys.ToyKeysApart()  # type: ignore[attr-defined]
    done = first_violated(broker, "session-id-is-the-key")
    now = iter(range(100))
    small = LiveShrinking(broker, done.program, done.history, done.findings[0], 2, lambda: next(now))
    small.shrink()
    assert small.over
    assert len(small.tried) <= 2
    assert small.finding.requirement == done.findings[0].requirement
    none = LiveShrinking.of(broker, done, done.findings[0], 0)
    assert (none.over, none.seen, none.history) == (True, None, done.history)
    assert all(step in done.program.steps for step in none.program.steps), "but for what the broker lacks"


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_the_median_counterexample_of_twenty_defects_is_five_steps() -> None:
    assert len(wrong_toys.DEFECTS) == 20
    with ThreadPoolExecutor(len(wrong_toys.DEFECTS)) as pool:
        found = list(pool.map(lambda name: shrunk(name, LOOKS), wrong_toys.DEFECTS))
    for one in found:
        print(f"{one.name}: {one.rule}, {one.steps} of {one.found} steps, {one.seconds:.0f} s")
    assert median(one.steps for one in found) <= 5
