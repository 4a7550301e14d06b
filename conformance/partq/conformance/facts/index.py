"""A history's facts, indexed once for all screens: sends, appearances, locks, faults.

From what clients can see, and the environment's events. Nothing is judged or guessed: a message's partition
is known only if the broker showed it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import chain
from operator import attrgetter
from typing import Any, Final, NamedTuple, TypeVar

from msgspec import Struct

from partq.conformance.history import Header, History, Record
from partq.conformance.history.entities import ByEntity, entity_of, other_entity, whole_of
from partq.model.messages import Delivery, Message
from partq.model.operations import SETTLEMENTS
from partq.model.profiles import Entity, Profile, profile

T = TypeVar("T")

FOREVER: Final = 2**63
"""Later than any time of a history."""


class Sent(Struct, frozen=True, eq=False, gc=False):
    """One message of one send (or batch). ``record.outcome`` says whether it was accepted."""

    message: Message
    key: str | None
    record: Record


class Observation(Struct, eq=False, gc=False):
    """One appearance of a message in the answer to a receive or peek. It equals itself alone, so that what
    is derived of it can be kept under it. ``call`` and ``ret`` are those of its record: what was answered,
    did return. ``partition``: the one that the broker showed, or None.
    ``settlements``: those that name the lock it gave, in order of calls.

    The rest are the times of that lock, which `facts.locks` fills in; until then nothing is known of it.
    ``began``: the earliest instant at which it can have begun, with caching front ends before the receive
    that shows it (RCV-13) · ``held_until``: it certainly holds from the return of its receive until just
    before this instant, if that is later at all · ``held_unsettled``: the same if no settlement had been
    tried, which is what a rolled-back one leaves (TXN-5) · ``struck``: the call of the first fault of its
    partition that may have hit it · ``expired``: its time was certainly over after
    this instant, whatever else ended it · ``ended``: it has certainly ended after this instant."""

    delivery: Delivery
    record: Record
    call: int
    ret: int
    partition: int | None = None
    settlements: Sequence[Record] = ()
    began: int = 0
    held_until: int = -1
    held_unsettled: int = -1
    expired: int = FOREVER
    ended: int = FOREVER
    struck: int = FOREVER

    @property
    def possibly_settled_by(self) -> Sequence[Record]:
        """The settlements of its lock that were not refused, in order of calls."""
        return [one for one in self.settlements if not one.refused] if self.settlements else ()


CALL: Final = attrgetter("call")
RET: Final = attrgetter("ret")
"""Keys to sort and search observations by."""


class Interval(NamedTuple):
    """An interval in which something was down. It may have begun as early as ``start`` (the call of
    the fault) and it was certainly down from ``certain_start`` to ``certain_end`` (the call of the
    repair)."""

    start: int
    certain_start: int
    certain_end: int
    end: int


class Txn(Struct, eq=False):
    """One transaction: what was done in it and how it ended.

    ``end`` is the commit or rollback that counts, ``ends`` are all of them. ``committed_from``: the first
    instant at which it may have taken effect (the call of a commit that was not rejected); ``committed_by``:
    the instant at which it certainly had (the return of one that was `ok`); None where there is none.
    ``reused``: whether a transaction was begun under its name more than once. ``first_ok``: the first end
    that was ok.
    """

    name: str
    begin: Record | None = None
    reused: bool = False
    end: Record | None = None
    ends: list[Record] = []
    first_ok: Record | None = None
    committed_from: int | None = None
    committed_by: int | None = None
    sends: list[Record] = []
    settlements: list[Record] = []

    def add_end(self, record: Record) -> None:
        """Add a commit or a rollback. One after an end that was ok ends nothing (TXN-10)."""
        self.ends.append(record)
        if self.first_ok is None and record.ok:
            self.first_ok = record
        if self.end is not None and self.end.ok and (self.end.ret or 0) < record.call:
            return
        if self.end is None or record.ok:
            self.end = record
        if record.op != "commit" or record.refused:
            return
        if self.committed_from is None:
            self.committed_from = record.call
        if record.ok and self.committed_by is None:
            self.committed_by = record.ret

    @property
    def over(self) -> Record | None:
        """The end that was ok, after which nothing in the transaction succeeds; None if unknown."""
        return None if self.reused else self.first_ok

    def is_late(self, record: Record) -> bool:
        """Whether the operation was called after the transaction was over: only TXN-10 speaks of it."""
        over = self.over
        return over is not None and over.ret is not None and record.call > over.ret


class Facts:
    """The facts of one entity in one history. Every list is in order of calls.

    ``sends``: every message sent · ``requests``: the sends and batches that bore them · ``by_id``: message ID
    -> its sends, scheduled ones included (what became of each message: `facts.lifetimes`) ·
    ``received``/``peeked``: message ID -> its appearances · ``receives``/``peeks``: the answers · ``locks``:
    lock -> its delivery · ``settled``: lock -> the settlements naming it · ``renewals``: lock -> its renewals
    · ``txns`` by name · ``begins``: the operations that began them · ``down``: partition -> when · ``dead``:
    when the broker was killed · ``disruptions``: every fault, and every connection or front end lost ·
    ``flows``: bind, rebind, unbind, disconnect, reconnect · ``assignment_events``: who was given which
    partition, and lost it · ``unfollowed``: operations whose effects no screen follows · ``origins``: message
    ID -> its sends to the topic or queue that this entity belongs to · ``elsewhere``: IDs sent to any entity.
    ``drained``: when the entity was found empty, or None.
    """

    def __init__(self, header: Header, name: str, records: Iterable[Record]) -> None:
        self.header = header
        self.name = name
        self.records: tuple[Record, ...] = tuple(records)
        self.profile: Profile = profile(header.profile)
        self.entity: Entity = entity_of(header, name)
        self.sends: list[Sent] = []
        self.requests: list[Record] = []
        self.by_id: dict[str, list[Sent]] = {}
        self.received: dict[str, list[Observation]] = {}
        self.peeked: dict[str, list[Observation]] = {}
        self.receives: list[Record] = []
        self.peeks: list[Record] = []
        self.locks: dict[str, Observation] = {}
        self.settled: dict[str, list[Record]] = {}
        self.settlements: list[Record] = []
        self.renewals: dict[str, list[Record]] = {}
        self.txns: dict[str, Txn] = {}
        self.begins: list[Record] = []
        self.flows: list[Record] = []
        self.assignment_events: list[Record] = []
        self.disruptions: list[Record] = []
        self.down: dict[int, list[Interval]] = {}
        self.dead: list[Interval] = []
        self.unfollowed: list[Record] = []
        self.origins: Mapping[str, list[Sent]] = {}
        self.elsewhere: frozenset[str] = frozenset()
        self.drained: int | None = None
        self._by_op: dict[str, list[Record]] = {}
        self._derived: dict[Callable[[Facts], Any], Any] = {}
        self._index()

    def derive(self, make: Callable[[Facts], T]) -> T:
        """The result of ``make`` on these facts: computed once, then shared by all screens."""
        derived = self._derived
        if make not in derived:
            derived[make] = make(self)
        known: T = derived[make]
        return known

    def forget(self) -> None:
        """Drop what was derived. It refers back to these facts; only the collector would free the cycle."""
        self._derived.clear()

    def of(self, *ops: str) -> Sequence[Record]:
        """The records of these operations."""
        found = [record for op in ops for record in self._by_op.get(op, ())]
        return found if len(ops) == 1 else sorted(found, key=CALL)

    def saw(self, id: str) -> bool:
        """Whether any client received or peeked a message of that ID."""
        return id in self.received or id in self.peeked

    def _index(self) -> None:
        handlers, by_op = _HANDLERS, self._by_op
        for record in self.records:
            by_op.setdefault(record.op, []).append(record)
            if (handler := handlers.get(record.op)) is not None:
                handler(self, record)
        settled = self.settled
        for seen in chain.from_iterable(self.received.values()) if settled else ():
            lock = seen.delivery.lock
            if lock in settled:
                seen.settlements = settled[lock]

    def key_of(self, message: Message) -> str | None:
        """The message's key on this entity; None where it has none."""
        return self.profile.key_of(message, self.entity)

    def keys_of(self, messages: Iterable[Message]) -> set[str | None]:
        """The keys of these messages; None is among them where one is keyless."""
        return {self.key_of(message) for message in messages}

    def _on_send(self, record: Record) -> None:
        self.requests.append(record)
        for message in record.sent:
            sent = Sent(message, self.key_of(message), record)
            self.sends.append(sent)
            self.by_id.setdefault(message.id, []).append(sent)
        if "txn" in record.args:
            self._txn(record).sends.append(record)

    def _on_schedule(self, record: Record) -> None:
        for message in record.sent:
            sent = Sent(message, self.key_of(message), record)
            self.by_id.setdefault(message.id, []).append(sent)
        if "txn" in record.args:
            self.unfollowed.append(record)

    def _on_cancel(self, record: Record) -> None:
        if "txn" in record.args:
            self.unfollowed.append(record)

    def _on_unfollowed(self, record: Record) -> None:
        if not record.refused:
            self.unfollowed.append(record)

    def _on_entity(self, record: Record) -> None:
        if other_entity(record) is None:
            self._on_unfollowed(record)

    def _on_deferred(self, record: Record) -> None:
        self._on_unfollowed(record)
        self._on_receive(record)
        self.receives.pop()  # its messages count, not what it might have answered

    def _on_in_session(self, record: Record) -> None:
        self._on_unfollowed(record)
        self._on_receive(record)

    def _on_receive(self, record: Record) -> None:
        self.receives.append(record)
        if not record.messages:
            return
        deletes = record.deletes
        call, ret, partition_of = record.call, record.end, self.profile.partition_of
        for delivery in record.messages:
            if deletes and delivery.lock is not None:
                delivery = delivery._replace(lock=None, locked_until=None)  # it has nothing to hold
            seen = Observation(delivery, record, call, ret, partition_of(delivery))
            self.received.setdefault(delivery.id, []).append(seen)
            if delivery.lock is not None:
                self.locks[delivery.lock] = seen

    def _on_peek(self, record: Record) -> None:
        self.peeks.append(record)
        call, ret, partition_of = record.call, record.end, self.profile.partition_of
        for delivery in record.messages:
            seen = Observation(delivery, record, call, ret, partition_of(delivery))
            self.peeked.setdefault(delivery.id, []).append(seen)

    def _on_settle(self, record: Record) -> None:
        self.settlements.append(record)
        for lock in record.args["locks"]:
            self.settled.setdefault(lock, []).append(record)
        if "txn" in record.args:
            self._txn(record).settlements.append(record)

    def _on_renew(self, record: Record) -> None:
        self.renewals.setdefault(record.args["lock"], []).append(record)

    def _on_begin(self, record: Record) -> None:
        self.begins.append(record)
        txn = self._txn(record)
        txn.reused = txn.begin is not None
        txn.begin = record

    def _on_end(self, record: Record) -> None:
        self._txn(record).add_end(record)

    def _txn(self, record: Record) -> Txn:
        name = record.args["txn"]
        if (txn := self.txns.get(name)) is None:
            txn = self.txns[name] = Txn(name)
        return txn

    def _on_flow(self, record: Record) -> None:
        self.flows.append(record)
        if record.op == "disconnect":
            self.disruptions.append(record)

    def _on_assignment(self, record: Record) -> None:
        self.assignment_events.append(record)

    def _on_disruption(self, record: Record) -> None:
        if record.refused:
            return  # a fault that the broker could not be made to have
        self.disruptions.append(record)
        if record.op == "partition_down":
            _open(self.down.setdefault(record.args["partition"], []), record)
        elif record.op == "broker_kill":
            _open(self.dead, record)

    def _on_repair(self, record: Record) -> None:
        if record.refused:
            return
        if record.op == "partition_up":
            _close(self.down.get(record.args["partition"], []), record)
        else:
            _close(self.dead, record)

    def _on_drained(self, record: Record) -> None:
        self.drained = record.call


