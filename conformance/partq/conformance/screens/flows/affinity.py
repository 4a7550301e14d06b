"""Which partition keys and keyless messages go to, where it shows only by the flows they come through.

Messages of one key whose sets of possible partitions (`facts.candidate_partitions`) have nothing in common
were not in one partition: the key is *apart*. Which rule that breaks is `splits.py`'s. But where flows
may have got what was not theirs, nothing of this is sure, and what fits is left open:

- messages came through flows that had no partition of theirs (`flows.misdelivery`);
- a partition that was paused, or kept for a lost flow, would explain every key that is apart;
- no flow ever left to another what it could have had.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from math import log
from operator import and_, or_

from partq.conformance.facts.candidate_partitions import Path, Paths
from partq.conformance.facts.index import Facts
from partq.conformance.history import Record
from partq.conformance.screens.attribution import MISDELIVERY
from partq.conformance.screens.flows.misdelivery import excuse
from partq.conformance.screens.flows.splits import Explanation, Pair, owners, pairs_of
from partq.conformance.screens.protocol import Report
from partq.conformance.screens.routing.affinity import ALPHA, divergence
from partq.conformance.screens.routing.splits import split_title
from partq.model.operations import Outcome

_REQUIREMENTS = ("KEY-8", "ROUTE-1", "ROUTE-2")


def judge_keys(facts: Facts, paths: Paths, report: Report, misdelivered: bool) -> None:
    """KEY-8, ROUTE-1, ROUTE-2. ``misdelivered``: whether messages came through wrong flows."""
    apart, whole = [], []
    excuses = set()
    for group in paths.by_key.values():
        usable = [path for path in group if path.ready]
        if len(usable) < 2:
            continue
        if reduce(and_, (path.ready for path in usable)):
            whole.append(usable)
        else:
            apart.append(usable)
            found = excuse(paths, usable)
            excuses.add(None if found is None else found.requirement)
    for group in whole:
        _count(group, paths.timeline.everything, report)
    if not apart:
        return
    if misdelivered:
        why = "messages of one key seem to have been in different partitions, or came through wrong flows"
        report.open.update(dict.fromkeys(_REQUIREMENTS, why))
    elif None not in excuses:
        _leave_open(report, "or their partition delivered while it was not ready")
    elif not paths.exclusive:
        _leave_open(report, "or flows got what was not theirs")
    else:
        _judge_apart(facts, paths, apart, whole, report)


def _leave_open(report: Report, why: str) -> None:
    reason = f"messages of one key seem to have been in different partitions, {why}"
    report.ambiguous((*_REQUIREMENTS, *MISDELIVERY), reason)


def _count(group: Sequence[Path], everything: int, report: Report) -> None:
    conclusive = [path for path in group if path.ready != everything]
    pairs = max(0, len(conclusive) - 1)
    report.count("ROUTE-1", pairs)
    report.count("KEY-8", pairs)
    if len({path.life.record.proc for path in conclusive}) > 1:
        report.count("ROUTE-2", pairs)


def _judge_apart(
    facts: Facts, paths: Paths, apart: list[list[Path]], whole: list[list[Path]], report: Report
) -> None:
    everything = paths.timeline.everything
    found = owners(facts, apart + whole, everything)
    if len(found) > 1:
        requirements = " or ".join(owner.requirement for owner in found)
        for owner in found:
            report.open[owner.requirement] = (
                f"messages of one key were in different partitions: {requirements}"
            )
        return
    for group in apart:
        pair = next((pair for pair in pairs_of(group, everything) if pair.apart), None)
        if pair is not None:
            _report(found[0], pair, paths, report)


def _report(owner: Explanation, pair: Pair, paths: Paths, report: Report) -> None:
    a, b = pair
    report.find(
        owner.requirement,
        "apart",
        split_title(owner.requirement),
        (a.life.record, b.life.record, a.life.deliveries[0].record, b.life.deliveries[0].record),
        f"key {a.life.sent.key!r}: {a.life.id!r} came from {_named(paths, a)}, {b.life.id!r} from "
        f"{_named(paths, b)}; all such pairs of this history: {owner.because}",
        f"all messages with key {a.life.sent.key!r} from one partition",
    )


def _named(paths: Paths, path: Path) -> str:
    names = [str(name) for name, bit in paths.timeline.bits.items() if path.ready >> bit & 1]
    return f"partition {' or '.join(names)}"


# ROUTE-4.


def judge_spread(facts: Facts, paths: Paths, report: Report) -> None:
    """ROUTE-4: partitions that no message's set distinguishes are one share. The test is that of
    `routing.affinity`, for shares of different sizes; a batch is no choice of its own, and is left out."""
    if len(paths.timeline.bits) != facts.entity.partitions:
        return
    keyless = [
        path for path in paths.by_id.values() if path.ready and _chosen(path.life.record, path.life.sent.key)
    ]
    accepted = sum(_chosen(sent.record, sent.key) for sent in facts.sends)
    shares = _shares(paths)
    if len(shares) < 2 or not keyless:
        return
    counts = [sum(bool(path.ready & share) for path in keyless) for share in shares]
    fair = [share.bit_count() / facts.entity.partitions for share in shares]
    limit = log(2 * len(shares) / ALPHA)
    if len(keyless) * log(1 / min(fair)) < limit:
        return
    report.count("ROUTE-4")
    if (worst := _worst(counts, fair, accepted, limit)) is not None:
        names = [str(name) for name, bit in paths.timeline.bits.items() if shares[worst] >> bit & 1]
        report.find(
            "ROUTE-4",
            "unbalanced",
            "Keyless messages are not spread evenly",
            tuple(path.life.record for path in keyless[:3]),
            f"{counts[worst]} of {accepted} keyless messages came from partitions {', '.join(names)} of "
            f"{facts.entity.partitions}; fair choices do so with a probability below {ALPHA:g}",
            f"about {accepted * fair[worst]:.3g} of them",
        )


def _worst(counts: Sequence[int], fair: Sequence[float], accepted: int, limit: float) -> int | None:
    """A partition whose share is improbable under a fair choice (two-sided, see ``ALPHA``). Messages accepted
    but not seen may belong to any."""
    unseen = accepted - sum(counts)
    for n, (count, share) in enumerate(zip(counts, fair, strict=True)):
        most, least = count / accepted, (count + unseen) / accepted
        if most > share and accepted * divergence(most, share) > limit:
            return n
        if least < share and accepted * divergence(least, share) > limit:
            return n
    return None


def _chosen(record: Record, key: str | None) -> bool:
    return key is None and record.op == "send" and record.outcome == Outcome.OK


def _shares(paths: Paths) -> list[int]:
    """The partitions, in sets that no keyless message's set straddles."""
    shares: list[int] = [1 << bit for bit in paths.timeline.bits.values()]
    for mask in {path.ready for path in paths.by_id.values() if path.ready and path.life.sent.key is None}:
        touched = [share for share in shares if share & mask]
        shares = [share for share in shares if not share & mask]
        shares.append(reduce(or_, touched))
    return sorted(shares)
