"""From a history to the data of a sequence diagram: lanes, spans, links, bands. A pure function.

What is shown and where it stands in time is decided here; how that becomes a picture is `sequence.py`'s
business. There is one row for each call and each return, in their order, and it is known when each was.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from partq.conformance.history import History, Record, time_text
from partq.model.messages import Delivery
from partq.model.operations import ENV, SETTLEMENTS
from partq.model.profiles import known

from .wording import SENDS, label, locks_of, note, numbered, tooltip

LIMIT: Final = 40
"""The most operations drawn; of a longer history the neighbourhood of the witness."""

NEIGHBOURS: Final = 2
"""How many operations before and after each witness are drawn of a long history."""

_BANDS: Final = {"partition_down": "partition_up", "broker_kill": "broker_start"}
_BAND_ENDS: Final = frozenset(_BANDS.values())
ARRIVING: Final = frozenset({"deliver", "peek"})
"""The kinds of link that lead from a partition to a client."""

_TITLES: Final = {ENV: "environment", "partition": "partition {}"}
"""Kind of lane -> how it is called; a client by its name."""

_ACROSS: Final = frozenset({"advance", "drained"})
"""Events that are drawn across all lanes."""

_ELSEWHERE: Final = _ACROSS | {"assignment"}
"""Events that need no lane of the environment."""


class Lifeline(NamedTuple):
    """A lifeline. ``kind``: ``env``, ``client`` or ``partition``."""

    kind: str
    title: str


class Activation(NamedTuple):
    """An operation, from the row of its call to that of its return (None: it never returned)."""

    lifeline: int
    start: int
    end: int | None
    label: str
    note: str
    outcome: str
    witness: bool
    tooltip: str


class Link(NamedTuple):
    """Messages between a client and a partition. ``kind``: ``send``, ``deliver``, ``peek``, ``settle``."""

    source: int
    target: int
    row: int
    label: str
    kind: str
    outcome: str
    witness: bool


class Band(NamedTuple):
    """A stretch in which something was down. ``lifeline`` None: the whole broker."""

    lifeline: int | None
    start: int
    end: int | None
    label: str


class Mark(NamedTuple):
    """Something noted at one instant on a lane: a partition assigned, a front end lost."""

    lifeline: int
    row: int
    label: str
    witness: bool


class TimeBreak(NamedTuple):
    """A row that stands for time passed or for operations left out."""

    row: int
    label: str


@dataclass(frozen=True, slots=True)
class Diagram:
    """A sequence diagram's content. ``rows``: each row's kind, ``call``, ``return``, ``instant`` or
    ``time_break``. ``times``: when each row was, in ns since the history began; None for what is left out.

    ``shown`` of ``total`` records are drawn.
    """

    lifelines: tuple[Lifeline, ...]
    rows: tuple[str, ...]
    times: tuple[int | None, ...]
    activations: tuple[Activation, ...] = ()
    links: tuple[Link, ...] = ()
    bands: tuple[Band, ...] = ()
    marks: tuple[Mark, ...] = ()
    time_breaks: tuple[TimeBreak, ...] = ()
    shown: int = 0
    total: int = 0


def diagram(history: History, witness: Iterable[int] = (), limit: int = LIMIT) -> Diagram:
    """The diagram of a history; ``witness`` are the ``i`` of the records to point out."""
    marked = frozenset(witness)
    chosen = _chosen(history.records, marked, limit)
    return _Builder(history, chosen, marked).build()


def _chosen(records: Sequence[Record], witness: frozenset[int], limit: int) -> list[Record]:
    """What is informative; if that is too much, the witness, what touches its messages, and neighbours."""
    records = _informative(records, witness)
    if len(records) <= limit:
        return records
    wanted: dict[int, None] = {}
    for position in _by_interest(records, witness):
        if len(wanted) >= limit:
            break
        wanted[position] = None
    return [records[position] for position in sorted(wanted)]


def _informative(records: Sequence[Record], witness: frozenset[int]) -> list[Record]:
    """The records without what the broker does not offer; of a client's empty answers in a row the first."""
    kept: list[Record] = []
    last: dict[str, Record] = {}
    for record in records:
        before = last.get(record.proc)
        last[record.proc] = record
        again = before is not None and before.op == record.op and _empty(record) and _empty(before)
        if record.i in witness or not (again or record.error == "unsupported"):
            kept.append(record)
    return kept


def _empty(record: Record) -> bool:
    """Whether it is an answer without messages."""
    return record.op in ("receive", "peek") and record.ok and not record.messages


