"""Which sends, settlements and renewals are accepted, by keys and by what is up: KEY-3, 5, 7, ROUTE-5 to 8.

Operations in transactions are left to `screens.transactions`, but for the shape of a request: a message with
two different keys, a batch of different keys. Where a message is, is `routing.affinity`'s business.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import chain
from math import log2
from typing import Final

from partq.conformance.facts.index import Facts
from partq.conformance.facts.lifetimes import Lifetimes
from partq.conformance.facts.outages import Outages
from partq.conformance.facts.records import returned
from partq.conformance.history import Record, time_text
from partq.conformance.screens.admission.requests import OWN, find, judge_requests, request
from partq.conformance.screens.attribution import applies, missing, resurrected
from partq.conformance.screens.protocol import Report, Screen
from partq.conformance.screens.routing.splits import BITS
from partq.model.messages import conflicting, effective_keys
from partq.model.operations import UNAVAILABLE, Outcome
from partq.model.profiles import SECOND, SEND_TIMEOUT

PATIENT: Final = 15 * SECOND
"""ROUTE-6 promises success to sends that wait longer than this, in ns."""

WELL_KNOWN: Final = 12.0
"""How much has to speak for equal keys being together before a send's refusal is held against its key's
home, in bits (as in `routing.splits`)."""

MISFITS: Final = frozenset({"session_locked"})
"""Errors that do not say that a partition is down (ROUTE-5). Those `FOR_GOOD` are `refusals`' business."""

_CAUSES: Final = {"send": "send", "send_batch": "send", "renew_lock": "renewal"}
"""Operation -> what is said to have felt another partition's fault; any other is a settlement."""


def check(facts: Facts) -> Report:
    """Judge what was accepted and what was not."""
    report = Report()
    if applies(facts, "KEY-7"):
        judge_requests(facts, report)
    for sent, seen, requirement in facts.derive(resurrected):
        if requirement is not None and requirement in OWN:
            detail = f"{request(sent.record)}; yet {sent.message.id!r} was seen"
            find(report, requirement, "stored", (sent.record, seen.record), detail)
    for loss in facts.derive(missing):
        if loss.requirement == "KEY-7":
            detail = (
                f"{request(loss.records[0])}; seen: {', '.join(loss.siblings)}; never seen, also not in the "
                f"final drain: {', '.join(loss.ids)}"
            )
            allowed = "all of the batch stored, or nothing"
            if loss.doubtful:
                why = f"{detail}: they were never stored (KEY-7), or a fault lost them (RCV-2)"
                report.ambiguous(("KEY-7", "RCV-2"), why)
            else:
                report.find("KEY-7", "in part", "A batch was stored in part", loss.records, detail, allowed)
    if not facts.derive(Outages).none:
        _Faults(facts, report).judge()
    return report


def homes(facts: Facts) -> dict[str, int]:
    """The partition of each key, learned from its messages that were seen. None at all where a key was seen
    in two, or where a kill may have changed it. Use it by ``facts.derive(homes)``."""
    seen = facts.derive(_places)
    if any(len(places) > 1 for places in seen.values()):
        return {}
    return {key: place for key, (place,) in seen.items()}


def _places(facts: Facts) -> dict[str, dict[int, None]]:
    """The partitions in which messages of each key were seen; none where a kill may have changed them."""
    seen: dict[str, dict[int, None]] = {}
    for life in () if facts.profile.kill_remaps_keys and facts.dead else facts.derive(Lifetimes).stored:
        if life.sent.key is not None and life.partition is not None:
            seen.setdefault(life.sent.key, {})[life.partition] = None
    return seen


def _known_well(facts: Facts) -> dict[tuple[str | None, str], list[int]]:
    """The keys, each with a sender, whose homes are known well, and when that sender sent messages of the key
    that were seen, in order. None if equal keys were not together too often for chance (ROUTE-2). Use it by
    ``facts.derive(_known_well)``."""
    keyed = [life.sent for life in facts.derive(Lifetimes).stored if life.sent.key is not None]
    sends = {(sent.key, sent.record.args.get("txn", sent.record.i)) for sent in keyed}
    together = len(sends) - len({key for key, _ in sends})
    times: dict[tuple[str | None, str], list[int]] = {}
    if together * min(log2(facts.entity.partitions), BITS) >= WELL_KNOWN:
        for key, record in ((sent.key, sent.record) for sent in keyed):
            times.setdefault((key, record.proc), []).append(record.call)
    for found in times.values():
        found.sort()
    return times


