"""In which partition a message may be, where partitions are not shown: what deliveries to flows say of it.

A flow is handed what is in its partitions, and assignment events say which these were. Equal keys live
together. From both follow, for each group of messages that share a partition, the partitions that are
possible (`Clues.masks`). The order of deliveries, and handoffs that waited for nothing, make some of them
likely: a choice for all groups together is a colouring, and a choice that failed teaches the next one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Final, NamedTuple

from partq.conformance.oracle.effects import Effect, held_messages
from partq.conformance.oracle.roles import DELIVERS, REMOVES, RETURNS, TELLS
from partq.model.messages import Message
from partq.model.operations import Outcome
from partq.model.routing.norm import keys_of
from partq.model.state import FOREVER, Config

TOGETHER: Final = frozenset({"KEY-8", "ROUTE-1", "ROUTE-2"})
"""What keeps equal keys together; waived, each message is by itself."""

STEPS: Final = 2_000
"""How many steps the search for a colouring takes at the most."""


class Delivered(NamedTuple):
    """A delivery of a message: its group, between what instants it was sent and delivered, in which record
    and at which place of the answer, to which flow, with which lock, and whether it was known to be a
    redelivery."""

    id: str
    group: str
    sent: tuple[int, int]
    received: tuple[int, int]
    record: int
    rank: int
    flow: str | None
    lock: str | None
    redelivered: bool


class Owned(NamedTuple):
    """A partition may have been ready for a flow from ``since`` to ``until``, ns. ``direct``: it then passed
    to another flow without a pause."""

    position: int
    since: int
    until: int
    direct: bool


class Clues(NamedTuple):
    """What the history says. ``groups``: by message, what it shares its partition with. By group: ``masks``,
    the positions where it may be, as bits; ``likely``, those of them where nothing speaks against it.
    ``apart``: for each group those that cannot share its partition. ``pauses``: partitions that were paused,
    each with the groups of which a message may have been unsettled. ``deliveries``: in their order."""

    groups: Mapping[str, str]
    masks: Mapping[str, int]
    likely: Mapping[str, int]
    apart: Mapping[str, Sequence[str]]
    pauses: Sequence[tuple[int, Sequence[str]]]
    deliveries: Sequence[Delivered]


def clues_of(effects: Sequence[Effect], cfg: Config) -> Clues:
    """The clues in these effects."""
    groups = {message.id: _group(message, cfg) for effect in effects for message in effect.action.messages}
    deliveries = sorted(_deliveries(effects, groups), key=lambda d: (d.received[1], d.record, d.rank))
    masks = dict.fromkeys(groups.values(), (1 << len(cfg.names)) - 1)
    likely = dict(masks)
    owned = _ownership(effects, cfg)
    if owned is not None:
        ends = _settled_at(effects)
        untold = (
            max(effect.call for effect in effects) - cfg.telling
        )  # what changes later need not be told of
        for delivery in deliveries:
            if delivery.received[1] >= untold:
                continue
            mine = owned.get(delivery.flow or "", ())
            masks[delivery.group] &= _reachable(mine, delivery, None)
            likely[delivery.group] &= _reachable(mine, delivery, ends.get(delivery.id, FOREVER))
    abandoned = (effect.action.locks for effect in effects if effect.action.op in RETURNS)
    apart = _apart(deliveries, frozenset(chain.from_iterable(abandoned)))
    likely = {group: likely[group] or masks[group] for group in masks}
    if cfg.waived:
        masks = dict.fromkeys(masks, (1 << len(cfg.names)) - 1)
    return Clues(groups, masks, likely, apart, list(_pauses(effects, cfg, deliveries)), deliveries)


def colouring(clues: Clues, count: int, failures: Mapping[tuple[str, int], int]) -> dict[str, int]:
    """A partition for each group such that those that are apart are in different ones, where `STEPS` suffice
    to find that; the most constrained first. ``failures``: how often a group in that partition was what an
    earlier choice failed at: the others come first."""
    wanted = _wanted(clues, failures)
    order = sorted(
        clues.masks,
        key=lambda g: (g not in wanted, clues.likely[g].bit_count(), -len(clues.apart.get(g, ())), g),
    )
    load = [0] * count
    chosen: dict[str, int] = {}
    options: list[list[int]] = []
    for _ in range(STEPS):
        if len(chosen) == len(order):
            return chosen
        group = order[len(chosen)]
        if len(options) == len(chosen):
            options.append(_options(clues, group, chosen, load, failures, wanted.get(group)))
        if options[-1]:
            p = options[-1].pop()
            chosen[group] = p
            load[p] += 1
        elif chosen:
            options.pop()
            _, p = chosen.popitem()
            load[p] -= 1
        else:
            break
    return _greedy(clues, order, count, failures)


def _wanted(clues: Clues, failures: Mapping[tuple[str, int], int]) -> dict[str, int]:
    """A group for each partition whose handoff had to wait for one."""
    wanted: dict[str, int] = {}
    for p, groups in clues.pauses:
        fitting = [group for group in groups if clues.likely[group] >> p & 1]
        if not any(wanted.get(group) == p for group in fitting):
            free = [group for group in fitting if group not in wanted]
            if free:
                wanted[min(free, key=lambda g: (failures.get((g, p), 0), clues.likely[g].bit_count(), g))] = p
    return wanted


def _options(
    clues: Clues,
    group: str,
    chosen: Mapping[str, int],
    load: Sequence[int],
    failures: Mapping[tuple[str, int], int],
    wanted: int | None,
) -> list[int]:
    """Where a group may be beside those that are placed; the best last."""
    taken = {chosen.get(other) for other in clues.apart.get(group, ())}
    free = [p for p in range(len(load)) if clues.likely[group] >> p & 1 and p not in taken]
    return sorted(free, key=lambda p: (failures.get((group, p), 0), p != wanted, load[p], p), reverse=True)


def _greedy(
    clues: Clues, order: Sequence[str], count: int, failures: Mapping[tuple[str, int], int]
) -> dict[str, int]:
    """A partition for each group, with as little against it as the groups before leave."""
    chosen: dict[str, int] = {}
    load = [0] * count
    for group in order:
        taken = {chosen.get(other) for other in clues.apart.get(group, ())}
        allowed = [p for p in range(count) if clues.masks[group] >> p & 1] or list(range(count))
        against = {
            p: failures.get((group, p), 0) + 2 * (p in taken) + (not clues.likely[group] >> p & 1)
            for p in allowed
        }
        best = min(allowed, key=lambda p: (against[p], load[p], p))
        chosen[group] = best
        load[best] += 1
    return chosen


def _group(message: Message, cfg: Config) -> str:
    keys = keys_of(cfg, message) if cfg.waived.isdisjoint(TOGETHER) else ()
    return f"key {keys[0]}" if len(keys) == 1 and keys[0] is not None else f"message {message.id}"


def _deliveries(effects: Sequence[Effect], groups: Mapping[str, str]) -> Iterator[Delivered]:
    sent = {m.id: (effect.call, effect.ret) for effect in effects for m in effect.action.messages}
    for effect in effects:
        if effect.action.op in DELIVERS:
            for rank, shown in enumerate(effect.observed.messages, effect.rank):
                if shown.id in groups:
                    yield Delivered(
                        shown.id,
                        groups[shown.id],
                        sent[shown.id],
                        (effect.call, effect.ret),
                        effect.record,
                        rank,
                        effect.action.flow,
                        shown.lock,
                        bool(shown.redelivered),
                    )


def _ownership(effects: Sequence[Effect], cfg: Config) -> dict[str, list[Owned]] | None:
    """By flow what it may have owned, and when; None where the history has no assignment events."""
    events: dict[int, list[Effect]] = {}
    for effect in effects:
        if effect.action.op == TELLS and effect.action.partition in cfg.names:
            events.setdefault(cfg.names.index(effect.action.partition), []).append(effect)
    owned: dict[str, list[Owned]] = {}
    for position, told in events.items():
        for index, effect in enumerate(told):
            flow = effect.action.flow
            if effect.action.state == "ready" and flow is not None:
                later = told[index + 1 :]
                until = min((other.ret for other in later), default=FOREVER)
                direct = bool(later) and later[0].action.state == "unassigned"
                owned.setdefault(flow, []).append(Owned(position, effect.call - cfg.telling, until, direct))
    return owned if events else None


def _pauses(
    effects: Sequence[Effect], cfg: Config, deliveries: Sequence[Delivered]
) -> Iterator[tuple[int, Sequence[str]]]:
    """The handoffs that did not pass at once, each with what may have been unsettled at the old flow: to the
    end of one that took all its time, when a shorter one began, and settled since if it passed on."""
    ends = _settled_at(effects)
    began: dict[int, Effect] = {}
    for effect in effects:
        if effect.action.op != TELLS or effect.action.partition not in cfg.names:
            continue
        before = began.pop(effect.action.partition, None)
        if effect.action.state == "paused":
            began[effect.action.partition] = effect
        elif before is not None:
            whole = effect.call - before.call >= cfg.entity.max_handoff
            since = (effect if whole else before).call
            until = effect.ret if effect.action.state == "unassigned" and not whole else FOREVER
            held = [d for d in deliveries if d.flow == before.action.flow and d.received[0] < before.call]
            groups = dict.fromkeys(d.group for d in held if since < ends.get(d.id, FOREVER) <= until)
            yield cfg.names.index(effect.action.partition), tuple(groups)


def _reachable(owned: Sequence[Owned], delivery: Delivered, settled: int | None) -> int:
    """The partitions that the delivery may have come from. ``settled``: by when the message was settled at
    the latest, where a partition is not likely that passed on without a pause before."""
    mask = 0
    for one in owned:
        if one.since <= delivery.received[1] and delivery.received[0] <= one.until:
            if settled is None or not one.direct or settled <= one.until:
                mask |= 1 << one.position
    return mask


def _settled_at(effects: Sequence[Effect]) -> dict[str, int]:
    """By when each message was deleted, ns; not there where it never was."""
    held = held_messages(effects)
    ends: dict[str, int] = {}
    for effect in effects:
        if effect.action.op in DELIVERS and effect.action.mode != "peek_lock":
            for shown in effect.observed.messages:
                ends[shown.id] = effect.ret
        elif effect.action.op in REMOVES and effect.observed.status == Outcome.OK:
            for token in effect.action.locks:
                if token in held:
                    ends[held[token]] = effect.ret
    return ends


def _apart(deliveries: Sequence[Delivered], abandoned: frozenset[str]) -> dict[str, list[str]]:
    """For each group those that cannot share its partition: a message was delivered while an earlier one,
    which the flow did not have, was still to come. ``abandoned``: locks; until its next delivery a message
    may stand anywhere then."""
    coming: dict[str, list[Delivered]] = {}
    for delivery in reversed(deliveries):
        coming.setdefault(delivery.id, []).append(delivery)
    waiting: dict[str, list[str]] = {}
    for delivery in sorted(deliveries, key=lambda d: d.sent):
        if delivery.id not in waiting.setdefault(delivery.group, []):
            waiting[delivery.group].append(delivery.id)
    last: dict[str, Delivered] = {}

    def in_line(id: str, flow: str | None) -> bool:
        """Whether the message is in its place, for that flow to get."""
        before = last.get(id)
        return bool(coming[id]) and (before is None or (before.lock not in abandoned and before.flow != flow))

    pairs: set[tuple[str, str]] = set()
    for delivery in deliveries:
        for group, ids in waiting.items():
            if group == delivery.group or (group, delivery.group) in pairs:
                continue
            passed = next((id for id in ids if in_line(id, delivery.flow)), None)
            if passed is not None and _overtakes(delivery, coming[passed][-1]):
                pairs |= {(group, delivery.group), (delivery.group, group)}
        coming[delivery.id].pop()
        last[delivery.id] = delivery
        if not coming[delivery.id] and delivery.id in waiting.get(delivery.group, ()):
            waiting[delivery.group].remove(delivery.id)
    apart: dict[str, list[str]] = {}
    for group, other in sorted(pairs):
        apart.setdefault(group, []).append(other)
    return apart


def _overtakes(late: Delivered, early: Delivered) -> bool:
    """Whether a message that was certainly sent later was certainly delivered first."""
    if early.sent[1] >= late.sent[0]:
        return False
    if late.record == early.record:
        return late.rank < early.rank
    return late.received[1] < early.received[0]
