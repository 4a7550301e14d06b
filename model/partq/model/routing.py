"""Sending: which messages are refused, which partition takes one, and what stays behind of a refused send.

The partition of a key is part of the state, extended when the key is first used: which function maps keys to
partitions is never assumed. Sends in transactions are in `transactions`, which uses what is here. Nothing
here knows how messages are received.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from typing import Final

from .actions import INVALID, LONG_SEND, NOWHERE, OK, Action, Answer, Observed, failure
from .clauses import clause
from .messages import JMS_KEY, SOLACE_KEY, Delivery, KeyRule, Message, ambiguous, effective_key
from .operations import UNAVAILABLE, Outcome
from .sequencing import assign, home, stamp
from .state import FRESH, Config, Entry, State, choices, is_up, key_partition, up, with_key, with_part

Steps = Iterator[tuple[Answer, State]]
Placed = tuple[State, tuple[int, ...]]

_ACCEPTED: Final = frozenset({False})
_REFUSED: Final = frozenset({True})
_EITHER: Final = frozenset({False, True})


def send(state: State, action: Action, seen: Observed | None) -> Steps:
    """Send one message, or a batch: all or nothing."""
    verdicts = refusals(state.cfg, action.messages)
    if True in verdicts and action.only in (None, NOWHERE):
        yield failure(INVALID), failed(state, len(action.messages))
    if False not in verdicts:
        return
    if seen is None or seen.status == Outcome.ERROR:
        yield from rejected(state, action)
    if seen is None or seen.status == Outcome.OK:
        for after in _accepted(state, action, seen):
            yield OK, after


@clause("KEY-3", "KEY-7")
def refusals(cfg: Config, messages: tuple[Message, ...]) -> frozenset[bool]:
    """Whether the messages of one send must, may or must not be refused as an invalid operation."""
    if cfg.profile.key_rule is not KeyRule.SERVICE_BUS:
        return _ACCEPTED
    if any(m.session_id and m.partition_key and m.session_id != m.partition_key for m in messages):
        return _REFUSED if cfg.profile.partitioned else _EITHER
    if not cfg.profile.partitioned or len(messages) == 1:
        return _ACCEPTED
    keys = {key_of(cfg, m) for m in messages}
    if len(keys) == 1:
        return _ACCEPTED
    # Keyed and keyless messages in one batch: no source says whether those are different keys.
    return _EITHER if len(keys) == 2 and None in keys else _REFUSED


@clause("KEY-1", "KEY-2", "KEY-5", "KEY-8", "TXN-8")
def key_of(cfg: Config, message: Message) -> str | None:
    """The key that pins a message to a partition, in a transaction and outside."""
    return effective_key(message, cfg.profile.key_rule) if cfg.profile.partitioned else None


@clause("KEY-8")
def keys_of(cfg: Config, message: Message) -> tuple[str | None, ...]:
    """What its key may be: of two key properties that differ no source says which one counts."""
    if ambiguous(message, cfg.profile.key_rule):
        return message.property(SOLACE_KEY), message.property(JMS_KEY)
    return (key_of(cfg, message),)


@clause("SEQ-4")
def failed(state: State, count: int) -> State:
    """The state after a send of so many messages failed: nothing is stored, but numbers may be used up."""
    return state._replace(burnt=state.burnt + count) if state.cfg.gaps else state


@clause("ROUTE-5", "ROUTE-6", "ROUTE-8")
def rejected(state: State, action: Action) -> Steps:
    """Why a valid send may be answered with an error: its key's partition is down, all are, or some are and
    the client does not wait long enough for the re-routing."""
    if not state.down:
        return
    after = failed(state, len(action.messages))
    keys = [key_of(state.cfg, m) for m in action.messages]
    key = next((k for k in keys if k is not None), None)
    if not up(state) or (key is None and action.timeout <= LONG_SEND):
        if action.only in (None, NOWHERE):
            yield failure(UNAVAILABLE), after
    elif key is not None:
        home_of = key_partition(state, key)
        for p in choices(state) if home_of is None else (home_of,):
            if action.only in (None, p) and not is_up(state, p):
                yield failure(UNAVAILABLE), after if home_of is not None else with_key(after, key, p)


def _accepted(state: State, action: Action, seen: Observed | None) -> Iterator[State]:
    hints = hints_of(action, seen)
    for placed, places in placements(_tried(state, action), action, hints):
        for order in _orders(places):
            yield from _stored(placed, action, places, order, hints, seen is None)


@clause("SEQ-4", "ROUTE-6")
def _tried(state: State, action: Action) -> State:
    """The state after keyless messages may have been tried in partitions that are down: an aborted send, too,
    may use up a number."""
    if not state.down or not state.cfg.profile.partitioned:
        return state
    keyless = sum(key_of(state.cfg, m) is None for m in action.messages)
    return failed(state, keyless * state.down.bit_count())


def hints_of(action: Action, seen: Observed | None) -> list[Delivery | None]:
    """For each message of a send, where the history shows it, if anywhere."""
    shown = {} if seen is None else {d.id: d for d in seen.messages}
    return [shown.get(m.id) for m in action.messages]


@clause("ROUTE-1", "ROUTE-2", "ROUTE-3", "ROUTE-6", "ROUTE-7", "ROUTE-9")
def placements(state: State, action: Action, hints: list[Delivery | None]) -> Iterator[Placed]:
    """Every way to distribute the messages: a known key goes to its partition, a new one and a keyless
    message to any partition that is up. The state after knows the new keys."""
    yield from _placed(state, action, hints, ())


def _placed(
    state: State, action: Action, hints: list[Delivery | None], chosen: tuple[int, ...]
) -> Iterator[Placed]:
    n = len(chosen)
    if n == len(action.messages):
        yield state, chosen
        return
    for key in keys_of(state.cfg, action.messages[n]):
        for p in _candidates(state, key, hints[n], action.only):
            if not is_up(state, p):
                continue
            if key is not None and key_partition(state, key) is None:
                after = with_key(state, key, p)
            else:
                after = state if state.used >> p & 1 else state._replace(used=state.used | 1 << p)
            yield from _placed(after, action, hints, (*chosen, p))


def _candidates(state: State, key: str | None, hint: Delivery | None, only: int | None) -> list[int]:
    known = None if key is None else key_partition(state, key)
    wanted = only
    if hint is not None:
        consistent, shown = home(state.cfg, hint)
        if not consistent:
            return []
        wanted = shown if shown is not None else only
    if known is not None:
        return [known] if wanted is None or wanted == known else []
    return choices(state) if wanted is None else [] if wanted == NOWHERE else [wanted]


def _orders(places: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """The orders in which the messages of a batch may be numbered: no source fixes it within a partition."""
    if len(places) == 1:
        yield (0,)
        return
    yielded = set()
    for order in permutations(range(len(places))):
        by_part = tuple(tuple(n for n in order if places[n] == p) for p in sorted(set(places)))
        if by_part not in yielded:
            yielded.add(by_part)
            yield order


def _stored(
    state: State,
    action: Action,
    places: tuple[int, ...],
    order: tuple[int, ...],
    hints: list[Delivery | None],
    strict: bool,
) -> Iterator[State]:
    if not order:
        yield state
        return
    n, rest = order[0], order[1:]
    for after in store(state, places[n], action.messages[n].id, hints[n], strict, action.slack):
        yield from _stored(after, action, places, rest, hints, strict)


def store(
    state: State,
    p: int,
    id: str,
    hint: Delivery | None,
    strict: bool,
    slack: int,
    status: int = FRESH,
    begun: int | None = None,
) -> Iterator[State]:
    """The message stored at the end of a partition, under every number it may get. ``begun``: when its send
    was, if not now."""
    since = state.now if state.cfg.hindsight else 0
    for number, part, burnt in assign(state, p, hint, strict):
        entry = Entry(number, id, status, since=since, at=stamp(state, part, slack, begun))
        yield with_part(state, p, part._replace(log=(*part.log, entry)))._replace(burnt=burnt)
