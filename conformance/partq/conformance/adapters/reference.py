"""The one bridge to the reference broker: programs in virtual time, and live clients on the wall clock.

Translates settings, operations and errors; decides nothing that a broker or a driver decides.
"""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import fields
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, Final

from partq.conformance.adapters.calls import ANSWERS, recorded
from partq.conformance.adapters.protocol import (
    CLIENT_OPS,
    FAULTS,
    Broker,
    Client,
    Indefinite,
    Rejected,
    Shares,
)
from partq.conformance.adapters.reference_calls import CALLS
from partq.conformance.adapters.stage import OnEvent, Stage, StagedBroker
from partq.conformance.workload.operations.record import Args
from partq.conformance.workload.program import Program
from partq.model.messages import Delivery
from partq.model.operations import LINK_LOST, OPS, SWITCHED, TOPICS
from partq.model.profiles import SECOND, SELDOM_CHOSEN, Entity, OrderDomain, Profile, profile, requirements_of
from partq.model.requirements import PROFILE_COLUMNS, catalogue
from partq.reference_impl.broker import Broker as Impl
from partq.reference_impl.broker import Config, Domains, Parts
from partq.reference_impl.clock import Live, Simulation, Steps, T
from partq.reference_impl.durable import DurableBroker, File
from partq.reference_impl.freedoms import Freedoms
from partq.reference_impl.network import Answer, Connection

PLAIN: Final = Freedoms()
CAMPAIGN: Final = Freedoms.campaign()

SHARE: Final = 0.25
"""Of how many of the freedoms given to it a broker makes use."""

_SETTINGS: Final = tuple(one.name for one in fields(Entity))

MOST_LATE: Final = SECOND
"""ns by which timers and news are late at most, where they are."""

JITTER: Final = SECOND // 1000
"""ns that pass in virtual time while nothing is late, as every record takes some."""

DEFAULT_PROFILE: Final = "azure-premium"
"""What an unnamed profile means to a live broker, and to `lacks`."""

_TIMED: Final = dict.fromkeys(("renew_lock", "frontend_lost"), "locks_expire")
"""The switches of what this broker has no use for where locks last."""


@cache
def lacks_of(family: Profile) -> frozenset[str]:
    """What a queue of that family does not have."""
    lacks = {op for op, switch in (SWITCHED | _TIMED).items() if not getattr(family, switch)}
    if family.flows or not family.partitioned:
        lacks |= {op for op in FAULTS if "partition" in OPS[op].args}
    if not (family.flows or family.connection_ends_locks):
        lacks.add(LINK_LOST)
    if "TOPIC-1" not in requirements_of(family.name):
        lacks.add(TOPICS)
    return frozenset(lacks)


def domains_of(family: Profile) -> Domains | None:
    """What it promises of order domains; None where its order goes by numbers."""
    rules = requirements_of(family.name)
    if rules & {"RCV-3", "REB-3"}:
        return None
    by = "" if family.order is OrderDomain.NONE else str(family.order)
    return Domains(by, "ORD-1" in rules, "ORD-2" in rules, "ORD-3" in rules)


@cache
def _unbound(profile: str) -> frozenset[str]:
    """The rules that do not bind that profile."""
    return frozenset(catalogue()) - requirements_of(profile)


def config_of(
    family: Profile,
    entity: Entity,
    random: Callable[[], float],
    on_event: Callable[[str, dict[str, Any]], None],
    freedoms: Freedoms = PLAIN,
) -> Config:
    """The broker's settings. What no client may rely on (names, the hash, how many front ends there are and
    how much they cache, of which of its freedoms it makes use) is drawn at random."""
    free = freedoms.sample(random, SHARE)
    late = family.flows and (free.late_timers or free.late_handoffs or free.late_events)
    return Config(
        **{name: value for name in _SETTINGS if (value := getattr(entity, name)) is not None},
        partitioned=family.partitioned,
        flows=family.flows,
        counter_bits=family.counter_bits,
        first_name=1 + int(random() * 40_000),
        front_ends=1 + int(random() * 3),
        eagerness=0.6 * random(),
        salt=int(random() * 2**32),
        lateness=int(MOST_LATE ** random()) if late else 0,
        domains=domains_of(family),
        caches=family.caching_front_ends,
        connection_ends_locks=family.connection_ends_locks,
        without=_unbound(family.name),
        freedoms=free,
        view=Delivery,
        tell=lambda partition, flow, state: on_event(
            "assignment", {"partition": partition, "flow": flow, "state": state}
        ),
    )


