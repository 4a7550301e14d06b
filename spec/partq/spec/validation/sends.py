"""What is sent becomes steps: by itself, in a batch, in a transaction, for later; and what is cancelled."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import partial
from typing import Final

from .building import FULL, Building, Sight, Translated, grouped, runs
from .recording import FOREVER, NotFollowed, Operation
from .steps import Step


def _send(t: Building, one: Operation) -> None:
    ms = [t.sent[message.id] for message in one.sent]
    keyless = (
        "partitioned" in t.recording.words
        and one.txn is None
        and all(message.key is None for message in one.sent)
    )
    if one.refused:
        _send_refused(t, one, ms)
        return
    kind = "send" if one.txn is None else "txn schedule" if one.op == "schedule" else "txn send"
    if one.txn is not None and any(message.past for message in one.sent):
        raise NotFollowed("a message of a transaction whose time had come when it was sent")
    if one.overfull and one.happened and "TXN-9" in t.recording.rules:
        t.put(one, [Step("impossible")])
        return
    ret = one.ret
    if not one.happened:
        later = [birth for m in ms if (birth := t.places.births[m - 1])]
        ret = min(t.first_shown.get(m, Sight()) for m in ms + later).ret
        if ret == FOREVER:
            t.put(one, [Step(kind, ms=ms, keyless=keyless)], optional=True)
            return
    for group in _stored_together(t, one, ms, keyless):
        steps = [Step(kind, ms=[m, *(o for o in ms if o != m)], keyless=keyless) for m in group]
        t.put(one, steps, ret=ret)


def _stored_together(t: Building, one: Operation, ms: Sequence[int], keyless: bool) -> list[list[int]]:
    """The messages of one request, those of one instant together, in the order of their numbers. Those of
    other keys may be between them, if it is no rule that there are none (KEY-7)."""

    def instant(m: int) -> Hashable:
        if keyless:
            return t.places.part(m) or ("by itself", m)
        return "KEY-7" in t.recording.rules or t.places.messages[m - 1].key

    if one.txn is not None:
        return [list(ms)]
    together = grouped if keyless or "KEY-7" in t.recording.rules else runs
    groups = together(sorted(ms, key=partial(_turn, t)), instant)
    for group in groups:
        t.unnumbered.append([m for m in group if m in t.first_shown and t.places.number(m) < 0])
    return groups


def _turn(t: Building, m: int) -> tuple[bool, int, Sight]:
    """Where a message comes in its batch: by its number, else by when it was first shown. Those of one
    partition are delivered for the first time in the order of their numbers (RCV-3)."""
    number = t.places.number(m)
    return number < 0, number, t.first_shown.get(m, Sight())


def _send_refused(t: Building, one: Operation, ms: Sequence[int]) -> None:
    invalid = one.error == "invalid_operation"
    if one.full and one.error in FULL:
        op = "txn send full"
    elif one.txn is not None:
        op = "txn send invalid" if invalid else "txn send refused"
    elif invalid:
        op = "send invalid"
    elif one.error in ("quota", "too_large"):
        op = "send full"
    else:
        op = "send fails" if one.passing else "impossible"  # KEY-9
    t.refuse(op, one, ms=ms, free=one.impatient and all(m.key is None for m in one.sent))


def _cancel(t: Building, one: Operation) -> None:
    ms = [t.sent[id] for id in one.about if id in t.sent]
    kind = "cancel" if one.txn is None else "txn cancel"
    if one.refused and one.full and one.error in FULL:
        t.refuse("txn full", one)
    elif one.refused:
        t.refuse(f"{kind} refused", one, ms=ms, unknown=not ms)
    elif not (ms and t.places.births[ms[0] - 1]):
        t.put(one, [Step("impossible")] if one.happened else [])
    else:
        t.put(one, [Step(kind, ms=ms)], optional=not one.happened)


SENDS: Final[Translated] = {
    "send": _send,
    "send_batch": _send,
    "schedule": _send,
    "cancel_scheduled": _cancel,
}