def _by_interest(records: Sequence[Record], witness: frozenset[int]) -> Iterator[int]:
    """Positions of records, those that explain the most first."""
    places = [n for n, record in enumerate(records) if record.i in witness]
    yield from places
    locks = locks_of(records)
    ids = {id for place in places for id in _message_ids(records[place], locks)}
    related = [n for n, record in enumerate(records) if not ids.isdisjoint(_message_ids(record, locks))]
    yield from sorted(related, key=lambda n: min((abs(n - place) for place in places), default=n))
    for distance in range(1, NEIGHBOURS + 1):
        for place in places:
            yield from (n for n in (place - distance, place + distance) if 0 <= n < len(records))
    if not places:
        yield from range(len(records))


def _message_ids(record: Record, locks: Mapping[str, Delivery]) -> Iterator[str]:
    yield from (message.id for message in record.sent)
    yield from (delivery.id for delivery in record.messages)
    yield from (locks[lock].id for lock in record.lock_tokens if lock in locks)


def _naturally(name: str) -> tuple[list[str | int], str]:
    """Orders c2 before c10: digits as numbers."""
    parts = re.split(r"([0-9]{1,18})", name)
    return [int(part) if n % 2 else part for n, part in enumerate(parts)], name


class _Builder:
    """Gathers the parts of one diagram."""

    def __init__(self, history: History, records: list[Record], witness: frozenset[int]) -> None:
        self.history = history
        self.records = records
        self.witness = witness
        self.family = known(history.header.profile)
        shown = [(one.id, self._shown(one)) for record in history.records for one in record.messages]
        self.places = {id: place for id, place in reversed(shown) if place is not None}
        self.locks = locks_of(history.records)
        self.clients = sorted({r.proc for r in records if not r.is_env}, key=_naturally)
        self.partitions = tuple(sorted(self._partitions()))
        env = any(record.is_env and record.op not in _ELSEWHERE for record in records)
        names: list[tuple[str, str | int]] = [(ENV, ENV)] if env else []
        names += [("client", client) for client in self.clients]
        names += [("partition", place) for place in self.partitions]
        self.lifelines = {name: index for index, name in enumerate(names)}
        self.rows: list[str] = []
        self.times: list[int | None] = []
        self.origin = history.records[0].call if history.records else 0
        self.begun: dict[int, int] = {}
        self.ended: dict[int, int] = {}
        self.time_breaks: list[TimeBreak] = []

    def build(self) -> Diagram:
        self._lay_rows()
        links = [link for record in self.records for link in self._links(record)]
        return Diagram(
            tuple(Lifeline(kind, _TITLES.get(kind, "{}").format(name)) for kind, name in self.lifelines),
            tuple(self.rows),
            tuple(self.times),
            tuple(self._activation(record) for record in self.records if not record.is_env),
            tuple(links),
            tuple(self._bands()),
            tuple(mark for record in self.records for mark in self._marks(record)),
            tuple(self.time_breaks),
            len(self.records),
            len(self.history.records),
        )

    # --- what is known of partitions ------------------------------------------------------------

    def _shown(self, delivery: Delivery) -> int | None:
        return delivery.partition if self.family is None else self.family.partition_of(delivery)

    def _partitions(self) -> set[int]:
        """Those that the drawn records speak of."""
        named = (one.args.get("partition") for one in self.records if one.is_env)
        touched = (place for record in self.records for place in self._touched(record))
        return {place for place in (*named, *touched) if type(place) is int}

    def _touched(self, record: Record) -> Iterator[int | None]:
        yield from map(self._shown, record.messages)
        if record.op in SENDS:
            yield from (self.places.get(message.id) for message in record.sent)
        yield from (self._shown(self.locks[lock]) for lock in record.lock_tokens if lock in self.locks)

    def _lane(self, record: Record) -> int:
        return self.lifelines[(ENV, ENV) if record.is_env else ("client", record.proc)]

    # --- time -----------------------------------------------------------------------------------

    def _lay_rows(self) -> None:
        skipped = self._skipped({record.i for record in self.records})
        for time, _, record, is_call in sorted(self._moments(), key=lambda moment: moment[:2]):
            if not is_call:
                self.ended[record.i] = self._row("return", time)
                continue
            self._note_left_out(skipped.get(record.i, 0))
            kind = "gap" if record.op in _ACROSS else "instant" if record.is_env else "call"
            begun = self.begun[record.i] = self._row(kind, time)
            if record.op in _ACROSS:
                drained = "drained: received and peeked until nothing is left"
                passed = f"{time_text(record.args['by'])} pass" if record.op == "advance" else drained
                self.time_breaks.append(TimeBreak(begun, passed))
            if record.is_env:
                self.ended[record.i] = begun
        self._note_left_out(skipped[-1])

    def _moments(self) -> Iterator[tuple[int, int, Record, bool]]:
        """Calls and returns. At one instant a return stands before other calls, an own call before it."""
        for order, record in enumerate(self.records):
            yield record.call, 3 * order + 1, record, True
            if record.ret is not None and not record.is_env:
                yield record.ret, 3 * order + (2 if record.ret == record.call else 0), record, False

    def _skipped(self, shown: set[int]) -> dict[int, int]:
        """How many records are left out before each drawn one; -1: after the last."""
        found: dict[int, int] = {}
        missing = 0
        for record in self.history.records:
            if record.i in shown:
                found[record.i], missing = missing, 0
            else:
                missing += 1
        found[-1] = missing
        return found

    def _note_left_out(self, count: int) -> None:
        if count:
            text = f"{count} operation{'s' if count > 1 else ''} left out"
            self.time_breaks.append(TimeBreak(self._row("gap", None), text))

    def _row(self, kind: str, time: int | None) -> int:
        self.rows.append(kind)
        self.times.append(None if time is None else time - self.origin)
        return len(self.rows) - 1

    # --- what is drawn --------------------------------------------------------------------------

    def _activation(self, record: Record) -> Activation:
        return Activation(
            self._lane(record),
            self.begun[record.i],
            self.ended.get(record.i),
            label(record, self.locks),
            note(record),
            record.outcome,
            record.i in self.witness,
            tooltip(record, self.locks),
        )

    def _links(self, record: Record) -> Iterator[Link]:
        if record.is_env:
            return
        client, witness = self._lane(record), record.i in self.witness
        for kind, row, pairs in self._traffic(record):
            for place, names in self._grouped(pairs).items():
                ends = (place, client) if kind in ARRIVING else (client, place)
                yield Link(*ends, row, ", ".join(names), kind, record.outcome, witness)

    def _traffic(self, record: Record) -> Iterator[tuple[str, int, list[tuple[int | None, str]]]]:
        """Kind, row, and (partition, what) of the messages that an operation moves."""
        begun, ended = self.begun[record.i], self.ended.get(record.i)
        if record.op in SENDS:
            yield "send", begun, [(self.places.get(m.id), m.id) for m in record.sent]
        if record.op in SETTLEMENTS:
            known = [self.locks[lock] for lock in record.lock_tokens if lock in self.locks]
            yield "settle", begun, [(self._shown(delivery), delivery.id) for delivery in known]
        if ended is not None:
            kind = "peek" if record.op == "peek" else "deliver"
            yield kind, ended, [(self._shown(delivery), numbered(delivery)) for delivery in record.messages]

    def _grouped(self, pairs: Iterable[tuple[int | None, str]]) -> dict[int, list[str]]:
        """Lane of a partition -> labels; what is in no known partition is left out."""
        found: dict[int, list[str]] = {}
        for place, text in pairs:
            lifeline = None if place is None else self.lifelines.get(("partition", place))
            if lifeline is not None:
                found.setdefault(lifeline, []).append(text)
        return found

    def _bands(self) -> Iterator[Band]:
        open_bands: dict[tuple[str, int | None], int] = {}
        for record in self.records:
            place = record.args.get("partition")
            if record.op in _BANDS:
                open_bands.setdefault((_BANDS[record.op], place), self.begun[record.i])
            elif record.op in _BAND_ENDS and (record.op, place) in open_bands:
                yield self._band(record.op, place, open_bands.pop((record.op, place)), self.begun[record.i])
        for (ending, place), start in open_bands.items():
            yield self._band(ending, place, start, None)

    def _band(self, ending: str, place: int | None, start: int, end: int | None) -> Band:
        if ending == "broker_start" or place is None:
            return Band(None, start, end, "broker down")
        return Band(self.lifelines["partition", place], start, end, "down")

    def _marks(self, record: Record) -> Iterator[Mark]:
        if not record.is_env or record.op in _ACROSS:
            return
        row, witness = self.begun[record.i], record.i in self.witness
        if record.op == "assignment":
            lifeline = self.lifelines["partition", record.args["partition"]]
            words = f"{record.args['state']} {record.args.get('flow') or ''}".strip()
            yield Mark(lifeline, row, words, witness)
            return
        yield Mark(self._lane(record), row, label(record, self.locks), witness)
        victim = self.lifelines.get(("client", record.args.get("proc", "")))
        if victim is not None:
            yield Mark(victim, row, record.op.replace("_", " "), witness)
