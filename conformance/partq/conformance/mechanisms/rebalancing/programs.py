"""Cases. Flows and partitions: REB, and keys that show only by the flows they come through (KEY-8, ROUTE)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from partq.conformance.workload.cases.case import Case
from partq.conformance.workload.cases.steps import (
    complete,
    disconnect,
    pass_time,
    program,
    receive,
    restart,
    send,
)
from partq.conformance.workload.program import Program, Step
from partq.model.messages import JMS_KEY, SOLACE_KEY, Message
from partq.model.profiles import SECOND

_FLOWS: Final = ("solace",)

_DELAY: Final = 5 * SECOND
_HANDOFF: Final = 3 * SECOND
_LONG: Final = 30 * SECOND
"""A handoff time that nobody waits for."""

_REST: Final = _DELAY + 2 * _HANDOFF + SECOND
"""Long enough for every delay and handoff to end."""

_KEYS: Final = tuple(f"k{n}" for n in range(8))
"""Enough that with two partitions hardly all are in one."""

_EVERYTHING: Final = 50


def bind(*procs: str) -> list[Step]:
    """The clients become consumers, one after the other."""
    return [Step(proc, "bind", {}) for proc in procs]


def unbind(proc: str) -> Step:
    """A consumer unbinds."""
    return Step(proc, "unbind", {})


def choose(proc: str, partition: int) -> Step:
    """Ask for a partition when binding."""
    return Step(proc, "bind", {"partition": partition})


def keyed(id: str, key: str, property: str = SOLACE_KEY) -> Message:
    """A message with its key in a user property."""
    return Message(id, f"body of {id}", properties=((property, key),))


def send_round(name: str, keys: Sequence[str] = _KEYS, procs: Sequence[str] = ("p1",)) -> list[Step]:
    """One message of each key, the clients taking turns."""
    return [send(procs[n % len(procs)], keyed(f"{name}-{key}", key)) for n, key in enumerate(keys)]


def receive_all(*procs: str) -> list[Step]:
    """Each of the clients receives all it can get."""
    return [receive(proc, _EVERYTHING) for proc in procs]


def complete_all(*procs: str) -> list[Step]:
    """The clients complete all that they hold."""
    return [complete(proc, *range(_EVERYTHING)) for proc in procs]


def at_rest(*procs: str) -> list[Step]:
    """The clients bind, and the partitions come to rest with them."""
    return [*bind(*procs), pass_time(_REST)]


def _one_flow(profile: str) -> Program:
    steps = [*at_rest("c1"), *send_round("m"), *receive_all("c1"), *complete_all("c1")]
    return program(profile, *steps, choose("c2", 1), choose("c3", 0), pass_time(_REST))


def _shared(profile: str) -> Program:
    steps = [*at_rest("c1", "c2"), *send_round("a"), *send_round("b"), *receive_all("c1", "c2")]
    return program(profile, *steps, *complete_all("c1", "c2"), *bind("c3"), pass_time(_REST), partitions=4)


def _standby(profile: str) -> Program:
    surplus = [*bind("c3"), pass_time(_REST), *send_round("m"), *receive_all("c3", "c1", "c2")]
    return program(profile, *at_rest("c1", "c2"), *surplus, *complete_all("c1", "c2"), partitions=2)


def _takeover(profile: str, gone: Step) -> Program:
    before = [*at_rest("c1", "c2"), *bind("c3"), pass_time(_REST), *send_round("a"), receive("c1", 1)]
    after = [gone, *send_round("b"), *receive_all("c3", "c2"), *complete_all("c3", "c2"), pass_time(_REST)]
    return program(profile, *before, *after, partitions=2)


def _inherited(profile: str, gone: Step) -> Program:
    before = [*at_rest("c1", "c2"), *send_round("a"), receive("c1", 1), receive("c2", 1)]
    waiting = [gone, *send_round("b"), *receive_all("c2"), pass_time(_DELAY - 2 * SECOND), *receive_all("c2")]
    after = [pass_time(_REST), *receive_all("c2"), *complete_all("c2")]
    return program(profile, *before, *waiting, *after, partitions=2)


def _before_handoff() -> list[Step]:
    """A flow with unsettled messages of every key; then another flow, and the handoff has just begun."""
    return [*at_rest("c1"), *send_round("a"), *receive_all("c1"), *bind("c2"), pass_time(_DELAY + SECOND)]


def _handoff_settled(profile: str) -> Program:
    paused = [*send_round("b"), receive("c1", 1), receive("c2", 1), *complete_all("c1")]
    after = [*receive_all("c2", "c1"), *complete_all("c1", "c2"), pass_time(_DELAY + 2 * _LONG)]
    return program(profile, *_before_handoff(), *paused, *after, partitions=2, max_handoff=_LONG)


def _handoff_timed(profile: str) -> Program:
    paused = [*send_round("b"), receive("c1", 1), pass_time(_HANDOFF)]
    after = [*receive_all("c2", "c1"), *complete_all("c2"), pass_time(_REST)]
    return program(profile, *_before_handoff(), *paused, *after, partitions=2)


def _handoff_idle(profile: str) -> Program:
    """Handoffs with nothing to wait for, there and back."""
    there = [*at_rest("c1"), *send_round("a"), *receive_all("c1"), *complete_all("c1"), *at_rest("c2")]
    use = [*send_round("b"), *receive_all("c1", "c2"), *complete_all("c1", "c2")]
    back = [unbind("c2"), pass_time(_REST), *send_round("c"), *receive_all("c1"), *complete_all("c1")]
    return program(profile, *there, *use, *back, partitions=2)


def _order(profile: str) -> Program:
    one_by_one = [step for _ in range(6) for step in (receive("c1", 1), receive("c2", 2))]
    sends = [step for n in range(4) for step in send_round(f"m{n}", _KEYS[:3])]
    return program(profile, *at_rest("c1", "c2"), *sends, *one_by_one, *receive_all("c1", "c2"), partitions=2)


def _order_through_loss(profile: str) -> Program:
    sends = [step for n in range(3) for step in send_round(f"m{n}", _KEYS[:4])]
    lost = [receive("c1", 2), receive("c2", 2), disconnect("c1"), *send_round("late"), pass_time(_REST)]
    back = [*at_rest("c1"), *[receive(f"c{1 + n % 2}", 3) for n in range(8)]]
    return program(profile, *at_rest("c1", "c2"), *sends, *lost, *back, partitions=2)


def _key_properties(profile: str) -> Program:
    """The key in either property, alone or beside others that say something else."""
    sends = []
    for key in _KEYS[:4]:
        others = ((SOLACE_KEY, key), (JMS_KEY, f"not-{key}"))
        sends += [
            send("p1", keyed(f"{key}-plain", key)),
            send("p1", keyed(f"{key}-jms", key, JMS_KEY)),
            send("p1", Message(f"{key}-both", properties=others)),
            send("p1", Message(f"{key}-session", session_id=f"s-{key}", properties=others[:1])),
            send("p1", Message(f"{key}-partition", partition_key="other", properties=others[:1])),
            send("p1", keyed(f"{key}-batch1", key), keyed(f"{key}-batch2", key)),
            send("p1", keyed(f"{key}-jms-again", key, JMS_KEY), timeout=60 * SECOND),
        ]
    return program(profile, *at_rest("c1", "c2"), *sends, *receive_all("c1", "c2"), partitions=2)


def _key_for_life(profile: str) -> Program:
    """Equal keys before and after a lost flow, a rebalance, and a restart of the broker."""
    use = [*receive_all("c1", "c2"), *complete_all("c1", "c2")]
    first = [*at_rest("c1", "c2"), *send_round("a"), *send_round("b"), *use]
    second = [disconnect("c1"), pass_time(_REST), *at_rest("c1"), *send_round("c"), *use]
    third = [*restart(), unbind("c1"), unbind("c2"), *at_rest("c1", "c2"), *send_round("d"), *use]
    return program(profile, *first, *second, *third, partitions=2)


def _key_alone(profile: str) -> Program:
    """The same keys from different senders, alone and in batches."""
    sends = [*send_round("a", procs=("p1", "p2", "c1")), *send_round("b", procs=("p2", "c2", "p3"))]
    batches = [send("p3", keyed(f"x-{key}", key), keyed(f"y-{key}", key)) for key in _KEYS]
    return program(profile, *at_rest("c1", "c2"), *sends, *batches, *receive_all("c1", "c2"), partitions=2)


def _keyless(profile: str) -> Program:
    sends = [send(f"p{1 + n % 2}", Message(f"m{n}")) for n in range(_EVERYTHING - 2)]
    return program(profile, *at_rest("c1", "c2"), *sends, *receive_all("c1", "c2"), partitions=2)


def _crowd(profile: str) -> Program:
    """Six clients come, go, send and receive at once."""
    clients = [f"c{n}" for n in range(1, 7)]
    steps: list[Step] = []
    for turn in range(5):
        for n, client in enumerate(clients):
            leaves = disconnect(client) if n % 2 else unbind(client)
            steps += [
                *bind(client),
                send(client, keyed(f"{client}-{turn}", _KEYS[n % 3])),
                receive(client, 3),
            ]
            steps += [complete(client, 0), leaves] if (n + turn) % 3 == 0 else [complete(client, 0, 1)]
        steps.append(pass_time((SECOND, _DELAY, _REST)[turn % 3]))
    return program(profile, *steps, pass_time(_REST), concurrent=True, partitions=3)


CASES: Final = (
    Case(
        "one-flow-has-everything",
        ("REB-1", "REB-4", "REB-15"),
        _FLOWS,
        "The first flow gets all partitions after the delay; flows that ask for one are refused.",
        _one_flow,
    ),
    Case(
        "flows-share-partitions",
        ("REB-1", "REB-2", "REB-4", "REB-12"),
        _FLOWS,
        "Two flows, then three, share four partitions evenly, and each gets what is in its own.",
        _shared,
    ),
    Case(
        "surplus-flow-stands-by",
        ("REB-2", "REB-5"),
        _FLOWS,
        "A third flow on two partitions moves nothing and gets nothing.",
        _standby,
    ),
    Case(
        "standby-takes-over-from-lost",
        ("REB-2", "REB-3", "REB-6", "REB-13"),
        _FLOWS,
        "When an active flow loses its connection, the standby has its partition at once.",
        lambda profile: _takeover(profile, disconnect("c1")),
    ),
    Case(
        "standby-takes-over-from-unbound",
        ("REB-2", "REB-3", "REB-6", "REB-13"),
        _FLOWS,
        "The same when it unbinds.",
        lambda profile: _takeover(profile, unbind("c1")),
    ),
    Case(
        "lost-partition-waits",
        ("REB-7", "REB-11", "REB-13"),
        _FLOWS,
        "A lost flow's partition is kept for the delay, then the remaining flow has it.",
        lambda profile: _inherited(profile, disconnect("c1")),
    ),
    Case(
        "unbound-partition-waits",
        ("REB-7", "REB-11", "REB-13"),
        _FLOWS,
        "The same for a flow that unbinds.",
        lambda profile: _inherited(profile, unbind("c1")),
    ),
    Case(
        "handoff-waits-for-settlement",
        ("REB-12", "REB-13", "REB-14"),
        _FLOWS,
        "A partition with unsettled messages is paused until they are settled.",
        _handoff_settled,
    ),
    Case(
        "handoff-ends-by-time",
        ("REB-12", "REB-13", "REB-14"),
        _FLOWS,
        "Messages never settled are delivered to the new flow when the handoff time is over.",
        _handoff_timed,
    ),
    Case(
        "handoff-without-open-messages",
        ("REB-1", "REB-2", "REB-11"),
        _FLOWS,
        "Partitions change hands, there and back, with nothing to wait for.",
        _handoff_idle,
    ),
    Case(
        "order-through-flows",
        ("REB-3",),
        _FLOWS,
        "Messages of three keys, received one by one and two by two through two flows.",
        _order,
    ),
    Case(
        "order-through-a-lost-flow",
        ("REB-3", "REB-7"),
        _FLOWS,
        "A flow is lost with messages in hand and comes back later; what is new stays in order.",
        _order_through_loss,
    ),
    Case(
        "key-in-either-property",
        ("KEY-8",),
        _FLOWS,
        "QUEUE_PARTITION_KEY or JMSXGroupID decide; other keys beside them do not.",
        _key_properties,
    ),
    Case(
        "key-keeps-its-partition",
        ("ROUTE-1",),
        _FLOWS,
        "Equal keys are in one partition, before and after a lost flow, a rebalance and a restart.",
        _key_for_life,
    ),
    Case(
        "key-alone-decides",
        ("ROUTE-2",),
        _FLOWS,
        "Equal keys from different senders, alone and in batches.",
        _key_alone,
    ),
    Case(
        "keyless-through-flows",
        ("ROUTE-4",),
        _FLOWS,
        "Messages without a key are spread over the partitions.",
        _keyless,
    ),
    Case(
        "flows-come-and-go",
        ("REB-1", "REB-15"),
        _FLOWS,
        "Six clients bind, send, receive, settle and leave at once on three partitions.",
        _crowd,
    ),
)
