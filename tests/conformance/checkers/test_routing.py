"""Keys and partitions: good histories, bad ones with the one rule that owns them, and the freedoms."""

from __future__ import annotations

import pytest
from told import inspected, violated

GOOD = {
    "equal keys, one partition, by every way to bear a key": (
        """
        p1 send m1 key=a
        p2 send m2 session=a
        p1 send m3 session=a key=a
        p2 send_batch m4 key=a, m5 key=a
        p1 receive 5 -> m1#3.1, m2#3.2, m3#3.3, m4#3.4, m5#3.5
        """,
        {"KEY-1": 1, "KEY-2": 2, "ROUTE-1": 4, "ROUTE-2": 4},
    ),
    "different keys may share a partition": (
        "p1 send m1 key=a\np1 send m2 key=b\np1 receive 2 -> m1#3.1, m2#3.2",
        {},
    ),
    "in and out of a transaction": (
        """
        p1 send m1 key=a
        p1 begin t1
        p1 send m2 key=a txn=t1
        p1 commit t1
        p1 receive 2 -> m1#3.1, m2#3.2
        """,
        {"TXN-8": 1, "ROUTE-1": 1, "KEY-2": 1, "TXN-5": 1},
    ),
    "across a fault": (
        """
        p1 send m1 key=a
        env partition_down 3
        p1 send m2 key=a -> error unavailable
        env partition_up 3
        p1 send m3 key=a
        env broker_kill
        env broker_start
        p1 send m4 key=a
        p1 receive 9 -> m1#3.1, m3#3.2, m4#3.3
        """,
        {"ROUTE-1": 2, "KEY-2": 2},
    ),
    "an ID sent twice is followed by nobody": (
        "p1 send m1 key=a\np1 send m1 key=a\np1 receive 2 -> m1#3.1, m1#4.1",
        {},
    ),
    "keyless messages go anywhere, a keyless batch to one partition": (
        "p1 send m1\np1 send_batch m2, m3\np1 receive 3 -> m1#3.1, m2#4.1, m3#4.2",
        {"ROUTE-3": 3, "ROUTE-9": 1, "KEY-5": 1},
    ),
    "a keyless batch over several partitions": (
        "p1 send_batch m2, m3\np1 receive 3 -> m2#4.1, m3#5.2",
        {"ROUTE-3": 2, "KEY-5": 1},
    ),
}

ROUTING = ("KEY-1", "KEY-2", "KEY-8", "ROUTE-1", "ROUTE-2", "ROUTE-3", "ROUTE-4", "ROUTE-9", "TXN-8")


@pytest.mark.parametrize("name", GOOD)
def test_good(name: str) -> None:
    text, exercised = GOOD[name]
    inspection = inspected(text)
    assert not inspection.findings
    counted = {rule: n for rule, n in inspection.exercised.items() if rule in ROUTING}
    assert counted == {rule: n for rule, n in exercised.items() if rule in ROUTING}


WHOLE_BY_KEY = """
    p1 send k1 key=b
    p2 send_batch k2 key=b, k3 key=b
    """
WHOLE_BY_SESSION = """
    p1 send s1 session=b
    p2 send_batch s2 session=b, s3 session=b
    """

