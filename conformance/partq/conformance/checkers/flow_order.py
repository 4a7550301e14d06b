"""REB-3: messages of one partition are first delivered in the order in which they were sent.

If x and y are in one partition and x's send returned before y's was called, then y is not first delivered
before x: not in a receive that returned before the one that first delivers x was called, nor before x in
one answer. What is delivered again is free.

Two messages are surely in one partition where the broker shows it; where the queue has only one; and, with
flows, where they have one key and each came through a flow that had one and the same partition only
(`paths.py`). With one key alone, either order or routing (ROUTE-1, ROUTE-2) is broken if y comes first, and
REB-3 is left open, unless the key was seen to be apart (`flow_routing.py` then has it). What numbers say
of order is `order.py`'s.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Iterable
from itertools import accumulate
from typing import Final, NamedTuple

from partq.conformance.facts import FOREVER, Facts, Seen, Sent
from partq.model.operations import Outcome

from .paths import ANYWHERE, Path, Paths
from .protocol import Checker, Report


class _First(NamedTuple):
    """A message and its first delivery, ``place`` in the answer."""

    sent: Sent
    seen: Seen
    place: int

    @property
    def returned(self) -> int:
        """When that receive returned."""
        ret = self.seen.record.ret
        return FOREVER if ret is None else ret

    @property
    def bound(self) -> bool:
        """Whether nothing excuses its coming late: surely accepted, surely delivered for the first time."""
        delivery, record = self.seen.delivery, self.sent.record
        return (
            record.outcome == Outcome.OK
            and "txn" not in record.args
            and not delivery.redelivered
            and not delivery.delivery_count
        )


Inversion = tuple[_First, _First]
"""(came first, was sent first)."""


def check(facts: Facts) -> Report:
    """REB-3, wherever it applies."""
    report = Report()
    if not facts.profile.flows and "REB-3" not in facts.profile.overrides:
        return report
    unseen = min((r.call for r in facts.receives if r.outcome == Outcome.UNKNOWN), default=FOREVER)
    firsts = list(_firsts(facts))
    for group in _grouped((_sure_place(facts, first), first) for first in firsts):
        for inversion in _inversions(group, unseen):
            _report(inversion, report)
        if not facts.profile.flows or facts.entity.partitions == 1:
            report.count("REB-3", _comparable(group))
    if facts.profile.flows and facts.entity.partitions > 1:
        _by_key(facts, firsts, unseen, report)
    return report


def _firsts(facts: Facts) -> Iterable[_First]:
    places: dict[int, dict[str, int]] = {}
    for id, seen in facts.received.items():
        sends, record = facts.by_id.get(id, ()), seen[0].record
        if len(sends) == 1:
            if record.i not in places:
                places[record.i] = {delivery.id: n for n, delivery in enumerate(record.messages)}
            yield _First(sends[0], seen[0], places[record.i][id])


def _sure_place(facts: Facts, first: _First) -> Hashable | None:
    """Equal for messages that are surely in one partition; None where nothing is sure."""
    if facts.entity.partitions == 1:
        return "the only one"
    if not facts.profile.flows:
        return first.seen.delivery.partition
    mask, key = _mask(facts, first), first.sent.key
    return (mask, key) if key is not None and mask > 0 and mask.bit_count() == 1 else None


def _mask(facts: Facts, first: _First) -> int:
    path = facts.derive(Paths).by_id.get(first.sent.message.id) if facts.assignments else None
    return ANYWHERE if path is None else path.ready


def _grouped(placed: Iterable[tuple[Hashable | None, _First]]) -> list[list[_First]]:
    groups: dict[Hashable, list[_First]] = {}
    for place, first in placed:
        if place is not None:
            groups.setdefault(place, []).append(first)
    return [group for group in groups.values() if len(group) > 1]


def _by_key(facts: Facts, firsts: list[_First], unseen: int, report: Report) -> None:
    groups = _grouped((first.sent.key, first) for first in firsts)
    report.count("REB-3", sum(map(_comparable, groups)))
    if report.findings or (facts.assignments and _broken(facts.derive(Paths))):
        return
    if any(_inversions(group, unseen) for group in groups):
        report.open["REB-3"] = (
            "messages of one key came out of order, and may or may not have been in one partition: REB-3, "
            "ROUTE-1, ROUTE-2 or KEY-8 is broken. As many flows as partitions would tell"
        )


def _broken(paths: Paths) -> bool:
    """Whether something else than order was seen to be wrong: then the open question has its answer."""
    return any(_mask_of(group) == 0 for group in paths.by_key.values())


def _mask_of(group: list[Path]) -> int:
    mask = ANYWHERE
    for path in group:
        mask &= path.ready
    return mask


def _comparable(group: list[_First]) -> int:
    """How many messages another of the group was surely sent before."""
    earliest = min(FOREVER if f.sent.record.ret is None else f.sent.record.ret for f in group)
    return sum(first.sent.record.call > earliest for first in group)


def _inversions(group: list[_First], unseen: int) -> list[Inversion]:
    """For each message that came too late the last-sent one that came before it. ``unseen``: from then on a
    receive may have delivered what it did not show."""
    known = [first for first in group if first.returned < unseen]
    by_return = sorted(known, key=lambda first: first.returned)
    returns = [first.returned for first in by_return]
    latest = list(accumulate(by_return, _sent_later))
    found = []
    for first in sorted(known, key=lambda first: first.seen.record.call):
        at = bisect_left(returns, first.seen.record.call)
        if at and _overtook(latest[at - 1], first):
            found.append((latest[at - 1], first))
    return found + _within_answers(known)


def _within_answers(group: list[_First]) -> list[Inversion]:
    found = []
    answers: dict[int, list[_First]] = {}
    for first in group:
        answers.setdefault(first.seen.record.i, []).append(first)
    for answer in answers.values():
        if len(answer) > 1:
            answer.sort(key=lambda first: first.place)
            latest = accumulate(answer, _sent_later)
            pairs = zip(latest, answer[1:], strict=False)
            found += [(before, first) for before, first in pairs if _overtook(before, first)]
    return found


def _sent_later(a: _First, b: _First) -> _First:
    return b if b.sent.record.call > a.sent.record.call else a


def _overtook(before: _First, late: _First) -> bool:
    ret = late.sent.record.ret
    return ret is not None and ret < before.sent.record.call and late.bound


def _report(inversion: Inversion, report: Report) -> None:
    before, late = inversion
    flows = list(dict.fromkeys(str(one.seen.record.args.get("flow", "")) for one in inversion))
    through = f" (through flow {' and '.join(flows)})" if flows != [""] else ""
    report.find(
        "REB-3",
        "across flows" if len(flows) > 1 else "one consumer",
        "Messages of one partition out of order",
        (late.sent.record, before.sent.record, before.seen.record, late.seen.record),
        f"{late.sent.message.id!r} was accepted before {before.sent.message.id!r} was sent, into one "
        f"partition, and first delivered after it{through}",
        f"{late.sent.message.id!r} is first delivered before {before.sent.message.id!r}",
    )


CHECKER: Final = Checker(
    "flow order",
    ("REB-3",),
    check,
    blind_spots=(
        "With flows, messages with different keys are compared only where the queue has one partition.",
        "From the first receive of unknown outcome on nothing is judged: it may have delivered what it did "
        "not show.",
        "Order within a batch, and of what is delivered again, is not judged.",
        "Messages whose ID is sent more than once are left out.",
    ),
)
