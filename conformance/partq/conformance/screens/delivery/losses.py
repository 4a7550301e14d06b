"""Messages accepted and missing at the end, though nothing may have removed them: RCV-2; KEY-7 where the rest
of the batch was seen, TXN-5 where the transaction took effect. Judged only after ``drained``.

A missing part of a batch or transaction that a fault, or a plain loss, may explain is left to the judge.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from partq.conformance.facts.index import FOREVER, Facts, Observation, Txn
from partq.conformance.facts.lifetimes import Lifetime, Lifetimes
from partq.conformance.facts.locks import Locks, may_be_given_up_on
from partq.conformance.history import Record
from partq.conformance.screens.attribution import applies, homes, possibly_taken
from partq.conformance.screens.protocol import Report
from partq.model.operations import SETTLEMENTS

_TAKING: Final = SETTLEMENTS - {"abandon"}


class Losses:
    """The check of one entity's messages; `check` once."""

    def __init__(self, facts: Facts, locks: Locks, report: Report) -> None:
        self.facts = facts
        self.locks = locks
        self.report = report
        self.lives = facts.derive(Lifetimes)
        self.drained = FOREVER if facts.drained is None else facts.drained

    def check(self) -> None:
        """Every message accepted before the drain."""
        if self.facts.drained is None:
            return
        judged, lost = 0, []
        for life in self.lives.by_id.values():
            if life.deliveries and _plainly_taken(life.deliveries[-1]):
                judged += 1
            elif self._accepted(life) and not self._taken(life.deliveries):
                if not may_be_given_up_on(self.facts, life.deliveries, _last(life)):
                    judged += 1
                    lost.append(life)
        self.report.count("RCV-2", judged)
        self._judge(lost)
        self._judge_parts()

    def _accepted(self, life: Lifetime) -> bool:
        """Whether it certainly was stored before the drain, in a partition that the drain could reach."""
        record = life.record
        if record.call >= self.drained or record.end >= self.drained:
            return False
        if record.refused or self._of_open_txn(record):
            return False
        if not life.seen and (not record.ok or self._may_be_dropped(life)):
            return False
        home = self.facts.derive(homes).get(life.sent.key or "")
        partition = (life.deliveries or life.peeks)[0].partition if life.seen else home
        return self.locks.faults(partition).first(self.drained) >= self.drained

    def _may_be_dropped(self, life: Lifetime) -> bool:
        """Whether it may be a duplicate: it was sent without an ID, or with one that another was assigned.
        That is left to the judge (KEY-6)."""
        if not self.facts.entity.duplicate_detection:
            return False
        return life.sent.message.without_id or life.id in self.facts.derive(_shown_ids)

    def _of_open_txn(self, record: Record) -> bool:
        """Whether it was sent in a transaction that was not certainly committed: what happens to it is
        TXN-5."""
        return "txn" in record.args and self.facts.txns[record.args["txn"]].committed_by is None

    def _taken(self, seens: Sequence[Observation]) -> bool:
        """Whether something may have removed it, or still holds it. A later delivery shows that a settlement
        of unknown outcome had not, and that a lock was lost that one may not have been in time for."""
        last_call = max((seen.call for seen in seens), default=0)
        for seen in seens:
            settlements = [s for s in seen.settlements if s.op in _TAKING]
            if any(settlement.ok for settlement in settlements):
                return True
            if seen.ret >= last_call and (
                seen.delivery.lock is None
                or any(not s.refused and s.call <= seen.expired for s in settlements)
                or (self.facts.profile.locks_expire and seen.ended >= self.drained)
            ):
                return True
        return False

    def _judge(self, lost: list[Lifetime]) -> None:
        """Without as many as receive-and-deletes of unknown outcome may have taken, at any later time: those
        that were seen last. What is a part, or was refused, is left to the judge."""
        left = sorted(lost, key=_last)[: max(0, len(lost) - possibly_taken(self.facts))]
        for life in (life for life in left if not (self._is_part(life) or _refused(life))):
            how = "after its delivery" if life.deliveries else "after a peek" if life.peeks else "unseen"
            seen = [record for one in life.deliveries[-1:] for record in (one.record, *one.settlements)]
            seen += [peek.record for peek in life.peeks[-1:]]
            why = f"{life.id!r} was accepted, nothing can have removed it, and the drain did not find it."
            self.report.find("RCV-2", f"lost {how}", (life.record, *seen), why)

    def _is_part(self, life: Lifetime) -> bool:
        """Whether it is part of a batch or transaction, and was never seen: then KEY-7 or TXN-5 may be the
        broken rule."""
        rule = "TXN-5" if "txn" in life.record.args else "KEY-7"
        part = rule == "TXN-5" or len(life.record.sent) > 1
        return part and not life.seen and applies(self.facts, rule)

    # Parts.

    def _judge_parts(self) -> None:
        """KEY-7 and TXN-5: what is missing of batches and transactions, if nothing plain is."""
        unseen = [life.record for life in self.lives.unseen if life.record.call < self.drained]
        records = {record.i: record for record in unseen if not record.refused}.values()
        if any(_plain(record) for record in records):
            return
        for record in records:
            if record.op == "send_batch" and "txn" not in record.args and not self._may_be_in_part(record):
                certain = record.ok
                self._judge_part("KEY-7", (record,), (), record.call, certain)
        for name in dict.fromkeys(record.args["txn"] for record in records if "txn" in record.args):
            self._judge_txn(self.facts.txns[name])

    def _may_be_in_part(self, record: Record) -> bool:
        """Whether some of a batch may be stored and the rest not: it is keyless, so that its parts go to
        partitions each by itself (ROUTE-9), and of unknown outcome."""
        keyless = self.facts.keys_of(record.sent) <= {None}
        return keyless and self.facts.profile.partitioned and record.unknown

    def _judge_txn(self, txn: Txn) -> None:
        sends = tuple(record for record in txn.sends if record.ok)
        keys = {m.session_id or m.partition_key for send in sends for m in send.sent}
        if txn.committed_from is not None and not (len(keys) > 1 and applies(self.facts, "TXN-2")):
            ends = tuple(record for record in txn.ends if not record.refused)
            self._judge_part("TXN-5", sends, ends, txn.committed_from, txn.committed_by is not None)

    def _judge_part(
        self, rule: str, sends: tuple[Record, ...], ends: tuple[Record, ...], since: int, certain: bool
    ) -> None:
        """What is missing of these sends. ``certain``: they were accepted. What a fault may have lost of them
        is RCV-2's as well."""
        ids = (message.id for record in sends for message in record.sent)
        lives = [life for life in map(self.lives.get, ids) if life is not None]
        lives = [life for life in lives if life.seen or not self._may_be_dropped(life)]
        gone, siblings = [life for life in lives if not life.seen], [life for life in lives if life.seen]
        alone = rule == "TXN-5" and certain
        if (
            not applies(self.facts, rule)
            or not (siblings or alone)
            or len(gone) <= possibly_taken(self.facts)
        ):
            return
        if not (may_be_given_up_on(self.facts, (), since) or self._may_be_wiped(since, siblings)):
            why = f"{_named(gone)} never seen, also not in the drain"
            why += f"; of the same {'batch' if rule == 'KEY-7' else 'transaction'} {_named(siblings)} seen"
            self.report.find(rule, "in part", (*sends, *ends), why if siblings else why.partition(";")[0])

    def _may_be_wiped(self, since: int, siblings: Sequence[Lifetime]) -> bool:
        """Whether a fault may have lost what was accepted from that instant on: of the broker, of a front
        end, or of a partition, if that may have been theirs."""
        places = {one.partition for life in siblings for one in life.appearances}
        return any(
            fault.end > since
            and not (fault.op == "partition_down" and places and fault.args["partition"] not in places)
            for fault in self.facts.disruptions
        )


