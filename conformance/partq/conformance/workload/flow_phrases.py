"""Phrases of consumers that bind: flows that come and go, handoffs, standbys, restarts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from partq.conformance.workload import phrases
from partq.conformance.workload.phrases import Draft, Phrases
from partq.model.profiles import SECOND


def bind(draft: Draft) -> None:
    draft.add(draft.client(), "bind")


def _receive(draft: Draft, clients: Sequence[str], limit: int) -> None:
    """Each of the clients receives."""
    for client in clients:
        draft.receive(client, limit)


def _bind_anew(draft: Draft, clients: Sequence[str]) -> None:
    """Each of the clients leaves its flow and binds another one."""
    for client in clients:
        draft.add(client, "unbind")
        draft.add(client, "bind")


def rest(draft: Draft) -> None:
    """Long enough for every delay and handoff to end."""
    entity = draft.entity
    draft.wait(entity.rebalance_delay + 2 * entity.max_handoff + SECOND)


def _spread(draft: Draft) -> None:
    """Messages of one key, then everybody receives: its partition shows. A batch bears its key in one way."""
    key = draft.key()
    first = draft.message(key)
    batch = [first]
    for _ in range(1 + draft.source.below(7)):
        batch.append(replace(first, id=draft.message(None).id))
    draft.send(draft.client(), *batch)
    draft.send(draft.client(), draft.message(key))
    _receive(draft, draft.clients, 20)


def _mixed_batch(draft: Draft) -> None:
    """A batch of several keys, then everybody receives: their partitions show."""
    batch = tuple(draft.message(draft.some_key()) for _ in range(2 + draft.source.below(4)))
    draft.send(draft.client(), *batch)
    _receive(draft, draft.clients, 20)


def _restart_and_bind(draft: Draft) -> None:
    """The broker is killed and started; whoever consumed has to bind anew."""
    phrases.restart(draft)
    _bind_anew(draft, draft.clients)
    rest(draft)
    _spread(draft)


def _handoff(draft: Draft) -> None:
    """A handoff, with and without unacknowledged messages at the old flow."""
    old, new = draft.client(), draft.client()
    draft.add(old, "bind")
    rest(draft)
    phrases.send_some(draft, 2, 3)
    draft.receive(old, 20)
    draft.add(new, "bind")
    draft.wait(draft.entity.rebalance_delay + SECOND)
    phrases.send(draft)
    draft.receive(old, 5)
    if draft.chance(2):
        draft.add(old, "complete", pick=list(range(20)))
    draft.wait(draft.entity.max_handoff)
    draft.receive(new, 20)


def _standby(draft: Draft) -> None:
    """Everybody binds, and one that may have been active goes."""
    for client in draft.clients:
        draft.add(client, "bind")
    rest(draft)
    draft.add(draft.clients[0], "disconnect" if draft.chance(2) else "unbind")
    _receive(draft, draft.clients[1:], 5)
    rest(draft)


def _bind_partition(draft: Draft) -> None:
    draft.add(draft.client(), "bind", partition=draft.source.below(draft.entity.partitions))


def _given_back(draft: Draft) -> None:
    """During a handoff the old flow gives back, or settles, some of what it has, and more is sent."""
    old, new = draft.two()
    draft.add(old, "bind")
    rest(draft)
    phrases.send_some(draft, 2, 4)
    draft.receive(old, 20)
    draft.add(new, "bind")
    draft.wait(draft.entity.rebalance_delay + SECOND // 2)
    phrases.send_alike(draft, draft.key(), 1, 3)
    op = "abandon" if draft.source.below(3) else "complete"
    draft.add(old, op, pick=list(range(1 + draft.source.below(20))))
    _receive(draft, (old, new), 20)
    draft.wait(draft.entity.max_handoff)
    draft.receive(new, 20)


def _too_late(draft: Draft) -> None:
    """A flow settles when the time of the handoff is over, or its flow is gone."""
    old, new = draft.two()
    key = draft.key()
    draft.add(old, "bind")
    rest(draft)
    phrases.send_alike(draft, key, 2, 3)
    draft.receive(old, 1 + draft.source.below(4))
    if draft.chance(2):
        draft.add(new, "bind")
        draft.wait(draft.entity.rebalance_delay + draft.entity.max_handoff + SECOND)
    else:
        _bind_anew(draft, (old,))
    draft.send(draft.client(), draft.message(key))
    if draft.chance(2):
        draft.receive(new, 20)
    draft.add(old, phrases.settlement(draft), pick=[0, 1], lost=[0])
    _receive(draft, (new, old), 20)


def _all_leave(draft: Draft) -> None:
    """Several flows go, one soon after the other, with messages unsettled."""
    for client in draft.clients[:3]:
        draft.add(client, "bind")
    rest(draft)
    phrases.send_some(draft, 2, 4)
    _receive(draft, draft.clients[:3], 5)
    for client in draft.clients[: 1 + draft.source.below(3)]:
        draft.add(client, "unbind" if draft.source.below(3) else "disconnect")
        if draft.chance(3):
            draft.wait(draft.entity.rebalance_delay // 2)
    rest(draft)
    draft.receive(draft.client(), 20)


def _early_leave(draft: Draft) -> None:
    """One flow has everything; others bind, perhaps enough for a standby; it goes before they get any."""
    old = draft.client()
    for client in draft.clients:
        draft.add(client, "unbind")
    draft.add(old, "bind")
    rest(draft)
    for client in draft.clients:
        draft.add(client, "bind")
    if draft.source.below(3):
        for client in draft.clients:
            draft.add(client, "bind", another=True)
    draft.add(old, "disconnect" if draft.chance(2) else "unbind")
    _receive(draft, draft.clients, 5)
    rest(draft)


def _second_flow(draft: Draft) -> None:
    """A client has two flows, and gets messages through each of them."""
    client = draft.client()
    draft.add(client, "bind")
    draft.add(client, "bind", another=True)
    rest(draft)
    phrases.send_some(draft, 2, 4)
    for _ in range(2):
        draft.receive(client, 5, flow=draft.source.below(2))
    draft.add(client, "complete", pick=[0, 1])
    if draft.chance(2):
        draft.add(client, "unbind", flow=draft.source.below(2))
        draft.receive(client, 5)


def _killed_early(draft: Draft) -> None:
    """The broker is killed while a delay or a handoff is running; flows bind anew, and look at once."""
    old, new = draft.two()
    draft.add(old, "bind")
    if draft.chance(2):
        rest(draft)
        phrases.send(draft)
        draft.receive(old, 5)
        draft.add(new, "bind")
        if draft.chance(2):
            draft.wait(draft.entity.rebalance_delay + SECOND)
    phrases.restart(draft)
    draft.wait(draft.entity.rebalance_delay // 2)
    _bind_anew(draft, (old, new))
    _receive(draft, (old, new), 5)
    rest(draft)


def _newcomer(draft: Draft) -> None:
    """A client binds, and at once receives and deletes."""
    client = draft.client()
    phrases.send(draft)
    draft.add(client, "bind")
    draft.take(client, 2)


FLOW_PHRASES: Final[Phrases] = {
    "bind": bind,
    "bind_partition": _bind_partition,
    "rest": rest,
    "spread": _spread,
    "mixed_batch": _mixed_batch,
    "restart": _restart_and_bind,
    "newcomer": _newcomer,
    "given_back": _given_back,
    "too_late": _too_late,
    "all_leave": _all_leave,
    "early_leave": _early_leave,
    "second_flow": _second_flow,
    "killed_early": _killed_early,
    "handoff": _handoff,
    "standby": _standby,
    "unbind": lambda draft: draft.add(draft.client(), "unbind"),
    "disconnect": lambda draft: draft.add(draft.client(), "disconnect"),
}
