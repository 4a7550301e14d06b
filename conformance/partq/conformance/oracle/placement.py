"""The partitions a message may be in where none is shown, from deliveries to flows.

A flow is handed what is in its partitions, and assignment events say which these were. Equal keys live
together. From both follow, for each group of messages that share a partition, the partitions that are
possible (`Clues.masks`). The order of deliveries, and handoffs that waited for nothing, make some of them
likely. A choice for all groups together is a `colouring`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, pairwise
from typing import Any, Final, NamedTuple

from partq.conformance.oracle.effects import Effect, held_messages
from partq.conformance.oracle.roles import DELIVERS, KILLS, REMOVES, RETURNS, TELLS, UPDATES
from partq.model.configuration import FOREVER, Config
from partq.model.grouping import grouped
from partq.model.messages import Message
from partq.model.operations import DRAINED
from partq.model.routing.placing import keys_of

TOGETHER: Final = frozenset({"KEY-8", "ROUTE-1", "ROUTE-2"})
"""Rules that keep equal keys together; if one is waived, each message is a group of its own."""

REMAPS: Final = frozenset({"REB-17"})
"""Rules on what maps keys anew; if one is waived, each update may."""

Span = tuple[int, int]
"""An interval, ns."""

NEVER: Final[Span] = (FOREVER, FOREVER)


class Delivered(NamedTuple):
    """A delivery of a message: its group, between what instants it was sent and delivered, in which record
    and at which place of the answer, to which flow, with which lock, and whether it was known to be a
    redelivery."""

    id: str
    group: str
    sent: Span
    received: Span
    record: int
    rank: int
    flow: str | None
    lock: str | None
    redelivered: bool


class Owned(NamedTuple):
    """A partition may have been ready for a flow from ``since`` to ``until``, ns, and most likely was no
    earlier than that was ``told``. ``settled``: until then whatever the flow had of it was settled, as it
    passed on sooner than a handoff waits."""

    position: int
    since: int
    told: int
    until: int
    settled: int


class Clues(NamedTuple):
    """What the history says. ``groups``: by message, what it shares its partition with. By group: ``masks``,
    the positions where it may be, as bits; ``likely``, those of them where nothing speaks against it.
    ``apart``: for each group those that cannot share its partition. ``pauses``: partitions that were paused,
    each with the groups of which a message may have been unsettled. ``deliveries``: in their order.
    ``either``: of a group that may share its partition with what has its key before an update or after it
    (`_mapping`), these groups."""

    groups: Mapping[str, str]
    masks: Mapping[str, int]
    likely: Mapping[str, int]
    apart: Mapping[str, Sequence[str]]
    pauses: Sequence[tuple[int, Sequence[str]]]
    deliveries: Sequence[Delivered]
    either: Mapping[str, Sequence[str]] = {}


def clues_of(effects: Sequence[Effect], cfg: Config) -> Clues:
    """Collect the clues in these effects."""
    updates = _changing(effects, cfg)
    sends = [(message, effect) for effect in effects for message in effect.action.messages]
    groups = {message.id: _group(message, cfg, _mapping(effect, updates)) for message, effect in sends}
    either = _either(sends, updates, groups, cfg) if updates else {}
    deliveries = sorted(_deliveries(effects, groups), key=lambda d: (d.received[1], d.record, d.rank))
    masks = dict.fromkeys(groups.values(), (1 << len(cfg.names)) - 1)
    likely = dict(masks)
    told, ends = _told(effects, cfg), _settled_at(effects)
    if updates:
        for id, kept in _kept(effects, updates, deliveries, ends, cfg.entity.partitions):
            likely[groups[id]] &= kept
    kills = [effect.call for effect in effects if effect.action.op == KILLS]
    if told:
        owned = _ownership(told, kills, cfg)
        untold = max(effect.call for effect in effects) - cfg.telling
        for delivery in deliveries:  # what changes after that need not be told of
            if delivery.received[1] >= untold:
                continue
            mine = owned.get(delivery.flow or "", ())
            masks[delivery.group] &= _reachable(mine, delivery, None)
            likely[delivery.group] &= _reachable(mine, delivery, ends.get(delivery.id, NEVER)[0])
    abandoned = (effect.action.locks for effect in effects if effect.action.op in RETURNS)
    apart = _apart(deliveries, frozenset(chain.from_iterable(abandoned)))
    if updates:
        _keep_deleted_apart(apart, effects, groups, deliveries, updates)
    likely = {group: likely[group] or masks[group] for group in masks}
    if cfg.waived:
        masks = dict.fromkeys(masks, (1 << len(cfg.names)) - 1)
    pauses = list(_pauses(told, kills, ends, deliveries, cfg.entity.max_handoff - cfg.telling))
    return Clues(groups, masks, likely, apart, pauses, deliveries, either)


def _group(message: Message, cfg: Config, mapping: str | None) -> str:
    keys = keys_of(cfg, message) if cfg.waived.isdisjoint(TOGETHER) and mapping is not None else ()
    return f"key {keys[0]}{mapping}" if len(keys) == 1 and keys[0] is not None else f"message {message.id}"


def _mapping(send: Effect, updates: Sequence[Effect]) -> str | None:
    """After which of the updates, each of which may map keys anew, the send was; None where that is open."""
    if any(update.call <= send.ret and send.call <= update.ret for update in updates):
        return None
    return _after(sum(update.ret < send.call for update in updates))


def _after(count: int) -> str:
    return f" after update {count}" if count else ""


def _either(
    sends: Sequence[tuple[Message, Effect]], updates: Sequence[Effect], groups: Mapping[str, str], cfg: Config
) -> dict[str, Sequence[str]]:
    """Of each message that was sent during an update: the groups of its key, the latest first."""
    known, found = frozenset(groups.values()), dict[str, Sequence[str]]()
    for message, send in sends:
        if _mapping(send, updates) is None:
            least = sum(update.ret < send.call for update in updates)
            most = sum(update.call <= send.ret for update in updates)
            own = [_group(message, cfg, _after(count)) for count in range(most, least - 1, -1)]
            found[groups[message.id]] = [one for one in own if one in known]
    return found


def _changing(effects: Sequence[Effect], cfg: Config) -> list[Effect]:
    """The updates that may have changed the number of partitions."""
    updates = [effect for effect in effects if effect.action.op == UPDATES and _is_possible(effect, cfg)]
    if not cfg.waived.isdisjoint(REMAPS):
        return updates
    found: list[Effect] = []
    now: int | None = cfg.entity.partitions
    last = -FOREVER
    for effect in updates:
        if effect.ok:
            asked = _asked(effect)
            if effect.call <= last or asked != now:
                found.append(effect)
                now = None if effect.call <= last or effect.doubt else asked
            last = max(last, effect.ret)
    return found


def _asked(update: Effect) -> Any:
    """How many partitions it asks for."""
    return dict(update.action.settings).get("partitions")


def _is_possible(update: Effect, cfg: Config) -> bool:
    """Whether there may be as many partitions as are asked for."""
    count = _asked(update)
    return type(count) is int and 0 < count <= len(cfg.names)


def _kept(
    effects: Sequence[Effect],
    updates: Sequence[Effect],
    deliveries: Sequence[Delivered],
    ends: Mapping[str, Span],
    count: int,
) -> Iterator[tuple[str, int]]:
    """Of each message the positions of the partitions, as bits, that there were from its send to its last
    delivery; of one that was neither settled nor is there at the end those of them that were deleted then, if
    any was. ``count``: of the partitions at first."""
    last = {delivery.id: delivery.received[0] for delivery in deliveries}
    drained = any(effect.action.op == DRAINED for effect in effects)
    changes = [(-FOREVER, count)]
    for update in updates:
        changes.append((update.call, _asked(update)))
    for effect in effects:
        sent = max(n for n, (since, _) in enumerate(changes) if since <= effect.call)
        for message in effect.action.messages:
            until = last.get(message.id, effect.call)
            lasted = min(
                changes[sent][1], *(many for since, many in changes[sent + 1 :] if since <= until), FOREVER
            )
            left = min((many for since, many in changes if since > until), default=lasted)
            deleted = drained and message.id not in ends and left < lasted
            yield message.id, (1 << lasted) - (1 << left if deleted else 1)


def _deliveries(effects: Sequence[Effect], groups: Mapping[str, str]) -> Iterator[Delivered]:
    sent = {m.id: (effect.call, effect.ret) for effect in effects for m in effect.action.messages}
    for effect in effects:
        if effect.action.op in DELIVERS:
            for id in sent.keys() & {shown.id for shown in effect.observed.messages}:
                sent[id] = sent[id][0], min(sent[id][1], effect.ret)
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


def _told(effects: Sequence[Effect], cfg: Config) -> dict[int, list[Effect]]:
    """By position of a partition: its assignment events in their order."""
    events = ((effect, effect.action.partition) for effect in effects if effect.action.op == TELLS)
    return grouped((cfg.names.index(name), effect) for effect, name in events if name in cfg.names)


def _ownership(
    told: Mapping[int, Sequence[Effect]], kills: Sequence[int], cfg: Config
) -> dict[str, list[Owned]]:
    """By flow: the partitions it may have owned, and when."""
    owned: dict[str, list[Owned]] = {}
    longest = cfg.entity.max_handoff - cfg.telling
    for position, events in told.items():
        for index, effect in enumerate(events):
            flow = effect.action.flow
            if effect.action.state == "ready" and flow is not None:
                later = events[index + 1 :]
                until = min((other.ret for other in later), default=FOREVER)
                settled = _passed_on(later, kills, longest)
                mine = Owned(position, effect.call - cfg.telling, effect.call, until, settled)
                owned.setdefault(flow, []).append(mine)
    return owned


def _passed_on(later: Sequence[Effect], kills: Sequence[int], longest: int) -> int:
    """When a partition passed to another flow, at once or after a handoff that ended before its ``longest``
    time; `FOREVER` where it did not. ``later``: its events from then on; ``kills``: as in `_pauses`."""
    states = [effect.action.state for effect in later[:2]]
    if states[:1] == ["unassigned"]:
        return later[0].ret
    if states == ["paused", "unassigned"]:
        paused, passed = later[:2]
        killed = any(paused.call < kill < passed.call for kill in kills)
        if not killed and passed.call - paused.call < longest:
            return passed.ret
    return FOREVER


def _pauses(
    told: Mapping[int, Sequence[Effect]],
    kills: Sequence[int],
    ends: Mapping[str, Span],
    deliveries: Sequence[Delivered],
    longest: int,
) -> Iterator[tuple[int, Sequence[str]]]:
    """The handoffs that did not pass at once, each with what may have been unsettled at the old flow: to the
    end of one that took the ``longest`` time, when a shorter one, or one that a kill ended, began, and
    settled since if it passed on. ``kills``: their instants; ``ends``: see `_settled_at`."""
    handoffs = ((p, *pair) for p, events in told.items() for pair in pairwise(events))
    for p, before, effect in handoffs:
        if before.action.state != "paused" or effect.action.state == "paused":
            continue
        killed = any(before.call < kill < effect.call for kill in kills)
        whole = not killed and effect.call - before.call >= longest
        since = (effect if whole else before).call
        passed = effect.action.state == "unassigned" and not whole and not killed
        until = effect.ret if passed else FOREVER
        held = [d for d in deliveries if d.flow == before.action.flow and d.received[0] < before.call]
        settled = [(d.group, *ends.get(d.id, NEVER)) for d in held]
        yield p, tuple(dict.fromkeys(group for group, call, ret in settled if since < ret and call <= until))


def _reachable(owned: Sequence[Owned], delivery: Delivered, settled: int | None) -> int:
    """The partitions that the delivery may have come from. ``settled``: when the message was settled at the
    earliest; then only the likely ones are meant, and one is not that passed on before."""
    mask = 0
    for one in owned:
        since = one.since if settled is None else one.told
        if since <= delivery.received[1] and delivery.received[0] <= one.until:
            if settled is None or settled <= one.settled:
                mask |= 1 << one.position
    return mask


def _settled_at(effects: Sequence[Effect]) -> dict[str, Span]:
    """Between what instants each message was deleted; not there where it never was."""
    held = held_messages(effects)
    ends: dict[str, Span] = {}
    for effect in effects:
        if effect.action.op in DELIVERS and effect.action.mode != "peek_lock":
            for shown in effect.observed.messages:
                ends[shown.id] = effect.call, effect.ret
        elif effect.action.op in REMOVES and effect.ok:
            for token in effect.action.locks:
                if token in held:
                    ends[held[token]] = effect.call, effect.ret
    return ends


def _apart(deliveries: Sequence[Delivered], abandoned: frozenset[str]) -> dict[str, list[str]]:
    """For each group those that cannot share its partition: a message was delivered while an earlier one,
    which the flow did not have, was still to come. ``abandoned``: locks; until its next delivery a message
    may stand anywhere then."""
    coming = grouped((delivery.id, delivery) for delivery in reversed(deliveries))
    waiting: dict[str, list[str]] = {}
    for delivery in sorted(deliveries, key=lambda d: d.sent):
        if delivery.id not in waiting.setdefault(delivery.group, []):
            waiting[delivery.group].append(delivery.id)
    last: dict[str, Delivered] = {}
    firsts = {delivery.id: delivery for delivery in reversed(deliveries)}

    def in_line(id: str, delivery: Delivered) -> bool:
        """Whether the message is in its place when that delivery takes place, for its flow to get."""
        before = last.get(id)
        if before is None:
            return True
        again = before.flow == delivery.flow and coming[id][-1].record != delivery.record
        return before.lock not in abandoned and not again

    pairs: set[tuple[str, str]] = set()
    for delivery in deliveries:
        for group, ids in waiting.items():
            if group == delivery.group or (group, delivery.group) in pairs:
                continue
            for id in ids:
                if coming[id] and in_line(id, delivery):
                    if _overtakes(delivery, coming[id][-1], firsts):
                        pairs |= {(group, delivery.group), (delivery.group, group)}
                    break
        coming[delivery.id].pop()
        last[delivery.id] = delivery
        if not coming[delivery.id] and delivery.id in waiting.get(delivery.group, ()):
            waiting[delivery.group].remove(delivery.id)
    return grouped(sorted(pairs))


def _keep_deleted_apart(
    apart: dict[str, list[str]],
    effects: Sequence[Effect],
    groups: Mapping[str, str],
    deliveries: Sequence[Delivered],
    updates: Sequence[Effect],
) -> None:
    """What is never delivered was deleted with its partition: until then nothing that was delivered passed it
    there."""
    delivered = {delivery.id for delivery in deliveries}
    for effect in effects:
        certain = effect.ok and not effect.doubt
        gone = min((update.ret for update in updates if effect.ret < update.call), default=FOREVER)
        for group in {groups[m.id] for m in effect.action.messages if certain and m.id not in delivered}:
            for other in {d.group for d in deliveries if effect.ret < d.sent[0] <= gone} - {group}:
                for one, two in ((group, other), (other, group)):
                    if two not in apart.setdefault(one, []):
                        apart[one].append(two)


def _overtakes(late: Delivered, early: Delivered, firsts: Mapping[str, Delivered]) -> bool:
    """Whether a message was certainly delivered before another that stands before it, if they share a
    partition: it was certainly sent later, or first delivered later. ``firsts``: the first deliveries."""
    first, second = firsts[early.id], firsts[late.id]
    new = not first.redelivered and not second.redelivered
    stands_after = early.sent[1] < late.sent[0] or (new and _precedes(first, second))
    return stands_after and _precedes(late, early)


def _precedes(one: Delivered, other: Delivered) -> bool:
    """Whether the one delivery was certainly before the other."""
    if one.record == other.record:
        return one.rank < other.rank
    return one.received[1] < other.received[0]
