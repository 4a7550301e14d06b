"""Phrases of consumers that bind: flows that come and go, handoffs, standbys, restarts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from partq.model.operations import ENV
from partq.model.profiles import SECOND

from .phrases import Draft, send


def _bind(draft: Draft) -> None:
    draft.add(draft.client(), "bind")


def _rest(draft: Draft) -> None:
    """Long enough for every delay and handoff to end."""
    entity = draft.entity
    draft.add(ENV, "advance", by=entity.rebalance_delay + 2 * entity.max_handoff + SECOND)


def _spread(draft: Draft) -> None:
    """Messages of one key, then everybody receives: its partition shows. A batch bears its key in one way."""
    key = draft.key()
    first = draft.message(key)
    batch = [first]
    for _ in range(1 + draft.source.below(7)):
        batch.append(replace(first, id=draft.message(None).id))
    draft.add(draft.client(), "send_batch", messages=tuple(batch))
    draft.add(draft.client(), "send", messages=(draft.message(key),))
    for other in draft.clients:
        draft.add(other, "receive", max=20, timeout=SECOND)


def _restart(draft: Draft) -> None:
    """The broker is killed and started; whoever consumed has to bind anew."""
    draft.add(ENV, "broker_kill")
    draft.add(ENV, "broker_start")
    for client in draft.clients:
        draft.add(client, "unbind")
        draft.add(client, "bind")
    _rest(draft)
    _spread(draft)


def _handoff(draft: Draft) -> None:
    """A partition changes hands while its old flow has messages unsettled, or just has not."""
    old, new = draft.client(), draft.client()
    draft.add(old, "bind")
    _rest(draft)
    for _ in range(2 + draft.source.below(3)):
        send(draft)
    draft.add(old, "receive", max=20, timeout=SECOND)
    draft.add(new, "bind")
    draft.add(ENV, "advance", by=draft.entity.rebalance_delay + SECOND)
    send(draft)
    draft.add(old, "receive", max=5, timeout=SECOND)
    if draft.chance(2):
        draft.add(old, "complete", pick=list(range(20)))
    draft.add(ENV, "advance", by=draft.entity.max_handoff)
    draft.add(new, "receive", max=20, timeout=SECOND)


def _standby(draft: Draft) -> None:
    """Everybody binds, and one that may have been active goes."""
    for client in draft.clients:
        draft.add(client, "bind")
    _rest(draft)
    draft.add(draft.clients[0], "disconnect" if draft.chance(2) else "unbind")
    for client in draft.clients[1:]:
        draft.add(client, "receive", max=5, timeout=SECOND)
    _rest(draft)


def _bind_partition(draft: Draft) -> None:
    draft.add(draft.client(), "bind", partition=draft.source.below(draft.entity.partitions))


def _unbind(draft: Draft) -> None:
    draft.add(draft.client(), "unbind")


def _disconnect(draft: Draft) -> None:
    draft.add(draft.client(), "disconnect")


def _newcomer(draft: Draft) -> None:
    """A client binds, and at once receives and deletes."""
    client = draft.client()
    send(draft)
    draft.add(client, "bind")
    draft.add(client, "receive", max=2, mode="receive_and_delete", timeout=SECOND)


FLOW_PHRASES: Final[Mapping[str, Callable[[Draft], None]]] = {
    "bind": _bind,
    "bind_partition": _bind_partition,
    "rest": _rest,
    "spread": _spread,
    "restart": _restart,
    "newcomer": _newcomer,
    "handoff": _handoff,
    "standby": _standby,
    "unbind": _unbind,
    "disconnect": _disconnect,
}
"""Every phrase of these by its name."""
