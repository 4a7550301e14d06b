"""Scheduled messages in explorations: each may be scheduled instead of sent, and cancelled."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Final

from ..actions import Action
from ..messages import Message, as_scheduled
from ..offers import Bounds, Drawn, Group, Offer
from ..state import State
from .norm import moves_in


def _groups(scope: Bounds) -> Iterator[Group]:
    for p in range(scope.partitions):
        yield Group(scope.footprint("keys", f"part {p}"), partial(_activations, p))
        cancels = partial(_cancels, scope.producer, p)
        yield Group(scope.footprint(f"part {p}", proc=scope.producer), cancels)


def _activations(p: int, state: State, sent: int) -> Iterator[Action]:
    return moves_in(state, p)


def _cancels(proc: str, p: int, state: State, sent: int) -> Iterator[Action]:
    for entry in state.parts[p].log:
        if entry.due:
            yield Action("cancel_scheduled", proc, about=(entry.id,), only=p)


def _later(message: Message) -> Message:
    return replace(message, id=as_scheduled(message.id), scheduled_at=1)


OFFER: Final = Offer(_groups, Drawn("azure-flat", ("receive", "scheduling")), sends=_later)
