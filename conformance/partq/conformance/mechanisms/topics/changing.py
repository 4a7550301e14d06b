"""Which rules the subscriptions of a topic have in random programs, how these change, what is sent then."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from partq.conformance.workload import phrases
from partq.conformance.workload.phrases import Draft
from partq.model.filters import SQL
from partq.model.messages import Message
from partq.model.operations import SUBSCRIPTION, TOPICS
from partq.model.profiles import DEFAULT_RULE, SECOND

ADDS: Final = TOPICS
REMOVES: Final = "remove_rule"

RULES: Final = (
    (("all", "true"), ("none", "false")),
    (("all", "true"), ("same", "true")),
    (("some", "session_id=k1"), ("all", "true")),
    (("one", "partition_key=k1"), ("two", "partition_key=k2"), ("all", "true")),
    (("third", "id=m3"), ("none", "false"), ("some", "session_id=k1")),
    (("all", "true"),),
    (("some", "sql:Colour NOT IN ('green', 'blue') OR sys.SessionId = 'k1'"), ("blue", "prop.colour=blue")),
    (("red", "sql:colour = 'Red'"), ("others", "sql:NOT colour = 'Red'"), ("all", "true")),
    (("like", "sql:share LIKE '5_!%' ESCAPE '!'"), ("ends", "sql:colour NOT LIKE '%u'"), ("all", "true")),
    (
        ("mixed", "sql:colour = 'blue' OR colour = 'Red' AND size IS NOT NULL"),
        ("keyed", "sql:(sys.SessionId = 'k1' OR 2 <= 1) AND NOT EXISTS(user.[share])"),
    ),
)
"""Subscriptions of a topic, each with its rule."""

_COLOURS: Final = (
    (("colour", "Red"),),
    (("colour", "Red"), ("size", "")),
    (("colour", "blue"),),
    (("COLOUR", "green"), ("share", "50%")),
    (("share", "500"),),
    (("colour", "red"), ("share", "5")),
)
"""User properties for which filters ask."""


def coloured(draft: Draft) -> None:
    """A message with such properties."""
    draft.send(draft.client(), _message(draft, draft.some_key()))


def _message(draft: Draft, key: str | None) -> Message:
    return replace(draft.message(key), properties=_COLOURS[draft.source.below(len(_COLOURS))])


def delayed(draft: Draft) -> None:
    """A message is scheduled, and its time comes; meanwhile it may be cancelled, or a rule changed. Where
    duplicates are detected it is not known which message counts."""
    client = draft.client()
    if draft.entity.duplicate_detection:
        coloured(draft)
        return
    op = "schedule" if draft.chance(2) else "send"
    draft.add(client, op, messages=(_message(draft, draft.some_key()),), delay=2 * SECOND)
    way = draft.source.below(6)
    if way == 0:
        draft.add(client, "cancel_scheduled", pick=0)
    elif way < 3 and not any(rule.startswith(SQL) for _, rule in draft.entity.subscriptions):
        change(draft, draft.client())
    look(draft)
    if draft.source.below(3):
        draft.wait(2 * SECOND)
    look(draft)


def some_outlet(draft: Draft) -> str:
    outlets = draft.entity.outlets or (SUBSCRIPTION + "all",)
    return outlets[draft.source.below(len(outlets))]


def look(draft: Draft) -> None:
    start = "start" if draft.chance(2) else "cursor"
    draft.add(draft.client(), "peek", entity=some_outlet(draft), max=8, **{"from": start})


_FILTERS: Final = (
    *("true", "true", "false", "session_id=k1", "partition_key=k2", "partition_key=k1"),
    *("prop.colour=Red", "sql:NOT colour LIKE '%e%'", "sql:sys.SessionId IN ('k1') OR colour = 'Red'"),
)


_ACTIONS: Final = ("SET paint = 'new'", "REMOVE share; SET user.paint = 'it''s'", "SET [size] = '1';")

_BY_ACTION: Final = "sql:colour = 'Red' OR EXISTS(share) OR sys.SessionId IS NOT NULL"


def _rule(draft: Draft, add: bool) -> dict[str, str]:
    name = ("red", "blue", DEFAULT_RULE)[draft.source.below(3)]
    if not add:
        return {"name": name}
    return {"name": name, "filter": _FILTERS[draft.source.below(len(_FILTERS))]}


def annotated(draft: Draft) -> None:
    """Rules with an action are added, or one is removed, and something is sent that they match. Where there
    are SQL filters, they stay, as above."""
    client, outlet = draft.client(), some_outlet(draft)
    if any(rule.startswith(SQL) for _, rule in draft.entity.subscriptions):
        coloured(draft)
        return
    for name in ("first", "second")[: 1 + draft.source.below(2)]:
        rule = {"name": name, "filter": ("true", _BY_ACTION)[draft.source.below(2)]}
        rule["action"] = _ACTIONS[draft.source.below(len(_ACTIONS))]
        draft.add(client, ADDS, entity=outlet, rule=rule)
    for _ in range(1 + draft.source.below(2)):
        coloured(draft)
    look(draft)
    if draft.chance(2):
        draft.add(client, REMOVES, entity=outlet, rule={"name": "first"})
        coloured(draft)


def change(draft: Draft, client: str, **more: Any) -> None:
    add = bool(draft.source.below(3))
    draft.add(client, ADDS if add else REMOVES, entity=some_outlet(draft), rule=_rule(draft, add), **more)


def _sent_together(draft: Draft) -> None:
    """Messages of one key are sent in a transaction."""
    client, key = draft.client(), draft.key()
    with draft.transaction(client, undone=4):
        for _ in range(1 + draft.source.below(2)):
            draft.send(client, _message(draft, key), txn=True)
        if draft.chance(3):
            look(draft)
    look(draft)


def ruled(draft: Draft) -> None:
    """A rule is added or removed, and something is sent. Where there are SQL filters, they stay, and messages
    are sent in a transaction: with both it is not known which rules count."""
    if any(rule.startswith(SQL) for _, rule in draft.entity.subscriptions):
        _sent_together(draft)
        return
    change(draft, draft.client())
    coloured(draft)
    if draft.chance(2):
        look(draft)


def ruled_together(draft: Draft) -> None:
    """The same inside a transaction."""
    client = draft.client()
    draft.add(client, "begin")
    change(draft, client, txn=True)
    draft.add(client, "commit" if draft.chance(2) else "rollback")
    phrases.send(draft)