def _answered_or_refused(record: Record) -> bool:
    """Whether a send to a partition that is down was accepted, or refused as ROUTE-5 has it or wrongly."""
    refusals = UNAVAILABLE | MISFITS
    return record.outcome == Outcome.OK or (record.outcome == Outcome.ERROR and record.error in refusals)


class _Faults:
    """The rules of partitions that are down: ROUTE-5 to 8."""

    def __init__(self, facts: Facts, report: Report) -> None:
        self.facts = facts
        self.report = report
        self.outages = facts.derive(Outages)
        self.homes = facts.derive(homes)
        self.by_locks = [*facts.settlements, *chain.from_iterable(facts.renewals.values())]
        self.good: dict[str, list[int]] | None = None
        self.live = facts.header.clock == "wall"
        self.refused: list[tuple[str, Record, str]] = []

    def judge(self) -> None:
        """Judge every send, settlement and renewal that met a fault."""
        quiet, facts = self.outages.quiet, self.facts
        for record in facts.requests:
            if record.ret is not None and not quiet(record.call, record.ret) and "txn" not in record.args:
                self._send(record, record.ret)
        for record in self.by_locks:
            if record.ret is not None and not quiet(record.call, record.ret) and "txn" not in record.args:
                self._by_locks(record, record.ret)
        if self.refused:
            self._judge_refusals()

    def _judge_refusals(self) -> None:
        """ROUTE-6 and ROUTE-7: a broker may be busy now and then, fault or no fault. Only what is refused
        more than once amid faults, and never without, is held against them."""
        quiet, maybe_quiet = self.outages.quiet, self.outages.maybe_quiet
        busy = next(
            (
                record
                for record in (*self.facts.requests, *self.by_locks)
                if record.outcome == Outcome.ERROR and record.error in UNAVAILABLE
                if record.ret is not None and quiet(record.call, record.ret)
            ),
            None,
        )
        certain = [
            one
            for one in self.refused
            if one[1].outcome == Outcome.ERROR and not maybe_quiet(one[1].call, returned(one[1]))
        ]
        if busy is not None or len(certain) < 2:
            why = "refused once amid faults, as may happen without any"
            if busy is not None:
                why = f"record {busy.i} was refused with nothing down, too"
            elif not certain:
                why = "of unknown outcome; the fault, or the client's way to the broker, may be why"
            for requirement, _, detail in self.refused:
                self.report.open.setdefault(requirement, f"{detail}: {why}")
            return
        isolated = any(requirement == "ROUTE-7" for requirement, _, _ in certain)
        for requirement, record, detail in certain:
            if requirement == "ROUTE-7":
                self._not_isolated(record, detail)
            elif not isolated:
                self._not_rerouted(record, detail)

    def _send(self, record: Record, ret: int) -> None:
        messages = record.args["messages"]
        keys = effective_keys(messages, self.facts.profile.key_rule)
        if len(keys) > 1 or any(map(conflicting, messages)):
            return
        key = keys.pop()
        nothing_up = self.outages.all_down(record.call, ret)
        if nothing_up and record.outcome == Outcome.ERROR:
            self.report.count("ROUTE-8")
        if key is not None:
            self._keyed(record, ret, key, nothing_up)
        elif nothing_up and record.outcome == Outcome.OK:
            self._find("ROUTE-8", record, None, request(record), "accepted")
        elif not nothing_up:
            self._keyless(record, ret)

    def _keyed(self, record: Record, ret: int, key: str, nothing_up: bool) -> None:
        home = self.homes.get(key)
        if home is None and not nothing_up:
            places = self.facts.derive(_places).get(key, ())
            down = any(self.outages.certainly_down(place, record.call, ret) for place in places)
            self.report.count("ROUTE-5", down and _answered_or_refused(record))
        if nothing_up or (home is not None and self.outages.certainly_down(home, record.call, ret)):
            where = "every partition" if nothing_up else f"partition {home}, where key {key!r} lives,"
            self._to_a_down_one(record, home, f"{request(record)}; {where} was down throughout")
        elif home is not None and self.outages.certainly_up(home, record.call, ret):
            where = f"partition {home}, where key {key!r} lives, was up throughout"
            if record.outcome == Outcome.OK or self._known(key, record):
                self._isolated(record, ret, f"{request(record)}; {where}")
            elif self._refused(record) and self._undisturbed(record, ret):
                why = f"{request(record)}; {where}, if equal keys are together, of which too little was seen"
                self.report.open.setdefault("ROUTE-7", why)

    def _known(self, key: str, record: Record) -> bool:
        """Whether the key's home is known well, also from messages sent between the same two repairs."""
        times = self.facts.derive(_known_well).get((key, record.proc), [])
        since, until = self.outages.between_repairs(record.call)
        after = bisect_right(times, since)
        return after < len(times) and times[after] < until

    def _to_a_down_one(self, record: Record, home: int | None, detail: str) -> None:
        if record.outcome == Outcome.OK:
            self._find("ROUTE-5", record, home, detail, "accepted")
        elif record.outcome == Outcome.ERROR and record.error in MISFITS:
            self._find("ROUTE-5", record, home, detail, "another error")
        self.report.count("ROUTE-5", _answered_or_refused(record))

    def _keyless(self, record: Record, ret: int) -> None:
        outages, lives = self.outages, self.facts.derive(Lifetimes)
        if record.outcome == Outcome.OK:
            for message in record.args["messages"]:
                life = lives.get(message.id)
                where = None if life is None else life.partition
                if where is not None and outages.certainly_down(where, record.call, ret):
                    if outages.some_certainly_up(record.call, ret):
                        self._stored_down(record, where, message.id)
                    else:
                        self._find("ROUTE-8", record, where, request(record), "accepted")
                    return
            if self._patience(record) > PATIENT and outages.some_certainly_down(record.call, ret):
                self.report.count("ROUTE-6")
        elif outages.some_certainly_up(record.call, ret) and self._refused(record):
            if self._patience(record) > PATIENT and self._undisturbed(record, ret):
                detail = (
                    f"{request(record)} with {time_text(self._patience(record))} to wait; another "
                    "partition, the broker and the client's connection were up throughout"
                )
                self.refused.append(("ROUTE-6", record, detail))

    def _by_locks(self, record: Record, ret: int) -> None:
        """A settlement, or a renewal."""
        named = record.args["locks"] if "locks" in record.args else (record.args["lock"],)
        seen = [self.facts.locks.get(lock) for lock in named]
        found = {None if one is None else one.partition for one in seen}
        if len(found) != 1 or (home := found.pop()) is None:
            return
        if self.outages.certainly_up(home, record.call, ret):
            locks = ", ".join(named)
            said = record.outcome if record.error is None else f"{record.outcome} ({record.error})"
            detail = (
                f"{record.op} of {locks} answered {said}; partition {home} of the message was up throughout"
            )
            self._isolated(record, ret, detail)

    def _isolated(self, record: Record, ret: int, detail: str) -> None:
        """ROUTE-7 for an operation whose partition was up while another may have been down."""
        if record.outcome == Outcome.OK:
            if self.outages.some_certainly_down(record.call, ret):
                self.report.count("ROUTE-7")
        elif self._refused(record) and self._undisturbed(record, ret):
            self.refused.append(("ROUTE-7", record, detail))

    def _not_isolated(self, record: Record, detail: str) -> None:
        title = "A partition's fault was felt in another"
        allowed = "the answer that it gives while everything is up"
        witness = self._witness(record, None)
        cause = _CAUSES.get(record.op, "settlement")
        self.report.find("ROUTE-7", cause, title, witness, detail, allowed)

    def _stored_down(self, record: Record, partition: int, id: str) -> None:
        title = "A keyless message stored in a partition that was down"
        detail = f"{request(record)}; {id!r} was then seen in partition {partition}, down throughout the send"
        allowed = "stored in a partition that was up"
        witness = self._witness(record, partition)
        self.report.find("ROUTE-6", "stored where down", title, witness, detail, allowed)

    def _not_rerouted(self, record: Record, detail: str) -> None:
        title = "A keyless send failed although a partition was up"
        witness = self._witness(record, None)
        allowed = "stored in a partition that was up, and accepted"
        self.report.find("ROUTE-6", "not re-routed", title, witness, detail, allowed)

    def _find(self, requirement: str, record: Record, partition: int | None, detail: str, cause: str) -> None:
        find(self.report, requirement, cause, self._witness(record, partition), detail)

    def _witness(self, record: Record, partition: int | None) -> tuple[Record, ...]:
        """The operation, and the last faults before its end: of the partition, if one is named."""
        faults = [
            fault
            for fault in self.facts.disruptions
            if fault.call <= returned(record)
            and (fault.op == "broker_kill" or fault.op == "partition_down")
            and partition in (None, fault.args.get("partition"))
        ]
        return (*faults[-1:], record)

    def _patience(self, record: Record) -> int:
        """How many ns the client certainly would have waited: a live one that does not say only as long as it
        did."""
        unsaid = returned(record) - record.call if self.live else SEND_TIMEOUT
        return int(record.args.get("timeout", unsaid))

    def _refused(self, record: Record) -> bool:
        """Whether the broker said that it, or a partition, can't. Not sure is a no only after a long wait."""
        if record.error not in UNAVAILABLE:
            return False
        return record.outcome == Outcome.ERROR or returned(record) - record.call > PATIENT

    def _undisturbed(self, record: Record, ret: int) -> bool:
        """Whether nothing but partition faults can have hit the client's path since it last worked."""
        since = self._last_good(record)
        return self.outages.broker_up(since, ret) and not any(
            fault.op != "partition_down"
            and fault.call <= ret
            and returned(fault) >= since
            and (fault.op in ("frontend_lost", "broker_kill") or record.proc in (fault.proc, _whom(fault)))
            for fault in self.facts.disruptions
        )

    def _last_good(self, record: Record) -> int:
        """When the client's last operation that was ok returned; 0 if none was."""
        if self.good is None:
            self.good = {}
            for one in self.facts.records:
                if one.outcome == Outcome.OK and one.ret is not None:
                    self.good.setdefault(one.proc, []).append(one.ret)
        rets = self.good.get(record.proc, [])
        before = bisect_right(rets, record.call)
        return rets[before - 1] if before else 0


