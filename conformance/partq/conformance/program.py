"""A program: what clients will do and which faults will strike, as data that is run, shrunk and stored.

Steps are symbolic where a value is known only while running: which lock to settle is a ``pick`` among
those held at that moment, a transaction is "the one I opened". So any subset of a program is a program.
Nothing here runs or generates anything. Schema ``partq.program/1``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final, NamedTuple

from partq.model.messages import InvalidMessage, Message
from partq.model.operations import ENV
from partq.model.profiles import PROFILES, Entity, InvalidEntity

SCHEMA: Final = "partq.program/1"

STEPS: Final[Mapping[str, Mapping[str, str]]] = {
    "send": {"messages": "one message", "txn": "inside my open transaction", "timeout": "ns"},
    "send_batch": {"messages": "the batch", "txn": "inside my open transaction", "timeout": "ns"},
    "receive": {"max": "how many", "mode": "peek_lock or receive_and_delete", "timeout": "ns to wait"},
    "complete": {"pick": "indexes among my held locks", "stale": "among my ended ones", "txn": "bool"},
    "abandon": {"pick": "indexes among my held locks", "stale": "among my ended ones", "txn": "bool"},
    "renew_lock": {"pick": "one index among my held locks", "stale": "among my ended ones"},
    "peek": {"max": "how many", "from": "cursor (default), start, or an index among numbers I have seen"},
    "begin": {},
    "commit": {},
    "rollback": {},
    "bind": {"partition": "ask for a partition, which no client may (REB-15)"},
    "unbind": {},
    "disconnect": {"how": "how the connection ends: one of the adapter's ways"},
    "partition_down": {"index": "0 … partitions-1"},
    "partition_up": {"index": "0 … partitions-1"},
    "frontend_lost": {"proc": "the client whose front end is lost"},
    "broker_kill": {},
    "broker_start": {},
    "advance": {"by": "ns"},
}
"""Every step and its arguments."""


class InvalidProgram(ValueError):
    """A stored program does not fit the schema. The text names the field."""


class Step(NamedTuple):
    """One thing one client (or ``env``) will do."""

    proc: str
    op: str
    args: Mapping[str, Any] = {}


@dataclass(frozen=True, slots=True)
class Program:
    """What will be done to one entity of a profile.

    Each client takes its own steps in order. ``sequential``: one step at a time, in the listed order,
    each to its end; otherwise clients and ``env`` run at once and ``seed`` decides how a simulation
    interleaves them. ``drain``: at the end everything is brought up, time passes until every lock and
    timer has ended, and the entity is received until empty, so that losses can be judged.
    """

    profile: str
    steps: tuple[Step, ...]
    entity: Entity = field(default_factory=Entity)
    seed: int = 0
    sequential: bool = False
    drain: bool = True

    @property
    def procs(self) -> tuple[str, ...]:
        """The clients in order of first appearance, ``env`` left out."""
        return tuple(dict.fromkeys(step.proc for step in self.steps if step.proc != ENV))

    def with_steps(self, steps: tuple[Step, ...]) -> Program:
        """The same program with other steps."""
        return replace(self, steps=steps)


def to_json(program: Program) -> dict[str, Any]:
    """The program as plain data, schema ``partq.program/1``."""
    data = asdict(program)
    data["steps"] = [
        {"proc": step.proc, "op": step.op, "args": _args_to_json(step.args)} for step in program.steps
    ]
    return {"schema": SCHEMA, **data}


def from_json(data: Any) -> Program:
    """The program in plain data. Raises `InvalidProgram` where it does not fit, naming the field."""
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        raise InvalidProgram(f"schema: expected {SCHEMA!r}")
    if data.get("profile") not in PROFILES:
        raise InvalidProgram(f"profile: unknown {data.get('profile')!r}; known: {', '.join(PROFILES)}")
    if not isinstance(data.get("steps"), list):
        raise InvalidProgram("steps: expected a list")
    try:
        entity = Entity(**data.get("entity", {}))
    except (InvalidEntity, TypeError) as error:
        raise InvalidProgram(f"entity: {error}") from None
    flags = {name: _flag(data, name) for name in ("sequential", "drain")}
    seed = data.get("seed", 0)
    if type(seed) is not int or not 0 <= seed < 2**64:
        raise InvalidProgram(f"seed: expected a whole number from 0 to 2^64-1: {seed!r}")
    steps = tuple(_step(step, f"steps[{n}]") for n, step in enumerate(data["steps"]))
    return Program(data["profile"], steps, entity, seed, **flags)


def dumps(program: Program) -> str:
    """The program as canonical one-line JSON: equal programs give equal bytes."""
    return json.dumps(to_json(program), sort_keys=True, separators=(",", ":"))


def _flag(data: Mapping[str, Any], name: str) -> bool:
    value = data.get(name, name == "drain")
    if type(value) is not bool:
        raise InvalidProgram(f"{name}: expected true or false: {value!r}")
    return value


def _step(data: Any, where: str) -> Step:
    if not isinstance(data, dict) or not isinstance(data.get("args", {}), dict):
        raise InvalidProgram(f"{where}: expected an object with proc, op and args")
    proc, op = data.get("proc"), data.get("op")
    if not isinstance(proc, str) or not proc:
        raise InvalidProgram(f"{where}.proc: expected text: {proc!r}")
    if op not in STEPS:
        raise InvalidProgram(f"{where}.op: unknown step {op!r}; known: {', '.join(STEPS)}")
    args = dict(data.get("args", {}))
    for name, value in args.items():
        if name not in STEPS[op]:
            raise InvalidProgram(f"{where}.args.{name}: {op} takes {', '.join(STEPS[op]) or 'nothing'}")
        _check_arg(name, value, f"{where}.args.{name}")
    if op in ("send", "send_batch"):
        args["messages"] = _messages(args.get("messages"), f"{where}.args.messages")
    return Step(proc, op, args)


_ARG_TYPES: Final[Mapping[str, type | tuple[type, ...]]] = {
    "messages": list,
    "txn": bool,
    "stale": bool,
    "pick": list,
    "max": int,
    "timeout": int,
    "by": int,
    "index": int,
    "partition": int,
    "mode": str,
    "proc": str,
    "how": str,
    "from": (str, int),
}


def _check_arg(name: str, value: Any, where: str) -> None:
    wanted = _ARG_TYPES[name]
    kinds = wanted if isinstance(wanted, tuple) else (wanted,)
    if type(value) not in kinds or (type(value) is int and not 0 <= value < 2**63):
        raise InvalidProgram(f"{where}: expected {' or '.join(k.__name__ for k in kinds)}: {value!r}")
    if name == "pick" and not all(type(k) is int and k >= 0 for k in value):
        raise InvalidProgram(f"{where}: expected a list of indexes: {value!r}")


def _messages(data: Any, where: str) -> tuple[Message, ...]:
    if not isinstance(data, list) or not data:
        raise InvalidProgram(f"{where}: expected a list of messages")
    try:
        return tuple(
            Message(**{**m, "properties": tuple((k, v) for k, v in m.get("properties", ()))}) for m in data
        )
    except (InvalidMessage, TypeError, ValueError, AttributeError) as error:
        raise InvalidProgram(f"{where}: {error}") from None


def _args_to_json(args: Mapping[str, Any]) -> dict[str, Any]:
    plain = dict(args)
    if "messages" in plain:
        plain["messages"] = [
            {name: value for name, value in asdict(m).items() if value not in (None, ())}
            for m in plain["messages"]
        ]
    return plain
