"""Receiving: the answers of a receive, and the locks that it gives.

What a front end keeps in its cache is decided in hindsight: a receive that skips a message that was never
delivered fixes that some front end held it (`CACHED`), from then on at the latest. With an observed answer
the broker's own moves that it needs (a lock ran out, a front end fetched, a commit appeared) are made on
the way (`locks`); without one they are steps of their own (`settling`), and a receive delivers only what is
free right now. Who may consume with flows is `rebalancing`'s business.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, product
from typing import Final

from ..actions import NOWHERE, OK, Action, Answer, Observed, failure
from ..clauses import clause, guard, point
from ..configuration import FOREVER, Config
from ..domains.norm import overtaken
from ..edits import appeared, with_log, with_part
from ..hooks import Hook
from ..locks.norm import Taken, cached, is_fetched, outlived, takings
from ..messages import Delivery
from ..operations import UNAVAILABLE, Outcome
from ..profiles import OrderDomain
from ..sequencing.norm import as_shown, home, shown_seq
from ..settling.norm import finished
from ..state import Entry, Lock, Part, Place, State, Steps, is_up, locked, range_of
from ..statuses import BACK, CACHED, FRESH

Picked = tuple[tuple[Delivery, ...], Part]

DELETE: Final = "receive_and_delete"


def receive(state: State, action: Action, seen: Observed | None, parts: Sequence[int] | None = None) -> Steps:
    """Receive up to ``max``, locking or deleting. ``parts``: the partitions that may answer, by default those
    that are up."""
    if (state.down or state.dead) and action.only in (None, NOWHERE):
        yield failure(UNAVAILABLE), state
    if seen is not None:
        if seen.status == Outcome.OK:
            answer = Answer(Outcome.OK, messages=seen.messages)
            for after in explained(state, action, seen.messages, parts):
                yield answer, after
        return
    if action.only in (None, NOWHERE):
        yield OK, state  # RCV-5; a receive with a timeout may always come back empty
    among = range_of(state, action.entity) if parts is None else parts
    yield from _answers(state, action, [p for p in among if action.only in (None, p)], ())


@clause("RCV-4", "RCV-5", "RCV-11", "RCV-12")
def _answers(state: State, action: Action, parts: list[int], shown: tuple[Delivery, ...]) -> Steps:
    """Every answer, of one partition or of several, at most as many as asked for. Within an answer messages
    stand by partition and number; any other mix is the same answer."""
    if not parts:
        if shown:
            yield Answer(Outcome.OK, messages=shown), state
        return
    p, rest = parts[0], parts[1:]
    yield from _answers(state, action, rest, shown)
    room = action.max - len(shown)
    for deliveries, part in picks(state, p, room, action):
        yield from _answers(with_part(state, p, part), action, rest, shown + deliveries)


@clause("RCV-3", "RCV-6", "REB-3")
def picks(state: State, p: int, room: int, action: Action) -> Iterator[Picked]:
    """What one partition may contribute: never-delivered messages from the first on, none left out, and any
    of those that are cached or came back. Where no rule orders by numbers, any, as far as order domains
    allow. Of one that is down a front end's cache may."""
    log = state.parts[p].log
    serves = is_up(state, p) or state.cfg.serving
    fresh = [index for index, entry in enumerate(log) if entry.status == FRESH and serves]
    loose = [i for i, e in enumerate(log) if e.status == CACHED or (e.status == BACK and serves)]
    if not by_number(state):
        fresh, loose = [], sorted((*fresh, *loose))
    for n in range(min(len(fresh), room) + 1):
        for extra in range(min(len(loose), room - n) + 1):
            for others in combinations(loose, extra):
                chosen = sorted((*fresh[:n], *others))
                if chosen and overtaken(state, state.parts[p], chosen, action, False) == []:
                    yield _picked(state, p, chosen, action)


