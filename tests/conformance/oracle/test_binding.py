"""A requirement that does not bind the family is not enforced, and never blamed; its twin that binds is."""

from __future__ import annotations

import pytest

from partq.conformance.history.notation import history
from partq.conformance.oracle.blame import Blame, blame
from partq.conformance.oracle.judge import Judged
from partq.model.profiles import requirements_of

FLOW = (
    "p send m1 key=a @1-2\np send m2 key=a @3-4\np bind f @5-6\nenv assignment 0 f ready @5000000006\n"
    "env assignment 1 f ready @5000000006\n"
)
GONE = f"{FLOW}p receive 1 flow=f -> m1 lock=l @5000000008-5000000009\np unbind f @5000000010-5000000011\n"
EXPIRED = "p send m1\np receive 1 -> m1#1.1 lock=l count=0\nenv advance 31s\n"
LONGER = "p send m1 @1-2\np receive 1 -> m1#{} lock=l until=30000000009 @3-4"

Told = tuple[str, str]
"""A profile and what happened."""

PAIRS: dict[str, tuple[str, Told, Told]] = {
    "a lost lock completes": (
        "RCV-8",
        ("solace", f"{GONE}p complete l @5000000012-5000000013"),
        ("azure-premium", f"{EXPIRED}p complete l"),
    ),
    "a lost lock is renewed": (
        "RCV-8",
        ("solace", f"{GONE}p renew_lock l @5000000012-5000000013"),
        ("azure-premium", f"{EXPIRED}p renew_lock l"),
    ),
    "a lock lasts longer than its duration": (
        "RCV-13",
        ("azure-flat", LONGER.format("1")),
        ("azure-premium", LONGER.format("1.1")),
    ),
    "a keyed send to a partition that is down": (
        "ROUTE-5",
        ("solace", f"{FLOW}env partition_down 0\nenv partition_down 1\np send m3 key=a"),
        (
            "azure-premium",
            "p send m1 key=a\nenv partition_down 1\np send m2 key=a\nq peek 2 -> m1#1.1, m2#1.2",
        ),
    ),
    "a keyless send refused twice while partitions are down": (
        "ROUTE-6",
        ("solace", "env partition_down 0\np send m1 -> error unavailable\np send m2 -> error unavailable"),
        (
            "azure-premium",
            "env partition_down 1\np send m1 -> error unavailable\np send m2 -> error unavailable",
        ),
    ),
    "keyed sends refused while another partition is down": (
        "ROUTE-7",
        (
            "solace",
            f"{FLOW}p receive 1 flow=f -> m1 lock=l @5000000008-5000000009\n"
            "env partition_down 1 @5000000010-5000000011\n"
            "p complete l -> error unavailable @5000000012-5000000013\n"
            "p complete l -> error unavailable @5000000014-5000000015",
        ),
        (
            "azure-premium",
            "p send m1 key=a\np receive 1 -> m1#1.1 lock=l\nenv partition_down 2\n"
            "p complete l -> error unavailable\np complete l -> error unavailable",
        ),
    ),
    "stored while no partition serves": (
        "ROUTE-8",
        ("azure-flat", "env partition_down 0\np send m1\nenv partition_up 0\np receive 1 delete -> m1#1"),
        (
            "azure-premium",
            "env partition_down 1\nenv partition_down 2\np send m1\nenv partition_up 1\n"
            "p receive 1 delete -> m1#1.1",
        ),
    ),
    "numbers out of order": (
        "SEQ-3",
        ("solace", FLOW + "p receive 2 flow=f -> m1#7, m2#3 @5000000008-5000000009"),
        ("azure-premium", "p send m1 key=a\np send m2 key=a\np receive 2 -> m2#1.3, m1#1.7"),
    ),
    "an enqueued time after the delivery": (
        "SEQ-7",
        ("solace", FLOW + "p receive 1 flow=f -> m1 enqueued=9000000000 @5000000008-5000000009"),
        ("azure-premium", "p send m1 @1-2\np receive 1 -> m1#1.1 enqueued=9000000000 @8-9"),
    ),
}


def told(profile: str, text: str) -> Blame:
    return blame(history(text, profile, partitions=1 if profile == "azure-flat" else 2))


@pytest.mark.parametrize("name", PAIRS)
def test_what_does_not_bind_is_not_enforced(name: str) -> None:
    requirement, free, bound = PAIRS[name]
    assert requirement not in requirements_of(free[0]) and requirement in requirements_of(bound[0])
    assert told(*free).judgement.status is Judged.ACCEPTED
    said = told(*bound)
    assert said.judgement.status is Judged.REJECTED and requirement in said.candidates


NEVER: dict[str, Told] = {
    "a refused send is stored": ("azure-flat", "p send m1 -> error timeout\np receive 1 delete -> m1#1"),
    "half a refused batch is stored": (
        "azure-flat",
        "p send_batch m1, m2 -> error timeout\np receive 1 delete -> m1#1",
    ),
    "a valid request is refused for good in an outage": (
        "azure-flat",
        "env partition_down 0\np send m1 -> error invalid_operation",
    ),
    "a lock ends before the time that is shown, which is late": (
        "azure-flat",
        "p send m1\nq receive 1 -> m1#1 lock=l until=60s count=0\nenv advance 31s\n"
        "q receive 1 delete -> m1#1 count=1",
    ),
    "a lost lock is refused, and settles": (
        "solace",
        f"{GONE}p complete l -> error lock_lost @5000000012-5000000013\nenv drained @5000000014-5000000015",
    ),
    "a key moves while its partition is down": (
        "solace",
        FLOW.replace("env assignment 1 f ready @5000000006\n", "")
        + "q bind g @5000000007-5000000008\nenv assignment 1 g ready @10000000010\n"
        "q receive 1 flow=g -> m2 @10000000012-10000000013",
    ),
}


@pytest.mark.parametrize("name", NEVER)
def test_what_others_forbid_is_rejected_and_blamed_on_them(name: str) -> None:
    profile, text = NEVER[name]
    said = told(profile, text)
    assert said.judgement.status is Judged.REJECTED
    assert set(said.consulted) <= requirements_of(profile)
