"""The distributions of partitions after a rebalance: any even one."""

from __future__ import annotations

from collections.abc import Iterator

from ..clauses import clause


@clause("REB-1", "REB-12")
def even(wanted: tuple[str | None, ...], names: list[str]) -> Iterator[tuple[str | None, ...]]:
    """Every assignment of partitions to flows in which their numbers differ by at most one, with those that
    are ``wanted``."""
    if not names:
        if not any(wanted):
            yield wanted
        return
    share, more = divmod(len(wanted), len(names))
    fixed = {name: wanted.count(name) for name in names}
    if len(wanted) - wanted.count(None) == sum(fixed.values()):
        yield from _filled(wanted, names, {name: share - fixed[name] for name in names}, more, ())


def _filled(
    wanted: tuple[str | None, ...], names: list[str], room: dict[str, int], more: int, chosen: tuple[str, ...]
) -> Iterator[tuple[str, ...]]:
    """``room``: how many of the free partitions each flow still gets, or, ``more`` flows, one more."""
    over = sum(-left for left in room.values() if left < 0)
    if over > more or any(left < -1 for left in room.values()):
        return
    if len(chosen) == len(wanted):
        yield chosen
        return
    fixed = wanted[len(chosen)]
    for name in names if fixed is None else ():
        yield from _filled(wanted, names, {**room, name: room[name] - 1}, more, (*chosen, name))
    if fixed is not None:
        yield from _filled(wanted, names, room, more, (*chosen, fixed))
