"""A program on a broker: the history.

A simulated broker runs programs itself. Any other is driven here with real concurrency: one thread for
each client, one for the environment, and the caller's own, which watches them. An adapter may raise, lie
or never return; each becomes an outcome, and the run goes on. Nothing is judged here.

In a program that is not ``sequential`` the steps of ``env`` keep their place: one begins when every step
listed before it has begun, and no step listed after it begins before it has. So faults strike while the
operations around them are under way.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import cycle, repeat
from typing import Final

from partq.model.operations import ENV, OPS, Outcome
from partq.model.profiles import SECOND, SEND_TIMEOUT, Entity, profile

from .adapters.protocol import Broker, SimulatedBroker, Unreachable
from .calls import Came, Lie, event_args, open_queue, operate, own_time, says_empty, strike, words
from .drain import Did, Plan, drain, play
from .hand import NEVER, Hand
from .history import Header, History
from .problems import Problems
from .program import Program, Step
from .recorder import Recorder
from .script import Args
from .stopping import Stop, Stopped

ENTITY: Final = "queue"
MOMENT: Final = 2.0
"""Seconds that calls still under way have to end when a run is broken off, and each client to close."""

PARTING: Final = 10.0
"""Seconds that the broker has to close then."""

PATIENT: Final = 10
"""A broker that tells when it is empty need not be asked for messages so long; a tenth will do."""

QUIET: Final = 3
"""Any other has to answer so many receives in a row with nothing."""

log = logging.getLogger(__name__)


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


DEFAULT_LIMITS: Final = Limits()


def run(
    broker: Broker,
    program: Program,
    *,
    limits: Limits = DEFAULT_LIMITS,
    on_problem: Callable[[str], None] = log.warning,
    stop: Stop | None = None,
) -> History:
    """Run the program and answer its history.

    ``on_problem`` is told in words whatever an adapter did that it must not, each thing once. Raises
    `Unreachable` where `Broker.open` does not do what it should, `Stopped` where ``stop`` was asked, what
    ``on_problem`` raises, and nothing that an adapter raises. The broker is closed in any case.
    """
    if isinstance(broker, SimulatedBroker):
        return broker.simulate(program)
    return _Run(broker, program, limits, on_problem, stop or Stop()).history()


class _Run:
    """One run. ``turn`` guards everything that threads share; whoever changes it notifies."""

    def __init__(
        self,
        broker: Broker,
        program: Program,
        limits: Limits,
        on_problem: Callable[[str], None],
        stop: Stop,
    ) -> None:
        self.broker = broker
        self.program = program
        self.limits = limits
        self.stop = stop
        self.recorder = Recorder(ENTITY)
        self.turn = threading.Condition()
        self.problems = Problems(self.turn, on_problem)
        self.over = threading.Event()
        self.closed = False
        self.hurried = False
        self.lacks = broker.lacks()
        self.steps = tuple(step for step in program.steps if step.op not in self.lacks)
        self.entity = program.entity
        self.ways: Iterator[str] = cycle(broker.ways_to_disconnect or Broker.ways_to_disconnect)
        self.faults: list[Step] = []
        self._hand = partial(Hand, turn=self.turn, connect=broker.connect, failed=self.problems.failed)
        self.hands = {proc: self._hand(proc) for proc in (*program.procs, ENV)}
        self.env = self.hands[ENV]
        self.clients = [hand for hand in self.hands.values() if hand is not self.env]

    def history(self) -> History:
        """Run it all. Raises `Unreachable`, `Stopped` and what ``on_problem`` raised."""
        with self.stop.heard(self._hurry):
            try:
                if self.stop.asked:
                    raise Stopped
                history = self._whole()
            except BaseException:
                self._hurry()
                raise
            finally:
                self._finish()
        self.problems.check()
        return history

    def _whole(self) -> History:
        self.broker.now = self.recorder.now
        self.broker.on_event = self._on_event
        self.env.start()
        self.entity = self._open()
        for hand in self.clients:
            self._start(hand)
        if self.program.sequential:
            self._in_order()
        else:
            self._at_once()
        if self.program.drain and not self.env.lost:
            self._drain()
        return self._so_far()

    def _open(self) -> Entity:
        """The settings of the queue that the broker opened. Raises `Unreachable` if it did not."""
        came: list[Entity | Unreachable] = []
        opening = partial(open_queue, self.broker, self.program.entity)
        self.env.submit(partial(self._guarded, self.env, lambda: came.append(opening()), self.limits.fault))
        self._watch(lambda: not self.env.waiting)
        if not came:
            name = type(self.broker).__name__
            raise Unreachable(f"{name}.open did not return within {self.limits.fault:g} s")
        if isinstance(came[0], Unreachable):
            raise came[0]
        return came[0]

    def _so_far(self) -> History:
        program, lacks = self.program, tuple(sorted(self.lacks & OPS.keys()))
        header = Header(program.profile, {ENTITY: self.entity}, "wall", self.broker.skew_ns, lacks)
        return History(header, self.recorder.records())

    # Who does what, and when.

    def _start(self, hand: Hand) -> None:
        hand.start()
        hand.submit(partial(self._guarded, hand, hand.connected, self.limits.hang))
        self._watch(lambda: not hand.waiting)

    def _in_order(self) -> None:
        for step in self.steps:
            self._perform(step)

    def _at_once(self) -> None:
        for position, step in enumerate(self.steps):
            self.hands[step.proc].positions.append(position)
        for position, step in enumerate(self.steps):
            hand = self.hands[step.proc]
            hand.submit(partial(self._in_turn, hand, step, position))
        self._watch(lambda: not any(hand.waiting for hand in self.hands.values()))

    def _in_turn(self, hand: Hand, step: Step, position: int) -> None:
        others = self.clients if hand is self.env else (self.env,)
        with self.turn:
            self.turn.wait_for(
                lambda: self.over.is_set() or all(other.begun_before > position for other in others)
            )
        self._do(hand, step)

    def _perform(self, step: Step, longest_advance: float | None = None) -> Did | None:
        """Do one step to its end, in its own thread; None where there was nothing to do."""
        hand = self.hands.get(step.proc)
        if hand is None:
            hand = self.hands[step.proc] = self._hand(step.proc)
            self._start(hand)
        hand.did = None
        if not hand.lost:
            hand.submit(partial(self._do, hand, step, longest_advance))
            self._watch(lambda: not hand.waiting)
        return Did(Outcome.UNKNOWN, "hang") if hand.lost else hand.did

    def _watch(self, done: Callable[[], bool]) -> None:
        """Wait until it is done, and give up the threads that hang meanwhile. Raises, while the run is not
        over, `Stopped` and what ``on_problem`` raised."""
        with self.turn:
            while not done():
                if not self.over.is_set():
                    self.problems.check()
                    if self.hurried:
                        raise Stopped
                now = time.monotonic()
                for hand in self.hands.values():
                    if hand.deadline <= now:
                        self._give_up(hand)
                soonest = min(hand.deadline for hand in self.hands.values())
                if not done():
                    self.turn.wait(None if soonest == NEVER else max(0.0, soonest - now))
            if not self.over.is_set():
                self.problems.check()

    def _give_up(self, hand: Hand) -> None:
        hand.lost, hand.waiting, hand.deadline = True, 0, NEVER
        self.broker.hung = True
        if not self.hurried:
            self.problems.tell(f"{hand.proc}: a call did not return in time; this client does nothing more")
        self.turn.notify_all()

    def _wake(self) -> None:
        with self.turn:
            self.turn.notify_all()

    def _hurry(self) -> None:
        """The run is broken off: whoever is in a call has a moment to end it."""
        with self.turn:
            self.hurried = True
            soon = time.monotonic() + MOMENT
            for hand in tuple(self.hands.values()):
                hand.deadline = min(hand.deadline, soon) if hand.deadline != NEVER else NEVER
            self.turn.notify_all()

    # One step.

    def _do(self, hand: Hand, step: Step, longest_advance: float | None = None) -> None:
        args = None if self.over.is_set() else hand.script.resolve(step)
        if args is None:
            self._begun(hand)
        elif hand is not self.env:
            self._operate(hand, step.op, self._fitted(step.op, args))
        elif step.op == "advance":
            self._advance(
                hand, args["by"], self.limits.advance if longest_advance is None else longest_advance
            )
        else:
            self._strike(hand, step)

    def _fitted(self, op: str, args: Args) -> Args:
        """The arguments as they are really used: with a bounded wait, how long a send may take (ROUTE-6), and
        a way to disconnect."""
        if op in ("send", "send_batch"):
            return {"timeout": SEND_TIMEOUT, **args}
        if op == "receive":
            longest = int(self.limits.wait * SECOND)
            return {**args, "timeout": min(args.get("timeout", longest), longest)}
        if op == "disconnect" and "how" not in args:
            return {**args, "how": next(self.ways)}
        return args

    def _operate(self, hand: Hand, op: str, args: Args) -> None:
        self._called(hand, op, args, own_time(args) + self.limits.hang)
        came = operate(hand.connected, op, args, self.recorder.now)
        if self._returned(hand, came):
            hand.script.absorb(op, args, came.outcome, came.error, came.messages)

    def _strike(self, hand: Hand, step: Step) -> None:
        about = {"partition": step.args["index"]} if "index" in step.args else step.args
        self._called(hand, step.op, about, self.limits.fault)
        came = strike(self.broker.inject, step.op, step.args)
        if self._returned(hand, came):
            self.faults.append(step)

    def _advance(self, hand: Hand, by: int, longest: float) -> None:
        wait = min(by, int(longest * SECOND))
        self._called(hand, "advance", {"by": wait}, wait / SECOND + self.limits.hang)
        self.over.wait(wait / SECOND)
        self._returned(hand, Came())
        if wait < by:
            hand.did = Did(Outcome.ERROR, "timeout")

    def _called(self, hand: Hand, op: str, args: Args, limit: float) -> None:
        with self.turn:
            hand.record = self.recorder.begin(hand.proc, op, args)
            hand.deadline = time.monotonic() + limit
            self._begun(hand)

    def _begun(self, hand: Hand) -> None:
        with self.turn:
            if hand.positions:
                hand.positions.popleft()
            self.turn.notify_all()

    def _returned(self, hand: Hand, came: Came) -> bool:
        """Record what came of the call. Whether there is something to record: not if it was given up
        before, and not for a fault that did not strike."""
        with self.turn:
            if hand.lost or hand.record is None:
                return False
            i, hand.record, hand.deadline = hand.record, None, NEVER
            hand.did = Did(came.outcome, came.error, came.messages)
            if struck := hand is not self.env or came.outcome != Outcome.ERROR:
                self.recorder.end(i, came)
            else:
                self.recorder.drop(i)
        if came.problem:
            self.problems.tell(f"{hand.proc}: {came.problem}")
        return struck

    def _on_event(self, op: str, args: object) -> None:
        if self.over.is_set():
            return
        try:
            known = event_args(op, args)
        except Lie as lie:
            self.problems.tell(f"{ENV}: {lie}")
        else:
            self.recorder.event(op, known)

    # The end.

    def _drain(self) -> None:
        self.ways = repeat(next(iter(self.broker.ways_to_disconnect or Broker.ways_to_disconnect)))
        tells = self._is_empty() is not None
        plan = Plan(
            profile(self.program.profile),
            self.entity,
            self.lacks,
            clients=tuple(hand.proc for hand in self.clients if not hand.lost),
            faults=tuple(self.faults),
            sent=sum(len(step.args.get("messages", ())) for step in self.program.steps),
            patience=int(self.limits.wait * SECOND) // (PATIENT if tells else 1),
            quiet=1 if tells else QUIET,
            is_empty=(lambda: self._is_empty() is True) if tells else (lambda: None),
        )
        empty = play(drain(plan), partial(self._perform, longest_advance=self.limits.drain))
        if empty and not any(hand.lost for hand in self.hands.values()):
            self.recorder.event("drained", {})

    def _is_empty(self) -> bool | None:
        """What the broker says; None also where it raises, lies or hangs."""
        said: list[bool | None] = []
        asking = partial(says_empty, self.broker)
        self.env.submit(partial(self._guarded, self.env, lambda: said.append(asking()), self.limits.hang))
        self._watch(lambda: not self.env.waiting)
        return said[0] if said else None

    def _guarded(self, hand: Hand, call: Callable[[], object], limit: float) -> None:
        """A call on the adapter that no history records, and may take so many seconds."""
        with self.turn:
            hand.deadline = time.monotonic() + (min(limit, MOMENT) if self.hurried else limit)
            self.turn.notify_all()
        try:
            call()
        except BaseException as error:
            self.problems.tell(f"{hand.proc}: {words(error)}")
        with self.turn:
            hand.deadline = NEVER

    def _finish(self) -> None:
        """Close everything, in the middle of a run too."""
        self.over.set()
        self._wake()
        hands = [hand for hand in self.hands.values() if hand.is_alive() and not hand.lost]
        for hand in hands:
            if hand.client is not None:
                hand.submit(partial(self._guarded, hand, hand.disconnected, self.limits.hang))
            hand.jobs.put(None)
        self._watch(lambda: not any(hand.waiting for hand in hands))
        threading.Thread(target=self._close_broker, name="partq-close", daemon=True).start()
        with self.turn:
            self.turn.wait_for(lambda: self.closed or self.hurried, self.limits.fault)
            self.turn.wait_for(lambda: self.closed, PARTING if self.hurried else 0)
            if not self.closed:
                self.broker.hung = True
                self.problems.tell("Broker.close did not return in time")

    def _close_broker(self) -> None:
        try:
            self.broker.close()
        except BaseException as error:
            self.problems.tell(f"Broker.close raised {words(error)}")
        self.closed = True
        self._wake()
