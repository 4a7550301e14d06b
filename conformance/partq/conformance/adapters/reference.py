"""The one bridge to the reference broker: programs in virtual time, and live clients on the wall clock.

Translates settings, operations, errors and records; decides nothing that a broker decides. Whole programs
are run by `simulate`: one coroutine a client, one for the environment, all on the broker's own scheduler.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final

from partq.model.messages import Delivery
from partq.model.operations import ENV, Outcome
from partq.model.profiles import SECOND, Entity, Profile, profile
from partq.reference_impl.broker import Broker as Impl
from partq.reference_impl.broker import Config, Parts
from partq.reference_impl.clock import FOREVER, Simulation, Steps, Task
from partq.reference_impl.errors import Refused, Unsure
from partq.reference_impl.network import Connection

from ..history import Header, History, Record
from ..program import Program, Step
from ..script import Args, Script
from .protocol import SimulatedBroker

ENTITY: Final = "queue"
DRAIN: Final = "drain"
SEND_TIMEOUT: Final = 60 * SECOND
RECEIVE_TIMEOUT: Final = SECOND

Call = Callable[[Impl, Connection, Args], Steps[Any]]


def _send(broker: Impl, connection: Connection, args: Args) -> Steps[Any]:
    return broker.send(connection, args["messages"], args.get("txn"), args.get("timeout", SEND_TIMEOUT))


def _receive(broker: Impl, connection: Connection, args: Args) -> Steps[Any]:
    delete = args.get("mode") == "receive_and_delete"
    return broker.receive(connection, args["max"], delete, args.get("timeout", RECEIVE_TIMEOUT))


def _complete(broker: Impl, connection: Connection, args: Args) -> Steps[Any]:
    return broker.front_end_of(connection).settle("complete", args["locks"], args.get("txn"))


def _abandon(broker: Impl, connection: Connection, args: Args) -> Steps[Any]:
    return broker.front_end_of(connection).settle("abandon", args["locks"], args.get("txn"))


def _renew(broker: Impl, connection: Connection, args: Args) -> Steps[Any]:
    return broker.front_end_of(connection).renew(args["lock"])


def _peek(broker: Impl, connection: Connection, args: Args) -> Steps[Any]:
    return broker.front_end_of(connection).peek(connection, args["max"], args.get("from_seq"))


def _begin(broker: Impl, connection: Connection, args: Args) -> Steps[Any]:
    return broker.front_end_of(connection).begin(args["txn"])


def _commit(broker: Impl, connection: Connection, args: Args) -> Steps[Any]:
    return broker.front_end_of(connection).commit(args["txn"])


def _rollback(broker: Impl, connection: Connection, args: Args) -> Steps[Any]:
    return broker.front_end_of(connection).rollback(args["txn"])


CALLS: Final[Mapping[str, Call]] = {
    "send": _send,
    "send_batch": _send,
    "receive": _receive,
    "complete": _complete,
    "abandon": _abandon,
    "renew_lock": _renew,
    "peek": _peek,
    "begin": _begin,
    "commit": _commit,
    "rollback": _rollback,
}

_AZURE_LACKS: Final = frozenset({"bind", "unbind", "disconnect"})
_FLOW_LACKS: Final = frozenset(
    {"peek", "begin", "commit", "rollback", "renew_lock", "partition_down", "partition_up", "frontend_lost"}
)


def _config(family: Profile, entity: Entity, random: Callable[[], float]) -> Config:
    return Config(
        partitions=entity.partitions,
        partitioned=family.partitioned,
        flows=family.flows,
        counter_bits=family.counter_bits,
        first_name=1 + int(random() * 40_000),
        seq_start=1 if entity.seq_start is None else entity.seq_start,
        lock_duration=entity.lock_duration,
        rebalance_delay=entity.rebalance_delay,
        max_handoff=entity.max_handoff,
        peek_cap=entity.peek_cap,
        salt=int(random() * 2**32),
        forgets_locks=random() < 0.5,
        view=Delivery,
    )


class _Run:
    """One program's run: the broker, the scripts, the records so far."""

    def __init__(self, program: Program, parts: Parts | None, lacks: frozenset[str]) -> None:
        self.program = program
        self.lacks = lacks
        self.family = profile(program.profile)
        self.clock = Simulation(program.seed)
        self.broker = Impl(_config(self.family, program.entity, self.clock.random), self.clock, parts)
        self.records: list[Record] = []
        self.scripts = {proc: Script(proc) for proc in program.procs}
        self.connections = {proc: self.broker.connect(proc) for proc in program.procs}
        self.started = 0
        self.running = 0
        self.env: Task | None = None
        self.env_due = 0
        self.held_until = 0
        self.haste = self.clock.random()

    def history(self) -> History:
        program = self.program
        if program.sequential:
            self.clock.spawn(self._in_order())
        else:
            self._at_once()
        self.clock.run()
        if program.drain:
            self.clock.spawn(self._drain())
            self.clock.run()
        header = Header(program.profile, {ENTITY: program.entity}, lacks=tuple(sorted(self.lacks)))
        return History(header, tuple(self.records))

    # Who does what, and when.

    def _in_order(self) -> Steps[None]:
        for step in self.program.steps:
            yield from self._do(step)

    def _at_once(self) -> None:
        mine: dict[str, list[Step]] = {proc: [] for proc in self.scripts}
        environment: list[tuple[int, Step]] = []
        for position, step in enumerate(self.program.steps):
            if step.proc == ENV:
                environment.append((position - len(environment), step))
            else:
                mine[step.proc].append(step)
        self.running = len(mine)
        for steps in mine.values():
            self.clock.spawn(self._client(steps))
        if environment:
            self.env = self.clock.spawn(self._environment(environment))

    def _client(self, steps: list[Step]) -> Steps[None]:
        clock, random, haste = self.clock, self.clock.random, self.haste
        for step in steps:
            while self.held_until > clock.now:
                left = self.held_until - clock.now
                yield clock.now + (left if random() < 0.7 else 1 + int(random() * left))
                if random() < 0.5:
                    break
            if random() < 0.15 * haste:
                yield clock.now + int(_PAUSES[int(random() * len(_PAUSES))] * random())
            self.started += 1
            if self.started == self.env_due and self.env is not None:
                clock.wake(self.env)
            yield from self._operation(step)
        self.running -= 1
        if not self.running and self.env is not None:
            clock.wake(self.env)

    def _environment(self, steps: list[tuple[int, Step]]) -> Steps[None]:
        for position, step in steps:
            self.env_due = position
            if self.running and self.started < position:
                yield FOREVER
            yield from self._do(step)
        self.env = None

    def _do(self, step: Step) -> Steps[None]:
        if step.proc != ENV:
            yield from self._operation(step)
        elif step.op == "advance":
            yield from self._advance(step.args)
        else:
            yield from self._fault(step.op, step.args)

    # Recording.

    def _operation(self, step: Step) -> Steps[None]:
        script = self.scripts[step.proc]
        args = script.resolve(step)
        if args is None:
            return
        yield from self._perform(script, step.op, args)

    def _perform(self, script: Script, op: str, args: Args) -> Steps[tuple[Delivery, ...]]:
        clock, records, proc = self.clock, self.records, script.proc
        i = len(records)
        called = clock.now = clock.now + 1
        records.append(Record(i, proc, op, ENTITY, called, None, args, Outcome.UNKNOWN, "hang"))
        connection = self.connections[proc]
        outcome, error, messages = Outcome.OK, None, ()
        try:
            if op in self.lacks:
                raise Refused("unsupported")
            answer = yield from connection.call(CALLS[op](self.broker, connection, args))
            if answer:
                messages = tuple(answer)
        except Unsure as unsure:
            outcome, error = Outcome.UNKNOWN, unsure.kind
        except Refused as refused:
            outcome, error = Outcome.ERROR, refused.kind
        ended = clock.now = clock.now + 1
        records[i] = Record(i, proc, op, ENTITY, called, ended, args, outcome, error, messages)
        script.absorb(op, args, outcome, error, messages)
        return messages

    def _fault(self, op: str, args: Args) -> Steps[None]:
        i, called = self._event(op, args)
        outcome, error = Outcome.OK, None
        try:
            if op in self.lacks:
                raise Refused("unsupported")
            args = yield from _FAULTS[op](self.broker, args)
        except Refused as refused:
            outcome, error = Outcome.ERROR, refused.kind
        self.records[i] = Record(i, ENV, op, ENTITY, called, self.clock.tick(), args, outcome, error)

    def _advance(self, args: Args) -> Steps[None]:
        i, called = self._event("advance", args)
        self.held_until = called + args["by"]
        yield self.held_until
        self.records[i] = Record(i, ENV, "advance", ENTITY, called, self.clock.tick(), args)

    def _event(self, op: str, args: Args) -> tuple[int, int]:
        i, called = len(self.records), self.clock.tick()
        self.records.append(Record(i, ENV, op, ENTITY, called, None, args, Outcome.UNKNOWN))
        return i, called

    # The end.

    def _drain(self) -> Steps[None]:
        if not self.broker.alive:
            yield from self._fault("broker_start", {})
        for index, partition in enumerate(self.broker.partitions):
            if not partition.up:
                yield from self._fault("partition_up", {"index": index})
        entity = self.program.entity
        yield from self._advance({"by": entity.lock_duration + SECOND})
        self.connections[DRAIN] = self.broker.connect(DRAIN)
        script = Script(DRAIN)
        for _ in range(self._bound()):
            args = {"max": 1000, "mode": "receive_and_delete", "timeout": SECOND}
            if not (yield from self._perform(script, "receive", args)):
                break
        else:
            return
        for _ in range(self._bound()):
            if not (yield from self._perform(script, "peek", {"max": 1000})):
                break
        else:
            return
        i, called = self._event("drained", {})
        self.records[i] = Record(i, ENV, "drained", ENTITY, called, self.clock.tick(), {})

    def _bound(self) -> int:
        return 50 + len(self.records)


