"""Receiving: what one may answer, and the locks it leaves.

What a front end keeps in its cache is decided in hindsight: a receive that skips a message that was never
delivered fixes that some front end held it (`CACHED`), from then on at the latest. With an observed answer
the broker's own moves that it needs (a lock ran out, a front end fetched, a commit appeared) are made on
the way (`locks`); without one they are steps of their own (`settling`), and a receive delivers only what is
free right now. Who may consume with flows is `rebalancing`'s business.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, product
from typing import Final

from .actions import NOWHERE, OK, Action, Answer, Observed, failure
from .clauses import clause
from .domains import overtaken
from .edits import appeared, with_log, with_part
from .locks import Taken, cached, takings
from .memory import elsewhere, finished, given, revived
from .messages import Delivery
from .operations import UNAVAILABLE, Outcome
from .sequencing import as_shown, home, shown_seq
from .state import BACK, CACHED, COUNTED, FOREVER, FRESH, LOCKED, Config, Entry, Lock, Part, State, is_up

Steps = Iterator[tuple[Answer, State]]
Picked = tuple[tuple[Delivery, ...], Part]

DELETE: Final = "receive_and_delete"


def receive(state: State, action: Action, seen: Observed | None, parts: Sequence[int] | None = None) -> Steps:
    """Receive up to ``max``, locking or deleting. ``parts``: the partitions that may answer, by default those
    that are up."""
    if (state.down or state.dead) and action.only in (None, NOWHERE):
        yield failure(UNAVAILABLE), state
    if seen is not None:
        if seen.status == Outcome.OK:
            for after in explained(state, action, seen.messages, parts):
                yield Answer(Outcome.OK, messages=seen.messages), after
        return
    if action.only in (None, NOWHERE):
        yield OK, state  # RCV-5; a receive with a timeout may always come back empty
    among = range(len(state.parts)) if parts is None else parts
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
    if not _by_number(state):
        fresh, loose = [], sorted((*fresh, *loose))
    for n in range(min(len(fresh), room) + 1):
        for extra in range(min(len(loose), room - n) + 1):
            for others in combinations(loose, extra):
                chosen = sorted((*fresh[:n], *others))
                if chosen and overtaken(state, state.parts[p], chosen, action, False) == []:
                    yield _picked(state, p, chosen, action)


@clause("RCV-3", "REB-3")
def _by_number(state: State) -> bool:
    """Whether first deliveries follow the numbers of their partition."""
    return state.forbids("REB-3" if state.cfg.profile.flows else "RCV-3")


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


def explained(
    state: State, action: Action, answer: Sequence[Delivery], parts: Sequence[int] | None = None
) -> Iterator[State]:
    """Every state in which a receive that gave this answer may have left the broker; where counts are shown
    it is mostly one."""
    if len(answer) > action.max and _at_most(state):
        return
    if state.cfg.waived:
        state = elsewhere(revived(state, answer), answer)
    state = given(state, answer)
    among = _among(state, action, parts)
    found = [_find(state, seen, among) for seen in answer]
    if state.cfg.waived and None in found and not _once(state, action):
        first = {seen.id: place for seen, place in zip(answer, found, strict=True) if place is not None}
        found = [place or first.get(seen.id) for seen, place in zip(answer, found, strict=True)]
    places = [place for place in found if place is not None]
    if len(set(places)) < len(found):
        if len(places) == len(found) and not _once(state, action):
            yield from _repeated(state, action, answer, places, parts)
        return
    groups = {group for p, i in places if (group := state.parts[p].log[i].group) is not None}
    if groups:
        state = appeared(state, groups, action.slack)
    reach = state.now + action.slack
    ways = [_ways(state, p, index, seen, reach) for (p, index), seen in zip(places, answer, strict=True)]
    for way in product(*ways):
        after = _delivered(state, action, answer, places, way)
        if after is not None:
            yield after


@clause("RCV-12")
def _at_most(state: State) -> bool:
    """Whether no more messages may come than asked for. Only for partitioned entities a requirement says so:
    they shall not behave otherwise than others."""
    profile = state.cfg.profile
    return profile.partitioned and not profile.flows and state.forbids("RCV-12")


@clause("RCV-6", "RCV-7", "RCV-12")
def _once(state: State, action: Action) -> bool:
    """Whether an answer may hold no message twice."""
    profile = state.cfg.profile
    if profile.partitioned and not profile.flows and "RCV-12" in state.cfg.binding:
        return state.forbids("RCV-12")
    return state.forbids("RCV-7" if action.mode == DELETE else "RCV-6")


def _repeated(
    state: State,
    action: Action,
    answer: Sequence[Delivery],
    places: list[tuple[int, int]],
    parts: Sequence[int] | None,
) -> Iterator[State]:
    """The states after an answer that holds messages twice: delivered once, with two locks."""
    first = {place: n for n, place in reversed(list(enumerate(places)))}
    once = [answer[n] for n in sorted(first.values())]
    tokens = {seen.id: seen.lock for n, seen in enumerate(answer) if n not in first.values() and seen.lock}
    for after in explained(state, action, once, parts):
        for p, part in enumerate(after.parts):
            log = [_with_rival(entry, tokens.get(entry.id)) for entry in part.log]
            after = with_part(after, p, with_log(part, tuple(log)))
        yield after


def _with_rival(entry: Entry, token: str | None) -> Entry:
    if token is None or entry.lock is None:
        return entry
    return entry._replace(lock=entry.lock._replace(rivals=(*entry.lock.rivals, token)))


def _among(state: State, action: Action, parts: Sequence[int] | None) -> Sequence[int]:
    every = range(len(state.parts)) if parts is None else parts
    return every if action.only is None else [p for p in every if p == action.only]


def _find(state: State, seen: Delivery, parts: Sequence[int]) -> tuple[int, int] | None:
    """Where the message that is shown is stored, in a partition that may answer."""
    consistent, wanted = home(state.cfg, seen)
    if not consistent or (wanted is not None and wanted not in parts):
        return None
    found = None
    for p in parts if wanted is None else (wanted,):
        for index, entry in enumerate(state.parts[p].log):
            if entry.id == seen.id:
                if not state.cfg.waived or shown_seq(state.cfg, p, state.parts[p], entry.number) == seen.seq:
                    return p, index
                found = found or (p, index)  # it may be stored twice
    return found


def _ways(state: State, p: int, index: int, seen: Delivery, reach: int) -> list[Taken]:
    """The ways in which this message may have been delivered so."""
    entry, cfg = state.parts[p].log[index], state.cfg
    if not (cfg.serving or entry.status == CACHED or is_up(state, p)):
        return []
    if cfg.profile.flows:
        ways = takings(state, entry, reach)[:1]  # no front end locks unseen, and no count is shown
    elif not state.forbids("RCV-9"):
        ways = _uncounted(takings(state, entry, reach), seen.delivery_count)
    else:
        ways = takings(state, entry, reach, seen.delivery_count)
    return [taken for taken in ways if _fits(cfg, entry, taken, seen, reach)]


@clause("RCV-9")
def _uncounted(ways: list[Taken], count: int | None) -> list[Taken]:
    """The same where RCV-9 is not enforced: the count is what the delivery shows."""
    return [way if count is None else way._replace(tries=count) for way in ways[:2]]


@clause("RCV-13", "REB-3", "RCV-7")
def _fits(cfg: Config, entry: Entry, taken: Taken, seen: Delivery, reach: int) -> bool:
    """Whether the lock's end, which may be early but not late, and the mark of a redelivery are possible. A
    wrong mark tells of another delivery than it is (REB-3), of one that was not (RCV-1), or of an earlier
    one (RCV-7); where REB-3 does not bind it says nothing."""
    if "REB-3" in cfg.binding and seen.redelivered not in (None, entry.turn > 0 or not taken.first):
        if not (cfg.waived and any(id in cfg.waived for id in ("REB-3", "RCV-1", "RCV-7"))):
            return False
    until = seen.locked_until
    return until is None or until <= _latest(cfg, taken, reach) or not cfg.forbids("RCV-13")


def _latest(cfg: Config, taken: Taken, reach: int) -> int:
    """Until when the lock may be shown to last that begins by ``reach``."""
    return (reach + cfg.lock_duration if taken.held is None else taken.held) + cfg.skew


def _delivered(
    state: State,
    action: Action,
    answer: Sequence[Delivery],
    places: list[tuple[int, int]],
    way: tuple[Taken, ...],
) -> State | None:
    by_part: dict[int, list[tuple[int, Delivery, Taken]]] = {}
    for (p, index), seen, taken in zip(places, answer, way, strict=True):
        by_part.setdefault(p, []).append((index, seen, taken))
    for p, chosen in by_part.items():
        part = _delivered_from(state, p, action, chosen)
        if part is None:
            return None
        if action.mode == DELETE and state.cfg.waived:
            part = finished(state, [state.parts[p].log[index] for index, *_ in chosen], part)
        state = with_part(state, p, part)
    return state


def _delivered_from(
    state: State, p: int, action: Action, chosen: list[tuple[int, Delivery, Taken]]
) -> Part | None:
    part = as_shown(state.cfg, state.parts[p], [(index, seen) for index, seen, _ in chosen])
    if part is None:
        return None
    log: list[Entry | None] = list(part.log)
    taken_out = {index for index, _, _ in chosen}
    last = max((index for index, _, taken in chosen if taken.first and taken.held is None), default=0)
    for index, seen, taken in chosen:
        log[index] = _after(state, p, part.log[index], taken, action, seen)
    for index in range(last):
        if index in taken_out or (part.log[index].hidden and _lagged(state, part.log[index], index, chosen)):
            continue
        if not _passed(state, log, part.log[index], index, action):
            return None
    gone = overtaken(state, part, [index for index, *_ in chosen], action, True)
    if gone is None:
        return None
    for index in gone:
        log[index] = None
    return with_log(part, tuple([entry for entry in log if entry is not None]))


@clause("RCV-3", "RCV-13")
def _lagged(state: State, entry: Entry, index: int, chosen: list[tuple[int, Delivery, Taken]]) -> bool:
    """Whether the message may have lagged when a front end fetched the later ones, as their locks tell."""
    later = (seen for n, seen, taken in chosen if n > index and taken.first and taken.held is None)
    began = state.cfg.lock_duration - state.cfg.skew
    return all(s.locked_until is not None and s.locked_until - began <= entry.hidden for s in later)


@clause("RCV-2", "RCV-3", "RCV-5", "REB-3")
def _passed(state: State, log: list[Entry | None], entry: Entry, index: int, action: Action) -> bool:
    """Whether a later message may be delivered for the first time before this one: it is locked or not yet
    visible, or else, which is noted, a front end must have held it. With RCV-3 waived (flows: REB-3) it may
    be passed, with RCV-2 waived it may be lost."""
    if entry.status != FRESH and not (entry.status == CACHED and entry.lock and entry.lock.shaken):
        return True
    cfg = state.cfg
    if not _by_number(state):
        return True
    if cfg.profile.caching_front_ends:
        log[index] = cached(state, entry, action.slack)
        return True
    log[index] = None
    return not state.forbids("RCV-2")


@clause("RCV-6", "RCV-13")
def _after(
    state: State, p: int, entry: Entry, taken: Taken, action: Action, seen: Delivery | None
) -> Entry | None:
    """The message locked for the receiver; None where the receive deletes it."""
    if action.mode == DELETE:
        return None
    turn = 2 if entry.turn == 1 else 1
    token = f"{p}.{entry.number}.{turn}" if seen is None or seen.lock is None else seen.lock
    low, high = _deadline(state, taken, action.slack, None if seen is None else seen.locked_until)
    rivals, given = _rivals(state, entry, action), _given(state, action)
    lock = Lock(token, action.flow or action.proc, low, high, False, None, rivals, given)
    fields = (
        entry.number,
        entry.id,
        LOCKED,
        taken.tries,
        0,
        turn,
        lock,
        entry.at,
        0,
        COUNTED,
        None,
        0,
        entry.key,
    )
    return tuple.__new__(Entry, fields)


@clause("ORD-2")
def _given(state: State, action: Action) -> int:
    """When the receive returned: from then on the lock blocks its order domain, where one does."""
    return state.now + action.slack if state.forbids("ORD-2") else 0


@clause("RCV-6")
def _rivals(state: State, entry: Entry, action: Action) -> tuple[str, ...]:
    """The locks that hold besides the new one: with RCV-6 waived those that certainly have not ended."""
    lock = entry.lock
    if lock is None or lock.token is None or lock.lo <= state.now + action.slack or state.forbids("RCV-6"):
        return ()
    return (*lock.rivals, lock.token)


@clause("RCV-13")
def _deadline(state: State, taken: Taken, slack: int, until: int | None) -> tuple[int, int]:
    """When the lock ends: as it is shown; with RCV-13 waived, where that is too late, then or when it would
    have to."""
    cfg = state.cfg
    if until is not None:
        late = until > _latest(cfg, taken, state.now + slack) and state.breaks("RCV-13")
        return _deadline(state, taken, slack, None)[0] if late else until - cfg.skew, until + cfg.skew
    if not cfg.profile.locks_expire:
        return FOREVER, FOREVER
    if cfg.untimed:
        return state.now, FOREVER
    high = state.now + slack + cfg.lock_duration if taken.held is None else taken.held
    if not cfg.hindsight:
        return high - slack, high
    return min(taken.since + cfg.lock_duration, high), high


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
