"""The adapters in examples/ on servers that they start themselves: conforming as they are, and each planted
defect is found and named."""

from __future__ import annotations

import shutil
from contextlib import closing
from itertools import count
from statistics import median
from typing import TYPE_CHECKING

import pytest

from partq.conformance import run
from partq.conformance.adapters import claimed_profiles
from partq.conformance.evaluation.live_shrinking import LiveShrinking
from partq.conformance.evaluation.suite import NamedProgram, runs
from partq.conformance.workload.cases import ALL_CASES
from partq.model.profiles import profile

if TYPE_CHECKING:
    from partq.conformance.adapters import Broker, Client

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


DEFECTS: tuple[tuple[type[Client] | type[Broker], str, set[str]], ...] = (
    (planted.Loses, "queue-keys", {"RCV-2"}),
    (planted.Duplicates, "queue-keys", {"RCV-6", "RCV-7"}),
    (planted.Forgets, "queue-keys", {"RCV-7"}),
    (planted.Delays, "key-in-order", {"ORD-1"}),
    (planted.Scatters, "queue-keys", {"KEY-2", "ROUTE-1", "ROUTE-2"}),
    (planted.Unlocks, "queue-locks", {"RCV-6"}),
)


@brokers
@pytest.mark.parametrize(("defect", "case", "rules"), DEFECTS, ids=[one.__name__ for one, _, _ in DEFECTS])
def test_a_planted_defect_is_found_and_named(
    broker: type[Broker], defect: type[Client] | type[Broker], case: str, rules: set[str]
) -> None:
    result = run(planted.planted(defect, broker), cases=[case])
    assert result.findings, result.conclusion
    for found in result.findings:
        assert found.requirements[0] in rules, found


@pytest.mark.timeout(600)
def test_the_median_counterexample_on_redis_is_five_steps() -> None:
    steps = []
    for defect, case, rules in DEFECTS:
        broker = planted.planted(defect, planted.RedisStreams)()
        (name,) = claimed_profiles(broker)
        with closing(runs(broker, name, [NamedProgram(case, ALL_CASES[case].build(name))])) as ending:
            ((_, done),) = ending
        small = LiveShrinking(broker, done.program, done.history, done.findings[0], 8, count().__next__)
        small.shrink()
        assert small.finding.requirement in rules
        steps.append(len(small.program.steps))
    assert median(steps) <= 5, steps
