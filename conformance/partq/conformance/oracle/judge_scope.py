"""The limits of the exact judge: what is not modelled, and histories that leave too much unknown."""

from __future__ import annotations

from collections.abc import Sequence

from partq.conformance.history import Header, Record
from partq.conformance.history.entities import ByEntity, whole_of
from partq.conformance.oracle.roles import LOOKS, RECONNECTS, SHOWS
from partq.conformance.oracle.uses import not_modelled
from partq.model.machine import OPERATIONS
from partq.model.profiles import Entity, Profile, profile


def unmodelled(header: Header, records: Sequence[Record], entity: Entity) -> str | None:
    """What happened to the entity that is not modelled, if anything did."""
    if _starts_at_unknown(header, records):
        return "a peek starts at a number, and not every message is shown with one"
    family = profile(header.profile)
    for record in records:
        if why := _unpromised(family, record):
            return why
        if record.op not in OPERATIONS:
            return f"the operation {record.op} is not modelled"
        if record.op == RECONNECTS and family.flows:
            return "a flow that comes back is not modelled"
        if header.clock == "wall" and record.args.get("how") == "socket":
            return "when the broker noticed that a socket had ended is not known"
    return not_modelled(header, records, entity)


def _starts_at_unknown(header: Header, records: Sequence[Record]) -> bool:
    """Whether a peek starts at a number, and some message was shown without: then its place is not known."""
    if not profile(header.profile).shows_seq or not any(record.args.get("from_seq") for record in records):
        return False
    answers = (record.messages for record in records if record.op in SHOWS)
    return any(shown.seq is None for messages in answers for shown in messages)


def _unpromised(family: Profile, record: Record) -> str | None:
    """What the profile of a queue without flows is silent about, so that nothing is known of its effect."""
    if not (family.flows or family.peek) and record.op in LOOKS:
        return "peeks are not modelled where the profile has none"
    if not (family.flows or family.transactions) and "txn" in record.args:
        return "transactions are not modelled where the profile has none"
    return None


def of_unknown_origin(name: str, mine: Sequence[Record], everything: ByEntity) -> str | None:
    """Why the entity's messages are of unknown origin, if they are."""
    if name in everything.topics:
        return "topics are not modelled"
    if name.lower() in everything.beside_it:
        return f"what is asked of {name} is not followed, as it was created, or deleted, in between"
    if name in everything.unlisted:
        return f"{name} is not among those that get messages of {whole_of(name)}, as far as is said"
    if any(record.args.get("txn") in everything.across for record in mine):
        return "transactions of several entities are not modelled"
    own = {message.id for record in mine for message in record.sent}
    for shown in (shown for record in mine for shown in record.messages):
        if shown.id not in own and (not own or shown.id in everything.sent):
            return f"how message {shown.id!r} came to {name or 'the entity'} is not known"
    return None
