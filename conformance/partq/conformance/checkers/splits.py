"""Equal keys in two partitions, a *split pair*: whose anomaly is it?

Which rule a split breaks is not written on it, so every explanation is held against all pairs of the
history. An explanation names the pairs that it would split; it fits if all split pairs are among them. Of
those that fit, the one with the fewest pairs that it would have split and that are whole is taken; of
equals, the first:

| requirement | the pairs that it would split |
|---|---|
| ROUTE-5 | sent while the other message's partition was down |
| TXN-8 | one in a transaction, one not |
| ROUTE-1 | a fault or a repair of one kind between the two sends |
| KEY-1 | at least one bears a session ID, and others without are whole |
| KEY-2 | at least one has no session ID, and others with are whole |
| KEY-8 | at least one has its key from the JMS property alone, and others without are whole |
| ROUTE-2 | of two senders, of two kinds of send, of two kinds of key; else all |

A pair torn apart by a counter that spilled into the partition bits is SEQ-5's (`sequencing.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, combinations
from typing import Final, NamedTuple

from partq.conformance.facts import SEQ_PARTITION_SHIFT, Facts
from partq.model.messages import SOLACE_KEY, KeyRule

from .attribution import applies
from .outages import Outages, returned
from .protocol import Report
from .shown import Placed

SAMPLE: Final = 8
"""Messages of each key and partition that are compared to find the owner of a split."""


Group = tuple[str, int]
"""A key, and after how many restarts of the broker: always 0 where a restart changes nothing."""


class _Pair(NamedTuple):
    """Two messages of one key, the earlier first."""

    key: Group
    a: Placed
    b: Placed

    @property
    def split(self) -> bool:
        return self.a.partition != self.b.partition


class _Explanation(NamedTuple):
    """Why equal keys may be apart: which pairs it would split."""

    requirement: str
    because: str
    splits: Callable[[_Pair], bool]
    needs_contrast: bool = False


def judge_splits(
    facts: Facts, report: Report, split: Sequence[Group], groups: Mapping[Group, Sequence[Placed]]
) -> None:
    """Report each of these keys, which are in several partitions, all under the one owner."""
    apart = [key for key in split if not _spilled(facts, groups[key])]
    if not apart:
        return
    together = [key for key, group in groups.items() if len(group) > 1 and key not in set(split)]
    pairs = [pair for key in (*apart[:SAMPLE], *together[: 4 * SAMPLE]) for pair in _pairs(key, groups[key])]
    possible = (one for one in _explanations(facts) if applies(facts, one.requirement))
    owner = _owner(possible, pairs)
    shown = set()
    for pair in pairs:
        if pair.split and pair.key not in shown:
            shown.add(pair.key)
            _report_split(report, owner, pair)


def _pairs(key: Group, group: Sequence[Placed]) -> Iterator[_Pair]:
    kept: dict[int | None, list[Placed]] = {}
    for placed in group:
        members = kept.setdefault(placed.partition, [])
        if len(members) < SAMPLE:
            members.append(placed)
    sample = sorted((placed for members in kept.values() for placed in members), key=_sent_at)
    for a, b in combinations(sample, 2):
        yield _Pair(key, a, b)


def _owner(explanations: Iterable[_Explanation], pairs: Sequence[_Pair]) -> _Explanation:
    best, fewest = None, 0
    for explanation in explanations:
        splits = explanation.splits
        if not all(splits(pair) for pair in pairs if pair.split):
            continue
        whole = [pair for pair in pairs if not pair.split]
        against = sum(map(splits, whole))
        if explanation.needs_contrast and against == len(whole):
            continue
        if best is None or against < fewest:
            best, fewest = explanation, against
    assert best is not None, "the last explanation fits everything"
    return best


def _explanations(facts: Facts) -> Iterator[_Explanation]:
    outages = facts.derive(Outages)
    if not outages.none:
        yield _Explanation(
            "ROUTE-5", "sent while the key's partition was down", lambda pair: _diverted(outages, pair)
        )
    yield _Explanation("TXN-8", "one of them in a transaction", lambda pair: _differ(_in_txn, pair))
    for kind, times in _fault_times(facts).items():
        because = f"a {kind.replace('_', ' ')} or its repair in between"
        yield _Explanation("ROUTE-1", because, lambda pair, times=times: _between(times, pair))  # type: ignore[misc]
    if facts.profile.key_rule is KeyRule.SERVICE_BUS:
        yield _Explanation("KEY-1", "the key is a session ID", lambda p: _any(_has_session, p), True)
        yield _Explanation("KEY-2", "the key is a partition key", lambda p: _any(_no_session, p), True)
    else:
        yield _Explanation("KEY-8", "the key is in the JMS property", lambda p: _any(_jms_only, p), True)
    yield _Explanation("ROUTE-2", "by different senders", lambda pair: _differ(_sender, pair))
    yield _Explanation("ROUTE-2", "one of them in a batch", lambda pair: _differ(_operation, pair))
    yield _Explanation("ROUTE-2", "one by session, one by partition key", lambda p: _differ(_has_session, p))
    yield _Explanation("ROUTE-2", "alike in all that is visible", lambda pair: True)


def _differ(trait: Callable[[Placed], object], pair: _Pair) -> bool:
    return trait(pair.a) != trait(pair.b)


def _any(trait: Callable[[Placed], bool], pair: _Pair) -> bool:
    return trait(pair.a) or trait(pair.b)


def _in_txn(placed: Placed) -> bool:
    return "txn" in placed.sent.record.args


def _has_session(placed: Placed) -> bool:
    return placed.sent.message.session_id is not None


def _no_session(placed: Placed) -> bool:
    return placed.sent.message.session_id is None


def _jms_only(placed: Placed) -> bool:
    return placed.sent.message.property(SOLACE_KEY) is None


def _sender(placed: Placed) -> str:
    return placed.sent.record.proc


def _operation(placed: Placed) -> str:
    return placed.sent.record.op


def _sent_at(placed: Placed) -> int:
    return placed.earliest


def _diverted(outages: Outages, pair: _Pair) -> bool:
    """Whether either was sent while the other's partition may have been down."""
    for here, there in ((pair.a, pair.b), (pair.b, pair.a)):
        start, end = here.sent.record.call, returned(here.sent.record)
        if there.partition is not None and not outages.surely_up(there.partition, start, end):
            return True
    return False


