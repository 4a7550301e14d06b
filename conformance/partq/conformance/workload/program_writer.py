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

from partq.conformance.workload.cases.steps import (
    EXPIRY,
    LOCK,
    down,
    lose_front_end,
    pass_time,
    peek,
    renew,
    up,
)
from partq.conformance.workload.program import Step
from partq.conformance.workload.script import Args, Script
from partq.model.actions import INTERNAL, Action, Answer
from partq.model.messages import Message
from partq.model.operations import ENV
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
        self,
        profile_name: str,
        lacks: Collection[str] = (),
        delay: int | None = None,
        margin: int = MARGIN,
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
        step = Step(action.proc, action.op, {"pick": [], "forged": True, **_in_txn(script, action)})
        return [] if step.op in self.lacks else [step]

    def _steps(self, move: Move) -> Iterator[Step]:
        op = move.action.op
        if op in INTERNAL:
            yield from self._passing(move)
        elif move.action.proc == ENV:
            yield _FAULTS[op](move.action)
        else:
            proc = move.action.proc
            script = self.scripts.setdefault(proc, Script(proc))
            step = _STEPS[op](self, script, move.action)
            args = None if step is None else script.resolve(step)
            if step is not None and args is not None:
                self._absorb(script, move, args)
                yield step

    def _absorb(self, script: Script, move: Move, args: Args) -> None:
        answer = move.answer
        error = "lock_lost" if "lock_lost" in answer.errors else min(answer.errors, default=None)
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

    def _send(self, script: Script, action: Action) -> Step:
        sent = tuple(map(self._attempt, action.messages))
        return Step(script.proc, action.op, {"messages": sent} | _in_txn(script, action))

    def _attempt(self, message: Message) -> Message:
        self.attempts[message.id] += 1
        tried = self.attempts[message.id]
        return replace(message, id=message.id if tried == 1 else f"{message.id}-{tried}")

    def _receive(self, script: Script, action: Action) -> Step:
        return Step(script.proc, "receive", {"max": action.max, "mode": action.mode, "timeout": self.wait})

    def _settle(self, script: Script, action: Action) -> Step | None:
        names = [self.locks.get(token) for token in action.locks]
        pools: tuple[tuple[list[str], dict[str, bool]], ...] = (
            (script.held, {}),
            (script.enlisted, {"again": True}),
            (script.ended, {"stale": True}),
        )
        for pool, about in pools:
            places = [pool.index(name) for name in names if name in pool]
            if len(places) == len(names):
                return Step(script.proc, action.op, {"pick": places, **about, **_in_txn(script, action)})
        return None

    def _peek(self, script: Script, action: Action) -> Step:
        return peek(script.proc, action.max)

    def _plain(self, script: Script, action: Action) -> Step:
        ended = {"ended": True} if action.op != "begin" and script.txn is None else {}
        return Step(script.proc, action.op, ended)

    def _flow(self, script: Script, action: Action) -> Step:
        again = (action.op == "bind") == (script.flow is not None)
        return Step(script.proc, action.op, {"again": True} if again else {})


def _in_txn(script: Script, action: Action) -> dict[str, bool]:
    """In the client's transaction, or in the one that it has ended, if there is none."""
    if action.txn is None:
        return {}
    return {"ended": True} if script.txn is None else {"txn": True}


_STEPS: Final[Mapping[str, Callable[[Writer, Script, Action], Step | None]]] = {
    **dict.fromkeys(("send", "send_batch"), Writer._send),
    "receive": Writer._receive,
    **dict.fromkeys(("complete", "abandon"), Writer._settle),
    "peek": Writer._peek,
    **dict.fromkeys(("begin", "commit", "rollback"), Writer._plain),
    **dict.fromkeys(("bind", "unbind"), Writer._flow),
}

_FAULTS: Final[Mapping[str, Callable[[Action], Step]]] = {
    "partition_down": lambda action: down(action.partition or 0),
    "partition_up": lambda action: up(action.partition or 0),
    "frontend_lost": lambda action: lose_front_end(action.victim or ""),
    "broker_kill": lambda action: Step(ENV, "broker_kill", {}),
    "broker_start": lambda action: Step(ENV, "broker_start", {}),
}

_TIMES: Final[Mapping[str, Callable[[Writer], int]]] = {
    "expire": lambda writer: EXPIRY,
    "rebalance": lambda writer: writer.entity.rebalance_delay + writer.margin,
    "handoff": lambda writer: writer.entity.max_handoff + writer.margin,
}
"""The moves of a broker that time drives, and how many ns they take."""
