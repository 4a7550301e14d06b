"""Which partition keys and keyless messages go to: KEY-1, 2, 8, ROUTE-1, 2, 3, 4, 9, TXN-8.

Counts what was exercised, and judges the balance of keyless messages. `splits.py` says which rule equal keys
in two partitions break. Solace shows no partitions: there, keys are followed through flows
(`flows.affinity`).
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from math import log
from operator import attrgetter
from typing import Final

from partq.conformance.facts.index import Facts, Interval
from partq.conformance.facts.lifetimes import Lifetime, Lifetimes
from partq.conformance.facts.outages import Outages
from partq.conformance.history import Record
from partq.conformance.screens.protocol import Report, Screen
from partq.conformance.screens.routing.splits import Group, judge_splits
from partq.model.grouping import grouped
from partq.model.messages import KeyRule, conflicting

ALPHA: Final = 1e-9
"""The probability, at most, that a fair broker fails the test of one history."""


def check(facts: Facts) -> Report:
    """Judge where keyed and keyless messages are."""
    report = Report()
    groups: dict[Group, list[Lifetime]] = {}
    keyless: list[Lifetime] = []
    remaps = facts.profile.kill_remaps_keys and facts.dead
    epoch = 0
    for life in facts.derive(Lifetimes).stored:
        if life.partition is None:
            continue
        key = life.sent.key
        if key is not None:
            if conflicting(life.sent.message):
                continue  # KEY-3
            if remaps and (epoch := _epoch(facts.dead, life)) < 0:
                continue
            group = groups.get((key, epoch))
            if group is None:
                groups[key, epoch] = [life]
            else:
                group.append(life)
        elif not facts.entity.ids_count:
            keyless.append(life)
    split = _count_keys(facts, report, groups)
    if split:
        judge_splits(facts, report, split, groups)
    if facts.profile.partitioned:
        _count_keyless(report, keyless)
        _judge_balance(facts, report, keyless)
    return report


def _epoch(kills: list[Interval], life: Lifetime) -> int:
    """After how many restarts the message was sent; -1 where one was under way."""
    start, end = life.record.call, life.record.end
    before = bisect_right(kills, end, key=attrgetter("start"))
    return -1 if before and kills[before - 1].end >= start else before


def _count_keys(facts: Facts, report: Report, groups: dict[Group, list[Lifetime]]) -> list[Group]:
    """Count what was exercised; gives the groups that are in several partitions."""
    pairs = sessions = plain = enlisted = 0
    split = []
    for key, group in groups.items():
        if len(group) < 2:
            continue
        partition = group[0].partition
        with_session = in_txn = 0
        together = True
        for life in group:
            sent, record = life.sent, life.record
            with_session += sent.message.session_id is not None
            in_txn += "txn" in record.args
            together &= life.partition == partition
        if not together:
            split.append(key)
            continue
        size = len(group)
        pairs += size - 1
        sessions += max(with_session - 1, 0)
        plain += max(size - with_session - 1, 0)
        enlisted += min(in_txn, size - in_txn)
    report.count("ROUTE-1", pairs)
    report.count("ROUTE-2", pairs)
    report.count("TXN-8", enlisted)
    if facts.profile.key_rule is KeyRule.SERVICE_BUS:
        report.count("KEY-1", sessions)
        report.count("KEY-2", plain)
    else:
        report.count("KEY-2" if facts.profile.key_rule is KeyRule.PARTITION_KEY else "KEY-8", pairs)
    return split


def _count_keyless(report: Report, keyless: list[Lifetime]) -> None:
    """The freedoms: where keyless messages are, and batches that lie in one partition."""
    report.count("ROUTE-3", len(keyless))
    batched = (life for life in keyless if life.record.op == "send_batch")
    batches = grouped((life.record.i, life.partition) for life in batched)
    report.count("ROUTE-9", sum(len(m) > 1 and len(set(m)) == 1 for m in batches.values()))


def _judge_balance(facts: Facts, report: Report, keyless: list[Lifetime]) -> None:
    """ROUTE-4: each keyless send accepted while all was up is one choice, a batch too (ROUTE-9)."""
    partitions = facts.entity.partitions
    if partitions < 2:
        return
    quiet = facts.derive(Outages).quiet
    accepted = {
        sent.record.i: sent.record
        for sent in facts.sends
        if sent.key is None and sent.record.ok and quiet(sent.record.call, sent.record.end)
    }
    places = {life.record.i: life.partition for life in reversed(keyless) if life.record.i in accepted}
    choices = Counter(places.values())
    if len(choices) <= partitions:
        unnamed = {
            f"a partition without any, {n}": (0, 1 / partitions) for n in range(partitions - len(choices))
        }
        named = {f"partition {name}": (count, 1 / partitions) for name, count in choices.items()}
        judge_balance(report, named | unnamed, list(accepted.values()))


def judge_balance(
    report: Report, shares: Mapping[str, tuple[int, float]], accepted: Sequence[Record]
) -> None:
    """``shares``: name -> how many of the ``accepted`` choices came from there, and what part is fair. If
    choices are fair and independent, or more even than that, a share x of n obeys the Chernoff bound P ≤
    exp(-n KL(x/n || fair)) to either side; with as many shares and two sides, `ALPHA` is kept. What was
    accepted but not seen may be anywhere."""
    n, seen = len(accepted), sum(count for count, _ in shares.values())
    limit = log(2 * len(shares) / ALPHA)
    if len(shares) < 2 or not seen or seen * log(1 / min(fair for _, fair in shares.values())) < limit:
        return
    report.count("ROUTE-4")
    for name, (count, fair) in shares.items():
        most, least = count / n, (count + n - seen) / n
        uneven = most if most > fair else least if least < fair else fair
        if n * divergence(uneven, fair) > limit:
            why = (
                f"{count} of {n} keyless sends went to {name}, of {fair:.3g} of all partitions; fair choices "
            )
            why += f"do so with a probability below {ALPHA:g}"
            report.find("ROUTE-4", "unbalanced", accepted[:3], why)
            return


def divergence(x: float, p: float) -> float:
    """Kullback-Leibler divergence of a share x from a probability p, in nats."""
    gain = x * log(x / p) if x > 0 else 0.0
    return gain + ((1 - x) * log((1 - x) / (1 - p)) if x < 1 else 0.0)


SCREEN: Final = Screen(
    "routing",
    ("KEY-1", "KEY-2", "KEY-8", "ROUTE-1", "ROUTE-2", "ROUTE-3", "ROUTE-4", "ROUTE-9", "TXN-8"),
    check,
    blind_spots=(
        "A message is placed only where the broker shows its partition, or a number with it; one that is "
        "never received or peeked is nowhere.",
        "Messages whose ID is sent more than once are left out.",
        "A function of the key that changes at an instant without any recorded fault is reported under "
        "ROUTE-2; a few messages may fit several explanations, and then the first of the table is taken.",
        "Balance is judged in histories with enough keyless messages only (9 for 16 partitions, 32 for 2), "
        f"and with a false alarm probability of {ALPHA:g} if choices are independent and fair.",
    ),
    needs={
        **dict.fromkeys(("KEY-1", "KEY-2", "ROUTE-1", "ROUTE-2", "ROUTE-3", "ROUTE-4"), ("partitions",)),
        "ROUTE-9": ("send_batch", "partitions"),
        "TXN-8": ("begin", "commit", "partitions"),
    },
)
