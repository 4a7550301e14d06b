"""One entity of a history, made ready for a search: the empty entity in the model, and the effects to
explain.

What the model is not asked about is answered here: what no client sent (RCV-1), and more partitions than the
entity has (SEQ-2; REB-13 where events tell of them).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from partq.conformance.history import Record
from partq.conformance.history.entities import ByEntity, settings_of
from partq.conformance.history.lost_connections import with_lost_connections
from partq.conformance.history.partition_names import named_by_numbers
from partq.conformance.oracle.effects import Effect, effects_of, names_of
from partq.conformance.oracle.identity import Ambiguous, by_birth
from partq.conformance.oracle.judge_scope import of_unknown_origin, unmodelled
from partq.conformance.oracle.roles import TELLS
from partq.model.messages import Delivery, Message, is_shown_as
from partq.model.profiles import SECOND, Profile, profile, requirements_of
from partq.model.state import InvalidScope, State, initial

PUNCTUAL: Final = SECOND // 1000
"""ns by which timers may be late in a simulation."""


class Unanswerable(Exception):
    """The model is not asked: the text says why not."""


class Impossible(Exception):
    """No state of the model can show this. ``requirement``: what forbids it. ``record``: where it is shown,
    or None. The text says what is wrong."""

    def __init__(self, requirement: str, record: int | None, why: str) -> None:
        super().__init__(why)
        self.requirement = requirement
        self.record = record


class Question(NamedTuple):
    """``start``: the empty entity. ``effects``: what has to be explained. ``answers``: the same with what a
    flow is handed in one answer as one effect, which is stricter."""

    start: State
    effects: tuple[Effect, ...]
    answers: tuple[Effect, ...]


def question_of(everything: ByEntity, name: str, late: int, waived: frozenset[str]) -> Question:
    """The question whether the model explains what happened to that entity of a history. ``late``: by how
    many ns the broker's timers may be late. ``waived``: requirements that are not enforced.

    Raises `Unanswerable`, `Impossible`.
    """
    header, records = everything.header, everything.of(name)
    why = unmodelled(header, records) or of_unknown_origin(name, records, everything)
    if why is not None:
        raise Unanswerable(why)
    family = profile(header.profile)
    records = with_lost_connections(named_by_numbers(records, family))
    _check_messages(family, records)
    try:
        records = by_birth(records, header.skew_ns, waived)
    except Ambiguous as error:
        raise Unanswerable(str(error)) from error
    entity = settings_of(header, name) or family.default_entity
    if entity.duplicate_detection:
        raise Unanswerable("duplicate detection is not modelled yet")
    late = max(late, header.lateness, PUNCTUAL if header.clock == "virtual" else 0)
    spread = header.skew_ns + (len(records) if header.clock == "virtual" else 0)
    try:
        start = initial(
            header.profile,
            entity,
            names_of([r for r in records if r.is_env] if family.flows else records, family.partitioned),
            now=min((r.call for r in records), default=0) - header.skew_ns,
            waived=waived,
            timed=_is_timed(records),
            observed=any(r.op == TELLS for r in records),
            skew=header.skew_ns,
            late=late + spread,
            telling=header.lateness + spread,
        )
    except InvalidScope as error:
        owner = "REB-13" if family.flows else "SEQ-2"
        if not family.modelled or owner not in requirements_of(header.profile):
            raise Unanswerable(str(error)) from error
        raise Impossible(owner, None, str(error)) from error
    effects = effects_of(header, records, entity, waived=waived)
    whole = effects_of(header, records, entity, whole=True, waived=waived) if family.flows else effects
    return Question(start, effects, whole)


def _is_timed(records: Sequence[Record]) -> bool:
    """Whether enqueued times matter: they are shown, or times to live run from them."""
    sent = (message for record in records for message in record.args.get("messages", ()))
    return any(one.ttl is not None for one in sent) or any(
        shown.enqueued_at is not None for record in records for shown in record.messages
    )


def _check_messages(family: Profile, records: Sequence[Record]) -> None:
    """Raises `Unanswerable` for an ID sent twice, `Impossible` for a message that no client sent so."""
    sent: dict[str, Message] = {}
    for record in records:
        for message in record.args.get("messages", ()):
            if message.id in sent:
                raise Unanswerable(f"message ID {message.id!r} was sent twice")
            sent[message.id] = message
    for record in records:
        for shown in record.messages:
            if not _as_sent(family, shown, sent.get(shown.id)):
                raise Impossible("RCV-1", record.i, f"no client sent {shown.id!r} as it is shown")


def _as_sent(family: Profile, shown: Delivery, message: Message | None) -> bool:
    """Whether the message that is shown is one that was sent, unchanged in all that is shown (RCV-1)."""
    return message is not None and is_shown_as(message, shown) and family.may_show(shown, message)
