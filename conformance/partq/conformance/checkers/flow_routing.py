"""Which partition keys and keyless messages go to, where it shows only by the flows they come through.

Messages of one key whose sets of possible partitions (`paths.py`) have nothing in common were not in one
partition: the key is *apart*. That a paused partition delivered, or one kept for a lost flow, may explain it
too (`astray.py`); where that is so for every key that is apart, all of these rules are open. Otherwise every
explanation below is held against all pairs of messages with equal keys. It fits if all pairs that are apart
are among those that it would tear; of those that fit, the one that would have torn the fewest pairs that
are whole is taken. Where that is close (`MARGIN`), the history does not tell which rule is broken: all that
come close are open.

=======  ==========================================================================================
ROUTE-1  an assignment, a lost flow or a fault of one kind lies between the two sends
KEY-8    one of the two has its key by another way than QUEUE_PARTITION_KEY, or other keys beside it
ROUTE-2  of two senders; of two kinds of send; else all
=======  ==========================================================================================

Deliveries through wrong flows (`flows.py`) make all of this unsure; keys apart are then left open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from itertools import combinations
from math import log
from operator import and_, or_
from typing import NamedTuple

from partq.conformance.facts import FOREVER, Facts
from partq.conformance.history import Record
from partq.model.messages import JMS_KEY, SOLACE_KEY, Message
from partq.model.operations import Outcome

from .astray import excuse
from .locks import Spans
from .paths import Path, Paths
from .protocol import Report
from .routing import ALPHA, divergence

SAMPLE = 6
"""Messages of each key and set of partitions that are compared to find the owner."""

MARGIN = 3
"""By so many whole pairs must one rule explain better than every other, or all of them are open."""


class _Pair(NamedTuple):
    """Two messages of one key, the one sent first first."""

    a: Path
    b: Path

    @property
    def apart(self) -> bool:
        return not self.a.ready & self.b.ready


class _Explanation(NamedTuple):
    requirement: str
    because: str
    tears: Callable[[_Pair], bool]


def judge_keys(facts: Facts, paths: Paths, report: Report, astray: bool) -> None:
    """KEY-8, ROUTE-1, ROUTE-2. ``astray``: whether messages came through wrong flows."""
    apart, excused, whole = [], [], []
    for group in paths.by_key.values():
        usable = [path for path in group if path.ready]
        if len(usable) < 2:
            continue
        if reduce(and_, (path.ready for path in usable)):
            whole.append(usable)
        elif found := excuse(paths, usable):
            excused.append((usable, found))
        else:
            apart.append(usable)
    for group in whole:
        _count(group, paths.timeline.everything, report)
    if apart and astray:
        reason = "messages came through wrong flows, so that where a key's messages were is unsure"
        report.open.update(dict.fromkeys(_RULES, reason))
    elif apart:
        _judge_apart(facts, paths, apart + [group for group, _ in excused], whole, report)
    elif not astray:
        for _, found in excused:
            report.open.update(dict.fromkeys((*_RULES, found.requirement), _EXCUSED))


_RULES = ("KEY-8", "ROUTE-1", "ROUTE-2")
_EXCUSED = (
    "messages of one key were in different partitions, or their partition delivered while it was not ready"
)


def _count(group: Sequence[Path], everything: int, report: Report) -> None:
    telling = [path for path in group if path.ready != everything]
    pairs = max(0, len(telling) - 1)
    report.count("ROUTE-1", pairs)
    report.count("KEY-8", pairs)
    if len({path.sent.record.proc for path in telling}) > 1:
        report.count("ROUTE-2", pairs)


def _judge_apart(
    facts: Facts, paths: Paths, apart: list[list[Path]], whole: list[list[Path]], report: Report
) -> None:
    everything = paths.timeline.everything
    pairs = [pair for group in (*apart, *whole[: 4 * SAMPLE]) for pair in _pairs(group, everything)]
    owners = _owners(_explanations(facts), pairs)
    if len(owners) > 1:
        rules = " or ".join(owner.requirement for owner in owners)
        for owner in owners:
            report.open[owner.requirement] = f"messages of one key were in different partitions: {rules}"
        return
    for group in apart:
        pair = next((pair for pair in _pairs(group, everything) if pair.apart), None)
        if pair is not None:
            _report(owners[0], pair, paths, report)


def _pairs(group: Sequence[Path], everything: int) -> Iterator[_Pair]:
    kept: dict[int, list[Path]] = {}
    for path in group:
        same = kept.setdefault(path.ready, [])
        if len(same) < SAMPLE and path.ready != everything:
            same.append(path)
    sample = sorted((path for same in kept.values() for path in same), key=_sent_at)
    return (_Pair(a, b) for a, b in combinations(sample, 2))


def _owners(explanations: Iterable[_Explanation], pairs: Sequence[_Pair]) -> list[_Explanation]:
    """The explanations that fit best, one for each rule."""
    torn = [pair for pair in pairs if pair.apart]
    best: dict[str, _Explanation] = {}
    against: dict[str, int] = {}
    for explanation in explanations:
        if all(map(explanation.tears, torn)):
            wrong = sum(explanation.tears(pair) for pair in pairs if not pair.apart)
            rule = explanation.requirement
            if rule not in against or wrong < against[rule]:
                best[rule], against[rule] = explanation, wrong
    fewest = min(against.values())
    return [best[rule] for rule, wrong in against.items() if wrong < fewest + MARGIN]


def _explanations(facts: Facts) -> Iterator[_Explanation]:
    for kind, spans in _disturbances(facts).items():
        because = f"{kind} between the sends"
        yield _Explanation("ROUTE-1", because, lambda pair, spans=spans: _between(spans, pair))  # type: ignore[misc]
    for because, trait in _WAYS.items():
        yield _Explanation("KEY-8", because, lambda pair, trait=trait: _either(trait, pair))  # type: ignore[misc]
    yield _Explanation("ROUTE-2", "of two senders", lambda pair: _differ(lambda r: r.proc, pair))
    yield _Explanation("ROUTE-2", "one of them in a batch", lambda pair: _differ(lambda r: r.op, pair))
    yield _Explanation("ROUTE-2", "alike in all that is visible", lambda pair: True)


_WAYS: dict[str, Callable[[Message], bool]] = {
    "the key is in the JMS property alone": lambda m: m.property(SOLACE_KEY) is None,
    "another key beside QUEUE_PARTITION_KEY": lambda m: bool(
        m.session_id or m.partition_key or (m.property(SOLACE_KEY) and m.property(JMS_KEY))
    ),
    "the key is not in QUEUE_PARTITION_KEY alone": lambda m: bool(
        m.session_id or m.partition_key or m.property(JMS_KEY)
    ),
}


def _disturbances(facts: Facts) -> dict[str, Spans]:
    """Kind of event -> when it happened, repairs included."""
    times: dict[str, list[tuple[int, int]]] = {}
    unbinds = (record for record in facts.flows if record.op == "unbind")
    for record in (*facts.assignments, *facts.disruptions, *unbinds):
        times.setdefault(record.op, []).append((record.call, _return(record)))
    for span in facts.dead:
        times.setdefault("broker_kill", []).append((span.sure_end, span.end))
    return {kind.replace("_", " "): Spans(spans) for kind, spans in times.items()}


def _between(spans: Spans, pair: _Pair) -> bool:
    a, b = pair.a.sent.record, pair.b.sent.record
    return spans.touching(a.call, min(_return(b), _return(pair.b.first.record))) > 0


def _either(trait: Callable[[Message], bool], pair: _Pair) -> bool:
    return trait(pair.a.sent.message) or trait(pair.b.sent.message)


def _differ(trait: Callable[[Record], str], pair: _Pair) -> bool:
    return trait(pair.a.sent.record) != trait(pair.b.sent.record)


def _report(owner: _Explanation, pair: _Pair, paths: Paths, report: Report) -> None:
    a, b = pair
    report.find(
        owner.requirement,
        f"apart, {owner.because}",
        "Equal keys, two partitions",
        (a.sent.record, b.sent.record, a.first.record, b.first.record),
        f"key {a.sent.key!r}: {a.sent.message.id!r} came from {_named(paths, a)}, {b.sent.message.id!r} from "
        f"{_named(paths, b)}; all such pairs of this history: {owner.because}",
        f"all messages with key {a.sent.key!r} from one partition",
    )


def _named(paths: Paths, path: Path) -> str:
    names = [str(name) for name, bit in paths.timeline.bits.items() if path.ready >> bit & 1]
    return f"partition {' or '.join(names)}"


# ROUTE-4.


def judge_spread(facts: Facts, paths: Paths, report: Report) -> None:
    """ROUTE-4: partitions that no message's set tells apart are one share. The test is that of `routing.py`,
    for shares of different sizes; a batch is no choice of its own, and is left out."""
    if len(paths.timeline.bits) != facts.entity.partitions:
        return
    keyless = [
        path for path in paths.by_id.values() if path.ready and _chosen(path.sent.record, path.sent.key)
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
            tuple(path.sent.record for path in keyless[:3]),
            f"{counts[worst]} of {accepted} keyless messages came from partitions {', '.join(names)} of "
            f"{facts.entity.partitions}; fair choices do so with a probability below {ALPHA:g}",
            f"about {accepted * fair[worst]:.3g} of them",
        )


def _worst(counts: Sequence[int], fair: Sequence[float], accepted: int, limit: float) -> int | None:
    """A share with so many, or so few, of the messages that fair choices hardly do so. Those accepted but
    not seen may belong to any."""
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
    for mask in {path.ready for path in paths.by_id.values() if path.ready and path.sent.key is None}:
        touched = [share for share in shares if share & mask]
        shares = [share for share in shares if not share & mask]
        shares.append(reduce(or_, touched))
    return sorted(shares)


def _sent_at(path: Path) -> int:
    return path.sent.record.call


def _return(record: Record) -> int:
    return FOREVER if record.ret is None else record.ret
