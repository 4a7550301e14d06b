"""From what clients, environment and broker did, one move after the other, to the steps of a program.

A move is one transition of the model's graph (`tours`), or one step of a trace of the specification
(`traces`): an operation or fault is one step; the end of a lock, a rebalance or a handoff is an ``advance``
that is long enough for it, with the other locks renewed half-way; what else a broker does by itself is left
to it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from typing import Final, NamedTuple

from partq.conformance.workload.cases.steps import EXPIRY, LOCK, pass_time, renew
from partq.conformance.workload.operations.record import Args
from partq.conformance.workload.operations.table import OPERATIONS
from partq.conformance.workload.program import Step
from partq.conformance.workload.script import Script
from partq.model.actions import INTERNAL, LOCK_LOST, Action, Answer
from partq.model.messages import Message
from partq.model.profiles import SECOND, profile

MARGIN: Final = SECOND // 100
"""ns by which a wait for the broker is longer than what it waits for: so little that what it does then, and
does not do at once, can be seen."""

WAIT: Final = SECOND // 10
"""ns that a receive waits: all of a tour's together take less time than a lock lasts."""

HASTE: Final = SECOND // 1_000_000
"""The same for a wait after which a handoff may go on that has nothing to wait for."""

STEPS: Final = 50
"""So many receives wait less time, all together, than the rebalance delay lasts."""


class Move(NamedTuple):
    """What was done, and the whole answer. ``held``: the locks that hold after it, which are kept where time
    passes for one to end."""

    action: Action
    answer: Answer
    held: Collection[str] = ()


class Writer:
    """Writes the moves of one behaviour. It follows, with the `Script` that will resolve the steps, what each
    client would hold if the broker went the same way; each lock has a name of its own there, ``locks`` says
    which. ``lacks``: steps that are left out. ``delay``: the entity's rebalance delay in ns, if it is not the
    family's usual one. ``margin``: by how many ns a wait is longer than it has to be. ``attempts``: how often
    each message was sent so far, for every attempt needs an ID of its own."""

    def __init__(
        self, profile_name: str, lacks: Collection[str] = (), delay: int | None = None, margin: int = MARGIN
    ) -> None:
        self.entity = profile(profile_name).default_entity
        if delay is not None:
            self.entity = replace(self.entity, rebalance_delay=delay)
        self.wait = min(WAIT, self.entity.rebalance_delay // STEPS)
        self.margin = min(margin, self.entity.rebalance_delay // STEPS)
        self.lacks = lacks
        self.scripts: dict[str, Script] = {}
        self.locks: dict[str, str] = {}
        self.attempts: Counter[str] = Counter()
        self.named = 0

    def steps(self, move: Move) -> list[Step]:
        """The steps of one move."""
        return [step for step in self._steps(move) if step.op not in self.lacks]

    def forged(self, action: Action) -> list[Step]:
        """A settlement by a lock that no client was given."""
        script = self.scripts.setdefault(action.proc, Script(action.proc))
        in_txn = script.asked_in(action.txn, mine=script.txn is not None)
        step = Step(action.proc, action.op, {"pick": [], "forged": True, **in_txn})
        return [] if step.op in self.lacks else [step]

    def _steps(self, move: Move) -> Iterator[Step]:
        op = move.action.op
        if op in INTERNAL:
            yield from self._passing(move)
            return
        proc = move.action.proc
        script = self.scripts.setdefault(proc, Script(proc))
        asked = OPERATIONS[op].written(self, script, move.action)
        step = None if asked is None else Step(proc, op, asked)
        args = None if step is None else script.resolve(step, 0)
        if step is not None and args is not None:
            self._absorb(script, move, args)
            yield step

    def _absorb(self, script: Script, move: Move, args: Args) -> None:
        answer = move.answer
        error = LOCK_LOST if LOCK_LOST in answer.errors else min(answer.errors, default=None)
        shown = tuple(d if d.lock is None else d._replace(lock=self._fresh(d.lock)) for d in answer.messages)
        script.absorb(move.action.op, args, answer.status, error, shown)

    def _fresh(self, token: str) -> str:
        self.named += 1
        self.locks[token] = f"{token}/{self.named}"
        return self.locks[token]

    def _passing(self, move: Move) -> Iterator[Step]:
        """Time for a move of the broker that time drives."""
        takes = _TIMES.get(move.action.op)
        if takes is None:
            return
        others = list(self._renewed(move.held)) if move.action.op == "expire" else []
        if not others:
            yield pass_time(takes(self))
            return
        yield pass_time(LOCK * 3 // 5)
        for proc, place in others:
            yield renew(proc, place)
        yield pass_time(LOCK * 3 // 5)

    def _renewed(self, held: Collection[str]) -> Iterator[tuple[str, int]]:
        """Of each lock that holds: its client, and its place among what that client holds."""
        for token in held:
            name = self.locks[token]
            yield from ((proc, s.held.index(name)) for proc, s in self.scripts.items() if name in s.held)

    def attempt(self, message: Message) -> Message:
        """The message, under an ID that was not sent yet."""
        self.attempts[message.id] += 1
        tried = self.attempts[message.id]
        return replace(message, id=message.id if tried == 1 else f"{message.id}-{tried}")


_TIMES: Final[Mapping[str, Callable[[Writer], int]]] = {
    "expire": lambda writer: EXPIRY,
    "rebalance": lambda writer: writer.entity.rebalance_delay + writer.margin,
    "handoff": lambda writer: writer.entity.max_handoff + writer.margin,
}
"""The moves of a broker that time drives, and how many ns they take."""
