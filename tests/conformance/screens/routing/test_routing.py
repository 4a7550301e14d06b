"""Keys and partitions: good histories, bad ones with the one rule that owns them, and the freedoms."""

from __future__ import annotations

import pytest
from inspections import inspected, violated

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


BASE = {
    "alike in all that is visible": (
        "p1 send m1 key=a\np1 send m2 key=a\np1 receive 2 -> m1#3.1, m2#4.1",
        "neither sender, connection",
    ),
    "seen by peeks alone": (
        "p1 send m1 key=a\np1 send m2 key=a\np1 peek 1 -> m1#3.1\np1 peek 2 -> m2#4.1",
        "neither sender, connection",
    ),
    "in the partition that the broker names": (
        "p1 send m1 key=a\np1 send m2 key=a\np1 receive 2 -> m1 partition=3, m2 partition=4",
        "neither sender, connection",
    ),
    "by sender": (
        """
        p1 send m1 key=a
        p1 send m2 key=a
        p2 send m3 key=a
        p2 send m4 key=a
        p1 receive 9 -> m1#3.1, m2#3.2, m3#4.1, m4#4.2
        """,
        "depends on the key and the sender or the connection",
    ),
    "by kind of send": (
        """
        p1 send m1 key=a
        p2 send m2 key=a
        p1 send_batch m3 key=a, m4 key=a
        p2 send_batch m5 key=a, m6 key=a
        p1 receive 9 -> m1#3.1, m2#3.2, m3#4.1, m4#4.2, m5#4.3, m6#4.4
        """,
        "depends on the key and the operation",
    ),
    "by kind of key": (
        """
        p1 send m1 key=a
        p1 send m2 key=a
        p1 send m3 session=a
        p1 send m4 session=a
        p1 receive 9 -> m1#3.1, m2#3.2, m3#4.1, m4#4.2
        """,
        "depends on the key and the kind of key",
    ),
    "by size": (
        """
        p1 send m1 key=a body=x
        p1 send m2 key=a body=xx
        p1 send m3 key=a body=x
        p1 send m4 key=a body=yy
        p1 receive 9 -> m1#3.1 body=x, m2#4.1 body=xx, m3#3.2 body=x, m4#4.2 body=yy
        """,
        "depends on the key and the length of the body",
    ),
    "by any of several": (
        """
        p1 send m1 key=a
        p2 send_batch m2 key=a, m3 key=a
        p1 receive 9 -> m1#3.1, m2#4.1, m3#4.2
        """,
        "depends on the key and the sender, the connection or the operation",
    ),
    "too little speaks for the transaction": (
        "p1 send m1 key=a\np1 begin t\np1 send m2 key=a txn=t\np1 commit t\np1 receive 9 -> m1#3.1, m2#4.1",
        "neither sender, connection",
    ),
    "too little speaks for the fault": (
        "p1 send m1 key=a\nenv broker_kill\nenv broker_start\np1 send m2 key=a\n"
        "p1 receive 9 -> m1#3.1, m2#4.1",
        "neither sender, connection",
    ),
}
"""Splits that are ROUTE-2's, and what may explain them: a guess, so that all are of one cause."""


@pytest.mark.parametrize("name", BASE)
def test_equal_keys_in_two_partitions(name: str) -> None:
    text, because = BASE[name]
    findings = inspected(text).findings
    assert set(findings) == {"ROUTE-2"}
    (finding,) = findings["ROUTE-2"]
    assert because in finding.detail
    assert ("is consistent with" in finding.detail) == because.startswith("depends")
    assert "key 'a'" in finding.detail
    assert finding.key == "ROUTE-2/apart"
    assert len(finding.witness) >= 2


def sends(attributes: str, *places: str) -> tuple[str, str]:
    """Sends of one message for each place, and what is shown of them; `p` and a number for each."""
    lines, shown = [], []
    for place in places:
        sends.serial += 1  # type: ignore[attr-defined]
        name = f"x{sends.serial}"  # type: ignore[attr-defined]
        lines.append(f"p{sends.serial % 2} send {name} {attributes}")  # type: ignore[attr-defined]
        shown.append(f"{name} partition={place}")
    return "\n".join(lines) + "\n", ", ".join(shown)


sends.serial = 0  # type: ignore[attr-defined]


def told(*parts: str | tuple[str, str]) -> str:
    """Lines, and sends as `sends` gives them; at the end all of those are received."""
    lines = [part if isinstance(part, str) else part[0] for part in parts]
    shown = [part[1] for part in parts if not isinstance(part, str)]
    return "".join(lines) + f"p1 receive 99 -> {', '.join(shown)}\n"


