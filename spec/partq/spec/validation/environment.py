"""What comes from outside becomes steps: flows, lost connections, faults, and the end of a run."""

from __future__ import annotations

from typing import Final

from .building import NOBODY, Building, Translated
from .recording import FOREVER, Operation
from .steps import Step


def _bind(t: Building, one: Operation) -> None:
    if one.partition is not None:  # REB-15
        t.put(one, [Step("impossible")] if one.happened else [])
    else:
        t.simple("bind", "bind refused", one, who=one.flow or NOBODY)


def _unbind(t: Building, one: Operation) -> None:
    mine = t.bound.get(one.flow or "") == one.client
    t.simple("unbind", "unbind refused", one, who=one.flow if mine and one.flow else NOBODY)


def _assignment(t: Building, one: Operation) -> None:
    part = t.places.names[one.partition or 0]
    event = Step("assigned", who=one.flow or NOBODY, part=part, state=one.state or "")
    event.prior = t.events.get(part, 0)
    t.events[part] = t.put(one, [event])


def _link(t: Building, one: Operation) -> None:
    """A client's connection ends, or may have."""
    if t.flows:
        flows = [flow for flow, owner in t.bound.items() if owner == one.client]
        ends = [Step("flow lost", who=flow, users=flows) for flow in flows]
        for group in [ends] if one.happened else [[end] for end in ends]:
            t.put(one, group, optional=not one.happened)
    else:
        t.put(one, [Step("front end lost" if t.expiry else "link lost", unknown=one.client == "env")])


def _fault(t: Building, one: Operation) -> None:
    if one.happened:
        t.put(one, [Step(one.op.replace("_", " "), part=t.places.names.get(one.partition or 0, 0))])


def _event(t: Building, one: Operation) -> None:
    if one.happened:
        t.put(one, [Step({"broker_kill": "kill", "broker_start": "start"}.get(one.op, one.op))])


def _drained(t: Building, one: Operation) -> None:
    t.put(one, [Step("drained", state="emptied" if one.dead and _is_emptied(t, one) else "")])


def _is_emptied(t: Building, one: Operation) -> bool:
    """Whether the queue was found empty before, and since then only its dead letters were asked about; and
    whatever may have taken a message is known."""
    known = all(o.happened or o.refused or o.op in ("send", "peek") for o in t.operations)
    return known and any(
        before.op == "drained"
        and not before.dead
        and (before.ret or FOREVER) < one.call
        and all(o.dead or o is before for o in t.operations if (o.ret or FOREVER) > before.call)
        for before in t.operations
    )


def _nothing(t: Building, one: Operation) -> None:
    """Without effect."""


ENVIRONMENT: Final[Translated] = {
    "bind": _bind,
    "unbind": _unbind,
    "assignment": _assignment,
    "disconnect": _link,
    "connection_lost": _link,
    "frontend_lost": _link,
    "reconnect": _nothing,
    "partition_down": _fault,
    "partition_up": _fault,
    "broker_kill": _event,
    "broker_start": _event,
    "drained": _drained,
}
