"""Peeking: good histories, bad ones with the one rule that owns them, and what is left open."""

from __future__ import annotations

import pytest
from inspections import assert_open, assert_owned, inspected

from partq.conformance.screens.peeking.answers import SCREEN
from partq.conformance.screens.registry import ALL

FLAT = "azure-flat"
STANDARD = "azure-standard"

THREE = "p1 send m1\np1 send m2\np1 send m3\n"
KEYED = "p1 send m1 key=a\np1 send m2 key=a\np1 send m3 key=a\n"
REST = "p9 receive 9 delete -> m1#1, m2#2, m3#3\nenv drained\n"
KEYED_REST = "p9 receive 9 delete -> m1#3.1, m2#3.2, m3#3.3\nenv drained\n"

GOOD: dict[str, tuple[str, str, dict[str, int]]] = {
    "a walk to the end": (
        FLAT,
        THREE + "p1 peek 2 -> m1#1, m2#2\np1 peek 2 -> m3#3\np1 peek 2 -> nothing\n" + REST,
        {"PEEK-1": 2, "PEEK-4": 2, "PEEK-5": 2, "PEEK-6": 3},
    ),
    "a walk without numbers": (
        FLAT,
        THREE + "p1 peek 2 -> m1, m2\np1 peek 2 -> m3\np1 peek 2 -> nothing\n" + REST,
        {"PEEK-4": 2},
    ),
    "each client walks alone": (
        FLAT,
        THREE + "p1 peek 2 -> m1#1, m2#2\np2 peek 2 -> m1#1, m2#2\np2 peek 2 -> m3#3\n" + REST,
        {"PEEK-5": 1},
    ),
    "from a number, cursor unmoved": (
        FLAT,
        THREE + "p1 peek 1 -> m1#1\np1 peek 9 from=3 -> m3#3\np1 peek 1 -> m2#2\n" + REST,
        {"PEEK-1": 3},
    ),
    "in states of any name, and in those that clients made": (
        FLAT,
        "p1 send m1\np1 send m2 at=60min\np2 receive 1 -> m1#1 lock=l1\np1 peek 9 -> m1#1 state=locked\n"
        "p2 defer l1\np1 peek 9 from=0 -> m1#1 state=deferred, m2#2 state=scheduled",
        {"PEEK-1": 2},
    ),
    "from a number beyond": (FLAT, THREE + "p1 peek 9 from=4 -> nothing\n" + REST, {}),
    "an answer may stop short": (FLAT, THREE + "p1 peek 9 -> m1#1\n" + REST, {"PEEK-4": 1}),
    "partitions in any order and mix": (
        STANDARD,
        """
        p1 send m1 key=a
        p1 send m2 key=b
        p1 send m3 key=b
        p1 peek 9 -> m2#4.1
        p1 peek 9 -> m1#3.1, m3#4.2
        p1 peek 9 -> nothing
        p9 receive 9 delete -> m1#3.1, m2#4.1, m3#4.2
        env drained
        """,
        {"PEEK-2": 3, "PEEK-3": 1, "PEEK-5": 2},
    ),
    "from a number: other partitions by their bits": (
        STANDARD,
        """
        p1 send m1 key=a
        p1 send m2 key=b
        p1 peek 9 from=4.0 -> m2#4.1
        p1 peek 9 from=4.2 -> nothing
        p1 peek 9 from=3.2 -> m2#4.1
        p9 receive 9 delete -> m1#3.1, m2#4.1
        env drained
        """,
        {"PEEK-2": 2},
    ),
    "over the roll-over": (
        STANDARD,
        """
        p1 send_batch m1 key=a, m2 key=a
        p1 peek 1 -> m1#3.max
        p1 peek 1 -> m2#3.0
        p1 peek 1 -> nothing
        p1 peek 9 from=3.max -> m1#3.max, m2#3.0
        p1 peek 9 from=3.0 -> m2#3.0
        p9 receive 9 delete -> m1#3.max, m2#3.0
        env drained
        """,
        {"PEEK-2": 4},
    ),
    "what was deleted is not there": (
        FLAT,
        THREE + "p2 receive 1 delete -> m1#1\np1 peek 9 -> m2#2, m3#3\n",
        {"PEEK-1": 1},
    ),
    "what is being completed need not be there": (
        FLAT,
        THREE
        + """
        p2 receive 1 -> m1#1 lock=l1 until=30s
        p2 complete l1 ...
        p1 peek 9 -> m2#2, m3#3
        p2 -> ok
        """,
        {"PEEK-1": 1},
    ),
    "what is being sent need not be there": (
        FLAT,
        "p1 send m1 ...\np2 send m2\np2 peek 9 -> m2#2\np1 -> ok\np2 peek 9 from=0 -> m1#1, m2#2",
        {"PEEK-1": 2},
    ),
    "a transaction's messages may come late": (
        FLAT,
        """
        p1 begin t1
        p1 send m1 txn=t1
        p1 commit t1
        p1 send m2
        p2 peek 9 from=0 -> m2#2
        p2 peek 9 from=0 -> m1#1, m2#2
        """,
        {"PEEK-1": 2},
    ),
    "a lost message is RCV-2's": (
        FLAT,
        THREE + "p1 peek 9 -> m2#2, m3#3\n" + REST.replace("m1#1, ", ""),
        {"PEEK-1": 1},
    ),
    "a partition that is down is not seen": (
        STANDARD,
        KEYED
        + """
        env partition_down 3
        p1 peek 9 -> nothing
        env partition_up 3
        """
        + KEYED_REST,
        {},
    ),
    "a lost front end may reset the cursor": (
        STANDARD,
        KEYED
        + """
        p1 peek 2 -> m1#3.1, m2#3.2
        p2 peek 2 -> m1#3.1, m2#3.2
        env frontend_lost p1
        p1 peek 2 -> m1#3.1, m2#3.2
        p2 peek 2 -> m3#3.3
        p1 peek 2 -> m3#3.3
        """
        + KEYED_REST,
        {"PEEK-5": 3},
    ),
    "a peek of unknown outcome may move the cursor later": (
        FLAT,
        THREE + "p1 peek 1 -> unknown timeout\np1 peek 1 -> m1#1\np1 peek 1 -> m3#3\n" + REST,
        {"PEEK-1": 2},
    ),
    "a peek of unknown outcome may have moved the cursor": (
        FLAT,
        THREE + "p1 peek 1 -> unknown timeout\np1 peek 1 -> m2#2\np1 peek 1 -> m3#3\n" + REST,
        {"PEEK-1": 2},
    ),
    "a locked message is shown": (
        FLAT,
        THREE
        + """
        p2 receive 2 -> m1#1 lock=l1 until=30s, m2#2 lock=l2 until=30s
        p1 peek 9 -> m1#1, m2#2, m3#3
        """,
        {"PEEK-7": 2},
    ),
    "counts follow the locks": (
        FLAT,
        """
        p1 send m1
        p1 peek 1 from=0 -> m1#1 count=0
        p2 receive 1 -> m1#1 lock=l1 count=0
        p2 abandon l1
        p1 peek 1 from=0 -> m1#1 count=1
        """,
        {"PEEK-6": 2},
    ),
    "a broker may count an expiry late": (
        FLAT,
        """
        p1 send m1
        p2 receive 1 -> m1#1 lock=l1 count=0 until=30s
        env advance 31s
        p1 peek 1 from=0 -> m1#1 count=0
        p1 peek 1 from=0 -> m1#1 count=1
        """,
        {},
    ),
    "an ID sent twice is not missed": (
        FLAT,
        "p1 send m1\np1 send m1\np1 send m2\np1 peek 9 -> m2#3\np9 receive 9 delete -> m1#1, m1#2, m2#3",
        {"PEEK-1": 1},
    ),
}


