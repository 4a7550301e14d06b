"""Numbers and times: good histories, and bad ones with the one rule that owns them."""

from __future__ import annotations

from typing import Any

import pytest
from inspections import inspected, violated

from partq.conformance.facts.index import facts_of
from partq.conformance.history.notation import history
from partq.conformance.screens.sequencing.numbering import Sequencing

FLAT = {"profile": "azure-flat"}
NEAR_TOP: dict[str, Any] = {"seq_start": 2**48 - 2}
NEAR_TOP_FLAT: dict[str, Any] = {"profile": "azure-flat", "seq_start": 2**64 - 2}

SENDS = "".join(f"p1 send m{n}\n" for n in range(1, 6))
"""Five keyless messages, one after the other."""

KEYED = "".join(f"p1 send m{n} key=a\n" for n in range(1, 6))
"""The same of one key."""

GOOD: dict[str, tuple[str, dict[str, Any], dict[str, int]]] = {
    "in order, without a gap": (
        KEYED + "p1 receive 9 -> m1#3.1, m2#3.2, m3#3.3, m4#3.4, m5#3.5\nenv drained",
        {},
        {"SEQ-1": 5, "SEQ-2": 1, "SEQ-3": 4, "SEQ-4": 4, "SEQ-5": 0},
    ),
    "over partitions": (
        SENDS + "p1 receive 9 -> m1#3.1, m2#4.1, m3#3.2, m4#5.1, m5#4.2\nenv drained",
        {},
        {"SEQ-1": 5, "SEQ-2": 3, "SEQ-3": 2, "SEQ-4": 2},
    ),
    "flat": (
        SENDS + "p1 receive 9 -> m1#1, m2#2, m3#3, m4#4, m5#5\nenv drained",
        FLAT,
        {"SEQ-1": 5, "SEQ-2": 0, "SEQ-3": 4, "SEQ-4": 4},
    ),
    "a message shown again, without numbers": (
        "p1 send m1\np1 peek 1 -> m1\np1 peek 1 -> m1\np1 receive 1 -> m1#3.1",
        {},
        {"SEQ-6": 0, "SEQ-1": 0},
    ),
    "overlapping sends, either way": (
        "p1 send a key=a @1-9\np2 send b key=a @2-8\np1 receive 2 -> b#3.1, a#3.2",
        {},
        {"SEQ-3": 0, "SEQ-1": 2},
    ),
    "sends of unknown outcome may come to pass late": (
        "p1 send a key=a -> unknown timeout @1-2\np2 send b key=a @3-4\np1 receive 2 -> b#3.1, a#3.2",
        {},
        {"SEQ-3": 0},
    ),
    "a transaction's messages are numbered by its commit, at the latest": (
        "p1 begin t\np1 send a key=a txn=t\np2 send b key=a\np1 commit t\np1 receive 2 -> b#3.1, a#3.2",
        {},
        {"SEQ-3": 0},
    ),
    "gaps explained by what was rejected, unknown or rolled back": (
        """
        p1 send m1 key=a
        p1 send m2 key=a -> error unavailable
        p1 send m3 key=a -> unknown timeout
        p1 begin t
        p1 send m4 key=a txn=t
        p1 rollback t
        p1 send m5 key=a
        p1 receive 9 -> m1#3.1, m5#3.5
        env drained
        """,
        {},
        {"SEQ-4": 0},
    ),
    "a gap explained by a batch": (
        "p1 send m1\np1 send_batch m2, m3, m4 -> error timeout\np1 send m5\n"
        "p1 receive 9 -> m1#3.1, m5#3.5\nenv drained",
        {},
        {},
    ),
    "a number used up in a partition that came back while the send was under way": (
        """
        p1 send m1
        env partition_down 3
        env partition_up 3 ...
        p2 send m2
        env -> ok
        p1 send m3
        p1 receive 9 -> m1#3.1, m2#3.3, m3#3.4
        env drained
        """,
        {},
        {"SEQ-4": 1},
    ),
    "a gap before the drain": ("p1 send m1\np1 send m2\np1 receive 9 -> m1#3.1, m2#3.3", {}, {"SEQ-4": 0}),
    "numbers seen by peeks close a gap": (
        "p1 send m1\np1 send m2\np1 send m3\np1 peek 9 -> m1#3.1, m2#3.2\n"
        "p2 receive 9 -> m1#3.1, m3#3.3\nenv drained",
        {},
        {"SEQ-4": 2, "SEQ-6": 1},
    ),
    "the roll-over": (
        KEYED + "p1 receive 9 -> m1#3.max-1, m2#3.max, m3#3.0, m4#3.1, m5#3.2\nenv drained",
        NEAR_TOP,
        {"SEQ-3": 4, "SEQ-4": 4, "SEQ-5": 1, "SEQ-2": 1},
    ),
    "the flat roll-over": (
        SENDS + "p1 receive 9 -> m1#max-1, m2#max, m3#0, m4#1, m5#2\nenv drained",
        NEAR_TOP_FLAT,
        {"SEQ-3": 4, "SEQ-4": 4, "SEQ-5": 1},
    ),
    "a start that the broker does not honour": (
        KEYED + "p1 receive 9 -> m1#3.1, m2#3.2, m3#3.3, m4#3.4, m5#3.5\nenv drained",
        NEAR_TOP,
        {"SEQ-4": 4, "SEQ-5": 0},
    ),
    "called otherwise than its top bits say, where another is called so": (
        SENDS + "p1 receive 9 -> m1#3.1 partition=3, m2#4.1 partition=5",
        {},
        {"SEQ-2": 2},
    ),
    "partitions by any name": (
        "p1 send m1\np1 send m2\np1 receive 9 -> m1#700.1 partition=9, m2#65535.1 partition=4",
        {},
        {"SEQ-2": 2},
    ),
    "the same number every time": (
        "p1 send m1\np1 receive 1 -> m1#3.1 lock=l1 until=20s\np1 abandon l1\np1 peek 1 -> m1#3.1\n"
        "p1 receive 1 -> m1#3.1",
        {},
        {"SEQ-6": 1},
    ),
    "enqueued within the send": (
        "p1 send m1 key=a @10-20\np1 send m2 key=a @30-40\n"
        "p1 receive 2 -> m1#3.1 enqueued=10, m2#3.2 enqueued=40",
        {},
        {"SEQ-7": 2},
    ),
    "enqueued within the skew": (
        "p1 send m1 @10-20\np1 receive 1 -> m1#3.1 enqueued=25",
        {"skew": 5},
        {"SEQ-7": 1},
    ),
    "enqueued by the commit": (
        "p1 begin t @1-2\np1 send m1 key=a txn=t @10-20\np1 commit t @30-40\n"
        "p1 receive 1 -> m1#3.1 enqueued=35",
        {},
        {"SEQ-7": 1},
    ),
    "enqueued after a send of unknown outcome, before it was seen": (
        "p1 send m1 -> unknown timeout @10-20\np1 receive 1 -> m1#3.1 enqueued=25 @22-30",
        {},
        {"SEQ-7": 1},
    ),
    "enqueued by a commit, which a send overtook": (
        "p1 begin t @1-2\np1 send m1 key=a txn=t @10-20\np2 send m2 key=a @22-28\np1 commit t @30-40\n"
        "p1 receive 2 -> m1#3.2 enqueued=35, m2#3.1 enqueued=25",
        {},
        {"SEQ-7": 2},
    ),
    "a number that a message of two keys used up": (
        "p1 send m1 key=a\np1 send m2 key=b\np1 send m3 session=b key=c -> error invalid_operation\n"
        "p1 send m4 key=a\np1 receive 9 -> m1#3.1, m2#5.1, m4#3.3\nenv drained",
        {},
        {"SEQ-4": 0},
    ),
    "peeks without numbers, receives with them": (
        "p1 send m1 key=a\np1 peek 1 -> m1 partition=3\np1 receive 1 -> m1#3.1 lock=l count=0\np1 abandon l\n"
        "p1 receive 1 delete -> m1#3.1 count=1",
        {},
        {"SEQ-6": 1},
    ),
    "a message without a number between two with": (
        "p1 send m1 key=a\np1 send m2 key=a\np1 send m3 key=a\np1 peek 1 -> m1#3.1\np1 receive 2 -> m1, m2\n"
        "p1 peek 1 from=3.3 -> m3#3.3\nenv drained",
        {},
        {"SEQ-4": 0},
    ),
    "a broker that shows no numbers": (
        "p1 send m1 key=a\np1 receive 1 -> m1 partition=3\nenv drained",
        {"profile": "rabbitmq"},
        {"SEQ-1": 0},
    ),
}

