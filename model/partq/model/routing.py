"""Sending: which messages are refused, which partition takes one, and what stays behind of a refused send.

The partition of a key is part of the state, extended when the key is first used: which function maps keys to
partitions is never assumed. Sends in transactions are in `transactions`, which uses what is here. Nothing
here knows how messages are received.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from typing import Final

from .actions import INVALID, LONG_SEND, NOWHERE, OK, STORE, Action, Answer, Observed, failure
from .clauses import clause
from .domains import key_in_order
from .edits import using, with_key, with_part
from .memory import withheld
from .messages import JMS_KEY, SOLACE_KEY, Delivery, KeyRule, Message, ambiguous, conflicting, effective_key
from .operations import ERRORS, FOR_GOOD, UNAVAILABLE, Outcome
from .pending import before
from .sequencing import assign, burn, counter_of, entered, home, named, stamp, timed
from .state import FRESH, NARROWLY, Config, Entry, State, choices, is_up, key_partition, up

Steps = Iterator[tuple[Answer, State]]
Placed = tuple[State, tuple[int, ...]]

_ACCEPTED: Final = frozenset({False})
_REFUSED: Final = frozenset({True})
_EITHER: Final = frozenset({False, True})


def send(state: State, action: Action, seen: Observed | None) -> Steps:
    """Send one message, or a batch: all or nothing."""
    verdicts = refusals(state, action.messages)
    if True in verdicts and action.only in (None, NOWHERE):
        yield failure(INVALID), failed(state, action.messages)
    if seen is not None and state.cfg.waived:
        yield from _stored_later(state, action, seen)
    if False not in verdicts:
        return
    if seen is None or seen.status == Outcome.ERROR:
        yield from rejected(state, action)
    if seen is None or seen.status == Outcome.OK:
        for after in accepted(state, action, seen):
            yield OK, after
        if seen is not None and not seen.messages and may_be_ignored(state, action):
            yield OK, failed(state, action.messages)
        if seen is not None and action.op == "send_batch" and may_be_torn(state):
            yield from ((OK, after) for after in done_in_part(state, action, seen))


@clause("KEY-3", "KEY-5", "KEY-7")
def refusals(state: State, messages: tuple[Message, ...]) -> frozenset[bool]:
    """Whether the messages of one send must, may or must not be refused as an invalid operation."""
    cfg = state.cfg
    if cfg.profile.key_rule is KeyRule.USER_PROPERTY:
        return _ACCEPTED
    if any(map(conflicting, messages)):
        return _REFUSED if cfg.profile.partitioned and state.forbids("KEY-3") else _EITHER
    if not cfg.profile.partitioned or len(messages) == 1:
        return _ACCEPTED
    keys = {key_of(cfg, m) for m in messages}
    if len(keys) == 1:
        return _ACCEPTED if None not in keys or state.forbids("KEY-5") else _EITHER
    # Keyed and keyless messages in one batch: no source says whether those are different keys.
    return _EITHER if (len(keys) == 2 and None in keys) or not state.forbids("KEY-7") else _REFUSED


@clause("KEY-3", "KEY-7", "ROUTE-5", "ROUTE-6", "ROUTE-8")
def _stored_later(state: State, action: Action, seen: Observed) -> Steps:
    """Where a requirement that has a send refused is waived: it is refused, or not, and what the history
    shows of it is stored at once or at any later time. With RCV-1 waived what is stored need not have been
    sent."""
    kinds, shown = _refusable(state, action), {d.id for d in seen.messages}
    if not shown:
        return
    after = withheld(failed(state, tuple(m for m in action.messages if m.id not in shown)), shown)
    if kinds and seen.status == Outcome.OK:
        yield OK, after
    kinds |= stored_by_refusals(state, action, seen)
    if kinds and seen.status == Outcome.ERROR:
        yield failure(kinds), after


@clause("KEY-3", "KEY-7", "ROUTE-5", "ROUTE-6", "ROUTE-8")
def store_withheld(state: State, action: Action, seen: Observed | None) -> Steps:
    """The broker stores a message that it has withheld; if it has not, there is nothing to do."""
    if action.messages[0].id not in state.withheld:
        yield OK, state
    elif not state.dead:
        left = tuple(id for id in state.withheld if id != action.messages[0].id)
        yield from ((OK, after) for after in accepted(state._replace(withheld=left), action, seen))


def _refusable(state: State, action: Action) -> frozenset[str]:
    """As what a send may be refused by a requirement that is waived."""
    messages, kinds = action.messages, frozenset[str]()
    keys = {key_of(state.cfg, m) for m in messages}
    home_of = next((key_partition(state, key) for key in keys if key is not None), None)
    if state.breaks("KEY-3") and any(map(conflicting, messages)):
        kinds |= INVALID
    if state.breaks("KEY-7") and len(keys) > 1:
        kinds |= INVALID
    if state.breaks("ROUTE-5") and keys != {None} and state.down:
        kinds |= UNAVAILABLE if home_of is None or not is_up(state, home_of) else frozenset()
    if not up(state) and state.breaks("ROUTE-8"):
        kinds |= UNAVAILABLE
    if keys == {None} and state.down and up(state) and state.breaks("ROUTE-6"):
        kinds |= UNAVAILABLE
    return kinds


@clause("KEY-3", "KEY-7", "ROUTE-5", "ROUTE-6", "ROUTE-8", "RCV-2")
def may_be_ignored(state: State, action: Action) -> bool:
    """Whether a send may be answered ok and nothing be stored, as it has to be refused, or to be stored
    elsewhere (ROUTE-6), by a requirement that is waived; or as what is accepted may be lost (RCV-2) before
    it has a number."""
    return bool(state.cfg.waived) and (state.breaks("RCV-2") or bool(_refusable(state, action)))


@clause("KEY-7", "RCV-2")
def may_be_torn(state: State) -> bool:
    """Whether a part of a batch may be stored, where a requirement is waived."""
    return state.breaks("KEY-7") or state.breaks("RCV-2")


@clause("KEY-7")
def stored_by_refusals(state: State, action: Action, seen: Observed) -> frozenset[str]:
    """Errors after which a waived rule lets the send be stored anyway: any (RCV-1; not its clause, since
    contents are not modelled), and part of a batch (KEY-7)."""
    torn = len({d.id for d in seen.messages}) < len(action.messages)
    if state.breaks("RCV-1") or (torn and state.breaks("KEY-7")):
        return frozenset(ERRORS)
    return frozenset()


def done_in_part(state: State, action: Action, seen: Observed) -> Iterator[State]:
    """The states after those messages of a send were stored that the history shows."""
    shown = {d.id for d in seen.messages}
    some = tuple(m for m in action.messages if m.id in shown)
    rest = failed(state, tuple(m for m in action.messages if m.id not in shown))
    yield from accepted(rest, action._replace(messages=some), seen) if some else (rest,)


@clause("KEY-1", "KEY-2", "KEY-8", "TXN-8")
def key_of(cfg: Config, message: Message) -> str | None:
    """The key that pins a message to a partition, in a transaction and outside."""
    return effective_key(message, cfg.profile.key_rule) if cfg.profile.partitioned else None


@clause("KEY-3", "KEY-8")
def keys_of(cfg: Config, message: Message) -> tuple[str | None, ...]:
    """What its key may be: of two key properties that differ no source says which one counts."""
    if ambiguous(message, cfg.profile.key_rule):
        return message.property(SOLACE_KEY), message.property(JMS_KEY)
    if cfg.profile.partitioned and conflicting(message) and not cfg.forbids("KEY-3"):
        return message.session_id, message.partition_key
    return (key_of(cfg, message),)


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
        for p in range(len(state.parts)):
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
    impatient = key is None and (action.timeout <= LONG_SEND or _may_fail(state))
    kinds = _kinds(state, key)
    if not up(state) or impatient:
        if action.only in (None, NOWHERE):
            yield failure(kinds), after
    elif key is not None:
        home_of = key_partition(state, key)
        for p in choices(state) if home_of is None else (home_of,):
            if action.only in (None, p) and not is_up(state, p):
                yield failure(kinds), after if home_of is not None else with_key(after, key, p)


@clause("ROUTE-6", "KEY-5")
def _may_fail(state: State) -> bool:
    """Whether a keyless send that waits long enough may fail in an outage: it is waived that it must not, or
    that its message's ID is no key."""
    return not state.forbids("ROUTE-6") or not state.forbids("KEY-5")


