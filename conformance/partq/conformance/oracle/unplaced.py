"""Where messages that are never shown most likely are: numbers that no message is shown with were theirs.

A send of which nothing tells the partition fills a gap between the numbers of messages that were stored
before it and after it; where there is none, it is in a partition of which no number is shown. This orders
what a search tries first, and excludes nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from partq.conformance.oracle.effects import MAYBE, Effect, name_of
from partq.conformance.oracle.roles import BURIES, COMMITS
from partq.model.configuration import Config, position
from partq.model.messages import is_copy
from partq.model.operations import Outcome
from partq.model.routing.placing import key_of

_MOST: Final = 64
"""A gap of more numbers tells nothing."""


class _Gap(NamedTuple):
    """Numbers of the partition at ``place`` that are never shown, given between these two effects."""

    place: int
    after: int
    before: int


def likely_places(
    effects: Sequence[Effect], homes: Sequence[Sequence[int]], cfg: Config
) -> Mapping[int, int]:
    """Send -> the position of its most likely partition, where nothing tells it."""
    groups = [*_groups(effects, homes, cfg)]
    if not groups:
        return {}
    gaps = _Gaps(effects, cfg)
    for n, home in _unnumbered(effects, homes, cfg):
        gaps.fill([n], 1, home)
    free = next((p for p, name in enumerate(cfg.names[: cfg.entity.partitions]) if name < 0), None)
    found: dict[int, int] = {}
    for group in groups:
        filled = gaps.fill(group, sum(len(effects[n].action.messages) for n in group))
        if (place := free if filled is None else filled) is not None:
            found.update(dict.fromkeys(group, place))
    return found


class _Gaps:
    """Each gap with how many numbers of it are left."""

    def __init__(self, effects: Sequence[Effect], cfg: Config) -> None:
        self.effects = effects
        self.left = Counter(dict(_found(effects, cfg)))

    def fill(self, group: Sequence[int], size: int, place: int | None = None) -> int | None:
        """The partition of the narrowest gap in which all of these sends may have taken so many numbers, at
        that place, if one is named; None: there is none."""
        fits = [gap for gap in self.left if place in (None, gap.place) and self._fits(gap, group, size)]
        if not fits:
            return None
        gap = min(fits, key=self._width)
        self.left[gap] -= size
        return gap.place

    def _fits(self, gap: _Gap, group: Sequence[int], size: int) -> bool:
        after, before = self.effects[gap.after], self.effects[gap.before]
        mine = [self.effects[n] for n in group]
        return self.left[gap] >= size and all(e.call <= before.ret and e.ret >= after.call for e in mine)

    def _width(self, gap: _Gap) -> int:
        return self.effects[gap.before].ret - self.effects[gap.after].call


def _found(effects: Sequence[Effect], cfg: Config) -> Iterator[tuple[_Gap, int]]:
    """Each gap with its size."""
    numbered: dict[int, list[tuple[int, int]]] = {}
    for n, effect in enumerate(effects):
        stores = effect.action.messages and effect.action.op != BURIES
        for hint in effect.observed.messages if stores else ():
            place = position(cfg, name_of(hint))
            if place is not None and hint.seq is not None:
                numbered.setdefault(place, []).append((hint.seq % (1 << cfg.bits), n))
    for place, several in numbered.items():
        for (low, after), (high, before) in pairwise(sorted(several)):
            if 1 < high - low <= _MOST:
                yield _Gap(place, after, before), high - low - 1


def _sent(effects: Sequence[Effect]) -> Iterator[tuple[int, Effect]]:
    """The sends that certainly stored messages, at once or at a commit."""
    committed = {e.action.txn for e in effects if e.action.op == COMMITS and e.observed.status == Outcome.OK}
    for n, effect in enumerate(effects):
        stored = effect.observed.status == Outcome.OK and not effect.doubt & MAYBE
        is_done = effect.action.txn is None or effect.action.txn in committed
        if effect.action.messages and stored and is_done and effect.action.op != BURIES:
            yield n, effect


def _unnumbered(
    effects: Sequence[Effect], homes: Sequence[Sequence[int]], cfg: Config
) -> Iterator[tuple[int, int]]:
    """Each message whose partition is told, and its number not: its send, and the partition's position."""
    for n, effect in _sent(effects):
        hints = {hint.id: hint for hint in effect.observed.messages}
        for message in effect.action.messages:
            hint = hints.get(message.id)
            place = position(cfg, name_of(hint)) if hint is not None else next(iter(homes[n]), None)
            if place is not None and (hint is None or hint.seq is None) and not is_copy(message.id):
                yield n, place


def _groups(effects: Sequence[Effect], homes: Sequence[Sequence[int]], cfg: Config) -> Iterator[list[int]]:
    """The sends of which nothing tells the partition, those of one key together."""
    found: dict[object, list[int]] = {}
    for n, effect in _sent(effects):
        if not effect.observed.messages and not homes[n] and effect.action.txn is None:
            keys = {key_of(cfg, message) for message in effect.action.messages} - {None}
            if len(keys) < 2:
                found.setdefault(next(iter(keys), n), []).append(n)
    yield from found.values()
