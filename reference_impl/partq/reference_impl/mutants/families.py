"""What several defects share: parts of the broker with a wrong decision left open, which a mutant fills in,
and small deeds. No mutant is here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar, TypeVar

from ..clock import HOP, Clock, Steps
from ..core import Core
from ..errors import Refused
from ..flowend import FlowEnd
from ..flows import Assignments
from ..forwarding import Relay
from ..frontend import FrontEnd
from ..handoffs import Flow, Seat
from ..network import Connection
from ..partition import Partition
from ..sending import Send
from ..settings import SECOND
from ..settling import Settlement
from ..store import Content, Holder, Letter, Store, Stored
from ..transactions import Transaction

Made = TypeVar("Made")

FEW = 3
"""Deliveries up to which a defect counts wrongly, so that nothing is dead-lettered for it."""

END = 2**62
"""A place, or a number of messages, that no partition reaches."""


def garbled(content: Content, **changed: Any) -> Letter:
    """The message with other values in the fields named."""
    return replace(Letter.of(content), **changed)


def lose(stored: Stored) -> None:
    """Delete a message, free or locked, as if it had never been. One that is just being taken stays."""
    partition = stored.partition
    if isinstance(partition, Partition):
        free = partition.take([one for one in partition.waiting() if one is stored])
        if free or stored.lock is not None:
            partition.complete(stored)


def forget_ids(relay: Relay) -> None:
    """Forget all message IDs, of the queue that forwards and of the one that it forwards to."""
    for partition in (*relay.queue.partitions, *relay.onward.partitions):
        if partition.memory is not None:
            partition.memory.stored_at.clear()


def complete(messages: Sequence[Stored]) -> None:
    """Delete those of the messages that are there still."""
    for stored in messages:
        if not stored.gone:
            stored.partition.complete(stored)


def kept(make: Callable[[], Made]) -> cached_property[Made]:
    """A memory of a defect's: each part of a broker has its own."""
    return cached_property(lambda part: make())


def noted(part: object) -> Counter[Any]:
    """What a defect has noted in one part of a broker, and how often."""
    notes: Counter[Any] = vars(part).setdefault("_noted", Counter())
    return notes


@contextmanager
def on_refusal(kind: str, act: Callable[[], object]) -> Iterator[None]:
    """Do something where what is done here is refused by an error of that kind."""
    try:
        yield
    except Refused as refused:
        if refused.kind == kind:
            act()
        raise


def store_sent(broker: Core, txn: Transaction) -> None:
    """Store what was sent in a transaction, whatever becomes of that."""
    sends, txn.sends = txn.sends, []
    if txn.partition is not None and sends:
        broker.accept(txn.partition, sends)


def store_again(partition: Partition, stored: Stored) -> Stored:
    """Replace a message by one with a new number, which the caller locks or releases."""
    partition.complete(stored)
    again = partition.store.append(stored.content, stored.enqueued_at, partition)
    again.count, again.ends = stored.count, stored.ends
    return again


def after(clock: Clock, delay: int, act: Callable[[], object]) -> Steps[None]:
    """Do something later, in ns."""
    yield clock.now + delay
    act()


def retrying(end: FrontEnd, partitions: Sequence[Partition], contents: Sequence[Content]) -> Steps[None]:
    """Store messages once one of the partitions is up, looking each second for ten minutes."""
    for _ in range(600):
        yield end.clock.now + SECOND
        up = [partition for partition in partitions if partition.up]
        if up and end.broker.alive:
            end.broker.accept(up[0], contents)
            return