@clause("ROUTE-5", "ROUTE-6")
def _kinds(state: State, key: str | None) -> frozenset[str]:
    """The errors that tell of an outage; where a requirement is waived that names them, also others."""
    return UNAVAILABLE | FOR_GOOD if state.breaks("ROUTE-6" if key is None else "ROUTE-5") else UNAVAILABLE


@clause("ROUTE-7")
def isolated(state: State, action: Action) -> bool:
    """Whether an operation may not be refused because of a fault elsewhere. Whether a keyless send may, or
    one to a partition that is down, is not said here (ROUTE-6, ROUTE-5)."""
    if not state.down or state.forbids("ROUTE-7"):
        return True
    keys = {key_of(state.cfg, m) for m in action.messages}
    homes = {None if key is None else key_partition(state, key) for key in keys}
    struck = homes != {None} and all(p is not None and not is_up(state, p) for p in homes)
    return bool(keys) and (keys == {None} or struck)


@clause("ROUTE-1")
def redrawn(state: State) -> Iterator[State]:
    """The state after a fault or a recovery: keys stay where they live. Where that is waived, they may also
    be distributed anew, which shows as they are used."""
    yield state
    yield from anew(state)


@clause("ROUTE-1")
def anew(state: State) -> Iterator[State]:
    """The state in which keys are distributed anew, where that is waived: also by the repair of what was not
    broken."""
    if state.keys and not state.forbids("ROUTE-1"):
        yield state._replace(keys=())


