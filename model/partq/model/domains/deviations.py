"""How a broker breaks the rules on order domains (ORD)."""

from __future__ import annotations

from collections.abc import Collection

from ..departures import instead
from ..state import Entry, Part, State
from .norm import ahead, back_again, goes_first, is_blocked


@instead(ahead, "ORD-1")
def overtaken(told: list[int], state: State, part: Part, index: int, delivered: Collection[int]) -> list[int]:
    """A message goes before those that were accepted before it."""
    return []


@instead(back_again, "ORD-3")
def overtaken_again(
    told: list[int], state: State, part: Part, index: int, delivered: Collection[int]
) -> list[int]:
    """A message goes before returned ones."""
    return []


@instead(is_blocked, "ORD-2")
def concurrent(
    told: bool, state: State, part: Part, index: int, chosen: Collection[int], reach: int, called: int
) -> bool:
    """Messages of one domain are in flight at once."""
    return False


@instead(goes_first, "ORD-3")
def goes_later(told: bool, state: State, entry: Entry) -> bool:
    """A returned message is passed over."""
    return False
