"""Topics: which of the messages that a topic accepts a subscription gets a copy of.

The model is asked about each subscription for itself, as a queue to which all is sent that is sent to the
topic: what its rule does not match is accepted, and not stored. So no copy knows of another one. The
subscription's settings have its own rule alone (`Entity.outlet`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..actions import Action
from ..clauses import clause, point
from ..messages import Delivery, Message, message_id
from ..sequencing.entering import Kept, screens
from ..sequencing.norm import burn
from ..state import Config, State

Verdicts = frozenset[bool]
"""Whether a message has to be copied (true), must not be (false), or either."""


def is_subscription(cfg: Config) -> bool:
    """Whether the entity gets copies of what a topic is sent."""
    return bool(cfg.entity.subscriptions)


@screens(is_subscription)
def copied(
    state: State, action: Action, places: Sequence[int], hints: Sequence[Delivery | None]
) -> Iterator[Kept]:
    """Each way to store copies of the messages of a send that the topic accepts."""
    yield from _copied(state, action, places, hints, ())


@clause("SEQ-4")
def _copied(
    state: State,
    action: Action,
    places: Sequence[int],
    hints: Sequence[Delivery | None],
    verdicts: tuple[bool, ...],
) -> Iterator[Kept]:
    """The message after those decided. One that is not copied may use up a number: whether a copy has the
    topic's number or one of its own no source settles."""
    n = len(verdicts)
    if n == len(places):
        yield state, tuple(index for index, stored in enumerate(verdicts) if stored)
        return
    found = takes(state, action.messages[n])
    if True in found:
        yield from _copied(state, action, places, hints, (*verdicts, True))
    if False in found and hints[n] is None:
        yield from _copied(burn(state, places[n], "", 1), action, places, hints, (*verdicts, False))


@point("TOPIC-1")
def takes(state: State, message: Message) -> Verdicts:
    """Whether the subscription's rule matches the message."""
    rule = state.cfg.entity.subscriptions[0][1]
    name, asks, value = rule.partition("=")
    if not asks:
        return frozenset({rule == "true"})
    if name == "id":
        return _equal(message_id(message.id), value)
    if name == "partition_key" and message.partition_key is None and message.session_id is not None:
        return _equal(message.session_id, value) | {False}  # a key of its own it has not
    return _equal(getattr(message, name), value)


def _equal(own: str | None, value: str) -> Verdicts:
    """Whether the property has the value. Whether case matters no source settles."""
    if own is None or own.casefold() != value.casefold():
        return frozenset({False})
    return frozenset({True} if own == value else {True, False})