_PAUSES: Final = (1_000_000, 100_000_000, SECOND, 10 * SECOND, 40 * SECOND)


def _partition_down(broker: Impl, args: Args) -> Steps[Args]:
    return {"partition": (yield from broker.faults.partition_down(args["index"]))}


def _partition_up(broker: Impl, args: Args) -> Steps[Args]:
    return {"partition": (yield from broker.faults.partition_up(args["index"]))}


def _frontend_lost(broker: Impl, args: Args) -> Steps[Args]:
    yield from broker.faults.frontend_lost(args["proc"])
    return args


def _broker_kill(broker: Impl, args: Args) -> Steps[Args]:
    yield from broker.faults.broker_kill()
    return args


def _broker_start(broker: Impl, args: Args) -> Steps[Args]:
    yield from broker.faults.broker_start()
    return args


_FAULTS: Final[Mapping[str, Callable[[Impl, Args], Steps[Args]]]] = {
    "partition_down": _partition_down,
    "partition_up": _partition_up,
    "frontend_lost": _frontend_lost,
    "broker_kill": _broker_kill,
    "broker_start": _broker_start,
}


class Reference(SimulatedBroker):
    """The reference broker in virtual time. ``parts``: classes to use instead of its own."""

    shows_assignments: ClassVar[bool] = True

    def __init__(self, profile: str = "azure-premium", parts: Parts | None = None) -> None:
        self.profile = profile
        self.parts = parts

    def lacks(self) -> frozenset[str]:
        """What the profile's family does not have."""
        return _FLOW_LACKS if profile(self.profile).flows else _AZURE_LACKS

    def simulate(self, program: Program) -> History:
        """Run the program, interleaved by its seed; equal programs give equal histories."""
        self.profile = program.profile
        return _Run(program, self.parts, self.lacks()).history()