SEQ = tuple(f"SEQ-{n}" for n in range(1, 8))


@pytest.mark.parametrize("name", GOOD)
def test_good(name: str) -> None:
    text, settings, exercised = GOOD[name]
    inspection = inspected(text, **settings)
    assert not {rule: found for rule, found in inspection.findings.items() if rule in SEQ}
    assert {rule: inspection.exercised.get(rule, 0) for rule in exercised} == exercised


BAD: dict[str, tuple[str, dict[str, Any], str]] = {
    "a number twice": (SENDS + "p1 receive 9 -> m1#3.1, m2#3.1", {}, "SEQ-1"),
    "a number twice, peeked": (SENDS + "p1 receive 1 -> m1#3.1\np1 peek 1 -> m2#3.1", {}, "SEQ-1"),
    "a number twice, flat": (SENDS + "p1 receive 9 -> m1#1, m2#1", FLAT, "SEQ-1"),
    "a number twice, elsewhere than at the roll-over": (
        KEYED + "p1 receive 9 -> m1#3.max-1, m2#3.max, m3#3.0, m4#3.1, m5#3.1",
        NEAR_TOP,
        "SEQ-1",
    ),
    "a message without a number": (SENDS + "p1 receive 9 -> m1#3.1, m2", {}, "SEQ-1"),
    "two partitions, the same top bits": (
        SENDS + "p1 receive 9 -> m1#3.1 partition=3, m2#3.2 partition=4",
        {},
        "SEQ-2",
    ),
    "two partitions, the same numbers": (
        SENDS + "p1 receive 9 -> m1#3.1 partition=3, m2#3.1 partition=4",
        {},
        "SEQ-2",
    ),
    "one partition, two top bits": (
        SENDS + "p1 receive 9 -> m1#3.1 partition=3, m2#7.2 partition=3",
        {},
        "SEQ-2",
    ),
    "more top bits than partitions": (
        SENDS + "p1 receive 9 -> m1#3.1, m2#7.2, m3#9.3",
        {"profile": "azure-premium", "partitions": 2},
        "SEQ-2",
    ),
    "against the order of acceptance": (KEYED + "p1 receive 9 -> m2#3.1, m1#3.2", {}, "SEQ-3"),
    "far against the order of acceptance": (
        KEYED + "p1 receive 9 -> m5#3.1, m2#3.2, m3#3.3, m4#3.4, m1#3.5",
        {},
        "SEQ-3",
    ),
    "against the order of acceptance, flat": (SENDS + "p1 receive 9 -> m2#1, m1#2", FLAT, "SEQ-3"),
    "against the order of acceptance, though enqueued times say otherwise": (
        "p1 send a @10-20\np2 send b @30-40\np1 receive 2 -> b#3.1 enqueued=35, a#3.2 enqueued=15",
        {},
        "SEQ-3",
    ),
    "swapped at the roll-over": (
        KEYED + "p1 receive 9 -> m1#3.max-1, m2#3.0, m3#3.max, m4#3.1, m5#3.2\nenv drained",
        NEAR_TOP,
        "SEQ-3",
    ),
    "swapped before the roll-over": (
        "p1 send m1\np1 send m2\np1 receive 9 -> m1#3.max, m2#3.max-1\nenv drained",
        NEAR_TOP,
        "SEQ-3",
    ),
    "of unknown outcome, but seen before the next was sent": (
        "p1 send a key=a -> unknown timeout\np1 peek 1 -> a#3.2\np1 send b key=a\np1 peek 1 -> b#3.1",
        {},
        "SEQ-3",
    ),
    "a gap": (KEYED + "p1 receive 9 -> m1#3.1, m2#3.2, m3#3.4, m4#3.5, m5#3.6\nenv drained", {}, "SEQ-4"),
    "a gap, flat": (SENDS + "p1 receive 9 -> m1#1, m2#2, m3#4, m4#5, m5#6\nenv drained", FLAT, "SEQ-4"),
    "a gap before the first": (
        KEYED + "p1 receive 9 -> m1#3.2, m2#3.3, m3#3.4, m4#3.5, m5#3.6\nenv drained",
        {"seq_start": 1},
        "SEQ-4",
    ),
    "a gap wider than explained": (
        "p1 send m1\np1 send m2 -> error timeout\np1 send m3\np1 receive 9 -> m1#3.1, m3#3.4\nenv drained",
        {},
        "SEQ-4",
    ),
    "a gap that another partition's key can't explain": (
        "p1 send m1 key=a\np1 send m2 key=b\np1 send m3 key=b -> error timeout\np1 send m4 key=a\n"
        "p1 receive 9 -> m1#3.1, m2#5.1, m4#3.3\nenv drained",
        {},
        "SEQ-4",
    ),
    "a gap near the roll-over": (
        KEYED + "p1 receive 9 -> m1#3.max-1, m2#3.max, m3#3.0, m4#3.1, m5#3.3\nenv drained",
        NEAR_TOP,
        "SEQ-4",
    ),
    "one after the greatest, and a gap elsewhere": (
        KEYED + "p1 receive 9 -> m1#3.max-1, m2#3.max, m3#3.1, m4#3.3, m5#3.4\nenv drained",
        NEAR_TOP,
        "SEQ-4",
    ),
    "one after the greatest": (
        KEYED + "p1 receive 9 -> m1#3.max-1, m2#3.max, m3#3.1, m4#3.2, m5#3.3\nenv drained",
        NEAR_TOP,
        "SEQ-5",
    ),
    "one after the greatest, flat": (
        SENDS + "p1 receive 9 -> m1#max-1, m2#max, m3#1, m4#2, m5#3\nenv drained",
        NEAR_TOP_FLAT,
        "SEQ-5",
    ),
    "the greatest left out, and a number elsewhere": (
        KEYED + "p1 receive 9 -> m1#3.max-1, m2#3.0, m3#3.1, m4#3.2, m5#3.4\nenv drained",
        NEAR_TOP,
        "SEQ-4",
    ),
    "standing still at the greatest": (
        KEYED + "p1 receive 9 -> m1#3.max-1, m2#3.max, m3#3.max, m4#3.max, m5#3.max\nenv drained",
        NEAR_TOP,
        "SEQ-5",
    ),
    "starting over": (
        KEYED + "p1 receive 9 -> m1#3.max-1, m2#3.max, m3#3.max-1, m4#3.max\nenv drained",
        NEAR_TOP,
        "SEQ-5",
    ),
    "back to somewhere": (
        KEYED + "p1 receive 9 -> m1#3.max-1, m2#3.max, m3#3.200000000000000, m4#3.200000000000001",
        NEAR_TOP,
        "SEQ-5",
    ),
    "into the partition's bits, which is named": (
        KEYED + "p1 receive 9 -> m1#3.max-1 partition=3, m2#3.max partition=3, m3#4.0 partition=3, "
        "m4#4.1 partition=3, m5#4.2 partition=3\nenv drained",
        NEAR_TOP,
        "SEQ-5",
    ),
    "into another partition's bits": (
        "p1 send m1\np1 send m2\np1 receive 9 -> m1#4.max-1 partition=4, m2#4.0 partition=3",
        NEAR_TOP,
        "SEQ-5",
    ),
    "into a partition that there is not": (
        "p1 send m1\np1 send m2\np1 send m3\np1 send m4\np1 receive 9 -> m1#3.max-1, m2#3.max, m3#4.max-1, "
        "m4#5.0",
        {"profile": "azure-premium", "partitions": 2, **NEAR_TOP},
        "SEQ-5",
    ),
    "renumbered by an abandon": (
        "p1 send m1\np1 receive 1 -> m1#3.1 lock=l1 until=20s\np1 abandon l1\np1 receive 1 -> m1#3.2",
        {},
        "SEQ-6",
    ),
    "renumbered by expiry": (
        "p1 send m1\np1 receive 1 -> m1#3.1 lock=l1 until=20s\nenv advance 40s\n"
        "p1 receive 1 -> m1#3.2 count=1",
        {},
        "SEQ-6",
    ),
    "renumbered between peeks": ("p1 send m1\np1 peek 1 -> m1#3.1\np1 peek 1 -> m1#3.2", {}, "SEQ-6"),
    "renumbered to another partition": (
        "p1 send m1\np1 receive 1 -> m1#3.1 lock=l1 until=20s\np1 abandon l1\np1 receive 1 -> m1#4.1",
        {},
        "SEQ-6",
    ),
    "renumbered, which is not out of order too": (
        "p1 send m1 key=a\np1 send m2 key=a\np1 receive 1 -> m1#3.1 lock=l1 until=20s\np1 abandon l1\n"
        "p1 receive 2 -> m2#3.2, m1#3.3 count=1\nenv drained",
        {},
        "SEQ-6",
    ),
    "enqueued before its send": (
        "p1 send m1 @10-20\np1 receive 1 -> m1#3.1 enqueued=9",
        {},
        "SEQ-7",
    ),
    "enqueued after its send": ("p1 send m1 @10-20\np1 receive 1 -> m1#3.1 enqueued=21", {}, "SEQ-7"),
    "enqueued after its send, beyond the skew": (
        "p1 send m1 @10-20\np1 receive 1 -> m1#3.1 enqueued=26",
        {"skew": 5},
        "SEQ-7",
    ),
    "enqueued after the commit": (
        "p1 begin t @1-2\np1 send m1 key=a txn=t @10-20\np1 commit t @30-40\n"
        "p1 receive 1 -> m1#3.1 enqueued=45 @50-60",
        {},
        "SEQ-7",
    ),
    "enqueued at another time, as a second answer says": (
        "p1 send m1 @10-20\np1 peek 1 -> m1#3.1 enqueued=15\np1 receive 1 -> m1#3.1 enqueued=25",
        {},
        "SEQ-7",
    ),
    "enqueued at two times": (
        "p1 send a @10-50\np2 send b @11-50\np1 peek 1 -> b#3.2 enqueued=40\n"
        "p1 receive 2 -> a#3.1 enqueued=30, b#3.2 enqueued=20",
        {},
        "SEQ-7",
    ),
    "enqueued before what has a lower number": (
        "p1 send a @10-60\np2 send b @40-50\np1 receive 2 -> b#3.1, a#3.2 enqueued=30\n"
        "p1 peek 2 -> b#3.1 enqueued=45",
        {},
        "SEQ-7",
    ),
    "times that decrease": (
        "p1 send a @10-50\np2 send b @11-50\np1 receive 2 -> a#3.1 enqueued=40, b#3.2 enqueued=30",
        {},
        "SEQ-7",
    ),
    "times that decrease, flat": (
        "p1 send a @10-50\np2 send b @11-50\np1 receive 2 -> a#1 enqueued=40, b#2 enqueued=30",
        FLAT,
        "SEQ-7",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad(name: str) -> None:
    text, settings, rule = BAD[name]
    findings = inspected(text, **settings).findings
    assert set(findings) & set(SEQ) == {rule}
    for finding in findings[rule]:
        assert finding.title
        assert finding.allowed
        assert finding.witness
        assert finding.key.startswith(f"{rule}/")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            "p1 send m1\np1 receive 1 -> m1#3.1 lock=l1 until=20s\np1 complete l1\np1 receive 1 -> m1#3.2",
            "completed: RCV-7",
        ),
        ("p1 send m1\np1 receive 1 delete -> m1#3.1\np1 receive 1 delete -> m1#3.2", "deleted: RCV-7"),
        (
            "p1 send m1\np1 receive 1 -> m1#3.1 lock=l1 until=20s\np1 receive 1 -> m1#3.2 lock=l2 until=20s",
            "locked: RCV-6",
        ),
        ("p1 send m1\np1 peek 2 -> m1#3.1, m1#3.2", "side by side"),
        ("p1 send m1\np1 peek 1 -> m1#3.1\np1 peek 1 -> m1#3.2\np1 peek 1 -> m1#3.1", "two copies"),
    ],
)
def test_a_message_delivered_as_two_is_not_renumbered(text: str, why: str) -> None:
    assert "SEQ-6" not in violated(text), why