orders: Final = Hook[Callable[[Config], bool]]()
"""Mark what says of an entity that a rule of its mechanism orders the deliveries (instead of RCV-3)."""


def ordered_apart(cfg: Config) -> bool:
    """Whether another mechanism's rule orders the entity's deliveries."""
    return any(of_another(cfg) for of_another in orders)


@point("RCV-3", "REB-3")
def by_number(state: State) -> bool:
    """Whether first deliveries follow the numbers of their partition."""
    return True


def _picked(state: State, p: int, indexes: list[int], action: Action) -> Picked:
    part, deliveries, log = state.parts[p], [], list(state.parts[p].log)
    for index in indexes:
        entry = log[index]
        held = None if entry.lock is None else entry.lock.hi
        taken = Taken(entry.status != BACK, entry.tries, entry.since, held)
        after = _after(state, p, entry, taken, action, None)
        deliveries.append(_shown(state, p, part, entry, taken, after))
        log[index] = after or entry
    if action.mode == DELETE:
        log = [entry for index, entry in enumerate(log) if index not in indexes]
    return tuple(deliveries), part._replace(log=tuple(log))


@point("RCV-6", "RCV-7", "RCV-12")
def explained(
    state: State, action: Action, answer: Sequence[Delivery], parts: Sequence[int] | None = None
) -> Iterator[State]:
    """Every state in which a receive that gave this answer may have left the broker; where counts are shown
    it is mostly one."""
    if len(answer) > action.max and not may_exceed(state):
        return
    state = as_found(state, answer)
    found = located(state, action, answer, parts)
    places = [place for place in found if place is not None]
    if len(set(places)) < len(found):
        return
    groups = {group for p, i in places if (group := state.parts[p].log[i].group) is not None}
    if groups:
        state = appeared(state, groups, action.slack)
    reach = state.now + action.slack
    ways = [_ways(state, p, index, seen, reach) for (p, index), seen in zip(places, answer, strict=True)]
    for way in product(*ways):
        after = delivered(state, action, answer, places, way)
        if after is not None:
            yield after


@guard("RCV-12")
def may_exceed(state: State) -> bool:
    """Whether more messages may come than requested. A rule bars it for partitioned entities only: they
    must not behave differently from others."""
    return not state.cfg.profile.partitioned or state.cfg.profile.flows


@point("RCV-7", "SEQ-6", "PEEK-6", "RCV-6", "RCV-12")
def as_found(state: State, answer: Sequence[Delivery]) -> State:
    """The state that an answer finds: messages stay where they are stored, and finished ones never return."""
    return state


def located(
    state: State, action: Action, answer: Sequence[Delivery], parts: Sequence[int] | None
) -> list[Place | None]:
    """The place of each message of the answer, in the partitions that may answer, if it is stored there."""
    among: Sequence[int] = range_of(state, action.entity) if parts is None else parts
    if action.only is not None:
        among = [p for p in among if p == action.only]
    return [_find(state, seen, among) for seen in answer]


def _find(state: State, seen: Delivery, parts: Sequence[int]) -> Place | None:
    consistent, wanted = home(state.cfg, seen)
    if not consistent or (wanted is not None and wanted not in parts):
        return None
    return stored_at(state, seen, parts if wanted is None else (wanted,))


@point("RCV-6", "RCV-12")
def stored_at(state: State, seen: Delivery, parts: Sequence[int]) -> Place | None:
    """The one place in these partitions where the message shown is stored."""
    for p in parts:
        for index, entry in enumerate(state.parts[p].log):
            if entry.id == seen.id:
                return p, index
    return None


Demand = Callable[[State, Entry, int | None], bool]

demands: Final = Hook[Demand]()
"""Mark what a mechanism demands of a message that is delivered now, under a lock that is shown to last
until then (ns; None: not shown)."""