def _plainly_taken(seen: Observation) -> bool:
    """Whether the delivery removed the message, or a settlement of its lock outside transactions did."""
    return seen.delivery.lock is None or any(
        settlement.op in _TAKING and settlement.ok and "txn" not in settlement.args
        for settlement in seen.settlements
    )


def _last(life: Lifetime) -> int:
    """The latest instant at which the message certainly was there."""
    return life.appearances[-1].call if life.appearances else life.record.call


def _plain(record: Record) -> bool:
    """Whether it was accepted alone, so that its loss can only be RCV-2."""
    return record.ok and "txn" not in record.args and len(record.sent) == 1


def _refused(life: Lifetime) -> bool:
    """Whether a settlement of the message was refused as by a lost lock, or is of unknown outcome, and may
    have removed it all the same (RCV-8)."""
    return any(
        (settlement.unknown and settlement.op in _TAKING)
        or (settlement.refused and settlement.error == "lock_lost")
        for seen in life.deliveries
        for settlement in seen.settlements
        if settlement.end > _last(life)
    )


def _named(lives: Sequence[Lifetime]) -> str:
    """The messages as the subject of a sentence in the passive voice."""
    return f"{', '.join(repr(life.id) for life in lives)} {'was' if len(lives) == 1 else 'were'}"


def _shown_ids(facts: Facts) -> frozenset[str]:
    """The message IDs that are shown of messages."""
    tables = (*facts.received.values(), *facts.peeked.values())
    return frozenset(one.delivery.message_id for seen in tables for one in seen if one.delivery.message_id)
