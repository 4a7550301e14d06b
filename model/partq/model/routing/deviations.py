"""How a broker breaks the rules on keys and partitions (KEY, ROUTE), and stores refused messages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from ..actions import INVALID, OK, STORE, Action, Observed, failure
from ..configuration import NARROWLY, Config
from ..departures import beyond, instead
from ..edits import using, with_key
from ..messages import SOLACE_KEY, Delivery, KeyRule, Message, conflicting, effective_key
from ..operations import ERRORS, FOR_GOOD, UNAVAILABLE, Outcome
from ..state import State, Steps, is_up, key_partition, range_of, up
from .norm import REFUSED, accepted, failed, may_give_up, outage, redrawn, refusals, send
from .placing import candidates, key_of, keys_of, places, takes

PINNING: Final = ("ROUTE-1", "ROUTE-2", "KEY-1", "KEY-2", "KEY-4", "KEY-8", "TXN-8")
"""The rules that together determine the partition of a keyed message."""

Keys = set[str | None]


def keys_in(state: State, action: Action) -> Keys:
    """The keys of a send's messages."""
    return {key_of(state.cfg, m) for m in action.messages}


# What is refused


def _has_keys(cfg: Config) -> bool:
    """Whether session IDs and partition keys are keys."""
    return cfg.profile.key_rule is not KeyRule.USER_PROPERTY


@beyond(refusals, "KEY-3", where=_has_keys)
def conflict_accepted(state: State, messages: tuple[Message, ...]) -> frozenset[bool]:
    """A session ID and a partition key that differ are accepted."""
    return frozenset({False}) if any(map(conflicting, messages)) else frozenset()


@beyond(refusals, "KEY-5", where=_has_keys)
def keyless_batch_refused(state: State, messages: tuple[Message, ...]) -> frozenset[bool]:
    """The IDs of a keyless batch are taken for different keys."""
    keyless = state.cfg.profile.partitioned and len(messages) > 1 and _keys(state, messages) == {None}
    return frozenset({True}) if keyless else frozenset()


@beyond(refusals, "KEY-7", where=_has_keys)
def mixed_batch_accepted(state: State, messages: tuple[Message, ...]) -> frozenset[bool]:
    """A batch of several keys is accepted."""
    several = state.cfg.profile.partitioned and len(_keys(state, messages)) > 1
    return frozenset({False}) if several else frozenset()


@beyond(refusals, "REB-18", broken=True)
def further_key_refused(state: State, messages: tuple[Message, ...]) -> frozenset[bool]:
    """A partition takes no messages of a further key. Of a message that is refused only its key can tell."""
    refused = any(len(m.properties) == 1 and key_of(state.cfg, m) is not None for m in messages)
    return REFUSED if refused else frozenset()


def _keys(state: State, messages: tuple[Message, ...]) -> Keys:
    """The keys by which a batch may be refused: none where two of a message are in conflict."""
    if any(map(conflicting, messages)):
        return set()
    return {key_of(state.cfg, m) for m in messages}


@instead(keys_of, "KEY-3")
def either_key(told: tuple[str | None, ...], cfg: Config, message: Message) -> tuple[str | None, ...]:
    """If session ID and partition key differ either may count."""
    if len(told) > 1 or not cfg.profile.partitioned or not conflicting(message):
        return told
    return message.session_id, message.partition_key


# What happens all the same


@instead(send, "KEY-3", "KEY-7", "ROUTE-5", "ROUTE-6", "ROUTE-8", "RCV-1", broken=True)
def stored_later(told: Steps, state: State, action: Action, seen: Observed | None) -> Steps:
    """What has to be refused is, or is not, and what the history shows of it is stored at once or at any
    later time. With RCV-1 waived what is stored need not have been sent. It is tried first."""
    if seen is not None and seen.messages:
        yield from _stored_later(state, action, seen)
    yield from told


