"""Excerpts of a history: the effects in some of its partitions, where these are shown.

Effects shown to be in other partitions are left out. Partitions that one transaction or settlement touches
stay together. A send that is left out may have been tried in a partition that was down first, and have used
up a number there (SEQ-4): in the excerpt it is one that failed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from partq.conformance.oracle.effects import MAYBE, Effect, held_messages, name_of, named_by, without_others
from partq.model.configuration import FOREVER, Config, position
from partq.model.messages import message_id
from partq.model.operations import Outcome

Places = frozenset[int]


def by_partitions(effects: Sequence[Effect], cfg: Config) -> Iterator[tuple[Effect, ...]]:
    """An excerpt for each set of partitions that is independent of the others."""
    places = _places(effects, cfg)
    hidden = _hidden(effects, places)
    groups = _tied((*places, hidden))
    always = frozenset().union(*(group for group in groups if group & hidden))
    tried = {n for effect in effects for n in effect.waiting}
    for kept in dict.fromkeys(group | always for group in groups):
        if len(groups) > 1 and kept < frozenset().union(*groups):
            yield _excerpt(effects, places, kept, tried)


def _places(effects: Sequence[Effect], cfg: Config) -> list[Places]:
    """Of each effect the positions of the partitions that it is shown to touch; none where that is open."""
    homes: dict[str, Places] = {}
    of_id: dict[str, Places] = {}
    for effect in effects:
        for shown in effect.observed.messages:
            place = position(cfg, name_of(shown))
            if place is not None:
                homes[shown.id] = homes.get(shown.id, frozenset()) | {place}
                of_id[message_id(shown.id)] = of_id.get(message_id(shown.id), frozenset()) | {place}
    held = held_messages(effects)
    own = [_own(effect, homes, held, cfg) | _beside_copies(effect, of_id) for effect in effects]
    touched: dict[str, Places] = {}
    for effect, places in zip(effects, own, strict=True):
        if effect.action.txn is not None:
            touched[effect.action.txn] = touched.get(effect.action.txn, frozenset()) | places
    return [touched.get(e.action.txn or "", places) for e, places in zip(effects, own, strict=True)]


def _beside_copies(effect: Effect, of_id: Mapping[str, Places]) -> Places:
    """The positions where messages with the IDs sent are shown."""
    return frozenset[int]().union(*(of_id.get(message_id(m.id), ()) for m in effect.action.messages))


def _own(effect: Effect, homes: dict[str, Places], held: dict[str, str], cfg: Config) -> Places:
    action = effect.action
    ids = {shown.id for shown in effect.observed.messages} | named_by(action, held)
    if action.only is not None and cfg.names[action.only] >= 0:
        return frozenset({action.only % cfg.entity.partitions})
    return frozenset().union(*(homes.get(id, ()) for id in ids))


def _hidden(effects: Sequence[Effect], places: Sequence[Places]) -> Places:
    """The partitions of transactions of which not every message is shown: these may have used up numbers of
    any partition, so that they are in every excerpt."""
    found: Places = frozenset()
    for effect, here in zip(effects, places, strict=True):
        sent = {message.id for message in effect.action.messages}
        if effect.action.txn is not None and sent > {shown.id for shown in effect.observed.messages}:
            found |= here
    return found


def _tied(touched: Iterable[Places]) -> list[Places]:
    """The sets of partitions that are touched together."""
    groups: list[Places] = []
    for joined in dict.fromkeys(touched):
        for group in [group for group in groups if group & joined]:
            groups.remove(group)
            joined |= group
        if joined:
            groups.append(joined)
    return sorted(groups, key=sorted)


def _excerpt(
    effects: Sequence[Effect], places: Sequence[Places], partitions: Places, tried: set[int]
) -> tuple[Effect, ...]:
    kept: dict[int, Effect] = {}
    for n, (effect, here) in enumerate(zip(effects, places, strict=True)):
        if not here or here & partitions:
            kept[n] = without_others(effect)
        elif n in tried:
            # as a send of unknown outcome whose messages are never shown
            observed = effect.observed._replace(status=Outcome.OK, messages=())
            kept[n] = effect._replace(observed=observed, doubt=MAYBE, ret=FOREVER)
    numbers = {n: k for k, n in enumerate(kept)}
    return tuple(
        effect._replace(waiting=tuple(numbers[n] for n in effect.waiting if n in numbers))
        for effect in kept.values()
    )