@pytest.mark.parametrize("name", GOOD)
def test_good(name: str) -> None:
    profile, text, exercised = GOOD[name]
    inspection = inspected(text, profile)
    assert not set(inspection.findings) & set(SCREEN.requirements)
    assert not set(inspection.open) & set(SCREEN.requirements)
    assert {rule: inspection.exercised.get(rule, 0) for rule in exercised} == exercised


BAD: dict[str, tuple[str, str, str]] = {
    "the oldest skipped": ("PEEK-1", FLAT, THREE + "p1 peek 9 -> m2#2, m3#3\n" + REST),
    "one in the middle skipped": ("PEEK-1", FLAT, THREE + "p1 peek 9 -> m1#1, m3#3\n" + REST),
    "skipped after the cursor": (
        "PEEK-1",
        FLAT,
        THREE + "p1 peek 1 -> m1#1\np1 peek 9 -> m3#3\n" + REST,
    ),
    "skipped after a number": ("PEEK-1", FLAT, THREE + "p1 peek 9 from=2 -> m3#3\n" + REST),
    "from before the number": ("PEEK-1", FLAT, THREE + "p1 peek 9 from=2 -> m1#1, m2#2\n" + REST),
    "out of order": ("PEEK-1", FLAT, THREE + "p1 peek 9 -> m2#2, m1#1\n" + REST),
    "skipped, without a drain": ("PEEK-1", FLAT, THREE + "p1 peek 9 -> m2#2\np1 peek 9 from=0 -> m1#1"),
    "skipped though a lock's holder shows it still there": (
        "PEEK-1",
        FLAT,
        THREE
        + """
        p1 peek 9 -> m2#2, m3#3
        p2 receive 1 -> m1#1 lock=l1 count=0 until=30s
        """,
    ),
    "a partition's oldest skipped": (
        "PEEK-2",
        STANDARD,
        KEYED + "p1 peek 9 -> m2#3.2\n" + KEYED_REST,
    ),
    "skipped over the roll-over": (
        "PEEK-2",
        STANDARD,
        """
        p1 send_batch m1 key=a, m2 key=a
        p1 peek 9 -> m2#3.0
        p9 receive 9 delete -> m1#3.max, m2#3.0
        env drained
        """,
    ),
    "skipped in one of two partitions": (
        "PEEK-2",
        STANDARD,
        KEYED
        + """
        p1 send m4 key=b
        p1 peek 9 -> m4#4.1, m1#3.1, m3#3.3
        p9 receive 9 delete -> m1#3.1, m2#3.2, m3#3.3, m4#4.1
        env drained
        """,
    ),
    "a message that is gone": (
        "PEEK-1",
        FLAT,
        """
        p1 send m1
        p2 receive 1 delete -> m1#1
        p1 peek 9 -> m1#1
        env drained
        """,
    ),
    "more than asked for": ("PEEK-4", FLAT, THREE + "p1 peek 2 -> m1#1, m2#2, m3#3\n" + REST),
    "nothing though messages are there": ("PEEK-4", FLAT, THREE + "p1 peek 9 -> nothing\n" + REST),
    "nothing from a number": ("PEEK-4", FLAT, THREE + "p1 peek 9 from=2 -> nothing\n" + REST),
    "nothing, and never seen, without a drain": ("PEEK-4", FLAT, "p1 send m1\np1 peek 9 -> nothing"),
    "nothing though another partition has some": (
        "PEEK-4",
        STANDARD,
        KEYED + "p1 peek 9 from=2.0 -> nothing\n" + KEYED_REST,
    ),
    "a walk ends too early": (
        "PEEK-5",
        FLAT,
        THREE + "p1 peek 2 -> m1#1, m2#2\np1 peek 2 -> nothing\n" + REST,
    ),
    "a walk never reaches a partition": (
        "PEEK-5",
        STANDARD,
        """
        p1 send m1 key=a
        p1 send m2 key=b
        p1 peek 9 -> m1#3.1
        p1 peek 9 -> nothing
        p9 receive 9 delete -> m1#3.1, m2#4.1
        env drained
        """,
    ),
    "a walk stands still": (
        "PEEK-5",
        FLAT,
        THREE + "p1 peek 2 -> m1#1, m2#2\np1 peek 2 -> m2#2, m3#3\n" + REST,
    ),
    "one answer shows a message twice": (
        "PEEK-5",
        STANDARD,
        KEYED + "p1 peek 9 -> m1#3.1, m1#3.1\n" + KEYED_REST,
    ),
    "a peek gives a lock": ("PEEK-6", FLAT, "p1 send m1\np1 peek 1 -> m1#1 lock=l1"),
    "peeks raise the count": (
        "PEEK-6",
        FLAT,
        "p1 send m1\np1 peek 1 -> m1#1 count=0\np2 peek 1 -> m1#1 count=1",
    ),
    "a locked message is hidden": (
        "PEEK-7",
        FLAT,
        THREE
        + """
        p2 receive 2 -> m1#1 lock=l1 count=0 until=30s, m2#2 lock=l2 count=0 until=30s
        p2 abandon l1
        p1 peek 9 from=0 -> m1#1, m3#3
        p2 complete l2
        """,
    ),
    "the oldest is hidden while it is locked": (
        "PEEK-7",
        FLAT,
        THREE
        + """
        p1 peek 9 from=0 -> m1#1, m2#2, m3#3
        p2 receive 1 -> m1#1 lock=l1 count=0 until=30s
        p1 peek 9 from=0 -> m2#2, m3#3
        p2 complete l1
        """,
    ),
    "a locked message is shown as deferred": (
        "PEEK-7",
        FLAT,
        "p1 send m1\np2 receive 1 -> m1#1 lock=l1\np1 peek 1 -> m1#1 state=deferred\np2 complete l1",
    ),
    "a message is shown as scheduled": ("PEEK-7", FLAT, "p1 send m1\np1 peek 1 -> m1#1 state=scheduled"),
    "a locked message is skipped by a broker that shows locked ones": (
        "PEEK-1",
        FLAT,
        THREE
        + """
        p2 receive 3 -> m1#1 lock=l1 until=30s, m2#2 lock=l2 until=30s, m3#3 lock=l3 until=30s
        p1 peek 9 from=0 -> m1#1, m3#3
        p2 complete l2
        """,
    ),
}


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("a locked message is hidden", "older and newer messages of one partition, but not message 'm2'"),
        (
            "the oldest is hidden while it is locked",
            "shows newer messages of one partition, but not message 'm1'",
        ),
    ],
)
def test_what_hides_a_locked_message_is_told_as_the_answer_was(name: str, shown: str) -> None:
    rule, profile, text = BAD[name]
    (finding,) = inspected(text, profile).findings[rule]
    assert shown in finding.detail


