"""Partitions that no client is shown (REB-15): which may have held a message, and which is as good as any
other.

A flow is delivered what its partitions hold. So a message was in one that was ready for each flow that got
it. Where several are left, and in one of them the message could be out of order with nothing else (REB-3),
it may as well be taken to be there: whatever explains the history with the message elsewhere explains it
so, too. What is still open is guessed first, for any explanation will do; only where there is none TLC has
to try every place of every message.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from .recording import FOREVER, Operation, Recording


def returned(one: Operation) -> int:
    """By when it happened, ns."""
    return FOREVER if one.ret is None else one.ret


class Delivery(NamedTuple):
    """A message handed to a flow: by which receive, and at which place of its answer; ``since``: not before
    then, for the message was not sent yet, ns."""

    receive: Operation
    place: int
    since: int

    def before(self, other: Delivery) -> bool:
        """Whether it certainly came first."""
        if self.receive is other.receive:
            return self.place < other.place
        return returned(self.receive) < other.receive.call


class Span(NamedTuple):
    """A time in which a flow is delivered a partition's messages, ns."""

    flow: str | None
    begin: int
    end: int

    def has(self, one: Delivery) -> bool:
        """Whether that delivery may have been in this time."""
        return one.receive.flow == self.flow and self.begin <= returned(one.receive) and one.since <= self.end


class Hidden:
    """The messages of a recording with flows. ``sent``: their numbers, by ID. ``names``: the partitions'
    numbers, by name; there are ``count``."""

    def __init__(
        self, recording: Recording, sent: Mapping[str, int], names: Mapping[int, int], count: int
    ) -> None:
        self.operations = recording.operations
        self.sent = sent
        self.everywhere = frozenset(range(1, count + 1))
        self.ready = _ready(recording, names)
        self.sends = {sent[message.id]: one for one in self.operations for message in one.sent}
        self.deliveries: dict[int, list[Delivery]] = {m: [] for m in sent.values()}
        self.over = dict.fromkeys(sent.values(), FOREVER)
        self.contested: set[int] = set()
        self._follow_locks()

    def _follow_locks(self) -> None:
        """Who was given what; by when it was settled for certain; whose locks were lost, or may have been."""
        given: dict[str, int] = {}
        for one in self.operations:
            for place, shown in enumerate(one.shown if one.op == "receive" else ()):
                m = self.sent.get(shown.id)
                if m is not None:
                    self.deliveries[m].append(Delivery(one, place, max(one.call, self.sends[m].call)))
                    if one.deletes:
                        self.over[m] = min(self.over[m], returned(one))
                    if shown.lock is not None:
                        given[shown.lock] = m
        for one in self.operations:
            for m in (given[token] for token in one.locks if token in given):
                if one.op == "complete" and one.happened:
                    self.over[m] = min(self.over[m], returned(one))
                else:
                    self.contested.add(m)
        for m, every in self.deliveries.items():
            if any(self.over[m] < returned(delivery.receive) for delivery in every):
                self.over[m] = FOREVER  # it came back: a lost lock need not settle
                self.contested.add(m)

    def candidates(self) -> dict[int, frozenset[int]]:
        """For each message the partitions that were ready for every flow that got it."""
        return {
            m: frozenset(p for p in self.everywhere if all(self._span(p, d) for d in every))
            for m, every in self.deliveries.items()
        }

    def _span(self, p: int, delivery: Delivery) -> Span | None:
        """When partition p was ready for that delivery; any time if no event tells of it."""
        if p not in self.ready:
            return Span(delivery.receive.flow, -FOREVER, FOREVER)
        return next((span for span in self.ready[p] if span.has(delivery)), None)

    def settle(self, groups: Sequence[Sequence[int]], allowed: dict[int, frozenset[int]]) -> None:
        """Leave one partition to each group of messages that is never out of order there. The messages of a
        group are in one partition."""
        for group in groups:
            if self.contested.isdisjoint(group):
                free = [p for p in sorted(allowed[group[0]]) if not self._clashing(any, p, group, allowed)]
                allowed |= dict.fromkeys(group, frozenset(free[:1])) if free else {}

    def guess(self, groups: Sequence[Sequence[int]], allowed: dict[int, frozenset[int]]) -> None:
        """Leave one partition to each group that has any: where it is out of order with the fewest of those
        that are there already, and then of those that may be."""

        def trouble(p: int) -> tuple[int, int]:
            found = [allowed[n] for n in self._clashing(all, p, group, allowed)]
            return found.count(frozenset({p})), len(found)

        for group in groups:
            if allowed[group[0]]:
                best = min(sorted(allowed[group[0]]), key=trouble)
                allowed |= dict.fromkeys(group, frozenset({best}))

    def _clashing(
        self,
        orders: Callable[[Iterable[bool]], bool],
        p: int,
        group: Sequence[int],
        allowed: Mapping[int, frozenset[int]],
    ) -> list[int]:
        """The messages with which those of the group may be out of order in partition p, in `any` of the
        orders in which two may have been stored, or in `all`."""
        return [
            n
            for n, parts in allowed.items()
            if p in parts
            and n not in group
            and any(orders(self._crosses(p, *two) for two in self._orders(m, n)) for m in group)
        ]

    def _orders(self, m: int, n: int) -> list[tuple[int, int]]:
        """The orders in which the two may have been stored, the older one first."""
        both = (m, n), (n, m)
        return [(a, b) for a, b in both if returned(self.sends[b]) >= self.sends[a].call]

    def _crosses(self, p: int, older: int, younger: int) -> bool:
        """Whether the younger one may have been delivered before its turn, were both in partition p. It was
        not if the older one had been handed to the same flow since the partition was ready for that, or was
        settled."""
        return not all(self._in_turn(p, older, delivery) for delivery in self.deliveries[younger])

    def _in_turn(self, p: int, older: int, delivery: Delivery) -> bool:
        if self.over[older] < delivery.receive.call or returned(delivery.receive) < self.sends[older].call:
            return True
        span = self._span(p, delivery)
        return span is not None and any(
            before.before(delivery) and self._span(p, before) == span for before in self.deliveries[older]
        )


def _ready(recording: Recording, names: Mapping[int, int]) -> dict[int, list[Span]]:
    """Of each partition that assignments tell of, when it was ready for which flow."""
    found: dict[int, list[Span]] = {}
    for p, one in _assignments(recording, names):
        spans = found.setdefault(p, [])
        if spans and spans[-1].end == FOREVER:
            spans[-1] = spans[-1]._replace(end=returned(one))
        if one.state == "ready":
            spans.append(Span(one.flow, one.call - recording.late, FOREVER))
    return found


def _assignments(recording: Recording, names: Mapping[int, int]) -> Iterator[tuple[int, Operation]]:
    for one in recording.operations:
        if one.op == "assignment":
            yield names.get(one.partition or 0, 0), one