def _stored_later(state: State, action: Action, seen: Observed) -> Steps:
    shown = {d.id for d in seen.messages}
    kinds = _refusable(state, action)
    after = withheld(failed(state, tuple(m for m in action.messages if m.id not in shown)), shown)
    if kinds and seen.status == Outcome.OK:
        yield OK, after
    kinds |= stored_by_refusals(state, action, seen)
    if kinds and seen.status == Outcome.ERROR:
        yield failure(kinds), after


@beyond(send, "KEY-3", "KEY-7", "ROUTE-5", "ROUTE-6", "ROUTE-8", "RCV-2", broken=True)
def ignored(state: State, action: Action, seen: Observed | None) -> Steps:
    """A send is answered ok and nothing is stored, as it has to be refused, or to be stored elsewhere
    (ROUTE-6); or as what is accepted may be lost (RCV-2) before it has a number."""
    if _is_accepted(state, action, seen) and seen is not None and not seen.messages:
        if state.breaks("RCV-2") or _refusable(state, action):
            yield OK, failed(state, action.messages)


@beyond(send, "KEY-7", "RCV-2", broken=True)
def torn(state: State, action: Action, seen: Observed | None) -> Steps:
    """Only those messages of a batch are stored that the history shows."""
    if seen is None or not _is_accepted(state, action, seen) or action.op != "send_batch":
        return
    shown = {d.id for d in seen.messages}
    some = tuple(m for m in action.messages if m.id in shown)
    rest = failed(state, tuple(m for m in action.messages if m.id not in shown))
    for after in accepted(rest, action._replace(messages=some), seen) if some else (rest,):
        yield OK, after


def _is_accepted(state: State, action: Action, seen: Observed | None) -> bool:
    """Whether the history shows the send as one that was accepted, and might be."""
    ok = seen is not None and seen.status == Outcome.OK
    return ok and False in refusals(state, action.messages)


def _refusable(state: State, action: Action) -> frozenset[str]:
    """The errors with which a waived rule may refuse a send."""
    keys = keys_in(state, action)
    return frozenset[str]().union(
        *(
            kinds
            for rule, (applies, kinds) in _REFUSALS.items()
            if applies(state, action, keys) and state.breaks(rule)
        )
    )


def _is_keyed_in_outage(state: State, action: Action, keys: Keys) -> bool:
    if keys == {None} or not state.down:
        return False
    home_of = next((key_partition(state, key) for key in keys if key is not None), None)
    return home_of is None or not is_up(state, home_of)


_REFUSALS: Final[dict[str, tuple[Callable[[State, Action, Keys], bool], frozenset[str]]]] = {
    "KEY-3": (lambda state, action, keys: any(map(conflicting, action.messages)), INVALID),
    "KEY-7": (lambda state, action, keys: len(keys) > 1, INVALID),
    "ROUTE-5": (_is_keyed_in_outage, UNAVAILABLE),
    "ROUTE-8": (lambda state, action, keys: not up(state), UNAVAILABLE),
    "ROUTE-6": (lambda state, action, keys: keys == {None} and bool(state.down and up(state)), UNAVAILABLE),
}
"""By rule: when it demands that a send is refused, and with which error."""


def stored_by_refusals(state: State, action: Action, seen: Observed) -> frozenset[str]:
    """Errors after which a waived rule lets the send be stored anyway: any (RCV-1), and part of a batch
    (KEY-7)."""
    part = len({d.id for d in seen.messages}) < len(action.messages)
    anyway = state.breaks("RCV-1") or (part and state.breaks("KEY-7"))
    return frozenset(ERRORS) if anyway else frozenset()


def withheld(state: State, ids: Iterable[str]) -> State:
    """The state in which these messages are not stored yet, and may be (`store_withheld`)."""
    return state._replace(withheld=tuple(sorted({*state.withheld, *ids})))


