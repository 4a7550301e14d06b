"""One reading of a history, made once, which judge, blame and second looks share.

For each entity the records are checked, normalised, named by births and split into effects, and the order
that these show is derived (`guidance.Known`). Some violations are found here, without the model: a message
that no client sent (RCV-1), more partitions than the entity has (SEQ-2; REB-13 where events tell of them).

What a waiver changes about the reading: the rules of `identity.READ` change names of births, those of
`taking_apart.READ` effects, those of `Subqueue.read` what came to another queue and when, those of
`placement.TOGETHER` what shares a partition; and with any of them where equal keys live is only likely. For
all else the reading is one, whatever is waived.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, cached_property, partial
from typing import Final, NamedTuple

from partq.conformance.history import History, Record
from partq.conformance.history.entities import ByEntity, entity_of
from partq.conformance.history.lost_connections import with_lost_connections
from partq.conformance.history.partition_names import named_by_numbers
from partq.conformance.oracle import identity, taking_apart
from partq.conformance.oracle.effects import Effect, names_of
from partq.conformance.oracle.guidance import Known
from partq.conformance.oracle.identity import Ambiguous, by_birth
from partq.conformance.oracle.judge_scope import of_unknown_origin, unmodelled
from partq.conformance.oracle.placement import REMAPS, TOGETHER
from partq.conformance.oracle.roles import ENDS, TELLS
from partq.conformance.oracle.subqueues import subqueue
from partq.conformance.oracle.taking_apart import effects_of
from partq.conformance.oracle.uses import begins, runs_from_enqueued_times, told_apart, wrong
from partq.model.configuration import FOREVER, Config, InvalidScope
from partq.model.messages import Delivery, Message, is_shown_as
from partq.model.profiles import SECOND, Entity, Profile, profile, requirements_of
from partq.model.state import State, initial


@cache
def rules() -> frozenset[str]:
    """What changes the effects when it is waived."""
    return identity.READ | taking_apart.READ | subqueue().read


PUNCTUAL: Final = SECOND // 1000
"""The lateness of timers in a simulation, ns."""


class Unanswerable(Exception):
    """The model cannot be asked. The text says why not."""


class Impossible(Exception):
    """No state of the model can show this. ``requirement``: what forbids it. ``record``: where it is shown,
    or None. The text says what is wrong."""

    def __init__(self, requirement: str, record: int | None, why: str) -> None:
        super().__init__(why)
        self.requirement = requirement
        self.record = record


class Excerpt(NamedTuple):
    """A part of the effects (`excerpts`). ``spared``: what has to be waived where the others are left out.
    ``known``: whether the guidance, too, takes that for broken."""

    effects: tuple[Effect, ...]
    spared: frozenset[str] = frozenset()
    known: bool = False


class Question(NamedTuple):
    """``start``: the empty entity. ``effects``: what has to be explained. ``answers``: the same with what a
    flow is handed in one answer as one effect, which is stricter. ``known``: what effects and, for true,
    answers show, worked out once. ``rejected``: excerpts of the effects that nothing explained with some
    requirement waived; with others it will mostly be the same."""

    start: State
    effects: tuple[Effect, ...]
    answers: tuple[Effect, ...]
    known: Callable[[bool], Known]
    rejected: list[Excerpt]


class Reading:
    """One history, read lazily."""

    def __init__(self, history: History) -> None:
        self.history = history

    @classmethod
    def of(cls, history: History | Reading) -> Reading:
        """Read the history, unless it is a reading already."""
        return history if isinstance(history, Reading) else cls(history)

    @cached_property
    def entities(self) -> tuple[EntityReading, ...]:
        """The reading of each entity."""
        everything = ByEntity(self.history)
        return tuple(EntityReading(everything, name) for name in everything.components)

    @property
    def changed_by(self) -> frozenset[str]:
        """The rules which, waived, have the history read otherwise, so that the model cannot tell whether
        they make a difference."""
        records = self.history.records
        return (
            taking_apart.changed_by(records) | identity.changed_by(records) | subqueue().changed_by(records)
        )


class EntityReading:
    """What happened to one entity of a history. Each part is read once for all waivers that leave it as it
    is. ``guessed``: what nothing shows and its reading has guessed, so that it may not reject; or empty."""

    def __init__(self, everything: ByEntity, name: str) -> None:
        self.everything = everything
        self.header = everything.header
        self.name = name
        self.family = profile(everything.header.profile)
        self.beside = everything.beside.get(name)
        self.guessed = ""
        self._by_birth: dict[frozenset[str], tuple[Record, ...]] = {}
        self._effects: dict[tuple[frozenset[str], bool], tuple[Effect, ...]] = {}
        self._known: dict[tuple[frozenset[str], bool, bool], Known] = {}
        self._rejected: dict[frozenset[str], list[Excerpt]] = {}

    def question(self, late: int = 0, waived: frozenset[str] = frozenset()) -> Question:
        """The question whether the model explains what happened to the entity. ``late``: by how many ns the
        broker's timers may be late. ``waived``: requirements that are not enforced.

        Raises `Unanswerable`, `Impossible`.
        """
        records = self._named(waived)
        if self.beside is not None and (found := subqueue().wrong(records, waived)):
            raise Impossible(*found)
        start = self._start(records, late, waived)
        if found := wrong(start.cfg, records):
            raise Impossible(*found)
        effects = self._effects_of(waived, whole=False)
        answers = self._effects_of(waived, whole=True) if self.family.flows else effects
        rejected = self._rejected.setdefault(waived & rules(), [])
        return Question(start, effects, answers, partial(self._known_of, start.cfg), rejected)

    @cached_property
    def entity(self) -> Entity:
        """The entity's settings."""
        return entity_of(self.header, self.name)

    @cached_property
    def _records(self) -> tuple[Record, ...]:
        """The records, checked and normalised."""
        records = self.everything.tied(self.name)
        why = unmodelled(self.header, records, self.entity) or of_unknown_origin(
            self.name, records, self.everything
        )
        if why is not None:
            raise Unanswerable(why)
        records = with_lost_connections(named_by_numbers(records, self.family))
        with _unanswerable():
            records = told_apart(self.header, self.entity, records)
        _check_messages(self.family, records)
        return records

    @cached_property
    def leaves_order_open(self) -> bool:
        """Whether a message of a transaction is shown, never with its number, and something else was sent
        before the transaction ended: which of the two was numbered first nothing tells."""
        shown = [one for r in self._records if r.entity != self.beside for one in r.messages]
        unnumbered = {one.id for one in shown} - {one.id for one in shown if one.seq is not None}
        sends = [record for record in self._records if "messages" in record.args]
        ends = {r.args["txn"]: r.end for r in self._records if r.op in ENDS}
        return any(
            message.id in unnumbered and _meanwhile(sends, send, ends)
            for send in sends
            if "txn" in send.args
            for message in send.sent
        )

    @cached_property
    def _told_apart(self) -> tuple[Record, ...]:
        """The records with what is of the queue beside it told apart."""
        beside = self.beside
        return self._records if beside is None else subqueue().told_apart(self.family, self._records, beside)

    def _named(self, waived: frozenset[str]) -> tuple[Record, ...]:
        """The records with names of births."""
        key = waived & identity.READ
        if key not in self._by_birth:
            with _unanswerable():
                self._by_birth[key] = self._born(key)
        return self._by_birth[key]

    def _born(self, waived: frozenset[str]) -> tuple[Record, ...]:
        records, skew = self._told_apart, self.header.skew_ns
        try:
            return by_birth(records, skew, waived)
        except Ambiguous as error:
            born = by_birth(records, skew, waived, guess=True)
            self.guessed = str(error)
            return born

    def _start(self, records: tuple[Record, ...], late: int, waived: frozenset[str]) -> State:
        header, family = self.header, self.family
        late = max(late, header.lateness, PUNCTUAL if header.clock == "virtual" else 0)
        spread = header.skew_ns + (len(records) if header.clock == "virtual" else 0)
        names = names_of([r for r in records if r.is_env] if family.flows else records, family.partitioned)
        try:
            return initial(
                header.profile,
                self.entity,
                now=min((r.call for r in records), default=0) - header.skew_ns,
                waived=waived,
                timed=_is_timed(records),
                observed=any(r.op == TELLS for r in records),
                skew=header.skew_ns,
                late=late + spread,
                grace=header.lateness,
                telling=header.lateness + spread,
                subqueue=self.beside is not None,
                **{"names": names, **begins(family, self.entity, records)},
            )
        except InvalidScope as error:
            owner = "REB-13" if family.flows else "SEQ-2"
            if not family.modelled or owner not in requirements_of(header.profile):
                raise Unanswerable(str(error)) from error
            raise Impossible(owner, None, str(error)) from error

    def _effects_of(self, waived: frozenset[str], whole: bool) -> tuple[Effect, ...]:
        key = waived & rules(), whole
        if key not in self._effects:
            records = self._named(waived)
            own = effects_of(self.header, records, self.entity, whole, key[0])
            self._effects[key] = own if self.beside is None else (*own, *subqueue().moves(records, waived))
        return self._effects[key]

    def _known_of(self, cfg: Config, whole: bool) -> Known:
        key = cfg.waived & (rules() | TOGETHER | REMAPS), bool(cfg.waived), whole
        if key not in self._known:
            self._known[key] = Known(self._effects_of(cfg.waived, whole), cfg)
        return self._known[key]


@contextmanager
def _unanswerable() -> Iterator[None]:
    """Raises `Unanswerable` for an ambiguous appearance."""
    try:
        yield
    except Ambiguous as error:
        raise Unanswerable(str(error)) from error


def _is_timed(records: Sequence[Record]) -> bool:
    """Whether enqueued times matter: they are shown, or something runs from them."""
    return runs_from_enqueued_times(records) or any(
        shown.enqueued_at is not None for record in records for shown in record.messages
    )


def _check_messages(family: Profile, records: Sequence[Record]) -> None:
    """Raises `Unanswerable` for an ID sent twice, `Impossible` for a message that no client sent so."""
    sent: dict[str, Message] = {}
    for record in records:
        for message in record.sent:
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


def _meanwhile(sends: Sequence[Record], mine: Record, ends: Mapping[str, int]) -> bool:
    """Whether anything but its transaction sent between this send and the transaction's end."""
    txn = mine.args["txn"]
    end = ends.get(txn, FOREVER)
    return any(r.args.get("txn") != txn and r.call < end and r.end > mine.call for r in sends)