def _ways(state: State, p: int, index: int, seen: Delivery, reach: int) -> list[Taken]:
    """The ways in which this message may have been delivered so."""
    entry, cfg = state.parts[p].log[index], state.cfg
    for may in demands:
        if not may(state, entry, seen.locked_until):
            return []
    if not (cfg.serving or entry.status == CACHED or is_up(state, p)):
        return []
    if cfg.profile.flows:
        ways = takings(state, entry, reach)[:1]  # no front end locks unseen, and no count is shown
    else:
        ways = counted(state, entry, reach, seen.delivery_count)
    found = [taken for taken in ways if _fits(cfg, entry, taken, seen, reach)]
    return found if len(found) < 2 else list(dict.fromkeys(found))


@point("RCV-9")
def counted(state: State, entry: Entry, reach: int, count: int | None) -> list[Taken]:
    """The ways of a delivery that is shown with this count."""
    return takings(state, entry, reach, count)


@clause("RCV-13", "REB-3", "RCV-7")
def _fits(cfg: Config, entry: Entry, taken: Taken, seen: Delivery, reach: int) -> bool:
    """Whether the lock's end, which may be early but not late, and the mark of a redelivery are possible."""
    if seen.redelivered is not None and not is_marked(cfg, seen.redelivered, entry, taken):
        return False
    return seen.locked_until is None or ends_in_time(cfg, seen.locked_until, taken, reach)


@point("REB-3", "RCV-7")
def is_marked(cfg: Config, mark: bool, entry: Entry, taken: Taken) -> bool:
    """Whether the mark of a redelivery tells whether it is one."""
    return mark == (entry.turn > 0 or not taken.first)


@guard("RCV-13")
def ends_in_time(cfg: Config, until: int, taken: Taken, reach: int) -> bool:
    """Whether the end shown is possible for a lock that begins by ``reach``."""
    return until <= latest(cfg, taken, reach)


def latest(cfg: Config, taken: Taken, reach: int) -> int:
    """The latest end that may be shown of a lock that begins by ``reach``."""
    return (reach + cfg.lock_duration if taken.held is None else taken.held) + cfg.skew


@point("RCV-8")
def delivered(
    state: State, action: Action, answer: Sequence[Delivery], places: list[Place], way: tuple[Taken, ...]
) -> State | None:
    """The state after these messages were delivered so, or None where they cannot be."""
    by_part: dict[int, list[tuple[int, Delivery, Taken]]] = {}
    for (p, index), seen, taken in zip(places, answer, way, strict=True):
        by_part.setdefault(p, []).append((index, seen, taken))
    for p, chosen in by_part.items():
        part = _delivered_from(state, p, action, chosen)
        if part is None:
            return None
        if action.mode == DELETE:
            part = finished(state, part, [state.parts[p].log[index] for index, *_ in chosen])
        state = with_part(state, p, part)
    return state


Chosen = list[tuple[int, Delivery, Taken]]
"""The messages delivered from one partition: index, how it is shown, how it was taken."""


def _delivered_from(state: State, p: int, action: Action, chosen: Chosen) -> Part | None:
    part = as_shown(state.cfg, state.parts[p], [(index, seen) for index, seen, _ in chosen])
    if part is None:
        return None
    log: list[Entry | None] = list(part.log)
    for index, seen, taken in chosen:
        log[index] = _after(state, p, part.log[index], taken, action, seen)
    if not _pass(state, part, log, action, chosen):
        return None
    gone = overtaken(state, part, [index for index, *_ in chosen], action, True)
    if gone is None:
        return None
    for index in gone:
        log[index] = None
    return with_log(part, tuple([entry for entry in log if entry is not None]))


