"""The Hypothesis rule-based machine: a search over the model, for simulated brokers. Live ones, where each
program takes its time, are searched by `live_search`.

The model is walked along to say which operations make sense next, and never to say what the broker should
answer. When a run ends its steps are one sequential program: it is run on the broker, and its history judged.
A search shrinks the first that fails as all counterexamples are shrunk (`evaluation.shrinking`): Hypothesis,
which knows nothing of messages, takes many more runs, and leaves more steps. It shrinks where the machine is
given to it directly.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import replace
from typing import Any, ClassVar

import hypothesis.strategies as st
from hypothesis import HealthCheck, Phase, settings
from hypothesis import seed as seeded
from hypothesis.errors import Flaky
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test

from partq.conformance.adapters import Broker, SimulatedBroker, Unreachable
from partq.conformance.evaluation.finding_text import wrong_in
from partq.conformance.evaluation.shrinking import smallest
from partq.conformance.evaluation.suite import (
    ONE_AT_A_TIME,
    BrokerFailed,
    NamedProgram,
    Run,
    Ways,
    lacks_of,
    runs,
)
from partq.conformance.frontends.live_search import search_live
from partq.conformance.frontends.search_state import NotConformant, SearchState
from partq.conformance.workload.program import Program, Step
from partq.conformance.workload.script import Script
from partq.model.actions import action_of
from partq.model.machine import initial, steps
from partq.model.messages import JMS_KEY, SOLACE_KEY, KeyRule, Message
from partq.model.operations import ENV, Outcome
from partq.model.profiles import SECOND, Entity, profile

CLIENTS = ("c1", "c2")
KEYS = ("a", "b", "c")
FEW = st.integers(0, 3)
COUNTS = st.sampled_from((1, 2, 10))


class _Enough(BaseException):
    """Ends a search whose time is over. No `Exception`, which Hypothesis would take for a failure, and
    shrink."""


class BrokerMachine(RuleBasedStateMachine):
    """Programs of two clients and faults. Subclass it through `machine_for`."""

    broker: ClassVar[Broker]
    profile_name: ClassVar[str]
    entity: ClassVar[Entity]
    lacks: ClassVar[frozenset[str]] = frozenset()
    seen: ClassVar[SearchState]
    ways: ClassVar[Ways] = ONE_AT_A_TIME

    def __init__(self) -> None:
        super().__init__()
        self.family = profile(self.profile_name)
        self.state = initial(self.profile_name, self.entity)
        self.steps: list[Step] = []
        self.scripts = {proc: Script(proc) for proc in CLIENTS}
        self.messages = 0

    # What makes sense next, by the model.

    def offers(self, *operations: str) -> bool:
        """Whether the broker has all these operations."""
        return not self.lacks.intersection(operations)

    def held(self) -> bool:
        """Whether some client may hold a lock."""
        return any(script.held for script in self.scripts.values())

    def step(self, proc: str, op: str, **args: Any) -> None:
        """Take the step, and let the model go one of the ways that it may go."""
        self.steps.append(Step(proc, op, args))
        if proc == ENV:
            named = {"partition": args["index"] % self.entity.partitions} if "index" in args else args
            self._follow(op, proc, named)
            return
        script = self.scripts[proc]
        resolved = script.resolve(self.steps[-1], self.state.now)
        if resolved is not None:
            answer = self._follow(op, proc, resolved)
            script.absorb(op, resolved, *answer)

    def _follow(self, op: str, proc: str, args: Mapping[str, Any]) -> tuple[str, str | None, tuple[Any, ...]]:
        ways = list(steps(self.state, action_of(op, proc, args)))
        if not ways:
            return Outcome.ERROR, "unsupported", ()
        ok = [way for way in ways if way[0].status == Outcome.OK]
        answer, self.state = max(ok or ways, key=lambda way: len(way[0].messages))
        return answer.status, next(iter(sorted(answer.errors)), None), answer.messages

    # What clients do.

    @rule(proc=st.sampled_from(CLIENTS), key=st.sampled_from((None, *KEYS)), way=FEW, txn=st.booleans())
    def send(self, proc: str, key: str | None, way: int, txn: bool) -> None:
        """Send one message, in the open transaction if there is one and it is drawn."""
        self.step(proc, "send", messages=(self._message(key, way),), txn=txn)

    @precondition(lambda self: self.offers("send_batch"))
    @rule(
        proc=st.sampled_from(CLIENTS), keys=st.lists(st.sampled_from(KEYS), min_size=2, max_size=3), way=FEW
    )
    def send_batch(self, proc: str, keys: list[str], way: int) -> None:
        """Send a batch, half of the time with one key for all."""
        same = way % 2 == 0
        messages = tuple(self._message(keys[0] if same else key, way) for key in keys)
        self.step(proc, "send_batch", messages=messages)

    @precondition(lambda self: self.messages > 0)
    @rule(proc=st.sampled_from(CLIENTS), most=COUNTS, delete=st.booleans())
    def receive(self, proc: str, most: int, delete: bool) -> None:
        """Receive, locking or deleting."""
        mode = "receive_and_delete" if delete else "peek_lock"
        self.step(proc, "receive", max=most, mode=mode, timeout=min(SECOND, self.entity.lock_duration // 5))

    @precondition(lambda self: self.held())
    @rule(
        proc=st.sampled_from(CLIENTS),
        op=st.sampled_from(("complete", "abandon")),
        pick=FEW,
        txn=st.booleans(),
    )
    def settle(self, proc: str, op: str, pick: int, txn: bool) -> None:
        """Settle a lock, in the open transaction if there is one and it is drawn."""
        self.step(proc, op, pick=[pick], txn=txn)

    @precondition(lambda self: any(script.ended for script in self.scripts.values()))
    @rule(proc=st.sampled_from(CLIENTS), op=st.sampled_from(("complete", "abandon")), pick=FEW)
    def settle_again(self, proc: str, op: str, pick: int) -> None:
        """Settle a lock that has ended."""
        self.step(proc, op, pick=[pick], stale=True)

    @precondition(lambda self: self.held() and self.offers("renew_lock"))
    @rule(proc=st.sampled_from(CLIENTS), pick=FEW)
    def renew(self, proc: str, pick: int) -> None:
        """Renew a lock."""
        self.step(proc, "renew_lock", pick=[pick])

    @precondition(lambda self: self.messages > 0 and self.family.peek and self.offers("peek"))
    @rule(proc=st.sampled_from(CLIENTS), most=COUNTS, start=st.sampled_from(("cursor", "start")))
    def peek(self, proc: str, most: int, start: str) -> None:
        """Peek from the cursor or from the start."""
        self.step(proc, "peek", max=most, **{"from": start})

    @precondition(lambda self: self.family.transactions and self.offers("begin"))
    @rule(proc=st.sampled_from(CLIENTS), op=st.sampled_from(("begin", "commit", "rollback")))
    def transaction(self, proc: str, op: str) -> None:
        """Begin or end a transaction."""
        self.step(proc, op)

    @precondition(lambda self: self.family.flows)
    @rule(proc=st.sampled_from(CLIENTS), op=st.sampled_from(("bind", "bind", "unbind", "disconnect")))
    def consume(self, proc: str, op: str) -> None:
        """Become a consumer, or stop being one."""
        self.step(proc, op)

    # What the environment does.

    @precondition(lambda self: self.offers("partition_down"))
    @rule(index=FEW)
    def partition(self, index: int) -> None:
        """Take a partition down, or bring it back."""
        index %= self.entity.partitions
        down = self.state.down >> index & 1
        self.step(ENV, "partition_up" if down else "partition_down", index=index)

    @precondition(lambda self: self.offers("broker_kill"))
    @rule()
    def restart(self) -> None:
        """Kill the broker and start it again."""
        self.step(ENV, "broker_kill")
        self.step(ENV, "broker_start")

    @precondition(lambda self: bool(self.steps) and self.steps[-1].op != "advance")
    @rule(span=st.sampled_from((0, 1, 2)))
    def advance(self, span: int) -> None:
        """Let time pass, which a live broker takes really: little, some of a lock's time, or until all has
        ended that may."""
        lock = self.entity.lock_duration
        longest = max(lock, self.entity.rebalance_delay) if self.family.flows else lock
        self.step(ENV, "advance", by=(min(SECOND, lock // 5), lock // 5, longest + SECOND)[span])

    def _message(self, key: str | None, way: int) -> Message:
        self.messages += 1
        name = f"m{self.messages}"
        if key is None:
            return Message(name, name)
        if self.family.key_rule is KeyRule.USER_PROPERTY:
            return Message(name, name, properties=((JMS_KEY if way == 0 else SOLACE_KEY, key),))
        return Message(name, name, session_id=key) if way == 0 else Message(name, name, partition_key=key)

    # The verdict.

    def teardown(self) -> None:
        """Run what was drawn and judge it. Raises `NotConformant`, and what `suite.runs` raises: the same at
        once for all further programs, for Hypothesis goes on to find the smallest that raises it."""
        if sys.exc_info()[0] is not None:  # it was not drawn to its end, and does not count
            return
        seen = self.seen
        if seen.broken is not None:
            raise seen.broken
        if seen.enough():
            raise _Enough
        program = Program(self.profile_name, tuple(self.steps), self.entity, sequential=True)
        try:
            done = _run(self.broker, f"program {seen.programs + 1}", program, self.ways)
        except (Unreachable, BrokerFailed) as error:
            seen.broken = error
            raise
        seen.add(done)
        if trouble := wrong_in(done):
            raise NotConformant(program, trouble, done.verdicts)


def _run(broker: Broker, name: str, program: Program, ways: Ways) -> Run:
    with closing(runs(broker, program.profile, [NamedProgram(name, program)], ways)) as ending:
        ((_, done),) = ending
    return done


def machine_for(broker: Broker, profile_name: str, entity: Entity | None = None) -> type[BrokerMachine]:
    """The machine that tests this broker under the profile; give it to Hypothesis or take its `TestCase`.
    Raises `BrokerFailed` where the broker does not say what it lacks."""
    broker.profile = profile_name
    usual = profile(profile_name).default_entity
    if broker.lock_duration is not None:
        usual = replace(usual, lock_duration=broker.lock_duration)
    known = {
        "broker": broker,
        "profile_name": profile_name,
        "entity": entity or usual,
        "lacks": lacks_of(broker),
        "seen": SearchState(),
    }
    return type("BrokerMachineFor", (BrokerMachine,), known)


def search_on(
    broker: Broker,
    profile_name: str,
    examples: int = 200,
    length: int = 20,
    seed: int | None = None,
    *,
    ways: Ways = ONE_AT_A_TIME,
    on_program: Callable[[SearchState], None] = lambda seen: None,
    seconds: float | None = None,
) -> SearchState:
    """Search for a program that shows a violation, and answer what was seen where there is none.
    ``on_program`` is called with each program judged. Raises `NotConformant` with the smallest one found,
    `Unreachable` and `BrokerFailed` at the first program that can't be run."""
    seen = SearchState(examples, on_program, seconds)
    if not isinstance(broker, SimulatedBroker):
        return search_live(broker, profile_name, length, seed or 0, ways=ways, seen=seen)
    machine = machine_for(broker, profile_name)
    machine.ways, machine.seen = ways, seen
    chosen = settings(
        max_examples=examples,
        stateful_step_count=length,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
        print_blob=False,
    )
    try:
        run_state_machine_as_test(machine if seed is None else seeded(seed)(machine), settings=chosen)
    except NotConformant as found:
        raise _smallest(broker, found, ways, seen) from None
    except _Enough:
        if seen.failing is not None:
            raise seen.failing from None
    except Flaky:
        if seen.failing is None:
            raise
        one = seen.failing
        raise NotConformant(one.program, one.trouble, one.verdicts, steady=False) from None
    return seen


def _smallest(broker: Broker, found: NotConformant, ways: Ways, seen: SearchState) -> NotConformant:
    """What was found, by the smallest program that shows it; as it is if that shows what does not count."""
    done = _run(broker, "found", found.program, ways)
    certain = [one for one in done.findings if not one.candidates]
    for finding in (certain or done.findings)[:1]:
        least = smallest(broker, found.program, finding, more=lambda: not seen.enough())
        small = _run(broker, "smallest", least, ways)
        if trouble := wrong_in(small):
            return NotConformant(least, trouble, small.verdicts)
    return found
