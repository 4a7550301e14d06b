"""Order domains (ORD): what may be delivered while other messages of its domain wait, came back, or are in
flight.

A domain is one key, or one partition, as the profile says (`OrderDomain`). Numbers play no part here: what
was accepted first stands first in its partition. Who receives what is `delivery`'s business.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from .actions import Action
from .clauses import clause
from .locks import may_be_gone
from .messages import Message, effective_key
from .profiles import OrderDomain
from .state import BACK, FOREVER, FRESH, LOCKED, Config, Entry, Part, State


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
        if _is_blocked(state, part, index, chosen, state.now + action.slack, called):
            return None
        for other in _before(state, part, index, chosen[: n + 1]):
            if other in chosen:
                if part.log[index].key and part.log[index].key == part.log[other].key:
                    return None
            elif may_be_gone(state, part.log[other], state.now + action.slack):
                gone.append(other)
            else:
                return None
    return gone


@clause("ORD-1", "ORD-3")
def _before(state: State, part: Part, index: int, delivered: Collection[int]) -> Iterator[int]:
    """The messages that have to be delivered before this one, and are not: of its domain those accepted
    before it, if it was never delivered. What came later in the same answer counts with one key only."""
    entry = part.log[index]
    if _came_back(entry):
        return
    for other in range(index):
        waiting = part.log[other]
        if waiting.status in (FRESH, BACK) and other not in delivered and _share(state.cfg, entry, waiting):
            if state.forbids("ORD-3" if _came_back(waiting) else "ORD-1"):
                yield other


@clause("ORD-2", "ORD-3")
def _is_blocked(
    state: State, part: Part, index: int, chosen: Collection[int], reach: int, called: int
) -> bool:
    """Whether another message of its domain is in flight whose delivery returned before this receive was
    called. Where its lock may have ended it came back, and goes first (ORD-3)."""
    if not state.forbids("ORD-2"):
        return False
    entry = part.log[index]
    for other, held in enumerate(part.log):
        lock = held.lock
        if lock is None or held.status != LOCKED or other in chosen or not _share(state.cfg, entry, held):
            continue
        if lock.given < called:
            ended = lock.shaken or lock.lo <= reach
            first = other < index and not _came_back(entry) and state.forbids("ORD-3")
            if not ended or (first and not may_be_gone(state, held, reach)):
                return True
    return False


def _share(cfg: Config, entry: Entry, other: Entry) -> bool:
    """Whether both are in one order domain."""
    if cfg.profile.order is OrderDomain.PARTITION:
        return True
    return entry.key != "" and entry.key == other.key


def _came_back(entry: Entry) -> bool:
    """Whether it was delivered before."""
    return entry.status == BACK or entry.turn > 0