@contextmanager
def changed(thing: object, **values: Any) -> Iterator[None]:
    """Give attributes other values for a while."""
    before = {name: getattr(thing, name) for name in values}
    for name, value in values.items():
        setattr(thing, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(thing, name, value)


def locked(stored: Stored, now: int) -> bool:
    """Whether somebody holds the message."""
    return stored.lock is not None and now < stored.until


def beside(end: FrontEnd, partition: Holder | None, count: int = 1) -> bool:
    """Whether that partition is up while at least ``count`` others are down."""
    down = len(end.partitions) - len(end.running())
    return end.broker.alive and partition is not None and partition.up and down >= count


def last_end(end: FrontEnd) -> bool:
    """Whether this is the last one of the front ends."""
    return end.broker.front_ends[-1] is end


def far_from_the_end(store: Store) -> bool:
    """Whether the counter has numbers enough to leave some out, so that only a gap shows."""
    return not store._counter >> (store._bits - 1)


def no_key(send: Send) -> str:
    """What a send has to itself and is no key: its first message's ID, or its transaction's name."""
    return send.contents[0].id if send.txn is None else send.txn.name


class Misrouting(FrontEnd):
    """Messages are stored where what `mistaken` says belongs, instead of their key, if that partition is up;
    they are refused where both are down. What faults do to misrouted messages is no part of the defect."""

    def mistaken(self, key: str, send: Send) -> str:
        """What is taken for the key."""
        return key

    def home(self, key: str, send: Send) -> Partition:
        home, wrong = super().home(key, send), super().home(self.mistaken(key, send), send)
        return wrong if wrong.up else home

    def put(self, send: Send, partition: Partition) -> None:
        super().put(send, partition if send.key is None else self.home(send.key, send))

    def give_up(self, send: Send) -> Steps[Partition]:
        yield HOP
        home = self.home(send.key or "", send)
        return home if home.up else (yield from super().give_up(send))


class Splitting(FrontEnd):
    """Batches of several keys are taken apart, instead of refused, if `tolerates` says so."""

    def tolerates(self, keys: Sequence[str | None], txn: str | None) -> bool:
        """Whether a batch of those keys is taken apart."""
        return False

    def send(self, contents: Sequence[Content], txn: str | None, timeout: int) -> Steps[None]:
        keys = [self.broker.rules.key_of(content) for content in contents]
        apart = len(set(keys)) > 1 and self.tolerates(keys, txn)
        for part in [(content,) for content in contents] if apart else [contents]:
            yield from super().send(part, txn, timeout)


class Straying(FrontEnd):
    """What is sent in a transaction with a second key is stored where that belongs, if `strays` says so, at
    once or (``waits``) after the commit. ``to_sessions``: where the keys are sessions, else where not."""

    waits: ClassVar[bool] = False
    to_sessions: ClassVar[bool] = False

    _strays = kept(dict[Transaction, list[tuple[Partition, Sequence[Content]]]])

    def strays(self, txn: Transaction, key: str, send: Send) -> bool:
        """Whether what is sent with this key, which is not the transaction's, goes elsewhere."""
        return False

    def enlist(self, txn: Transaction, send: Send) -> Steps[None]:
        key, apart = send.key, self.one_session() is not self.to_sessions
        if key is None or txn.key in (None, key) or apart or not self.strays(txn, key, send):
            yield from super().enlist(txn, send)
            return
        yield HOP
        home = self.home(key, send)
        if self.waits:
            self.broker.check_open(txn)
            self.broker.check_up(home)
            self._strays.setdefault(txn, []).append((home, send.contents))
        else:
            self.broker.accept(home, send.contents)

    def commit(self, name: str) -> Steps[None]:
        txn = self.broker.transactions.get(name)
        yield from super().commit(name)
        for home, contents in self._strays.pop(txn, ()) if txn is not None else ():
            self.broker.accept(home, contents)


class StrayingSession(Straying):
    """The same with a second session, where sessions are required."""

    to_sessions = True


class Ending(FrontEnd):
    """A request in a transaction that was ended at this front end by one of ``ENDS`` is not refused: one of
    ``REQUEST`` is answered, and forgotten, one of ``LOOSE`` is done as if it were in none."""

    REQUEST: ClassVar[tuple[str, ...]] = ()
    LOOSE: ClassVar[tuple[str, ...]] = ()
    ENDS: ClassVar[tuple[str, ...]] = ("commit", "rollback")

    _over = kept(set[str | None])

    def commit(self, name: str) -> Steps[None]:
        return self._answer("commit", name, super().commit(name))

    def rollback(self, name: str) -> Steps[None]:
        return self._answer("rollback", name, super().rollback(name))

    def send(self, contents: Sequence[Content], txn: str | None, timeout: int) -> Steps[None]:
        loose = None if "send" in self.LOOSE and txn in self._over else txn
        return self._answer("send", loose, super().send(contents, loose, timeout))

    def settle(
        self,
        connection: Connection,
        action: str,
        tokens: Sequence[str],
        txn: str | None,
        reason: str | None = None,
    ) -> Steps[None]:
        loose = None if "settle" in self.LOOSE and txn in self._over else txn
        return self._answer("settle", loose, super().settle(connection, action, tokens, loose, reason))

    def _answer(self, request: str, name: str | None, steps: Steps[None]) -> Steps[None]:
        """Take the request's steps, unless it is to be forgotten."""
        over = name in self._over and name not in self.broker.transactions
        if request in self.REQUEST and over and self.broker.alive:
            yield HOP
            return
        yield from steps
        if request in self.ENDS:
            self._over.add(name)


class Undoing(FrontEnd):
    """Completing a message only ends its lock, if `undoes` says so. (Transactions do it right.)"""

    def undoes(self, asked: Settlement, stored: Stored) -> bool:
        """Whether it does."""
        return False

    def apply(self, asked: Settlement, stored: Stored) -> None:
        if asked.action == "complete" and self.undoes(asked, stored):
            stored.partition.release(stored)
            self.broker.ring()
        else:
            super().apply(asked, stored)


class Renewals(FrontEnd):
    """Front ends that know which locks were ever ``renewed``."""

    renewed = kept(set[str | None])

    def renew(self, token: str) -> Steps[list[Any]]:
        shown = yield from super().renew(token)
        for end in self.broker.front_ends:
            if isinstance(end, Renewals):
                end.renewed.add(token)
        return shown


class Lowering(Store):
    """Numbers those messages below the lowest number that `lowers` says, unless the counter is about to roll
    over. ``MARGIN``: so many numbers are left free below the first one."""

    MARGIN = 1000

    def __init__(self, bits: int, start: int, name: int) -> None:
        super().__init__(bits, start + self.MARGIN if start < self.MARGIN else start, name)
        self._lowest = self._counter

    def lowers(self, content: Content, now: int) -> bool:
        """Whether the message, accepted now, is numbered below all others."""
        return False

    def append(self, content: Content, now: int, partition: Holder) -> Stored:
        lowers = self.lowers(content, now)
        if not lowers or not self._orders or self._lowest >> (self._bits - 1):
            return super().append(content, now, partition)
        self._lowest -= 1
        with changed(self, _counter=self._lowest):
            return super().append(content, now, partition)


class Revealing(FlowEnd):
    """A message that is received says which partition it comes from, if `reveals` says so."""

    def reveals(self, message: Any, answer: Sequence[Any]) -> bool:
        """Whether this message of the answer does."""
        return False

    def collect(self, flow: Flow, most: int, delete: bool) -> list[Any]:
        seats = self.assignments.seats
        homes = {one.content.id: seat.partition.name for seat in seats for one in seat.partition.store.live()}
        answer = super().collect(flow, most, delete)
        return [m._replace(partition=homes[m.id]) if self.reveals(m, answer) else m for m in answer]


class Sharing(FlowEnd):
    """A flow that receives and deletes gets messages of partitions that are not its own, those that `serves`
    names: ``LIMIT`` of each, as far as the answer has room."""

    LIMIT: ClassVar[int] = END

    def serves(self, flow: Flow, shown: Sequence[Any]) -> Sequence[Seat]:
        """Which ones, beside what is in the answer."""
        return ()

    def collect(self, flow: Flow, most: int, delete: bool) -> list[Any]:
        shown = super().collect(flow, most, delete)
        others = self.serves(flow, shown)
        for seat in others if delete else ():
            if self.delivers(seat):
                heads = seat.partition.heads(min(self.LIMIT, most - len(shown)))
                shown += [self.hand_over(seat, stored, delete) for stored in heads]
        return shown


class Parting(Assignments):
    """A standby takes over from a lost flow at once if `replaces` says so, else when the delay ends."""

    _parting = False

    def replaces(self, disconnected: bool) -> bool:
        """Whether it does. ``disconnected``: the flow's client has; otherwise the flow was unbound."""
        return True

    def part(self, proc: str) -> None:
        with changed(self, _parting=True):
            super().part(proc)

    def standby(self) -> Flow | None:
        return super().standby() if self.replaces(self._parting) else None


class LeavesOut(Assignments):
    """A rebalance leaves out the flows that are ``left_out``, if there are others."""

    left_out = kept(list[Flow])

    def active(self) -> list[Flow]:
        flows = super().active()
        return [flow for flow in flows if flow not in self.left_out] or flows
