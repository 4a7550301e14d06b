"""The smallest program that still shows a finding. Works on programs alone; running them is the caller's.

Delta debugging over the steps, then over what is inside them. Every candidate is a program, since steps
are symbolic; each is tried one step at a time first, and under a few other interleavings, because taking
a step away shifts the schedule too. Where many messages are the evidence, taking single ones away leads
nowhere while they are spread over keys and clients; so two keys, or two clients, are made one, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import Any, Final

from msgspec import structs

from partq.conformance.workload.operations.table import OPERATIONS
from partq.conformance.workload.program import Program, Step
from partq.model.messages import JMS_KEY, SOLACE_KEY, Message
from partq.model.operations import CLOCK, ENV, UNDOES, Kind
from partq.model.profiles import SECOND

BUDGET: Final = 4000
"""How many candidates are tried at the most."""

SCHEDULES: Final = 4
"""How many other interleavings a concurrent candidate gets."""

MOVED: Final = 16
"""Steps are moved, to make a program sequential, where there are no more than so many."""


class _Budget:
    def __init__(self, tries: int, more: Callable[[], bool]) -> None:
        self.left, self.more = tries, more

    def spend(self) -> bool:
        self.left -= 1
        return self.left >= 0 and self.more()


def shrink(
    program: Program,
    shows: Callable[[Program], bool],
    budget: int = BUDGET,
    more: Callable[[], bool] = lambda: True,
) -> Program:
    """A smaller program for which ``shows`` still holds; the same one if none is found.

    ``shows`` must hold for ``program``, and should be the same each time it is asked. ``more``: whether
    another candidate may be tried.
    """
    tries = _Budget(budget, more)
    given = _of_nothing(program.steps)

    def first_that_shows(candidates: Iterator[Program]) -> Program | None:
        for candidate in candidates:
            if _of_nothing(candidate.steps) > given:
                continue
            if not tries.spend():
                return None
            if shows(candidate):
                return candidate
        return None

    best = first_that_shows(iter((replace(program, sequential=True),))) or program
    while True:
        smaller = first_that_shows(_smaller(best))
        if smaller is None:
            return best
        best = smaller


def _of_nothing(steps: tuple[Step, ...]) -> int:
    """How many repairs there are of what no fault had struck: what a broker makes of these says little."""
    struck, found = set[tuple[str, str]](), 0
    for step in steps:
        where = str(step.args.get("partition"))
        if step.op in UNDOES.values():
            struck.add((step.op, where))
        elif (fault := UNDOES.get(step.op)) is not None:
            found += (fault, where) not in struck
            struck.discard((fault, where))
    return found


def _smaller(program: Program) -> Iterator[Program]:
    """Candidates, most promising first: fewer steps, then simpler ones."""
    if not program.sequential:
        yield replace(program, sequential=True)
    for steps in _fewer(program.steps):
        yield from _schedules(program.with_steps(steps))
    for steps in _merged(program.steps):
        yield from _schedules(program.with_steps(steps))
    if not program.sequential and len(program.steps) <= MOVED:
        for steps in _moved(program.steps):
            yield replace(program.with_steps(steps), sequential=True)
    if sum(bool(_messages(step)) for step in program.steps) > 1:  # else the one step's own are as plain
        for steps in _plainer(program.steps):
            yield program.with_steps(steps)
    for index, step in enumerate(program.steps):
        for simpler in _simpler(step):
            yield program.with_steps((*program.steps[:index], simpler, *program.steps[index + 1 :]))


def _fewer(steps: tuple[Step, ...]) -> Iterator[tuple[Step, ...]]:
    """Without ever smaller runs of steps, down to single ones, and then without pairs."""
    size = len(steps) // 2
    while size >= 1:
        for start in range(0, len(steps), size):
            yield steps[:start] + steps[start + size :]
        size //= 2
    for first in range(len(steps)):
        for second in range(first + 1, len(steps)):
            yield steps[:first] + steps[first + 1 : second] + steps[second + 1 :]


def _schedules(program: Program) -> Iterator[Program]:
    yield program
    if not program.sequential:
        for other in range(SCHEDULES):
            if other != program.seed:
                yield replace(program, seed=other)


def _merged(steps: tuple[Step, ...]) -> Iterator[tuple[Step, ...]]:
    """With one key, or one client, fewer."""
    keys = dict.fromkeys(key for step in steps for message in _messages(step) for key in _keys(message))
    for kept, gone in combinations(keys, 2):
        yield tuple(_with_keys(step, {gone: kept}) for step in steps)
    clients = dict.fromkeys(step.proc for step in steps if step.proc != ENV)
    for kept, gone in combinations(clients, 2):
        yield tuple(structs.replace(step, proc=kept) if step.proc == gone else step for step in steps)


def _moved(steps: tuple[Step, ...]) -> Iterator[tuple[Step, ...]]:
    """With one step elsewhere: where it was, in time, when steps of several clients overlapped."""
    for index, step in enumerate(steps):
        others = steps[:index] + steps[index + 1 :]
        for place in range(len(steps)):
            if place != index:
                yield (*others[:place], step, *others[place:])


def _messages(step: Step) -> tuple[Message, ...]:
    found: tuple[Message, ...] = step.args.get("messages", ())
    return found


def _keys(message: Message) -> Iterator[str]:
    """Whatever of it may be its key."""
    for key in (message.session_id, message.partition_key, *map(message.property, _KEY_PROPERTIES)):
        if key is not None:
            yield key


def _with_keys(step: Step, renamed: dict[str, str]) -> Step:
    """The step with other keys instead of its own."""

    def rename(message: Message) -> Message:
        session, key = message.session_id, message.partition_key
        return replace(
            message,
            session_id=None if session is None else renamed.get(session, session),
            partition_key=None if key is None else renamed.get(key, key),
            properties=tuple(
                (name, renamed.get(value, value) if name in _KEY_PROPERTIES else value)
                for name, value in message.properties
            ),
        )

    return _changed(step, rename)


_KEY_PROPERTIES: Final = (SOLACE_KEY, JMS_KEY)


def _simpler(step: Step) -> Iterator[Step]:
    args, messages = step.args, _messages(step)
    if (single := OPERATIONS[step.op].single) and len(messages) == 1:
        yield structs.replace(step, op=single)
    if messages and "txn" in args:
        yield structs.replace(step, args={name: value for name, value in args.items() if name != "txn"})
    if len(messages) > 1:
        for drop in range(len(messages)):
            yield _with(step, messages=messages[:drop] + messages[drop + 1 :])
    for (plainer,) in _plainer((step,)):
        yield plainer
    if any(len(message.body) > 1 for message in messages):
        yield _with(step, messages=tuple(replace(m, body=m.body[:1]) for m in messages))
    if step.op == CLOCK and args["by"] > SECOND:
        yield _with(step, by=max(SECOND, args["by"] // 2))
    for name, arg in OPERATIONS[step.op].args.items():
        if arg.kind is Kind.INTS and len(chosen := args.get(name, ())) > 1:
            yield _with(step, **{name: chosen[:1]})
            yield _with(step, **{name: chosen[1:]})


def _plainer(steps: tuple[Step, ...]) -> Iterator[tuple[Step, ...]]:
    """With one attribute of messages gone from all of them."""
    messages = [message for step in steps for message in _messages(step)]
    for name in dict.fromkeys(name for message in messages for name, _ in message.properties):
        yield tuple(_changed(step, partial(_without_property, name)) for step in steps)
    for field in _FIELDS:
        if any(getattr(message, field) is not None for message in messages):
            yield tuple(_changed(step, partial(_without_field, field)) for step in steps)


_FIELDS: Final = ("ttl", "scheduled_at", "session_id", "partition_key")


def _without_property(name: str, message: Message) -> Message:
    return replace(message, properties=tuple(pair for pair in message.properties if pair[0] != name))


def _without_field(field: str, message: Message) -> Message:
    gone: dict[str, Any] = {field: None}
    return replace(message, **gone)


def _changed(step: Step, change: Callable[[Message], Message]) -> Step:
    """The step with its messages changed, if it has some."""
    messages = _messages(step)
    return _with(step, messages=tuple(map(change, messages))) if messages else step


def _with(step: Step, **changed: Any) -> Step:
    return structs.replace(step, args={**step.args, **changed})
