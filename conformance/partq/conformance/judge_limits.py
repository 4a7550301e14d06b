"""What the exact judge does not judge: what the model does not know, and what is not known of a history."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from partq.model.machine import OPERATIONS
from partq.model.profiles import profile

from .entities import is_topic, settings_of
from .history import Header, Record

DEAD_LETTERED: Final = (
    "a message may have been dead-lettered after too many deliveries, which is not modelled"
)


def unmodelled(header: Header, name: str, records: Sequence[Record]) -> str | None:
    """What happened to the entity that the model does not know, if anything did."""
    for record in records:
        if record.op not in OPERATIONS:
            return f"the operation {record.op} is not modelled"
        if header.clock == "wall" and record.args.get("how") == "socket":
            return "when the broker noticed that a socket had ended is not known"
    return _life_not_modelled(header, name, records)


def _life_not_modelled(header: Header, name: str, records: Sequence[Record]) -> str | None:
    """How the life of a message may have ended, or changed, that the model does not know."""
    family = profile(header.profile)
    entity = settings_of(header, name) or family.default_entity
    last = max((r.call if r.ret is None else r.ret for r in records), default=0)
    spent = _deliveries(records)
    for record in records:
        for message in record.args.get("messages", ()):
            if message.scheduled_at is not None:
                return "scheduled messages are not modelled"
            if message.ttl is not None and record.call + message.ttl <= last + header.skew_ns:
                return "a message's time to live may have ended, which is not modelled"
            if family.caching_front_ends and message.id not in spent:
                if record.call + entity.max_delivery_count * entity.lock_duration <= last:
                    return DEAD_LETTERED  # by locks of caches, unseen
    return DEAD_LETTERED if max(spent.values(), default=0) >= entity.max_delivery_count else None


def _deliveries(records: Sequence[Record]) -> dict[str, int]:
    """How often each message was delivered, as far as shown."""
    spent: dict[str, int] = {}
    for record in records:
        for shown in record.messages if record.op == "receive" else ():
            spent[shown.id] = max(spent.get(shown.id, 0), shown.delivery_count or 0) + 1
    return spent


def of_unknown_origin(name: str, mine: Sequence[Record], everything: Sequence[Record]) -> str | None:
    """Why it is not known what the entity holds, if it is not."""
    if is_topic(name, {record.entity for record in everything}):
        return "topics are not modelled"
    own = {message.id for record in mine for message in record.args.get("messages", ())}
    all_ids = {message.id for record in everything for message in record.args.get("messages", ())}
    for shown in (shown for record in mine for shown in record.messages):
        if shown.id not in own and (not own or shown.id in all_ids):
            return f"how message {shown.id!r} came to {name or 'the entity'} is not known"
    return None