def accepted(state: State, action: Action, seen: Observed | None) -> Iterator[State]:
    """The states after the messages were stored, where the history shows them, if it does."""
    hints = hints_of(state, action, seen)
    keyless = sum(key_of(state.cfg, m) is None for m in action.messages) if state.down else 0
    for placed, places in placements(_tried(state, keyless), action, hints):
        if len(places) == 1:
            yield from store(placed, places[0], action.messages[0].id, hints[0], seen is None, action)
        elif seen is None:
            for order in _orders(places):
                yield from _stored(placed, action, places, order)
        else:
            yield from _fitted(placed, action, places, hints)


def hints_of(state: State, action: Action, seen: Observed | None) -> list[Delivery | None]:
    """For each message of a send, where the history shows it, if anywhere. A number says nothing where the
    broker owes none (SEQ)."""
    shown = {} if seen is None else {d.id: d for d in seen.messages}
    if not state.cfg.profile.shows_seq:
        shown = {id: d._replace(seq=None) for id, d in shown.items()}
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
            if not (is_up(state, p) or serves(state, key)):
                continue
            if key is not None and key_partition(state, key) is None:
                after = with_key(state, key, p)
            else:
                after = using(state, p)
            yield from _placed(after, action, hints, (*chosen, p))
    if not state.cfg.pinned:
        for after, p in _astray(state, action, action.messages[n], hints[n]):
            yield from _placed(after, action, hints, (*chosen, p))


@clause("ROUTE-5", "ROUTE-6", "ROUTE-8")
def serves(state: State, key: str | None) -> bool:
    """Whether a partition may take a message of that key while it is down: never, unless waived."""
    if not up(state) and not state.forbids("ROUTE-8"):
        return True
    return (
        not state.forbids("ROUTE-5") if key is not None else bool(up(state) and not state.forbids("ROUTE-6"))
    )


