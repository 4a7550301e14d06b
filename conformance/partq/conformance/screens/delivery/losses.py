"""RCV-2: what was accepted is still there at the end, unless something may have removed it. Judged after
``drained`` alone.

What is missing for another reason has another owner: parts of a batch or transaction (`screens.attribution`),
what a rolled-back transaction had settled (TXN-5), what a refused settlement by a lost lock took along
(RCV-8).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from partq.conformance.facts.index import FOREVER, Facts, Observation, Sent
from partq.conformance.facts.lifetimes import Lifetime, Lifetimes
from partq.conformance.facts.locks import Locks, may_be_given_up_on
from partq.conformance.history import Record
from partq.conformance.screens.admission.faults import homes
from partq.conformance.screens.attribution import applies, missing_ids, possibly_taken
from partq.conformance.screens.protocol import Report
from partq.model.operations import SETTLEMENTS, Outcome

_TAKING: Final = SETTLEMENTS - {"abandon"}


class Loss(NamedTuple):
    """An accepted message that nobody got in the end. ``last``: when it was certainly still there."""

    last: int
    life: Lifetime


class Losses:
    """The check of one entity's messages; `check` once."""

    def __init__(self, facts: Facts, locks: Locks, report: Report) -> None:
        self.facts = facts
        self.locks = locks
        self.report = report
        self.drained = FOREVER if facts.drained is None else facts.drained

    def check(self) -> None:
        """RCV-2 on every message accepted before the drain."""
        if self.facts.drained is None:
            return
        judged, lost = 0, []
        for life in self.facts.derive(Lifetimes).by_id.values():
            if life.deliveries and _plainly_taken(life.deliveries[-1]):
                judged += 1
            elif self._accepted(life) and not self._taken(life.deliveries):
                loss = Loss(_last_seen(life), life)
                if not self._given_up_on(loss):
                    judged += 1
                    lost.append(loss)
        self.report.count("RCV-2", judged)
        if lost:
            self._judge(lost)

    def _accepted(self, life: Lifetime) -> bool:
        """Whether it certainly was stored before the drain, in a partition that the drain could reach."""
        record = life.record
        if record.call >= self.drained or (record.ret or FOREVER) >= self.drained:
            return False
        if record.outcome == Outcome.ERROR or self._of_open_txn(record):
            return False
        if record.outcome != Outcome.OK and not life.seen:
            return False
        partition = (life.deliveries or life.peeks)[0].partition if life.seen else self._home(life.sent)
        return self.locks.faults(partition).first(self.drained) >= self.drained

    def _home(self, sent: Sent) -> int | None:
        """The partition that its key was shown to live in."""
        return None if sent.key is None else self.facts.derive(homes).get(sent.key)

    def _of_open_txn(self, record: Record) -> bool:
        """Whether it was sent in a transaction that was not certainly committed: what happens to it is
        TXN-5."""
        return "txn" in record.args and self.facts.txns[record.args["txn"]].committed_by is None

    def _taken(self, seens: Sequence[Observation]) -> bool:
        """Whether something may have removed it, or still holds it. A later delivery shows that a settlement
        of unknown outcome had not."""
        last_call = max((seen.call for seen in seens), default=0)
        for seen in seens:
            lock = seen.delivery.lock
            settlements = [s for s in seen.settlements if s.op in _TAKING and self._in_time(seen, s)]
            if any(settlement.outcome == Outcome.OK for settlement in settlements):
                return True
            if seen.ret < last_call:
                continue
            if lock is None or any(settlement.outcome != Outcome.ERROR for settlement in settlements):
                return True
            if self.facts.profile.locks_expire and seen.ended >= self.drained:
                return True
        return False

    def _in_time(self, seen: Observation, settlement: Record) -> bool:
        """Whether it may have taken effect: one of unknown outcome by a lock that was certainly lost did
        not."""
        return settlement.outcome == Outcome.OK or settlement.call <= seen.expired

    def _judge(self, lost: list[Loss]) -> None:
        explained = missing_ids(self.facts)
        left = [loss for loss in self._unexplained(lost) if loss.life.id not in explained]
        refused = {loss.life.id: self._refusals(loss) for loss in left}
        plain = [loss for loss in left if not refused[loss.life.id] and not self._part(loss)]
        for loss in plain:
            self._report(loss)
        for loss in () if plain else left:
            refusals = refused[loss.life.id]
            certain = [one for one in refusals if one[1].outcome == Outcome.ERROR]
            if certain and len(certain) == len(refusals) and self._outlived(loss):
                self._report_refused(loss, certain[0])
            else:
                self._leave_open(loss, refusals)

    def _unexplained(self, lost: list[Loss]) -> list[Loss]:
        """Without as many as receive-and-deletes of unknown outcome may have taken, at any later time: those
        that were seen last."""
        return sorted(lost, key=_last)[: max(0, len(lost) - possibly_taken(self.facts))]

    def _given_up_on(self, loss: Loss) -> bool:
        """Whether so many locks may have ended in vain that it was dead-lettered (RCV-9), so not missed."""
        return may_be_given_up_on(self.facts, loss.life.deliveries, loss.last)

    def _part(self, loss: Loss) -> bool:
        """Whether it is part of a batch or transaction, and was never seen: then KEY-7 or TXN-5 may be the
        broken rule."""
        record = loss.life.record
        part = "txn" in record.args or len(record.args["messages"]) > 1
        return not loss.life.seen and part and applies(self.facts, _whole(record))

    def _refusals(self, loss: Loss) -> list[tuple[Observation, Record]]:
        """The settlements of the message that were refused as by a lost lock, or of unknown outcome by one,
        and may have removed it all the same."""
        return [
            (seen, settlement)
            for seen in loss.life.deliveries
            for settlement in seen.settlements
            if (settlement.outcome == Outcome.UNKNOWN and settlement.op in _TAKING)
            or (settlement.outcome == Outcome.ERROR and settlement.error == "lock_lost")
            if (settlement.ret or FOREVER) > loss.last
        ]

    def _outlived(self, loss: Loss) -> bool:
        """Whether some other message lived through all that happened to this one, refusals apart: as many
        locks that ended by abandon, as many that ran out, no fault."""
        if not self.facts.profile.locks_expire or self.locks.upsets(None).touching(loss.last, self.drained):
            return False
        abandoned, expired = self._fate(loss.life.deliveries)
        for life in self.facts.derive(Lifetimes).delivered:
            seens = life.deliveries
            if life is not loss.life and len(seens) > 1 and _in_turn(seens):
                survived = self._fate(seens[:-1])
                if survived[0] >= abandoned and survived[1] >= expired and not self._refused(seens):
                    return True
        return False

    def _fate(self, seens: Sequence[Observation]) -> tuple[int, int]:
        """How many of these locks were given up, and how many were left to run out."""
        settled = [bool(seen.possibly_settled_by) for seen in seens]
        return sum(settled), len(settled) - sum(settled)

    def _refused(self, seens: Sequence[Observation]) -> bool:
        return any(settlement.outcome == Outcome.ERROR for seen in seens for settlement in seen.settlements)

    def _report_refused(self, loss: Loss, refusal: tuple[Observation, Record]) -> None:
        seen, settlement = refusal
        self.report.find(
            "RCV-8",
            "effect of a refusal",
            "A settlement by a lost lock was refused and removed the message",
            (loss.life.record, seen.record, settlement),
            f"The {settlement.op} of message {loss.life.id!r} by {settlement.proc} was refused, and "
            f"the message was never seen again; others whose locks ended so were.",
            "the message, still there at the end",
        )

    def _leave_open(self, loss: Loss, refusals: list[tuple[Observation, Record]]) -> None:
        missing = f"message {loss.life.id!r} is missing: it was lost (RCV-2), or"
        if refusals:
            why = f"{missing} the settlement at {refusals[0][1].i}, by a lost lock, removed it (RCV-8)"
            self.report.ambiguous(("RCV-2", "RCV-8"), why)
        else:
            requirement = _whole(loss.life.record)
            self.report.ambiguous(
                ("RCV-2", requirement), f"{missing} its batch or transaction was done in part ({requirement})"
            )

    def _report(self, loss: Loss) -> None:
        life, seens, peeks = loss.life, loss.life.deliveries, loss.life.peeks
        how = "after its delivery" if seens else "after a peek" if peeks else "unseen"
        settled = (record for seen in seens[-1:] for record in (seen.record, *seen.settlements))
        self.report.find(
            "RCV-2",
            f"lost {how}",
            "An accepted message was lost",
            (life.record, *settled, *(peek.record for peek in peeks[-1:])),
            f"Message {life.id!r} of {life.record.proc} was accepted, nothing can have removed it, "
            f"and the drain did not find it.",
            "the message in an answer, before or in the drain",
        )


def _plainly_taken(seen: Observation) -> bool:
    """Whether the delivery removed the message, or a settlement of its lock outside transactions did."""
    return seen.delivery.lock is None or any(
        settlement.op in _TAKING and settlement.outcome == Outcome.OK and "txn" not in settlement.args
        for settlement in seen.settlements
    )


def _last_seen(life: Lifetime) -> int:
    """The latest instant at which the message certainly was there."""
    return life.appearances[-1].call if life.appearances else life.record.call


def _whole(record: Record) -> str:
    """The rule by which all of the send is done, or nothing."""
    return "TXN-5" if "txn" in record.args else "KEY-7"


def _in_turn(seens: Sequence[Observation]) -> bool:
    """Whether each delivery certainly was over before the next began, all but the last with a lock."""
    return all(one.delivery.lock is not None and one.ret < two.call for one, two in pairwise(seens))


def _last(loss: Loss) -> int:
    return loss.last
