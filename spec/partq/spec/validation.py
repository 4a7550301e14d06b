"""Recorded histories validated by TLC: can the specification's own actions explain them?

A `Recording` is plain data: the operations of one entity, with what was asked and the whole answer, each
between two instants. It becomes a trace of steps, a step being what an operation did to one message, or in
one partition, at one instant; `tla/Validation.tla` follows many such traces in one run of TLC. The
specification has no clock: a timer may end at any moment, and times are not compared."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, NamedTuple

from .labels import text_of
from .tlc import Answer, check
from .values import InvalidValue, read_value

STATES: Final = 40_000
"""How many states TLC makes of one history at the most, unless more are allowed."""

SECONDS: Final = 300.0
"""How long one run of TLC may take, unless more time is given."""

BATCH: Final = 16
"""How many histories one run of TLC validates."""

Overrides = Mapping[str, str]
"""Operators of the specification that others take the place of, for checking the check: ``{"MayLock":
"BugMayLock"}``."""


class Sent(NamedTuple):
    """A message that was sent. ``key``: by which it is routed, or None. ``conflicting``: its request has to
    be refused for two different keys."""

    id: str
    key: str | None = None
    conflicting: bool = False


class Shown(NamedTuple):
    """A message that a broker showed; None: not shown. ``partition``: its name. ``tag``, ``number``: the
    partition bits and the counter of its sequence number. ``tries``: its delivery count. ``altered``: not as
    it was sent."""

    id: str
    partition: int | None = None
    tag: int | None = None
    number: int | None = None
    tries: int | None = None
    lock: str | None = None
    altered: bool = False


class Operation(NamedTuple):
    """One operation of a client, or event of the environment.

    ``record``: its number in the history. ``call``, ``ret``: the instants between which it happened; ret
    None: it may still happen later. ``outcome``: ok, error or unknown. ``limit``: how many messages were
    asked for. ``deletes``: a receive that takes no locks. ``since``: of a peek from a number on, its
    partition bits and counter. ``impatient``: a send whose timeout is too short to be re-routed (ROUTE-6).
    ``partition``: which one a fault strikes."""

    record: int
    op: str
    client: str
    call: int
    ret: int | None
    outcome: str = "ok"
    error: str | None = None
    sent: tuple[Sent, ...] = ()
    shown: tuple[Shown, ...] = ()
    locks: tuple[str, ...] = ()
    txn: str | None = None
    limit: int = 1
    deletes: bool = False
    since: tuple[int, int] | None = None
    impatient: bool = False
    partition: int | None = None


class Recording(NamedTuple):
    """The operations on one entity, sorted by call. ``words``: of the broker family, those of
    `Catalogue.tla`. ``bits``: of a partition's counter. ``first``: its first number, if known. ``maximum``:
    deliveries before a message is dead-lettered."""

    words: frozenset[str]
    partitions: int
    operations: tuple[Operation, ...]
    bits: int = 48
    first: int | None = None
    maximum: int = 10


class Status(StrEnum):
    """What became of a history."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"
    UNKNOWN = "unknown"
    NOT_FOLLOWED = "not followed"


class Validated(NamedTuple):
    """``record``: of a rejected history the operation that no behaviour explains, after all that returned
    before it was explained (``explained``: how many operations these are). ``reason``: why it is not known,
    or not followed. ``states``: how many TLC made."""

    status: Status
    record: int | None = None
    explained: int = 0
    reason: str = ""
    states: int = 0


class NotFollowed(Exception):
    """The specification says nothing of this; the message names what."""


FOREVER: Final = 2**62
_K: Final = 1_000_000  # the first number that a trace shows of a partition
_SPARE: Final = 1_000  # how many messages of a partition may come before it
_MODULUS: Final = 2**29
_PASSING: Final = frozenset({"unavailable", "timeout", "internal"})
_LOST: Final = frozenset({"lock_lost", "not_found", "invalid_operation"})
_LINKS: Final = frozenset({"disconnect", "connection_lost", "frontend_lost"})
_SENDS: Final = frozenset({"send", "send_batch"})
_EVENTS: Final = {"broker_kill": "kill", "broker_start": "start", "drained": "drained"}
_FOLLOWED: Final = (
    _SENDS
    | _LINKS
    | _EVENTS.keys()
    | {"receive", "complete", "abandon", "renew_lock", "peek", "begin", "commit", "rollback"}
    | {"partition_down", "partition_up", "advance"}
)


