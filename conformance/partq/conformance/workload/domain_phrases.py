"""Phrases of order domains: several messages of one key, one of them in flight, given back, or left by its
consumer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from partq.conformance.workload.phrases import Draft
from partq.model.operations import ENV
from partq.model.profiles import SECOND


def _of_one_key(draft: Draft) -> tuple[str, str]:
    """A few messages of one key, and two clients."""
    key, sender = draft.key(), draft.client()
    for _ in range(3 + draft.source.below(3)):
        draft.add(sender, "send", messages=(draft.message(key),))
    first = draft.source.below(len(draft.clients))
    other = first + 1 + draft.source.below(len(draft.clients) - 1)
    return draft.clients[first], draft.clients[other % len(draft.clients)]


def _look(draft: Draft, client: str, limit: int = 5) -> None:
    draft.add(client, "receive", max=limit, timeout=SECOND)


def _one_by_one(draft: Draft) -> None:
    """One client holds a message while another asks; then it completes it, and the other asks again."""
    holder, other = _of_one_key(draft)
    _look(draft, holder, 1)
    _look(draft, other)
    draft.add(holder, "complete", pick=[0])
    _look(draft, other)


def _handed_back(draft: Draft) -> None:
    """A message, or two, come back while later ones wait."""
    holder, other = _of_one_key(draft)
    _look(draft, holder, 1 + draft.source.below(2))
    if draft.chance(2):
        draft.add(holder, "abandon", pick=[draft.source.below(2)])
    else:
        draft.add(ENV, "advance", by=draft.entity.lock_duration + SECOND)
    _look(draft, other, 1)
    _look(draft, holder)


def _leaving(draft: Draft) -> None:
    """A consumer leaves with some of what it got settled, with a standby that waits or without."""
    going, staying = _of_one_key(draft)
    if draft.chance(2):
        _look(draft, staying, 1)
    _look(draft, going, (1, 2, 20)[draft.source.below(3)])
    if draft.chance(2):
        draft.add(going, "complete", pick=[0])
    draft.add(going, "disconnect")
    _look(draft, staying, (1, 20)[draft.source.below(2)])
    if draft.chance(2):
        _look(draft, going, 20)


DOMAIN_PHRASES: Final[Mapping[str, Callable[[Draft], None]]] = {
    "one_by_one": _one_by_one,
    "handed_back": _handed_back,
    "leaving": _leaving,
}
"""Every phrase of these by its name."""
