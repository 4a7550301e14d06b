"""The search on live brokers: seeded programs, several at once where the broker allows it, until one shows a
violation; then the smallest program that still shows it.

Each program takes its time there. So they are drawn to differ (`workload.generator`), and shrunk in few runs
(`live_shrinking`); Hypothesis (`stateful`) repeats itself, and shrinks in thousands.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from typing import Final

from partq.conformance.adapters import Broker
from partq.conformance.evaluation.finding_text import finding_text
from partq.conformance.evaluation.live_shrinking import SECONDS, LiveShrinking
from partq.conformance.evaluation.suite import NamedProgram, Run, Ways, deciding, runs, seeded
from partq.conformance.frontends.search_state import NotConformant, SearchState

AT_A_TIME: Final = 16
"""Of so many programs those come last whose faults would strike others."""


def search_live(
    broker: Broker, profile: str, length: int, seed: int, *, ways: Ways, seen: SearchState
) -> SearchState:
    """Search with programs of up to ``length`` steps. Raises as `stateful.search_on`."""
    broker.profile = profile
    with closing(_runs(broker, profile, length, seed, ways, seen.examples)) as ending:
        for done in ending:
            seen.add(done)
            if seen.failing is not None or seen.enough():
                break
    if seen.failing is None:
        return seen
    raise _shrunk(broker, done, ways, seen) if done.findings else seen.failing


def _runs(
    broker: Broker, profile: str, length: int, seed: int, ways: Ways, examples: int
) -> Generator[Run, None, None]:
    for first in range(0, examples, AT_A_TIME):
        numbers = range(first, min(first + AT_A_TIME, examples))
        tasks = [
            NamedProgram(name, program.with_steps(program.steps[:length]))
            for name, program in seeded(broker, profile, seed, numbers)
        ]
        with closing(runs(broker, profile, tasks, ways)) as ending:
            for _, done in ending:
                yield done


def _shrunk(broker: Broker, done: Run, ways: Ways, seen: SearchState) -> NotConformant:
    """What the run shows, by the smallest program."""
    if broker.hung and ways.another is not None:
        broker = ways.another()
        broker.profile = done.program.profile
    certain = [one for one in done.findings if not one.candidates]
    seconds = SECONDS if seen.seconds is None else min(seen.seconds, SECONDS)
    small = LiveShrinking.of(broker, done, (certain or done.findings)[0], seconds, seen.clock)
    verdicts = ways.focus(deciding(broker, ways.exact)(small.history, 0).verdicts)
    trouble = [finding_text(small.finding, small.history)]
    steady = small.seen is None or small.seen.times == small.seen.tries
    return NotConformant(small.program, trouble, verdicts, steady)
