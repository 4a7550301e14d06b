"""The generator: seeded programs of concurrent clients and faults.

One generator, two sources of choices: a plain seed for campaigns, Hypothesis for searches that shrink. It
writes *phrases* (short runs of steps that make sense together) after a theme's weights, and knows
nothing of what a broker should answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, Final, Protocol

from partq.model.messages import JMS_KEY, SOLACE_KEY, KeyRule, Message
from partq.model.operations import ENV
from partq.model.profiles import SECOND, Entity, Profile, profile

from .program import Program, Step

LENGTH: Final = 24
"""Phrases in a program, unless asked otherwise."""

LIMIT_SEED: Final = 2**64


class Source(Protocol):
    """Where choices come from."""

    def below(self, n: int) -> int:
        """A whole number from 0 to n-1."""


class Seeded:
    """Choices from a seed. Uses `Random.random` alone, whose sequence is the same on every Python."""

    __slots__ = ("_random",)

    def __init__(self, seed: int) -> None:
        self._random = Random(seed).random

    def below(self, n: int) -> int:
        """A whole number from 0 to n-1."""
        return int(self._random() * n)


Weights = Mapping[str, int]
"""Phrase -> how often, in parts of the sum."""

THEMES: Final[Mapping[str, Weights]] = {
    "mixed": {
        "send": 30,
        "batch": 6,
        "receive": 18,
        "take": 3,
        "complete": 14,
        "abandon": 6,
        "stale": 2,
        "renew": 2,
        "peek": 8,
        "walk": 2,
        "transaction": 4,
        "advance": 4,
        "outage": 3,
        "front_end": 1,
        "kill": 1,
    },
    "routing": {
        "send": 40,
        "conflict": 3,
        "batch": 14,
        "receive": 10,
        "complete": 6,
        "peek": 10,
        "outage": 8,
        "blackout": 1,
        "kill": 2,
        "advance": 2,
    },
    "locks": {
        "send": 22,
        "receive": 26,
        "take": 3,
        "complete": 14,
        "abandon": 10,
        "stale": 8,
        "renew": 6,
        "keep": 4,
        "advance": 12,
        "outage": 1,
        "front_end": 2,
        "cut_off": 4,
        "late": 5,
    },
    "peek": {"send": 26, "receive": 8, "complete": 5, "abandon": 2, "peek": 26, "walk": 10, "advance": 2},
    "transactions": {
        "send": 10,
        "transaction": 34,
        "settle_transaction": 14,
        "receive": 14,
        "complete": 6,
        "peek": 10,
        "advance": 3,
        "outage": 1,
        "kill": 1,
    },
    "keys": {
        "burst": 30,
        "transaction": 12,
        "receive": 6,
        "outage": 3,
        "kill": 6,
    },
    "rollover": {"send": 40, "batch": 4, "receive": 10, "complete": 6, "peek": 12, "walk": 4, "abandon": 4},
    "flows": {
        "bind": 10,
        "unbind": 4,
        "disconnect": 4,
        "send": 40,
        "receive": 34,
        "complete": 24,
        "abandon": 3,
        "settle_all": 4,
        "advance": 6,
        "rest": 8,
        "spread": 6,
        "take": 3,
        "restart": 2,
    },
    "handoff": {
        "bind": 14,
        "unbind": 6,
        "disconnect": 6,
        "send": 26,
        "receive": 30,
        "complete": 6,
        "advance": 16,
        "rest": 6,
        "handoff": 10,
        "standby": 4,
        "bind_partition": 2,
        "take": 2,
    },
    "flow-keys": {"bind": 6, "rest": 6, "spread": 30, "complete": 8, "restart": 3},
}
"""What programs are about. A program has one theme, chosen among those of its profile."""

AZURE_THEMES: Final = ("mixed", "mixed", "routing", "keys", "locks", "peek", "transactions", "rollover")
FLOW_THEMES: Final = ("flows", "flows", "handoff", "flow-keys")


@dataclass(slots=True)
class _Draft:
    """A program while it is being written."""

    family: Profile
    entity: Entity
    source: Source
    keys: tuple[str, ...]
    clients: tuple[str, ...]
    steps: list[Step] = field(default_factory=list)
    messages: int = 0

    def chance(self, one_in: int) -> bool:
        return self.source.below(one_in) == 0

    def client(self) -> str:
        return self.clients[self.source.below(len(self.clients))]

    def add(self, proc: str, op: str, /, **args: Any) -> None:
        self.steps.append(Step(proc, op, args))

    def key(self) -> str:
        return self.keys[self.source.below(len(self.keys))]

    def message(self, key: str | None) -> Message:
        """A fresh message of that key, which travels in one of the ways the family knows."""
        self.messages += 1
        name = f"m{self.messages}"
        body = f"body of {name}" if self.source.below(8) else _BODIES[self.source.below(len(_BODIES))]
        if key is None:
            return Message(name, body)
        return _WAYS[self.family.key_rule][self.source.below(4)](name, body, key)

    def some_key(self) -> str | None:
        """A key, or in a quarter of cases none."""
        return self.key() if self.source.below(4) else None


_BODIES: Final = ("", "ünï¢ødé ✓", "<b>&amp;</b>", "x" * 300, "line\nbreak\ttab", '{"json": [1, 2]}')

_WAYS: Final[Mapping[KeyRule, tuple[Callable[[str, str, str], Message], ...]]] = {
    KeyRule.SERVICE_BUS: (
        lambda name, body, key: Message(name, body, session_id=key),
        lambda name, body, key: Message(name, body, partition_key=key),
        lambda name, body, key: Message(name, body, partition_key=key),
        lambda name, body, key: Message(name, body, session_id=key, partition_key=key),
    ),
    KeyRule.USER_PROPERTY: (
        lambda name, body, key: Message(name, body, properties=((SOLACE_KEY, key),)),
        lambda name, body, key: Message(name, body, properties=((SOLACE_KEY, key),)),
        lambda name, body, key: Message(name, body, properties=((JMS_KEY, key),)),
        lambda name, body, key: Message(
            name, body, partition_key=f"not-{name}", properties=(("other", name), (SOLACE_KEY, key))
        ),
    ),
}


def _send(draft: _Draft) -> None:
    draft.add(draft.client(), "send", messages=(draft.message(draft.some_key()),))


def _conflict(draft: _Draft) -> None:
    draft.messages += 1
    message = Message(f"m{draft.messages}", "two keys", session_id=draft.key(), partition_key="other")
    draft.add(draft.client(), "send", messages=(message,))


def _batch(draft: _Draft) -> None:
    key = draft.some_key()
    messages = [draft.message(key) for _ in range(2 + draft.source.below(3))]
    if draft.chance(4):
        messages.append(draft.message(f"{draft.key()}-too"))
    draft.add(draft.client(), "send_batch", messages=tuple(messages))


def _burst(draft: _Draft) -> None:
    """Several sends of one key, or keyless: enough to tell a rule from chance."""
    key = draft.some_key()
    for _ in range(3 + draft.source.below(4)):
        draft.add(draft.client(), "send", messages=(draft.message(key),))


def _receive(draft: _Draft) -> None:
    draft.add(draft.client(), "receive", max=(1, 1, 2, 5, 20)[draft.source.below(5)], timeout=SECOND)


def _take(draft: _Draft) -> None:
    most = 1 + draft.source.below(3)
    draft.add(draft.client(), "receive", max=most, mode="receive_and_delete", timeout=SECOND)


def _settle(op: str, **fixed: Any) -> Callable[[_Draft], None]:
    def phrase(draft: _Draft) -> None:
        first = draft.source.below(6)
        pick = [first] if draft.source.below(4) else [first, first + 1]
        draft.add(draft.client(), op, pick=pick, **fixed)

    return phrase


def _settle_all(draft: _Draft) -> None:
    client = draft.client()
    for _ in range(3):
        draft.add(client, "complete", pick=list(range(20)))
        draft.add(client, "receive", max=20, timeout=SECOND)


def _stale(draft: _Draft) -> None:
    op = ("complete", "abandon", "renew_lock")[draft.source.below(3)]
    draft.add(draft.client(), op, pick=[draft.source.below(6)], stale=True)


def _renew(draft: _Draft) -> None:
    draft.add(draft.client(), "renew_lock", pick=[draft.source.below(6)])


def _keep(draft: _Draft) -> None:
    """A lock is renewed half-way, and its first duration passes."""
    client, half = draft.client(), draft.entity.lock_duration // 2
    _send(draft)
    draft.add(client, "receive", max=1, timeout=SECOND)
    draft.add(ENV, "advance", by=half)
    draft.add(client, "renew_lock", pick=[draft.source.below(2)])
    draft.add(ENV, "advance", by=half + SECOND)
    _receive(draft)


def _late(draft: _Draft) -> None:
    """A settlement comes when its lock has run out."""
    client = draft.client()
    _send(draft)
    draft.add(client, "receive", max=1 + draft.source.below(2), timeout=SECOND)
    draft.add(ENV, "advance", by=draft.entity.lock_duration + SECOND)
    draft.add(client, "complete" if draft.chance(2) else "abandon", pick=[0])


def _peek(draft: _Draft) -> None:
    start = ("cursor", "cursor", "start", draft.source.below(50))[draft.source.below(4)]
    draft.add(draft.client(), "peek", max=(1, 3, 10, 100)[draft.source.below(4)], **{"from": start})


def _walk(draft: _Draft) -> None:
    client = draft.client()
    for _ in range(3 + draft.source.below(6)):
        draft.add(client, "peek", max=3)


def _transaction(draft: _Draft) -> None:
    client, key = draft.client(), draft.key()
    draft.add(client, "begin")
    for _ in range(1 + draft.source.below(3)):
        odd = draft.source.below(12)
        chosen = None if odd == 0 else draft.key() if odd == 1 else key
        draft.add(client, "send", messages=(draft.message(chosen),), txn=True)
    if draft.chance(4):
        draft.add(client, "complete", pick=[draft.source.below(6)], txn=True)
    if draft.chance(5):
        _receive(draft)
    draft.add(client, "rollback" if draft.chance(3) else "commit")


def _settle_transaction(draft: _Draft) -> None:
    client = draft.client()
    for _ in range(2 * draft.source.below(2)):
        draft.add(draft.client(), "send", messages=(draft.message(None),))
        draft.add(client, "receive", max=1, timeout=SECOND)
    draft.add(client, "receive", max=1 + draft.source.below(4), timeout=SECOND)
    draft.add(client, "begin")
    for _ in range(1 + draft.source.below(2)):
        op = "complete" if draft.source.below(4) else "abandon"
        draft.add(client, op, pick=[draft.source.below(4)], txn=True)
    rolled_back = draft.chance(2)
    draft.add(client, "rollback" if rolled_back else "commit")
    if rolled_back and draft.chance(2):
        draft.add(client, "complete", pick=[draft.source.below(4)])


def _advance(draft: _Draft) -> None:
    entity = draft.entity
    lengths = (SECOND, 2 * SECOND, entity.lock_duration // 2, entity.lock_duration + SECOND)
    if draft.family.flows:
        lengths = (SECOND, 2 * SECOND, entity.rebalance_delay + SECOND, entity.max_handoff + SECOND)
    draft.add(ENV, "advance", by=lengths[draft.source.below(4)])


def _outage(draft: _Draft) -> None:
    index = draft.source.below(draft.entity.partitions)
    draft.add(ENV, "partition_down", index=index)
    for _ in range(1 + draft.source.below(4)):
        (_send, _send, _receive, _batch)[draft.source.below(4)](draft)
    draft.add(ENV, "partition_up", index=index)


def _blackout(draft: _Draft) -> None:
    everything = range(draft.entity.partitions)
    for index in everything:
        draft.add(ENV, "partition_down", index=index)
    _send(draft)
    for index in everything:
        draft.add(ENV, "partition_up", index=index)


def _front_end(draft: _Draft) -> None:
    draft.add(ENV, "frontend_lost", proc=draft.client())


def _cut_off(draft: _Draft) -> None:
    """A front end is lost that may have fetched more than it was asked for."""
    client = draft.client()
    for _ in range(2 + draft.source.below(4)):
        _send(draft)
    draft.add(client, "receive", max=1, timeout=SECOND)
    draft.add(ENV, "frontend_lost", proc=client)


def _kill(draft: _Draft) -> None:
    draft.add(ENV, "broker_kill")
    if draft.chance(2):
        _send(draft)
    draft.add(ENV, "broker_start")


def _bind(draft: _Draft) -> None:
    draft.add(draft.client(), "bind")


def _rest(draft: _Draft) -> None:
    """Long enough for every delay and handoff to end."""
    entity = draft.entity
    draft.add(ENV, "advance", by=entity.rebalance_delay + 2 * entity.max_handoff + SECOND)


def _spread(draft: _Draft) -> None:
    """Messages of one key, then everybody receives: its partition shows. A batch bears its key in one way."""
    key = draft.key()
    first = draft.message(key)
    batch = [first]
    for _ in range(1 + draft.source.below(7)):
        batch.append(replace(first, id=draft.message(None).id))
    draft.add(draft.client(), "send_batch", messages=tuple(batch))
    draft.add(draft.client(), "send", messages=(draft.message(key),))
    for other in draft.clients:
        draft.add(other, "receive", max=20, timeout=SECOND)


def _restart(draft: _Draft) -> None:
    """The broker is killed and started; whoever consumed has to bind anew."""
    draft.add(ENV, "broker_kill")
    draft.add(ENV, "broker_start")
    for client in draft.clients:
        draft.add(client, "unbind")
        draft.add(client, "bind")
    _rest(draft)
    _spread(draft)


def _handoff(draft: _Draft) -> None:
    """A partition changes hands while its old flow has messages unsettled, or just has not."""
    old, new = draft.client(), draft.client()
    draft.add(old, "bind")
    _rest(draft)
    for _ in range(2 + draft.source.below(3)):
        _send(draft)
    draft.add(old, "receive", max=20, timeout=SECOND)
    draft.add(new, "bind")
    draft.add(ENV, "advance", by=draft.entity.rebalance_delay + SECOND)
    _send(draft)
    draft.add(old, "receive", max=5, timeout=SECOND)
    if draft.chance(2):
        draft.add(old, "complete", pick=list(range(20)))
    draft.add(ENV, "advance", by=draft.entity.max_handoff)
    draft.add(new, "receive", max=20, timeout=SECOND)


def _standby(draft: _Draft) -> None:
    """Everybody binds, and one that may have been active goes."""
    for client in draft.clients:
        draft.add(client, "bind")
    _rest(draft)
    draft.add(draft.clients[0], "disconnect" if draft.chance(2) else "unbind")
    for client in draft.clients[1:]:
        draft.add(client, "receive", max=5, timeout=SECOND)
    _rest(draft)


def _bind_partition(draft: _Draft) -> None:
    draft.add(draft.client(), "bind", partition=draft.source.below(draft.entity.partitions))


def _unbind(draft: _Draft) -> None:
    draft.add(draft.client(), "unbind")


def _disconnect(draft: _Draft) -> None:
    draft.add(draft.client(), "disconnect")


PHRASES: Final[Mapping[str, Callable[[_Draft], None]]] = {
    "send": _send,
    "conflict": _conflict,
    "batch": _batch,
    "burst": _burst,
    "keep": _keep,
    "cut_off": _cut_off,
    "late": _late,
    "receive": _receive,
    "take": _take,
    "complete": _settle("complete"),
    "abandon": _settle("abandon"),
    "settle_all": _settle_all,
    "stale": _stale,
    "renew": _renew,
    "peek": _peek,
    "walk": _walk,
    "transaction": _transaction,
    "settle_transaction": _settle_transaction,
    "advance": _advance,
    "outage": _outage,
    "blackout": _blackout,
    "front_end": _front_end,
    "kill": _kill,
    "bind": _bind,
    "bind_partition": _bind_partition,
    "rest": _rest,
    "spread": _spread,
    "restart": _restart,
    "handoff": _handoff,
    "standby": _standby,
    "unbind": _unbind,
    "disconnect": _disconnect,
}
"""Every phrase a theme may weigh."""


def generate(
    profile_name: str,
    seed: int,
    *,
    length: int = LENGTH,
    source: Source | None = None,
    lacks: frozenset[str] = frozenset(),
    themes: Mapping[str, Weights] = THEMES,
) -> Program:
    """A program for the profile: equal arguments give equal programs.

    ``length`` counts phrases. ``source`` overrides the seed as the origin of choices (Hypothesis); the
    seed still orders the interleaving. Steps that ``lacks`` names are left out.
    """
    family = profile(profile_name)
    source = Seeded(seed) if source is None else source
    theme = _theme(family, source)
    entity = _entity(family, theme, source)
    clients = tuple(f"c{n}" for n in range(1, 3 + (0, 0, 1, 1, 2, 6)[source.below(6)]))
    keys = tuple(f"k{n}" for n in range(1, 2 + source.below(6)))
    draft = _Draft(family, entity, source, keys, clients)
    table = _table(theme, tuple(themes[theme].items()))
    if family.flows:
        _bind(draft)
    for _ in range(length):
        PHRASES[table[source.below(len(table))]](draft)
    steps = tuple(step for step in draft.steps if step.op not in lacks) if lacks else tuple(draft.steps)
    return Program(profile_name, steps, entity, seed % LIMIT_SEED, sequential=draft.chance(4))


def _theme(family: Profile, source: Source) -> str:
    names = FLOW_THEMES if family.flows else AZURE_THEMES
    return names[source.below(len(names))]


def _entity(family: Profile, theme: str, source: Source) -> Entity:
    counts = family.partitions or (2, 3, 4, 6)
    partitions = counts[source.below(len(counts))]
    start = 2**family.counter_bits - 1 - source.below(4) if theme == "rollover" else None
    if family.flows:
        delay = (0, 1, 5)[source.below(3)] * SECOND
        return Entity(partitions=partitions, rebalance_delay=delay)
    cap = (None, 2, 5)[source.below(3)] if theme == "peek" else None
    return Entity(partitions=partitions, seq_start=start, peek_cap=cap)


_TABLES: Final[dict[tuple[str, tuple[tuple[str, int], ...]], tuple[str, ...]]] = {}


def _table(theme: str, weights: tuple[tuple[str, int], ...]) -> tuple[str, ...]:
    """The theme's phrases, each as often as it weighs; made once."""
    known = _TABLES.get((theme, weights))
    if known is None:
        known = tuple(name for name, weight in weights for _ in range(weight))
        _TABLES[theme, weights] = known
    return known
