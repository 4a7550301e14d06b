"""Phrases of deferred messages: set aside in time or late, passed by others, asked for by number."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from partq.conformance.workload.phrases import Draft, browse, send
from partq.conformance.workload.weights import Theme
from partq.model.operations import ENV
from partq.model.profiles import SECOND


def _defer(draft: Draft) -> None:
    first = draft.source.below(6)
    pick = [first] if draft.source.below(4) else [first, first + 1]
    draft.add(draft.client(), "defer", pick=pick)


def _ask(draft: Draft, client: str) -> None:
    """Ask for one number, or for two, which may be of two partitions; of messages deferred, or seen."""
    first = draft.source.below(20)
    pick = [first] if draft.source.below(3) else [first, first + 1 + draft.source.below(2)]
    draft.add(client, "receive_deferred", pick=pick, **({"seen": True} if draft.chance(6) else {}))


def _by_number(draft: Draft) -> None:
    _ask(draft, draft.client())


def _settle_some(draft: Draft, client: str) -> None:
    op = ("complete", "complete", "abandon", "defer", "renew_lock")[draft.source.below(5)]
    draft.add(client, op, pick=[draft.source.below(4)])


def _set_aside(draft: Draft) -> None:
    """Set aside, passed by others, shown, and taken up again."""
    client = draft.client()
    draft.add(client, "receive", max=1 + draft.source.below(3), timeout=SECOND)
    draft.add(client, "defer", pick=[draft.source.below(3)])
    if draft.chance(2):
        send(draft)
    draft.add(draft.client(), "receive", max=3, timeout=SECOND)
    if draft.chance(2):
        browse(draft)
    _ask(draft, client)
    _settle_some(draft, client)


def _found(draft: Draft) -> None:
    """What a peek shows as deferred is taken by whoever looks."""
    client = draft.client()
    browse(draft, client)
    draft.add(client, "receive_deferred", peeked=True)
    _settle_some(draft, client)


def _late(draft: Draft) -> None:
    """Set aside when the lock has ended, or just before."""
    client = draft.client()
    draft.add(client, "receive", max=1, timeout=SECOND)
    draft.add(ENV, "advance", by=draft.entity.lock_duration - SECOND // (1, 1_000)[draft.source.below(2)])
    draft.add(client, "defer", pick=[draft.source.below(3)])
    draft.add(draft.client(), "receive", max=2, timeout=SECOND)


def _outlasted(draft: Draft) -> None:
    """The lock on a deferred message runs out."""
    client = draft.client()
    _ask(draft, client)
    draft.add(ENV, "advance", by=draft.entity.lock_duration + SECOND)
    _ask(draft, client)
    _settle_some(draft, client)


def _together(draft: Draft) -> None:
    """Deferred in a transaction, which is committed or not, while another client asks for it."""
    client = draft.client()
    draft.add(client, "receive", max=2, timeout=SECOND)
    draft.add(client, "begin")
    draft.add(client, "defer", pick=[draft.source.below(4)], txn=True)
    if draft.chance(2):
        draft.add(client, "complete", pick=[draft.source.below(4)], txn=True)
    if draft.chance(2):
        browse(draft)
    draft.add(client, "rollback" if draft.chance(3) else "commit")
    _ask(draft, client)


PHRASES: Final[Mapping[str, Callable[[Draft], None]]] = {
    "defer": _defer,
    "by_number": _by_number,
    "set_aside": _set_aside,
    "found": _found,
    "defer_late": _late,
    "outlasted": _outlasted,
    "deferred_together": _together,
}
"""Every phrase of these by its name."""

THEME: Final = Theme(
    "deferral",
    rule="RCV-10",
    weights={
        "defer": 10,
        "by_number": 10,
        "set_aside": 8,
        "found": 4,
        "defer_late": 3,
        "outlasted": 4,
        "deferred_together": 4,
        "send": 22,
        "receive": 16,
        "complete": 8,
        "abandon": 4,
        "stale": 2,
        "peek": 6,
        "advance": 3,
        "outage": 2,
        "front_end": 1,
        "kill": 1,
    },
)
