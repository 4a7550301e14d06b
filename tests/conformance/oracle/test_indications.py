"""Messages that complied tell which requirement is broken where equal keys are in two partitions."""

from __future__ import annotations

import pytest

from partq.conformance.history.notation import history
from partq.conformance.oracle.indications import KINDS, contradicted

CASES: dict[str, tuple[str, set[str]]] = {
    "all is where it belongs": ("p send m1 key=a\np send m2 key=a\nq receive 2 -> m1#1.1, m2#1.2", set()),
    "a message of a session": (
        "p send m1 session=a\np send m2 session=a\np send m3 session=a\n"
        "q receive 3 -> m1#1.1, m2#1.2, m3#2.1",
        {"KEY-2", "ROUTE-5", "TXN-8"},
    ),
    "one with a partition key, in an outage": (
        "p send m1 key=a\np send m2 key=a\nenv partition_down 1\np send m3 key=a\nenv partition_up 1\n"
        "q receive 3 -> m1#1.1, m2#1.2, m3#2.1",
        {"KEY-1", "TXN-8"},
    ),
    "the same after the outage": (
        "p send m1 key=a\np send m2 key=a\nenv partition_down 1\nenv partition_up 1\np send m3 key=a\n"
        "q receive 3 -> m1#1.1, m2#1.2, m3#2.1",
        {"KEY-1", "ROUTE-5", "TXN-8"},
    ),
    "what a transaction sent": (
        "p send m1 key=a\np send m2 key=a\np begin t\np send m3 key=a txn=t\np commit t\n"
        "q receive 3 -> m1#1.1, m2#1.2, m3#2.1",
        {"KEY-1", "ROUTE-5"},
    ),
    "a batch counts once, and is of the kinds of all that it holds": (
        "p send m1 key=a\np send m2 key=a\np send_batch m3 session=a, m4 key=a\n"
        "q receive 4 -> m1#1.1, m2#1.2, m3#2.1, m4#2.2",
        {"ROUTE-5", "TXN-8"},
    ),
    "as many in two places, each of which may be the key's": (
        "p begin t\np send m1 key=a txn=t\np commit t\np send m2 key=a\nq receive 2 -> m1#1.1, m2#2.1",
        {"KEY-1", "ROUTE-5"},
    ),
    "of every kind one": (
        "p send m1 key=a\np send m2 key=a\np send m3 key=a\np send m4 session=a\n"
        "q receive 4 -> m1#1.1, m2#1.2, m3#2.1, m4#3.1",
        set(KINDS),
    ),
    "what was refused says nothing": (
        "p send m1 key=a\np send m2 key=a\np send m3 key=a -> error timeout\n"
        "q receive 3 -> m1#1.1, m2#1.2, m3#2.1",
        set(),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_contradicted(name: str) -> None:
    text, ids = CASES[name]
    assert contradicted(history(text, "azure-standard", partitions=16)) == ids
