"""Estimates of the instants at which effects most likely took place.

Estimates order what a search tries first, and exclude nothing. Some are shown (ends of locks, assignment
events), or nearly (enqueued times: a message may be stored later); the others are the middle of the effect's
span, changed until they agree with what most likely came before what.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, pairwise
from operator import itemgetter
from random import Random
from typing import Final, NamedTuple

from partq.conformance.oracle import roles
from partq.conformance.oracle.effects import BUSY, MAYBE, Effect, name_of
from partq.model.configuration import FOREVER, Config, position
from partq.model.domains.norm import key_in_order
from partq.model.grouping import grouped
from partq.model.operations import Outcome
from partq.model.profiles import OrderDomain

FINE: Final = 1 << 10
"""Parts into which estimates divide a ns, as a simulation has several effects in one."""

PASSES: Final = 3
"""How often the estimates are reconciled with the orderings."""

Ordering = tuple[int, int]
"""Two effects, the first of which most likely took place before the second."""


Homes = Sequence[Sequence[int]]
"""By effect: its most likely positions, if its partition is not shown."""


class Estimate(NamedTuple):
    """An instant, and between which instants it may be moved, in `FINE` parts of a ns."""

    instant: int
    low: int
    high: int

    def moved(self, instant: int) -> Estimate:
        """The estimate, moved there or as near as its span allows."""
        return Estimate(max(self.low, min(instant, self.high)), self.low, self.high)

    def drawn(self, random: Random, end: int) -> Estimate:
        """The estimate anywhere within its span, by ``end`` at the latest, which is not before the span."""
        return self._replace(instant=random.randint(self.low, min(self.high, end)))


def estimates_of(effects: Sequence[Effect], cfg: Config) -> list[Estimate]:
    """The estimate of each effect by itself."""
    told = _told_of_flows(effects, cfg.entity.rebalance_delay) if cfg.observed else {}
    told |= _arrivals(effects)
    enqueued = _enqueued(effects)
    return [told.get(n) or _estimate(effect, enqueued, cfg) for n, effect in enumerate(effects)]


def _arrivals(effects: Sequence[Effect]) -> dict[int, Estimate]:
    """When what was forwarded, or set aside, arrived: just before it was first shown, and in that order."""
    arrivals = {
        message.id: n
        for n, effect in enumerate(effects)
        if effect.action.op in roles.ARRIVES
        for message in effect.action.messages
    }
    shows = [effect for effect in effects if arrivals and not effect.action.messages]
    found: dict[int, Estimate] = {}
    for effect in sorted(shows, key=lambda effect: effect.ret):
        for shown in effect.observed.messages:
            n = arrivals.get(shown.id)
            if n is not None and n not in found:
                arrival = effects[n]
                span = _within(arrival.call, arrival.ret)
                found[n] = span.moved(effect.call * FINE + len(found))
    return found


def _enqueued(effects: Sequence[Effect]) -> dict[str, list[int]]:
    """By transaction: the enqueued times of its messages, ns; its commit was then or later."""
    found: dict[str, list[int]] = {}
    for effect in effects:
        if effect.action.messages and effect.action.txn is not None:
            times = [hint.enqueued_at for hint in effect.observed.messages if hint.enqueued_at is not None]
            found.setdefault(effect.action.txn, []).extend(times)
    return found


def reconciled(
    effects: Sequence[Effect], estimates: Sequence[Estimate], orderings: Sequence[Ordering]
) -> tuple[int, ...]:
    """The instants, changed within the spans until they agree with the orderings, as far as that goes."""
    now = list(estimates)
    for _ in range(PASSES):
        for a, b in orderings:
            if now[a].instant >= now[b].instant:
                now[b] = now[b].moved(now[a].instant + 1)
        for a, b in reversed(orderings):
            if now[a].instant >= now[b].instant:
                now[a] = now[a].moved(now[b].instant - 1)
    return tuple(estimate.instant for estimate in now)


def _estimate(effect: Effect, enqueued: Mapping[str, list[int]], cfg: Config) -> Estimate:
    """The instant that the effect shows, otherwise the middle of its span."""
    shown = effect.observed.messages
    times: list[int] = []
    if effect.action.messages:
        times = [hint.enqueued_at for hint in shown if hint.enqueued_at is not None]
    elif effect.action.op in roles.DELIVERS:
        times = [d.locked_until - cfg.lock_duration for d in shown if d.locked_until is not None]
    elif effect.action.op == roles.COMMITS:
        times = enqueued.get(effect.action.txn or "", [])
    if times and effect.call <= max(times) <= effect.ret:
        shown_at = _within(max(times) - cfg.skew, max(times) + cfg.skew)
        return shown_at if effect.action.op in roles.DELIVERS else shown_at._replace(high=effect.ret * FINE)
    soon = _within(effect.call, effect.call + 1 if effect.ret == FOREVER else effect.ret)
    return soon._replace(high=FOREVER * FINE) if effect.ret == FOREVER else soon


def _within(low: int, high: int) -> Estimate:
    """The middle of a span of ns."""
    return Estimate((low + high + 1) * FINE // 2, low * FINE, (high + 1) * FINE - 1)


def _told_of_flows(effects: Sequence[Effect], delay: int) -> dict[int, Estimate]:
    """When flows came and went: an event tells of it at once, or a rebalance a delay (ns) later. A connection
    that may have ended did so at once."""
    events = [effect for effect in effects if effect.action.op == roles.TELLS]
    ready = sorted({event.call for event in events if event.action.state == "ready"})
    found = {}
    for n, effect in enumerate(effects):
        if effect.action.op in roles.BINDS and effect.ok:
            index = bisect_left(ready, effect.call + delay)
            if index < len(ready) and ready[index] - delay <= effect.ret:
                found[n] = _within(effect.call, effect.ret).moved((ready[index] - delay) * FINE)
        elif effect.action.op in roles.LEAVES:
            told = [e.call for e in events if e.action.state in _LEFT and effect.call <= e.call <= effect.ret]
            if told or effect.doubt & MAYBE:
                found[n] = _within(effect.call, effect.ret).moved((told or [effect.call])[0] * FINE)
    return found


_LEFT: Final = frozenset({"unbound", "unassigned"})


def orderings_of(
    effects: Sequence[Effect], senders: dict[str, int], shows: dict[str, list[int]], homes: Homes, cfg: Config
) -> Iterator[Ordering]:
    """Pairs of effects that most likely took place in this order."""
    done = ((n, effect) for n, effect in enumerate(effects) if effect.ok)
    commits = {effect.action.txn: n for n, effect in done if effect.action.op == roles.COMMITS}
    for pair in (
        *_by_visibility(effects, senders, shows, commits),
        *_by_settlement(effects, shows),
        *_by_number(effects, commits, cfg.bits),
        *_by_domain(effects, senders, cfg),
        *_by_emptiness(effects, homes, cfg),
        *_by_outage(effects, homes, cfg),
        *_by_first_ready(effects),
    ):
        if effects[pair[0]].ret >= effects[pair[1]].call:  # else real time says so
            yield pair


def _by_visibility(
    effects: Sequence[Effect], senders: dict[str, int], shows: dict[str, list[int]], commits: Commits
) -> Iterator[Ordering]:
    for id, showing in shows.items():
        sender = senders.get(id)
        if sender is None:
            continue
        commit = commits.get(effects[sender].action.txn)
        if commit is not None:
            yield sender, commit
        for n in showing:
            yield sender, n
            if commit is not None:
                yield commit, n


Commits = Mapping[str | None, int]
"""By transaction: its commit, if that succeeded."""


def _by_settlement(effects: Sequence[Effect], shows: dict[str, list[int]]) -> Iterator[Ordering]:
    """An effect that shows a message comes before one that removes it, and after one that returns it."""
    holders = {
        shown.lock: (shown.id, n)
        for n, effect in enumerate(effects)
        for shown in (effect.observed.messages if effect.action.op in roles.DELIVERS else ())
        if shown.lock is not None
    }
    for n, effect in enumerate(effects):
        if effect.observed.status == Outcome.ERROR:
            continue
        if effect.action.op in roles.DELIVERS and effect.action.mode != "peek_lock":
            for shown in effect.observed.messages:
                yield from ((other, n) for other in shows[shown.id] if other != n)
        for token in effect.action.locks:
            if token not in holders:
                continue
            id, taken = holders[token]
            for other in shows[id]:
                again = effects[other].action.op in roles.DELIVERS and other > taken
                if effect.action.op in roles.RETURNS and again:
                    yield n, other
                elif effect.action.op in roles.REMOVES:
                    yield other, n


def _by_number(effects: Sequence[Effect], commits: Commits, bits: int) -> Iterator[Ordering]:
    """Sends, or the commits that end them, and first deliveries, of one partition in the order of numbers.
    Those of a dead-letter queue are its own, and in no order."""
    for sends in (True, False):
        first: dict[int, list[tuple[int, int]]] = {}
        for n, effect in enumerate(effects):
            fits = effect.action.messages if sends else effect.action.op in roles.DELIVERS
            done = n if effect.action.txn is None else commits.get(effect.action.txn)
            if fits and done is not None and effect.action.op != roles.BURIES and not effect.action.entity:
                fresh = [d for d in effect.observed.messages if d.seq is not None and not d.delivery_count]
                if fresh:
                    counter = min((d.seq or 0) % (1 << bits) for d in fresh)
                    first.setdefault(name_of(fresh[0]) or 0, []).append((counter, done))
        for numbered in first.values():
            yield from ((a, b) for (_, a), (_, b) in pairwise(_serially(numbered, bits)))


def _by_domain(effects: Sequence[Effect], senders: dict[str, int], cfg: Config) -> Iterator[Ordering]:
    """Sends of one order domain in the order of first deliveries (ORD-1); and these, where they overlap, in
    the order in which their messages certainly were sent."""
    if cfg.profile.order is OrderDomain.NONE:
        return
    keys = {message.id: key_in_order(cfg, message) for e in effects for message in e.action.messages}
    places = {message.id: n for e in effects for n, message in enumerate(e.action.messages)}
    by_key = cfg.profile.order is OrderDomain.KEY
    lines: dict[int | str, dict[int, list[_Sent]]] = {}
    met: set[str] = set()
    for n, effect in enumerate(effects):
        for shown in effect.observed.messages if effect.action.op in roles.DELIVERS else ():
            sender, domain = senders.get(shown.id), keys.get(shown.id) if by_key else name_of(shown)
            if shown.id in met or sender is None or domain is None or domain == "":
                continue
            met.add(shown.id)
            lines.setdefault(domain, {}).setdefault(n, []).append((sender, places[shown.id]))
    for line in lines.values():
        firsts: list[int] = []
        for n in line:
            place = len(firsts)
            while place and _overlap(effects, n, other := firsts[place - 1]):
                if not _sent_sooner(effects, line[n], line[other]):
                    break
                place -= 1
            firsts.insert(place, n)
        yield from pairwise(dict.fromkeys(sender for n in firsts for sender, _ in line[n]))
        yield from pairwise(firsts)


_Sent = tuple[int, int]
"""A message: the effect that sent it, and its place there."""


def _sent_sooner(effects: Sequence[Effect], some: Sequence[_Sent], others: Sequence[_Sent]) -> bool:
    """Whether any of these messages certainly was sent before any of the others."""
    soonest = min(effects[sender].ret for sender, _ in some)
    if soonest < max(effects[sender].call for sender, _ in others):
        return True
    return any(sender == other and n < m for sender, n in some for other, m in others)


def _serially(numbered: list[tuple[int, int]], bits: int) -> list[tuple[int, int]]:
    """By counter; where the counter rolled over (SEQ-5) the small ones come last."""
    lowest, highest = min(numbered)[0], max(numbered)[0]
    half = 1 << (bits - 1)
    if highest - lowest < half:
        return sorted(numbered)
    return sorted(numbered, key=lambda one: (one[0] < half, one))


def _by_emptiness(effects: Sequence[Effect], homes: Homes, cfg: Config) -> Iterator[Ordering]:
    """A peek that finds nothing in a partition comes before what is sent there meanwhile, and shown."""
    sends: dict[int | None, list[int]] = {}
    for n, effect in enumerate(effects):
        if effect.action.messages and not effect.doubt & MAYBE:
            places = {position(cfg, name_of(hint)) for hint in effect.observed.messages}
            for place in places | set(homes[n][:1]):
                sends.setdefault(place, []).append(n)
    for n, effect in enumerate(effects):
        if (
            effect.action.op in roles.LOOKS
            and effect.action.only is not None
            and not effect.observed.messages
        ):
            for other in sends.get(effect.action.only, ()):
                if effects[other].ret > effect.call and effects[other].call < effect.ret:
                    yield n, other


def _by_outage(effects: Sequence[Effect], homes: Homes, cfg: Config) -> Iterator[Ordering]:
    """What a partition answers comes before its outage or after it; what it refuses, in between."""
    outages = [(n, effect) for n, effect in enumerate(effects) if effect.action.op in roles.OUTAGES]
    faults = [(n, effect) for n, effect in outages if effect.action.partition is not None]
    spans = [(effect.call, effect.ret, n) for n, effect in enumerate(effects)] if faults else []
    for f, fault in faults:
        begins, name = fault.action.op == roles.DOWN, fault.action.partition
        since, until = fault.call, fault.ret
        for n in [n for call, ret, n in spans if call <= until and ret >= since]:
            effect = effects[n]
            if effect.doubt == BUSY and position(cfg, name) in homes[n][:1]:
                yield (f, n) if begins else (n, f)
            elif effect.ok:
                if any(name_of(shown) == name for shown in effect.observed.messages):
                    yield (n, f) if begins else (f, n)


def _by_first_ready(effects: Sequence[Effect]) -> Iterator[Ordering]:
    """Of flows that bind at once, those to which a rebalance gives partitions soonest come first, and then
    those that take over from another one, as a standby does."""
    binds = {e.action.flow: n for n, e in enumerate(effects) if e.action.op in roles.BINDS and e.ok}
    told = grouped((e.action.partition, e) for e in effects if e.action.op == roles.TELLS)
    firsts: dict[int, tuple[bool, int]] = {}
    for events in told.values():
        for n, event in enumerate(events):
            bind = binds.get(event.action.flow)
            if event.action.state == "ready" and bind is not None:
                first = _is_taken_over(effects, events[max(0, n - 2) : n]), event.call
                firsts[bind] = min(first, firsts.get(bind, first), key=itemgetter(1))
    given = sorted(firsts, key=firsts.__getitem__)
    later = [n for n in binds.values() if n not in firsts]
    for index, a in enumerate(given):
        others = (b for b in given[index + 1 :] if firsts[a] < firsts[b])
        yield from ((a, b) for b in chain(others, () if firsts[a][0] else later) if _overlap(effects, a, b))


def _is_taken_over(effects: Sequence[Effect], events: Sequence[Effect]) -> bool:
    """Whether a partition with these last events passes from a flow that leaves to a standby."""
    states = [event.action.state for event in events]
    if states[-1:] != ["unassigned"] or states[0] in ("paused", "unbound"):
        return False
    event = events[-1]
    leaves = (e for e in effects if e.action.op in roles.LEAVES and e.action.flow == event.action.flow)
    return any(e.call <= event.ret and event.call <= e.ret for e in leaves)


def _overlap(effects: Sequence[Effect], a: int, b: int) -> bool:
    return effects[a].call <= effects[b].ret and effects[b].call <= effects[a].ret
