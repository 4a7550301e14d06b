"""Defects planted in lawful histories: edits of what a broker answered, each as a defect would have it.

Each kind yields the edits that a history (`Plot`) allows, one for each place. An edit may come to something
lawful: that is for the judge to say.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice, pairwise
from math import inf
from random import Random
from typing import Any, Final

from msgspec import structs

from partq.conformance.history import History, Record
from partq.model.configuration import COUNTER_BITS
from partq.model.delivery.norm import DELETE
from partq.model.messages import Delivery, Message, effective_key
from partq.model.operations import Outcome
from partq.model.profiles import SECOND, profile

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

    def exchange(self, one: Place, two: Place) -> None:
        """Each of the two where the other was shown, under the lock that was given there."""
        a, b = self.at(one), self.at(two)
        self.show(one, **b._replace(lock=a.lock, locked_until=a.locked_until)._asdict())
        self.show(two, **a._replace(lock=b.lock, locked_until=b.locked_until)._asdict())

    def number(self, id: str, seq: int | None) -> None:
        """Show the message under that number wherever it is shown."""
        for place in self.places(id):
            self.show(place, seq=seq)

    def exchange_numbers(self, one: Delivery, two: Delivery) -> None:
        self.number(one.id, two.seq)
        self.number(two.id, one.seq)

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

    def room(self, after: int, before: float = inf) -> Iterator[int]:
        """Receives without locks that began after that record had returned, returned before that time, and
        could have shown more."""
        end = self.records[after].ret or 0
        for n in range(after + 1, min(after + 200, len(self.records))):
            record = self.records[n]
            deletes = record.op == "receive" and record.args.get("mode") == DELETE
            if deletes and record.outcome == Outcome.OK and record.call > end and (record.ret or 0) < before:
                if len(record.messages) < record.args.get("max", 1):
                    yield n

    def also(self, shown: Delivery, rooms: Iterable[int]) -> Iterator[Site]:
        """Show it, without a lock, in the first of these receives, too, if there is one."""
        bare = shown._replace(lock=None, locked_until=None)
        return (partial(self.add, n, bare) for n in islice(rooms, 1))

    def of(self, *operations: str, least: int = 0) -> Iterator[tuple[int, Record]]:
        """The records of these operations that show so many messages at least, by their places."""
        found = ((n, record) for n, record in enumerate(self.records) if record.op in operations)
        return ((n, record) for n, record in found if len(record.messages) >= least)


Shown = tuple[Delivery, ...]
Site = Callable[[], object]
Kind = Callable[[Plot], Iterable[Site]]


def plant(history: History, kind: str, random: Random) -> History | None:
    """The history with one defect of that kind in its middle half; None where it has no place for it."""
    plot = Plot(history)
    sites = list(KINDS[kind](plot))
    middle = sites[len(sites) // 4 : len(sites) - len(sites) // 4]
    if not middle:
        return None
    random.choice(middle)()
    return plot.history()


# --- messages, and where they are shown ---------------------------------------------------------------


def _once(plot: Plot) -> Iterator[tuple[str, Place]]:
    """The messages that were received exactly once, and where."""
    once = ((id, places[0]) for id, places in plot.received.items() if len(places) == 1)
    return ((id, place) for id, place in once if id in plot.sent)


def _sent(plot: Plot, id: str) -> Message:
    """The message as it was sent."""
    sent: Sequence[Message] = plot.records[plot.sent[id]].args["messages"]
    return next(one for one in sent if one.id == id)


def _domain(plot: Plot, id: str) -> object:
    """What keeps the order of the message: its partition where its number shows it, else its key. None: no
    client can tell its order."""
    seqs = [shown.seq for shown in map(plot.at, plot.places(id)) if shown.seq is not None]
    if seqs:
        return seqs[0] >> COUNTER_BITS
    return effective_key(_sent(plot, id), profile(plot.header.profile).key_rule)


def _disordered(plot: Plot) -> Iterator[Site]:
    last: dict[object, Place] = {}
    for id, place in _once(plot):
        domain = _domain(plot, id)
        if domain is None:
            continue
        before, sent = last.get(domain), plot.records[plot.sent[id]]
        earlier = plot.records[before[0]] if before else plot.records[0]
        if before and (sent.ret or 0) < earlier.call and (earlier.ret or 0) < plot.records[place[0]].call:
            yield partial(plot.exchange, before, place)
        last[domain] = place


def _delivered_again(plot: Plot) -> Iterator[Site]:
    for id, n in plot.gone.items():
        yield from plot.also(plot.at(plot.received[id][-1]), plot.room(n))


def _delivered_meanwhile(plot: Plot) -> Iterator[Site]:
    for id, n in plot.gone.items():
        place = plot.received[id][-1]
        yield from plot.also(plot.at(place), plot.room(place[0], plot.records[n].call))


def _shown_too_soon(plot: Plot) -> Iterator[Site]:
    for id, place in _once(plot):
        sent = plot.sent[id]
        yield from plot.also(plot.at(place), plot.room(max(0, sent - 20), plot.records[sent].call))


def _lost_at_last(plot: Plot) -> Iterator[Site]:
    for id, places in plot.received.items():
        if len(places) > 1:
            n, _ = places[-1]
            left = tuple(one for one in plot.records[n].messages if one.id != id)
            yield partial(plot.change, n, messages=left)


def _shown(change: Callable[[Delivery], dict[str, Any] | None]) -> Kind:
    """A kind that changes how the first delivery of a message is shown; None: not of that one."""

    def kind(plot: Plot) -> Iterator[Site]:
        for place, *_ in plot.received.values():
            if (fields := change(plot.at(place))) is not None:
                yield partial(plot.show, place, **fields)

    return kind


def _moved(field: str, by: int) -> Kind:
    return _shown(lambda shown: None if (at := getattr(shown, field)) is None else {field: at + by})


# --- numbers and partitions -----------------------------------------------------------------------------


def _successive(plot: Plot) -> Iterator[tuple[Delivery, Delivery]]:
    """Two messages that follow each other in a partition, where the send of the first had returned when the
    second was sent."""
    last: dict[int, Delivery] = {}
    for id, place in _once(plot):
        shown = plot.at(place)
        if shown.seq is None:
            continue
        before = last.get(shown.seq >> COUNTER_BITS)
        if before and (plot.records[plot.sent[before.id]].ret or 0) < plot.records[plot.sent[id]].call:
            yield before, shown
        last[shown.seq >> COUNTER_BITS] = shown


def _another_number(plot: Plot) -> Iterator[Site]:
    for id in plot.received:
        places = plot.places(id)
        seq = plot.at(places[-1]).seq
        if len(places) > 1 and seq is not None:
            yield partial(plot.show, places[-1], seq=seq + 1)


def _key_astray(plot: Plot) -> Iterator[Site]:
    for id, place in _once(plot):
        message, seq = _sent(plot, id), plot.at(place).seq
        if (message.session_id or message.partition_key) and seq is not None and seq >> COUNTER_BITS:
            yield partial(plot.number, id, seq ^ (3 << COUNTER_BITS))


# --- answers --------------------------------------------------------------------------------------------


def _peeked(least: int, change: Callable[[Shown], Shown]) -> Kind:
    """A kind that changes what an answer to a peek shows, of so many messages at least."""
    return lambda plot: (
        partial(plot.change, n, messages=change(record.messages))
        for n, record in plot.of("peek", least=least)
    )


def _peek_of_what_is_gone(plot: Plot) -> Iterator[Site]:
    gone = sorted((n, id) for id, n in plot.gone.items())
    for n, record in plot.of("peek", least=2):
        first, second = record.messages[:2]
        for by, id in reversed(gone):
            shown = plot.at(plot.received[id][-1])
            between = shown.seq is not None and (first.seq or 0) < shown.seq < (second.seq or 0)
            if by < n and (plot.records[by].ret or 0) < record.call and between:
                bare = shown._replace(lock=None, locked_until=None)
                yield partial(plot.add, n, bare, 1)
                break


def _twice_in_one_answer(plot: Plot) -> Iterator[Site]:
    for n, record in plot.of("receive", least=1):
        if len(record.messages) < record.args.get("max", 1):
            shown = record.messages[-1]
            again = shown if shown.lock is None else shown._replace(lock=f"{shown.lock}-again")
            yield partial(plot.add, n, again)


def _answer_turned_round(plot: Plot) -> Iterator[Site]:
    for n, record in plot.of("receive"):
        ordered = [domain for one in record.messages if (domain := _domain(plot, one.id)) is not None]
        if len(set(ordered)) < len(ordered):
            yield partial(plot.change, n, messages=record.messages[::-1])


def _answer_to_another(plot: Plot) -> Iterator[Site]:
    def exchange(one: int, two: int) -> None:
        shown = plot.records[one].messages
        plot.change(one, messages=plot.records[two].messages)
        plot.change(two, messages=shown)

    for (one, a), (two, b) in pairwise(plot.of("receive", least=1)):
        if a.proc != b.proc and "flow" in a.args and "flow" in b.args:
            yield partial(exchange, one, two)


def _refused_yet_stored(plot: Plot) -> Iterator[Site]:
    for id, n in plot.sent.items():
        if plot.records[n].op == "send" and "txn" not in plot.records[n].args and plot.received[id]:
            yield partial(plot.change, n, outcome=Outcome.ERROR, error="invalid_operation", messages=())


# --- transactions and assignments -----------------------------------------------------------------------


def _ended(plot: Plot, how: str) -> Iterator[tuple[int, Sequence[str]]]:
    """The transactions that ended so, each with what it had sent."""
    sent: dict[str, list[str]] = defaultdict(list)
    for n, record in enumerate(plot.records):
        txn = record.args.get("txn")
        if txn is not None and record.outcome == Outcome.OK:
            sent[txn] += [message.id for message in record.args.get("messages", ())]
            if record.op == how and sent[txn]:
                yield n, sent[txn]


def _half_a_transaction(plot: Plot) -> Iterator[Site]:
    for _, ids in _ended(plot, "commit"):
        if len(ids) > 1 and all(plot.received[id] for id in ids):
            yield partial(plot.drop, ids[0])


def _rolled_back_yet_shown(plot: Plot) -> Iterator[Site]:
    for n, ids in _ended(plot, "rollback"):
        yield from plot.also(Delivery(ids[0]), plot.room(n))


def _told_to_another(plot: Plot) -> Iterator[Site]:
    for (n, one), (_, two) in pairwise(plot.of("assignment")):
        if one.args["flow"] != two.args["flow"]:
            yield partial(plot.change, n, args={**one.args, "flow": two.args["flow"]})


KINDS: Final[dict[str, Kind]] = {
    "order: two first deliveries exchanged": _disordered,
    "lost: never shown to anybody": lambda plot: (partial(plot.drop, id) for id, _ in _once(plot)),
    "a completed message delivered again": _delivered_again,
    "delivered while somebody holds its lock": _delivered_meanwhile,
    "a settlement accepted that was refused": lambda plot: (
        partial(plot.change, n, outcome=Outcome.OK, error=None)
        for n, record in plot.of("complete", "abandon", "renew_lock")
        if record.error == "lock_lost"
    ),
    "a settlement refused that was good": lambda plot: (
        partial(plot.change, n, outcome=Outcome.ERROR, error="lock_lost")
        for n in set(plot.gone.values())
        if plot.records[n].op == "complete"
    ),
    "another body": _shown(lambda shown: {"body": "other"}),
    "a property nobody sent": _shown(lambda shown: {"properties": (*(shown.properties or ()), ("x", "y"))}),
    "a message nobody sent": _shown(lambda shown: {"id": "alien"}),
    "a count too high": _moved("delivery_count", 1),
    "a lock that ends a minute late": _moved("locked_until", 60 * SECOND),
    "enqueued a minute early": _moved("enqueued_at", -60 * SECOND),
    "another partition's name": _moved("partition", 1),
    "marked though never delivered": _shown(
        lambda shown: {"redelivered": True} if shown.redelivered is False else None
    ),
    "a number used twice": lambda plot: (
        partial(plot.number, two.id, one.seq) for one, two in _successive(plot)
    ),
    "two numbers exchanged": lambda plot: (partial(plot.exchange_numbers, *two) for two in _successive(plot)),
    "another number when shown again": _another_number,
    "a key in another partition": _key_astray,
    "a peek that skips": _peeked(3, lambda shown: (*shown[:1], *shown[2:])),
    "a peek out of order": _peeked(2, lambda shown: (*shown[:-2], shown[-1], shown[-2])),
    "a peek that shows what is gone": _peek_of_what_is_gone,
    "half a transaction": _half_a_transaction,
    "a message of a transaction that was rolled back": _rolled_back_yet_shown,
    "twice in one answer": _twice_in_one_answer,
    "more than were asked for": lambda plot: (
        partial(plot.change, n, args={**record.args, "max": len(record.messages) - 1})
        for n, record in plot.of("receive", least=2)
    ),
    "a send refused, and yet stored": _refused_yet_stored,
    "an answer given to another client": _answer_to_another,
    "an answer turned round": _answer_turned_round,
    "shown before it was sent": _shown_too_soon,
    "lost once it was given back": _lost_at_last,
    "a redelivery that is not marked": lambda plot: (
        partial(plot.show, places[-1], redelivered=False)
        for places in plot.received.values()
        if len(places) > 1 and plot.at(places[-1]).redelivered
    ),
    "an assignment that is not told": lambda plot: (
        partial(plot.records.pop, n) for n, _ in plot.of("assignment")
    ),
    "an assignment told to another flow": _told_to_another,
    "an assignment of another partition": lambda plot: (
        partial(plot.change, n, args={**record.args, "partition": record.args["partition"] ^ 1})
        for n, record in plot.of("assignment")
    ),
}
