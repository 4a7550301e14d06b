"""What came together in a history: a mechanism, what was broken at the time, and the shape of the request.

A campaign counts these, so that what programs hardly ever combine can be seen, and weighed more
(`workload/weights.py`). Nothing is judged here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from partq.conformance.history import History, Record
from partq.model.messages import KeyRule, effective_keys
from partq.model.operations import ENV
from partq.model.profiles import SEND_TIMEOUT, profile

LARGE: Final = 4_096
"""Characters in a body from which on it is large."""

LONG: Final = 6
"""Messages in a batch, or locks in a settlement, from which on there are many."""


class Combination(NamedTuple):
    """``fault``: what was broken when the operation was called. ``shape``: what was asked for."""

    mechanism: str
    fault: str
    shape: str


class _World:
    """What is broken, and what transactions hold, while a history goes by. ``fault``: the worst of it."""

    def __init__(self, history: History) -> None:
        header = history.header
        self.key_rule: KeyRule = profile(header.profile).key_rule
        self.partitions = max(entity.partitions for entity in header.entities.values())
        self.down: set[Any] = set()
        self.states: dict[Any, str] = {}
        self.killed = self.restarted = self.lost = False
        self.fault = "none"
        self.transactions: dict[str, set[str]] = {}

    def strike(self, record: Record) -> None:
        """An event of the environment."""
        args = record.args
        match record.op:
            case "partition_down":
                self.down.add(args.get("partition"))
            case "partition_up":
                self.down.discard(args.get("partition"))
            case "assignment":
                self.states[args["partition"]] = args["state"]
            case "broker_kill":
                self.killed = self.restarted = True
                self.states.clear()
            case "broker_start":
                self.killed = False
            case "frontend_lost" | "connection_lost":
                self.lost = True
        self.fault = self._worst()

    def _worst(self) -> str:
        """What is broken now: the worst of it."""
        if self.killed:
            return "broker down"
        if self.down:
            whole = len(self.down) >= self.partitions
            return "all down" if whole else "one down" if len(self.down) == 1 else "several down"
        if self.states:
            states = set(self.states.values())
            for state in ("paused", "unbound"):
                if state in states:
                    return state
        return "restarted" if self.restarted else "front end lost" if self.lost else "none"


def _of_send(world: _World, record: Record) -> str:
    messages = record.sent
    keys = effective_keys(messages, world.key_rule)
    shape = "several keys" if len(keys) > 1 else "keyless" if None in keys else "keyed"
    if len(messages) >= LONG:
        shape += ", long"
    if any(len(message.body) >= LARGE for message in messages):
        shape += ", large"
    return shape if record.args.get("timeout", SEND_TIMEOUT) >= SEND_TIMEOUT else f"{shape}, impatient"


def _of_settlement(world: _World, record: Record) -> str:
    locks = len(record.args["locks"])
    shape = "one lock" if locks == 1 else "two locks" if locks == 2 else "several locks"
    return f"{shape}, lost" if record.error == "lock_lost" else shape


def _of_peek(world: _World, record: Record) -> str:
    start = record.args.get("from_seq")
    return "cursor" if start is None else "number" if start else "start"


def _of_end(world: _World, record: Record) -> str:
    held = world.transactions.pop(record.args["txn"], None)
    return "ended before" if held is None else " and ".join(sorted(held)) or "nothing"


_SHAPES: Final[Mapping[str, Callable[[_World, Record], str]]] = {
    "send": _of_send,
    "send_batch": _of_send,
    "complete": _of_settlement,
    "abandon": _of_settlement,
    "renew_lock": lambda world, record: "lost" if record.error == "lock_lost" else "",
    "receive": lambda world, record: "one" if record.args["max"] == 1 else "several",
    "peek": _of_peek,
    "commit": _of_end,
    "rollback": _of_end,
}


def combined(history: History) -> tuple[Counter[Combination], Counter[Combination]]:
    """How often each combination came, and how often with the outcome ``ok``."""
    world = _World(history)
    times: list[tuple[str, str, str]] = []
    done: list[tuple[str, str, str]] = []
    for record in history.records:
        if record.proc == ENV:
            world.strike(record)
            continue
        shape = _SHAPES.get(record.op)
        found = _mechanism(world, record), world.fault, "" if shape is None else shape(world, record)
        times.append(found)
        if record.ok:
            done.append(found)
    return _counted(times), _counted(done)


def _counted(found: list[tuple[str, str, str]]) -> Counter[Combination]:
    return Counter({Combination(*one): times for one, times in Counter(found).items()})


def _mechanism(world: _World, record: Record) -> str:
    """The operation, its mode, and whether it is a transaction's."""
    op, args = record.op, record.args
    if args.get("mode") == "receive_and_delete":
        return "receive_and_delete"
    txn = args.get("txn")
    if txn is None or op in ("commit", "rollback"):
        return op
    if op == "begin":
        world.transactions[txn] = set()
        return op
    held = world.transactions.get(txn)
    if held is None:
        return f"{op} in an ended transaction"
    held.add("sends" if op.startswith("send") else "settlements")
    return f"{op} in a transaction"
