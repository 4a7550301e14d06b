"""Topics: which of the messages that a topic accepts a subscription gets a copy of.

The model is asked about each subscription for itself, as a queue to which all is sent that is sent to the
topic: what its rule does not match is accepted, and not stored. So no copy knows of another one. The
subscription's settings have its own rule alone (`Entity.outlet`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from ..actions import OK, Action, Observed, failure
from ..clauses import clause, guard, point
from ..configuration import Config
from ..filters import SQL, TRUE, parsed
from ..messages import Delivery, Made, Message, message_id, original
from ..operations import ERRORS
from ..profiles import DEFAULT_RULE, PROPERTY
from ..sequencing.entering import Kept, screens
from ..sequencing.norm import burn
from ..state import State, Steps

Rule = tuple[str, str, str]
"""Name, filter, and action; empty: it has none."""

Verdicts = frozenset[bool]
"""Whether a message has to be copied (true), must not be (false), or either."""


def is_subscription(cfg: Config) -> bool:
    """Whether the entity gets copies of what a topic is sent."""
    return bool(cfg.entity.subscriptions)


@screens(is_subscription)
def copied(
    state: State, action: Action, places: Sequence[int], hints: Sequence[Delivery | None]
) -> Iterator[Kept]:
    """Each way to store copies of the messages of a send that the topic accepts."""
    yield from _copied(state, action, places, hints, ())


@clause("SEQ-4")
def _copied(
    state: State,
    action: Action,
    places: Sequence[int],
    hints: Sequence[Delivery | None],
    verdicts: tuple[bool, ...],
) -> Iterator[Kept]:
    """The message after those decided. One that is not copied may use up a number: whether a copy has the
    topic's number or one of its own no source settles."""
    n = len(verdicts)
    if n == len(places):
        yield state, tuple(index for index, stored in enumerate(verdicts) if stored)
        return
    found = takes(state, action.messages[n])
    if False in found and hints[n] is None:  # more likely where both are allowed
        number = burn(state, places[n], "", 0 if isinstance(action.messages[n], Made) else 1)
        yield from _copied(number, action, places, hints, (*verdicts, False))
    if True in found:
        yield from _copied(state, action, places, hints, (*verdicts, True))


@point("TOPIC-1")
def takes(state: State, message: Message) -> Verdicts:
    """Whether the subscription gets a copy: one for all of its rules without an action that match, and one
    for each that has an action, which is made by it."""
    by = message.by if isinstance(message, Made) else None
    rules = (rule for name, rule, action in rules_of(state) if by == ((name, action) if action else None))
    found = [matches(rule, original(message)) for rule in rules]
    if any(False not in one for one in found):
        return frozenset({True})
    return frozenset({False}).union(*found)


def rules_of(state: State) -> tuple[Rule, ...]:
    """The subscription's rules."""
    own = state.cfg.entity.subscriptions
    return ((DEFAULT_RULE, own[0][1], ""),) if state.rules is None else state.rules


def matches(rule: str, message: Message) -> Verdicts:
    """Whether the filter of a rule does."""
    if rule.startswith(SQL):
        return frozenset(truth == TRUE for truth in parsed(rule).test(message))
    name, asks, value = rule.partition("=")
    if not asks:
        return frozenset({rule == "true"})
    if name.startswith(PROPERTY):
        return _has(message, name.removeprefix(PROPERTY), value)
    if name == "id":
        return _equal(None if message.without_id else message_id(message.id), value)
    if name == "partition_key" and message.partition_key is None and message.session_id is not None:
        return _equal(message.session_id, value) | {False}  # a key of its own it has not
    return _equal(getattr(message, name), value)


def _has(message: Message, name: str, value: str) -> Verdicts:
    """Whether the message has the user property. Whether case of its name matters no source settles."""
    alike = [(own == name, text) for own, text in message.properties if own.casefold() == name.casefold()]
    either = frozenset[bool]().union(*(_equal(text, value) for _, text in alike))
    return either if alike and all(same for same, _ in alike) else either | {False}


def _equal(own: str | None, value: str) -> Verdicts:
    """Whether the property has the value. Whether case matters no source settles."""
    if own is None or own.casefold() != value.casefold():
        return frozenset({False})
    return frozenset({True} if own == value else {True, False})


@guard("SCH-1")
def is_in_time(cfg: Config, due: int, shown: int) -> bool:
    """Whether a copy of a message that was scheduled for one time may be shown at another, both in ns."""
    return shown >= due - cfg.skew


@point("TOPIC-2")
def change(state: State, action: Action, seen: Observed | None) -> Steps:
    """A rule is added, or removed. One that is there already, or is not there, may be refused or not."""
    if not is_subscription(state.cfg):
        yield failure(frozenset(ERRORS)), state
        return
    for meant in meant_by(state, action):
        yield OK, changed(state, action, meant)
        if bool(meant) is (action.op == ADDS):
            yield failure(frozenset(ERRORS)), state


@clause("TOPIC-2")
def changed(state: State, action: Action, meant: Sequence[str]) -> State:
    """The state after the change, which replaces or removes the rules ``meant``."""
    told = dict(action.rule)
    rules = {rule[0]: rule for rule in rules_of(state) if rule[0] not in meant}
    if action.op == ADDS:
        rules[told["name"]] = told["name"], told["filter"], told.get("action", "")
    return state._replace(rules=tuple(sorted(rules.values())))


def meant_by(state: State, action: Action) -> Iterable[tuple[str, ...]]:
    """Which of the subscription's rules may have the name. Whether case matters no source settles."""
    told, names = dict(action.rule)["name"], [rule[0] for rule in rules_of(state)]
    alike = tuple(name for name in names if name.casefold() == told.casefold())
    return dict.fromkeys((tuple(name for name in alike if name == told), alike))


@point("TXN-6")
def in_transaction(state: State, action: Action, seen: Observed | None) -> Steps:
    """A change of rules in a transaction is refused, and changes nothing."""
    yield failure(frozenset(ERRORS)), state


ADDS: Final = "add_rule"

CLIENT_OPS: Final = {ADDS: change, "remove_rule": change}
IN_TRANSACTION: Final = dict.fromkeys(CLIENT_OPS, in_transaction)
"""The operations of clients, outside of a transaction and inside."""
