"""A program: what clients will do and which faults will strike, as data that is run, shrunk and stored.

Steps are symbolic where a value is known only while running: which lock to settle is a ``pick`` among
those held at that moment, a transaction is "the one I opened". So any subset of a program is a program.
`operations` says which steps there are, and their arguments. Nothing here runs or generates anything.
Schema ``partq.program/1``.
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
    Fields,
    a_flag,
    a_name,
    exactly,
    inside,
    list_of,
    one_of,
    whole,
)
from partq.conformance.history.codec_profiles import plain_profile, read_profile
from partq.conformance.history.codec_records import fields_of, plain_entity, plain_message, read_entity
from partq.conformance.workload.operations.table import OPERATIONS
from partq.model.operations import ENV
from partq.model.profiles import Entity

SCHEMA: Final = "partq.program/1"

MAX_SENT: Final = MAX_LINE // 2
"""The most bytes of the messages of one step, so that a history can hold what was sent."""


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


_STEP_ARGS: Final = {op: fields_of(one.args) for op, one in OPERATIONS.items()}
_STEP: Final = Fields(
    {"proc": a_name, "op": one_of(OPERATIONS, "step"), "args": lambda value: value}, ("proc", "op")
)


def _step(data: Any) -> Step:
    found = _STEP.read(data)
    args = inside("args", _STEP_ARGS[found["op"]].read, found.get("args", {}))
    return Step(found["proc"], found["op"], args)


_PROGRAM: Final = Fields(
    {
        "schema": exactly(SCHEMA),
        "profile": read_profile,
        "steps": list_of(_step),
        "entity": read_entity,
        "seed": whole(0, 2**64 - 1, "a whole number from 0 to 2^64-1"),
        "sequential": a_flag,
        "drain": a_flag,
    },
    ("schema", "profile", "steps"),
)
