"""Dead letters: messages that a holder dead-letters, or that failed too many deliveries, and the broker's own
move that takes them to the dead-letter queue, with the reason.

There it is another birth (`messages.as_dead`), in the same partition, under the old number or a new one: no
source says which (SEQ-6). Nor does a rule bind its enqueued time, its delivery count and the order in which
it is received; what else is true of a message in a partition is true of it there. Where a history does not
look at that queue the message is gone, and nothing here is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from ..actions import BURY, OK, Action, Observed
from ..clauses import clause, guard, point
from ..configuration import FOREVER, Config
from ..edits import log_of, with_part
from ..hooks import Hook
from ..locks.norm import exhausted, outlived, parting
from ..messages import Delivery, as_dead
from ..operations import DEAD_LETTER
from ..sequencing.norm import counter_of, home
from ..settling.norm import removed, settles
from ..state import Entry, Part, Place, State, Steps, find_number, is_up, range_of
from ..statuses import BACK, CACHED, DEFERRED, FRESH, LAGGING, LOCKED, PARTING, UNCOUNTED

EXCEEDED: Final = "MaxDeliveryCountExceeded"
"""The reason of a message that was delivered too often."""

EXPIRED: Final = "TTLExpiredException"
"""The reason of a message whose time to live ended, if the entity dead-letters these."""

TOO_FAR: Final = "MaxTransferHopCountExceeded"
"""The reason of a message that would have been forwarded too often."""

OWN: Final = frozenset({EXCEEDED, EXPIRED, TOO_FAR})
"""The broker's own reasons."""

STORED: Final = frozenset({LAGGING, FRESH, CACHED, LOCKED, BACK, DEFERRED})
"""The statuses of messages that too many deliveries may dead-letter."""


Reason = Callable[[Config], str | None]

sets_aside: Final = Hook[Reason]()
"""Mark what says why the broker sets aside all that comes to such an entity; None: it does not."""


@settles(DEAD_LETTER)
@point("RCV-9")
def dead_lettered(state: State, entry: Entry) -> Entry | None:
    """The message after its holder dead-lettered it."""
    return parting(state, entry, entry.tries)


@point("RCV-9")
def bury(state: State, action: Action, seen: Observed | None) -> Steps:
    """A message comes to the dead-letter queue, in its partition. ``seen``: how it is shown there."""
    shown = seen.messages[0] if seen is not None and seen.messages else None
    for p, index in places_of(state, action):
        entry = state.parts[p].log[index]
        if leaves(state, entry, action.slack) and tells_why(state, entry, shown):
            yield from buried(removed(state, p, index), p, entry, shown)


def places_of(state: State, action: Action) -> list[Place]:
    """The places where the moved message is stored."""
    return [
        (p, index)
        for p in range_of(state)
        for index, entry in enumerate(state.parts[p].log)
        if entry.id in action.about and (state.cfg.serving or is_up(state, p))
    ]


@clause("RCV-9")
def leaves(state: State, entry: Entry, slack: int) -> bool:
    """Whether the message may be set aside: by its holder, by as many deliveries as the entity allows, or
    since its time to live ended."""
    if entry.status == PARTING:
        return True
    reach = state.now + slack
    worn_out = exhausted(state, entry, reach, state.cfg.limit)
    return entry.status in STORED and (worn_out or outlived(state, entry, reach))


@guard("RCV-9")
def tells_why(state: State, entry: Entry, shown: Delivery | None) -> bool:
    """Whether the reason, if shown, fits what happened to the message. The reader checks holders' reasons."""
    if shown is None or shown.reason is None:
        return True
    expired = shown.reason == EXPIRED and entry.life is not None
    if entry.status == PARTING and entry.tries <= state.cfg.limit:
        own = next(filter(None, (why(state.cfg) for why in sets_aside)), None)
        return shown.reason not in OWN if own is None else shown.reason == own or expired
    return shown.reason == EXCEEDED or expired


@clause("SEQ-2", "SEQ-6", "RCV-15")
def buried(state: State, p: int, moved: Entry, shown: Delivery | None) -> Steps:
    """The state in which that message lies in the dead-letter queue, in partition ``p`` of the entity. It has
    no end of its time to live there."""
    there = p + state.cfg.entity.partitions
    known, wanted = (True, None) if shown is None else home(state.cfg, shown)
    if not known or wanted not in (None, there):
        return
    part = state.parts[there]
    seq = None if shown is None or not state.cfg.profile.shows_seq else shown.seq
    number = part.next if seq is None else _number(state.cfg, part, seq)
    if not is_free(state, part, number):
        return
    entry = Entry(number, as_dead(moved.id), BACK, UNCOUNTED, state.now if state.cfg.hindsight else 0)
    if moved.life is not None:
        entry = entry._replace(at=(0, 0), life=(FOREVER, FOREVER))
    log = log_of((*part.log, entry))
    yield OK, with_part(state, there, part._replace(next=max(part.next, number + 1), log=log))


def _number(cfg: Config, part: Part, seq: int) -> int:
    """The place that a shown number has in the queue. Places are counted from a counter that is far from
    where real ones begin and roll over."""
    assert part.base is not None
    return (counter_of(cfg, seq) - part.base) % (1 << cfg.bits)


@guard("SEQ-1")
def is_free(state: State, part: Part, number: int) -> bool:
    """Whether no other message of the queue has the number."""
    return find_number(part, number) is None


@point("RCV-2")
def all_came(state: State) -> bool:
    """Whether no message is on its way to the dead-letter queue, if the history looks at that."""
    return not any(on_their_way(state))


def on_their_way(state: State) -> Iterator[Entry]:
    """The messages, of partitions that are up, that were set aside and were not seen to come there."""
    for p in filter(partial(is_up, state), range_of(state)):
        yield from (entry for entry in state.parts[p].log if entry.status == PARTING)


def moves(state: State) -> Iterator[Action]:
    """Every message that may come to the dead-letter queue now."""
    for p in range_of(state) if state.cfg.subqueue else ():
        yield from (Action(BURY, about=(e.id,)) for e in state.parts[p].log if e.status == PARTING)


BROKER_OPS: Final = {BURY: bury}
"""The broker's own move."""