def test_times_that_decrease_may_be_those_of_a_message_with_another_number() -> None:
    text = "p1 send a @10-50\np2 send b @11-50\np1 receive 2 -> a#3.1 enqueued=40, b#3.2 enqueued=30 count={}"
    assert set(inspected(text.format(1)).candidates) >= {"SEQ-6", "SEQ-7"}
    assert violated(text.format(0)) == {"SEQ-7"}


@pytest.mark.parametrize("settings", [NEAR_TOP, NEAR_TOP_FLAT], ids=["partitioned", "flat"])
def test_what_is_missing_right_before_zero_may_be_a_roll_over_too_soon(settings: dict[str, Any]) -> None:
    top = "" if "profile" in settings else "3."
    shown = ", ".join(f"m{n}#{top}{counter}" for n, counter in enumerate(("max-1", 0, 1, 2, 3), start=1))
    inspection = inspected(f"{KEYED}p1 receive 9 -> {shown}\nenv drained", **settings)
    assert not inspection.findings
    assert set(inspection.candidates) == {"SEQ-4", "SEQ-5"}


@pytest.mark.parametrize("number", [2, 3])
def test_a_gap_may_be_a_number_that_a_message_had_before_it_came_back(number: int) -> None:
    text = (
        f"p1 send m1\np1 send m2\nenv advance 31s\np1 receive 2 -> m1#3.1, m2#3.{number} count=1\nenv drained"
    )
    inspection = inspected(text)
    assert not inspection.findings
    assert set(inspection.candidates) == ({"SEQ-4", "SEQ-6"} if number == 3 else set())