Times = list[tuple[int, int]]


def _fault_times(facts: Facts) -> dict[str, Times]:
    """Kind of fault -> when something changed: from and to."""
    times: dict[str, Times] = {}
    for record in facts.disruptions:
        times.setdefault(record.op, []).append((record.call, returned(record)))
    for span in chain(*facts.down.values()):
        times["partition_down"].append((span.sure_end, span.end))
    for span in facts.dead:
        times["broker_kill"].append((span.sure_end, span.end))
    return times


def _between(times: Times, pair: _Pair) -> bool:
    """Whether some change may lie between the two acceptances."""
    start, end = pair.a.earliest, pair.b.latest
    return any(begin <= end and until >= start for begin, until in times)


def _spilled(facts: Facts, group: Sequence[Placed]) -> bool:
    """Whether the key only seems to have moved: its numbers ran over into the next partition's bits."""
    top, half = SEQ_PARTITION_SHIFT, 1 << (SEQ_PARTITION_SHIFT - 1)
    names = sorted({placed.partition for placed in group if placed.partition is not None})
    if len(names) != 2 or names[1] != names[0] + 1 or any(placed.seq is None for placed in group):
        return False
    return all(
        placed.seq is not None
        and placed.seq >> top == placed.partition
        and (placed.seq & (half * 2 - 1) >= half) == (placed.partition == names[0])
        for placed in group
    )


def _report_split(report: Report, owner: _Explanation, pair: _Pair) -> None:
    a, b = pair.a, pair.b
    report.find(
        owner.requirement,
        f"split, {owner.because}",
        "Equal keys, two partitions",
        (a.sent.record, b.sent.record, a.seen.record, b.seen.record),
        f"key {pair.key[0]!r}: {a.sent.message.id!r} is in partition {a.partition}, {b.sent.message.id!r} in "
        f"partition {b.partition}; all such pairs of this history: {owner.because}",
        f"every message with key {pair.key[0]!r} in partition {a.partition}, or every one in {b.partition}",
    )
