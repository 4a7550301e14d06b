"""The adapters in examples/ on servers that they start themselves: conforming as they are, and each planted
defect is found and named."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import count
from statistics import median
from typing import TYPE_CHECKING

import pytest
from wrong_clients import planted as plant

from partq.conformance import run
from partq.conformance.adapters import claimed_profiles
from partq.conformance.evaluation.live_shrinking import LiveShrinking
from partq.conformance.evaluation.suite import ONE_AT_A_TIME, NamedProgram, runs
from partq.conformance.frontends.live_search import search_live
from partq.conformance.frontends.search_state import NotConformant, SearchState
from partq.conformance.workload.cases.table import ALL_CASES
from partq.model.profiles import profile

if TYPE_CHECKING:
    from partq.conformance.adapters import Broker

for module in ("nats", "redis"):
    pytest.importorskip(module, reason="its client is missing: pip install 'partq[examples]'")
planted = pytest.importorskip("planted")

MISSING = [name for name in ("nats-server", "redis-server") if not shutil.which(name)]

pytestmark = [
    pytest.mark.server,
    pytest.mark.skipif(bool(MISSING), reason=f"no {' and no '.join(MISSING)}: run tools/ensure-servers"),
]

brokers = pytest.mark.parametrize("broker", planted.BROKERS, ids=lambda broker: broker.__name__)


@brokers
def test_the_server_conforms(broker: type[Broker]) -> None:
    result = run(broker)
    (name,) = result.verdicts
    known = {(one.rule, one.condition) for one in profile(name).divergences}
    for found in result.findings:
        assert {(found.finding.requirement, one) for one in found.finding.conditions} & known, found
    assert result.findings or result.conclusion.startswith("CONFORMANT"), result.conclusion


def test_a_server_that_runs_is_not_started_again() -> None:
    """A shrunk program may start a broker that nothing has killed."""
    from support import PrivateServer

    server = PrivateServer("sleep", "60")
    first = server.process
    try:
        server.start()
        assert server.process is first
        server.kill()
        server.start()
        assert server.process is not first
    finally:
        server.remove()
        first.kill()


LOOKS = 8
"""How often the shrinking of a defect may look at the clock, which it does before each candidate."""

AT_ONCE = 5
"""Programs mostly wait."""


def shrunk(broker: Broker, case: str) -> LiveShrinking:
    (name,) = claimed_profiles(broker)
    with closing(runs(broker, name, [NamedProgram(case, ALL_CASES[case].build(name))])) as ending:
        ((_, done),) = ending
    assert done.findings, f"{type(broker).__name__}: nothing was found"
    small = LiveShrinking(broker, done.program, done.history, done.findings[0], LOOKS, count().__next__)
    small.shrink()
    return small


@pytest.mark.timeout(900)
@brokers
def test_planted_defects_are_found_and_named_by_a_few_steps(broker: type[Broker]) -> None:
    defects, cases, rules = zip(*planted.DEFECTS[broker], strict=True)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        found = list(pool.map(lambda defect, case: shrunk(plant(defect, broker)(), case), defects, cases))
    for defect, small, named in zip(defects, found, rules, strict=True):
        assert small.finding.requirements[0] in named, f"{defect.__name__}: {small.finding.heading}"
    assert median(len(small.program.steps) for small in found) <= 5


def searched(broker: Broker) -> NotConformant:
    (name,) = claimed_profiles(broker)
    seen, ticks = SearchState(200, seconds=LOOKS, clock=lambda: 0), count()
    seen.clock = lambda: next(ticks) if seen.failing else 0
    with pytest.raises(NotConformant) as found:
        search_live(broker, name, length=20, seed=1, ways=ONE_AT_A_TIME, seen=seen)
    return found.value


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_search_finds_each_planted_defect() -> None:
    defects = [defect for defect, _, _ in planted.DEFECTS[planted.RedisStreams]]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        found = list(pool.map(lambda defect: searched(plant(defect, planted.RedisStreams)()), defects))
    for defect, one in zip(defects, found, strict=True):
        print(f"{defect.__name__}: {one.trouble[0].partition(' ')[0]}, {len(one.program.steps)} steps")
    assert median(len(one.program.steps) for one in found) <= 5
