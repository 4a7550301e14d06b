"""Order domains: what the screen counts, what it finds, and that the judge and blame say the same."""

from __future__ import annotations

from dataclasses import replace

import pytest
from inspections import assert_owned, inspected

from partq.conformance.adapters.rabbitmq import prefetching
from partq.conformance.evaluation.decision import check_history
from partq.conformance.history.notation import history
from partq.conformance.oracle.judge import Judged, judge
from partq.conformance.screens.assess import inspect
from partq.conformance.screens.delivery.domains import SCREEN
from partq.conformance.verdict import Status
from partq.model.profiles import PROFILES, OrderDomain, admit

QUEUE = "ordered-queue"

SENDS = "c1 send m1 key=k\nc1 send m2 key=k\nc1 send m3 key=k\nc1 send x1 key=other"

GOOD: dict[str, tuple[str, dict[str, int]]] = {
    "in order, one after the other": (
        f"{SENDS}\nc2 receive 1 -> m1 lock=a\nc2 complete a\nc2 receive 1 -> m2 lock=b\nc2 complete b",
        {"ORD-1": 1},
    ),
    "several in one answer": (f"{SENDS}\nc2 receive 5 -> m1 lock=a, m2 lock=b, x1 lock=c", {"ORD-1": 1}),
    "another key in between": (
        f"{SENDS}\nc2 receive 1 -> m1 lock=a\nc3 receive 1 -> x1 lock=b\nc2 complete a\n"
        "c3 receive 1 -> m2 lock=c",
        {"ORD-1": 1, "ORD-2": 1},
    ),
    "sent at the same time": (
        "c1 send m1 key=k @0s-3s\nc2 send m2 key=k @1s-2s\nc3 receive 2 -> m2 lock=a, m1 lock=b @4s-5s",
        {},
    ),
    "of one batch": (
        "c1 send m1 key=k, m2 key=k\nc3 receive 2 -> m2 lock=a, m1 lock=b",
        {},
    ),
    "without keys": (
        "c1 send m1\nc1 send m2\nc3 receive 1 -> m2 lock=a\nc3 receive 1 -> m1 lock=b",
        {},
    ),
    "receives at the same time": (
        f"{SENDS}\nc2 receive 1 -> m1 lock=a @10s-13s\nc3 receive 1 -> m2 lock=b @11s-12s",
        {"ORD-1": 1},
    ),
    "abandoned, and first again": (
        f"{SENDS}\nc2 receive 1 -> m1 lock=a\nc2 abandon a\nc3 receive 1 -> m1 lock=b\nc3 complete b\n"
        "c3 receive 1 -> m2 lock=c",
        {"ORD-1": 1, "ORD-3": 1},
    ),
    "its lock ended, and it is first again": (
        f"{SENDS}\nc2 receive 1 -> m1 lock=a\nenv advance 31s\nc3 receive 2 -> m1 lock=b, m2 lock=c",
        {"ORD-1": 1, "ORD-3": 1},
    ),
    "what a lost answer held": (
        f"{SENDS}\nc2 receive 1 -> unknown timeout\nc3 receive 1 -> m2 lock=b",
        {},
    ),
    "its consumer may have lost it by leaving, or not": (
        f"{SENDS}\nc2 receive 1 -> m1 lock=a\nc2 disconnect\nc3 receive 1 -> nothing\n"
        "c3 receive 1 -> m1 lock=b",
        {},
    ),
}

BAD: dict[str, tuple[str, str]] = {
    "m1 m0 m3 m2": (
        "c1 send m0 key=k\nc1 send m1 key=k\nc1 send m2 key=k\nc1 send m3 key=k\n"
        "c2 receive 1 -> m1 lock=a\nc2 complete a\nc2 receive 1 -> m0 lock=b\nc2 complete b\n"
        "c2 receive 1 -> m3 lock=c\nc2 complete c\nc2 receive 1 -> m2 lock=d\nc2 complete d",
        "ORD-1",
    ),
    "an answer in reverse": (f"{SENDS}\nc2 receive 3 -> m3 lock=a, m2 lock=b, m1 lock=c", "ORD-1"),
    "two of a key in flight": (
        f"{SENDS}\nc2 receive 1 -> m1 lock=a\nc3 receive 1 -> m2 lock=b",
        "ORD-2",
    ),
    "redelivered while another one is in flight": (
        f"{SENDS}\nc2 receive 2 -> m1 lock=a, m2 lock=b\nc2 abandon b\nc3 receive 1 -> m2 lock=c",
        "ORD-2",
    ),
    "what was abandoned is passed": (
        f"{SENDS}\nc2 receive 1 -> m1 lock=a\nc2 abandon a\nc3 receive 1 -> m2 lock=b\nc3 complete b\n"
        "c3 receive 1 -> m1 lock=c",
        "ORD-3",
    ),
    "what ran out is passed": (
        f"{SENDS}\nc2 receive 1 -> m1 lock=a\nenv advance 31s\nc3 receive 1 -> m2 lock=b\nc3 complete b\n"
        "c3 receive 1 -> m1 lock=c",
        "ORD-3",
    ),
}


