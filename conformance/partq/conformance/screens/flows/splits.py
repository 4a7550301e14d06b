"""Messages of one key that were not in one partition, where it shows only by flows: which rule is broken?

Every explanation is held against all pairs of messages with equal keys. It fits if all pairs that are apart
are among those that it would *tear*:

=======  ==========================================================================================
ROUTE-1  an assignment, a lost flow or a fault of one kind lies between the two sends
KEY-8    one of the two has its key by another way than QUEUE_PARTITION_KEY, or other keys beside it
REB-2    one of the two was received and deleted: then it may have come through a wrong flow
REB-13   one came when the other's partition was no flow's: its flow may have had it, untold
ROUTE-2  of two senders; of two bodies; one of them in a batch; else all
=======  ==========================================================================================

By chance many may fit. One is taken for the right one only if, against every other that fits and is another
rule's, the history has evidence: pairs which that one would have torn and this one not, and which are
whole. Evidence is weighed in bits: that a message comes from a set of partitions in which its partners were
is worth the more, the smaller the set. Where it is not enough, all rules that fit are open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import combinations
from math import inf, log2
from typing import Final, NamedTuple

from partq.conformance.facts.candidate_partitions import Path, Paths
from partq.conformance.facts.index import Facts
from partq.conformance.facts.locks import Intervals
from partq.conformance.facts.records import deletes, returned, span
from partq.conformance.history import Record
from partq.model.messages import JMS_KEY, SOLACE_KEY, Message

SAMPLE: Final = 24
"""Messages of each key and set of partitions that are compared."""

GROUPS: Final = 24
"""Keys that are compared."""

LIKELY: Final = 6.0
USUAL: Final = 7.0
UNLIKELY: Final = 16.0
NEVER: Final = inf
"""Bits of evidence that an explanation needs against each that fits of another rule, by how easily it fits by
chance: a kill of the broker is rare, assignments and senders are everywhere."""


class Pair(NamedTuple):
    """Two messages of one key, the one sent first first."""

    a: Path
    b: Path

    @property
    def apart(self) -> bool:
        """Whether they were certainly in different partitions."""
        return not self.a.ready & self.b.ready


class Explanation(NamedTuple):
    """Why messages of one key may be apart."""

    requirement: str
    because: str
    tears: Callable[[Pair], bool]
    needs: float = USUAL


def pairs_of(group: Sequence[Path], everything: int) -> list[Pair]:
    """The pairs of the key's messages that show something, of a sample if they are many."""
    return _all_pairs(_sample(group, everything))


def _sample(group: Sequence[Path], everything: int) -> list[Path]:
    """Some messages of each set of partitions, in order of their sends."""
    kept: dict[int, list[Path]] = {}
    for path in group:
        same = kept.setdefault(path.ready, [])
        if len(same) < SAMPLE and path.ready != everything:
            same.append(path)
    return sorted((path for same in kept.values() for path in same), key=_sent_at)


def _all_pairs(sample: Sequence[Path]) -> list[Pair]:
    return [Pair(a, b) for a, b in combinations(sample, 2)]


def owners(facts: Facts, groups: Sequence[Sequence[Path]], everything: int) -> list[Explanation]:
    """The one explanation that the history bears out, or one for each rule that may be broken."""
    samples = [_sample(group, everything) for group in groups[:GROUPS]]
    torn = [pair for sample in samples for pair in _all_pairs(sample) if pair.apart]
    fitting = [explanation for explanation in _explanations(facts) if all(map(explanation.tears, torn))]
    for explanation in fitting:
        rivals = [other for other in fitting if other.requirement != explanation.requirement]
        if all(_evidence(samples, explanation, rival, everything) >= explanation.needs for rival in rivals):
            return [explanation]
    return list({explanation.requirement: explanation for explanation in fitting}.values())


