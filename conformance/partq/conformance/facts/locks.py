"""When a lock certainly holds and when it has certainly ended, as far as clients can see
(docs/rules/locks.md).

Only intervals are computed here; nothing is judged. Every answer errs on the side of *not sure*.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Final, TypeVar

from partq.conformance.facts.index import FOREVER, Facts, Observation
from partq.conformance.facts.intervals import NEVER, Intervals
from partq.conformance.facts.outages import Outages
from partq.conformance.history import Record
from partq.model.grouping import grouped
from partq.model.profiles import requirements_of

T = TypeVar("T")

_DEPARTURES: Final = frozenset({"frontend_lost", "connection_lost", "disconnect"})


class Locks:
    """The locks of one entity's facts: fills their times into the deliveries (`Observation`), and answers
    what depends on more than one of them."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        profile = facts.profile
        self._caching = profile.caching_front_ends
        self._expire = profile.locks_expire
        self._parting = profile.connection_ends_locks
        self._duration = facts.entity.lock_duration
        self._binding = "RCV-8" in requirements_of(profile.name)
        self._skew = facts.header.skew_ns
        self._late = self._skew + facts.header.lateness
        self._renewals = facts.renewals
        outages = facts.derive(Outages)
        self._faulty, self.faults = not outages.none, outages.faults
        self._upsets: dict[int | None, Intervals] = {}
        self._clients: dict[str, Intervals] | None = None
        self._handoffs: dict[str | None, Intervals] | None = None
        self._ends: dict[int, int] = {}
        unseen = facts.settled.keys() - facts.locks.keys()
        stray = (s.call for lock in unseen for s in facts.settled[lock] if not s.refused)
        self._stray = sorted(stray)
        for id, seens in facts.received.items():
            sends = facts.by_id.get(id)
            sent = sends[0].record.call if sends else 0
            for seen in seens:
                self._fold(seen, sent)
            if not self._binding and len(seens) > 1:
                self._share(seens)

    def upsets(self, partition: int | None) -> Intervals:
        """Its faults, and whatever may have made a front end give back what it had locked."""
        known = self._upsets.get(partition)
        if known is None:
            lost = [record.span for record in self.facts.disruptions if record.op in _DEPARTURES]
            faults = self.faults(partition)
            known = self._upsets[partition] = Intervals([*faults.intervals(), *lost]) if lost else faults
        return known

    def _fold(self, seen: Observation, sent: int) -> None:
        """Fill in the times of the delivery's lock. ``sent``: when the message was sent at the earliest; no
        lock on it can be older."""
        called, duration, skew = seen.call, self._duration, self._skew
        lock, until, last = seen.delivery.lock, seen.delivery.locked_until, self._last(seen)
        if until is not None and until > seen.ret + duration + skew:
            until = None  # later than can be (RCV-13)
        if self._caching:
            earliest = (called if until is None else until) - duration
            seen.began = (earliest if earliest > sent else sent) - skew
            end = max(called, sent + duration) if until is None else until
        else:
            seen.began = called
            end = called + duration if until is None else until
        if not self._expire:
            end = self._given_back(seen.record)
        else:
            if lock in self._renewals:
                end, last = self._renewed(lock, end, last)
            end -= skew
            seen.expired = seen.ended = last + self._late
            if self._parting:
                end = min(end, self._left(seen.record))
        if self._faulty:
            seen.struck = struck = self.faults(seen.partition).first(seen.began)
            if struck < end:
                end = struck
        seen.held_unsettled = seen.held_until = end
        if lock is None:
            if self._stray:
                seen.held_until = min(end, self._settled_unseen(called))
        elif seen.settlements:
            self._settle(seen)

    def _settle(self, seen: Observation) -> None:
        """Apply the settlements of its lock."""
        for settlement in seen.settlements:
            if not settlement.refused:
                seen.held_until = min(seen.held_until, settlement.call)
                if settlement.ok:
                    seen.ended = min(seen.ended, self._effective(settlement))

    def _share(self, seens: Sequence[Observation]) -> None:
        """Take in that lost locks may settle, where RCV-8 does not bind: a settlement by any lock of the
        message may end each of them, a renewal prolong it."""
        settlements = [one for seen in seens for one in seen.settlements if not one.refused]
        renewed = {seen.delivery.lock for seen in seens} & self._renewals.keys()
        latest = max((self._renewed(lock, 0, -1)[1] for lock in renewed if lock), default=-1) + self._late
        for seen in seens:
            for settlement in settlements:
                if settlement.end >= seen.call:
                    seen.held_until = min(seen.held_until, settlement.call)
            if seen.ended == seen.expired:
                seen.ended = max(seen.ended, latest)
            seen.expired = max(seen.expired, latest)

    def _last(self, seen: Observation) -> int:
        """The latest instant of its lock's expiry, without renewals and skew."""
        until = seen.delivery.locked_until
        return seen.ret + self._duration if until is None else until

    def _renewed(self, lock: str, end: int, last: int, but: Record | None = None) -> tuple[int, int]:
        """The earliest and the latest instant of expiry, after its renewals. One that is answered ok
        says that the lock held, unless lost locks may be renewed. ``but``: one that does not count."""
        for renewal in self._renewals[lock]:
            if renewal.refused or renewal is but:
                continue
            shown = renewal.messages[0].locked_until if renewal.messages else None
            if renewal.ok and (self._binding or renewal.end <= end):
                end = max(end, renewal.call + self._duration if shown is None else shown)
            if renewal.ret is None:
                last = FOREVER - self._late
            else:
                last = max(last, renewal.ret + self._duration if shown is None else shown)
        return end, last

    def _settled_unseen(self, since: int) -> int:
        """The first call of a settlement from then on by a lock that no delivery shows: any may be the one
        that is not shown."""
        at = bisect_left(self._stray, since)
        return self._stray[at] if at < len(self._stray) else FOREVER

    def ended_but(self, seen: Observation, but: Record, in_transactions: bool = True) -> int:
        """When the lock has certainly ended if one settlement or renewal is not counted, and those in
        transactions only if that is asked for."""
        end = seen.expired
        if but.op == "renew_lock" and seen.delivery.lock is not None and self._expire:
            end = self._renewed(seen.delivery.lock, 0, self._last(seen), but)[1] + self._late
        for settlement in seen.settlements:
            if settlement is but or not settlement.ok:
                continue
            if in_transactions or "txn" not in settlement.args:
                end = min(end, self._effective(settlement))
        return end

    def _effective(self, settlement: Record) -> int:
        name = settlement.args.get("txn")
        if name is not None:
            end = self.facts.txns[name].end
            if end is None or end.op != "commit" or not end.ok:
                return FOREVER
            settlement = end
        return settlement.end

    def _given_back(self, record: Record) -> int:
        """When the locks that the record gave may first have ended, where none does by time."""
        end = self._ends.get(record.i)
        if end is None:
            end = self._ends[record.i] = min(self._left(record), self._moved(record))
        return end

    def _left(self, record: Record) -> int:
        """When the client that got the lock may first have left, or lost its connection."""
        if self._clients is None:
            self._clients = _departures(self.facts)
        return _first(self._clients, record.proc, "", record.call)

    def _moved(self, record: Record) -> int:
        """When a partition, possibly this one's, may first have been taken from its flow."""
        if not self.facts.profile.flows:
            return FOREVER
        if self._handoffs is None:
            self._handoffs = _handoffs(self.facts)
        return _first(self._handoffs, record.args.get("flow"), None, record.call)