@pytest.mark.parametrize("name", BAD)
def test_bad(name: str) -> None:
    rule, profile, text = BAD[name]
    assert_owned(inspected(text, profile), rule)


OPEN: dict[str, tuple[str, str, str]] = {
    "the oldest, locked, is not shown": (
        "PEEK-1",
        FLAT,
        THREE
        + """
        p2 receive 1 -> m1#1 lock=l1 count=0 until=30s
        p1 peek 9 -> m2#2, m3#3
        p2 complete l1
        """,
    ),
    "nothing is shown, and all is locked": (
        "PEEK-4",
        FLAT,
        """
        p1 send m1
        p2 receive 1 -> m1#1 lock=l1 count=0 until=30s
        p1 peek 9 -> nothing
        p2 complete l1
        """,
    ),
    "a front end may have locked it": (
        "PEEK-2",
        STANDARD,
        KEYED
        + """
        p2 receive 1 -> nothing
        env advance 31s
        p1 peek 9 -> m2#3.2
        p9 receive 9 delete -> m1#3.1 count=1, m2#3.2, m3#3.3
        env drained
        """,
    ),
    "gone, or come back": (
        "PEEK-1",
        FLAT,
        "p1 send m1\np2 receive 1 delete -> m1#1\np1 peek 9 -> m1#1",
    ),
}