def facts_of(history: History) -> list[Facts]:
    """The facts of each entity of the history, in order of first appearance. Environment events that name
    no entity of their own (``entity`` empty) belong to every one."""
    sorted_ = ByEntity(history)
    if len(sorted_.names) == 1:
        return [Facts(history.header, sorted_.names[0], history.records)]
    names = (name for name in sorted_.names if name not in sorted_.unlisted)
    found = {name: Facts(history.header, name, sorted_.telling(name)) for name in names}
    _relate(found, sorted_.passing)
    for name, other in sorted_.beside.items():
        found[name].unfollowed += [record for record in found[other].settlements if "txn" in record.args]
    return list(found.values())


def _relate(found: Mapping[str, Facts], passing: Collection[str]) -> None:
    """Note in each entity's facts what was sent to the others. ``passing``: those that keep no messages."""
    elsewhere = frozenset(chain.from_iterable(facts.by_id for facts in found.values()))
    for name, facts in found.items():
        facts.elsewhere = elsewhere
        whole = whole_of(name)
        while whole is not None:
            if whole in found and found[whole].by_id:
                facts.origins = found[whole].by_id
            whole = whole_of(whole)
        if name in passing:
            facts.drained = None


def _open(intervals: list[Interval], fault: Record) -> None:
    if not intervals or intervals[-1].end != FOREVER:
        certain = FOREVER if fault.ret is None or not fault.ok else fault.ret
        intervals.append(Interval(fault.call, certain, FOREVER, FOREVER))


