"""Conditions under which a divergence is known: ``after broker_kill``, ``with two consumers`` ….

A table of pure predicates over what was done before a finding showed itself. Baselines and profile files name
conditions of this table; a finding carries the names of those that hold for it. No I/O, no verdicts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple, Protocol

from partq.model.messages import Delivery
from partq.model.operations import DRAINER, ENV, OPS, Outcome


class Deed(Protocol):
    """One operation or event, as a history records it."""

    @property
    def i(self) -> int: ...
    @property
    def proc(self) -> str: ...
    @property
    def op(self) -> str: ...
    @property
    def call(self) -> int: ...
    @property
    def ret(self) -> int | None: ...
    @property
    def args(self) -> Mapping[str, Any]: ...
    @property
    def outcome(self) -> str: ...
    @property
    def messages(self) -> tuple[Delivery, ...]: ...


class Scene(NamedTuple):
    """Where a finding appeared. ``before``: all calls until then, in order.
    ``during``: that part which was not over when the first of its messages was sent, or the first record of
    its witness called. ``witness``: the records that show it."""

    before: tuple[Deed, ...]
    during: tuple[Deed, ...]
    witness: tuple[Deed, ...]


def scene(deeds: Sequence[Deed], witness: Iterable[int]) -> Scene:
    """The scene of a finding whose witness has these numbers; without a witness, the whole history. A finding
    whose last record is no answer tells of what did not come: it shows itself at the end of the history."""
    numbers = {*witness}
    shown = tuple(deed for deed in deeds if deed.i in numbers)
    if not shown:
        return Scene(tuple(deeds), tuple(deeds), tuple(deeds))
    last = shown[-1]
    answered = OPS[last.op].answers or last.outcome == Outcome.ERROR
    until = last.ret if answered and last.ret is not None else deeds[-1].call
    names = {name for deed in shown for name in (*_sent(deed), *(one.id for one in deed.messages))}
    concerned = [deed.call for deed in deeds if deed.i in numbers or not names.isdisjoint(_sent(deed))]
    before = tuple(deed for deed in deeds if deed.call <= until)
    return Scene(before, tuple(deed for deed in before if _end(deed, before) >= min(concerned)), shown)


def _end(deed: Deed, deeds: Sequence[Deed]) -> float:
    """The end of the deed: of an outage, the instant when the partition, or the broker, is up again."""
    repair = OPS[deed.op].undone_by
    if not repair:
        return float("inf") if deed.ret is None else deed.ret
    later = (one for one in deeds if one.op == repair and one.call >= deed.call)
    ends = (one.ret for one in later if one.args.get("partition") == deed.args.get("partition"))
    return next((end for end in ends if end is not None), float("inf"))


def _sent(deed: Deed) -> list[str]:
    return [message.id for message in deed.args.get("messages", ())]


class Condition(NamedTuple):
    """``text``: what it means, for people."""

    text: str
    holds: Callable[[Scene], bool]


def _struck(*operations: str) -> Callable[[Scene], bool]:
    return lambda scene: any(deed.op in operations for deed in scene.during)


def _handed_off(scene: Scene) -> bool:
    """A flow came or went, or the broker said that a partition changed hands."""
    return any(deed.op in HANDOFFS and deed.proc != DRAINER for deed in scene.during)


def _unknown_outcome(scene: Scene) -> bool:
    return any(deed.outcome == Outcome.UNKNOWN and deed.proc != DRAINER for deed in scene.during)


def _in_transaction(scene: Scene) -> bool:
    return any(deed.args.get("txn") is not None for deed in scene.witness)


def _two_consumers(scene: Scene) -> bool:
    served = {deed.proc for deed in scene.before if deed.op == "receive" and deed.messages}
    return len(served - {DRAINER}) > 1


def _overlapping(scene: Scene) -> bool:
    """Calls of two clients were under way at once."""
    calls = [deed for deed in scene.during if deed.proc not in (ENV, DRAINER)]
    return any(one.ret is None or two.call < one.ret for one, two in pairwise(calls) if one.proc != two.proc)


HANDOFFS: Final = frozenset({"bind", "unbind", "assignment"})
LOST: Final = frozenset({"disconnect", "connection_lost", "frontend_lost"})
STRIKES: Final = frozenset({"broker_kill", "partition_down", *LOST})
"""Operations and events that break something."""

ALWAYS: Final = "always"
"""The condition that holds for every finding."""

CONDITIONS: Final[Mapping[str, Condition]] = {
    "after broker_kill": Condition(
        "the broker was killed, or not up again, meanwhile", _struck("broker_kill")
    ),
    "after partition_down": Condition("a partition was down meanwhile", _struck("partition_down")),
    "after connection_lost": Condition(
        "a client, or a front end, lost its connection meanwhile", _struck(*LOST)
    ),
    "after a handoff": Condition("a flow came or went meanwhile", _handed_off),
    "after an unknown outcome": Condition("an operation had an unknown outcome meanwhile", _unknown_outcome),
    "in a transaction": Condition("an operation that shows it was part of a transaction", _in_transaction),
    "with overlapping calls": Condition("calls of two clients overlapped meanwhile", _overlapping),
    "with two consumers": Condition("two clients or more had received messages", _two_consumers),
    ALWAYS: Condition("nothing is needed for it", lambda scene: True),
}
"""By name, the narrowest first. *Meanwhile*: between the first operation on the messages concerned and the
last one that shows the finding."""


def holding(deeds: Sequence[Deed], witness: Iterable[int]) -> tuple[str, ...]:
    """The names of the conditions that hold for a finding of that witness, the narrowest first."""
    where = scene(deeds, witness)
    return tuple(name for name, condition in CONDITIONS.items() if condition.holds(where))


def narrowest(findings: Iterable[Iterable[str]]) -> tuple[str, ...]:
    """Conditions of which one holds for each finding, given by those that hold for it: one for all of them
    if there is one, the narrowest; else some, each the one that holds for most of what is left. `ALWAYS`
    alone where no other holds for some finding."""
    left = [{*names} - {ALWAYS} for names in findings]
    if not all(left):
        return (ALWAYS,)
    found: list[str] = []
    while left or not found:
        found.append(max(CONDITIONS, key=lambda name: sum(name in names for names in left)))
        left = [names for names in left if found[-1] not in names]
    return tuple(found)
