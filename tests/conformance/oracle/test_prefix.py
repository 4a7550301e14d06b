"""The shortest rejected prefix of a history."""

from __future__ import annotations

from partq.conformance.history import History
from partq.conformance.history.notation import history
from partq.conformance.oracle.judge import Judged, judge
from partq.conformance.oracle.prefix import prefix, shortest_rejected
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
