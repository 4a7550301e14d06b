"""The order of effects as far as the history shows it: the static pass before the guided search.

For each effect an *estimate* of its instant, which orders what is tried first and excludes nothing, and the
effects that certainly come *before* it, which prunes. Nothing here asks the model.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, pairwise, product
from random import Random
from typing import Final, NamedTuple

from partq.conformance.oracle.colouring import colouring
from partq.conformance.oracle.copies import sent_again
from partq.conformance.oracle.effects import MAYBE, Effect, held_messages, may_fail, name_of
from partq.conformance.oracle.estimates import Estimate, Ordering, estimates_of, orderings_of, reconciled
from partq.conformance.oracle.placement import Clues, clues_of
from partq.conformance.oracle.roles import BINDS, CUTS, DELIVERS, KILLS, REMOVES, TELLS, UNBINDS
from partq.conformance.oracle.unplaced import likely_places
from partq.model.configuration import Config, position
from partq.model.grouping import grouped
from partq.model.messages import message_id
from partq.model.operations import FOR_GOOD, Outcome
from partq.model.routing.placing import key_of

REQUIRED: Final = 0
"""The effect has to be placed."""
OPTIONAL: Final = 1
"""The effect may be left out."""
FAILED: Final = 2
"""An unknown send that is never shown: that it failed explains at least as much as that it did not."""


_NUMBERING: Final = frozenset({"SEQ-1", "SEQ-2", "SEQ-3", "SEQ-4", "SEQ-5", "SEQ-6"})
"""With one of these waived, a gap between numbers tells nothing."""


class Guidance(NamedTuple):
    """Of each effect: ``roles``: one of the constants above. ``before``: the effects that certainly come
    before it, as bits. ``estimates``: its instant, in parts of a ns. ``places``: for a send whose partition
    is never shown, the positions to be tried, the likely one first, in a hasty search no other, and None for
    all of them; empty for any other effect. ``events``: of each partition the assignment events, in the
    order of their instants; ``unordered``: the partitions for which that need not be their order.
    ``likely``: what may be left out, and most likely happened. ``handoff``: how long one may last, ns.
    ``held``: of each lock token its message."""

    roles: tuple[int, ...]
    before: tuple[int, ...]
    estimates: tuple[int, ...]
    places: tuple[tuple[int | None, ...], ...]
    events: Mapping[int, Sequence[int]]
    unordered: frozenset[int]
    likely: tuple[int, ...]
    handoff: int
    held: Mapping[str, str]


class Known:
    """What effects show of their order, worked out once for all searches. ``first``: the guidance that most
    of them begin with, hasty or not, and the places that it has chosen."""

    def __init__(self, effects: Sequence[Effect], cfg: Config) -> None:
        self.effects = effects
        self.count = len(cfg.names)
        self.clues = clues_of(effects, cfg) if cfg.profile.flows else None
        self.senders = {
            message.id: n for n, effect in enumerate(effects) for message in effect.action.messages
        }
        self.shows = _shows(effects)
        copied = sent_again(effects)
        sought = frozenset(effect.action.session_id for effect in effects if effect.action.next)
        self.roles = tuple(_role(effect, copied, sought) for effect in effects)
        self.held = held_messages(effects)
        self.lost_flows = _lost_flows(effects) if cfg.profile.flows else ()
        self.likely = tuple(n for n, role in enumerate(self.roles) if role == OPTIONAL and self._happened(n))
        self.before = self._before(cfg.profile.flows)
        self.handoff = cfg.entity.max_handoff
        self.homes = _homes(effects, cfg)
        self.estimates = estimates_of(effects, cfg)
        numbered = not cfg.profile.flows and _NUMBERING.isdisjoint(cfg.waived)
        likely = likely_places(effects, self.homes, cfg) if numbered else {}
        self.places = tuple((likely[n], None) if n in likely else home for n, home in enumerate(self.homes))
        self.orderings = list(orderings_of(effects, self.senders, self.shows, self.homes, cfg))
        self.orderings += _copies_last(effects, copied)
        self.events = _events(effects, cfg)
        self.unordered = frozenset(p for p, told in self.events.items() if not _apart(effects, told))
        self.first: dict[bool, tuple[Guidance, Mapping[str, int]]] = {}

    def _happened(self, n: int) -> bool:
        """Whether an effect of unknown outcome most likely took place: messages came back that it may have
        taken, what it settles is not received again, or a flow is gone that its connection had."""
        effect = self.effects[n]
        if effect.missed:
            return True
        if effect.action.op in CUTS:
            mine = (span for who, *span in self.lost_flows if who == effect.action.proc)
            return any(effect.call <= until and since <= effect.ret for since, until in mine)
        ids = [self.held.get(token) for token in effect.action.locks]
        shown = (self.effects[k] for id in ids for k in self.shows.get(id or "", ()))
        again = any(other.action.op in DELIVERS and other.call >= effect.call for other in shown)
        return effect.action.op in REMOVES and not again

    def _before(self, in_order: bool) -> tuple[int, ...]:
        """``in_order``: whether the messages of one answer are delivered in its order (REB-3)."""
        before = [0] * len(self.effects)
        for n, (earlier, later) in enumerate(pairwise(self.effects), start=1):
            handed = later.observed.messages and not later.action.messages
            if in_order and handed and later.record == earlier.record:
                before[n] |= 1 << n - 1
        for id, showing in self.shows.items():
            for n in showing:
                if id in self.senders:
                    before[n] |= 1 << self.senders[id]
        sent: dict[str, int] = {}
        for n, effect in enumerate(self.effects):
            for message in effect.action.messages:
                if message.id in sent:  # what is stored later was sent before
                    before[n] |= 1 << sent[message.id]
                sent[message.id] = n
            for id in effect.action.about if effect.action.messages else ():
                before[n] |= 1 << sent[id] if id in sent else 0
        return tuple(before)

    def guidance(
        self, hasty: bool, chosen: Mapping[str, int], estimates: Sequence[Estimate], likely: tuple[int, ...]
    ) -> Guidance:
        """The guidance by these estimates and with flows by these places, for a hasty search or another."""
        orderings, places = self.orderings, self.places
        if hasty:
            places = tuple(some[:1] for some in places)
        if self.clues is not None:
            places = tuple(self._places(effect, self.clues, chosen, hasty) for effect in self.effects)
            orderings = [*self._by_delivery(self.clues, chosen), *orderings]
        instants = reconciled(self.effects, estimates, orderings)
        unordered = frozenset[int]() if hasty else self.unordered
        return Guidance(
            self.roles,
            self.before,
            instants,
            places,
            self.events,
            unordered,
            likely,
            self.handoff,
            self.held,
        )

    def _places(
        self, effect: Effect, clues: Clues, chosen: Mapping[str, int], hasty: bool
    ) -> tuple[int, ...]:
        if not effect.action.messages:
            return ()
        group = clues.groups[effect.action.messages[0].id]
        likely = dict.fromkeys(chosen[one] for one in (*clues.either.get(group, ()), group))
        rest = () if hasty else (p for p in range(self.count) if clues.masks[group] >> p & 1)
        return (*(likely | dict.fromkeys(rest)),)

    def _by_delivery(self, clues: Clues, chosen: Mapping[str, int]) -> Iterator[Ordering]:
        """Sends to one partition in the order of first deliveries."""
        last: dict[int, int] = {}
        met: set[str] = set()
        for delivery in clues.deliveries:
            if delivery.id not in met:
                met.add(delivery.id)
                place, sender = chosen[delivery.group], self.senders[delivery.id]
                if place in last and self.effects[last[place]].ret >= self.effects[sender].call:
                    yield last[place], sender
                last[place] = sender


class Guide:
    """What leads the searches for one history: what is ``known`` of it, and what those that failed have
    taught. ``chosen``: with flows the partition that was last tried for each group of messages."""

    def __init__(self, known: Known) -> None:
        self.known = known
        self.failures: Counter[tuple[str, int]] = Counter()
        self.chosen: Mapping[str, int] = {}

    def guidance(self, hasty: bool = False, random: Random | None = None) -> Guidance:
        """The guidance for the next search. ``hasty``: what is likely counts as certain. ``random``: draws
        estimates, what is likely and places, for a search that starts again where others were stuck."""
        known = self.known
        if random is not None:
            estimates, likely = self._drawn(random)
            self.chosen = self._coloured(self._disliked(random))
            return known.guidance(hasty, self.chosen, estimates, likely)
        if self.failures:
            self.chosen = self._coloured(self.failures)
            return known.guidance(hasty, self.chosen, known.estimates, known.likely)
        if hasty not in known.first:
            chosen = self._coloured(self.failures)
            known.first[hasty] = known.guidance(hasty, chosen, known.estimates, known.likely), chosen
        first, self.chosen = known.first[hasty]
        return first

    def _coloured(self, failures: Mapping[tuple[str, int], int]) -> Mapping[str, int]:
        clues = self.known.clues
        return {} if clues is None else colouring(clues, self.known.count, failures)

    def _drawn(self, random: Random) -> tuple[list[Estimate], tuple[int, ...]]:
        """Draw estimates within their spans, and keep half of the effects that most likely happened."""
        known = self.known
        end = max((estimate.instant for estimate in known.estimates), default=0)
        estimates = [estimate.drawn(random, end) for estimate in known.estimates]
        return estimates, tuple(n for n in known.likely if random.random() < 0.5)

    def _disliked(self, random: Random) -> dict[tuple[str, int], int]:
        """Draw a penalty for each place."""
        masks = () if self.known.clues is None else self.known.clues.masks
        places = range(self.known.count)
        return {(group, p): random.randrange(self.known.count) for group in masks for p in places}

    def learn(self, concerned: Iterable[Iterable[str]]) -> None:
        """Note at which messages a search failed."""
        clues = self.known.clues
        for id in chain.from_iterable(concerned) if clues is not None else ():
            group = None if clues is None else clues.groups.get(id)
            if group is not None:
                self.failures[group, self.chosen[group]] += 1


def _lost_flows(effects: Sequence[Effect]) -> tuple[tuple[str, int, int], ...]:
    """The clients of flows that are gone though neither was unbound nor a broker killed: each with the times
    between which that happened, as an event says, or from the bind to what was refused first."""
    bound: dict[str, Effect] = {}
    found: list[tuple[str, int, int]] = []
    for effect in effects:
        flow, op, status = effect.action.flow, effect.action.op, effect.observed.status
        if op == KILLS:
            bound.clear()
        elif op in BINDS and flow is not None and status == Outcome.OK:
            bound[flow] = effect
        elif flow in bound and op == UNBINDS and status == Outcome.OK:
            del bound[flow]
        elif flow in bound and op == TELLS and effect.action.state == "unbound":
            found.append((bound.pop(flow).action.proc, effect.call, effect.ret))
        elif flow in bound and status == Outcome.ERROR and effect.observed.error in FOR_GOOD:
            found.append((effect.action.proc, bound.pop(flow).call, effect.ret))
    return tuple(found)


def _homes(effects: Sequence[Effect], cfg: Config) -> tuple[tuple[int, ...], ...]:
    """Of each send whose partition is not shown itself: where other messages of its key are shown. With
    requirements waived that is only the likely place."""
    shown: dict[str, int] = {}
    for effect in effects:
        if not effect.action.messages:
            continue
        places = {hint.id: position(cfg, name_of(hint)) for hint in effect.observed.messages}
        for message in effect.action.messages:
            place, key = places.get(message.id), key_of(cfg, message)
            if key is not None and place is not None:
                shown.setdefault(key, place)
    return tuple(_home(effect, shown, cfg) for effect in effects)


def _home(effect: Effect, shown: Mapping[str, int], cfg: Config) -> tuple[int, ...]:
    if not effect.action.messages or any(name_of(hint) is not None for hint in effect.observed.messages):
        return ()
    keys = {key_of(cfg, message) for message in effect.action.messages}
    key = next(iter(keys))
    if len(keys) > 1 or key is None or key not in shown:
        return ()
    others = (p for p in range(cfg.entity.partitions) if p != shown[key]) if cfg.waived else ()
    return (shown[key], *others)


def _events(effects: Sequence[Effect], cfg: Config) -> dict[int, list[int]]:
    """By partition: its assignment events, in the order of their times."""
    events = ((n, effect.action.partition) for n, effect in enumerate(effects) if effect.action.op == TELLS)
    found = grouped((cfg.names.index(name), n) for n, name in events if name in cfg.names)
    for told in found.values():
        told.sort(key=lambda n: effects[n].call)
    return found


def _apart(effects: Sequence[Effect], told: Sequence[int]) -> bool:
    """Whether each certainly came before the next."""
    return all(effects[a].ret < effects[b].call for a, b in pairwise(told))


def _shows(effects: Sequence[Effect]) -> dict[str, list[int]]:
    """The effects whose answers show each message."""
    answers = ((n, effect.observed) for n, effect in enumerate(effects) if not effect.action.messages)
    return grouped((shown.id, n) for n, observed in answers for shown in observed.messages)


def _copies_last(effects: Sequence[Effect], copied: Collection[str]) -> Iterator[Ordering]:
    """Of messages of one ID that were sent at the same time those that are shown come first: they had the
    others dropped."""
    sends: dict[str, list[tuple[int, bool]]] = {}
    for n, effect in enumerate(effects) if copied else ():
        shown = {hint.id for hint in effect.observed.messages}
        for message in effect.action.messages:
            if message_id(message.id) in copied:
                sends.setdefault(message_id(message.id), []).append((n, message.id in shown))
    for several in sends.values():
        for first, second in product(several, several):
            a, b = effects[first[0]], effects[second[0]]
            if first[1] and not second[1] and first[0] != second[0] and b.call <= a.ret and a.call <= b.ret:
                yield first[0], second[0]


def _role(effect: Effect, copied: Collection[str], sought: Collection[str | None]) -> int:
    """``copied``: the message IDs that were sent several times. Of these a send that is never shown may be
    what has the others dropped, and one of a scheduled message may have used up a second number when that
    was activated. ``sought``: the sessions that came next, as such a send may have them do."""
    if not effect.doubt & MAYBE:
        return REQUIRED
    messages = effect.action.messages
    alone = all(
        message_id(one.id) not in copied and one.session_id not in sought and one.scheduled_at is None
        for one in messages
    )
    return FAILED if alone and may_fail(effect) and effect.action.txn is None else OPTIONAL