@pytest.mark.parametrize("number", [1, 3])
def test_the_order_may_be_wrong_by_a_number_changed_before_a_message_came_back(number: int) -> None:
    text = (
        "p1 send m1 key=a\np1 send m2 key=a\nenv advance 31s\n"
        f"p1 receive 2 -> m1#3.2 count=1, m2#3.{number} count=1"
    )
    inspection = inspected(text)
    assert not inspection.findings
    assert set(inspection.candidates) == ({"SEQ-3", "SEQ-6"} if number == 1 else set())


def test_a_key_torn_apart_by_a_counter_that_spills_is_no_routing_error() -> None:
    text = KEYED + "p1 receive 9 -> m1#3.max-1, m2#3.max, m3#4.0, m4#4.1, m5#4.2"
    assert not violated(text, **NEAR_TOP) & {"ROUTE-1", "ROUTE-2", "KEY-2"}
    assert "ROUTE-2" in violated(KEYED + "p1 receive 9 -> m1#3.max-1, m2#5.0", **NEAR_TOP)


def test_which_partitions_can_not_be_relied_upon() -> None:
    text = "p1 send a\np1 send b\np1 send c\np1 send d\np1 receive 9 -> b#3.1, a#3.2, c#4.1, d#4.2"
    (facts,) = facts_of(history(text))
    assert facts.derive(Sequencing).wrong == {3}


