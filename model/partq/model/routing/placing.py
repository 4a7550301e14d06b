"""Which partition a message goes to: its key, the key's partition, and the ways to distribute a batch.

The partition of a key is part of the state, extended when the key is first used: which function maps keys to
partitions is never assumed. Nothing here stores a message.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..actions import NOWHERE, Action
from ..clauses import clause, point
from ..configuration import Config
from ..edits import using, with_key
from ..messages import JMS_KEY, SOLACE_KEY, Delivery, Message, ambiguous
from ..sequencing.norm import home, named
from ..state import State, choices, is_up, key_partition

Placed = tuple[State, tuple[int, ...]]


@clause("KEY-1", "KEY-2", "KEY-4", "KEY-8", "TXN-8")
def key_of(cfg: Config, message: Message) -> str | None:
    """The key that pins a message to a partition, in a transaction and outside."""
    if not cfg.profile.partitioned:
        return None
    return cfg.profile.key_of(message, cfg.entity)


@point("KEY-3", "KEY-8")
def keys_of(cfg: Config, message: Message) -> tuple[str | None, ...]:
    """The possible keys: if two key properties differ no source says which one counts."""
    if ambiguous(message, cfg.profile.key_rule):
        return message.property(SOLACE_KEY), message.property(JMS_KEY)
    return (key_of(cfg, message),)


@clause("ROUTE-1", "ROUTE-2", "ROUTE-3", "ROUTE-6", "ROUTE-7", "ROUTE-9", "REB-18")
def placements(state: State, action: Action, hints: list[Delivery | None], strict: bool) -> Iterator[Placed]:
    """Every way to distribute the messages: a known key goes to its partition, a new one and a keyless
    message to any partition that is up. The state after knows the new keys. Unless ``strict``, messages that
    are never shown and differ in nothing else are in the order of their partitions."""
    alike = _alike(state.cfg, action.messages, hints, strict)
    yield from _placed(state, action, hints, alike, ())


def _alike(
    cfg: Config, messages: tuple[Message, ...], hints: list[Delivery | None], strict: bool
) -> list[int | None]:
    """For each message that is never shown the last one before it that is like it, if any."""
    last: dict[int | None, int] = {}
    found: list[int | None] = []
    for n, (message, hint) in enumerate(zip(messages, hints, strict=True)):
        plain = not (strict or hint or message.scheduled_at) and keys_of(cfg, message) == (None,)
        found.append(last.get(message.ttl) if plain else None)
        if plain:
            last[message.ttl] = n
    return found


def _placed(
    state: State,
    action: Action,
    hints: list[Delivery | None],
    alike: list[int | None],
    chosen: tuple[int, ...],
) -> Iterator[Placed]:
    n = len(chosen)
    if n == len(action.messages):
        yield state, chosen
        return
    like = alike[n]
    for after, p in places(state, action, action.messages[n], hints[n]):
        if like is None or p >= chosen[like]:
            yield from _placed(after, action, hints, alike, (*chosen, p))


@point("ROUTE-1", "ROUTE-2", "ROUTE-5", "KEY-1", "KEY-2", "KEY-8", "TXN-8")
def places(
    state: State, action: Action, message: Message, hint: Delivery | None
) -> Iterator[tuple[State, int]]:
    """The partitions one message may go to, each with the state that knows its key's partition."""
    for key in keys_of(state.cfg, message):
        for p in candidates(state, key, hint, action.only):
            if not (is_up(state, p) or takes(state, key)):
                continue
            if key is not None and key_partition(state, key) is None:
                yield with_key(state, key, p), p
            else:
                yield using(state, p), p


@point("ROUTE-5", "ROUTE-6", "ROUTE-8")
def takes(state: State, key: str | None) -> bool:
    """Whether a partition that is down takes a message of that key."""
    return False


def candidates(state: State, key: str | None, hint: Delivery | None, only: int | None) -> list[int]:
    """The partitions in which a message of that key may be, as it is shown and as far as the key is known;
    the one that its number names comes first."""
    known = None if key is None else key_partition(state, key)
    wanted = only
    if hint is not None:
        consistent, shown = home(state.cfg, hint)
        if not consistent:
            return []
        wanted = shown if shown is not None else only
    if known is not None:
        return [known] if wanted is None or wanted == known else []
    if wanted is not None:
        return [wanted] if NOWHERE < wanted < len(state.parts) else []
    found = choices(state)
    if hint is not None and (name := named(state.cfg, hint)[1]) is not None:
        found.sort(key=lambda p: p != name)
    return found
