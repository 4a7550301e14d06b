"""Order domains on a live broker that shows no numbers: its order is judged, and its lawful runs pass."""

from __future__ import annotations

import pytest
from one_case import run_case
from ordered_memory import Backwards, Forgetful, Memory, PairsTurned, ToTheEnd, Unblocked

from partq.conformance.adapters import Broker
from partq.conformance.evaluation.suite import Ways, run_suite
from partq.conformance.verdict import Status
from partq.conformance.workload.cases.case import Case
from partq.conformance.workload.cases.steps import complete, message, program, receive, send
from partq.conformance.workload.cases.table import ALL_CASES

IN_ORDER = ALL_CASES["key-in-order"]
ONE_ANSWER = Case(
    "one-answer",
    ("ORD-1",),
    ("ordered-queue",),
    "Four messages of one key in one answer.",
    lambda profile: program(
        profile,
        *(send("c1", message(f"m{n}", "k")) for n in range(4)),
        *(receive("c2", 20), complete("c2", *range(4))),
    ),
)

WRONG: tuple[tuple[type[Broker], Case, str], ...] = (
    (PairsTurned, IN_ORDER, "ORD-1"),
    (Backwards, ONE_ANSWER, "ORD-1"),
    (Unblocked, ALL_CASES["one-in-flight"], "ORD-2"),
    (ToTheEnd, ALL_CASES["came-back"], "ORD-3"),
    (Forgetful, ALL_CASES["queue-restart"], "RCV-7"),
)


@pytest.mark.parametrize(("broker", "case", "rule"), WRONG)
def test_a_wrong_order_is_found_and_named_without_numbers(
    broker: type[Broker], case: Case, rule: str
) -> None:
    verdicts = run_case(broker(), "ordered-queue", case).verdicts
    assert [id for id, verdict in verdicts.items() if verdict.status is Status.VIOLATED] == [rule]


@pytest.mark.parametrize("broker", [PairsTurned, Backwards, Unblocked, ToTheEnd])
def test_no_order_is_promised_by_every_partitioned_queue(broker: type[Broker]) -> None:
    for case in (IN_ORDER, ONE_ANSWER, ALL_CASES["came-back"]):
        assert run_case(broker(), "partitioned-queue", case).findings == ()


@pytest.mark.slow
def test_a_lawful_queue_is_never_blamed() -> None:
    result = run_suite(Memory(), "ordered-queue", (), 16, 5, ways=Ways(another=Memory, jobs=16))
    assert result.kept == ()
    assert {result.verdicts[f"ORD-{n}"].status for n in (1, 2, 3)} == {Status.PASS}
