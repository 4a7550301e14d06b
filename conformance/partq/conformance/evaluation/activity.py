"""What a history shows of a broker's activity: how its clients' calls ended, and whether receives returned
what was there. Counts that add up over histories.

What they come to, `verdict.activity` says. A drain is none of the clients: it is partq's own, comes when all
is repaired, and proves only that something was there.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from partq.conformance.facts.index import FOREVER
from partq.conformance.facts.intervals import NEVER, Intervals
from partq.conformance.history import History, Record
from partq.conformance.verdict.activity import LOCKED, MESSAGES, PASSING, RECEIVE, Count, key
from partq.model.conditions import STRIKES
from partq.model.messages import Delivery
from partq.model.operations import DRAINER, ENV, SETTLEMENTS
from partq.model.profiles import profile, requirements_of

LINKS: Final = frozenset({"disconnect", "reconnect"})
"""What ends or renews a connection."""


def activity(history: History) -> Counter[str]:
    """Count the history's activity, by `verdict.activity.key`."""
    counts: Counter[str] = Counter()
    _has(history, counts)
    quiet = list(_undisturbed(history))
    hung = [record for record in quiet if record.ret is None]
    failed = [record for record in quiet if record.ret is not None and record.error in PASSING]
    for kind, records in ((Count.CALLED, quiet), (Count.HUNG, hung), (Count.FAILED, failed)):
        for op, times in Counter(record.op for record in records).items():
            counts[key(kind, op)] += times
    _receives(history, quiet, counts)
    return counts


def _has(history: History, counts: Counter[str]) -> None:
    """Count which operations the broker had, and what its messages showed."""
    lacking = [record for record in history.records if record.error == "unsupported"]
    offered = _asked([record for record in history.records if record.error != "unsupported"])
    lacked = _asked(lacking).union(history.header.lacks) - offered
    counts.update(key(Count.OFFERED, op) for op in offered)
    counts.update(key(Count.LACKED, op) for op in lacked)
    shown = [one for record in history.records for one in record.messages]
    if not shown:
        return
    family = profile(history.header.profile)
    fields: Mapping[str, list[Any]] = {
        MESSAGES: shown,
        LOCKED: [one.lock for one in shown],
        "sequence numbers": [one.seq for one in shown],
        "partitions": shown if family.flows else [family.partition_of(one) for one in shown],
        "enqueued times": [one.enqueued_at for one in shown],
        "delivery counts": [_told_again(one) for one in shown],
        "ends of locks": [one.locked_until for one in shown],
    }
    for field, shows in fields.items():
        counts[key(Count.SHOWN, field)] = len(shown) - shows.count(None)


def _told_again(shown: Delivery) -> int | None:
    return shown.redelivered if shown.delivery_count is None else shown.delivery_count


def _asked(records: Sequence[Record]) -> set[str]:
    """The operations that the broker needs for these."""
    locks = any(record.op == "receive" and not record.deletes for record in records)
    return {*(["locks"] if locks else ()), *(record.op for record in records)}


def only_drained(history: History) -> bool:
    """Whether a drain was shown messages, and no client ever was."""
    return {record.proc for record in history.records if record.messages} == {DRAINER}


def without_drain(history: History) -> History:
    """The history as it was before the drain."""
    kept = (r for r in history.records if r.proc != DRAINER and r.op != "drained")
    return History(history.header, tuple(kept))


def _undisturbed(history: History) -> Iterator[Record]:
    """The clients' calls that were over before anything struck, which may delay, refuse or cut off any call
    under way; if nothing did, the unending ones, too. None that ends or renews a connection: it strikes
    unless it fails, so that only failures would count."""
    strikes = (r.call for r in history.records if r.op in STRIKES and not r.refused)
    struck = min(strikes, default=FOREVER)
    for record in history.records:
        over = struck == FOREVER if record.ret is None else record.ret < struck
        if (
            over
            and record.op not in LINKS
            and record.proc not in (ENV, DRAINER)
            and record.error != "unsupported"
        ):
            yield record


def _receives(history: History, quiet: Sequence[Record], counts: Counter[str]) -> None:
    """Count the receives that were given something, and those given nothing though a message was there, that
    nobody had been given, and no client held any: what is held may bar others of its key."""
    receives = [r for r in quiet if r.op == "receive" and r.ok]
    given = sum(bool(record.messages) for record in receives)
    counts[key(Count.CALLED, RECEIVE)] += given
    # A message belongs to the consumer that has its partition: the others rightly get nothing meanwhile.
    owned = "REB-3" in requirements_of(history.header.profile)
    if given == len(receives) or (given and owned):
        return
    waiting, held = _waiting(history), _held(history)
    for record in receives:
        called, ended = record.call, record.end
        if not record.messages and waiting.get(record.entity, NEVER).reach(called) > ended:
            if held.get(record.entity, NEVER).reach(ended) <= called:
                counts[key(Count.CALLED, RECEIVE)] += 1
                counts[key(Count.EMPTY, RECEIVE)] += 1


def _waiting(history: History) -> Mapping[str, Intervals]:
    """By entity, when a message certainly was there that nobody had been given: one accepted outside of
    transactions, for now and for good. A receive of unknown outcome may have been given any."""
    given: dict[tuple[str, str], int] = {}
    lost: dict[str, int] = {}
    found: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for record in history.records:
        if record.op == "receive" and record.unknown:
            lost.setdefault(record.entity, record.call)
        for shown in record.messages if record.op == "receive" else ():
            given.setdefault((record.entity, shown.id), record.call)
    for record in history.records:
        if record.op in ("send", "send_batch") and record.ok and "txn" not in record.args:
            for message in record.sent:
                if message.scheduled_at is None and message.ttl is None:
                    until = given.get((record.entity, message.id), FOREVER)
                    until = min(until, lost.get(record.entity, FOREVER))
                    found[record.entity].append((record.end, until))
    return {entity: Intervals(spans) for entity, spans in found.items()}


def _held(history: History) -> Mapping[str, Intervals]:
    """By entity, when a client may have held a message: from its receive until its lock was settled."""
    settled = {
        lock: record.end
        for record in reversed(history.records)
        if record.op in SETTLEMENTS and record.ok
        for lock in record.args["locks"]
    }
    found: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for record in history.records:
        for shown in record.messages if record.op == "receive" else ():
            if shown.lock is not None:
                found[record.entity].append((record.call, settled.get(shown.lock, FOREVER)))
    return {entity: Intervals(spans) for entity, spans in found.items()}
