"""A program on a broker in virtual time: one coroutine a client, one for the environment, on one scheduler.

The scheduler, the clock and the operations are the broker's own (`adapters.stage`); here is who does which
step when, and the records of it. Every recorded call and return has its own instant. In a program that is not
``sequential`` the steps of ``env`` keep their place: one begins when every step listed before it has begun,
and no step listed after it begins before it has. Between steps clients sometimes pause, by the seed, so that
operations overlap or do not, and locks sometimes expire. A broker that gets nowhere is cut off: what it did
not answer hangs in the history, and nothing is drained.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, Final

from partq.conformance.adapters.stage import Reply, StagedBroker, Steps
from partq.conformance.execution.drain import (
    DrainPlan,
    Emptied,
    StepResult,
    drain,
    others_asked,
    rounds_of,
    sets_aside,
)
from partq.conformance.history import Header, History, Record, collector
from partq.conformance.history.entities import addressed
from partq.conformance.workload.operations.record import Args, answered
from partq.conformance.workload.program import Program, Step
from partq.conformance.workload.script import Script
from partq.model.operations import CLOCK, DRAINED, ENV, OPS, Outcome
from partq.model.profiles import SECOND, profile

ENTITY: Final = "queue"
FOREVER: Final = 2**63
"""Yield this to wait until woken."""

MOST_FLOWS: Final = 2
"""Flows that a client may have at a time. (A client of an adapter has one.)"""


class _SimulatedClient:
    """One client of a running program."""

    __slots__ = ("connection", "proc", "script")

    def __init__(self, proc: str, connection: Any) -> None:
        self.proc = proc
        self.connection = connection
        self.script = Script(proc, most_flows=MOST_FLOWS)


def simulate(broker: StagedBroker, program: Program) -> History:
    """Run the program, interleaved by its seed; equal programs give equal histories."""
    with collector.paused():
        return _SimulatedRun(broker, program).history()


class _SimulatedRun:
    """One program's run on one stage. ``event`` is for the stage: it records what the broker reports."""

    def __init__(self, broker: StagedBroker, program: Program) -> None:
        self.program = program
        self.records: list[Record | None] = []
        self.faults: list[Step] = []
        self.stage = broker.stage(program, self.event)
        self.lacks = self.stage.lacks
        self.clock = self.stage.clock
        self.clients = {proc: _SimulatedClient(proc, self.stage.connect(proc)) for proc in program.procs}
        self.emptied: Emptied = ()
        self.phase = 0
        self.left: list[int] = []
        self.blocked: list[Any] = []
        self.tasks: dict[str, Any] = {}
        self.env: Any = None
        self.env_waits_for = -1
        self.held_until = 0
        rates = _PAUSE_RATES[profile(program.profile).flows]
        self.pause_rate = rates[int(self.clock.random() * len(rates))]

    def history(self) -> History:
        """Run it all, then drain."""
        program = self.program
        if program.sequential:
            self.clock.spawn(self._in_order())
        else:
            self._at_once()
        if self.clock.run() and program.drain:
            self.clock.spawn(self._drain())
            if self.clock.run():
                for args in self.emptied:
                    self.event(DRAINED, args)
        lacks = tuple(sorted(self.lacks))
        stage, entities = self.stage, {ENTITY: program.entity}
        header = Header(program.profile, entities, skew_ns=stage.skew_ns, lacks=lacks, late_ns=stage.late_ns)
        return History(header, tuple(record for record in self.records if record is not None))

    def event(self, op: str, args: Args) -> None:
        """Record an event of the environment that takes no time."""
        self.clock.now = now = self.clock.now + 1
        entity, own = addressed(ENTITY, args)
        self.records.append(Record(len(self.records), ENV, op, entity, now, now, own))

    # Who does what, and when.

    def _in_order(self) -> Steps:
        for step in self.program.steps:
            yield from self._do(step)

    def _at_once(self) -> None:
        mine: dict[str, list[tuple[int, Step]]] = {proc: [] for proc in self.clients}
        environment = []
        left = self.left
        left.append(0)
        for step in self.program.steps:
            if step.proc == ENV:
                environment.append(step)
                left.append(0)
            else:
                mine[step.proc].append((len(environment), step))
                left[-1] += 1
        for proc, steps in mine.items():
            self.tasks[proc] = self.clock.spawn(self._client(proc, steps))
        if environment:
            self.env = self.clock.spawn(self._environment(environment))

    def _client(self, proc: str, steps: list[tuple[int, Step]]) -> Steps:
        clock, random, left, rate = self.clock, self.clock.random, self.left, self.pause_rate
        client = self.clients[proc]
        for phase, step in steps:
            while phase > self.phase:
                self.blocked.append(self.tasks[proc])
                yield FOREVER
            if self.held_until > clock.now:
                yield self._after_advance()
            elif random() < rate:
                yield clock.now + int(_PAUSES[int(random() * len(_PAUSES))] * random())
            left[phase] -= 1
            if not left[phase] and self.env_waits_for == phase:
                clock.wake(self.env)
            args = client.script.resolve(step, clock.now)
            if args is not None:
                yield from self._operate(client, step.op, args)

    def _after_advance(self) -> int:
        """While time is being advanced: when to go on, mostly when that is over."""
        share = self.clock.random()
        now = self.clock.now
        return now + int((self.held_until - now) * share * 3) if share < 1 / 3 else self.held_until

    def _environment(self, steps: list[Step]) -> Steps:
        for number, step in enumerate(steps):
            if self.left[number]:
                self.env_waits_for = number
                yield FOREVER
                self.env_waits_for = -1
            self.phase = number + 1
            blocked, self.blocked = self.blocked, []
            for task in blocked:
                self.clock.wake(task)
            yield from self._do(step)

    def _do(self, step: Step) -> Generator[int | None, None, StepResult | None]:
        if step.proc != ENV:
            client = self.clients.get(step.proc)
            if client is None:
                client = self.clients[step.proc] = _SimulatedClient(step.proc, self.stage.connect(step.proc))
            args = client.script.resolve(step, self.clock.now)
            return None if args is None else (yield from self._operate(client, step.op, args))
        if step.op == CLOCK:
            return (yield from self._advance(step.args))
        return (yield from self._strike(step))

    # One step, and its record.

    def _operate(
        self, client: _SimulatedClient, op: str, args: Args
    ) -> Generator[int | None, None, StepResult]:
        clock, records, proc = self.clock, self.records, client.proc
        i = len(records)
        clock.now = called = clock.now + 1
        entity, own = addressed(ENTITY, args)
        records.append(Record(i, proc, op, entity, called, None, own, Outcome.UNKNOWN, "hang"))
        if op in self.lacks:
            outcome, error, shown = _UNSUPPORTED
        else:
            outcome, error, shown = yield from self.stage.operate(client.connection, op, args)
        messages = tuple(shown)
        if messages and OPS[op].tells:
            (answer,), messages = messages, ()
            args = own = answered(op, own, answer)
        clock.now = ended = clock.now + 1
        records[i] = Record(i, proc, op, entity, called, ended, own, outcome, error, messages)
        client.script.absorb(op, args, outcome, error, messages)
        return StepResult(outcome, error, messages)

    def _strike(self, step: Step) -> Generator[int | None, None, StepResult]:
        i, op = len(self.records), step.op
        if op in self.lacks:
            return StepResult(Outcome.ERROR, "unsupported")
        self.clock.now = called = self.clock.now + 1
        self.records.append(None)
        args = yield from self.stage.strike(op, step.args)
        self.clock.now = ended = self.clock.now + 1
        self.records[i] = Record(i, ENV, op, ENTITY, called, ended, args)
        self.faults.append(step)
        return StepResult(Outcome.OK)

    def _advance(self, args: Args) -> Generator[int | None, None, StepResult]:
        i = len(self.records)
        self.clock.now = called = self.clock.now + 1
        self.records.append(Record(i, ENV, CLOCK, ENTITY, called, None, args, Outcome.UNKNOWN))
        self.held_until = called + args["by"]
        yield self.held_until
        self.clock.now = ended = self.clock.now + 1
        self.records[i] = Record(i, ENV, CLOCK, ENTITY, called, ended, args)
        return StepResult(Outcome.OK)

    def _drain(self) -> Steps:
        program = self.program
        family, entity = profile(program.profile), program.entity
        plan = DrainPlan(
            family,
            entity,
            self.lacks,
            clients=tuple(self.clients),
            faults=tuple(self.faults),
            sent=sum(len(step.args.get("messages", ())) for step in program.steps),
            patience=entity.rebalance_delay + entity.max_handoff + SECOND if family.flows else SECOND,
            quiet=1,
            most_flows=MOST_FLOWS,
            is_empty=self.stage.is_empty,
            rounds=rounds_of(family, virtual=True),
            sets_aside=sets_aside(program),
            others=others_asked(program.steps),
        )
        steps = drain(plan)
        did = None
        try:
            while True:
                did = yield from self._do(steps.send(did))
        except StopIteration as end:
            self.emptied = end.value


_UNSUPPORTED: Final[Reply] = (Outcome.ERROR, "unsupported", ())

_PAUSE_RATES: Final = {False: (0.0, 0.02, 0.1, 0.3), True: (0.05, 0.2, 0.5, 0.8)}
"""How often a client pauses before a step: a program has one of these. With flows, timers matter more."""

_PAUSES: Final = (SECOND // 1000, SECOND // 10, SECOND, 10 * SECOND, 40 * SECOND)
"""The longest that a pause may be, in ns."""
