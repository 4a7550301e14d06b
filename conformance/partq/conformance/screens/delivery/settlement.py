"""Settlements and renewals: a lock that holds settles (RCV-6, RCV-12), a lost one does not (RCV-8), one
request concerns one partition (RCV-14), and the order of completing is free (RCV-11).

What a rejected settlement did all the same is seen when the message is missed: `losses.py`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Final

from partq.conformance.facts.index import CALL, FOREVER, Facts, Observation
from partq.conformance.facts.locks import Locks
from partq.conformance.facts.open_transactions import certainly_open
from partq.conformance.facts.records import REMOVALS, deletes
from partq.conformance.history import Record, time_text
from partq.conformance.screens.attribution import MISDELIVERY, applies
from partq.conformance.screens.protocol import Report
from partq.model.operations import Outcome

LOST: Final = "lock_lost"
_AS_LOST: Final = frozenset({LOST, "not_found"})
"""Errors that deny the lock."""


class Settling:
    """The check of one entity's settlements; `check` once."""

    def __init__(self, facts: Facts, locks: Locks, report: Report) -> None:
        self.facts = facts
        self.locks = locks
        self.report = report
        self.slack = facts.entity.lock_duration + facts.header.skew_ns
        self.expire = facts.profile.locks_expire
        self._shows_locks: bool | None = None

    def check(self) -> None:
        """RCV-6, 8, 11, 12 and 14 on every settlement and renewal."""
        for record in self.facts.settlements:
            self._settled(record, self.facts.locks)
        for name, renewals in self.facts.renewals.items():
            seen = self.facts.locks.get(name)
            for record in renewals:
                if record.outcome == Outcome.ERROR:
                    self._refused([seen], (name,), record)
                elif record.outcome == Outcome.OK and seen is None:
                    self._never_given(name, record)
                elif record.outcome == Outcome.OK and seen is not None:
                    self._accepted(seen, record)
                    self._renewed(seen, record)
        self._order()

    def _settled(self, record: Record, known: Mapping[str, Observation]) -> None:
        """One settlement, of one lock or several; ``known``: the locks that were given."""
        names = record.args["locks"]
        if record.outcome == Outcome.OK:
            for name in names:
                seen = known.get(name)
                if seen is None:
                    self._never_given(name, record)
                elif self._may_be_stale(name, seen, record):
                    self._accepted(seen, record)
        elif record.outcome == Outcome.ERROR:
            self._refused([known.get(name) for name in names], names, record)
        if len(names) > 1:
            self._partitions([known[name] for name in names if name in known], record)

    # RCV-8

    def _may_be_stale(self, name: str, seen: Observation, record: Record) -> bool:
        """A cheap look before the exact one: most locks are settled once and in time."""
        if len(self.facts.settled[name]) > 1 or name in self.facts.renewals:
            return True
        if len(self.facts.received[seen.delivery.id]) > 1:
            return True
        until = seen.delivery.locked_until
        if until is None:
            return self.expire and record.call > seen.ret + self.slack
        return self.expire and record.call > until

    def _accepted(self, seen: Observation, record: Record) -> None:
        """A settlement or renewal that answered ok: was the lock certainly lost?"""
        lost = self.locks.ended_but(seen, record, in_transactions=False)
        if lost >= record.call:
            if self._took_effect(record):
                self._delivered_since(seen, record)
            return
        self.report.count("RCV-8")
        others = [s for s in seen.settlements if s.call < record.call]
        self.report.find(
            "RCV-8",
            f"{record.op} accepted",
            f"A lost lock was accepted by {record.op}",
            (seen.record, *others[:1], record),
            f"The lock on message {seen.delivery.id!r} had ended before {record.proc} called {record.op}, "
            f"which answered ok.",
            f"error {LOST}, and nothing changed",
        )

    def _delivered_since(self, seen: Observation, record: Record) -> None:
        """Somebody else got the message since: its lock had ended, or did not exclude others."""
        taken = seen.ret
        received = self.facts.received[seen.delivery.id]
        for at in range(bisect_right(received, taken, key=CALL), len(received)):
            again = received[at]
            if again.call > (record.ret or FOREVER):
                return
            if record.op in REMOVALS or again.ret < record.call:
                why = (
                    f"message {seen.delivery.id!r} went to {again.record.proc}, then {record.op} by the old "
                    f"lock answered ok: that held still (RCV-6), was lost (RCV-8), or the message came "
                    f"back (RCV-7)"
                )
                self.report.ambiguous(("RCV-6", "RCV-7", "RCV-8"), why)
                return

    def _never_given(self, name: str, record: Record) -> None:
        """A settlement or renewal answered ok by a lock that no delivery bears."""
        if not applies(self.facts, "RCV-8"):
            return
        if self._shows_locks is None:
            # A lock may also have been given by what an entity beside this one showed.
            self._shows_locks = not self.facts.elsewhere and all(
                map(_answers_show_locks, self.facts.receives)
            )
        if self._shows_locks:
            self.report.count("RCV-8")
            self.report.find(
                "RCV-8",
                f"{record.op} of nothing",
                f"A lock that was never given was accepted by {record.op}",
                (record,),
                f"No delivery bears the lock {name!r}, and {record.op} by {record.proc} answered ok.",
                f"error {LOST}, and nothing changed",
            )

    def _renewed(self, seen: Observation, record: Record) -> None:
        """What a renewal shows is the message whose lock it renewed."""
        other = next((shown.id for shown in record.messages if shown.id != seen.delivery.id), None)
        if other is not None:
            why = f"the renew_lock at {record.i} by the lock of {seen.delivery.id!r} shows {other!r}"
            self.report.ambiguous(("RCV-1", "RCV-8"), why)

    def _took_effect(self, record: Record) -> bool:
        txn = self.facts.txns[record.args["txn"]] if "txn" in record.args else None
        return txn is None or txn.committed_by is not None

    # RCV-6, RCV-8, RCV-12: refusals

    def _refused(self, found: Sequence[Observation | None], names: Sequence[str], record: Record) -> None:
        seens = [seen for seen in found if seen is not None]
        if any(seen.ended < record.call for seen in seens):
            self.report.count("RCV-8", record.error == LOST)
            return
        if record.ret is None or not names or len(set(names)) < len(names) or len(seens) < len(names):
            return
        if not all(self._certainly_held(seen, record, record.ret) for seen in seens):
            return
        if "txn" in record.args and not certainly_open(self.facts, record, record.ret):
            return
        if record.error in _AS_LOST:
            self._refused_as_lost(seens, record)
        elif record.error == "invalid_operation" and self._one_partition(seens, record):
            self._refused_as_invalid(seens, record)

    def _certainly_held(self, seen: Observation, record: Record, ret: int) -> bool:
        if seen.ret >= record.call or seen.held_until <= ret:
            return False
        return self.expire or seen.record.proc == record.proc

    def _one_partition(self, seens: Sequence[Observation], record: Record) -> bool:
        """Whether all that is settled is in one partition, in the transaction if there is one."""
        if not self.facts.profile.partitioned:
            return True
        concerned = list(seens)
        if "txn" in record.args:
            txn = self.facts.txns[record.args["txn"]]
            if txn.sends:
                return False
            earlier = (
                lock for one in txn.settlements if one.call < record.call for lock in one.args["locks"]
            )
            concerned += (seen for seen in map(self.facts.locks.get, earlier) if seen is not None)
        partitions = {seen.partition for seen in concerned}
        return len(concerned) == 1 or (len(partitions) == 1 and None not in partitions)

    def _refused_as_lost(self, seens: Sequence[Observation], record: Record) -> None:
        other = next((o for seen in seens if (o := self._other_settlement(seen, record))), None)
        if other is not None or self.facts.profile.flows:
            detail = (
                f"the {record.op} at {record.i} was refused though its lock held: it did not last (RCV-6)"
            )
            if self.facts.profile.flows:
                rest = ", ".join(MISDELIVERY)
                why = f"{detail}, or it was that of a flow that had not this partition ({rest})"
                self.report.ambiguous(("RCV-6", *MISDELIVERY), why)
            elif other is not None:
                why = f"{detail}, or the settlement at {other.i}, by a lost lock, did it (RCV-8)"
                self.report.ambiguous(("RCV-6", "RCV-8"), why)
            return
        if applies(self.facts, "RCV-15") and any(map(self._has_an_end, seens)):
            why = f"the {record.op} at {record.i} was refused though its lock held: it did not last (RCV-6)"
            self.report.ambiguous(("RCV-15", "RCV-6"), f"{why}, or its message's time ended it (RCV-15)")
            return
        self.report.find(
            "RCV-6",
            "refused",
            "A lock that holds was refused as lost",
            (*(seen.record for seen in seens), record),
            f"{record.op} by {record.proc} answered {record.error}, though the lock on message "
            f"{seens[0].delivery.id!r} certainly held until {time_text(seens[0].held_unsettled)}.",
            "ok, or an error that does not deny the lock",
        )

    def _has_an_end(self, seen: Observation) -> bool:
        """Whether its message was sent with a time to live."""
        return any(sent.message.ttl is not None for sent in self.facts.by_id.get(seen.delivery.id, ()))

    def _other_settlement(self, seen: Observation, record: Record) -> Record | None:
        """A settlement of the same message by another of its locks, which may be what ended this one."""
        for other in self.facts.received[seen.delivery.id]:
            if other is not seen and other.delivery.lock is not None:
                for settlement in other.settlements:
                    if seen.call < (settlement.ret or 0) and settlement.call < (record.ret or 0):
                        return settlement
        return None

    def _refused_as_invalid(self, seens: Sequence[Observation], record: Record) -> None:
        if not applies(self.facts, "RCV-12"):
            why = f"the {record.op} at {record.i} was refused as invalid, though its lock held"
            self.report.ambiguous(("RCV-6", "RCV-2"), why)
            return
        self.report.find(
            "RCV-12",
            "refused",
            "A settlement within one partition was refused as invalid",
            (*(seen.record for seen in seens), record),
            f"{record.op} by {record.proc} names {len(seens)} locks that certainly held, of one partition, "
            "and answered invalid_operation.",
            "ok: an entity without partitions would have accepted it",
        )

    # RCV-14

    def _partitions(self, seens: Sequence[Observation], record: Record) -> None:
        """One request, outside a transaction (there it is TXN-7), naming locks of several partitions."""
        if "txn" in record.args:
            return
        partitions = {seen.partition for seen in seens} - {None}
        if len(partitions) < 2:
            return
        if record.outcome == Outcome.ERROR:
            self.report.count("RCV-14", record.error == "invalid_operation")
        elif record.outcome == Outcome.OK and not all(self._held_through(seen, record) for seen in seens):
            self.report.ambiguous(
                ("RCV-14", "RCV-8"),
                f"the {record.op} at {record.i} named locks of several partitions and answered ok, but "
                f"some of them may have been lost before (RCV-8)",
            )
        elif record.outcome == Outcome.OK:
            self.report.count("RCV-14")
            named = ", ".join(str(partition) for partition in sorted(p for p in partitions if p is not None))
            self.report.find(
                "RCV-14",
                record.op,
                "One settlement request spanned several partitions",
                (*{seen.record.i: seen.record for seen in seens}.values(), record),
                f"{record.op} by {record.proc} names locks of the partitions {named}, and answered ok.",
                "error invalid_operation, and nothing changed",
            )

    def _held_through(self, seen: Observation, record: Record) -> bool:
        """Whether nothing but a settlement can have ended the lock by then. An end that the broker does not
        show is taken to be later."""
        if record.ret is None or seen.delivery.locked_until is not None:
            return record.ret is not None and seen.held_unsettled > record.ret
        return seen.struck > record.ret

    # RCV-11

    def _order(self) -> None:
        """Count completions that came in another order than their deliveries: free, so never a finding."""
        known = self.facts.locks
        latest, free = -1, 0
        for record in self.facts.settlements:
            if record.op == "complete" and record.outcome == Outcome.OK:
                for name in record.args["locks"]:
                    seen = known.get(name)
                    if seen is None:
                        continue
                    if seen.ret < latest:
                        free += 1
                    elif seen.call > latest:
                        latest = seen.call
        self.report.count("RCV-11", free)


def _answers_show_locks(receive: Record) -> bool:
    """Whether the receive shows every lock that it gave."""
    if deletes(receive):
        return True
    return all(d.lock is not None for d in receive.messages)