def _whom(fault: Record) -> str:
    """The client that a lost connection belonged to."""
    return str(fault.args.get("proc", ""))


SCREEN: Final = Screen(
    "admission",
    ("KEY-3", "KEY-5", "KEY-7", "ROUTE-5", "ROUTE-6", "ROUTE-7", "ROUTE-8"),
    check,
    blind_spots=(
        "That a keyless batch is refused as invalid is KEY-5 where such batches are refused again and again.",
        "One refusal amid faults is no proof, nor are any where the broker is also busy without (ROUTE-6, "
        "ROUTE-7), nor is an unknown outcome. How long a live client would have waited is known from its "
        "timeout, or as far as it did.",
        "What a transaction only enlisted, and did not commit, may still have been refused (KEY-3, KEY-7).",
        "A batch of keyed and keyless messages may be accepted or refused.",
        "Where a key lives is known only once a message of it was seen with its partition; sends of other "
        "keys are not held against faults.",
        "Sends and settlements in transactions are not held against faults.",
        "Keyless messages placed by message ID can't be distinguished from round robin: KEY-5 sees only a "
        "batch that is refused.",
        "Messages whose ID is sent more than once are left out where they are looked for later.",
    ),
    needs={
        "KEY-5": ("send_batch",),
        "KEY-7": ("send_batch",),
        "ROUTE-5": ("partition_down",),
        "ROUTE-6": ("partition_down",),
        "ROUTE-7": ("partition_down", "partitions"),
        "ROUTE-8": ("partition_down",),
    },
)
