"""How a history ends: whether the broker came to rest, and whether its entity was emptied.

A drain repairs everything, waits until all locks have ended, and receives until nothing comes. In virtual
time nothing hinders it: where it does not find the entity empty, messages are there that no client can
receive. A broker that never comes to rest is cut off by its scheduler; what it owes is in no requirement, so
that is counted and said, and no finding.
"""

from __future__ import annotations

from enum import StrEnum

from partq.conformance.execution.drain import ROUNDS, rounds_of
from partq.conformance.history import History, Record
from partq.conformance.verdict import Finding
from partq.model.operations import DRAINER, OPS
from partq.model.profiles import profile
from partq.model.requirements import requirement


class Ending(StrEnum):
    """How a history ended. ``OPEN``: without a drain."""

    DRAINED = "drained"
    UNDRAINED = "never drained"
    STUCK = "got nowhere"
    OPEN = "not to be drained"


def ending(history: History) -> Ending:
    """How the history ended."""
    records = history.records
    if any(record.op == "drained" for record in reversed(records)):
        return Ending.DRAINED
    if history.header.clock == "virtual" and any(record.ret is None for record in records):
        return Ending.STUCK
    return Ending.UNDRAINED if _drain_of(history) else Ending.OPEN


def unreceivable(history: History) -> Finding | None:
    """The finding that messages are left which no client can receive, where nothing hindered it: in virtual
    time, after a whole drain. With flows it may be that a partition has no owner."""
    in_vain = _in_vain(history)
    if history.header.clock != "virtual" or not in_vain:
        return None
    candidates = ("REB-11", "RCV-2") if profile(history.header.profile).flows else ()
    if _waits_still(history):
        candidates = ("SCH-1", "RCV-2")
    first = candidates[0] if candidates else "RCV-2"
    return Finding(
        first,
        requirement(first).title,
        in_vain[-3:],
        "everything was repaired and all locks had ended, and yet the drain never found the entity empty",
        "every message that is left is received, and then nothing is",
        f"{first}/never drained",
        candidates,
    )


def _waits_still(history: History) -> bool:
    """Whether a message was scheduled that nobody ever received."""
    sent = (m for r in history.records if not r.refused for m in r.sent)
    scheduled = {message.id for message in sent if message.scheduled_at is not None}
    came = {message.id for record in history.records if record.op == "receive" for message in record.messages}
    return not scheduled <= came


def left_behind(history: History) -> str:
    """Why it is not known whether messages of a live broker are lost: the whole drain found nothing more, and
    never found the entity empty. Empty where that was not so."""
    if history.header.clock == "virtual" or not _in_vain(history):
        return ""
    return f"in {ROUNDS} rounds the drain never found the entity empty: messages may be lost"


def _in_vain(history: History) -> tuple[int, ...]:
    """The receives of a drain that came back with nothing since something new came, where it never found the
    entity empty, was done to its end, and was alone."""
    if ending(history) is not Ending.UNDRAINED or _lingering(history):
        return ()
    empty, met = list[int](), set[str]()
    for record in _drain_of(history):
        shown = {message.id for message in record.messages}
        if record.op != "receive":
            continue
        if not shown <= met:
            empty.clear()
            met |= shown
        elif not shown and record.ok:
            empty.append(record.i)
    enough = rounds_of(profile(history.header.profile), history.header.clock == "virtual")
    return tuple(empty) if len(empty) >= enough else ()


def _lingering(history: History) -> bool:
    """Whether a flow besides the drain's may still be bound: nobody knows that it has gone."""
    others = [record for record in history.records if record.proc != DRAINER and "flow" in record.args]
    bound: set[str] = set()
    for record in others:
        if OPS[record.op].opens and not record.refused:
            bound.add(record.args["flow"])
        elif record.op in ("unbind", "disconnect") and record.ok:
            bound.discard(record.args["flow"])
    return bool(bound)


def _drain_of(history: History) -> list[Record]:
    return [record for record in history.records if record.proc == DRAINER]
