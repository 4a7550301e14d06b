"""Equal keys in two partitions: whose anomaly is it?

Which rule such a split breaks is not written on it. Every explanation says on what the partition depends
besides the key: it sorts a key's sends into classes, each of which must be in one partition. An
explanation fits if that is so. One that fits has as much for it as there are sends that it needs to be
together and that are (its *coincidences*). By default the rule is ROUTE-2, for that is what clients see.
A more special rule owns the split if its explanation fits, if enough such coincidences speak for it
(`ENOUGH`, `MARGIN`), and if more than one send was misrouted (`MISROUTED`):

| rule | the partition depends on |
|---|---|
| ROUTE-5 | whether the key's partition, to which it returned, was down |
| TXN-8 | whether the send was in a transaction |
| ROUTE-1 | between which of the `FAULTS` it was sent |
| KEY-1 | the single send, if it bears a session ID |
| KEY-2 | the single send, if it bears no session ID |
| KEY-8 | the single send, if its key is in the JMS property alone |
| ROUTE-2 | sender, connection, its losses, operation, kind of key; nothing of these |

On what the partition depends is a guess within one history, and all findings of a rule are of one cause. A
batch, and what was sent in one transaction, counts as one send. What a counter tore apart that spilled into
the partition bits is SEQ-5's."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from itertools import chain
from math import log2
from typing import Final, NamedTuple

from partq.conformance.facts.index import Facts
from partq.conformance.facts.lifetimes import Lifetime
from partq.conformance.facts.outages import Outages
from partq.conformance.history import Record
from partq.conformance.screens.attribution import applies
from partq.conformance.screens.protocol import Report
from partq.model.configuration import COUNTER_BITS
from partq.model.grouping import grouped
from partq.model.messages import SOLACE_KEY, KeyRule

ENOUGH: Final = 10.0
"""How much has to speak for a special rule, in bits, unless the explanation says otherwise."""

BITS: Final = 2.0
"""What one coincidence counts at most. It has one chance in as many as there are partitions; but a partition
may also depend on some trait, with few values, that clients can't see."""

MARGIN: Final = 3
"""Coincidences that a special rule needs beyond the explanations under other rules."""

MISROUTED: Final = 2
"""Sends that are not in the partition where most of their key are, that it needs: a single one can be
explained by anything that it happens to have."""

FAULTS: Final = frozenset({"broker kill", "partition down", "partition up", "frontend lost"})
"""Changes after which keys stay where they live (ROUTE-1)."""

SAMPLE: Final = 200
"""Sends of each key that are looked at."""

Group = tuple[str, int]
"""A key, and after how many restarts of the broker: always 0 where a restart changes nothing."""

Class = Callable[[Lifetime], Hashable]


class _Explanation(NamedTuple):
    """What the partition depends on: ``classes`` sorts the sends of one key. ``because``: in words; none
    under ROUTE-2, where all that differs may differ by chance.
    ``enough``: bits that have to speak for it; more where there are many like it, less where what it names is
    rare."""

    requirement: str
    because: str
    classes: Callable[[Sequence[Lifetime]], Class]
    enough: float = ENOUGH


def judge_splits(
    facts: Facts, report: Report, split: Sequence[Group], groups: Mapping[Group, Sequence[Lifetime]]
) -> None:
    """Report each of these keys, which are in several partitions, all under the one owner."""
    apart = [key for key in split if not _spilled(groups[key])]
    if not apart:
        return
    spilled = set(split) - set(apart)
    keys = [_sends(group) for key, group in groups.items() if key not in spilled]
    known = (one for one in _explanations(facts) if applies(facts, one.requirement))
    fitting = [(score, one) for one in known if (score := _coincidences(one, keys)) is not None]
    misrouted = sum(_misrouted(_sends(groups[key])) for key in apart)
    owner = _owner(fitting, misrouted, min(log2(facts.entity.partitions), BITS))
    for key in apart:
        a = groups[key][0]
        b = next(life for life in groups[key] if life.partition != a.partition)
        why = f"key {key[0]!r}: {a.id!r} is in partition {a.partition}, {b.id!r} in partition {b.partition}"
        if owner.because:
            why += f"; this history is consistent with a partition that depends on {owner.because}"
        faults = _between(facts, a, b) if owner.requirement == "ROUTE-1" else ()
        told = (a.record, *faults, b.record, a.first.record, b.first.record)
        report.find(owner.requirement, "apart", told, why)


def _between(facts: Facts, one: Lifetime, other: Lifetime) -> Iterator[Record]:
    """The faults between two sends, and what undid them."""
    low, high = sorted((one.record.i, other.record.i))
    return (record for record in facts.disruptions if low < record.i < high)


def _sends(group: Sequence[Lifetime]) -> list[Lifetime]:
    """One message of each send, batch or transaction and partition it is in."""
    seen = set()
    sends = []
    for life in group:
        record = life.record
        unit = (record.args.get("txn", record.i), life.partition)
        if unit not in seen:
            seen.add(unit)
            sends.append(life)
    return sends[:SAMPLE]


def _coincidences(one: _Explanation, keys: Sequence[Sequence[Lifetime]]) -> int | None:
    """How many sends are where the explanation needs them to be; None where one is not."""
    together = 0
    for sends in keys:
        classify = one.classes(sends)
        places: dict[Hashable, int | None] = {}
        for life in sends:
            if places.setdefault(classify(life), life.partition) != life.partition:
                return None
        together += len(sends) - len(places)
    return together


