"""Defects planted in lawful histories: edits of what a broker answered, each as a defect would have it.

Each kind yields the edits that a history (`Plot`) allows, one for each place. An edit may come to something
lawful: that is for the judge to say.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from random import Random
from typing import Any, Final

from msgspec import structs

from partq.conformance.history import History, Record
from partq.model.delivery.norm import DELETE
from partq.model.messages import Delivery, effective_key
from partq.model.operations import Outcome
from partq.model.profiles import SECOND, profile
from partq.model.state import COUNTER_BITS

Place = tuple[int, int]
"""A record, and which of its messages."""


class Plot:
    """A history that is edited. ``received``, ``peeked``: where each message was shown; ``sent``: by which
    record, unless it was refused; ``gone``: by which record it was completed or deleted."""

    def __init__(self, history: History) -> None:
        self.header = history.header
        self.records = list(history.records)
        self.received: dict[str, list[Place]] = defaultdict(list)
        self.peeked: dict[str, list[Place]] = defaultdict(list)
        self.sent: dict[str, int] = {}
        self.gone: dict[str, int] = {}
        held: dict[str, str] = {}
        for n, record in enumerate(self.records):
            if record.outcome != Outcome.ERROR:
                self.sent |= {message.id: n for message in record.args.get("messages", ())}
            for k, shown in enumerate(record.messages):
                if record.op in ("receive", "peek"):
                    (self.received if record.op == "receive" else self.peeked)[shown.id].append((n, k))
                if shown.lock is not None:
                    held[shown.lock] = shown.id
            if record.op == "receive" and record.args.get("mode") == DELETE:
                self.gone |= {shown.id: n for shown in record.messages}
            if record.op == "complete" and record.outcome == Outcome.OK and "txn" not in record.args:
                self.gone |= {held[token]: n for token in record.args["locks"] if token in held}

    def history(self) -> History:
        """The history as it is now."""
        return History(self.header, tuple(structs.replace(one, i=n) for n, one in enumerate(self.records)))

    def change(self, n: int, **fields: Any) -> None:
        self.records[n] = structs.replace(self.records[n], **fields)

    def show(self, place: Place, **fields: Any) -> None:
        n, k = place
        messages = list(self.records[n].messages)
        messages[k] = messages[k]._replace(**fields)
        self.change(n, messages=tuple(messages))

    def add(self, n: int, shown: Delivery, k: int | None = None) -> None:
        messages = list(self.records[n].messages)
        messages.insert(len(messages) if k is None else k, shown)
        self.change(n, messages=tuple(messages))

    def drop(self, id: str) -> None:
        """Nobody is shown the message any more, nor settles it."""
        held = {self.at(place).lock for place in self.received[id]}
        self.records = [one for one in self.records if one.args.get("lock", id) not in held]
        for n, record in enumerate(self.records):
            if any(one.id == id for one in record.messages):
                self.change(n, messages=tuple(one for one in record.messages if one.id != id))
            locks = record.args.get("locks", ())
            if not held.isdisjoint(locks):
                left = tuple(token for token in locks if token not in held)
                self.change(n, args={**record.args, "locks": left})
        self.records = [one for one in self.records if one.args.get("locks", "any")]

    def at(self, place: Place) -> Delivery:
        return self.records[place[0]].messages[place[1]]

    def places(self, id: str) -> list[Place]:
        return [*self.received[id], *self.peeked[id]]

    def room(self, after: int) -> Iterator[int]:
        """Receives without locks that began after that record had returned and could have shown more."""
        end = self.records[after].ret or 0
        for n in range(after + 1, min(after + 200, len(self.records))):
            record = self.records[n]
            deletes = record.op == "receive" and record.args.get("mode") == DELETE
            if deletes and record.outcome == Outcome.OK and record.call > end:
                if len(record.messages) < record.args.get("max", 1):
                    yield n


Sites = Iterable[Callable[[], object]]
Kind = Callable[[Plot], Sites]
KINDS: Final[dict[str, Kind]] = {}


def plant(history: History, kind: str, random: Random) -> History | None:
    """The history with one defect of that kind in its middle half; None where it has no place for it."""
    plot = Plot(history)
    sites = list(KINDS[kind](plot))
    middle = sites[len(sites) // 4 : len(sites) - len(sites) // 4]
    if not middle:
        return None
    random.choice(middle)()
    return plot.history()


def _kind(name: str) -> Callable[[Kind], Kind]:
    def register(kind: Kind) -> Kind:
        KINDS[name] = kind
        return kind

    return register


def _once(plot: Plot) -> Iterator[tuple[str, Place]]:
    """The messages that were received exactly once, and where."""
    once = ((id, places[0]) for id, places in plot.received.items() if len(places) == 1)
    yield from ((id, place) for id, place in once if id in plot.sent)


def _domain(plot: Plot, id: str) -> object:
    """What keeps the order of the message: its partition where its number shows it, else its key. None: no
    client can tell its order."""
    seqs = [shown.seq for shown in map(plot.at, plot.places(id)) if shown.seq is not None]
    if seqs:
        return seqs[0] >> COUNTER_BITS
    sent = plot.records[plot.sent[id]].args["messages"]
    message = next(one for one in sent if one.id == id)
    return effective_key(message, profile(plot.header.profile).key_rule)


@_kind("order: two first deliveries exchanged")
def _(plot: Plot) -> Sites:
    last: dict[object, Place] = {}

    def exchange(one: Place, two: Place) -> Callable[[], None]:
        def edit() -> None:
            a, b = plot.at(one), plot.at(two)
            kept = ("lock", "locked_until")
            plot.show(one, **{**b._asdict(), **{name: getattr(a, name) for name in kept}})
            plot.show(two, **{**a._asdict(), **{name: getattr(b, name) for name in kept}})

        return edit

    for id, place in _once(plot):
        domain = _domain(plot, id)
        if domain is None:
            continue
        before, sent = last.get(domain), plot.records[plot.sent[id]]
        earlier = plot.records[before[0]] if before else plot.records[0]
        if before and (sent.ret or 0) < earlier.call and (earlier.ret or 0) < plot.records[place[0]].call:
            yield exchange(before, place)
        last[domain] = place


@_kind("lost: never shown to anybody")
def _(plot: Plot) -> Sites:
    yield from (partial(plot.drop, id) for id, _ in _once(plot))


@_kind("a completed message delivered again")
def _(plot: Plot) -> Sites:
    for id, n in plot.gone.items():
        for room in plot.room(n):
            shown = plot.at(plot.received[id][-1])._replace(lock=None, locked_until=None)
            yield partial(plot.add, room, shown)
            break


@_kind("delivered while somebody holds its lock")
def _(plot: Plot) -> Sites:
    for id, n in plot.gone.items():
        place = plot.received[id][-1]
        for room in plot.room(place[0]):
            if (plot.records[room].ret or 0) < plot.records[n].call:
                shown = plot.at(place)._replace(lock=None, locked_until=None)
                yield partial(plot.add, room, shown)
                break


@_kind("a settlement accepted that was refused")
def _(plot: Plot) -> Sites:
    for n, record in enumerate(plot.records):
        if record.op in ("complete", "abandon", "renew_lock") and record.error == "lock_lost":
            yield partial(plot.change, n, outcome=Outcome.OK, error=None)


@_kind("a settlement refused that was good")
def _(plot: Plot) -> Sites:
    for n in set(plot.gone.values()):
        if plot.records[n].op == "complete":
            yield partial(plot.change, n, outcome=Outcome.ERROR, error="lock_lost")


def _shown(change: Callable[[Plot, Delivery], dict[str, Any] | None]) -> Kind:
    """A kind that changes how one delivery is shown."""

    def kind(plot: Plot) -> Sites:
        for places in plot.received.values():
            fields = change(plot, plot.at(places[0]))
            if fields is not None:
                yield partial(plot.show, places[0], **fields)

    return kind


def _moved(field: str, by: int) -> Kind:
    def change(plot: Plot, shown: Delivery) -> dict[str, Any] | None:
        value = getattr(shown, field)
        return None if value is None else {field: value + by}

    return _shown(change)


_kind("another body")(_shown(lambda plot, shown: {"body": "other"}))
_kind("a property nobody sent")(
    _shown(lambda plot, shown: {"properties": (*(shown.properties or ()), ("x", "y"))})
)
_kind("a message nobody sent")(_shown(lambda plot, shown: {"id": "alien"}))
_kind("a count too high")(_moved("delivery_count", 1))
_kind("a lock that ends a minute late")(_moved("locked_until", 60 * SECOND))
_kind("enqueued a minute early")(_moved("enqueued_at", -60 * SECOND))
_kind("another partition's name")(_moved("partition", 1))
_kind("marked though never delivered")(
    _shown(lambda plot, shown: {"redelivered": True} if shown.redelivered is False else None)
)


def _numbered(plot: Plot, id: str, seq: int | None) -> None:
    for place in plot.places(id):
        plot.show(place, seq=seq)


@_kind("a number used twice")
def _(plot: Plot) -> Sites:
    for before, (id, _) in _successive(plot):
        yield partial(_numbered, plot, id, plot.at(before).seq)


@_kind("two numbers exchanged")
def _(plot: Plot) -> Sites:
    for before, (id, place) in _successive(plot):
        one, seqs = plot.at(before).id, (plot.at(before).seq, plot.at(place).seq)

        def edit(one: str = one, two: str = id, seqs: tuple[Any, Any] = seqs) -> None:
            _numbered(plot, one, seqs[1])
            _numbered(plot, two, seqs[0])

        yield edit


def _successive(plot: Plot) -> Iterator[tuple[Place, tuple[str, Place]]]:
    """A message, and where the one before it in its partition was received, whose send had returned when it
    was sent."""
    last: dict[int, tuple[str, Place]] = {}
    for id, place in _once(plot):
        seq = plot.at(place).seq
        if seq is None:
            continue
        before = last.get(seq >> COUNTER_BITS)
        if before:
            sends = plot.records[plot.sent[before[0]]], plot.records[plot.sent[id]]
            if (sends[0].ret or 0) < sends[1].call:
                yield before[1], (id, place)
        last[seq >> COUNTER_BITS] = id, place


@_kind("another number when shown again")
def _(plot: Plot) -> Sites:
    for id in plot.received:
        places = plot.places(id)
        seq = plot.at(places[-1]).seq
        if len(places) > 1 and seq is not None:
            yield partial(plot.show, places[-1], seq=seq + 1)


@_kind("a key in another partition")
def _(plot: Plot) -> Sites:
    for id, _ in _once(plot):
        message = next(one for one in plot.records[plot.sent[id]].args["messages"] if one.id == id)
        seq = plot.at(plot.received[id][0]).seq
        if (message.session_id or message.partition_key) and seq is not None and seq >> COUNTER_BITS:
            yield partial(_numbered, plot, id, seq ^ (3 << COUNTER_BITS))


def _peeks(plot: Plot, least: int) -> Iterator[int]:
    for n, record in enumerate(plot.records):
        if record.op == "peek" and len(record.messages) >= least:
            yield n


@_kind("a peek that skips")
def _(plot: Plot) -> Sites:
    for n in _peeks(plot, 3):
        shown = plot.records[n].messages
        yield partial(plot.change, n, messages=(shown[0], *shown[2:]))


@_kind("a peek out of order")
def _(plot: Plot) -> Sites:
    for n in _peeks(plot, 2):
        shown = plot.records[n].messages
        turned = (*shown[:-2], shown[-1], shown[-2])
        yield partial(plot.change, n, messages=turned)


@_kind("a peek that shows what is gone")
def _(plot: Plot) -> Sites:
    gone = sorted((n, id) for id, n in plot.gone.items())
    for n in _peeks(plot, 2):
        first, second = plot.records[n].messages[:2]
        for by, id in reversed(gone):
            shown = plot.at(plot.received[id][-1])
            between = shown.seq is not None and (first.seq or 0) < shown.seq < (second.seq or 0)
            if by < n and (plot.records[by].ret or 0) < plot.records[n].call and between:
                bare = shown._replace(lock=None, locked_until=None)
                yield partial(plot.add, n, bare, 1)
                break


def _ended(plot: Plot, how: str) -> Iterator[tuple[int, Sequence[str]]]:
    """The transactions that ended so, each with what it had sent."""
    sent: dict[str, list[str]] = defaultdict(list)
    for n, record in enumerate(plot.records):
        txn = record.args.get("txn")
        if txn is not None and record.outcome == Outcome.OK:
            sent[txn] += [message.id for message in record.args.get("messages", ())]
            if record.op == how and sent[txn]:
                yield n, sent[txn]


@_kind("half a transaction")
def _(plot: Plot) -> Sites:
    for _, ids in _ended(plot, "commit"):
        if len(ids) > 1 and all(plot.received[id] for id in ids):
            yield partial(plot.drop, ids[0])


@_kind("a message of a transaction that was rolled back")
def _(plot: Plot) -> Sites:
    for n, ids in _ended(plot, "rollback"):
        for room in plot.room(n):
            yield partial(plot.add, room, Delivery(ids[0]))
            break


@_kind("twice in one answer")
def _(plot: Plot) -> Sites:
    for n, record in enumerate(plot.records):
        if record.op == "receive" and record.messages and len(record.messages) < record.args.get("max", 1):
            shown = record.messages[-1]
            again = shown if shown.lock is None else shown._replace(lock=f"{shown.lock}-again")
            yield partial(plot.add, n, again)


@_kind("more than were asked for")
def _(plot: Plot) -> Sites:
    for n, record in enumerate(plot.records):
        if record.op == "receive" and len(record.messages) > 1:
            args = {**record.args, "max": len(record.messages) - 1}
            yield partial(plot.change, n, args=args)


@_kind("a send refused, and yet stored")
def _(plot: Plot) -> Sites:
    for id, n in plot.sent.items():
        if plot.records[n].op == "send" and "txn" not in plot.records[n].args and plot.received[id]:
            yield partial(plot.change, n, outcome=Outcome.ERROR, error="invalid_operation", messages=())


@_kind("an answer given to another client")
def _(plot: Plot) -> Sites:
    receives = [n for n, record in enumerate(plot.records) if record.op == "receive" and record.messages]
    for one, two in pairwise(receives):
        a, b = plot.records[one], plot.records[two]
        if a.proc != b.proc and "flow" in a.args and "flow" in b.args:

            def edit(one: int = one, two: int = two, a: Record = a, b: Record = b) -> None:
                plot.change(one, messages=b.messages)
                plot.change(two, messages=a.messages)

            yield edit


@_kind("an answer turned round")
def _(plot: Plot) -> Sites:
    for n, record in enumerate(plot.records):
        shown = record.messages if record.op == "receive" else ()
        ordered = [domain for one in shown if (domain := _domain(plot, one.id)) is not None]
        if len(set(ordered)) < len(ordered):
            yield partial(plot.change, n, messages=record.messages[::-1])


@_kind("shown before it was sent")
def _(plot: Plot) -> Sites:
    for id, place in _once(plot):
        call = plot.records[plot.sent[id]].call
        for room in plot.room(max(0, plot.sent[id] - 20)):
            if (plot.records[room].ret or 0) < call:
                shown = plot.at(place)._replace(lock=None, locked_until=None)
                yield partial(plot.add, room, shown)
                break


@_kind("lost once it was given back")
def _(plot: Plot) -> Sites:
    for id, places in plot.received.items():
        if len(places) > 1:

            def edit(id: str = id, last: int = places[-1][0]) -> None:
                plot.change(last, messages=tuple(one for one in plot.records[last].messages if one.id != id))

            yield edit


@_kind("a redelivery that is not marked")
def _(plot: Plot) -> Sites:
    for places in plot.received.values():
        if len(places) > 1 and plot.at(places[-1]).redelivered:
            yield partial(plot.show, places[-1], redelivered=False)


@_kind("an assignment that is not told")
def _(plot: Plot) -> Sites:
    for n, record in enumerate(plot.records):
        if record.op == "assignment":
            yield partial(plot.records.pop, n)


@_kind("an assignment told to another flow")
def _(plot: Plot) -> Sites:
    told = [n for n, record in enumerate(plot.records) if record.op == "assignment"]
    for one, two in pairwise(told):
        a, b = plot.records[one].args, plot.records[two].args
        if a["flow"] != b["flow"]:
            args = {**a, "flow": b["flow"]}
            yield partial(plot.change, one, args=args)


@_kind("an assignment of another partition")
def _(plot: Plot) -> Sites:
    for n, record in enumerate(plot.records):
        if record.op == "assignment":
            args = {**record.args, "partition": record.args["partition"] ^ 1}
            yield partial(plot.change, n, args=args)