def validate(
    recordings: Sequence[Recording],
    states: int = STATES,
    seconds: float = SECONDS,
    overrides: Overrides | None = None,
    told: Callable[[str], None] = lambda line: None,
    locate: bool = True,
) -> list[Validated]:
    """Validate every recording, in one run of TLC; of those that it rejects, find the operation in a few
    more.

    ``states``: how many TLC makes of one at the most; ``seconds``: how long a run may take; ``told`` is given
    a line for each run. Without ``locate`` the operation named is where the search ended, which may be a send
    that something later contradicts. Raises `ToolMissing`.
    """
    found: dict[int, Validated] = {}
    traces: dict[int, Trace] = {}
    for n, recording in enumerate(recordings):
        try:
            traces[n] = trace_of(recording)
        except NotFollowed as why:
            found[n] = Validated(Status.NOT_FOLLOWED, reason=str(why))
    found |= _followed(traces, states, seconds, overrides or {})
    told(f"{len(traces)} histories followed")
    rejected = {n: one for n, one in found.items() if one.status is Status.REJECTED}
    if rejected and locate:
        found |= _located({n: recordings[n] for n in rejected}, rejected, states, seconds, overrides or {})
        told(f"{len(rejected)} rejected ones located")
    return [found[n] for n in range(len(recordings))]


def _followed(
    traces: Mapping[int, Trace], states: int, seconds: float, overrides: Overrides
) -> dict[int, Validated]:
    """What TLC says of each trace, in as many runs as there are different constants."""
    groups: dict[tuple[Any, ...], list[int]] = {}
    for n, trace in traces.items():
        groups.setdefault((trace.words, trace.partitions, trace.maximum), []).append(n)
    found: dict[int, Validated] = {}
    for members in groups.values():
        answers = run([traces[n] for n in members], states, seconds, overrides)
        found |= zip(members, answers, strict=True)
    return found


