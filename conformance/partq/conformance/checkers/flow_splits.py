"""Messages of one key that were not in one partition, where it shows only by flows: which rule is broken?

Every explanation is held against all pairs of messages with equal keys. It fits if all pairs that are apart
are among those that it would *tear*:

=======  ==========================================================================================
ROUTE-1  an assignment, a lost flow or a fault of one kind lies between the two sends
KEY-8    one of the two has its key by another way than QUEUE_PARTITION_KEY, or other keys beside it
ROUTE-2  of two senders; one of them in a batch; else all
=======  ==========================================================================================

By chance many may fit. One is taken for the right one only if, against every other that fits and is another
rule's, the history has evidence: pairs which that one would have torn and this one not, and which are
whole. Evidence is weighed in bits: that a message comes from a set of partitions in which its partners were
is worth the more, the smaller the set. Where it weighs less than `ENOUGH`, all rules that fit are open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from math import log2
from typing import Final, NamedTuple

from partq.conformance.facts import FOREVER, Facts
from partq.conformance.history import Record
from partq.model.messages import JMS_KEY, SOLACE_KEY, Message

from .locks import Spans
from .paths import Path

SAMPLE: Final = 16
"""Messages of each key and set of partitions that are compared."""

GROUPS: Final = 24
"""Keys that are compared."""

ENOUGH: Final = 10.0
"""Bits of evidence that a rule needs against each other that fits."""


class Pair(NamedTuple):
    """Two messages of one key, the one sent first first."""

    a: Path
    b: Path

    @property
    def apart(self) -> bool:
        """Whether they were surely in different partitions."""
        return not self.a.ready & self.b.ready


class Explanation(NamedTuple):
    """Why messages of one key may be apart."""

    requirement: str
    because: str
    tears: Callable[[Pair], bool]


def pairs_of(group: Sequence[Path], everything: int) -> list[Pair]:
    """The pairs of the key's messages that tell something, of a sample if they are many."""
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
        if all(_evidence(samples, explanation, rival, everything) >= ENOUGH for rival in rivals):
            return [explanation]
    return list({explanation.requirement: explanation for explanation in fitting}.values())


def _evidence(
    samples: Sequence[Sequence[Path]], mine: Explanation, rival: Explanation, everything: int
) -> float:
    """The bits for one explanation against another: each message is linked to one before it that it should
    not be torn from, and counts if the rival would have torn them, and they are whole. What was sent at
    once, and what was torn once, is no evidence of its own."""
    bits = 0.0
    for sample in samples:
        tails: list[Path] = []
        for path in sample:
            before = next((tail for tail in reversed(tails) if not mine.tears(Pair(tail, path))), None)
            if before is not None:
                tails.remove(before)
                new = before.sent.record is not path.sent.record
                if new and rival.tears(Pair(before, path)) and before.ready & path.ready:
                    bits += log2(everything.bit_count() / path.ready.bit_count())
            tails.append(path)
    return bits


def _explanations(facts: Facts) -> Iterator[Explanation]:
    for kind, spans in _disturbances(facts).items():
        because = f"{kind} between the sends"
        yield Explanation("ROUTE-1", because, lambda pair, spans=spans: _between(spans, pair))  # type: ignore[misc]
    for because, trait in _WAYS.items():
        yield Explanation("KEY-8", because, lambda pair, trait=trait: _either(trait, pair))  # type: ignore[misc]
    yield Explanation("ROUTE-2", "of two senders", lambda pair: _differ(lambda r: r.proc, pair))
    yield Explanation("ROUTE-2", "one of them in a batch", lambda pair: _differ(lambda r: r.op, pair))
    yield Explanation("ROUTE-2", "alike in all that is visible", lambda pair: True)


_WAYS: Final[dict[str, Callable[[Message], bool]]] = {
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


def _between(spans: Spans, pair: Pair) -> bool:
    a, b = pair.a.sent.record, pair.b.sent.record
    return spans.touching(a.call, min(_return(b), _return(pair.b.first.record))) > 0


def _either(trait: Callable[[Message], bool], pair: Pair) -> bool:
    return trait(pair.a.sent.message) or trait(pair.b.sent.message)


def _differ(trait: Callable[[Record], str], pair: Pair) -> bool:
    return trait(pair.a.sent.record) != trait(pair.b.sent.record)


def _sent_at(path: Path) -> int:
    return path.sent.record.call


def _return(record: Record) -> int:
    return FOREVER if record.ret is None else record.ret
