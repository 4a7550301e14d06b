"""Phrases of scheduled messages: scheduled in either way, cancelled in time, late, amid the activation; in
transactions; looked for while they wait."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from partq.conformance.workload.phrases import Draft, browse, send, settlement
from partq.conformance.workload.weights import Theme
from partq.model.operations import ENV
from partq.model.profiles import SECOND

SOON: Final = 2 * SECOND
"""How long most scheduled messages wait."""

DELAYS: Final = (SOON, SOON, SOON, 10 * SECOND, 40 * SECOND, SECOND // 1_000, 0)


def _delay(draft: Draft) -> int:
    return DELAYS[draft.source.below(len(DELAYS))]


def _schedule(draft: Draft, client: str, delay: int, txn: bool = False) -> None:
    """One message or a few, by the operation, or by a send that says when."""
    key = draft.key() if txn else draft.some_key()
    count = 1 if draft.source.below(4) else 2 + draft.source.below(2)
    messages = tuple(draft.message(key) for _ in range(count))
    single = "send" if count == 1 else "send_batch"
    op = "schedule" if draft.source.below(3) else single
    draft.add(client, op, messages=messages, delay=delay, **({"txn": True} if txn else {}))


def _later(draft: Draft) -> None:
    _schedule(draft, draft.client(), _delay(draft))


def _cancel(draft: Draft) -> None:
    active = {"active": True} if draft.chance(6) else {}
    draft.add(draft.client(), "cancel_scheduled", pick=draft.source.below(6), **active)


def _reconsidered(draft: Draft) -> None:
    """Scheduled and cancelled by one client, in time or late, with a look in between."""
    client = draft.client()
    _schedule(draft, client, SOON)
    if draft.chance(2):
        browse(draft)
    if draft.chance(3):
        draft.add(ENV, "advance", by=SOON + SECOND * draft.source.below(2))
    draft.add(client, "cancel_scheduled", pick=draft.source.below(20))
    if draft.chance(2):
        browse(draft)


def _race(draft: Draft) -> None:
    """A cancel when the message is due, while another client receives."""
    client = draft.client()
    _schedule(draft, client, SOON)
    draft.add(ENV, "advance", by=SOON - SECOND // (1, 10, 1_000)[draft.source.below(3)])
    draft.add(draft.client(), "receive", max=2, timeout=SECOND)
    draft.add(client, "cancel_scheduled", pick=draft.source.below(20))
    draft.add(draft.client(), "receive", max=2, timeout=SECOND)


def _among_others(draft: Draft) -> None:
    """What is sent while a message waits comes before it."""
    _schedule(draft, draft.client(), SOON)
    for _ in range(1 + draft.source.below(3)):
        send(draft)
    draft.add(ENV, "advance", by=SOON + SECOND)
    send(draft)
    client = draft.client()
    draft.add(client, "receive", max=5, timeout=SECOND)
    draft.add(client, settlement(draft), pick=[draft.source.below(5)])


def _together(draft: Draft) -> None:
    """Scheduled, or cancelled, in a transaction."""
    client = draft.client()
    cancels = draft.chance(2)
    if cancels:
        _schedule(draft, client, 10 * SECOND)
    draft.add(client, "begin")
    if cancels:
        draft.add(client, "cancel_scheduled", pick=draft.source.below(20), txn=True)
    else:
        _schedule(draft, client, (SOON, 10 * SECOND)[draft.source.below(2)], txn=True)
    if draft.chance(2):
        browse(draft)
    if cancels and draft.chance(6):
        draft.add(ENV, "advance", by=10 * SECOND)
    draft.add(client, "rollback" if draft.chance(3) else "commit")
    browse(draft)


def _wait(draft: Draft) -> None:
    draft.add(ENV, "advance", by=SOON)


PHRASES: Final[Mapping[str, Callable[[Draft], None]]] = {
    "later": _later,
    "cancel": _cancel,
    "reconsidered": _reconsidered,
    "race": _race,
    "among_others": _among_others,
    "together": _together,
    "wait": _wait,
}
"""Every phrase of these by its name."""

THEME: Final = Theme(
    "scheduling",
    rule="SCH-1",
    weights={
        "later": 20,
        "cancel": 4,
        "reconsidered": 6,
        "race": 6,
        "among_others": 6,
        "together": 5,
        "wait": 6,
        "send": 12,
        "receive": 14,
        "take": 3,
        "complete": 10,
        "abandon": 3,
        "peek": 8,
        "outage": 2,
        "front_end": 1,
        "kill": 1,
    },
)
