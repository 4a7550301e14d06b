"""Which sends, settlements and renewals succeed while some partition is down: ROUTE-5 to ROUTE-8.

Operations in transactions are left to the judge, and the partition of a message to `routing.affinity`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import chain
from typing import Final

from partq.conformance.facts.index import Facts
from partq.conformance.facts.lifetimes import Lifetimes
from partq.conformance.facts.outages import Outages
from partq.conformance.history import Record
from partq.conformance.screens.admission.requests import request
from partq.conformance.screens.attribution import homes, places
from partq.conformance.screens.protocol import Report, Screen
from partq.model.grouping import grouped
from partq.model.messages import conflicting
from partq.model.operations import UNAVAILABLE, Outcome
from partq.model.profiles import SECOND, SEND_TIMEOUT

PATIENT: Final = 15 * SECOND
"""ROUTE-6 promises success to sends that wait longer than this, in ns."""

MISFITS: Final = frozenset({"session_locked"})
"""Errors that do not say that a partition is down (ROUTE-5). Those `FOR_GOOD` are `refusals`' business."""

_CAUSES: Final = {
    "ROUTE-5": "accepted",
    "ROUTE-6": "not re-routed",
    "ROUTE-7": "settlement",
    "ROUTE-8": "accepted",
}


def check(facts: Facts) -> Report:
    """Judge every send, settlement and renewal that met a fault."""
    report, outages = Report(), facts.derive(Outages)
    if outages.none:
        return report
    faults = _Faults(facts, report)
    by_locks = [*facts.settlements, *chain.from_iterable(facts.renewals.values())]
    for records, judge in ((facts.requests, faults.send), (by_locks, faults.by_locks)):
        for record in records:
            if record.ret is not None and not outages.quiet(record.call, record.ret):
                if "txn" not in record.args:
                    judge(record, record.ret)
    faults.judge_refusals((*facts.requests, *by_locks))
    return report