def _pass(state: State, part: Part, log: list[Entry | None], action: Action, chosen: Chosen) -> bool:
    """Whether those before the last one that is delivered for the first time can be passed; the log has what
    they are then."""
    last = max((index for index, _, taken in chosen if taken.first and taken.held is None), default=0)
    taken_out = {index for index, _, _ in chosen}
    for index in range(last):
        if part.log[index].status not in (FRESH, CACHED):
            continue
        if index in taken_out or (part.log[index].hidden and _lagged(state, part.log[index], index, chosen)):
            continue
        ways = passed(state, part.log[index], action.slack)
        if not ways:
            return False
        log[index] = ways[0]
    return True


@clause("RCV-3", "RCV-13")
def _lagged(state: State, entry: Entry, index: int, chosen: list[tuple[int, Delivery, Taken]]) -> bool:
    """Whether the message may have lagged when a front end fetched the later ones, as their locks tell."""
    later = (seen for n, seen, taken in chosen if n > index and taken.first and taken.held is None)
    began = state.cfg.lock_duration - state.cfg.skew
    return all(s.locked_until is not None and s.locked_until - began <= entry.hidden for s in later)


@point("RCV-2", "RCV-3", "RCV-5", "REB-3")
def passed(state: State, entry: Entry, slack: int) -> list[Entry | None]:
    """What a message is, if that can be, before which a later one is delivered for the first time: it is
    locked, not yet visible, or its time to live has ended, or else, which is noted, a front end must have
    held it."""
    if entry.status != FRESH and not (entry.status == CACHED and entry.lock and entry.lock.shaken):
        return [entry]
    if not by_number(state) or outlived(state, entry, state.now + slack):
        return [entry]
    fetched = state.cfg.profile.caching_front_ends and is_fetched(entry)
    return [cached(state, entry, slack)] if fetched else []


@clause("RCV-6", "RCV-13")
def _after(
    state: State, p: int, entry: Entry, taken: Taken, action: Action, seen: Delivery | None
) -> Entry | None:
    """The message locked for the receiver; None where the receive deletes it."""
    if action.mode == DELETE:
        return None
    turn = 2 if entry.turn == 1 else 1
    token = f"{p}.{entry.number}.{turn}" if seen is None or seen.lock is None else seen.lock
    low, high = deadline(state, taken, action.slack, None if seen is None else seen.locked_until)
    others = () if entry.lock is None else rivals(state, entry.lock, action)
    given = 0 if state.cfg.profile.order is OrderDomain.NONE else given_at(state, action)
    lock = Lock(token, action.flow or action.proc, low, high, False, None, others, given)
    return locked(entry, taken.tries, turn, lock)


@point("ORD-2")
def given_at(state: State, action: Action) -> int:
    """The return of the receive: from then on the lock blocks its order domain."""
    return state.now + action.slack


@point("RCV-6")
def rivals(state: State, lock: Lock, action: Action) -> tuple[str, ...]:
    """The other locks that may hold beside a new one: none."""
    return ()


@point("RCV-13")
def deadline(state: State, taken: Taken, slack: int, until: int | None) -> tuple[int, int]:
    """The end of the lock: the one shown, if any."""
    cfg = state.cfg
    if until is not None:
        return until - cfg.skew, until + cfg.skew + cfg.grace
    if not cfg.profile.locks_expire:
        return FOREVER, FOREVER
    if cfg.untimed:
        return state.now, FOREVER
    high = state.now + slack + cfg.lock_duration if taken.held is None else taken.held
    if not cfg.hindsight:
        return high - slack, high + cfg.grace
    return min(taken.since + cfg.lock_duration, high), high + cfg.grace


def _shown(state: State, p: int, part: Part, entry: Entry, taken: Taken, after: Entry | None) -> Delivery:
    lock = None if after is None else after.lock
    return Delivery(
        entry.id,
        seq=shown_seq(state.cfg, p, part, entry.number),
        partition=None if state.cfg.profile.flows else state.cfg.names[p],
        delivery_count=taken.tries,
        lock=lock and lock.token,
        locked_until=lock and lock.hi,
    )


CLIENT_OPS: Final = {"receive": receive}
"""The operations of clients."""