@clause("ROUTE-1", "ROUTE-2", "KEY-1", "KEY-2", "KEY-8", "TXN-8")
def unpinned(state: State, action: Action, message: Message) -> bool:
    """Whether the message's key need not say where it goes: what makes it its key is waived, or what makes
    another one of its batch, with which it goes, have one. Keys may move (ROUTE-1) without a fault in the
    wide form only."""
    if state.cfg.pinned or key_of(state.cfg, message) is None:
        return False
    binding = ["ROUTE-2", *dict.fromkeys(_key_rule(state, m) for m in action.messages)]
    if NARROWLY not in state.cfg.waived:
        binding.append("ROUTE-1")
    if action.txn is not None:
        binding.append("TXN-8")
    waived = [requirement for requirement in binding if not state.forbids(requirement)]  # each one is asked
    if waived == ["KEY-8"] and NARROWLY in state.cfg.waived:
        return not _is_plain(message)
    return bool(waived)


def _key_rule(state: State, message: Message) -> str:
    """The requirement that says what the message's key is."""
    rule = state.cfg.profile.key_rule
    if rule is KeyRule.USER_PROPERTY:
        return "KEY-8"
    return "KEY-1" if message.session_id and rule is KeyRule.SERVICE_BUS else "KEY-2"


def _is_plain(message: Message) -> bool:
    """Whether the key is where any broker finds it: the first property, under the first of its names."""
    return message.properties[:1] == ((SOLACE_KEY, message.property(SOLACE_KEY)),)


@clause("ROUTE-5")
def _astray(
    state: State, action: Action, message: Message, hint: Delivery | None
) -> Iterator[tuple[State, int]]:
    """Where else a keyed message may go if a requirement is waived: anywhere; or, while its own partition is
    down, or when it has waited for that, to another one."""
    key = key_of(state.cfg, message)
    if key is None:
        return
    home_of = key_partition(state, key)
    free = unpinned(state, action, message) or (action.op == STORE and state.breaks("ROUTE-5"))
    down = [p for p in range(len(state.parts)) if not is_up(state, p)]
    for p in _candidates(state, None, hint, action.only):
        after = using(state, p)
        if free and is_up(state, p) and p != home_of:
            yield after, p
        elif state.breaks("ROUTE-5"):
            for q in down if home_of is None else {home_of}.intersection(down):
                if p != q:
                    yield (after if home_of is not None else with_key(after, key, q)), p


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
    if wanted is not None:
        return [] if wanted == NOWHERE else [wanted]
    found = choices(state)
    if hint is not None and state.cfg.waived:
        shown = named(state.cfg, hint)[1]
        found.sort(key=lambda p: p != shown)
    return found


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
    states = [state]
    for p in sorted(set(places)):
        here = [(n, hints[n]) for n, place in enumerate(places) if place == p]
        others = tuple((n, hint) for n, hint in here if hint is None or hint.seq is None)
        shown = [(n, hint) for n, hint in here if hint is not None and hint.seq is not None]
        known = in_order(state.cfg, shown)
        states = [after for before in states for after in _fitted_in(before, p, action, known, others)]
    yield from states


def in_order(cfg: Config, shown: list[tuple[int, Delivery]]) -> Hints:
    """Messages that are shown with numbers, by these: in serial order, across the roll-over too."""
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
    unseen = False
    for index, (n, hint) in enumerate(others):
        if hint is not None or not unseen:
            for after in store(state, p, action.messages[n].id, hint, False, action):
                yield from _fitted_in(after, p, action, known, others[:index] + others[index + 1 :])
        unseen = unseen or hint is None


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
    key = next(key_in_order(state.cfg, message) for message in send.messages if message.id == id)
    for ready in (state,) if strict or not state.txns else before(state, p, seq):
        for number, part, after in assign(ready, p, seq, strict):
            entry = Entry(
                number, id, FRESH, 0, since, 0, None, stamp(ready, part, send.slack, begun), key=key
            )
            stored = timed(state.cfg, entered(part, entry), number, at)
            if stored is not None:
                yield with_part(after, p, stored)