class _Faults:
    """The faults that one entity's operations met. ``refused``: those that no known fault explains."""

    def __init__(self, facts: Facts, report: Report) -> None:
        self.facts = facts
        self.report = report
        self.outages = facts.derive(Outages)
        self.homes = facts.derive(homes)
        self.good: dict[str, list[int]] | None = None
        self.refused: list[tuple[str, Record]] = []

    def send(self, record: Record, ret: int) -> None:
        """A send or a batch."""
        messages = record.sent
        keys = self.facts.keys_of(messages)
        if len(keys) > 1 or any(map(conflicting, messages)):
            return
        key = keys.pop()
        nothing_up = self.outages.all_down(record.call, ret)
        if nothing_up and record.refused:
            self.report.count("ROUTE-8")
        if key is not None:
            self._keyed(record, ret, key, nothing_up)
        elif nothing_up and record.ok:
            self._find("ROUTE-8", record, None)
        elif not nothing_up:
            self._keyless(record, ret)

    def _keyed(self, record: Record, ret: int, key: str, nothing_up: bool) -> None:
        home = self.homes.get(key)
        possible = self.facts.derive(places).get(key, ()) if home is None else (home,)
        down = any(self.outages.certainly_down(place, record.call, ret) for place in possible)
        if nothing_up or down:
            refused = record.refused and record.error in UNAVAILABLE | MISFITS
            self.report.count("ROUTE-5", record.ok or refused)
            if record.ok and (nothing_up or home is not None):
                self._find("ROUTE-5", record, home)
        elif home is not None and record.ok:
            self._isolated(record, ret, home)

    def _keyless(self, record: Record, ret: int) -> None:
        # A live client that does not say how long it would wait, certainly would only as long as it did.
        unsaid = record.end - record.call if self.facts.header.clock == "wall" else SEND_TIMEOUT
        outages, patient = self.outages, record.args.get("timeout", unsaid) > PATIENT
        if record.ok:
            lives = (self.facts.derive(Lifetimes).get(message.id) for message in record.sent)
            places = [life.partition for life in lives if life is not None and life.partition is not None]
            if any(outages.certainly_down(place, record.call, ret) for place in places):
                return
            self.report.count("ROUTE-6", patient and outages.some_certainly_down(record.call, ret))
        elif patient and outages.some_certainly_up(record.call, ret) and self._refused(record, ret):
            self.refused.append(("ROUTE-6", record))

    def by_locks(self, record: Record, ret: int) -> None:
        """A settlement, or a renewal."""
        named = record.args["locks"] if "locks" in record.args else (record.args["lock"],)
        seen = [self.facts.locks.get(lock) for lock in named]
        found = {None if one is None else one.partition for one in seen}
        if len(found) == 1 and (home := found.pop()) is not None:
            self._isolated(record, ret, home)

    def _isolated(self, record: Record, ret: int, home: int) -> None:
        """ROUTE-7 for an operation whose partition was up while another may have been down."""
        if not self.outages.certainly_up(home, record.call, ret):
            return
        if record.ok:
            self.report.count("ROUTE-7", self.outages.some_certainly_down(record.call, ret))
        elif self._refused(record, ret):
            self.refused.append(("ROUTE-7", record))

    def judge_refusals(self, records: Sequence[Record]) -> None:
        """ROUTE-6 and ROUTE-7: a broker may be busy now and then, fault or no fault. Only what is refused
        more than once amid faults, and never without, is held against them."""
        quiet, maybe_quiet = self.outages.quiet, self.outages.maybe_quiet
        certain = [one for one in self.refused if one[1].outcome == Outcome.ERROR]
        certain = [one for one in certain if not maybe_quiet(one[1].call, one[1].end)]
        if len(certain) < 2 or any(
            record.refused and record.error in UNAVAILABLE
            for record in records
            if record.ret is not None and quiet(record.call, record.ret)
        ):
            return
        rule = max(rule for rule, _ in certain)
        for _, record in (one for one in certain if one[0] == rule):
            self._find(rule, record, None)

    def _find(self, rule: str, record: Record, partition: int | None) -> None:
        """The operation, and the last fault before its end: of the partition, if one is named."""
        faults = [
            fault
            for fault in self.facts.disruptions
            if fault.call <= record.end
            and (fault.op == "broker_kill" or fault.op == "partition_down")
            and partition in (None, fault.args.get("partition"))
        ]
        where = "" if partition is None else f"; partition {partition}, where its key lives, was down"
        self.report.find(rule, _CAUSES[rule], (*faults[-1:], record), request(record) + where)

    def _refused(self, record: Record, ret: int) -> bool:
        """Whether the broker said that it, or a partition, can't, though nothing but partition faults can
        have hit the client's path since it last worked. Not sure is a no only after a long wait."""
        unsure = not record.refused and record.end - record.call <= PATIENT
        if record.error not in UNAVAILABLE or unsure:
            return False
        since = self._last_good(record)
        return self.outages.broker_up(since, ret) and not any(
            fault.op != "partition_down"
            and fault.call <= ret
            and fault.end >= since
            and (fault.op == "frontend_lost" or record.proc in (fault.proc, fault.args.get("proc")))
            for fault in self.facts.disruptions
        )

    def _last_good(self, record: Record) -> int:
        """When the client's last operation that was ok returned; 0 if none was."""
        if self.good is None:
            done = (one for one in self.facts.records if one.ok and one.ret is not None)
            self.good = grouped((one.proc, one.end) for one in done)
        rets = self.good.get(record.proc, [])
        before = bisect_right(rets, record.call)
        return rets[before - 1] if before else 0


_DOWN: Final = ("partition_down",)

SCREEN: Final = Screen(
    "admission",
    ("ROUTE-5", "ROUTE-6", "ROUTE-7", "ROUTE-8"),
    check,
    blind_spots=(
        "One refusal amid faults is no proof, nor are any where the broker is also busy without (ROUTE-6, "
        "ROUTE-7), nor is an unknown outcome. How long a live client would have waited is known from its "
        "timeout, or as far as it did. Refusals of keyed sends are left to the judge.",
        "Where a key lives is known only once a message of it was seen with its partition.",
        "Operations in transactions are not held against faults.",
    ),
    needs={"ROUTE-5": _DOWN, "ROUTE-6": _DOWN, "ROUTE-7": (*_DOWN, "partitions"), "ROUTE-8": _DOWN},
)