@pytest.mark.parametrize("name", OPEN)
def test_what_has_two_explanations_is_left_open(name: str) -> None:
    rule, profile, text = OPEN[name]
    assert_open(inspected(text, profile), rule)


AFTER_A_LOSS = KEYED + "p1 peek 2 -> m1#3.1, m2#3.2\nenv frontend_lost p1\np1 peek 2 -> {}\n" + KEYED_REST


def test_a_walk_that_goes_back_half_way_after_a_fault_has_two_explanations() -> None:
    """It went back, or it began anew and left the oldest out. Without the fault it is known."""
    half_way = AFTER_A_LOSS.format("m2#3.2, m3#3.3")
    inspection = inspected(half_way, STANDARD)
    assert not inspection.findings
    assert {"PEEK-2", "PEEK-5"} <= set(inspection.open)
    known = inspected(half_way.replace("env frontend_lost p1\n", ""), STANDARD)
    assert set(known.findings) == {"PEEK-5"}
    assert not inspected(AFTER_A_LOSS.format("m1#3.1, m2#3.2"), STANDARD).findings


def test_a_size_cap_is_no_reason_for_an_empty_answer() -> None:
    text = THREE + "p1 peek 9 -> nothing\n" + REST
    assert set(inspected(text, FLAT, peek_cap=1).findings) == {"PEEK-4"}


