"""Sending: which messages are refused, how they are stored, and the traces of a refused send.

Where the messages go is in `placing`. Sends in transactions are in `transactions`, which uses what is here.
Nothing here knows how messages are received.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain, permutations
from typing import Final

from ..actions import INVALID, LONG_SEND, NOWHERE, OK, Action, Observed, failure
from ..clauses import clause, point
from ..configuration import Config
from ..domains.norm import key_in_order
from ..edits import with_key, with_part
from ..errors import TooManyWays
from ..hooks import Hook
from ..messages import Delivery, KeyRule, Message, conflicting, effective_keys
from ..operations import UNAVAILABLE, Outcome
from ..sequencing.entering import as_sent, kept, may_be_overdue, overdue
from ..sequencing.norm import assign, burn, counter_of, entered, stamp, timed
from ..sequencing.pending import before
from ..state import Entry, State, Steps, choices, is_up, key_partition, range_of, up
from ..statuses import FRESH
from .placing import key_of, placements

ACCEPTED: Final = frozenset({False})
REFUSED: Final = frozenset({True})
EITHER: Final = frozenset({False, True})

MOST_WAYS: Final = 1 << 16
"""So many ways to distribute the messages of one send are tried where a history is explained."""


@point("KEY-3", "KEY-7", "ROUTE-5", "ROUTE-6", "ROUTE-8")
def send(state: State, action: Action, seen: Observed | None) -> Steps:
    """Send one message, or a batch: all or nothing."""
    verdicts = refusals(state, action.messages)
    if True in verdicts and action.only in (None, NOWHERE):
        yield failure(INVALID), failed(state, action.messages)
    if False not in verdicts:
        return
    if seen is None or seen.status == Outcome.ERROR:
        yield from rejected(state, action)
    if seen is None or seen.status == Outcome.OK:
        for after in accepted(state, action, seen):
            yield OK, after


Demand = Callable[[Config, Message], bool]

demands: Final = Hook[Demand]()
"""Mark what a mechanism demands of every message that is sent to such an entity."""


Weigh = Callable[[Config, tuple[Message, ...]], frozenset[bool]]

weighs: Final = Hook[Weigh]()
"""Mark what else a mechanism refuses a send for, as a whole: `REFUSED`, `EITHER` or `ACCEPTED`."""


@point("KEY-3", "KEY-5", "KEY-7", "REB-18")
def refusals(state: State, messages: tuple[Message, ...]) -> frozenset[bool]:
    """Whether the messages of one send must, may or must not be refused as an invalid operation."""
    cfg = state.cfg
    if not all(fits(cfg, message) for fits in demands for message in messages):
        return REFUSED
    verdicts = {_refused_by_keys(cfg, messages), *(weigh(cfg, messages) for weigh in weighs)}
    return REFUSED if REFUSED in verdicts else EITHER if EITHER in verdicts else ACCEPTED


@clause("KEY-3", "KEY-5", "KEY-7")
def _refused_by_keys(cfg: Config, messages: tuple[Message, ...]) -> frozenset[bool]:
    if cfg.profile.key_rule is KeyRule.USER_PROPERTY:
        return ACCEPTED
    if any(map(conflicting, messages)):
        return REFUSED if cfg.profile.partitioned else EITHER
    if not cfg.profile.partitioned or len(messages) == 1:
        return ACCEPTED
    keys = {key_of(cfg, m) for m in messages}
    if len(keys) == 1:
        return ACCEPTED
    # With others, or another's, in one batch no source says whether a keyless message, or an ID that is its
    # key (KEY-4), has a different one.
    return EITHER if len(keys & effective_keys(messages, cfg.profile.key_rule) - {None}) < 2 else REFUSED


@clause("SEQ-4")
def failed(state: State, messages: tuple[Message, ...]) -> State:
    """The state after a send failed: nothing is stored, but it may have used up a number for each message, in
    the partition of its key; without a key in any one, and in each that was tried while it was down."""
    if not state.cfg.gaps:
        return state
    for message in messages:
        if not state.cfg.profile.partitioned:
            state = burn(state, 0, "", 1)
            continue
        key = None if conflicting(message) else key_of(state.cfg, message)
        if key is None:
            state = burn(_tried(state, 1), None, "", 1)
        else:
            home_of = key_partition(state, key)
            state = burn(state, home_of, key if home_of is None else "", 1)
    return state


@clause("SEQ-4", "ROUTE-6")
def _tried(state: State, keyless: int) -> State:
    """The state after so many keyless messages may have been tried in the partitions that are down: an
    aborted try, too, may use up a number."""
    if state.down and state.cfg.profile.partitioned:
        for p in range_of(state):
            if state.down >> p & 1:
                state = burn(state, p, "", keyless)
    return state


@clause("ROUTE-5", "ROUTE-6", "ROUTE-8")
def rejected(state: State, action: Action) -> Steps:
    """Why a valid send may be answered with an error: its key's partition is down, all are, or some are and
    the client does not wait long enough for the re-routing."""
    if not state.down:
        return
    after = failed(state, action.messages)
    keys = [key_of(state.cfg, m) for m in action.messages]
    key = next((k for k in keys if k is not None), None)
    kinds = outage(state, key)
    if not up(state) or (key is None and may_give_up(state, action)):
        if action.only in (None, NOWHERE):
            yield failure(kinds), after
    elif key is not None:
        home_of = key_partition(state, key)
        for p in choices(state) if home_of is None else (home_of,):
            if action.only in (None, p) and not is_up(state, p):
                yield failure(kinds), after if home_of is not None else with_key(after, key, p)


@point("ROUTE-6")
def may_give_up(state: State, action: Action) -> bool:
    """Whether a keyless send may fail while some partition is up."""
    return action.timeout <= LONG_SEND


@point("ROUTE-5", "ROUTE-6")
def outage(state: State, key: str | None) -> frozenset[str]:
    """The errors that report an outage."""
    return UNAVAILABLE


@point("ROUTE-1")
def redrawn(state: State) -> Iterator[State]:
    """The state after a fault or a recovery: keys stay where they live."""
    yield state


def accepted(state: State, action: Action, seen: Observed | None) -> Iterator[State]:
    """The states after the messages were stored, where the history shows them, if it does.

    Raises `TooManyWays` where a history is explained and the ways to distribute them do not end.
    """
    hints = hints_of(state, action, seen)
    keyless = sum(key_of(state.cfg, m) is None for m in action.messages) if state.down else 0
    ways = placements(_tried(state, keyless), action, hints, seen is None)
    for tried, (placed, places) in enumerate(ways):
        if tried == MOST_WAYS and seen is not None:
            raise TooManyWays
        for after, stored in kept(placed, action, places, hints):
            if len(stored) == len(places):
                yield from _entered(after, action, places, hints, seen is None)
            else:
                yield from _entered(after, *of_send(stored, action, places, hints), seen is None)


def of_send(
    stored: tuple[int, ...], action: Action, places: tuple[int, ...], hints: list[Delivery | None]
) -> tuple[Action, tuple[int, ...], list[Delivery | None]]:
    """The send of those of its messages alone, by their place in it."""
    messages = tuple(action.messages[n] for n in stored)
    return action._replace(messages=messages), tuple(places[n] for n in stored), [hints[n] for n in stored]


def _entered(
    state: State, action: Action, places: tuple[int, ...], hints: list[Delivery | None], strict: bool
) -> Iterator[State]:
    if len(places) == 1:
        yield from store(state, places[0], action.messages[0].id, hints[0], strict, action)
    elif strict:
        for order in _orders(places):
            yield from _stored(state, action, places, order)
    else:
        yield from _fitted(state, action, places, hints)


def hints_of(state: State, action: Action, seen: Observed | None) -> list[Delivery | None]:
    """For each message of a send, where the history shows it, if anywhere. A number says nothing where the
    broker owes none (SEQ)."""
    shown = {} if seen is None else {d.id: d for d in seen.messages}
    if not state.cfg.profile.shows_seq:
        shown = {id: d._replace(seq=None) for id, d in shown.items()}
    return [shown.get(m.id) for m in action.messages]


def _orders(places: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """The orders in which the messages of a batch may be numbered: no source fixes it within a partition."""
    yielded = set()
    for order in permutations(range(len(places))):
        by_part = tuple(tuple(n for n in order if places[n] == p) for p in sorted(set(places)))
        if by_part not in yielded:
            yielded.add(by_part)
            yield order


def _stored(state: State, action: Action, places: tuple[int, ...], order: tuple[int, ...]) -> Iterator[State]:
    if not order:
        yield state
        return
    n, rest = order[0], order[1:]
    for after in store(state, places[n], action.messages[n].id, None, True, action):
        yield from _stored(after, action, places, rest)


Hints = tuple[tuple[int, Delivery | None], ...]
"""Messages of a send, by their position in it, and how each is shown, if it is."""


def _fitted(
    state: State, action: Action, places: tuple[int, ...], hints: list[Delivery | None]
) -> Iterator[State]:
    """A batch stored in the order of the numbers that its messages are shown with, if they are."""
    states: Iterator[State] = iter((state,))
    for p in sorted(set(places)):
        here = [(n, hints[n]) for n, place in enumerate(places) if place == p]
        others = tuple((n, hint) for n, hint in here if hint is None or hint.seq is None)
        shown = [(n, hint) for n, hint in here if hint is not None and hint.seq is not None]
        known = in_order(state.cfg, shown)
        stored = partial(_fitted_in, p=p, action=action, known=known, others=others)
        states = chain.from_iterable(map(stored, states))
    yield from states


def in_order(cfg: Config, shown: list[tuple[int, Delivery]]) -> Hints:
    """Sort messages that are shown with numbers: in serial order, across the roll-over too."""
    if len(shown) > 1:
        size, first = 1 << cfg.bits, shown[0][1].seq or 0
        shown.sort(key=lambda one: ((one[1].seq or 0) - first + size // 2) % size)
    return tuple(shown)


def _fitted_in(state: State, p: int, action: Action, known: Hints, others: Hints) -> Iterator[State]:
    """Messages stored in one partition: those with numbers by these, the others where they leave room and
    after them, in any order if they are shown at all."""
    if known:
        n, hint = known[0]
        for after in store(state, p, action.messages[n].id, hint, False, action):
            yield from _fitted_in(after, p, action, known[1:], others)
        if not _room(state, p, hint):
            return
    elif not others:
        yield state
    tried = set[tuple[str | None, ...]]()
    for index, (n, hint) in enumerate(others):
        group = _received_with(state.cfg, action.messages[n])
        if hint is not None or group not in tried:
            for after in store(state, p, action.messages[n].id, hint, False, action):
                yield from _fitted_in(after, p, action, known, others[:index] + others[index + 1 :])
        if hint is None:
            tried.add(group)


Apart = Callable[[Config, Message], str | None]

received_apart: Final = Hook[Apart]()
"""Mark what says with which messages of its entity one is received, in order; None: with all."""


def _received_with(cfg: Config, message: Message) -> tuple[str | None, ...]:
    """Which messages of its entity one is received with. Of messages that are never shown one stands for all
    that are received with it."""
    return tuple(group(cfg, message) for group in received_apart)


def _room(state: State, p: int, hint: Delivery | None) -> bool:
    """Whether a message may be numbered before the one that is shown so."""
    part = state.parts[p]
    assert hint is not None and hint.seq is not None
    return part.base is None or part.base + part.next != counter_of(state.cfg, hint.seq)


def store(
    state: State, p: int, id: str, hint: Delivery | None, strict: bool, send: Action
) -> Iterator[State]:
    """The message stored at the end of a partition, under every number it may get. The enqueued time that the
    history shows it with has to fit already (SEQ-7)."""
    since, begun = state.now if state.cfg.hindsight else 0, state.now - send.early
    seq = None if hint is None else hint.seq
    at = None if hint is None else hint.enqueued_at
    message = next(message for message in send.messages if message.id == id)
    key = key_in_order(state.cfg, message)
    if seq is None and may_be_overdue(state, message, send.slack):
        yield overdue(state, p, message)
    for ready in (state,) if strict or not state.txns else before(state, p, seq):
        for number, part, after in assign(ready, p, seq, strict):
            enqueued = stamp(ready, part, send.slack, begun)
            entry = Entry(number, id, FRESH, 0, since, 0, None, enqueued, key=key)
            stored = timed(state.cfg, entered(part, as_sent(state.cfg, entry, message)), number, at)
            if stored is not None:
                yield with_part(after, p, stored)


CLIENT_OPS: Final = {"send": send, "send_batch": send}
"""The operations of clients."""
