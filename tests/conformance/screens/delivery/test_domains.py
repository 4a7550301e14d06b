"""Order domains: what the screen counts, what it finds, and that the judge and blame say the same."""

from __future__ import annotations

from dataclasses import replace

import pytest
from inspections import inspected

from partq.conformance.adapters.rabbitmq import prefetching
from partq.conformance.history.notation import history
from partq.conformance.oracle.judge import Judged, judge
from partq.model.profiles import PROFILES, OrderDomain, admit

QUEUE = "ordered-queue"

SENDS = "c1 send m1 key=k\nc1 send m2 key=k\nc1 send m3 key=k\nc1 send x1 key=other"


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
    "a prefetched message came back, too": (
        f"{BACK}c2 receive 1 -> m2 partition=0 lock=b redelivered=yes\nc2 complete b\n"
        "c2 receive 1 -> m1 partition=0",
        set(),
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