def _evidence(
    samples: Sequence[Sequence[Path]], mine: Explanation, rival: Explanation, everything: int
) -> float:
    """The bits for one explanation against another: each message is linked to one before it that it should
    not be torn from, and counts if the rival would have torn them, and they are whole. So what is torn once
    counts once."""
    bits = 0.0
    for sample in samples:
        tails: list[Path] = []
        for path in sample:
            before = next((tail for tail in reversed(tails) if not mine.tears(Pair(tail, path))), None)
            if before is not None:
                tails.remove(before)
                if rival.tears(Pair(before, path)) and before.ready & path.ready:
                    bits += log2(everything.bit_count() / path.ready.bit_count())
            tails.append(path)
    return bits


def _explanations(facts: Facts) -> Iterator[Explanation]:
    for kind, times in _disturbances(facts).items():
        needs = LIKELY if kind == "broker_kill" else UNLIKELY
        because = f"{kind.replace('_', ' ')} between the sends"
        yield Explanation("ROUTE-1", because, lambda pair, times=times: _between(times, pair), needs)  # type: ignore[misc]
    yield Explanation("KEY-8", "the key is in the JMS property alone", _jms_alone)
    yield Explanation("KEY-8", "other keys beside QUEUE_PARTITION_KEY", _beside)
    yield Explanation(
        "KEY-8", "not QUEUE_PARTITION_KEY alone", lambda pair: _jms_alone(pair) or _beside(pair)
    )
    yield Explanation("REB-2", "one of them received and deleted", _deleted, NEVER)
    yield Explanation("REB-13", "through a flow not told of it", partial(_untold, facts.derive(Paths)), NEVER)
    yield Explanation("ROUTE-2", "of two senders", lambda pair: _differ(lambda r: r.proc, pair), UNLIKELY)
    yield Explanation(
        "ROUTE-2", "one of them in a batch", lambda pair: _differ(lambda r: r.op, pair), UNLIKELY
    )
    yield Explanation("ROUTE-2", "of two bodies", _two_bodies, UNLIKELY)
    yield Explanation("ROUTE-2", "alike in all that is visible", lambda pair: True, UNLIKELY)


def _two_bodies(pair: Pair) -> bool:
    return pair.a.life.sent.message.body != pair.b.life.sent.message.body


def _deleted(pair: Pair) -> bool:
    """Whether one of them came only once, and for good, so that its flow may have been a wrong one."""
    return any(deletes(path.life.deliveries[0].record) for path in pair)


def _untold(paths: Paths, pair: Pair) -> bool:
    """Whether one of them came when the other's partition was, as far as anybody was told, no flow's."""
    return pair.apart and any(
        one.ready & ~paths.served(delivery.record)
        for one, other in (pair, pair[::-1])
        for delivery in other.life.deliveries
    )


def _jms_alone(pair: Pair) -> bool:
    """Whether one of them would be without a key if the JMS property were none."""
    return any(path.life.sent.message.property(SOLACE_KEY) is None for path in pair)


def _beside(pair: Pair) -> bool:
    """Whether they would differ if another key went before QUEUE_PARTITION_KEY."""
    return _other_keys(pair.a.life.sent.message) != _other_keys(pair.b.life.sent.message)


def _other_keys(message: Message) -> tuple[str | None, ...]:
    jms = message.property(JMS_KEY) if message.property(SOLACE_KEY) else None
    return message.session_id, message.partition_key, jms


def _disturbances(facts: Facts) -> dict[str, Intervals]:
    """Kind of event -> when it happened, repairs included."""
    times: dict[str, list[tuple[int, int]]] = {}
    unbinds = (record for record in facts.flows if record.op == "unbind")
    for record in (*facts.assignment_events, *facts.disruptions, *unbinds):
        times.setdefault(record.op, []).append(span(record))
    for interval in facts.dead:
        times.setdefault("broker_kill", []).append((interval.certain_end, interval.end))
    return {kind: Intervals(intervals) for kind, intervals in times.items()}


def _between(intervals: Intervals, pair: Pair) -> bool:
    a, b = pair.a.life.record, pair.b.life.record
    return intervals.touching(a.call, min(returned(b), returned(pair.b.life.deliveries[0].record))) > 0


def _differ(trait: Callable[[Record], str], pair: Pair) -> bool:
    return trait(pair.a.life.record) != trait(pair.b.life.record)


def _sent_at(path: Path) -> int:
    return path.life.record.call
