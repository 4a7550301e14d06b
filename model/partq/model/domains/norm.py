"""Order domains (ORD): which messages may be delivered while others of their domain wait, have been returned,
or are in flight.

A domain is one key, or one partition, as the profile says (`OrderDomain`). Numbers play no part here: what
was accepted first stands first in its partition. Who receives what is `delivery`'s business.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from ..actions import Action
from ..clauses import point
from ..configuration import FOREVER, Config
from ..locks.norm import may_be_gone
from ..messages import Message, effective_key
from ..profiles import OrderDomain
from ..state import Entry, Part, State
from ..statuses import BACK, FRESH, LOCKED


def key_in_order(cfg: Config, message: Message) -> str:
    """The key that `Entry.key` keeps: "" for a keyless message, and where nothing is ordered."""
    if cfg.profile.order is OrderDomain.NONE:
        return ""
    return effective_key(message, cfg.profile.key_rule) or ""


def overtaken(
    state: State, part: Part, chosen: Sequence[int], action: Action, observed: bool
) -> list[int] | None:
    """The messages that are gone if these, by their indexes and in this order, are delivered together; None
    where they cannot be. ``observed``: the answer is explained, so that receives may be concurrent."""
    if state.cfg.profile.order is OrderDomain.NONE:
        return []
    gone: list[int] = []
    called = state.now - action.early if observed else FOREVER
    for n, index in enumerate(chosen):
        if is_blocked(state, part, index, chosen, state.now + action.slack, called):
            return None
        for other in (
            *ahead(state, part, index, chosen[: n + 1]),
            *back_again(state, part, index, chosen[: n + 1]),
        ):
            if other in chosen:
                if part.log[index].key and part.log[index].key == part.log[other].key:
                    return None
            elif may_be_gone(state, part.log[other], state.now + action.slack):
                gone.append(other)
            else:
                return None
    return gone


@point("ORD-1")
def ahead(state: State, part: Part, index: int, delivered: Collection[int]) -> list[int]:
    """The messages that have to be delivered before this one, and are not: of its domain those accepted
    before it, if it was never delivered. What came later in the same answer counts with one key only."""
    return [other for other in _waiting(state, part, index, delivered) if not _came_back(part.log[other])]


@point("ORD-3")
def back_again(state: State, part: Part, index: int, delivered: Collection[int]) -> list[int]:
    """Those of them that were delivered before, and came back."""
    return [other for other in _waiting(state, part, index, delivered) if _came_back(part.log[other])]


def _waiting(state: State, part: Part, index: int, delivered: Collection[int]) -> Iterator[int]:
    entry = part.log[index]
    for other in range(0 if _came_back(entry) else index):
        waiting = part.log[other]
        if waiting.status in (FRESH, BACK) and other not in delivered and _share(state.cfg, entry, waiting):
            yield other


@point("ORD-2", "ORD-3")
def is_blocked(
    state: State, part: Part, index: int, chosen: Collection[int], reach: int, called: int
) -> bool:
    """Whether another message of its domain is in flight whose delivery returned before this receive was
    called. Where its lock may have ended it came back, and goes first (ORD-3)."""
    entry = part.log[index]
    for other, held in enumerate(part.log):
        lock = held.lock
        if lock is None or held.status != LOCKED or other in chosen or not _share(state.cfg, entry, held):
            continue
        if lock.given < called:
            ended = lock.shaken or lock.lo <= reach
            first = other < index and goes_first(state, entry)
            if not ended or (first and not may_be_gone(state, held, reach)):
                return True
    return False


@point("ORD-3")
def goes_first(state: State, entry: Entry) -> bool:
    """Whether returned messages that were accepted before this one go before it."""
    return not _came_back(entry)


def _share(cfg: Config, entry: Entry, other: Entry) -> bool:
    """Whether both are in one order domain."""
    if cfg.profile.order is OrderDomain.PARTITION:
        return True
    return entry.key != "" and entry.key == other.key


def _came_back(entry: Entry) -> bool:
    """Whether the message was delivered before, and returned."""
    return entry.status == BACK or entry.turn > 0