def operate(broker: Impl, connection: Connection, op: str, args: Args) -> Steps[Answer]:
    """A client's operation; what the client learns of it."""
    return (yield from connection.call(CALLS[op](broker.end_of(connection), connection, args)))


def strike(broker: Impl, fault: str, args: Args) -> Steps[dict[str, Any]]:
    """Do a fault; its event's arguments, in the broker's own names."""
    found = yield from getattr(broker.faults, fault)(*args.values())
    return {"partition": found} if "index" in args else dict(args)


class _Stage:
    """The broker in virtual time, as the driver wants it."""

    def __init__(self, reference: Reference, program: Program, on_event: OnEvent) -> None:
        family = profile(program.profile)
        self.lacks = lacks_of(family) | reference.without
        self.clock = clock = Simulation(program.seed)
        config = config_of(family, program.entity, clock.random, on_event, reference.freedoms)
        late, free = config.lateness and config.lateness + JITTER, config.freedoms
        self.late_ns = late if late and (free.late_timers or free.late_handoffs) else None
        self.skew_ns = late if free.late_events else 0
        self.broker = reference.build(config, clock)
        self.connect = self.broker.connect
        self.is_empty = self.broker.is_empty
        self.end_of = self.broker.end_of

    def operate(self, connection: Connection, op: str, args: Args) -> Steps[Answer]:
        return connection.call(CALLS[op](self.end_of(connection), connection, args))

    def strike(self, op: str, args: Args) -> Generator[int | None, None, Args]:
        return strike(self.broker, op, args)


class _OfFamily(Broker):
    """A reference broker of its profile's family. ``without``: what it lacks though its family has it."""

    without: ClassVar[frozenset[str]] = frozenset()

    def profiles(self) -> tuple[str, ...]:
        """The broker's own profile if it has one, otherwise every profile in the catalogue."""
        return (self.profile,) if self.profile else PROFILE_COLUMNS

    def lacks(self) -> frozenset[str]:
        """What the profile's family does not have."""
        return lacks_of(profile(self.profile or DEFAULT_PROFILE)) | self.without


class Reference(_OfFamily, StagedBroker):
    """The reference broker in virtual time. ``parts``: classes to use instead of its own. ``freedoms``: those
    that it uses, some in each program."""

    def __init__(self, profile: str = "", parts: Parts | None = None, freedoms: Freedoms = PLAIN) -> None:
        self.profile = profile
        self.parts = parts
        self.freedoms = freedoms

    def stage(self, program: Program, on_event: OnEvent) -> Stage:
        """A fresh reference broker, scheduled by the program's seed."""
        return _Stage(self, program, on_event)

    def build(self, config: Config, clock: Simulation) -> Impl:
        """The broker of those settings."""
        return Impl(config, clock, self.parts)


class DurableReference(Reference):
    """The same, each partition's messages in a file, which is all that a started broker knows of them. The
    files go with the broker."""

    def lacks(self) -> frozenset[str]:
        """What the profile's family does not have; with flows the partitions, and their files, stay."""
        flows = profile(self.profile or DEFAULT_PROFILE).flows
        return super().lacks() | ({"update"} if flows else frozenset())

    without = frozenset({TOPICS, "create", "delete"})

    def build(self, config: Config, clock: Simulation) -> Impl:
        """The broker of those settings, its files in a fresh folder."""
        folder = TemporaryDirectory(prefix="partq-")
        broker = DurableBroker(config, clock, Path(folder.name), outlives=False)
        weakref.finalize(broker, _remove, broker.files, folder)
        return broker