def _misrouted(sends: Sequence[Lifetime]) -> int:
    """How many sends are not in the partition where most of their key are."""
    return len(sends) - Counter(life.partition for life in sends).most_common(1)[0][1]


def _owner(fitting: Sequence[tuple[int, _Explanation]], misrouted: int, bits: float) -> _Explanation:
    """The special rule with enough for it, else the ROUTE-2 that explains most."""
    score, best = max(fitting, key=_score)
    others = max((score for score, one in fitting if one.requirement != best.requirement), default=0)
    enough = bits * score >= best.enough and score >= others + MARGIN
    if enough and misrouted >= MISROUTED:
        return best
    return max((entry for entry in fitting if entry[1].requirement == "ROUTE-2"), key=_score)[1]


def _score(entry: tuple[int, _Explanation]) -> int:
    return entry[0]


def _explanations(facts: Facts) -> Iterator[_Explanation]:
    """Every explanation; the last one fits whatever there is."""
    outages = facts.derive(Outages)
    if not outages.none:
        yield _Explanation(
            "ROUTE-5",
            "whether the key's own partition was down",
            lambda sends: _diverted(outages, sends),
            16.0,
        )
    in_txn = "the key and whether it is sent in a transaction"
    yield _Explanation("TXN-8", in_txn, lambda _: lambda life: "txn" in life.record.args, 8.0)
    for kind, times in _changes(facts).items():
        if kind in FAULTS:
            yield _Explanation("ROUTE-1", f"the key and the last {kind} before the send", _since(times), 12.0)
        else:
            yield _Explanation("ROUTE-2", "", _since(times))
    if facts.profile.key_rule is KeyRule.SERVICE_BUS:
        yield _Explanation("KEY-1", "the key unless it is a session ID", lambda _: _alone_if(_has_session))
        no_session = _alone_if(lambda life: not _has_session(life))
        yield _Explanation("KEY-2", "the key only if it is a session ID", lambda _: no_session)
    else:
        jms_only = _alone_if(lambda life: life.sent.message.property(SOLACE_KEY) is None)
        yield _Explanation("KEY-8", f"the key only if it is in {SOLACE_KEY}", lambda _: jms_only)
    yield _Explanation("ROUTE-2", "", lambda _: _sender)
    yield _Explanation("ROUTE-2", "", _connection(facts))
    yield _Explanation("ROUTE-2", "", lambda _: lambda life: life.record.op)
    yield _Explanation("ROUTE-2", "", lambda _: _has_session)
    yield _Explanation("ROUTE-2", "", lambda _: id)


def _has_session(life: Lifetime) -> bool:
    return life.sent.message.session_id is not None


def _sender(life: Lifetime) -> str:
    return life.record.proc


def _connection(facts: Facts) -> Callable[[Sequence[Lifetime]], Class]:
    """The sender, and how many connections had been lost; itself where that is not sure."""
    faults = ("partition_down", "broker_kill", "frontend_lost")
    lost = [record for record in facts.disruptions if record.op not in faults]
    since = _since([record.span for record in lost])

    def classes(sends: Sequence[Lifetime]) -> Class:
        epoch = since(sends)
        return lambda life: (_sender(life), epoch(life))

    return classes


def _alone_if(trait: Callable[[Lifetime], bool]) -> Class:
    """Sends with the trait depend on nothing but themselves, the others on nothing but the key."""
    return lambda life: id(life) if trait(life) else None


def _diverted(outages: Outages, sends: Sequence[Lifetime]) -> Class:
    """All sends belong where most are; but one while that was certainly down, and before another one got
    there, belongs nowhere."""
    home = Counter(life.partition for life in sends).most_common(1)[0][0]
    last = max(life.possibly_from for life in sends if life.partition == home)

    def classify(life: Lifetime) -> Hashable:
        start, end = life.record.call, life.record.end
        if home is None or life.partition == home or end > last:
            return None
        return id(life) if outages.certainly_down(home, start, end) else None

    return classify


def _changes(facts: Facts) -> dict[str, list[tuple[int, int]]]:
    """What may change where keys go -> from when to when it did, in order of time."""
    others = (record for record in facts.disruptions if record.op != "broker_kill")
    changes = grouped((record.op.replace("_", " "), record.span) for record in others)
    if facts.dead:
        changes["broker kill"] = [(interval.start, interval.end) for interval in facts.dead]
    if facts.down:
        repairs = [(interval.certain_end, interval.end) for interval in chain(*facts.down.values())]
        changes["partition up"] = sorted(repairs)
    return changes


def _since(times: Sequence[tuple[int, int]]) -> Callable[[Sequence[Lifetime]], Class]:
    """The number of changes before the send; itself where one may overlap it."""
    starts, ends = [start for start, _ in times], sorted(end for _, end in times)

    def classify(life: Lifetime) -> Hashable:
        before = bisect_left(ends, life.possibly_from)
        return before if before == bisect_right(starts, life.certainly_from) else id(life)

    return lambda _: classify


def _spilled(group: Sequence[Lifetime]) -> bool:
    """Whether the key only seems to have moved: its numbers ran over into the next partition's bits."""
    top, half = COUNTER_BITS, 1 << (COUNTER_BITS - 1)
    names = sorted({life.partition for life in group if life.partition is not None})
    if len(names) != 2 or names[1] != names[0] + 1 or any(life.seq is None for life in group):
        return False
    return all(
        life.seq is not None
        and life.seq >> top == life.partition
        and (life.seq & (half * 2 - 1) >= half) == (life.partition == names[0])
        for life in group
    )
