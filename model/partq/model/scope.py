"""A scope: the messages, clients, operations and faults of an exploration, and the footprint of each action.

Actions come in groups, each with the components of the state that they read or change (its *footprint*).
That is all `explore` and `packed` know of them; what they do is the machine's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Final, NamedTuple

from . import mechanisms
from .actions import NOWHERE, Action, Answer
from .grouping import grouped
from .machine import initial
from .messages import SOLACE_KEY, KeyRule, Message
from .offers import Actions, Group, Offer
from .operations import Outcome
from .profiles import Entity, profile
from .settling.norm import moves_in
from .state import State, choices
from .statuses import LOCKED

OFFERS: Final[dict[str, Offer]] = {
    name: module.OFFER for name, module in mechanisms.parts(__package__, "offer").items()
}
"""Mechanism -> what it adds."""

OPERATIONS: Final = (
    "receive",
    "delete",
    "complete",
    "abandon",
    "stale",
    "peek",
    "expire",
    "prefetch",
    "partition faults",
    "broker faults",
    "lost front ends",
    "transactions",
    *OFFERS,
)
"""What a scope may offer besides sends: ``delete`` is receive and delete, ``stale`` settling with an earlier
lock of the message, ``expire`` and ``prefetch`` the broker's moves; with a mechanism's name there is what it
offers. With flows, bind, unbind and the broker's moves on flows are always there."""

USUAL: Final = ("receive", "complete", "abandon", "expire", "prefetch", "peek")
"""The default operations of a scope."""

PRODUCER: Final = "p"
TXN: Final = "t"
KEYLESS: Final = "-"


class InvalidOperations(ValueError):
    """A scope's operations are not among `OPERATIONS`, or the profile lacks them."""


class Node(NamedTuple):
    """A state of the broker, and how many messages were sent to it."""

    state: State
    sent: int