class LiveClient(Client):
    """One client of the reference broker on the wall clock. Every call waits for the broker's thread."""

    def __init__(self, broker: LiveReference, proc: str) -> None:
        self._broker = broker
        self._connection = broker.finish(_at_once(lambda: broker.impl.connect(proc)))
        self._flow: str | None = None

    def bind(self, flow: str, *, partition: int | None = None) -> None:
        self._ask("bind", flow=flow, partition=partition)
        self._flow = flow

    def rebind(self, flow: str) -> None:
        self._ask("rebind", flow=flow)
        self._flow = flow

    def unbind(self, flow: str) -> None:
        self._flow = None
        self._ask("unbind", flow=flow)

    def disconnect(self, *, how: str = "socket") -> None:
        self._flow = None
        self._ask("disconnect")

    def _ask(self, op: str, **args: Any) -> Sequence[Any]:
        broker = self._broker
        if op in broker.lacks():
            raise Rejected("unsupported")
        args.setdefault("flow", self._flow)
        outcome, error, messages = broker.finish(operate(broker.impl, self._connection, op, args))
        if error is not None:
            raise (Rejected if outcome == "error" else Indefinite)(error)
        return tuple(messages)


def _method(op: str) -> Callable[..., object]:
    """The operation as a client's method."""
    kind = ANSWERS.get(op)

    def method(self: LiveClient, *given: Any, **named: Any) -> object:
        shown = self._ask(op, **recorded(op, given, named))
        return shown if kind is None else kind(*shown[0])

    return method


for _op in CLIENT_OPS:
    if _op not in vars(LiveClient):
        setattr(LiveClient, _op, _method(_op))


class LiveReference(_OfFamily):
    """The reference broker on the wall clock. It lives on a thread of its own, and only there."""

    client_class: ClassVar[type[Client]] = LiveClient
    shares: ClassVar[Shares] = Shares.NOTHING
    heeds = frozenset(SELDOM_CHOSEN)

    def __init__(self, profile: str = "", parts: Parts | None = None) -> None:
        self.profile = profile
        self.parts = parts
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def open(self, entity: Entity) -> None:
        """Start a fresh broker; the one before ends."""
        self.close()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="partq-reference", daemon=True)
        self._thread.start()
        self.clock = Live(self.now)
        family = profile(self.profile or DEFAULT_PROFILE)
        config = config_of(family, entity, self.clock.random, lambda op, args: self.on_event(op, args))
        self.impl = Impl(config, self.clock, self.parts)

    def finish(self, steps: Steps[T]) -> T:
        """Run a coroutine of the broker on its thread and wait for its result."""
        if self._loop is None:
            raise Rejected("unavailable", "the broker is not open")
        return asyncio.run_coroutine_threadsafe(self.clock.finish(steps), self._loop).result()

    def connect(self, proc: str) -> Client:
        """A client of the broker opened last."""
        return LiveClient(self, proc)

    def inject(self, fault: str, args: dict[str, Any]) -> dict[str, Any]:
        """Do a fault. Raises `Rejected` for one that the profile's family does not have."""
        if fault in self.lacks() or fault not in FAULTS:
            raise Rejected("unsupported", fault)
        return self.finish(strike(self.impl, fault, args))

    def is_empty(self) -> bool | None:
        """Whether nothing is stored."""
        return self.finish(_at_once(lambda: self.impl.is_empty()))

    def close(self) -> None:
        """End the broker's thread, and whatever waits for it."""
        if self._loop is not None and self._thread is not None:
            self._loop.call_soon_threadsafe(self._stop, self._loop)
            self._thread.join()
            self._loop.close()
        self._loop = self._thread = None

    @staticmethod
    def _stop(loop: asyncio.AbstractEventLoop) -> None:
        tasks = asyncio.all_tasks(loop)
        for task in tasks:
            task.cancel()
        asyncio.gather(*tasks, return_exceptions=True).add_done_callback(lambda _: loop.stop())


def open_reference(name: str) -> Broker:
    """The reference broker of that name (`names.BUILT_IN`). Raises KeyError."""
    made: Mapping[str, Callable[[], Broker]] = {
        "reference": lambda: Reference(freedoms=CAMPAIGN),
        "reference:live": LiveReference,
        "reference:durable": DurableReference,
    }
    return made[name]()


def _remove(files: Sequence[File], folder: TemporaryDirectory[str]) -> None:
    for file in files:
        file.close()
    folder.cleanup()


def _at_once(call: Callable[[], T]) -> Steps[T]:
    return call()
    yield