def _close(intervals: list[Interval], repair: Record) -> None:
    if intervals and intervals[-1].end == FOREVER:
        intervals[-1] = intervals[-1]._replace(
            certain_end=repair.call,
            end=FOREVER if repair.ret is None or not repair.ok else repair.ret,
        )


_HANDLERS: Final = {
    "send": Facts._on_send,
    "send_batch": Facts._on_send,
    "schedule": Facts._on_schedule,
    "cancel_scheduled": Facts._on_cancel,
    "receive": Facts._on_receive,
    "receive_deferred": Facts._on_deferred,
    "receive_session": Facts._on_in_session,
    "peek": Facts._on_peek,
    **dict.fromkeys(SETTLEMENTS, Facts._on_settle),
    "renew_lock": Facts._on_renew,
    "begin": Facts._on_begin,
    "commit": Facts._on_end,
    "rollback": Facts._on_end,
    **dict.fromkeys(("bind", "rebind", "unbind", "disconnect", "reconnect"), Facts._on_flow),
    "assignment": Facts._on_assignment,
    **dict.fromkeys(
        ("partition_down", "broker_kill", "frontend_lost", "connection_lost"), Facts._on_disruption
    ),
    **dict.fromkeys(("partition_up", "broker_start"), Facts._on_repair),
    "drained": Facts._on_drained,
    **dict.fromkeys(("accept_session", "renew_session", "close_session"), Facts._on_unfollowed),
    **dict.fromkeys(("update", "add_rule", "remove_rule"), Facts._on_unfollowed),
    **dict.fromkeys(("create", "delete"), Facts._on_entity),
}
