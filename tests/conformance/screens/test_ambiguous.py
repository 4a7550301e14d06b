"""One of several rules certainly broken: what makes it sure, and what does not."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
from inspections import inspected

from partq.conformance.screens.protocol import Report


class Told(NamedTuple):
    """A history, its profile and settings, and the rules of which one is certainly broken; none: nothing
    is."""

    profile: str
    text: str
    candidates: set[str]
    settings: dict[str, Any]


def told(profile: str, text: str, *candidates: str, **settings: Any) -> Told:
    return Told(profile, text, set(candidates), settings)


OLD_ACK = (
    "p send m1\nc1 receive 1 -> m1#1 lock=l\nenv connection_lost c1\n"
    "c2 receive 1 -> m1#1 lock=k\nc1 complete l"
)
NINE = "p send m1\n" + "".join(
    f"p receive 1 -> m1#1 lock=l{n} count={n} until=30s\np abandon l{n}\n" for n in range(9)
)
LAST = (
    "p receive 1 -> m1#1 lock=x count=9\np begin t\np complete x txn=t\np rollback t\n"
    "env advance 31s\nenv drained"
)
BATCH = (
    "p send_batch m1 key=a, m2 key=a\nenv advance 399s\nq receive 1 delete -> m1#1.1 count=9\n"
    "env advance 99s\nenv drained"
)

RENEWED = (
    "p send m1\np send m2\np receive 2 -> m1#1 lock=l until=30s, m2#2 lock=k until=30s\np renew_lock l -> "
)
HELD = "p send m1\np receive 1 -> m1#1 lock=l until=30s\np complete l -> error "

CASES = {
    "dead-lettered by the lock that a transaction used": told("azure-flat", NINE + LAST),
    "not dead-lettered, where eleven are allowed": told(
        "azure-flat", NINE + LAST, "TXN-5", "RCV-2", "RCV-8", max_delivery_count=11
    ),
    "two numbers of a message that was locked at the time": told(
        "azure-flat",
        "p send m1\np receive 1 -> m1#1 lock=l until=30s\nq peek 1 -> m1#2\nq peek 1 -> m1#1",
        "SEQ-6",
        "RCV-6",
        "RCV-7",
    ),
    "a renewal that shows another message": told("azure-flat", RENEWED + "m2#2", "RCV-1", "RCV-8"),
    "a lock that holds refused as invalid": told("azure-flat", HELD + "invalid_operation", "RCV-2", "RCV-6"),
    "peeked when it was gone, or back by a receive called before": told(
        "azure-flat",
        "p send m1\nc3 receive 1 ...\nc2 receive 1 -> m1#1 lock=l count=0 until=30s\nc2 complete l\n"
        "c1 peek 9 -> m1#1\nc3 -> m1#1 lock=k count=0 until=30s\nc3 complete k\nenv drained",
        "RCV-6",
        "RCV-7",
    ),
    "a commit that a fault must not undo": told(
        "azure-standard",
        "p send h key=a\np receive 1 -> h#3.1 lock=l until=25s\np begin t\np complete l txn=t\np commit t\n"
        "env partition_down 3\nenv partition_up 3\np receive 1 delete -> h#3.1",
        "TXN-5",
        "RCV-7",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_sure(name: str) -> None:
    case = CASES[name]
    inspection = inspected(case.text, case.profile, **case.settings)
    assert not inspection.findings
    assert inspection.open, "nothing was noticed at all"
    assert {rule for rules in inspection.candidates.values() for rule in rules} == case.candidates


DEAD_LETTERED = {
    "one of a batch, by locks of caches": ("azure-premium", BATCH, 10),
    "by locks of caches that faults ended": (
        "azure-premium",
        "p send m1 key=a\n"
        + "env partition_down 3\nenv partition_up 3\n" * 5
        + "env advance 99s\nenv drained",
        8,
    ),
}


@pytest.mark.parametrize("name", DEAD_LETTERED)
def test_what_may_have_been_dead_lettered_is_not_missed(name: str) -> None:
    profile, text, limit = DEAD_LETTERED[name]
    inspection = inspected(text, profile, max_delivery_count=limit)
    assert not inspection.findings and not inspection.open
    missed = inspected(text, profile, max_delivery_count=100)
    assert missed.findings or missed.open


def test_where_only_one_rule_applies_it_is_that_one() -> None:
    """Half a batch is missing. On a flat queue no rule is about batches: it is lost."""
    text = "p send_batch m1, m2\np receive 9 delete -> m1#1\nenv drained"
    assert set(inspected(text, "azure-flat").findings) == {"RCV-2"}


APART = "p send a key=k\np send b key=k\np receive 1 -> a count=0 lock=l\np abandon l\np receive 1 -> {}"

ALLOWED = {
    "an old lock settles, where RCV-8 is no rule": ("rabbitmq", OLD_ACK),
    "a count that does not rise, where RCV-9 is no rule": ("ordered-queue", APART.format("a count=0 lock=k")),
}


@pytest.mark.parametrize("name", ALLOWED)
def test_what_a_rule_that_does_not_apply_explains_is_allowed(name: str) -> None:
    profile, text = ALLOWED[name]
    inspection = inspected(text, profile)
    assert not inspection.findings
    assert not inspection.open


def test_of_several_ambiguities_those_count_whose_rules_all_apply() -> None:
    report = Report()
    report.ambiguous(("RCV-6", "RCV-9"), "the count did not rise")
    report.ambiguous(("RCV-6", "RCV-7"), "peeked when it was gone")
    report.settle({"RCV-9"})
    assert report.open == dict.fromkeys(("RCV-6", "RCV-7"), "peeked when it was gone")
    assert report.candidates == dict.fromkeys(("RCV-6", "RCV-7"), ("RCV-6", "RCV-7"))


NOTHING = {
    "a lock lasts too long, where RCV-13 is no rule": "p send m1\np receive 1 -> m1#1 lock=l until=40s",
    "a renewal that shows its message": RENEWED + "m1#1",
    "a lock that lasts as long as it may": "p send m1\np receive 1 -> m1#1 lock=l until=30s",
    "a lock that holds refused for now": HELD + "unavailable",
    "a lock that does not hold refused as invalid": HELD.replace("until=30s", "until=1s").replace(
        "p complete", "env advance 2s\np complete"
    )
    + "invalid_operation",
}


@pytest.mark.parametrize("name", NOTHING)
def test_what_is_nothing(name: str) -> None:
    inspection = inspected(NOTHING[name], "azure-flat")
    assert not inspection.findings
    assert not inspection.open


def test_a_lock_that_no_delivery_bears_settles_where_rcv_8_is_no_rule() -> None:
    inspection = inspected("c1 bind f1\nc1 complete l", "solace")
    assert not inspection.findings
    assert not inspection.open
