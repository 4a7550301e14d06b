"""Flows: bad histories for every row, and that each anomaly is its own rule's and no other's.

Good ones are in `test_rebalancing_allowed.py`.
"""

from __future__ import annotations

from typing import Any

import pytest
from flow_histories import APART, HANDOFF, MANY, ONE, SCREENS, THREE, TWO, judged
from inspections import assert_owned, inspected

from partq.conformance.history.notation import history
from partq.conformance.screens.assess import inspect
from partq.conformance.screens.attribution import MISDELIVERY

BAD: dict[str, tuple[str, str, dict[str, Any]]] = {
    # name: the one row violated, history, settings
    "two owners": ("REB-1", TWO + "env assignment 0 f2 ready @20s\n env drained @40s", {}),
    "two owners for a while": (
        "REB-1",
        HANDOFF + "env assignment 1 f2 ready @20s\n env assignment 1 f1 state=unassigned @20500ms\n"
        "env drained @40s",
        {},
    ),
    "a bound flow without any partition gets a message": (
        "REB-2",
        ONE
        + """
        c1 send m1 key=a @11s-11001ms
        c2 bind f2 @12s-12001ms
        c2 receive 1 flow=f2 -> m1 lock=l1
        """,
        {},
    ),
    "a standby gets a message": (
        "REB-5",
        THREE + "c1 send m1 @13001ms-13002ms\n c3 receive 1 flow=f3 -> m1 lock=l1",
        {},
    ),
    "one message through two flows": (
        "REB-2",
        TWO
        + """
        c1 send m1 @12s-12001ms
        c1 receive 1 flow=f1 -> m1 lock=l1
        c1 abandon l1
        c2 receive 1 flow=f2 -> m1 lock=l2
        """,
        {},
    ),
    "no flow at all": ("REB-2", TWO + "c3 send m1 @12s-12001ms\n c3 receive 1 -> m1 lock=l1", {}),
    "out of order at one flow": (
        "REB-3",
        TWO
        + """
        c1 send m1 key=a @12s-12001ms
        c1 send m2 key=a
        c1 receive 1 flow=f1 -> m2 lock=l2
        c1 receive 1 flow=f1 -> m1 lock=l1
        """,
        {},
    ),
    "out of order in one answer": (
        "REB-3",
        TWO
        + """
        c1 send m1 key=a @12s-12001ms
        c1 send m2 key=a
        c1 receive 2 flow=f1 -> m2 lock=l2, m1 lock=l1
        """,
        {},
    ),
    "out of order through a takeover": (
        "REB-3",
        THREE
        + """
        c1 send m1 key=a @13s-13001ms
        c1 send m2 key=a
        c1 receive 1 flow=f1 -> m2 lock=l2
        c1 disconnect f1 @30s-30001ms
        env assignment 0 f1 state=unassigned @30002ms
        env assignment 0 f3 ready @30002ms
        c3 receive 9 flow=f3 -> m1 lock=l1
        env drained @60s
        """,
        {},
    ),
    "out of order without keys, where there is one partition": (
        "REB-3",
        """
        c1 bind f1
        c1 send m1
        c1 send m2
        c1 receive 1 flow=f1 -> m2 lock=l2
        c1 receive 1 flow=f1 -> m1 lock=l1
        """,
        {"partitions": 1},
    ),
    "no wait for the first flow": ("REB-4", "c1 bind f1\n env assignment 0 f1 ready\n env drained @4s", {}),
    "no wait for the second flow": (
        "REB-4",
        ONE + "c2 bind f2 @12s-12001ms\n env assignment 1 f1 state=unassigned @13s\n"
        "env assignment 1 f2 ready @13s\n env drained @40s",
        {},
    ),
    "a useful flow is left out": ("REB-4", ONE + "c2 bind f2 @12s-12001ms\n env drained @40s", {}),
    "a useful flow is left out, and goes": (
        "REB-4",
        ONE + "c2 bind f2 @12s-12001ms\n c2 unbind f2 @30s-30001ms",
        {},
    ),
    "a partition is left out": (
        "REB-4",
        "c1 bind f1 @1-2\n env assignment 0 f1 ready @6s\n env drained @40s",
        {},
    ),
    "a surplus flow gets a partition": (
        "REB-5",
        THREE
        + "env assignment 0 f1 state=unassigned @18s\n env assignment 0 f3 ready @18s\n env drained @50s",
        {},
    ),
    "a surplus flow shuffles the others": (
        "REB-5",
        THREE + "env assignment 0 f1 paused @13001ms\n env assignment 0 f1 ready @13002ms\n env drained @50s",
        {},
    ),
    "the takeover waits for the delay": (
        "REB-6",
        THREE
        + """
        c1 disconnect f1 @30s-30001ms
        env assignment 0 f1 unbound @30001ms
        env assignment 0 f1 state=unassigned @35s
        env assignment 0 f3 ready @35s
        env drained @60s
        """,
        {},
    ),
    "the standby is passed over": (
        "REB-6",
        THREE
        + """
        c1 disconnect f1 @30s-30001ms
        env assignment 0 f1 state=unassigned @30001ms
        env assignment 0 f2 ready @30001ms
        env drained @60s
        """,
        {},
    ),
    "a lost flow's partition goes at once": (
        "REB-7",
        TWO
        + """
        c1 disconnect f1 @30s-30001ms
        env assignment 0 f1 state=unassigned @30001ms
        env assignment 0 f2 ready @30001ms
        env drained @60s
        """,
        {},
    ),
    "a lost flow's partition is dropped at once": (
        "REB-7",
        TWO
        + """
        c1 disconnect f1 @30s-30001ms
        env assignment 0 f1 state=unassigned @30001ms
        env assignment 0 f2 ready @35001ms
        env drained @60s
        """,
        {},
    ),
    "what is kept for a lost flow is delivered to another": (
        "REB-7",
        TWO
        + """
        c1 send m1 @12s-12001ms
        """
        + APART
        + """
        c1 receive 1 flow=f1 -> m1 lock=l1
        c1 disconnect f1 @30s-30001ms
        env assignment 0 f1 unbound @30001ms
        c2 receive 1 flow=f2 -> m1 lock=l2 redelivered=yes
        env assignment 0 f1 state=unassigned @35s
        env assignment 0 f2 ready @35s
        env drained @60s
        """,
        {},
    ),
    "never inherited": (
        "REB-11",
        TWO + "c1 disconnect f1 @30s-30001ms\n env assignment 0 f1 unbound @30001ms\n env drained @60s",
        {},
    ),
    "dropped instead of inherited": (
        "REB-11",
        TWO
        + """
        c1 disconnect f1 @30s-30001ms
        env assignment 0 f1 unbound @30001ms
        env assignment 0 f1 state=unassigned @35s
        env drained @60s
        """,
        {},
    ),
    "uneven shares": (
        "REB-12",
        """
        c1 bind f1 @1-2
        c2 bind f2 @3-4
        env assignment 0 f1 ready @6s
        env assignment 1 f1 ready @6s
        env assignment 2 f1 ready @6s
        env assignment 3 f2 ready @6s
        env drained @40s
        """,
        {"partitions": 4},
    ),
    "unbound, though its flow is there": (
        "REB-13",
        TWO + "env assignment 0 f1 unbound @20s\n env assignment 0 f1 ready @21s\n env drained @40s",
        {},
    ),
    "ready, though its flow is gone": ("REB-13", TWO + "c1 unbind f1 @30s-30001ms\n env drained @60s", {}),
    "ready for a flow that is gone": (
        "REB-13",
        ONE + "c2 bind f2 @12s-12001ms\n c2 unbind f2 @12100ms-12200ms\n"
        "env assignment 1 f1 state=unassigned @20s\n env assignment 1 f2 ready @20s\n env drained @22s",
        {},
    ),
    "paused, and yet delivering": (
        "REB-13",
        HANDOFF
        + """
        c1 send m2 key=a
        c1 receive 1 flow=f1 -> m2 lock=l2
        env assignment 1 f1 state=unassigned @21s
        env assignment 1 f2 ready @21s
        c1 receive 1 flow=f1 -> nothing
        c2 receive 2 flow=f2 -> m1 lock=l3 redelivered=yes, m2 lock=l4 redelivered=yes
        env drained @40s
        """,
        {},
    ),
    "a handoff that does not wait": (
        "REB-14",
        HANDOFF
        + """
        env assignment 1 f1 state=unassigned @18001ms
        env assignment 1 f2 ready @18001ms
        """
        + APART
        + """
        c2 receive 1 flow=f2 -> m1 lock=l2 redelivered=yes
        env drained @40s
        """,
        {},
    ),
    "a handoff without a pause": (
        "REB-14",
        ONE
        + """
        c1 send m1 key=a @7s-8s
        c1 receive 1 flow=f1 -> m1 lock=l1 @8001ms-9s
        c2 bind f2 @12s-12001ms
        env assignment 1 f1 state=unassigned @18s
        env assignment 1 f2 ready @18s
        """
        + APART
        + """
        c2 receive 1 flow=f2 -> m1 lock=l2 redelivered=yes
        env drained @40s
        """,
        {},
    ),
    "a handoff that waits too long": (
        "REB-14",
        HANDOFF
        + "env assignment 1 f1 state=unassigned @22s\n env assignment 1 f2 ready @22s\n env drained @40s",
        {},
    ),
    "a handoff that waits for nothing": (
        "REB-14",
        HANDOFF
        + """
        c1 complete l1 @18100ms-18101ms
        env assignment 1 f1 state=unassigned @21s
        env assignment 1 f2 ready @21s
        """
        + APART
        + """
        env drained @40s
        """,
        {},
    ),
    "a handoff to nobody": (
        "REB-14",
        HANDOFF + "env assignment 1 f1 state=unassigned @21s\n env drained @40s",
        {},
    ),
    "a partition shown": (
        "REB-15",
        TWO + "c1 send m1 @12s-12001ms\n c1 receive 1 flow=f1 -> m1 lock=l1 partition=0",
        {},
    ),
    "a partition chosen": ("REB-15", "c1 bind f1 partition=1\n env drained @3s", {}),
    "a key in two partitions": (
        "ROUTE-2",
        TWO
        + """
        c1 send m1 key=a @12s-12001ms
        c1 send m2 key=a
        """
        + APART
        + """
        c1 receive 1 flow=f1 -> m1 lock=l1
        c2 receive 1 flow=f2 -> m2 lock=l2
        """,
        {},
    ),
    "a key that moved after a disconnect": (
        "ROUTE-1",
        TWO
        + APART
        + MANY
        + """
        c3 disconnect
        c1 send m31 key=a
        c1 send m32 key=a
        c2 receive 2 flow=f2 -> m31 lock=l31, m32 lock=l32
        """,
        {},
    ),
    "a key that moved when the broker was killed": (
        "ROUTE-1",
        "".join(f"c1 send m{n} key=a\n" for n in range(1, 9))
        + """
        env broker_kill
        env broker_start
        c1 send m31 key=a
        """
        + TWO.replace("@1-2", "@1s-1001ms").replace("@3-4", "@1002ms-1003ms").replace("6s", "7s")
        + APART
        + """
        c1 receive 9 flow=f1 -> m1 lock=l1, m2 lock=l2, m3 lock=l3, m4 lock=l4
        c1 receive 9 flow=f1 -> m5 lock=l5, m6 lock=l6, m7 lock=l7, m8 lock=l8
        c2 receive 9 flow=f2 -> m31 lock=l31
        """,
        {},
    ),
    "the JMS property is no key": (
        "KEY-8",
        TWO
        + APART
        + MANY
        + """
        c1 send m31 prop.JMSXGroupID=b
        c1 send m32 prop.JMSXGroupID=b
        c1 receive 9 flow=f1 -> m31 lock=l31
        c2 receive 9 flow=f2 -> m32 lock=l32
        """,
        {},
    ),
    "another attribute is the key": (
        "KEY-8",
        TWO
        + APART
        + MANY
        + """
        c1 send m31 key=a session=x
        c2 receive 9 flow=f2 -> m31 lock=l31
        """,
        {},
    ),
    "keyless messages pile up": (
        "ROUTE-4",
        TWO
        + "\n".join(f"c1 send k{n}" for n in range(40))
        + "\nc1 receive 99 flow=f1 -> "
        + " ".join(f"k{n} lock=l{n}" for n in range(40)),
        {},
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_violated(name: str) -> None:
    row, text, settings = BAD[name]
    inspection = judged(text, **settings)
    assert_owned(inspection, row)
    assert not inspection.open


def test_every_row_has_a_bad_history() -> None:
    rows = {row for screen in SCREENS for row in screen.requirements}
    assert {row for row, _, _ in BAD.values()} == rows


PAUSED_KEY = (
    HANDOFF
    + """
    c1 send m2 key=a
    c1 receive 1 flow=f1 -> m2 lock=l2
    c1 complete l1 l2 @19s-19001ms
    env assignment 1 f1 state=unassigned @19002ms
    env assignment 1 f2 ready @19002ms
    c1 send m3 key=a
    c2 receive 1 flow=f2 -> m3 lock=l3
    env drained @40s
    """
)

OPEN: dict[str, tuple[set[str], str]] = {
    "routing, or a paused partition that delivers": (
        {"KEY-8", "ROUTE-1", "ROUTE-2", *MISDELIVERY},
        PAUSED_KEY,
    ),
    "order or routing": (
        {"REB-3"},
        ONE
        + """
        c1 send m1 key=a @12s-12001ms
        c1 send m2 key=a
        c1 receive 2 flow=f1 -> m2 lock=l2, m1 lock=l1
        """,
    ),
    "routing by key, or by another property": (
        {"KEY-8", "ROUTE-2"},
        TWO
        + APART
        + """
        c1 send_batch m1 key=a, m2 key=a, m3 prop.JMSXGroupID=b, m4 prop.JMSXGroupID=b
        c1 receive 9 flow=f1 -> m1 lock=l1, m2 lock=l2, m3 lock=l3
        c2 receive 9 flow=f2 -> m4 lock=l4
        """,
    ),
    "routing by key, or until a fault": (
        {"ROUTE-1", "ROUTE-2"},
        TWO
        + APART
        + """
        c1 send m1 key=a
        c3 disconnect
        c1 send m2 key=a
        c1 receive 9 flow=f1 -> m1 lock=l3
        c2 receive 9 flow=f2 -> m2 lock=l4
        """,
    ),
    "routing, or flows that get everything": (
        {"KEY-8", "ROUTE-1", "ROUTE-2", *MISDELIVERY},
        TWO
        + """
        c1 send_batch m1 key=a, m2 key=a
        c1 receive 1 flow=f1 -> m1 lock=l1
        c2 receive 1 flow=f2 -> m2 lock=l2
        """,
    ),
    "a standby, or a flow that has its share to come": (
        {*MISDELIVERY},
        THREE
        + """
        c4 bind f4
        c2 disconnect f2 @30s-30001ms
        env assignment 1 f2 state=unassigned @30001ms
        env assignment 1 f3 ready @30001ms
        c1 send m1
        c4 receive 1 flow=f4 -> m1 lock=l1
        """,
    ),
    "a handoff that does not wait, or a flow that gets what is not its own": (
        {"REB-14", *MISDELIVERY},
        HANDOFF
        + """
        env assignment 1 f1 state=unassigned @18001ms
        env assignment 1 f2 ready @18001ms
        c2 receive 1 flow=f2 -> m1 lock=l2 redelivered=yes
        """,
    ),
    "a lost flow's partition, or another's": (
        {*MISDELIVERY},
        TWO
        + """
        c1 disconnect f1 @30s-30001ms
        env assignment 0 f1 unbound @30001ms
        c3 bind f3
        c2 send m1
        c3 receive 1 flow=f3 -> m1 lock=l1
        """,
    ),
}


@pytest.mark.parametrize("name", OPEN)
def test_left_open(name: str) -> None:
    rows, text = OPEN[name]
    inspection = judged(text)
    assert not inspection.findings
    assert set(inspection.open) == rows


def test_keys_are_not_blamed_for_deliveries_through_wrong_flows() -> None:
    inspection = judged(
        TWO
        + """
        c1 send m1 key=a @12s-12001ms
        c1 send m2 key=a
        c1 send m3
        c1 receive 9 flow=f1 -> m1 lock=l1
        c2 receive 9 flow=f2 -> m2 lock=l2
        c3 receive 1 flow=f3 -> m3 lock=l3
        """
    )
    assert set(inspection.findings) == {"REB-2"}
    assert set(inspection.open) == {"KEY-8", "ROUTE-1", "ROUTE-2"}


SHOWN = """
    c1 send m1 key=a
    c1 send m2 key=b
    c1 receive 1 -> m2 lock=l2 partition=0
    c1 receive 1 -> m1 lock=l1 partition={}{}
    """


@pytest.mark.parametrize(
    ("partition", "more", "found"), [(0, "", {"REB-3"}), (1, "", set()), (0, " redelivered=yes", set())]
)
def test_order_where_partitions_are_shown(partition: int, more: str, found: set[str]) -> None:
    inspection = inspect(history(SHOWN.format(partition, more), "rabbitmq"), SCREENS)
    assert set(inspection.findings) == found


def test_other_families_have_no_flows() -> None:
    assert not inspect(history(SHOWN.format(0, ""), "azure-premium"), SCREENS).exercised


@pytest.mark.parametrize(
    ("marks", "wrong"),
    [(("no", "yes"), False), (("yes", "yes"), True), (("no", "no"), True)],
)
def test_a_message_is_marked_as_redelivered_when_it_is(marks: tuple[str, str], wrong: bool) -> None:
    text = (
        "p send m1\nc1 bind f1\nc1 receive 1 flow=f1 -> m1 lock=l1 redelivered={}\nc1 unbind f1\n"
        "c2 bind f2\nc2 receive 1 flow=f2 -> m1 lock=l2 redelivered={}"
    )
    inspection = inspected(text.format(*marks), "solace")
    assert set(inspection.candidates) == ({"REB-3", "RCV-1", "RCV-7"} if wrong else set())
    assert not inspection.findings


def test_what_was_delivered_unseen_is_marked_as_redelivered() -> None:
    text = (
        "p send m1\nc1 bind f1\nc1 receive 1 flow=f1 -> unknown timeout\n"
        "c1 receive 1 flow=f1 -> m1 redelivered=yes"
    )
    assert not inspected(text, "solace").candidates


@pytest.mark.parametrize(("before", "wrong"), [("c1 bind f1\nc1 unbind f1\n", False), ("", True)])
def test_what_a_flow_had_unread_when_it_went_is_marked_as_redelivered(before: str, wrong: bool) -> None:
    text = f"p send m1\n{before}c2 bind f2\nc2 receive 1 flow=f2 -> m1 redelivered=yes"
    assert bool(inspected(text, "solace").candidates) is wrong


WENT = """
    c1 send m1 key=a @12s-12001ms
    c1 send m2 key=a
    c1 receive 2 flow=f1 -> m1 lock=l1, m2 lock=l2
    {}
    c1 unbind f1 @15s-15001ms
    env assignment 0 f1 unassigned @15002ms
    env assignment 0 f3 ready @15003ms
    c3 receive 2 flow=f3 -> {}
    c3 receive 1 flow=f3 -> nothing
    """


@pytest.mark.parametrize(
    ("before", "after", "late"),
    [
        ("", "m2 lock=l3 redelivered=yes", True),
        ("", "m1 lock=l3 redelivered=yes, m2 lock=l4 redelivered=yes", False),
        ("", "m1 lock=l3 redelivered=yes", False),
        ("c1 complete l1", "m2 lock=l3 redelivered=yes", False),
        ("c1 abandon l1", "m2 lock=l3 redelivered=yes", False),
        ("c1 abandon l2", "m2 lock=l3 redelivered=yes", False),
    ],
)
def test_what_a_flow_that_went_had_goes_back_to_its_place(before: str, after: str, late: bool) -> None:
    inspection = inspect(history(THREE + WENT.format(before, after), "solace"), SCREENS)
    expected = {"REB-3", "RCV-2", "KEY-8", "ROUTE-1", "ROUTE-2"}
    assert set(inspection.candidates) == (expected if late else set())
