"""Deliveries through flows, which are blind to partitions: to the flow that has the partition, while it is
ready.

Clients see no partition; `facts.candidate_partitions` has those that a delivery can have come from. A message
for which no partition was ready at every delivery came through a wrong flow: REB-5 if that certainly was a
standby, otherwise one of `MISDELIVERY`. Messages of one key without a common candidate were not in one
partition, or came through wrong flows; only the judge can say which rule that breaks. The spread of keyless
messages (ROUTE-4) is tested on groups of partitions that cannot be told apart."""

from __future__ import annotations

from functools import reduce
from operator import and_, or_
from typing import Final

from partq.conformance.facts.candidate_partitions import Path, Paths
from partq.conformance.facts.index import Facts
from partq.conformance.history import Record
from partq.conformance.screens.attribution import MISDELIVERY
from partq.conformance.screens.protocol import Report, Screen
from partq.conformance.screens.routing.affinity import judge_balance


def check(facts: Facts) -> Report:
    """REB-2, REB-5, REB-13 and REB-15, and for keys and keyless messages KEY-8, ROUTE-1, 2 and 4."""
    report = Report()
    if not facts.profile.flows:
        return report
    _check_hidden(facts, report)
    if facts.assignment_events:
        paths = facts.derive(Paths)
        report.count("REB-2", paths.conclusive)
        report.count("REB-13", paths.pauses)
        wrong = [path for path in paths.by_id.values() if not path.ready]
        _judge_wrong(paths, report, wrong)
        _judge_keys(paths, report, bool(wrong))
        _judge_spread(facts, paths, report)
    return report


def _check_hidden(facts: Facts, report: Report) -> None:
    """REB-15."""
    for record in facts.receives:
        report.count("REB-15", len(record.messages))
        for delivery in record.messages:
            if delivery.partition is not None:
                why = f"{delivery.id!r} was delivered with partition {delivery.partition}"
                report.find("REB-15", "shows partition", (record,), why)
    for record in facts.flows:
        if record.op == "bind" and "partition" in record.args and not record.unknown:
            report.count("REB-15")
            if record.ok:
                why = f"the bind of flow {record.args['flow']} asked for a partition and was accepted"
                report.find("REB-15", "partition chosen", (record,), why)


def _judge_wrong(paths: Paths, report: Report, wrong: list[Path]) -> None:
    """Messages that came through a flow for which no partition of theirs was ready."""
    receives = [_wrong(paths, path) for path in wrong]
    if not all(_by_standby(paths, record) for record in receives):
        why = "messages came through flows without a partition that was ready; there are several explanations"
        report.ambiguous(MISDELIVERY, why)
        return
    for path, record in zip(wrong, receives, strict=True):
        flow = record.args["flow"]
        why = f"{path.life.id!r} came through flow {flow}, which bound when there were as many flows as "
        why += "partitions; none was lost since"
        report.find("REB-5", "standby gets load", (paths.timeline.sessions_of[flow][-1].bind, record), why)


def _wrong(paths: Paths, path: Path) -> Record:
    """The receive that no candidate of the earlier ones explains."""
    mask = -1
    for seen in path.life.deliveries:
        mask &= paths.ready(seen.record)
        if not mask:
            return seen.record
    return path.life.deliveries[-1].record


def _by_standby(paths: Paths, record: Record) -> bool:
    """Whether the flow that should not have got it certainly was a standby."""
    sessions = paths.timeline.sessions_of.get(record.args.get("flow", ""), ())
    return any(paths.timeline.stands_by(session, record.end) for session in sessions)


def _judge_keys(paths: Paths, report: Report, misdelivered: bool) -> None:
    """KEY-8, ROUTE-1, ROUTE-2. ``misdelivered``: whether messages came through wrong flows."""
    for group in paths.by_key.values():
        usable = [path for path in group if path.ready]
        if len(usable) < 2:
            continue
        if not reduce(and_, (path.ready for path in usable)):
            if not misdelivered:
                why = "messages of one key seem to have been in different partitions, or flows got what was "
                report.ambiguous(("KEY-8", "ROUTE-1", "ROUTE-2", *MISDELIVERY), why + "not theirs")
            continue
        conclusive = [path for path in usable if path.ready != paths.timeline.everything]
        pairs = max(0, len(conclusive) - 1)
        report.count("ROUTE-1", pairs)
        report.count("KEY-8", pairs)
        if len({path.life.record.proc for path in conclusive}) > 1:
            report.count("ROUTE-2", pairs)


def _judge_spread(facts: Facts, paths: Paths, report: Report) -> None:
    """ROUTE-4: partitions that no message's set distinguishes are one share. A batch is no choice of its own,
    and is left out."""
    partitions = facts.entity.partitions
    if len(paths.timeline.bits) != partitions:
        return
    keyless = [path for path in paths.by_id.values() if path.ready and path.life.sent.key is None]
    chosen = [path for path in keyless if _is_choice(path.life.record)]
    accepted = [sent.record for sent in facts.sends if sent.key is None and _is_choice(sent.record)]
    shares = [1 << bit for bit in paths.timeline.bits.values()]
    for mask in {path.ready for path in keyless}:
        touched = [share for share in shares if share & mask]
        shares = sorted([*(share for share in shares if not share & mask), reduce(or_, touched)])
    counts = {}
    for share in shares:
        named = (str(name) for name, bit in paths.timeline.bits.items() if share >> bit & 1)
        came = sum(bool(path.ready & share) for path in chosen)
        counts[f"partitions {', '.join(named)}"] = came, share.bit_count() / partitions
    judge_balance(report, counts, accepted)


def _is_choice(record: Record) -> bool:
    return record.op == "send" and record.ok


SCREEN: Final = Screen(
    "flows",
    ("KEY-8", "REB-2", "REB-5", "REB-7", "REB-13", "REB-15", "ROUTE-1", "ROUTE-2", "ROUTE-4"),
    check,
    blind_spots=(
        "Without assignment events only REB-15 is seen.",
        "A flow that has every partition shows nothing of where its messages were.",
        "Which rule is broken where keys are apart, or a message came through a wrong flow, the judge says.",
        "Messages whose ID is sent more than once are left out.",
        "An update of the partition count is not followed.",
    ),
    needs=dict.fromkeys(("REB-2", "REB-5", "REB-7", "REB-13", "REB-15"), ("bind",)),
)
