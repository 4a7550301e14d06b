"""A program: what clients will do and which faults will strike, as data that is run, shrunk and stored.

Steps are symbolic where a value is known only while running: which lock to settle is a ``pick`` among
those held at that moment, a transaction is "the one I opened". So any subset of a program is a program.
Nothing here runs or generates anything. Schema ``partq.program/1``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from msgspec import Struct

from partq.conformance.history.codec import MAX_LINE
from partq.conformance.history.codec_fields import (
    FieldError,
    FieldReader,
    Fields,
    a_count,
    a_flag,
    a_name,
    a_text,
    list_of,
    one_of,
    whole,
    wrong,
)
from partq.conformance.history.codec_profiles import plain_profile, read_profile
from partq.conformance.history.codec_records import plain_entity, plain_message, read_entity, read_message
from partq.model.operations import ENV, RECEIVE_MODES
from partq.model.profiles import Entity

SCHEMA: Final = "partq.program/1"

MAX_SENT: Final = MAX_LINE // 2
"""The most bytes of the messages of one step, so that a history can hold what was sent."""

_IN_TRANSACTION: Final = {
    "txn": "inside my open transaction",
    "ended": "inside the transaction that I ended last",
}
_SETTLING: Final = {
    "pick": "indexes among my held locks",
    "stale": "among my ended ones",
    "again": "among those I settled in my open transaction",
    "lost": "further indexes, among my ended ones",
    "forged": "and a lock that no client was given",
    **_IN_TRANSACTION,
}

STEPS: Final[Mapping[str, Mapping[str, str]]] = {
    "send": {"messages": "one message", **_IN_TRANSACTION, "timeout": "ns"},
    "send_batch": {"messages": "the batch", **_IN_TRANSACTION, "timeout": "ns"},
    "receive": {
        "max": "how many",
        "mode": "peek_lock or receive_and_delete",
        "timeout": "ns to wait",
        "flow": "an index among my flows",
    },
    "complete": _SETTLING,
    "abandon": _SETTLING,
    "renew_lock": {"pick": "one index among my held locks", "stale": "among my ended ones"},
    "peek": {"max": "how many", "from": "cursor (default), start, or an index among numbers I have seen"},
    "begin": {},
    "commit": {"ended": "the transaction that I ended last"},
    "rollback": {"ended": "the transaction that I ended last"},
    "bind": {
        "partition": "ask for a partition, which no client may (REB-15)",
        "again": "though I am bound, under the same name",
        "another": "though I am bound, a further flow, where a client may have several",
    },
    "unbind": {"again": "though I am not bound", "flow": "an index among my flows"},
    "disconnect": {"how": "how the connection ends: one of the adapter's ways"},
    "partition_down": {"index": "0 … partitions-1"},
    "partition_up": {"index": "0 … partitions-1"},
    "frontend_lost": {"proc": "the client whose front end is lost"},
    "broker_kill": {},
    "broker_start": {},
    "advance": {"by": "ns"},
}
"""Every step and its arguments."""


REQUIRED_ARGS: Final[Mapping[str, tuple[str, ...]]] = {
    "send": ("messages",),
    "send_batch": ("messages",),
    "receive": ("max",),
    "peek": ("max",),
    "partition_down": ("index",),
    "partition_up": ("index",),
    "frontend_lost": ("proc",),
    "advance": ("by",),
}
"""The arguments a step cannot do without."""

CURSORS: Final = ("cursor", "start")
"""Where a peek may begin, beside a number that was seen."""


class InvalidProgram(ValueError):
    """A stored program does not fit the schema. The text names the field."""


class Step(Struct, frozen=True, gc=False):
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
    return {
        "schema": SCHEMA,
        "profile": plain_profile(program.profile),
        "steps": [
            {"proc": step.proc, "op": step.op, "args": _args_to_json(step.args)} for step in program.steps
        ],
        "entity": plain_entity(program.entity),
        "seed": program.seed,
        "sequential": program.sequential,
        "drain": program.drain,
    }


def _args_to_json(args: Mapping[str, Any]) -> dict[str, Any]:
    plain = dict(args)
    if "messages" in plain:
        plain["messages"] = [plain_message(message) for message in plain["messages"]]
    return plain


def from_json(data: Any) -> Program:
    """The program in plain data. Raises `InvalidProgram` where it does not fit, naming the field."""
    try:
        found = _PROGRAM.read(data)
        _check_sizes(found["steps"])
    except FieldError as error:
        raise InvalidProgram(f"{error.field or 'program'}: {error.message}") from None
    del found["schema"]
    return Program(**found)


def dumps(program: Program) -> str:
    """The program as canonical one-line JSON: equal programs give equal bytes."""
    return json.dumps(to_json(program), sort_keys=True, separators=(",", ":"))


def _check_sizes(steps: Sequence[Step]) -> None:
    """Raise `FieldError` for a send that no record of a history would hold."""
    for position, step in enumerate(steps):
        size = len(json.dumps([plain_message(message) for message in step.args.get("messages", ())]))
        if size > MAX_SENT:
            raise FieldError(
                f"steps[{position}].args.messages", f"{size:,} bytes; at most {MAX_SENT:,} are sent at once"
            )


def _schema(value: Any) -> None:
    if value != SCHEMA:
        wrong(f"{SCHEMA!r}", value)


def _a_list(item: FieldReader) -> FieldReader:
    read = list_of(item)
    return lambda value: list(read(value))


def _a_cursor(value: Any) -> str | int:
    found: str | int = a_count(value) if type(value) is int else one_of(CURSORS, "cursor")(value)
    return found


_ARGS: Final[Mapping[str, FieldReader]] = {
    "messages": list_of(read_message, at_least=1),
    "txn": a_flag,
    "stale": a_flag,
    "ended": a_flag,
    "forged": a_flag,
    "again": a_flag,
    "another": a_flag,
    "pick": _a_list(a_count),
    "lost": _a_list(a_count),
    "flow": a_count,
    "max": a_count,
    "timeout": a_count,
    "by": a_count,
    "index": a_count,
    "partition": a_count,
    "mode": one_of(RECEIVE_MODES, "mode"),
    "proc": a_text,
    "how": a_text,
    "from": _a_cursor,
}
_STEP_ARGS: Final = {
    op: Fields({name: _ARGS[name] for name in takes}, REQUIRED_ARGS.get(op, ()))
    for op, takes in STEPS.items()
}
_STEP: Final = Fields(
    {"proc": a_name, "op": one_of(STEPS, "step"), "args": lambda value: value}, ("proc", "op")
)


def _step(data: Any) -> Step:
    found = _STEP.read(data)
    try:
        args = _STEP_ARGS[found["op"]].read(found.get("args", {}))
    except FieldError as error:
        raise error.within("args") from None
    if found["op"] == "send" and len(args["messages"]) != 1:
        raise FieldError("args.messages", "a send has one message; several in one request are a send_batch")
    return Step(found["proc"], found["op"], args)


_PROGRAM: Final = Fields(
    {
        "schema": _schema,
        "profile": read_profile,
        "steps": list_of(_step),
        "entity": read_entity,
        "seed": whole(0, 2**64 - 1, "a whole number from 0 to 2^64-1"),
        "sequential": a_flag,
        "drain": a_flag,
    },
    ("schema", "profile", "steps"),
)
