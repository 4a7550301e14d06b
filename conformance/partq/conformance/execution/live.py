"""A program on a live broker: which client takes which step when, how a step becomes a call, and what is
recorded of it. An adapter may raise, lie or never return; each becomes an outcome, and the run goes on. The
threads, and who watches them, are in `watched.py`.

In a program that is not ``sequential`` the steps of ``env`` keep their place: one begins when every step
listed before it has begun, and no step listed after it begins before it has. So faults strike while the
operations around them are under way.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import cycle, repeat
from typing import Final

from partq.conformance.adapters.protocol import Broker, Unreachable
from partq.conformance.adapters.questions import NoAnswer, answer
from partq.conformance.execution.adapter_calls import (
    CallResult,
    InvalidAnswer,
    event_args,
    open_queue,
    operate,
    says_empty,
    strike,
)
from partq.conformance.execution.cancellation import Stop, Stopped
from partq.conformance.execution.client_thread import NEVER, ClientThread
from partq.conformance.execution.drain import (
    DrainPlan,
    StepResult,
    drain,
    others_asked,
    play,
    repairs,
    sets_aside,
)
from partq.conformance.execution.ledger import Ledger
from partq.conformance.execution.recorder import Recorder
from partq.conformance.execution.watched import WatchedThreads
from partq.conformance.history import Header, History
from partq.conformance.workload.operations.record import Args
from partq.conformance.workload.operations.table import OPERATIONS, is_offered
from partq.conformance.workload.program import Program, Step
from partq.model.operations import CLOCK, DRAINED, ENV, OPS, Outcome
from partq.model.profiles import SECOND, Entity, profile

ENTITY: Final = "queue"
PATIENT: Final = 10
"""A broker that reports when it is empty need not be asked for messages so long; a tenth will do."""

BRIEF: Final = SECOND // 20
"""ns that a receive waits where every message that was accepted has gone, so that none can come; time passes
no longer where no lock can end either."""

QUIET: Final = 3
"""Any other has to answer so many receives in a row with nothing."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds. ``hang``: how long a call may take beyond its own timeout before it counts as hung ·
    ``fault``: the same for faults, `Broker.open` and `Broker.close` · ``wait``: how long a receive waits
    at most, whatever the program says · ``advance``: the longest real wait for ``advance`` · ``drain``: the
    longest wait for locks to end before the queue is drained."""

    hang: float = 30.0
    fault: float = 180.0
    wait: float = 1.0
    advance: float = 6.0
    drain: float = 120.0


def _lacks_of(broker: Broker) -> frozenset[str]:
    """What the broker says that it lacks. Raises `Unreachable`."""
    try:
        return answer(broker.lacks)
    except NoAnswer as error:
        raise Unreachable(f"{type(broker).__name__}.lacks(): {error}") from error


class LiveRun:
    """One run."""

    def __init__(
        self, broker: Broker, program: Program, limits: Limits, on_problem: Callable[[str], None], stop: Stop
    ) -> None:
        self.broker = broker
        self.program = program
        self.limits = limits
        self.stop = stop
        self.recorder = Recorder(ENTITY)
        self.ledger = Ledger()
        self.threads = WatchedThreads(broker, (*program.procs, ENV), on_problem)
        self.turn, self.over, self.problems = self.threads.turn, self.threads.over, self.threads.problems
        self.draining = False
        self.lacks = _lacks_of(broker)
        self.steps = tuple(one for one in program.steps if is_offered(one.op, one.args, self.lacks))
        self.to_send = sum("messages" in step.args for step in self.steps)
        self.entity = program.entity
        self.ways: Iterator[str] = cycle(broker.ways_to_disconnect or Broker.ways_to_disconnect)
        self.faults: list[Step] = []
        self.unsupported: set[str] = set()
        self.env = self.threads[ENV]
        self.clients = [self.threads[proc] for proc in program.procs if proc != ENV]

    def history(self) -> History:
        """Run it all. Raises `Unreachable`, `Stopped` and what ``on_problem`` raised."""
        with self.stop.heard(self.threads.hurry):
            try:
                if self.stop.asked:
                    raise Stopped
                history = self._whole()
            except BaseException:
                self.threads.hurry()
                raise
            finally:
                self.threads.end(self.limits.hang, self.limits.fault)
        self.problems.check()
        return history

    def _whole(self) -> History:
        self.broker.now = self.recorder.now
        self.broker.on_event = self._on_event
        self.env.start()
        self.entity = self._open()
        for thread in self.clients:
            self.threads.connected(thread.proc, self.limits.hang)
        if self.program.sequential:
            for step in self.steps:
                self._perform(step)
        else:
            self._at_once()
        if self.program.drain and not self.env.lost:
            self._drain()
        never = self.unsupported - {step.op for step in self.faults}
        program, lacks = self.program, tuple(sorted((self.lacks | never) & OPS.keys()))
        header = Header(program.profile, {ENTITY: self.entity}, "wall", self.broker.skew_ns, lacks)
        return History(header, self.recorder.records())

    def _open(self) -> Entity:
        """The settings of the queue that the broker opened. Raises `Unreachable` if it did not."""
        opening = partial(open_queue, self.broker, self.program.entity)
        opened = self.threads.ask(self.env, opening, self.limits.fault)
        if opened is None:
            name = type(self.broker).__name__
            raise Unreachable(f"{name}.open did not return within {self.limits.fault:g} s")
        if isinstance(opened, Unreachable):
            raise opened
        return opened

    # Who does what, and when.

    def _at_once(self) -> None:
        for position, step in enumerate(self.steps):
            self.threads[step.proc].positions.append(position)
        for position, step in enumerate(self.steps):
            thread = self.threads[step.proc]
            thread.submit(partial(self._in_turn, thread, step, position))
        self.threads.watch(lambda: self.threads.idle)

    def _in_turn(self, thread: ClientThread, step: Step, position: int) -> None:
        others = self.clients if thread is self.env else (self.env,)
        with self.turn:
            self.turn.wait_for(
                lambda: self.over.is_set() or all(other.begun_before > position for other in others)
            )
        self._do(thread, step)
        with self.turn:
            self.to_send -= "messages" in step.args

    def _perform(self, step: Step, longest_advance: float | None = None) -> StepResult | None:
        """Do one step to its end, in its own thread; None where there was nothing to do."""
        thread = self.threads.connected(step.proc, self.limits.hang)
        thread.did = None
        if not thread.lost:
            self.threads.do(thread, partial(self._do, thread, step, longest_advance))
        return StepResult(Outcome.UNKNOWN, "hang") if thread.lost else thread.did

    # One step.

    def _do(self, thread: ClientThread, step: Step, longest_advance: float | None = None) -> None:
        args = None if self.over.is_set() else thread.script.resolve(step, self.recorder.now())
        if args is None:
            self._begun(thread)
        elif thread is not self.env:
            self._operate(thread, step.op, self._fitted(step.op, args))
        elif step.op == CLOCK:
            self._advance(
                thread, args["by"], self.limits.advance if longest_advance is None else longest_advance
            )
        else:
            self._strike(thread, step)

    def _fitted(self, op: str, args: Args) -> Args:
        """The arguments as they are really used: with a bounded wait, how long a send may take (ROUTE-6), and
        a way to disconnect."""
        operation = OPERATIONS[op]
        if operation.timeout:
            return {"timeout": operation.timeout, **args}
        if operation.waits:
            longest = int(self.limits.wait * SECOND)
            longest = min(longest, BRIEF) if self._nothing_comes() else longest
            return {**args, "timeout": min(args.get("timeout", longest), longest)}
        if "how" in operation.args and "how" not in args:
            return {**args, "how": next(self.ways)}
        return args

    def _nothing_comes(self) -> bool:
        """Whether all that was accepted has gone, and no more is being sent."""
        alone = self.draining or self.program.sequential or not self.to_send
        return alone and self._all_gone()

    def _all_gone(self) -> bool:
        """Whether all that was accepted has gone; where copies are received that is not known."""
        return self.ledger.nothing_left and not self.entity.outlets

    def _nothing_changes(self) -> bool:
        """Whether time has no effect: neither a message nor a lock is left, and nothing else runs out."""
        if self.draining or self.faults or profile(self.program.profile).flows:
            return False
        locks_left = self.ledger.locks_left(self.recorder.now(), self.entity.lock_duration)
        return self._nothing_comes() and not locks_left and not self.entity.ids_count

    def _operate(self, thread: ClientThread, op: str, args: Args) -> None:
        self._called(thread, op, args, args.get("timeout", 0) / SECOND + self.limits.hang)
        result = operate(thread.connected, op, args, self.recorder.now)
        if self._returned(thread, result):
            thread.script.absorb(op, args, result.outcome, result.error, result.messages)
            self.ledger.note(op, args, result, self.recorder.now())

    def _strike(self, thread: ClientThread, step: Step) -> None:
        about = {"partition": step.args["index"]} if "index" in step.args else step.args
        self._called(thread, step.op, about, self.limits.fault)
        result = strike(self.broker.inject, step.op, step.args)
        if self._returned(thread, result):
            self.faults.append(step)
        elif result.error == "unsupported":
            self.unsupported.add(step.op)

    def _advance(self, thread: ClientThread, by: int, longest: float) -> None:
        wait = min(by, int(longest * SECOND), BRIEF if self._nothing_changes() else by)
        self._called(thread, CLOCK, {"by": wait}, wait / SECOND + self.limits.hang)
        self.over.wait(wait / SECOND)
        self._returned(thread, CallResult())
        if wait < by:
            thread.did = StepResult(Outcome.ERROR, "timeout")

    def _called(self, thread: ClientThread, op: str, args: Args, limit: float) -> None:
        with self.turn:
            thread.record = self.recorder.begin(thread.proc, op, args)
            thread.deadline = time.monotonic() + limit
            self._begun(thread)

    def _begun(self, thread: ClientThread) -> None:
        with self.turn:
            if thread.positions:
                thread.positions.popleft()
            self.turn.notify_all()

    def _returned(self, thread: ClientThread, result: CallResult) -> bool:
        """Record what came of the call. Whether there is something to record: not if it was given up
        before, and not for a fault that did not strike."""
        with self.turn:
            if thread.lost or thread.record is None:
                return False
            i, thread.record, thread.deadline = thread.record, None, NEVER
            thread.did = StepResult(result.outcome, result.error, result.messages)
            if struck := thread is not self.env or result.outcome != Outcome.ERROR:
                self.recorder.end(i, result)
            else:
                self.recorder.drop(i)
        if result.problem:
            self.problems.report(f"{thread.proc}: {result.problem}")
        return struck

    def _on_event(self, op: str, args: object) -> None:
        if self.over.is_set():
            return
        try:
            known = event_args(op, args)
        except InvalidAnswer as invalid:
            self.problems.report(f"{ENV}: {invalid}")
        else:
            self.recorder.event(op, known)

    # The end.

    def _drain(self) -> None:
        self.draining = True
        self.ways = repeat(next(iter(self.broker.ways_to_disconnect or Broker.ways_to_disconnect)))
        faults = self._repaired()
        can_say = self._is_empty() is not None
        plan = DrainPlan(
            profile(self.program.profile),
            self.entity,
            self.lacks,
            clients=tuple(thread.proc for thread in self.clients if not thread.lost),
            faults=faults,
            sent=sum(len(step.args.get("messages", ())) for step in self.program.steps),
            patience=int(self.limits.wait * SECOND) // (PATIENT if can_say else 1),
            quiet=1 if can_say else QUIET,
            is_empty=(lambda: self._is_empty() is True) if can_say else (lambda: None),
            locks_left=lambda: self.ledger.locks_left(self.recorder.now(), self.entity.lock_duration),
            all_gone=self._all_gone,
            sets_aside=sets_aside(self.program),
            others=others_asked(self.steps),
        )
        emptied = play(drain(plan), partial(self._perform, longest_advance=self.limits.drain))
        if not self.threads.any_lost:
            for args in emptied:
                self.recorder.event(DRAINED, args)

    def _repaired(self) -> tuple[Step, ...]:
        """Repair everything, before the broker is asked whether it is empty. The faults, if one is left."""
        faults = tuple(self.faults)
        done = [self._perform(repair) for repair in repairs(faults)]
        return () if all(did is None or did.ok for did in done) else faults

    def _is_empty(self) -> bool | None:
        """What the broker says; None also where it raises, lies or hangs."""
        return self.threads.ask(self.env, partial(says_empty, self.broker), self.limits.hang)
