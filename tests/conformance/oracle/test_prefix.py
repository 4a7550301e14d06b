"""The shortest rejected prefix of a history."""

from __future__ import annotations

import pytest

from partq.conformance.adapters import open_broker
from partq.conformance.execution.runner import run
from partq.conformance.history import History
from partq.conformance.history.notation import history
from partq.conformance.oracle.judge import Judged, judge
from partq.conformance.oracle.prefix import prefix, shortest_rejected
from partq.conformance.workload.generator import generate, trace_seed
from partq.conformance.workload.themes import THEMES
from partq.model.operations import Outcome

TEXT = (
    "p send m1\np receive 1 delete -> m1#1\nq receive 1 delete -> m1#1\np send m2\nq receive 1 delete -> m2#2"
)


def rejected(given: History) -> bool:
    return judge(given).status is Judged.REJECTED


def test_what_had_not_returned_is_unknown() -> None:
    cut = prefix(history("p send m1 @1-9\nq send m2 @2-5\np send m3 @10-11", "azure-flat"), 6)
    assert [(r.i, r.ret, r.outcome) for r in cut.records] == [
        (0, None, Outcome.UNKNOWN),
        (1, 5, Outcome.OK),
    ]


def test_it_ends_with_the_violation() -> None:
    whole = history(TEXT, "azure-flat")
    cut = shortest_rejected(whole, rejected)
    assert [r.i for r in cut.records] == [0, 1, 2]
    assert rejected(cut)


def test_a_history_that_is_wrong_at_its_end_is_its_own_prefix() -> None:
    whole = history("p send m1\nenv drained", "azure-flat")
    assert shortest_rejected(whole, rejected).records == whole.records


@pytest.mark.parametrize("profile", ["azure-standard", "azure-premium", "azure-flat", "solace"])
def test_no_prefix_of_what_is_lawful_is_rejected(profile: str) -> None:
    """Wherever it ends: amid a rebalance's events, too."""
    broker = open_broker("reference")
    broker.profile = profile
    for n in range(12):
        whole = run(broker, generate(profile, trace_seed(11, n), length=14))
        instants = sorted({record.ret for record in whole.records if record.ret is not None})
        for instant in instants[:: max(1, len(instants) // 12)]:
            judgement = judge(prefix(whole, instant), seconds=5.0, nodes=1_000)
            assert judgement.status is not Judged.REJECTED, (n, instant, judgement)


def test_no_prefix_is_rejected_where_messages_belong_to_sessions() -> None:
    """Neither where a send is under way whose session comes next, nor amid a batch of several sessions."""
    broker = open_broker("reference")
    broker.profile = "azure-flat"
    for n in range(105, 120):
        program = generate(broker.profile, trace_seed(99, n), themes={"sessions": THEMES["sessions"]})
        whole = run(broker, program)
        instants = sorted({record.ret for record in whole.records if record.ret is not None})
        for instant in instants[:: max(1, len(instants) // 15)]:
            judgement = judge(prefix(whole, instant), seconds=5.0, nodes=1_500)
            assert judgement.status is not Judged.REJECTED, (n, instant, judgement)
