"""The distributions of partitions that a rebalance may have chosen, where assignment events are recorded.

A rebalance may choose any even distribution, and a dozen partitions have too many to try. The events to come
leave one or two flows for each partition."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import compress
from typing import Final

from partq.conformance.oracle.effects import Effect
from partq.conformance.oracle.roles import BINDS, TELLS
from partq.model.configuration import FOREVER
from partq.model.grouping import grouped
from partq.model.rebalancing.events import Change, may_be_untold, tells
from partq.model.state import Flows

Target = tuple[str | None, ...]

_HAVING: Final = frozenset({"ready", "paused"})
"""The states in which a flow that is there has a partition."""


class Foretold:
    """The assignment events of a history, as far as they are still to come. ``events``: of each partition, by
    its position, the numbers of the effects in the order of their instants. ``unordered``: the partitions for
    which that need not be the order in which they took place. ``handoff``: how long one may last, ns."""

    def __init__(
        self,
        effects: Sequence[Effect],
        events: Mapping[int, Sequence[int]],
        unordered: Set[int],
        handoff: int,
    ) -> None:
        self.handoff = handoff
        self.effects = effects
        self.events = events
        self.unordered = unordered
        self.end = max((effect.call for effect in effects), default=0)
        told = (effect.action.op == TELLS and effect.action.state in _HAVING for effect in effects)
        self.having = _by_flow(effects, told)
        self.binding = _by_flow(effects, (effect.action.op in BINDS for effect in effects))

    def agree(self, before: Flows, flows: Flows, done: int) -> bool:
        """Whether the events to come tell of every change that is not observed yet, and of no flow that has
        gone since ``before``, and does not come back, that it has a partition still."""
        if flows.active != before.active or flows.standby != before.standby:
            gone = {name for name, _ in before.active + before.standby}
            for name in gone.difference(name for name, _ in flows.active + flows.standby):
                to_come = (self.having.get(name, 0), self.binding.get(name, 0))
                if [bool(mask & ~done) for mask in to_come] == [True, False]:
                    if all(flow != name or state not in _HAVING for _, flow, state, _ in flows.unseen):
                        return False
        return not flows.unseen or self.agrees(flows, done)

    def agrees(self, flows: Flows, done: int) -> bool:
        """Whether the events to come tell of every change that is not observed yet."""
        changes = grouped((change[0], change) for change in flows.unseen)
        return all(
            self._tell(several, [*self._coming(p, done)], p in self.unordered)
            for p, several in changes.items()
        )

    def _tell(self, changes: Sequence[Change], coming: Sequence[Effect], unordered: bool) -> bool:
        """Whether these events, in an order that their times allow, tell of a partition's changes, one after
        another. ``unordered``: whether that need not be the order in which they stand."""
        if not changes:
            return True
        if not coming:
            return all(latest >= self.end for *_, latest in changes)
        first, left = changes[0], changes[1:]
        soonest = min(event.ret for event in coming)
        for n, event in enumerate(coming if unordered else coming[:1]):
            if event.call > soonest:
                continue
            if may_be_untold(first, event.action):
                if self._tell(left, coming, unordered):
                    return True
            elif tells(first, event.action) and event.call <= first[3]:
                if self._tell(left, [*coming[:n], *coming[n + 1 :]], unordered):
                    return True
        return False

    def targets(
        self, flows: Flows, done: int, hasty: bool, latest: int, even: bool = True
    ) -> Iterator[Target]:
        """The distributions that the events to come leave open: first those of which the next events tell.
        ``hasty``: likely ones only. ``latest``: by when the rebalance is told of; if that is after the
        history's end, it need not be. ``even``: no flow has two partitions more than another."""
        names = [name for name, _ in flows.active]
        untold = latest >= self.end and not hasty
        until = latest + 2 * self.handoff if hasty else FOREVER
        coming = [self._news(flows, p, done, until) for p in range(len(flows.owner))]
        soonest = sorted(range(len(coming)), key=lambda p: coming[p][0].call if coming[p] else FOREVER)
        likely = [self._options(flows, p, names, coming[p], hasty, untold) for p in soonest]
        besides = [self._besides(flows, p, names) for p in soonest]
        options = [[*dict.fromkeys((*some, *rest))] for some, rest in zip(likely, besides, strict=True)]
        most = -(-len(options) // len(names)) if names and even else len(options)
        for chosen in _choices(options, most):
            counts = [chosen.count(name) for name in names]
            if not names or not even or max(counts) - min(counts) <= 1:
                by_position = dict(zip(soonest, chosen, strict=True))
                yield tuple(by_position[p] for p in range(len(coming)))

    def _news(self, flows: Flows, p: int, done: int, until: int) -> list[Effect]:
        """The partition's events that tell of no change that was made."""
        coming = [event for event in self._coming(p, done) if event.call <= until]
        for change in flows.unseen:
            if change[0] == p and coming and coming[0].action.state == change[2]:
                coming.pop(0)
        return coming

    def _options(
        self, flows: Flows, p: int, names: Sequence[str], coming: Sequence[Effect], hasty: bool, untold: bool
    ) -> Sequence[str | None]:
        if not names:
            return (None,)
        owner = flows.owner[p]
        stays = [owner[0]] if owner is not None and owner[0] in names else []
        others = [name for name in names if name not in stays]
        if not coming:
            late = untold or any(latest >= self.end for *_, latest in flows.unseen)
            return [*stays, *others] if late or not stays else stays
        heir = next((event.action.flow for event in coming if event.action.state == "ready"), None)
        if coming[0].action.state == "paused" and (not hasty or heir not in names or _called_off(coming)):
            later = stays if heir is not None and heir not in names else []  # a rebalance to come tells of it
            return [*dict.fromkeys((*later, *others, *stays))]  # or a fault came before it was told
        if coming[0].action.state in ("paused", "unassigned", "ready") and heir in names:
            return [heir, *(name for name in stays if name != heir)]
        if untold and coming[0].action.state in ("paused", "unassigned"):
            return [*others, *stays]  # to whom it goes is not told any more
        waiting = flows.handoff[p]
        if waiting is not None and waiting[0] in names:  # a later rebalance may send it to another flow
            return [waiting[0], *(name for name in names if name != waiting[0])]
        return stays if stays and hasty else [*stays, *others]

    def _besides(self, flows: Flows, p: int, names: Sequence[str]) -> Sequence[str]:
        """The flows that the next events do not rule out: the one to which the partition is being handed, as
        that goes on, and is told of later, or is called off; and any where their order is not known, or where
        the partition may wait for another rebalance."""
        waiting = flows.handoff[p]
        heir = [waiting[0]] if waiting is not None and waiting[0] in names else []
        return [*heir, *names] if p in self.unordered or flows.waited is not None else heir

    def _coming(self, p: int, done: int) -> Iterator[Effect]:
        return (self.effects[n] for n in self.events.get(p, ()) if not done >> n & 1)


def _by_flow(effects: Sequence[Effect], chosen: Iterable[bool]) -> dict[str | None, int]:
    """By flow: which of the chosen effects are about it, as bits."""
    found: dict[str | None, int] = {}
    for n in compress(range(len(effects)), chosen):
        found[effects[n].action.flow] = found.get(effects[n].action.flow, 0) | 1 << n
    return found


def _called_off(coming: Sequence[Effect]) -> bool:
    """Whether the partition went back to its flow after the pause to come (REB-9)."""
    return (
        len(coming) > 1
        and coming[1].action.state == "ready"
        and coming[1].action.flow == coming[0].action.flow
    )


def _choices(options: Sequence[Sequence[str | None]], most: int) -> Iterator[Target]:
    """One option for each partition, none chosen more than so often."""
    if not options:
        yield ()
        return
    for target in _choices(options[:-1], most):
        for name in options[-1]:
            if name is None or target.count(name) < most:
                yield (*target, name)