@pytest.mark.parametrize(("skew", "told"), [(20, 1), (21, 0)])
def test_times_are_put_to_the_test_where_the_skew_does_not_allow_all_of_the_history(
    skew: int, told: int
) -> None:
    history = "p1 send m1 @10-20\np1 receive 1 -> m1#3.1 enqueued=15 @30-40"
    assert inspected(history, skew=skew).exercised.get("SEQ-7", 0) == told


GAPS: dict[str, tuple[str, dict[str, Any], str, set[str]]] = {
    "one number": (
        KEYED + "p1 receive 9 -> m1#3.1, m2#3.2, m3#3.4, m4#3.5, m5#3.6\nenv drained",
        {},
        "1 number of partition 3 is missing, between 'm2' (counter 2) and 'm3' (counter 4); there is no "
        "message that was rejected, unknown, rolled back or never seen to explain it",
        {"m2", "m3"},
    ),
    "two holes, flat": (
        SENDS + "p1 receive 9 -> m1#1, m2#3, m3#4, m4#7, m5#8\nenv drained",
        FLAT,
        "3 numbers are missing, 2 of them between 'm3' (counter 4) and 'm4' (counter 7); there is no "
        "message that was rejected, unknown, rolled back or never seen to explain them",
        {"m3", "m4"},
    ),
    "before the first": (
        KEYED + "p1 receive 9 -> m1#3.2, m2#3.3, m3#3.4, m4#3.5, m5#3.6\nenv drained",
        {"seq_start": 1},
        "1 number of partition 3 is missing, before 'm1' (counter 2), where they begin; there is no "
        "message that was rejected, unknown, rolled back or never seen to explain it",
        {"m1"},
    ),
    "partly explained": (
        "p1 send m1\np1 send m2 -> error timeout\np1 send m3\np1 receive 9 -> m1#3.1, m3#3.4\nenv drained",
        {},
        "2 numbers of partition 3 are missing, between 'm1' (counter 1) and 'm3' (counter 4); messages that "
        "were rejected, unknown, rolled back or never seen explain at most 1 of them",
        {"m1", "m3"},
    ),
}


@pytest.mark.parametrize("name", GAPS)
def test_a_gap_is_told_with_the_messages_beside_it_and_their_sends(name: str) -> None:
    text, settings, detail, beside = GAPS[name]
    (finding,) = inspected(text, **settings).findings["SEQ-4"]
    assert finding.detail == detail
    records = history(text, **{"profile": "azure-standard", **settings}).records
    sends = [records[i].args["messages"][0].id for i in finding.witness if records[i].op == "send"]
    assert set(sends) == beside
    assert {records[i].op for i in finding.witness} == {"send", "receive"}