@pytest.mark.parametrize("name", GOOD)
def test_what_is_allowed_is_counted_and_accepted(name: str) -> None:
    text, exercised = GOOD[name]
    found = inspect(history(text, QUEUE), [SCREEN])
    assert not found.findings and not found.open
    assert {id: min(times, 1) for id, times in found.exercised.items()} == exercised
    assert judge(history(text, QUEUE)).status is Judged.ACCEPTED


@pytest.mark.parametrize("name", BAD)
def test_what_is_not_allowed_is_found_and_named_by_screen_and_blame(name: str) -> None:
    text, rule = BAD[name]
    assert_owned(inspected(text, QUEUE), rule)
    assert judge(history(text, QUEUE)).status is Judged.REJECTED
    verdicts = check_history(history(text, QUEUE))
    assert [id for id, verdict in verdicts.items() if verdict.status is Status.VIOLATED] == [rule]


@pytest.mark.parametrize("name", BAD)
def test_none_of_it_is_a_rule_of_every_partitioned_queue(name: str) -> None:
    text, _ = BAD[name]
    assert judge(history(text, "partitioned-queue")).status is Judged.ACCEPTED
    assert not inspected(text, "partitioned-queue").findings


BY_PARTITION = admit(replace(PROFILES[QUEUE], name="by-partition", order=OrderDomain.PARTITION))
"""As the ordered queue, but a partition is one order domain."""

OTHERS = "c1 send m1 key=a\nc1 send m2 key=b\nc1 send m3"

PARTITIONS: dict[str, tuple[str, str | None]] = {
    "other keys are passed": (
        f"{OTHERS}\nc2 receive 1 -> m2@7 lock=l\nc2 complete l\nc2 receive 1 -> m1@7",
        "ORD-1",
    ),
    "a message without a key, too": (
        f"{OTHERS}\nc2 receive 1 -> m3@7 lock=l\nc2 complete l\nc2 receive 1 -> m1@7",
        "ORD-1",
    ),
    "another key is in flight": (f"{OTHERS}\nc2 receive 1 -> m1@7 lock=l\nc3 receive 1 -> m2@7", "ORD-2"),
    "in two partitions": (f"{OTHERS}\nc2 receive 1 -> m2@7 lock=l\nc2 receive 1 -> m1@8 lock=n", None),
    "an answer in any order": (f"{OTHERS}\nc2 receive 2 -> m2@7 lock=l, m1@7 lock=n", None),
}


@pytest.mark.parametrize("name", PARTITIONS)
def test_where_a_partition_is_the_domain_keys_say_nothing(name: str) -> None:
    text, rule = PARTITIONS[name]
    text = text.replace("@7", " partition=7").replace("@8", " partition=8")
    assert set(inspected(text, BY_PARTITION).findings) == {rule} - {None}
    expected = Judged.ACCEPTED if rule is None else Judged.REJECTED
    assert judge(history(text, BY_PARTITION)).status is expected


@pytest.mark.parametrize("what", ["c1 peek 5 -> m1", "c1 begin t1\nc1 send m9 txn=t1\nc1 commit t1"])
def test_the_judge_declines_what_the_profile_is_silent_about(what: str) -> None:
    judgement = judge(history(f"{SENDS}\n{what}", "partitioned-queue"))
    assert (judgement.status, judgement.kind) == (Judged.UNKNOWN, "not modelled")


BACK = "c1 send m1 key=k\nc1 send m2 key=j\nc2 receive 1 -> m1 partition=0 lock=a\nc2 abandon a\n"

RABBITMQ = {
    "in turn": (
        f"{BACK}c2 receive 2 -> m1 partition=0 lock=b\nc2 complete b\nc2 receive 1 -> m2 partition=0",
        set(),
    ),
    "what came back is passed": (
        f"{BACK}c2 receive 1 -> m2 partition=0 lock=b\nc2 complete b\nc2 receive 1 -> m1 partition=0",
        {"ORD-3"},
    ),
    "in another order": (
        "c1 send m1 key=k\nc1 send m2 key=j\nc2 receive 1 -> m2 partition=0 lock=a\nc2 complete a\n"
        "c2 receive 1 -> m1 partition=0 lock=b",
        {"ORD-1", "REB-3"},
    ),
    "several in flight": (
        "c1 send m1 key=k\nc1 send m2 key=k\nc2 receive 1 -> m1 partition=0 lock=a\n"
        "c2 receive 1 -> m2 partition=0 lock=b",
        set(),
    ),
}


@pytest.mark.parametrize("name", RABBITMQ)
def test_a_queue_of_rabbitmq_is_a_domain_and_what_comes_back_goes_first_without_prefetch(name: str) -> None:
    text, rules = RABBITMQ[name]
    assert set(inspected(text, "rabbitmq").findings) == rules
    assert set(inspected(text, prefetching()).findings) == rules - {"ORD-3"}