def store_withheld(state: State, action: Action, seen: Observed | None) -> Steps:
    """The broker stores a withheld message; a message that is not withheld stays as it is."""
    if action.messages[0].id not in state.withheld:
        yield OK, state
    elif not state.dead:
        left = tuple(id for id in state.withheld if id != action.messages[0].id)
        yield from ((OK, after) for after in accepted(state._replace(withheld=left), action, seen))


# Where messages go


@beyond(places, *PINNING, where=lambda cfg: not cfg.pinned)
def astray(
    state: State, action: Action, message: Message, hint: Delivery | None
) -> Iterator[tuple[State, int]]:
    """A keyed message is stored in any partition."""
    if unpinned(state, action, message):
        yield from _elsewhere(state, action, message, hint)


@beyond(places, "ROUTE-5", broken=True)
def stored_in_outage(
    state: State, action: Action, message: Message, hint: Delivery | None
) -> Iterator[tuple[State, int]]:
    """While its own partition is down, or when it has waited for that, a keyed message goes to another."""
    key, free = key_of(state.cfg, message), unpinned(state, action, message)
    if key is None:
        return
    if action.op == STORE and not free:
        yield from _elsewhere(state, action, message, hint)
    home_of = key_partition(state, key)
    down = {p for p in range_of(state) if not is_up(state, p)}
    for p in candidates(state, None, hint, action.only):
        if (free or action.op == STORE) and is_up(state, p) and p != home_of:
            continue
        after = using(state, p)
        for q in sorted((down if home_of is None else down & {home_of}) - {p}):
            yield (after if home_of is not None else with_key(after, key, q)), p


def _elsewhere(
    state: State, action: Action, message: Message, hint: Delivery | None
) -> Iterator[tuple[State, int]]:
    key = key_of(state.cfg, message)
    home_of = None if key is None else key_partition(state, key)
    for p in candidates(state, None, hint, action.only) if key is not None else ():
        if is_up(state, p) and p != home_of:
            yield using(state, p), p


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
    if effective_key(message, rule) is None:
        return "KEY-4"
    return "KEY-1" if message.session_id and rule is KeyRule.SERVICE_BUS else "KEY-2"


def _is_plain(message: Message) -> bool:
    """Whether the key is where any broker finds it: the first property, under the first of its names, and no
    other attribute could be taken for one."""
    alone = message.session_id is None and message.partition_key is None
    return alone and message.properties[:1] == ((SOLACE_KEY, message.property(SOLACE_KEY)),)


@beyond(takes, "ROUTE-5")
def keyed_takes(state: State, key: str | None) -> bool:
    """A partition that is down takes keyed messages."""
    return key is not None


@beyond(takes, "ROUTE-6")
def keyless_takes(state: State, key: str | None) -> bool:
    """A partition that is down takes keyless messages, while another one is up."""
    return key is None and bool(up(state))


@beyond(takes, "ROUTE-8")
def any_takes(state: State, key: str | None) -> bool:
    """A partition takes messages though all are down."""
    return not up(state)


# Faults


@beyond(may_give_up, "ROUTE-6", "KEY-5")
def gives_up(state: State, action: Action) -> bool:
    """A keyless send fails however long it waits (ROUTE-6), or its ID is taken for a key (KEY-5)."""
    return True


@beyond(outage, "ROUTE-6", broken=True)
def keyless_refused_for_good(state: State, key: str | None) -> frozenset[str]:
    """A keyless send is refused for good."""
    return FOR_GOOD if key is None else frozenset()


@beyond(outage, "ROUTE-5", broken=True)
def keyed_refused_for_good(state: State, key: str | None) -> frozenset[str]:
    """A keyed send is refused for good."""
    return FOR_GOOD if key is not None else frozenset()


@beyond(redrawn, "ROUTE-1")
def anew(state: State) -> Iterator[State]:
    """Keys are distributed anew, which shows as they are used."""
    if state.keys:
        yield state._replace(keys=())


BROKER_OPS: Final = {STORE: store_withheld}
"""The broker's own move that only this allows."""
