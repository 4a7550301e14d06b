"""Flows: good histories for every row, and that no screen says anything against them."""

from __future__ import annotations

from typing import Any

import pytest
from flow_histories import HANDOFF, ONE, THREE, TWO, judged

GOOD: dict[str, tuple[str, str, dict[str, Any]]] = {
    # name: rows exercised, history, settings
    "one flow, everything": ("REB-1 REB-4", ONE + "env drained @20s", {}),
    "two flows, balanced": ("REB-1 REB-4 REB-12", TWO + "env drained @20s", {}),
    "at rest until one of them goes": (
        "REB-4 REB-12",
        TWO + "c1 unbind f1 @20s-20001ms\n env assignment 0 f1 unbound @20001ms\n env drained @21s",
        {},
    ),
    "a flow goes while another standby binds, which takes over": (
        "REB-4",
        THREE
        + """
        c1 disconnect f1 @20s-20009ms
        c4 bind f4 @20001ms-20005ms
        env assignment 0 f1 unassigned @20010ms
        env assignment 0 f4 ready @20010ms
        env drained @40s
        """,
        {},
    ),
    "a disconnect that fails, and ends the flow all the same": (
        "REB-4",
        TWO
        + """
        c1 disconnect f1 -> error connection_lost @20s-20009ms
        env assignment 0 f1 unbound @20001ms
        env assignment 0 f1 unassigned @20002ms
        env assignment 0 f2 ready @20003ms
        c1 receive 1 flow=f1 -> error not_found @30s-31s
        env drained @40s
        """,
        {},
    ),
    "a disconnect that fails, and ends nothing": (
        "REB-4",
        TWO + "c1 disconnect f1 -> error connection_lost @20s-20009ms\n env drained @40s",
        {},
    ),
    "late by nearly as much as a timer may be, twice: the delay's and the handoff's": (
        "REB-4",
        ONE
        + """
        c2 bind f2 @12s-12001ms
        env assignment 1 f1 paused @17900ms
        env assignment 1 f1 unassigned @21800ms
        env assignment 1 f2 ready @21800ms
        c1 unbind f1 @21100ms-21101ms
        env assignment 0 f1 unbound @21101ms
        env drained @22s
        """,
        {"late": 950_000_000},
    ),
    "delay to the nanosecond": (
        "REB-4",
        """
        c1 bind f1 @10-20
        env assignment 0 f1 ready @1000000010
        env assignment 1 f1 ready @1000000010
        env drained @20s
        """,
        {"rebalance_delay": 1_000_000_000},
    ),
    "early by less than the skew": (
        "REB-4",
        """
        c1 bind f1 @2s-2001ms
        env assignment 0 f1 ready @6950ms
        env assignment 1 f1 ready @6950ms
        env drained @20s
        """,
        {"skew": 100_000_000},
    ),
    "no delay": (
        "REB-4",
        """
        c1 bind f1 @1-2
        env assignment 0 f1 ready @3
        env assignment 1 f1 ready @4
        env drained @20s
        """,
        {"rebalance_delay": 0},
    ),
    "a second bind may or may not restart the delay": (
        "REB-4 REB-12",
        """
        c1 bind f1 @1s-1001ms
        c2 bind f2 @4s-4001ms
        env assignment 0 f1 ready @6s
        env assignment 1 f2 ready @6s
        env drained @20s
        """,
        {},
    ),
    "a bind undone within the delay": (
        "",
        ONE + "c2 bind f2 @12s-12001ms\n c2 unbind f2 @13s-13001ms\n env drained @40s",
        {},
    ),
    "handoff when settled": (
        "REB-4 REB-12 REB-13 REB-14",
        HANDOFF
        + """
        c1 receive 1 flow=f1 -> nothing @18100ms-18200ms
        c1 complete l1 @19s-19001ms
        env assignment 1 f1 state=unassigned @19002ms
        env assignment 1 f2 ready @19002ms
        env drained @40s
        """,
        {},
    ),
    "handoff by time, and the message delivered again": (
        "REB-12 REB-14",
        HANDOFF
        + """
        env assignment 1 f1 state=unassigned @21s
        env assignment 1 f2 ready @21s
        c1 send m2
        c1 receive 1 flow=f1 -> nothing
        c2 receive 2 flow=f2 -> m1 lock=l2 redelivered=yes, m2 lock=l3
        c2 complete l2
        env drained @40s
        """,
        {},
    ),
    "handoff that would wait for another partition's message": (
        "",
        HANDOFF
        + """
        env assignment 1 f1 state=unassigned @18001ms
        env assignment 1 f2 ready @18001ms
        env drained @40s
        """,
        {},
    ),
    "handoff, the events in the other order": (
        "REB-1",
        HANDOFF
        + "env assignment 1 f2 ready @21s\n env assignment 1 f1 state=unassigned @21s\n env drained @40s",
        {},
    ),
    "handoff begun anew by the rebalance of a flow that bound before it": (
        "",
        HANDOFF
        + """
        c3 bind f3 @16s-16001ms
        env assignment 1 f1 state=unassigned @24s
        env assignment 1 f2 ready @24s
        env drained @40s
        """,
        {},
    ),
    "handoff cancelled": (
        "",
        HANDOFF + "c2 unbind f2 @19s-19001ms\n env assignment 1 f1 ready @19002ms\n env drained @40s",
        {},
    ),
    "a standby": ("REB-5", THREE + "env drained @40s", {}),
    "of flows that bind at once any may be the standby": (
        "REB-12",
        """
        c1 bind f1 @1-5
        c2 bind f2 @2-6
        c3 bind f3 @3-4
        env assignment 0 f2 ready @6s
        env assignment 1 f3 ready @6s
        env drained @40s
        """,
        {},
    ),
    "a standby takes over at once": (
        "REB-5 REB-6 REB-13",
        THREE
        + """
        c1 disconnect f1 @30s-30001ms
        env assignment 0 f1 state=unassigned @30002ms
        env assignment 0 f3 ready @30002ms
        env drained @60s
        """,
        {},
    ),
    "a standby takes over what was unbound for a moment": (
        "REB-6",
        THREE
        + """
        c1 unbind f1 @30s-30003ms
        env assignment 0 f1 unbound @30001ms
        env assignment 0 f1 state=unassigned @30002ms
        env assignment 0 f3 ready @30002ms
        env drained @60s
        """,
        {},
    ),
    "lost, unbound, inherited": (
        "REB-7 REB-11 REB-13",
        TWO
        + """
        c1 disconnect f1 @30s-30001ms
        env assignment 0 f1 unbound @30001ms
        env assignment 0 f1 state=unassigned @35s
        env assignment 0 f2 ready @35s
        env drained @60s
        """,
        {},
    ),
    "lost and never noticed in time, but by less than the skew": (
        "REB-7 REB-11",
        TWO
        + """
        c1 disconnect f1 @30s-30001ms
        env assignment 0 f1 unbound @30900ms
        env assignment 0 f1 state=unassigned @35900ms
        env assignment 0 f2 ready @35900ms
        env drained @60s
        """,
        {"skew": 1_000_000_000},
    ),
    "the last flow goes": (
        "REB-7",
        ONE
        + """
        c1 unbind f1 @30s-30001ms
        env assignment 0 f1 unbound @30001ms
        env assignment 1 f1 unbound @30001ms
        env drained @60s
        """,
        {},
    ),
    "lost, and another binds before the delay is over": (
        "",
        TWO
        + """
        c1 disconnect f1 @30s-30001ms
        env assignment 0 f1 unbound @30001ms
        c3 bind f3 @31s-31001ms
        env assignment 0 f1 state=unassigned @35s
        env assignment 0 f3 ready @35s
        env drained @60s
        """,
        {},
    ),
    "a fast second loss is not judged alone": (
        "",
        TWO
        + """
        c1 disconnect f1 @30s-30001ms
        env assignment 0 f1 unbound @30001ms
        c3 bind f3 @30002ms-30003ms
        c2 disconnect f2 @30004ms-30005ms
        env assignment 1 f2 unbound @30005ms
        env assignment 0 f1 state=unassigned @35s
        env assignment 0 f3 ready @35s
        env assignment 1 f2 state=unassigned @35s
        env assignment 1 f3 ready @35s
        env drained @60s
        """,
        {},
    ),
    "after a bind of unknown outcome nothing is sure": (
        "",
        ONE + "c2 bind f2 -> unknown timeout @12s-12001ms\n env drained @60s",
        {},
    ),
    "after a kill nothing is sure, but deliveries go on": (
        "",
        TWO
        + """
        c1 send m1 key=a @12s-12001ms
        env broker_kill @13s-13001ms
        env broker_start @14s-14001ms
        c1 receive 1 flow=f1 -> m1 lock=l1 @15s-15001ms
        env assignment 0 f2 ready @16s
        env drained @60s
        """,
        {},
    ),
    "what is told while the broker dies may die with it": (
        "",
        TWO
        + """
        c1 disconnect f1 @13s-13001ms
        env assignment 0 f1 unbound @13101ms
        env broker_kill @13100ms-13200ms
        env broker_start @14s-14001ms
        c3 bind f3
        env assignment 0 f3 ready @20s
        env assignment 1 f3 ready @20s
        env drained @60s
        """,
        {},
    ),
    "delivered while it was just being paused": (
        "REB-2",
        ONE
        + """
        c1 send m1 key=a @7s-8s
        c2 bind f2 @12s-12001ms
        c1 receive 1 flow=f1 ...
        env assignment 1 f1 paused @18s
        env assignment 1 f1 state=unassigned @18001ms
        env assignment 1 f2 ready @18001ms
        c1 -> m1 lock=l1 @18002ms-18002ms
        c1 abandon l1
        c1 send m2 key=a
        c2 receive 2 flow=f2 -> m1 lock=l2 redelivered=yes, m2 lock=l3
        """,
        {},
    ),
    "keys keep to their partition": (
        "KEY-8 ROUTE-1 ROUTE-2 REB-2 REB-3",
        TWO
        + """
        c1 send m1 key=a @12s-12001ms
        c2 send m2 prop.JMSXGroupID=a
        c1 send_batch m3 key=a session=x, m4 key=a prop.JMSXGroupID=c session=y
        c2 send m5 key=b
        c1 receive 9 flow=f1 -> m1 lock=l1, m2 lock=l2, m3 lock=l3, m4 lock=l4
        c2 receive 9 flow=f2 -> m5 lock=l5
        """,
        {},
    ),
    "keys move with their partition": (
        "REB-3",
        TWO
        + """
        c1 send m1 key=a @12s-12001ms
        c1 send m2 key=a
        c1 receive 1 flow=f1 -> m1 lock=l1
        c1 disconnect f1 @30s-30001ms
        env assignment 0 f1 unbound @30001ms
        env assignment 0 f1 state=unassigned @35s
        env assignment 0 f2 ready @35s
        c2 send m3 key=a
        c2 receive 9 flow=f2 -> m1 lock=l2 redelivered=yes, m2 lock=l3, m3 lock=l4
        env drained @60s
        """,
        {},
    ),
    "order is free between keys, and for what comes again": (
        "REB-3",
        TWO
        + """
        c1 send m1 key=a @12s-12001ms
        c1 send m2 key=a
        c1 send m3 key=b
        c1 receive 1 flow=f1 -> m3 lock=l3
        c1 receive 2 flow=f1 -> m1 lock=l1, m2 lock=l2
        c1 abandon l1
        c1 receive 1 flow=f1 -> m1 lock=l4
        """,
        {},
    ),
    "concurrent sends and concurrent receives have no order": (
        "",
        TWO
        + """
        c1 send m1 key=a @12s-14s
        c2 send m2 key=a @13s-15s
        c1 receive 1 flow=f1 -> m2 lock=l2
        c1 receive 1 flow=f1 -> m1 lock=l1
        """,
        {},
    ),
    "a late first delivery after a receive of unknown outcome": (
        "",
        TWO
        + """
        c1 send m1 key=a @12s-12001ms
        c1 send m2 key=a
        c1 receive 1 flow=f1 -> unknown timeout
        c1 receive 1 flow=f1 -> m2 lock=l2
        c1 receive 1 flow=f1 -> m1 lock=l1
        """,
        {},
    ),
    "no partition is shown or chosen": (
        "REB-15",
        ONE + "c2 bind f2 partition=1 -> error invalid_operation @12s-12001ms\n env drained @40s",
        {},
    ),
    "a number is shown, which tells of no partition": (
        "REB-15",
        """
        c1 bind f1
        c1 send m1 key=a
        c1 receive 1 flow=f1 -> m1#0.7 lock=l1
        """,
        {},
    ),
    "no assignment events: nothing but REB-15 and order": (
        "REB-3 REB-15",
        """
        c1 bind f1
        c1 send m1 key=a
        c1 send m2 key=a
        c1 receive 2 flow=f1 -> m1 lock=l1, m2 lock=l2
        c2 bind f2
        c2 receive 2 flow=f2 -> m1 lock=l3
        """,
        {},
    ),
}


@pytest.mark.parametrize("name", GOOD)
def test_allowed(name: str) -> None:
    rows, text, settings = GOOD[name]
    inspection = judged(text, **settings)
    assert not inspection.findings
    assert not inspection.open
    assert set(rows.split()) <= set(inspection.exercised)