class UnseenLocks:
    """How many locks that no client saw may have ended: of front ends that fetched early, and of receives of
    unknown outcome. Reached by ``facts.derive(UnseenLocks)``."""

    __slots__ = ("_caching", "_duration", "_locks", "_skew", "_upset", "uncertain")

    def __init__(self, facts: Facts) -> None:
        self._locks = facts.derive(Locks)
        self._caching = facts.profile.caching_front_ends
        self._duration = facts.entity.lock_duration
        self._skew = facts.header.skew_ns
        self._upset = bool(facts.disruptions)
        self.uncertain = [r.call for r in facts.receives if r.unknown and not r.deletes]

    def ended(self, partition: int | None, start: int, since: int, end: int) -> int:
        """How many may have ended by ``end`` on a message that was free from ``start`` and known from
        ``since`` on."""
        # An unknown receive may come to pass at any later time: all of them count, in every gap.
        hidden = bisect_right(self.uncertain, end) if self.uncertain else 0
        if self._caching:
            since_free = end - start + self._skew
            hidden += since_free // self._duration if since_free > 0 else 0  # each held for its full time
        if self._upset and (self._caching or hidden):
            hidden += self._locks.upsets(partition).touching(since, end)
        return hidden


def may_be_given_up_on(facts: Facts, seens: Sequence[Observation], last: int) -> bool:
    """Whether so many locks may have ended in vain that the broker dead-lettered a message (RCV-9).
    ``seens``: its deliveries; ``last``: when it was certainly still there."""
    counted = (seen.delivery.delivery_count or 0 for seen in seens)
    locks = max(len(seens), max(counted, default=-1) + 1)
    until = facts.records[-1].call if facts.drained is None else facts.drained
    locks += facts.derive(UnseenLocks).ended(None, last, last, until)
    return locks >= facts.entity.max_delivery_count


def _first(intervals: Mapping[T, Intervals], own: T, common: T, since: int) -> int:
    """The start of the earliest of one's own and of the common spans that has not ended before ``since``."""
    return min(intervals.get(own, NEVER).first(since), intervals.get(common, NEVER).first(since))


def _departures(facts: Facts) -> dict[str, Intervals]:
    """By client: when it left or may have been cut off; under "" faults that hit no particular client."""
    left = (one for one in facts.flows if one.op in ("unbind", "disconnect") and not one.refused)
    lost = (one for one in facts.disruptions if one.op in ("connection_lost", "frontend_lost"))
    clients = chain(((one.proc, one) for one in left), ((one.args.get("proc", ""), one) for one in lost))
    found = grouped((client, one.span) for client, one in clients)
    return {client: Intervals(spans) for client, spans in found.items()}


def _handoffs(facts: Facts) -> dict[str | None, Intervals]:
    """By flow: when a partition was taken from it; under None from any. Where assignments are not shown: when
    any flow's coming or going may have moved partitions, handoff included."""
    if not facts.assignment_events:
        lag = facts.entity.rebalance_delay + facts.entity.max_handoff + facts.header.skew_ns
        moves = (record.span for record in facts.flows)
        return {None: Intervals((start, min(FOREVER, end + lag)) for start, end in moves)}
    skew = facts.header.skew_ns
    owners: dict[int, str | None] = {}
    intervals: dict[str | None, list[tuple[int, int]]] = {}
    for record in facts.assignment_events:
        partition, flow, state = record.args["partition"], record.args.get("flow"), record.args["state"]
        owner = owners.get(partition, flow)
        if state in ("unassigned", "unbound") or owner != flow:
            start, end = record.span
            intervals.setdefault(owner, []).append((start - skew, end + skew))
        if state == "unassigned":
            owners.pop(partition, None)
        else:
            owners[partition] = flow
    return {flow: Intervals(found) for flow, found in intervals.items()}