def in_transactions(attributes: str, *places: str) -> tuple[str, str]:
    """The same sends, each in a transaction of its own."""
    lines, shown = sends(attributes, *places)
    wrapped = []
    for n, line in enumerate(lines.splitlines()):
        proc, name = line.split()[0], f"t{n}-{line.split()[2]}"
        wrapped += [f"{proc} begin {name}", f"{line} txn={name}", f"{proc} commit {name}"]
    return "\n".join(wrapped) + "\n", shown


KILL = "env broker_kill\nenv broker_start\n"

SPECIAL = {
    "only session IDs": (
        told(sends("key=b", *"5555555"), sends("session=a", "3", "4", "5")),
        "KEY-1",
        "the key unless it is a session ID",
    ),
    "only session IDs, beside the same key without": (
        told(sends("key=a", *"5555555"), sends("session=a", "3", "5", "4")),
        "KEY-1",
        "the key unless it is a session ID",
    ),
    "only partition keys": (
        told(sends("session=b", *"5555555"), sends("key=a", "3", "4", "5")),
        "KEY-2",
        "the key only if it is a session ID",
    ),
    "only in transactions": (
        told(sends("key=a", *"33333"), in_transactions("key=a", *"44")),
        "TXN-8",
        "the key and whether it is sent in a transaction",
    ),
    "since the broker was killed": (
        told(sends("key=a", *"3333"), KILL, sends("key=a", *"5555")),
        "ROUTE-1",
        "the key and the last broker kill before the send",
    ),
    "since a front end was lost": (
        told(sends("key=a", *"33333"), "env frontend_lost q\n", sends("key=a", *"55555")),
        "ROUTE-1",
        "the key and the last frontend lost before the send",
    ),
    "since a partition was down": (
        told(sends("key=a", *"33333"), "env partition_down 7\n", sends("key=a", *"55555")),
        "ROUTE-1",
        "the key and the last partition down before the send",
    ),
    "since a partition came back": (
        told(
            sends("key=a", *"33333"),
            "env partition_down 7\n",
            sends("key=a", *"33"),
            "env partition_up 7\n",
            sends("key=a", *"55555"),
        ),
        "ROUTE-1",
        "the key and the last partition up before the send",
    ),
    "while its own partition was down": (
        told(
            sends("key=a", *"333333"),
            "env partition_down 3\n",
            sends("key=a", *"57"),
            "env partition_up 3\n",
            sends("key=a", *"333"),
        ),
        "ROUTE-5",
        "whether the key's own partition was down",
    ),
}


@pytest.mark.parametrize("name", SPECIAL)
def test_a_special_rule_owns_what_enough_speaks_for(name: str) -> None:
    text, rule, because = SPECIAL[name]
    inspection = inspected(text)
    assert set(inspection.findings) == {rule}
    assert inspection.findings[rule][0].detail.endswith(
        f"consistent with a partition that depends on {because}"
    )
    assert {finding.key for finding in inspection.findings[rule]} == {f"{rule}/apart"}


def test_a_special_rule_for_which_too_little_speaks_is_open() -> None:
    inspection = inspected(told(sends("key=b", "5", "5"), sends("session=a", "3", "4", "5")))
    assert set(inspection.findings) == {"ROUTE-2"}
    assert inspection.open["KEY-1"].endswith("depends on the key unless it is a session ID")
    assert "KEY-2" not in inspection.open


def test_one_send_astray_proves_nothing_special() -> None:
    """It is the only one in a transaction, but that may be chance."""
    text = told(sends("key=a", *"333333"), in_transactions("key=a", "4"))
    assert violated(text) == {"ROUTE-2"}


def test_with_few_partitions_coincidences_say_little() -> None:
    text = told(sends("key=b", *"1111111"), sends("session=a", *"1221"))
    assert violated(text, "azure-premium", partitions=4) == {"KEY-1"}
    assert violated(text, "azure-premium", partitions=2) == {"ROUTE-2"}


def test_what_is_sent_at_once_counts_once() -> None:
    batch = ", ".join(f"b{n} key=b" for n in range(7))
    shown = ", ".join(f"b{n} partition=5" for n in range(7))
    text = told((f"p1 send_batch {batch}\n", shown), sends("session=a", "3", "4", "5"))
    assert violated(text) == {"ROUTE-2"}


def test_a_message_that_is_nowhere_proves_nothing() -> None:
    inspection = inspected("p1 send m1 key=a\np1 send m2 key=a\np1 receive 1 -> m1#3.1")
    assert not inspection.findings
    assert "ROUTE-1" not in inspection.exercised


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
    text = told(sends("key=b", *"5555555"), sends("session=a", "3", "4", "5"))
    assert violated(text) == {"KEY-1"}
    assert violated(text, "rabbitmq") == {"ROUTE-2"}


def test_a_message_with_two_keys_is_not_looked_for_by_either() -> None:
    text = (
        "p1 send m1 session=a key=b -> unknown timeout\np1 send m2 session=a\np1 receive 2 -> m1#3.1, m2#4.1"
    )
    assert violated(text) == {"KEY-3"}


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