BAD = {
    "alike in all that is visible": (
        "p1 send m1 key=a\np1 send m2 key=a\np1 receive 2 -> m1#3.1, m2#4.1",
        "ROUTE-2",
        "alike in all",
    ),
    "seen by peeks alone": (
        "p1 send m1 key=a\np1 send m2 key=a\np1 peek 1 -> m1#3.1\np1 peek 2 -> m2#4.1",
        "ROUTE-2",
        "alike in all",
    ),
    "in the partition that the broker names": (
        "p1 send m1 key=a\np1 send m2 key=a\np1 receive 2 -> m1 partition=3, m2 partition=4",
        "ROUTE-2",
        "alike in all",
    ),
    "by sender": (
        """
        p1 send m1 key=a
        p1 send m2 key=a
        p2 send m3 key=a
        p2 send m4 key=a
        p1 receive 9 -> m1#3.1, m2#3.2, m3#4.1, m4#4.2
        """,
        "ROUTE-2",
        "different senders",
    ),
    "by kind of send": (
        """
        p1 send m1 key=a
        p2 send m2 key=a
        p1 send_batch m3 key=a, m4 key=a
        p1 receive 9 -> m1#3.1, m2#3.2, m3#4.1, m4#4.2
        """,
        "ROUTE-2",
        "in a batch",
    ),
    "by kind of key": (
        """
        p1 send m1 key=a
        p1 send m2 key=a
        p1 send m3 session=a
        p1 send m4 session=a
        p1 receive 9 -> m1#3.1, m2#3.2, m3#4.1, m4#4.2
        """,
        "ROUTE-2",
        "one by session",
    ),
    "only in transactions": (
        """
        p1 send m1 key=a
        p1 begin t1
        p1 send m2 key=a txn=t1
        p1 commit t1
        p1 send m3 key=a
        p1 receive 9 -> m1#3.1, m2#4.1, m3#3.2
        """,
        "TXN-8",
        "transaction",
    ),
    "only session IDs": (
        WHOLE_BY_KEY + "p1 send m1 session=a\np1 send m2 session=a\n"
        "p1 receive 9 -> k1#5.1, k2#5.2, k3#5.3, m1#3.1, m2#4.1",
        "KEY-1",
        "session",
    ),
    "session IDs by different senders, where keys of different senders are whole": (
        WHOLE_BY_KEY + "p1 send m1 session=a\np2 send m2 session=a\n"
        "p1 receive 9 -> k1#5.1, k2#5.2, k3#5.3, m1#3.1, m2#4.1",
        "KEY-1",
        "session",
    ),
    "only partition keys": (
        WHOLE_BY_SESSION + "p1 send m1 key=a\np1 send m2 key=a\n"
        "p1 receive 9 -> s1#5.1, s2#5.2, s3#5.3, m1#3.1, m2#4.1",
        "KEY-2",
        "partition key",
    ),
    "since the broker was killed": (
        """
        p1 send m1 key=a
        p2 send m2 key=a
        p1 send n1 key=b
        env broker_kill
        env broker_start
        p1 send m3 key=a
        p2 send m4 key=a
        p1 receive 9 -> m1#3.1, m2#3.2, n1#3.3, m3#4.1, m4#4.2
        """,
        "ROUTE-1",
        "broker kill",
    ),
    "while another partition was down": (
        """
        p1 send m1 key=a
        p1 send m2 key=a
        env partition_down 7
        p1 send m3 key=a
        env partition_up 7
        p1 send m4 key=a
        p1 receive 9 -> m1#3.1, m2#3.2, m3#4.1, m4#3.3
        """,
        "ROUTE-1",
        "partition down",
    ),
    "while its own partition was down": (
        """
        p1 send m1 key=a
        env partition_down 3
        p1 send m2 key=a
        env partition_up 3
        p1 send m3 key=a
        p1 receive 9 -> m1#3.1, m2#4.1, m3#3.2
        """,
        "ROUTE-5",
        "partition was down",
    ),
    "a transaction is no excuse for a key that is split elsewhere": (
        """
        p1 begin t1
        p1 send m1 key=a txn=t1
        p1 commit t1
        p1 send m2 key=a
        p1 send m3 key=a
        p1 receive 9 -> m1#3.1, m2#4.1, m3#5.1
        """,
        "ROUTE-2",
        "alike in all",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad(name: str) -> None:
    text, rule, because = BAD[name]
    findings = inspected(text).findings
    assert set(findings) == {rule}
    (finding,) = findings[rule]
    assert because in finding.detail
    assert "key 'a'" in finding.detail
    assert len(finding.witness) >= 2


def test_a_message_that_is_nowhere_proves_nothing() -> None:
    inspection = inspected("p1 send m1 key=a\np1 send m2 key=a\np1 receive 1 -> m1#3.1")
    assert not inspection.findings
    assert "ROUTE-1" not in inspection.exercised


def test_the_explanation_with_the_fewest_objections_is_taken() -> None:
    """The split pair lies across a kill, in a transaction; but other pairs in transactions are whole."""
    text = """
        p1 send m1 key=a
        p1 begin t1
        p1 send n1 key=b txn=t1
        p1 commit t1
        p1 send n2 key=b
        env broker_kill
        env broker_start
        p1 begin t2
        p1 send m2 key=a txn=t2
        p1 commit t2
        p1 receive 9 -> m1#3.1, n1#5.1, n2#5.2, m2#4.1
        """
    assert violated(text) == {"ROUTE-1"}


def test_a_kill_may_move_keys_where_the_profile_says_so() -> None:
    text = """
        p1 send m1 key=a @1-2
        env broker_kill @10-11
        p1 send m2 key=a -> unknown connection_lost @5-12
        env broker_start @20-21
        p1 send m3 key=a @30-31
        p1 receive 9 -> m1 partition=1, m2 partition=2, m3 partition=3
        """
    assert violated(text, "rabbitmq") == set()
    again = text + "p1 send m4 key=a\np1 receive 9 -> m4 partition=1"
    assert violated(again, "rabbitmq") == {"ROUTE-2"}


def test_an_anomaly_is_never_given_to_a_rule_that_the_profile_does_not_have() -> None:
    text = WHOLE_BY_KEY + (
        "p1 send m1 session=a\np1 send m2 session=a\n"
        "p1 receive 9 -> k1 partition=5, k2 partition=5, k3 partition=5, m1 partition=3, m2 partition=4"
    )
    assert violated(text) == {"KEY-1"}
    assert violated(text, "rabbitmq") == {"ROUTE-2"}


def keyless(partitions: list[int], extra: str = "") -> str:
    """One keyless message to each of these partitions, all received."""
    sends = "".join(f"p1 send m{n}\n" for n, _ in enumerate(partitions))
    counters: dict[int, int] = {}
    shown = []
    for n, partition in enumerate(partitions):
        counters[partition] = counters.get(partition, 0) + 1
        shown.append(f"m{n}#{partition}.{counters[partition]}")
    return f"{sends}{extra}p1 receive 9999 -> {', '.join(shown)}"


@pytest.mark.parametrize(
    ("partitions", "count", "verdict"),
    [
        (16, [7] * 9, {"ROUTE-4"}),
        (16, [7] * 8, set()),
        (4, [1] * 17, {"ROUTE-4"}),
        (4, [1, 2, 3, 4] * 20, set()),
        (4, [1, 2, 3] * 60, {"ROUTE-4"}),
        (4, [1, 2, 3] * 20, set()),
        (2, [1] * 32, {"ROUTE-4"}),
        (2, [1] * 31, set()),
        (2, [1] * 40 + [2] * 20, set()),
        (1, [1] * 500, set()),
    ],
)
def test_balance(partitions: int, count: list[int], verdict: set[str]) -> None:
    profile = "azure-standard" if partitions == 16 else "azure-premium"
    assert violated(keyless(count), profile, partitions=partitions) == verdict


def test_balance_counts_what_was_not_seen_as_anywhere() -> None:
    unseen = "".join(f"p2 send u{n}\n" for n in range(40))
    assert violated(keyless([7] * 12)) == {"ROUTE-4"}
    assert violated(keyless([7] * 12, unseen)) == set()


def test_balance_is_judged_only_while_all_is_up() -> None:
    down = "".join(f"env partition_down {n}\n" for n in range(1, 16) if n != 7)
    assert violated(down + keyless([7] * 12)) == set()


def test_freedoms_are_never_flagged() -> None:
    text = "p1 send_batch m1, m2\np1 send_batch m3, m4\np1 receive 4 -> m1#1.1, m2#1.2, m3#9.1, m4#9.2"
    inspection = inspected(text)
    assert inspection.exercised["ROUTE-3"] == 4
    assert inspection.exercised["ROUTE-9"] == 2
    assert not inspection.findings
