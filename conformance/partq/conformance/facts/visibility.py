"""Whether a message was locked while a peek looked: certainly, certainly not, or possibly.

Locks that no delivery shows count as possible: those of front ends that fetched early, and those of receives
with an unknown outcome. Nothing here judges.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import chain

from partq.conformance.facts.index import CALL, FOREVER, Facts, Observation
from partq.conformance.facts.lifetimes import Lifetime
from partq.conformance.facts.locks import Intervals, Locks
from partq.conformance.facts.records import span
from partq.conformance.history import Record
from partq.model.operations import Outcome


class Visibility:
    """Questions about one entity's locks during one peek."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.locks = facts.derive(Locks)
        caching = facts.profile.caching_front_ends
        # An answer of a receive may reach the front end's cache when the receive is over already.
        self.lasting = 2 * facts.entity.lock_duration + facts.header.skew_ns
        if not facts.profile.locks_expire:
            self.lasting = FOREVER
        self.shadows = Intervals(
            span(record) for record in facts.receives if caching or record.outcome == Outcome.UNKNOWN
        )
        self._held: dict[str, Intervals] = {}

    def certainly_locked(self, life: Lifetime, call: int, ret: int) -> bool:
        """Whether a client held a lock on it from ``call`` to ``ret``."""
        held = self._held.get(life.id)
        if held is None:
            held = self._held[life.id] = self._intervals_held(life)
        return held.reach(call - 1) > ret

    def _intervals_held(self, life: Lifetime) -> Intervals:
        """When it certainly was locked."""
        return Intervals(
            (seen.ret, seen.held_until) for seen in life.deliveries if seen.delivery.lock is not None
        )

    def certainly_free(self, life: Lifetime, call: int, ret: int) -> bool:
        """Whether nobody can have held a lock on it at any instant from ``call`` to ``ret``."""
        shadowed = self.shadowed(call, ret)
        for seen in life.deliveries:
            # A front end fetches early only for some receive, and then that one casts its shadow.
            start = seen.began if shadowed else seen.call
            if start <= ret and seen.ended >= call:
                return False
        return not shadowed or self._never_locked(life, call, ret)

    def shadowed(self, call: int, ret: int) -> bool:
        """Whether somebody whom no delivery shows can have held a lock then, or a moment ago."""
        return self.shadows.touching(call - self.lasting, ret) > 0

    def count_rests(self, life: Lifetime, call: int, ret: int, own: Record | None) -> bool:
        """Whether no lock can have raised the message's count from ``call`` to ``ret``, that of the receive
        ``own`` apart. A lock that expired may do so at any later time: a broker may notice late."""
        received = life.deliveries
        at = bisect_right(received, ret, key=CALL)
        early = bisect_right(received, ret + self.lasting, key=CALL)
        for seen in chain(
            map(received.__getitem__, range(at - 1, -1, -1)), map(received.__getitem__, range(at, early))
        ):
            if seen.record is not own and seen.began <= ret and not self._settled(seen, call):
                return False
        possible = self.shadows.begun(ret)
        return possible == (own is not None and self.facts.profile.caching_front_ends)

    def _settled(self, seen: Observation, before: int) -> bool:
        """Whether a settlement certainly had ended the lock before then."""
        return any(
            settlement.ret is not None
            and settlement.ret < before
            and settlement.outcome == Outcome.OK
            and "txn" not in settlement.args
            for settlement in seen.settlements
        )

    def _never_locked(self, life: Lifetime, call: int, ret: int) -> bool:
        """Whether its first delivery proves that no lock came before: count 0, and no fault that might have
        ended one without a trace."""
        seens = life.deliveries
        if not seens or seens[0].delivery.delivery_count != 0:
            return False
        first = seens[0]
        partition = first.partition
        quiet = not self.locks.upsets(partition).touching(call, first.ret)
        return quiet and first.began > ret