def test_numbers_against_the_order_of_sends_are_not_judged_by() -> None:
    text = "p1 send m1\np1 send m2\np1 peek 9 -> m1#2\np9 receive 9 delete -> m2#1, m1#2\nenv drained"
    assert set(inspected(text, FLAT).findings) == {"SEQ-3"}


def test_the_tree_and_the_plain_scan_agree() -> None:
    """Over many messages a gap is asked of a tree; the answer is that of looking at each."""
    sends = "\n".join(f"p1 send m{n}" for n in range(1, 41))
    rest = "p9 receive 99 delete -> " + ", ".join(f"m{n}#{n}" for n in range(1, 41)) + "\nenv drained"
    taken = "p2 receive 20 delete -> " + ", ".join(f"m{n}#{n}" for n in range(1, 21))
    left = "p9 receive 99 delete -> " + ", ".join(f"m{n}#{n}" for n in range(21, 41)) + "\nenv drained"
    assert not inspected(f"{sends}\n{taken}\np1 peek 1 from=1 -> m21#21\n{left}", FLAT).findings
    skipped = inspected(f"{sends}\n{taken}\np1 peek 1 from=1 -> m22#22\n{left}", FLAT)
    assert set(skipped.findings) == {"PEEK-1"}
    late = inspected(f"{sends}\np1 peek 1 from=1 -> m40#40\n{rest}", FLAT)
    assert set(late.findings) == {"PEEK-1"}


def test_of_several_messages_that_are_gone_the_first_in_the_answer_is_named() -> None:
    sends = "\n".join(f"p1 send m{n}" for n in range(1, 10))
    shown = ", ".join(f"m{n}#{n}" for n in range(1, 10))
    inspection = inspected(f"{sends}\np2 receive 9 delete -> {shown}\np1 peek 9 -> {shown}", FLAT)
    assert "message 'm1' was peeked after its removal" in inspection.open["PEEK-1"]


def test_the_screen_is_in_the_suite() -> None:
    assert SCREEN in ALL
    assert SCREEN.blind_spots
    assert set(SCREEN.needs) == set(SCREEN.requirements)
