"""Where messages that are never shown most likely are: numbers that no message is shown with were theirs.

A send of which nothing tells the partition fills a gap between the numbers of messages that were stored
before it and after it; where there is none, it is in a partition of which no number is shown, or no later
one. Outages say more of a key: what was stored meanwhile is elsewhere, what was refused meanwhile most
likely there. This orders what a search tries first, and excludes nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from partq.conformance.oracle.effects import BUSY, MAYBE, Effect, name_of
from partq.conformance.oracle.roles import BURIES, COMMITS, DOWN, OUTAGES
from partq.model.configuration import FOREVER, Config, position
from partq.model.grouping import grouped
from partq.model.messages import is_copy
from partq.model.routing.placing import key_of

_MOST: Final = 64
"""A gap of more numbers tells nothing."""


class _Gap(NamedTuple):
    """Numbers of the partition at ``place`` that are never shown, given between these two effects; after
    none: those before the first one that is shown, before none: those that follow on the last one."""

    place: int
    after: int | None
    before: int | None


def likely_places(
    effects: Sequence[Effect], homes: Sequence[Sequence[int]], cfg: Config
) -> Mapping[int, int]:
    """Send -> the position of its most likely partition, where nothing tells it."""
    groups = [*_groups(effects, homes, cfg)] if cfg.entity.partitions > 1 else []
    if not groups:
        return {}
    gaps = _Gaps(effects, cfg)
    for n, home in _unnumbered(effects, homes, cfg):
        gaps.fill([n], 1, home)
    free = _free(cfg)
    outages = _Outages(effects, cfg)
    found: dict[int, int] = {}
    for group in groups:
        filled = gaps.fill(group, sum(len(effects[n].action.messages) for n in group))
        if (place := outages.place(group, free if filled is None else filled)) is not None:
            found.update(dict.fromkeys(group, place))
    return found | _alike(effects, homes, found, cfg)


def _alike(
    effects: Sequence[Effect], homes: Sequence[Sequence[int]], found: Mapping[int, int], cfg: Config
) -> dict[int, int]:
    """Every other send of a key whose place was found, in transactions or of unknown outcome: the first one
    that the model is asked about maps the key."""
    places = {key_of(cfg, effects[n].action.messages[0]): place for n, place in found.items()}
    others = (n for n, effect in enumerate(effects) if effect.action.messages and not homes[n])
    keys = {n: {key_of(cfg, message) for message in effects[n].action.messages} for n in others}
    alike = {n: next(iter(several)) for n, several in keys.items() if len(several) == 1}
    return {n: places[key] for n, key in alike.items() if key is not None and key in places}


def _free(cfg: Config) -> int | None:
    """The position of a partition of which no number is shown, if there is one."""
    return next((p for p, name in enumerate(cfg.names[: cfg.entity.partitions]) if name < 0), None)


class _Gaps:
    """Each gap with how many numbers of it are left."""

    def __init__(self, effects: Sequence[Effect], cfg: Config) -> None:
        self.effects = effects
        self.left = Counter(dict(_found(effects, cfg)))
        self.commits = grouped((one.action.txn, one) for one in effects if one.action.op == COMMITS)

    def fill(self, group: Sequence[int], size: int, place: int | None = None) -> int | None:
        """The partition of the narrowest gap in which all of these sends may have taken so many numbers, at
        that place, if one is named; None: there is none."""
        stores = [self._stores(self.effects[n]) for n in group]
        fits = [gap for gap in self.left if place in (None, gap.place) and self._fits(gap, stores, size)]
        if not fits:
            return None
        gap = min(fits, key=self._width)
        self.left[gap] -= size
        return gap.place

    def _fits(self, gap: _Gap, stores: Sequence[Effect], size: int) -> bool:
        start, end = self._start(gap), self._end(gap)
        return self.left[gap] >= size and all(e.call <= end and e.ret >= start for e in stores)

    def _stores(self, send: Effect) -> Effect:
        """What gives its messages their numbers: in a transaction, the commit."""
        commits = self.commits.get(send.action.txn, ())
        return next((commit for commit in commits if commit.ret >= send.call), send)

    def _start(self, gap: _Gap) -> int:
        return 0 if gap.after is None else self.effects[gap.after].call

    def _end(self, gap: _Gap) -> int:
        return FOREVER if gap.before is None else self.effects[gap.before].ret

    def _width(self, gap: _Gap) -> int:
        return self._end(gap) - self._start(gap)


class _Outages:
    """What outages tell of where sends are."""

    def __init__(self, effects: Sequence[Effect], cfg: Config) -> None:
        self.effects, self.cfg = effects, cfg
        self.down: dict[int, list[tuple[Effect, Effect | None]]] = {}
        for effect in effects:
            place = position(cfg, effect.action.partition) if effect.action.op in OUTAGES else None
            if place is not None and effect.action.op == DOWN:
                self.down.setdefault(place, []).append((effect, None))
            elif place in self.down:
                self.down[place][-1] = self.down[place][-1][0], effect
        self.refused: dict[str | None, list[Effect]] = {}
        for effect in effects if self.down else ():
            keys = {key_of(cfg, message) for message in effect.action.messages}
            if effect.doubt & BUSY and len(keys) == 1 and None not in keys:
                self.refused.setdefault(keys.pop(), []).append(effect)

    def place(self, group: Sequence[int], likely: int | None) -> int | None:
        """The position that outages contradict least for these sends of one key, and the ``likely`` one among
        several; it, where they tell nothing."""
        if not self.down:
            return likely
        sends = [self.effects[n] for n in group]
        refused = self.refused.get(key_of(self.cfg, sends[0].action.messages[0]), [])

        def against(p: int) -> tuple[int, bool]:
            stored = sum(self._is_down(p, send, surely=True) for send in sends)
            return stored + sum(not self._is_down(p, one, surely=False) for one in refused), p != likely

        least = min(range(self.cfg.entity.partitions), key=against)
        return least if likely is not None or against(least)[0] < max(map(against, self.down))[0] else None

    def _is_down(self, p: int, effect: Effect, surely: bool) -> bool:
        """Whether the partition was down when the effect took place, or may have been."""
        return any(
            (down.ret <= effect.call and (up is None or effect.ret <= up.call))
            if surely
            else (down.call <= effect.ret and (up is None or effect.call <= up.ret))
            for down, up in self.down.get(p, ())
        )


def _found(effects: Sequence[Effect], cfg: Config) -> Iterator[tuple[_Gap, int]]:
    """Each gap with its size."""
    numbered: dict[int, list[tuple[int, int]]] = {}
    for n, effect in enumerate(effects):
        stores = effect.action.messages and effect.action.op != BURIES
        for hint in effect.observed.messages if stores else ():
            place = position(cfg, name_of(hint))
            if place is not None and hint.seq is not None:
                numbered.setdefault(place, []).append((hint.seq % (1 << cfg.bits), n))
    lowest = min((min(several)[0] for several in numbered.values()), default=0)
    for place, several in numbered.items():
        several.sort()
        first, before = several[0]
        if 0 < first - lowest <= _MOST:
            yield _Gap(place, None, before), first - lowest
        for (low, after), (high, before) in pairwise(several):
            if 1 < high - low <= _MOST:
                yield _Gap(place, after, before), high - low - 1
        if _free(cfg) is None:
            yield _Gap(place, several[-1][1], None), sum(len(effect.action.messages) for effect in effects)


def _sent(effects: Sequence[Effect]) -> Iterator[tuple[int, Effect]]:
    """The sends that certainly stored messages, at once or at a commit."""
    committed = {e.action.txn for e in effects if e.action.op == COMMITS and e.ok}
    for n, effect in enumerate(effects):
        stored = effect.ok and not effect.doubt & MAYBE
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
    """The sends of which nothing tells the partition, those of one key together; those in transactions where
    the key has no others."""
    found: dict[object, tuple[list[int], list[int]]] = {}
    for n, effect in _sent(effects):
        if not effect.observed.messages and not homes[n]:
            keys = {key_of(cfg, message) for message in effect.action.messages} - {None}
            if len(keys) < 2:
                alone, joined = found.setdefault(next(iter(keys), n), ([], []))
                (alone if effect.action.txn is None else joined).append(n)
    yield from (alone or joined for alone, joined in found.values())