@dataclass(frozen=True)
class Scope:
    """The bounds of an exploration.

    ``messages``: the key of each message, `KEYLESS` for none. One producer sends them in this order; so many
    ``clients`` consume. ``max`` bounds a receive and a peek, and an answer comes out of one partition.
    ``max_tries`` bounds the delivery count: what would raise it further is left out. ``operations``: of
    `OPERATIONS`. There is no clock: locks, delays and handoffs end at any moment. ``symmetric``: see
    `Config`; ``freedoms``: its switches that are on.

    Raises `InvalidOperations`, and what `machine.initial` raises.
    """

    profile: str = "azure-premium"
    partitions: int = 2
    messages: tuple[str, ...] = ("a", "b", "c")
    clients: int = 2
    max: int = 1
    max_tries: int = 1
    operations: tuple[str, ...] = USUAL
    symmetric: bool = False
    freedoms: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        wrong = [name for name in self.operations if name not in OPERATIONS]
        if wrong:
            raise InvalidOperations(f"unknown operations {', '.join(wrong)}; known: {', '.join(OPERATIONS)}")
        family = profile(self.profile)
        if ("peek" in self.operations and not family.peek) or (
            "transactions" in self.operations and not family.transactions
        ):
            raise InvalidOperations(f"{family.title} offers neither peek nor transactions")

    @cached_property
    def start(self) -> Node:
        """The empty entity."""
        options = dict.fromkeys(("hindsight", "gaps", "lag", "early", "owing", "serving"), 0) | dict.fromkeys(
            self.freedoms, 1
        )
        options |= {"untimed": 1, "symmetric": self.symmetric}
        state = initial(self.profile, Entity(partitions=self.partitions), None, 0, frozenset(), **options)
        return Node(state, 0)

    @cached_property
    def outbox(self) -> tuple[Message, ...]:
        """The messages in the order in which they are sent."""
        rule = profile(self.profile).key_rule
        return tuple(_message(f"m{n}", key, rule) for n, key in enumerate(self.messages, 1))

    @cached_property
    def consumers(self) -> tuple[str, ...]:
        """The clients that receive."""
        return tuple(f"c{n + 1}" for n in range(self.clients))

    @cached_property
    def disturbs(self) -> bool:
        """Whether a fault may hit a client's connection."""
        return bool({"broker faults", "lost front ends"} & set(self.operations))

    @property
    def producer(self) -> str:
        """The client that sends."""
        return PRODUCER

    @cached_property
    def _offers(self) -> dict[str, Offer]:
        """The offers of mechanisms that the scope includes."""
        return {name: offer for name, offer in OFFERS.items() if name in self.operations}

    @cached_property
    def _settling(self) -> tuple[str, ...]:
        """The operations by which a holder settles."""
        usual = (op for op in ("complete", "abandon") if op in self.operations)
        return (*usual, *(op for offer in self._offers.values() for op in offer.settlements))

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """Every action of the scope, those of one footprint together."""
        found = [*self._sending(), *self._consuming(), *self._faults()]
        if self.transacts:
            found += self._transacting()
        if self.has_flows:
            found += self._flows()
        for offer in self._offers.values():
            found += offer.groups(self)
        return tuple(Group(footprint, _all(several)) for footprint, several in grouped(found).items())

    @cached_property
    def components(self) -> tuple[str, ...]:
        """The names of the components that change: ``env``, ``sent``, ``keys``, ``txns``, ``flows``, and of
        each client ``client c1``, of each partition ``part 0``."""
        clients = (PRODUCER, *self.consumers) if self.disturbs or "peek" in self.operations else ()
        return (
            "env",
            "sent",
            "keys",
            *(["txns"] if self.transacts else []),
            *(["flows"] if self.has_flows else []),
            *(f"client {c}" for c in clients),
            *(f"part {p}" for p in range(self.partitions)),
        )

    @cached_property
    def transacts(self) -> bool:
        """Whether there are transactions."""
        return "transactions" in self.operations

    @cached_property
    def has_flows(self) -> bool:
        """Whether consumers bind."""
        return profile(self.profile).flows

    def actions(self, node: Node) -> Iterator[Action]:
        """All actions that may be tried in a node."""
        for group in self.groups:
            yield from group.actions(*node)

    def sent_after(self, action: Action, answer: Answer, sent: int) -> int:
        """How many messages were sent after the action was answered."""
        return sent + 1 if action.op == "send" and answer.status == Outcome.OK else sent

    def within(self, state: State, parts: range | tuple[int, ...]) -> bool:
        """Whether these partitions are inside the scope: no delivery count beyond the bound."""
        return all(entry.tries <= self.max_tries for p in parts for entry in state.parts[p].log)

    # The groups. A footprint names what its actions look at, or change.

    def footprint(self, *names: str, proc: str | None = None) -> frozenset[str]:
        """``env`` and these; of the client what the machine looks at with every operation; whether messages
        are in a transaction shows in the partition."""
        reads = {"env", *names}
        if proc is not None and self.disturbs:
            reads.add(f"client {proc}")
        return frozenset(reads)

    def _everything(self) -> frozenset[str]:
        return frozenset(self.components)

    def _sending(self) -> Iterator[Group]:
        modes = [None, TXN] if self.transacts else [None]
        for p in (*range(self.partitions), NOWHERE):
            for txn in modes:
                names = ["keys", "sent", *([f"part {p}"] if p >= 0 else []), *(["txns"] if txn else [])]
                yield Group(self.footprint(*names, proc=PRODUCER), partial(self._sends, p, txn))

    def _sends(self, p: int, txn: str | None, state: State, sent: int) -> Iterator[Action]:
        if sent == len(self.outbox) or (p >= 0 and p not in choices(state)):
            return
        if txn is None or state.txns:
            message = self.outbox[sent]
            others = [offer.sends(message) for offer in self._offers.values() if offer.sends is not None]
            for sent_as in (message, *others):
                yield Action("send", PRODUCER, messages=(sent_as,), txn=txn, only=p)

    def _consuming(self) -> Iterator[Group]:
        flows = ["flows"] if self.has_flows else []
        txns = ["txns"] if self.transacts else []
        everywhere = [f"part {p}" for p in range(self.partitions)]
        for c in self.consumers:
            for p in (*range(self.partitions), NOWHERE):
                part = [f"part {p}"] if p >= 0 else []
                yield Group(self.footprint(*part, *flows, *txns, proc=c), partial(self._receives, c, p))
                if "peek" in self.operations:
                    yield Group(
                        self.footprint(*(part or everywhere), f"client {c}"),
                        _just(Action("peek", c, max=self.max, only=p)),
                    )
            for p in range(self.partitions):
                yield Group(
                    self.footprint(f"part {p}", *flows, *txns, proc=c), partial(self._settlements, c, p)
                )
        for p in range(self.partitions):
            yield Group(self.footprint(f"part {p}", *flows), partial(self._own, p))

    def _receives(self, c: str, p: int, state: State, sent: int) -> Iterator[Action]:
        flow = f"f-{c}" if self.has_flows else None
        for operation, mode in (("receive", "peek_lock"), ("delete", "receive_and_delete")):
            if operation in self.operations:
                yield Action("receive", c, max=self.max, mode=mode, flow=flow, only=p)

    def _settlements(self, c: str, p: int, state: State, sent: int) -> Iterator[Action]:
        holder = f"f-{c}" if self.has_flows else c
        for entry in state.parts[p].log:
            tokens = []
            if entry.status == LOCKED and entry.lock is not None and entry.lock.holder == holder:
                tokens.append(f"{p}.{entry.number}.{entry.turn}")
            if "stale" in self.operations and entry.turn:
                earlier = 3 - entry.turn if entry.status == LOCKED else entry.turn
                tokens.append(f"{p}.{entry.number}.{earlier}")
            for token in tokens:
                for op in self._settling:
                    yield Action(op, c, locks=(token,), only=p)
                    if self.transacts and state.txns:
                        yield Action(op, c, locks=(token,), txn=TXN, only=p)

    def _own(self, p: int, state: State, sent: int) -> Iterator[Action]:
        for action in moves_in(state, p):
            if action.op not in ("expire", "prefetch") or action.op in self.operations:
                yield action

    def _faults(self) -> Iterator[Group]:
        if "partition faults" in self.operations:
            for p in range(self.partitions):
                txns = ["txns"] if self.transacts else []
                yield Group(self.footprint("keys", f"part {p}", *txns), partial(self._outages, p))
        if self.disturbs:
            yield Group(self._everything(), self._disturbances)

    def _outages(self, p: int, state: State, sent: int) -> Iterator[Action]:
        if p in choices(state):
            yield Action("partition_down", partition=p)
            yield Action("partition_up", partition=p)

    def _disturbances(self, state: State, sent: int) -> Iterator[Action]:
        if "broker faults" in self.operations:
            yield Action("broker_kill")
            yield Action("broker_start")
        if "lost front ends" in self.operations:
            for proc in (PRODUCER, *self.consumers):
                yield Action("frontend_lost", victim=proc)
        for known in state.clients:
            for p in range(self.partitions):
                if known.loose >> p & 1:
                    yield Action("reset", known.proc, partition=p)

    def _transacting(self) -> Iterator[Group]:
        yield Group(self.footprint("txns", proc=PRODUCER), self._begins)
        for p in (*range(self.partitions), NOWHERE):
            part = [f"part {p}"] if p >= 0 else []
            yield Group(
                self.footprint("txns", "keys", *part, proc=PRODUCER),
                partial(self._ends, frozenset({p} - {NOWHERE})),
            )
        yield Group(
            self.footprint("txns", "keys", *(f"part {p}" for p in range(self.partitions)), proc=PRODUCER),
            partial(self._ends, None),
        )

    def _begins(self, state: State, sent: int) -> Iterator[Action]:
        if not state.txns:
            yield Action("begin", PRODUCER, txn=TXN)

    def _ends(self, parts: frozenset[int] | None, state: State, sent: int) -> Iterator[Action]:
        """The ends of a transaction in just these partitions; None: in several."""
        for txn in state.txns:
            touched = frozenset(p for p in (txn.part, txn.locks_in) if p is not None)
            if parts == touched or (parts is None and len(touched) > 1):
                for op in ("commit", "rollback", "number", *(["forget"] if txn.tainted else [])):
                    yield Action(op, PRODUCER, txn=TXN)

    def _flows(self) -> Iterator[Group]:
        for c in self.consumers:
            yield Group(self.footprint("flows", proc=c), _just(Action("bind", c, flow=f"f-{c}")))
        yield Group(self._everything(), self._departures)
        for p in range(self.partitions):
            yield Group(self.footprint("flows", f"part {p}"), _just(Action("handoff", partition=p)))

    def _departures(self, state: State, sent: int) -> Iterator[Action]:
        for c in self.consumers:
            yield Action("unbind", c, flow=f"f-{c}")
        yield Action("rebalance")


def _just(action: Action) -> Actions:
    return lambda state, sent: iter((action,))


def _all(several: list[Actions]) -> Actions:
    def actions(state: State, sent: int) -> Iterator[Action]:
        for one in several:
            yield from one(state, sent)

    return several[0] if len(several) == 1 else actions


def _message(id: str, key: str, rule: KeyRule) -> Message:
    if key == KEYLESS:
        return Message(id)
    if rule is KeyRule.USER_PROPERTY:
        return Message(id, properties=((SOLACE_KEY, key),))
    return Message(id, partition_key=key)
