"""How histories with flows begin, for the tests of their screens.

Delay 5 s, handoff 3 s, unless said otherwise. The openings end at rest: from 12 s on what happens is new.
"""

from __future__ import annotations

from typing import Any

from partq.conformance.history.notation import history
from partq.conformance.screens.assess import inspect
from partq.conformance.screens.flows import deliveries as flows
from partq.conformance.screens.flows import order as flow_order
from partq.conformance.screens.flows import ownership, rebalancing
from partq.conformance.verdict import Inspection

SCREENS = (ownership.SCREEN, flows.SCREEN, flow_order.SCREEN, rebalancing.SCREEN)

ONE = """
    c1 bind f1 @1-2
    env assignment 0 f1 ready @6s
    env assignment 1 f1 ready @6s
    """
"""One flow with both partitions."""

TWO = """
    c1 bind f1 @1-2
    c2 bind f2 @3-4
    env assignment 0 f1 ready @6s
    env assignment 1 f2 ready @6s
    """
"""Two flows, one partition each."""

THREE = TWO + "c3 bind f3 @12s-13s\n"
"""... and from 12 s on a standby."""

HANDOFF = (
    ONE
    + """
    c1 send m1 key=a @7s-8s
    c1 receive 1 flow=f1 -> m1 lock=l1 @8001ms-9s
    c2 bind f2 @12s-12001ms
    env assignment 1 f1 paused @18s
    """
)
"""One flow with both partitions and an unsettled message; then a second flow, and a handoff since 18 s."""


APART = """
    c9 send x1
    c1 receive 1 flow=f1 -> nothing
    c2 receive 1 flow=f2 -> x1 lock=lx
    """
"""After this it is known that flows get only what is theirs."""


MANY = "".join(f"c1 send m{n} key=a\n" for n in range(1, 21)) + (
    "c1 receive 99 flow=f1 -> " + ", ".join(f"m{n} lock=l{n}" for n in range(1, 21)) + "\n"
)
"""Enough messages of one key through one flow that chance hardly explains it."""


def judged(text: str, **settings: Any) -> Inspection:
    """What the screens of flows say of that history; its queue has two partitions."""
    return inspect(history(text, "solace", **{"partitions": 2, **settings}), SCREENS)