def _located(
    recordings: Mapping[int, Recording],
    rejected: Mapping[int, Validated],
    states: int,
    seconds: float,
    overrides: Overrides,
) -> dict[int, Validated]:
    """For each rejected recording the first operation whose return makes it so: the shortest prefix that is
    rejected, by halving all at once."""
    returns = {
        n: sorted({o.ret for o in one.operations if o.ret is not None}) for n, one in recordings.items()
    }
    low = dict.fromkeys(recordings, 0)  # so many returns are explained
    high = {n: len(times) for n, times in returns.items()}
    made = {n: one.states for n, one in rejected.items()}
    while open := [n for n in recordings if high[n] - low[n] > 1]:
        middle = {n: (low[n] + high[n]) // 2 for n in open}
        traces = {}
        for n in open:
            try:
                traces[n] = trace_of(prefix(recordings[n], returns[n][middle[n] - 1]))
            except NotFollowed:  # what had not returned makes it so: a later operation is named, if any
                low[n] = middle[n]
        for n, answer in _followed(traces, states, seconds, overrides).items():
            if answer.status is Status.REJECTED:
                high[n] = middle[n]
            else:
                low[n] = middle[n]
            made[n] += answer.states
    found = {}
    for n, one in recordings.items():
        last = returns[n][high[n] - 1]
        blamed = next(o for o in one.operations if o.ret == last)
        before = sum(o.ret is not None and o.ret < last for o in one.operations)
        found[n] = Validated(Status.REJECTED, blamed.record, before, states=made[n])
    return found


def prefix(recording: Recording, until: int) -> Recording:
    """The recording up to an instant: what was called later is left out, what had not returned is unknown."""
    kept = [
        one
        if one.ret is not None and one.ret <= until
        else one._replace(ret=None, outcome="unknown", error=None, shown=())
        for one in recording.operations
        if one.call <= until
    ]
    return recording._replace(operations=tuple(kept))


# Steps


@dataclass
class Step:
    """One step of a trace; the fields are those of the records in `Validation.tla`."""

    op: str
    who: str = "-"
    ms: list[int] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    locks: list[int] = field(default_factory=list)
    part: int = 0
    txn: str = ""
    error: str = ""
    max: int = 0
    first: bool = True
    passing: bool = False
    free: bool = False
    unknown: bool = False
    keyless: bool = False
    cached: set[int] = field(default_factory=set)
    head: int = 0
    then: int = 0
    record: int = 0
    call: int = 0
    ret: int = FOREVER
    optional: bool = False

    def text(self) -> str:
        """The record in TLA+."""
        values = {
            "op": self.op, "who": self.who, "ms": self.ms, "counts": self.counts, "locks": self.locks,
            "m": self.ms[0] if self.ms else 0, "count": self.counts[0] if self.counts else -1,
            "lock": self.locks[0] if self.locks else 0, "part": self.part, "txn": self.txn,
            "error": self.error,
            "max": self.max, "first": self.first, "passing": self.passing, "free": self.free,
            "unknown": self.unknown, "keyless": self.keyless, "cached": frozenset(self.cached),
            "head": self.head, "then": self.then,
        }  # fmt: skip
        return _record(values)


def _record(values: Mapping[str, Any]) -> str:
    return "[" + ", ".join(f"{name} |-> {_text(value)}" for name, value in values.items()) + "]"


def _text(value: Any) -> str:
    """A value as TLA+ text: lists are sequences; steps and places are text already."""
    if isinstance(value, Text):
        return value
    if isinstance(value, list):
        return "<<" + ", ".join(map(_text, value)) + ">>"
    return text_of(value)


class Text(str):
    """What is TLA+ text already."""


@dataclass
class Trace:
    """A recording as steps. Of ``messages`` and ``partitions``, sequences from 1 on."""

    words: frozenset[str]
    partitions: int
    maximum: int
    messages: int
    keys: list[str]
    conflicting: set[int]
    place: list[tuple[int, int]]
    allowed: list[set[int]]
    owner: list[dict[int, int]]
    start: list[int]
    floor: list[int]
    top: list[int]
    clients: set[str]
    cursors: dict[str, list[int]]
    steps: list[Step]
    order: list[int] = field(default_factory=list)
    window: list[set[int]] = field(default_factory=list)
    optional: list[set[int]] = field(default_factory=list)
    last: list[int] = field(default_factory=list)

    def text(self, messages: int, clients: Sequence[str]) -> str:
        """The record in TLA+, for a module with so many messages and these clients."""
        spare = messages - self.messages
        places = [Text(_record({"part": part, "num": number})) for part, number in self.place]
        values = {
            "messages": self.messages,
            "keys": self.keys + ["-"] * spare,
            "conflicting": frozenset(self.conflicting),
            "place": places + [Text(_record({"part": 0, "num": -1}))] * spare,
            "allowed": [*map(frozenset, self.allowed), *[frozenset({1})] * spare],
            "owner": [_numbered(owner) for owner in self.owner],
            "base": [min(owner, default=1) - 1 for owner in self.owner],
            "start": self.start,
            "floor": self.floor,
            "top": self.top,
            "cursors": Text(_record({c: self.cursors.get(c, [-1] * self.partitions) for c in clients})),
            "steps": [Text(step.text()) for step in self.steps],
            "order": self.order,
            "window": [*map(frozenset, self.window)],
            "optional": [*map(frozenset, self.optional)],
            "optionals": frozenset(n for n, step in enumerate(self.steps, 1) if step.optional),
            "last": self.last + [0] * spare,
        }
        return _record(values)


def _numbered(owner: Mapping[int, int]) -> list[int]:
    """The messages by number, from the least one on; 0 where there is none."""
    return [owner.get(n, 0) for n in range(min(owner, default=0), max(owner, default=-1) + 1)]


def trace_of(recording: Recording) -> Trace:
    """The recording as a trace. Raises `NotFollowed`."""
    return _Tracer(recording).trace()


class _Tracer:
    """Makes the trace of one recording."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.operations = [one for one in recording.operations if one.op != "advance"]
        self._check_followed()
        self.sent: dict[str, int] = {}
        self.messages: list[Sent] = []
        for one in self.operations:
            for message in one.sent:
                if message.id in self.sent:
                    raise NotFollowed(f"message ID {message.id!r} was sent twice")
                self.messages.append(message)
                self.sent[message.id] = len(self.messages)
        self.impossible: set[int] = set()
        self.partitioned = "partitioned" in recording.words
        self._name_partitions()
        self._place_messages()
        self._compare_counts()
        self.steps: list[Step] = []
        self.tokens: dict[str, tuple[int, int]] = {}
        self.untold = any(
            shown.lock is None
            for one in self.operations
            if one.op == "receive" and not one.deletes
            for shown in one.shown
        )
        self.cursors: dict[str, list[int]] = {}

    # What is followed

    def _check_followed(self) -> None:
        words = self.recording.words
        if "flows" in words:
            raise NotFollowed("flows: their histories are not followed yet")
        for one in self.operations:
            if one.op not in _FOLLOWED:
                raise NotFollowed(f"the specification has no operation {one.op}")
            if one.op == "abandon" and one.txn is not None:
                raise NotFollowed("the specification has no abandon in a transaction")
            if "expiry" not in words and one.op in _LINKS | {"broker_kill"}:
                raise NotFollowed(f"{one.op}: what ends the locks of this family is not specified")
        self._check_transactions()

    def _check_transactions(self) -> None:
        """One after the other: that is what the specification has."""
        begins = [one for one in self.operations if one.op == "begin" and one.outcome != "error"]
        for begin in begins:
            for earlier in begins:
                if earlier.txn == begin.txn and earlier is not begin:
                    raise NotFollowed("a transaction's name is used twice")
                if earlier.call >= begin.call:
                    continue
                mine = [one for one in self.operations if one.txn == earlier.txn]
                ended = any(
                    one.op in ("commit", "rollback")
                    and one.outcome == "ok"
                    and (one.ret or FOREVER) <= begin.call
                    for one in mine
                )
                late = [one for one in mine if one.ret is None or one.ret > begin.call]
                if any(one.outcome != "error" for one in late) or (late and not ended):
                    raise NotFollowed("two transactions at a time")
        known = {one.txn for one in begins}
        if any(
            one.txn not in known and one.txn is not None and one.outcome != "error" for one in self.operations
        ):
            raise NotFollowed("a transaction that nobody began")

    # Places

    def _name(self, shown: Shown) -> int | None:
        if not self.partitioned:
            return 0
        return shown.partition if shown.partition is not None else shown.tag

    def _name_partitions(self) -> None:
        names: dict[int, int] = {}
        tags: dict[int, int] = {}
        limit = self.recording.partitions if self.partitioned else 1
        if not self.partitioned:
            names[0] = 1
        for one in self.operations:
            mentioned = [self._name(shown) for shown in one.shown]
            for name in [*mentioned, one.partition]:
                if name is not None and self.partitioned and name not in names:
                    if len(names) < limit:
                        names[name] = len(names) + 1
                    else:
                        self.impossible.add(one.record)
            for shown, name in zip(one.shown, mentioned, strict=True):
                if shown.tag is None or name is None or not self.partitioned:
                    continue
                if tags.setdefault(name, shown.tag) != shown.tag:
                    self.impossible.add(one.record)
        first = {tag: name for name, tag in reversed(tags.items())}
        twins = {name for name, tag in tags.items() if first[tag] != name}  # the same bits as another's
        self.impossible |= {
            one.record for one in self.operations for shown in one.shown if self._name(shown) in twins
        }
        self.names, self.tags = names, tags
        self.count = min(limit, len(names) + 1) if self.partitioned else 1

    def _place_messages(self) -> None:
        half, size = 1 << (self.recording.bits - 1), 1 << self.recording.bits
        # of one partition, how far two numbers may be apart: each needs a send, or a try
        self.reach = min(10 * (len(self.messages) + len(self.operations)) + 100, _K // 2)
        self.origin: dict[int, int] = {}
        self.place = [(0, -1)] * len(self.messages)
        for one in self.operations:
            for shown in one.shown:
                m, p = self.sent.get(shown.id), self.names.get(self._name(shown) or 0)
                if self._name(shown) is None:
                    p = None
                if m is None or shown.altered:
                    self.impossible.add(one.record)
                    continue
                number = -1
                if shown.number is not None and p is not None:
                    origin = self.origin.setdefault(p, shown.number)
                    number = (shown.number - origin + half) % size - half + _K
                    if abs(number - _K) > self.reach:
                        self.impossible.add(one.record)
                        continue
                known = self.place[m - 1]
                new = (p or 0, number)
                if (known[0] and new[0] and known[0] != new[0]) or (
                    known[1] >= 0 and new[1] >= 0 and known[1] != new[1]
                ):
                    self.impossible.add(one.record)
                elif known == (0, -1) or (known[1] < 0 <= new[1]):
                    self.place[m - 1] = new
        homes: dict[str, int] = {}
        for message, (part, _) in zip(self.messages, self.place, strict=True):
            if message.key is not None and part:
                homes.setdefault(message.key, part)
        everywhere = set(range(1, self.count + 1))
        self.allowed = [{homes[m.key]} if m.key in homes else everywhere for m in self.messages]
        self.owner: list[dict[int, int]] = [{} for _ in range(self.count)]
        for m, (part, number) in enumerate(self.place, 1):
            if number >= 0:
                self.owner[part - 1].setdefault(number, m)
        self.floor = [min(owner, default=0) for owner in self.owner]
        self.top = [max(owner, default=0) for owner in self.owner]
        self.start = [floor - _SPARE if floor else _K for floor in self.floor]
        if self.recording.first is not None:
            for p, origin in self.origin.items():
                start = (self.recording.first - origin + half) % size - half + _K
                if start >= 0:
                    self.start[p - 1] = self.floor[p - 1] = start

    def _compare_counts(self) -> None:
        """A peek may show the count of before a lock's end, but none less than one shown before (PEEK-6)."""
        for one in self.operations:
            for shown in one.shown if one.op == "peek" else ():
                earlier = [
                    other.tries
                    for before in self.operations
                    if before.ret is not None and before.ret < one.call
                    for other in before.shown
                    if other.id == shown.id and other.tries is not None
                ]
                if shown.tries is not None and max(earlier, default=0) > shown.tries:
                    self.impossible.add(one.record)

    def _shown_at(self, m: int) -> int:
        """By when a message is shown for the first time, or `FOREVER`."""
        times = [one.ret for one in self.operations for shown in one.shown if self.sent.get(shown.id) == m]
        return min((time for time in times if time is not None), default=FOREVER)

    # Steps

    def trace(self) -> Trace:
        """The whole trace."""
        for one in self.operations:
            self._add(one)
        self._note_cached()
        self._rename_clients()
        names = {message.key: f"k{n}" for n, message in enumerate(self.messages) if message.key is not None}
        clients = {step.who for step in self.steps if step.who != "-"}
        trace = Trace(
            self.recording.words | {"numbers"}, self.count, self.recording.maximum, len(self.messages),
            [names.get(m.key, "-") if m.key is not None else "-" for m in self.messages],
            {n for n, m in enumerate(self.messages, 1) if m.conflicting},
            self.place, self.allowed, self.owner, self.start, self.floor, self.top,
            clients, self.cursors, self.steps,
        )  # fmt: skip
        trace.keys = _renamed(trace.keys)
        self._arrange(trace)
        return trace

    def _rename_clients(self) -> None:
        """Give clients names that are TLA+ names."""
        names: dict[str, str] = dict.fromkeys((step.who for step in self.steps if step.who != "-"), "")
        names |= {name: f"c{n}" for n, name in enumerate(names, 1)}
        for step in self.steps:
            step.who = names.get(step.who, step.who)
        self.cursors = {names[name]: cursor for name, cursor in self.cursors.items() if name in names}

    def _arrange(self, trace: Trace) -> None:
        heads = [n for n, step in enumerate(self.steps, 1) if step.head == n and not step.optional]
        optionals = [n for n, step in enumerate(self.steps, 1) if step.optional]
        at = self.steps
        trace.order = sorted(heads, key=lambda n: (at[n - 1].ret, n))
        for k, n in enumerate(trace.order):
            until = at[n - 1].ret
            trace.window.append({h for h in trace.order[k:] if at[h - 1].call <= until})
            trace.optional.append({u for u in optionals if at[u - 1].call <= until})
        rank = {n: k for k, n in enumerate(trace.order, 1)}
        trace.last = [0] * len(self.messages)
        for step in self.steps:
            if step.op in ("receive", "delete", "peek") and not step.optional:
                for m in step.ms:
                    trace.last[m - 1] = max(trace.last[m - 1], rank[step.head])

    def _put(
        self, one: Operation, steps: Sequence[Step], optional: bool = False, ret: int | None = None
    ) -> None:
        """Add steps of one instant."""
        first = len(self.steps) + 1
        for k, step in enumerate(steps):
            step.record, step.call = one.record, one.call
            step.ret = (
                FOREVER if optional else one.ret if ret is None and one.ret is not None else ret or FOREVER
            )
            step.head, step.first, step.optional = first, k == 0, optional
            step.then = first + k + 1 if k + 1 < len(steps) else 0
            step.txn = one.txn or ""
            if step.who == "-" and one.client:
                step.who = one.client
            self.steps.append(step)

    def _add(self, one: Operation) -> None:
        if one.record in self.impossible and one.outcome == "ok":
            self._put(one, [Step("impossible")])
            return
        if one.error == "unsupported" and one.outcome == "error":
            if one.txn is not None:
                raise NotFollowed("an operation in a transaction that the broker does not offer")
            for message in one.sent:
                self.allowed[self.sent[message.id] - 1] = {1}
            return
        if one.op in _LINKS:
            self._put(one, [Step("front end lost", who=one.client or "-")])
        elif one.op in ("partition_down", "partition_up"):
            if one.outcome == "ok":
                op = one.op.replace("_", " ")
                self._put(one, [Step(op, who="-", part=self.names.get(one.partition or 0, 0))])
        elif one.op in _EVENTS:
            if one.outcome == "ok":
                self._put(one, [Step(_EVENTS[one.op])])
        elif one.op in _SENDS:
            self._send(one)
        elif one.op == "receive":
            self._receive(one)
        elif one.op == "peek":
            self._peek(one)
        elif one.op in ("complete", "abandon", "renew_lock"):
            self._settle(one)
        else:
            self._transact(one)

    def _refusal(self, op: str, one: Operation, **more: Any) -> Step:
        """A step of an operation that was refused."""
        passing = one.error in _PASSING | {"connection_lost"}
        return Step(
            op,
            passing=passing,
            error="passing" if passing else "lost" if one.error in _LOST else "other",
            **more,
        )

    def _send(self, one: Operation) -> None:
        ms = [self.sent[message.id] for message in one.sent]
        keyless = self.partitioned and one.txn is None and all(message.key is None for message in one.sent)
        if one.outcome == "error":
            self._send_refused(one, ms)
            return
        kind = "send" if one.txn is None else "txn send"
        ret = one.ret
        if one.outcome == "unknown":
            ret = min(map(self._shown_at, ms))
            if ret == FOREVER:
                self._put(one, [Step(kind, ms=ms, keyless=keyless)], optional=True)
                return
        groups: dict[Any, list[int]] = {}
        for m in ms:
            part = self.place[m - 1][0]
            together = one.txn is not None or not keyless
            groups.setdefault("one" if together else part or ("of", m), []).append(m)
        for group in groups.values():
            if one.txn is None:
                group.sort(key=lambda m: (self.place[m - 1][1] < 0, self.place[m - 1][1]))
            steps = [Step(kind, ms=[m, *(o for o in ms if o != m)], keyless=keyless) for m in group]
            self._put(one, steps, ret=ret)

    def _send_refused(self, one: Operation, ms: list[int]) -> None:
        if one.txn is not None:
            op = "txn send invalid" if one.error == "invalid_operation" else "txn send refused"
        elif one.error == "invalid_operation":
            op = "send invalid"
        elif one.error in ("quota", "too_large"):
            op = "send full"
        elif one.error in _PASSING | {"connection_lost"}:
            op = "send fails"
        else:
            op = "impossible"  # KEY-9
        step = self._refusal(op, one, ms=ms)
        step.free = one.impatient and all(message.key is None for message in one.sent)
        self._put(one, [step])

    def _receive(self, one: Operation) -> None:
        op = "delete" if one.deletes else "receive"
        if one.outcome == "unknown":
            if one.deletes or "caches" not in self.recording.words:
                self._put(one, [Step(op, max=one.limit)], optional=True)
            return
        if one.outcome == "error":
            good = one.error in _PASSING | {"connection_lost"}
            self._put(one, [self._refusal("receive fails" if good else "impossible", one)])
            return
        if not one.shown:
            self._put(one, [Step("receive nothing")])
            return
        groups: dict[Any, list[Shown]] = {}
        for n, shown in enumerate(one.shown):
            groups.setdefault(self.place[self.sent[shown.id] - 1][0] or ("of", n), []).append(shown)
        for group in groups.values():
            group.sort(key=lambda shown: self.place[self.sent[shown.id] - 1][1])
            first = len(self.steps) + 1
            for k, shown in enumerate(group):
                if shown.lock is not None:
                    self.tokens.setdefault(shown.lock, (self.sent[shown.id], first + k))
            self._put(one, [
                Step(op, ms=[self.sent[shown.id]], counts=[-1 if shown.tries is None else shown.tries])
                for shown in group
            ])  # fmt: skip

    def _peek(self, one: Operation) -> None:
        who = one.client
        if one.since is not None and one.since != (0, 0):
            who = f"{one.client}~{one.record}"
            self.cursors[who] = self._cursor(one.since)
        elif one.since is not None:
            who = f"{one.client}~{one.record}"
        if one.outcome == "unknown":
            self._put(one, [Step("peek", who=who, max=one.limit)], optional=True)
        elif one.outcome == "error":
            good = one.error in _PASSING | {"connection_lost"}
            self._put(one, [self._refusal("peek fails" if good else "impossible", one, who=who)])
        elif not one.shown:
            self._put(one, [Step("peek nothing", who=who)])
        elif len(one.shown) > one.limit or any(shown.lock is not None for shown in one.shown):
            self._put(one, [Step("impossible")])
        else:
            groups: dict[int, list[Shown]] = {}
            for shown in one.shown:
                part = self.place[self.sent[shown.id] - 1][0]
                if not part:
                    raise NotFollowed("a peek that does not show partitions")
                groups.setdefault(part, []).append(shown)
            for group in groups.values():
                ms = [self.sent[shown.id] for shown in group]
                counts = [-1 if shown.tries is None else shown.tries for shown in group]
                op = "peek" if len(set(ms)) == len(ms) else "impossible"
                self._put(one, [Step(op, who=who, ms=ms, counts=counts)])

    def _cursor(self, since: tuple[int, int]) -> list[int]:
        """Where a walk from a number on starts, in each partition."""
        tag, number = since
        half, size = 1 << (self.recording.bits - 1), 1 << self.recording.bits
        found = []
        for p in range(1, self.count + 1):
            name = next((name for name, position in self.names.items() if position == p), None)
            mine = self.tags.get(name, None) if name is not None and self.partitioned else tag
            if mine == tag and p in self.origin:
                at = (number - self.origin[p] + half) % size - half + _K - 1
                found.append(max(-1, min(at, 2**28)))
            elif mine is not None and mine < tag:
                found.append(2**28)
            else:
                found.append(-1)
        return found

    def _settle(self, one: Operation) -> None:
        known = [self.tokens[token] for token in dict.fromkeys(one.locks) if token in self.tokens]
        strange = any(token not in self.tokens for token in one.locks)
        if strange and self.untold:
            raise NotFollowed("a lock that no delivery shows")
        ms, locks = [m for m, _ in known], [lock for _, lock in known]
        kind = {"renew_lock": "renew"}.get(one.op, one.op)
        if one.txn is not None:
            kind = "txn " + kind
        if one.outcome == "unknown":
            if kind != "renew":
                if len(one.locks) > 1:
                    raise NotFollowed("an unknown settlement of several locks")
                if known:
                    self._put(one, [Step(kind, ms=ms, locks=locks)], optional=True)
        elif one.outcome == "error":
            op = "txn settlement refused" if one.txn is not None else "settlement refused"
            self._put(one, [self._refusal(op, one, ms=ms, locks=locks, unknown=strange)])
        elif strange:
            self._put(one, [Step("impossible")])
        else:
            rest = [[m, *(o for o in ms if o != m)] for m in ms]
            self._put(one, [Step(kind, ms=all, locks=[lock]) for all, lock in zip(rest, locks, strict=True)])

    def _transact(self, one: Operation) -> None:
        if one.outcome == "unknown":
            if one.op == "begin":
                raise NotFollowed("a transaction that may not have begun")
            self._put(one, [Step(one.op)], optional=True)
        elif one.outcome == "ok":
            self._put(one, [Step(one.op)])
        elif one.op == "begin":
            good = one.error in _PASSING | {"connection_lost"}
            self._put(one, [self._refusal("begin fails" if good else "impossible", one)])
        else:
            self._put(one, [self._refusal(f"{one.op} refused", one)])

    def _note_cached(self) -> None:
        """For each outage the messages that a front end may hand out in the meantime."""
        if "caches" not in self.recording.words:
            return
        for n, step in enumerate(self.steps):
            if step.op == "partition down":
                end = next(
                    (s.ret for s in self.steps[n + 1 :] if s.op == "partition up" and s.part == step.part),
                    FOREVER,
                )
                step.cached = {
                    s.ms[0] for s in self.steps
                    if s.op in ("receive", "delete") and s.ms and not s.optional
                    and s.ret >= step.call and s.call <= end and self.place[s.ms[0] - 1][0] == step.part
                }  # fmt: skip


def _renamed(keys: list[str]) -> list[str]:
    """The keys as k1, k2, … in order of first use."""
    names: dict[str, str] = {"-": "-"}
    for key in keys:
        names.setdefault(key, f"k{len(names)}")
    return [names[key] for key in keys]


# TLC

_REPLACED: Final = {
    "Key": "TraceKey", "Keys": "TheKeyNames", "Valid": "TraceValid", "MaySend": "AnySend",
    "OfBatch": "TraceBatch", "TurnAfter": "TurnByStep", "HandedOver": "TraceHandedOver",
    "Cached": "TraceCached", "Choices": "TraceChoices",
    "WastedNumbers": "TraceWastedNumbers", "Wastes": "TraceWastes", "MayBeBusy": "TraceBusy",
    "RolledBack": "TraceRolledBack", "MayFail": "TraceMayFail", "PeekingInit": "TracePeekingInit",
    "LogInit": "TraceLogInit", "Beyond": "TraceBeyond",
}  # fmt: skip

_ALPHABET: Final = frozenset(
    {
        "abandon",
        "stale",
        "delete",
        "shared locks",
        "batches",
        "peek",
        "transaction",
        "outage",
        "kill",
        "frontend",
    }
)


def run(traces: Sequence[Trace], states: int, seconds: float, overrides: Overrides) -> list[Validated]:
    """What TLC says of traces that agree in the family's words, partitions and maximum. Raises
    `ToolMissing`."""
    with tempfile.TemporaryDirectory(prefix="partq-validation-") as folder:
        module = Path(folder) / "Traces.tla"
        module.write_text(_module(traces, states, overrides), encoding="utf-8")
        module.with_suffix(".cfg").write_text(_configuration(overrides), encoding="utf-8")
        answer = check(
            module,
            module.with_suffix(".cfg"),
            timeout=seconds,
            machine=("-Xss16m",),
        )
    return list(_read(traces, answer))


def _module(traces: Sequence[Trace], states: int, overrides: Overrides) -> str:
    first = traces[0]
    messages = max(1, max(trace.messages for trace in traces))
    clients = sorted(set().union(*(trace.clients for trace in traces)) or {"c1"})
    keys = frozenset(key for trace in traces for key in trace.keys) - {"-"}
    freedoms = {"gaps", "busy", "lag", "early"}
    constants = {
        "MessageCount": messages, "PartitionCount": first.partitions, "Clients": frozenset(clients),
        "KeyOf": {1: "-"}, "TwoKeys": frozenset(), "MaxTries": 1_000_000, "MaxDeliveryCount": first.maximum,
        "PeekMax": 1,
        "Modulus": _MODULUS, "FirstNumber": 0, "Profile": first.words, "Alphabet": _ALPHABET,
        "Freedoms": frozenset(freedoms), "Observing": False, "KeyNames": keys, "StateLimit": states,
    }  # fmt: skip
    lines = ["---- MODULE Traces ----", "EXTENDS Validation" + (", Bugs" if overrides else "")]
    lines += [f"The{name} == {_text(value)}" for name, value in constants.items()]
    each = [f"Trace{n} == {trace.text(messages, clients)}" for n, trace in enumerate(traces, 1)]
    lines += [
        *each,
        f"TheTraces == <<{', '.join(f'Trace{n}' for n in range(1, len(traces) + 1))}>>",
        "====",
        "",
    ]
    return "\n".join(lines)


def _configuration(overrides: Overrides) -> str:
    words = """MessageCount PartitionCount Clients KeyOf TwoKeys MaxTries MaxDeliveryCount PeekMax Modulus
        FirstNumber Profile Alphabet Freedoms Observing StateLimit Traces"""
    names = words.split()
    replaced = {**{name: f"The{name}" for name in names}, **_REPLACED, **overrides}
    constants = "\n".join(f"  {name} <- {other}" for name, other in replaced.items())
    return (
        f"INIT TraceInit\nNEXT TraceNext\nCONSTRAINT Watched\nCHECK_DEADLOCK FALSE\nCONSTANTS\n{constants}\n"
    )


_TOLD: Final = re.compile(r'<<\s*"(?:at|gave up)",[^>]*>>')


def _read(traces: Sequence[Trace], answer: Answer) -> Iterator[Validated]:
    furthest = dict.fromkeys(range(1, len(traces) + 1), 1)
    made = dict.fromkeys(furthest, 0)
    given_up = set()
    for printed in answer.printed:
        for text in _TOLD.findall(printed):
            try:
                what, n, at, states = read_value(text)
            except InvalidValue:
                continue
            furthest[n], made[n] = max(furthest[n], at), max(made[n], states)
            if what == "gave up":
                given_up.add(n)
    for n, trace in enumerate(traces, 1):
        done = furthest[n] - 1
        if done == len(trace.order):
            yield Validated(Status.ACCEPTED, explained=done, states=made[n])
        elif n in given_up:
            yield Validated(
                Status.UNKNOWN, explained=done, reason=f"more than {made[n]:,} states", states=made[n]
            )
        elif answer.error or answer.violated:
            yield Validated(
                Status.UNKNOWN, explained=done, reason=answer.error or answer.violated, states=made[n]
            )
        else:
            record = trace.steps[trace.order[done] - 1].record
            yield Validated(Status.REJECTED, record, done, states=made[n])
