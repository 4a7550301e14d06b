"""The shape of an operation's record, and what a record's functions are given: no operation is here."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from partq.model.actions import Action
from partq.model.messages import Delivery, Message
from partq.model.operations import ENTITY, OPS, TOPICS, Arg

Args = Mapping[str, Any]


def some_of(args: Args, *names: str) -> dict[str, Any]:
    """Those of the arguments that there are."""
    return {name: args[name] for name in names if name in args}


def answered(op: str, args: Args, answer: object) -> dict[str, Any]:
    """The arguments of the operation, with those that its answer gives."""
    given = {name: getattr(answer, name, None) for name in OPS[op].tells}
    return {**args, **{name: value for name, value in given.items() if value is not None}}


class Told(NamedTuple):
    """What came of an operation, as it was recorded."""

    args: Args
    outcome: str
    error: str | None
    messages: tuple[Delivery, ...]


@dataclass(slots=True, eq=False)
class Holdings:
    """What one client of a running program holds: locks (``held``; ``ended``; ``enlisted``: settled in its
    open transaction; ``apart``: of other entities), ``numbers`` of their messages; numbers it has ``seen``,
    those that its last peek ``showed`` in a state, by state, and those that it ``kept`` of what it did, by
    operation; its transaction, its flows, its ``sessions`` and those that it held before. ``most_flows``: so
    many at a time. ``now``: when it takes its next step, ns.
    """

    proc: str
    most_flows: int = 1
    held: list[str] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)
    enlisted: list[str] = field(default_factory=list)
    seen: list[int] = field(default_factory=list)
    txn: str | None = None
    last_txn: str | None = None
    flows: list[str] = field(default_factory=list)
    last_flow: str | None = None
    serial: int = 0
    now: int = 0
    kept: defaultdict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    showed: dict[str, list[int]] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)
    apart: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    sessions: list[str] = field(default_factory=list)
    sessions_lost: list[str] = field(default_factory=list)

    def locks_of(self, args: Args) -> list[str]:
        """Those that it holds of the entity that the arguments ask."""
        return self.apart[args["entity"]] if "entity" in args else self.held

    def name(self, kind: str) -> str:
        """A name that this client has not given yet."""
        self.serial += 1
        return f"{self.proc}-{kind}{self.serial}"

    def in_txn(self, plain: dict[str, Any], args: Args) -> Args | None:
        """The arguments, in the transaction that the step asks for; None if there is none such."""
        if args.get("ended"):
            return {**plain, "txn": self.last_txn} if self.last_txn else None
        return {**plain, "txn": self.txn} if args.get("txn") and self.txn else plain

    def asked_in(self, txn: str | None, mine: bool) -> dict[str, bool]:
        """How a step says that it is in a transaction, the client's own one or that which it has ended."""
        if txn is None:
            return {}
        return {"txn": True} if mine else {"ended": True}

    def retraced_in(self, args: Args) -> dict[str, bool]:
        """The same of recorded arguments."""
        txn = args.get("txn")
        return self.asked_in(txn, mine=txn == self.txn)

    def places(self, locks: Sequence[str | None], least: int) -> tuple[list[int], Args] | None:
        """Where the client has these locks, and how a step says among which; None if it has fewer than
        ``least``, all of one kind."""
        pools: tuple[tuple[list[str], dict[str, Any]], ...] = (
            (self.held, {}),
            (self.enlisted, {"again": True}),
            *((locks, {"entity": entity}) for entity, locks in self.apart.items()),
            (self.ended, {"stale": True}),
        )
        for pool, kind in pools:
            found = [pool.index(lock) for lock in locks if lock in pool]
            if len(found) >= least:
                return found, kind
        return None


class Pen(Protocol):
    """What writes an action of the model as a step. ``wait``: ns that a receive waits. ``locks``: the model's
    name of a lock -> the client's."""

    wait: int
    locks: dict[str, str]

    def attempt(self, message: Message) -> Message:
        """The message, under an ID that was not sent yet."""


def _other_entity(args: Args) -> str:
    """A broker has another entity if it has what moves messages there, which bears its name; or topics,
    and queues that forward."""
    word = str(args.get("entity", ""))
    return TOPICS if word.startswith(ENTITY["entity"].begins) else word


class Operation(NamedTuple):
    """An operation as a program's step.

    ``args``: the step's own, symbolic where a value is known only while running.
    ``resolve``: the operation's arguments by what the client holds, where they are not the step's. None:
    there is nothing to do, and ``idle`` says why.
    ``learn``: what the client holds after it.
    ``written``: the step's arguments for an action of the model. None: it has none such.
    ``retraced``: the step's arguments for those that a history recorded.
    ``further``: whether it adds to what the client has already, of which its driver allows so many.
    ``timeout``: ns that a driver gives it where the step does not say. ``waits``: it waits for messages, at
    most as long as the driver says.
    ``single``: the operation that does the same with one message.
    ``also``: another one without which a broker does not do this one, asked so; or nothing.
    """

    args: Mapping[str, Arg] = {}
    resolve: Callable[[Holdings, Args], Args | None] | None = None
    learn: Callable[[Holdings, Told], None] | None = None
    idle: str = ""
    written: Callable[[Pen, Holdings, Action], Args | None] = lambda pen, held, action: None
    retraced: Callable[[Holdings, Args], Args | None] = lambda held, args: {}
    further: Callable[[Holdings, Args], bool] = lambda held, args: False
    timeout: int = 0
    waits: bool = False
    single: str = ""
    also: Callable[[Args], str] = _other_entity
