"""Cases. Flows and partitions: REB, and keys that show only by the flows they come through (KEY-8, ROUTE)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from partq.conformance.workload.cases import steps as do
from partq.conformance.workload.cases.case import Cases, Steps
from partq.conformance.workload.program import Step
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


def choose(proc: str, partition: int) -> Step:
    """Ask for a partition when binding."""
    return Step(proc, "bind", {"partition": partition})


def keyed(id: str, key: str, property: str = SOLACE_KEY) -> Message:
    """A message with its key in a user property."""
    return Message(id, f"body of {id}", properties=((property, key),))


def send_round(name: str, keys: Sequence[str] = _KEYS, procs: Sequence[str] = ("p1",)) -> list[Step]:
    """One message of each key, the clients taking turns."""
    return [do.send(procs[n % len(procs)], keyed(f"{name}-{key}", key)) for n, key in enumerate(keys)]


def receive_all(*procs: str) -> list[Step]:
    """Each of the clients receives all it can get."""
    return [do.receive(proc, _EVERYTHING) for proc in procs]


def complete_all(*procs: str) -> list[Step]:
    """The clients complete all that they hold."""
    return [do.complete(proc, *range(_EVERYTHING)) for proc in procs]


def at_rest(*procs: str) -> list[Step]:
    """The clients bind, and the partitions come to rest with them."""
    return [*bind(*procs), do.pass_time(_REST)]


CASES: Final = Cases()


@CASES.case("one-flow-has-everything", _FLOWS, "REB-1", "REB-4", "REB-15")
def _one_flow() -> Steps:
    """The first flow gets all partitions after the delay; flows that ask for one are refused."""
    steps = [*at_rest("c1"), *send_round("m"), *receive_all("c1"), *complete_all("c1")]
    return [*steps, choose("c2", 1), choose("c3", 0), do.pass_time(_REST)]


@CASES.case("flows-share-partitions", _FLOWS, "REB-1", "REB-2", "REB-4", "REB-12", partitions=4)
def _shared() -> Steps:
    """Two flows, then three, share four partitions evenly, and each gets what is in its own."""
    steps = [*at_rest("c1", "c2"), *send_round("a"), *send_round("b"), *receive_all("c1", "c2")]
    return [*steps, *complete_all("c1", "c2"), *bind("c3"), do.pass_time(_REST)]


@CASES.case("surplus-flow-stands-by", _FLOWS, "REB-2", "REB-5", partitions=2)
def _standby() -> Steps:
    """A third flow on two partitions moves nothing and gets nothing."""
    surplus = [*bind("c3"), do.pass_time(_REST), *send_round("m"), *receive_all("c3", "c1", "c2")]
    return [*at_rest("c1", "c2"), *surplus, *complete_all("c1", "c2")]


def _takeover(gone: Step) -> Steps:
    before = [*at_rest("c1", "c2"), *bind("c3"), do.pass_time(_REST), *send_round("a"), do.receive("c1", 1)]
    after = [gone, *send_round("b"), *receive_all("c3", "c2"), *complete_all("c3", "c2"), do.pass_time(_REST)]
    return [*before, *after]


@CASES.case("standby-takes-over-from-lost", _FLOWS, "REB-2", "REB-3", "REB-6", "REB-13", partitions=2)
def _standby_of_lost() -> Steps:
    """When an active flow loses its connection, the standby has its partition at once."""
    return _takeover(do.disconnect("c1"))


@CASES.case("standby-takes-over-from-unbound", _FLOWS, "REB-2", "REB-3", "REB-6", "REB-13", partitions=2)
def _standby_of_unbound() -> Steps:
    """The same when it unbinds."""
    return _takeover(do.unbind("c1"))


def _inherited(gone: Step) -> Steps:
    before = [*at_rest("c1", "c2"), *send_round("a"), do.receive("c1", 1), do.receive("c2", 1)]
    waiting = [
        gone,
        *send_round("b"),
        *receive_all("c2"),
        do.pass_time(_DELAY - 2 * SECOND),
        *receive_all("c2"),
    ]
    after = [do.pass_time(_REST), *receive_all("c2"), *complete_all("c2")]
    return [*before, *waiting, *after]


@CASES.case("lost-partition-waits", _FLOWS, "REB-7", "REB-11", "REB-13", partitions=2)
def _lost_waits() -> Steps:
    """A lost flow's partition is kept for the delay, then the remaining flow has it."""
    return _inherited(do.disconnect("c1"))


@CASES.case("unbound-partition-waits", _FLOWS, "REB-7", "REB-11", "REB-13", partitions=2)
def _unbound_waits() -> Steps:
    """The same for a flow that unbinds."""
    return _inherited(do.unbind("c1"))


def _back_after(away: int) -> Steps:
    """A client loses its flow, and binds another one that long after; then both flows are used."""
    back = [do.disconnect("c1"), do.pass_time(away), *bind("c1"), do.pass_time(_REST)]
    return [
        *at_rest("c1", "c2"),
        *back,
        *send_round("a"),
        *receive_all("c1", "c2"),
        *complete_all("c1", "c2"),
    ]


@CASES.case("client-comes-back-in-time", _FLOWS, "REB-9", partitions=2)
def _back_in_time() -> Steps:
    """A client whose flow was lost binds another one before the delay ends: both flows have their share."""
    return _back_after(SECOND)


@CASES.case("client-comes-back-late", _FLOWS, "REB-10", partitions=2)
def _back_late() -> Steps:
    """A client whose partitions went to others binds again, and a second rebalance gives it its share."""
    return _back_after(_REST)


def _before_handoff() -> list[Step]:
    """A flow with unsettled messages of every key; then another flow, and the handoff has just begun."""
    return [*at_rest("c1"), *send_round("a"), *receive_all("c1"), *bind("c2"), do.pass_time(_DELAY + SECOND)]


@CASES.case(
    "handoff-waits-for-settlement", _FLOWS, "REB-12", "REB-13", "REB-14", partitions=2, max_handoff=_LONG
)
def _handoff_settled() -> Steps:
    """A partition with unsettled messages is paused until they are settled."""
    paused = [*send_round("b"), do.receive("c1", 1), do.receive("c2", 1), *complete_all("c1")]
    after = [*receive_all("c2", "c1"), *complete_all("c1", "c2"), do.pass_time(_DELAY + 2 * _LONG)]
    return [*_before_handoff(), *paused, *after]


@CASES.case("handoff-ends-by-time", _FLOWS, "REB-12", "REB-13", "REB-14", partitions=2)
def _handoff_timed() -> Steps:
    """Messages never settled are delivered to the new flow when the handoff time is over."""
    paused = [*send_round("b"), do.receive("c1", 1), do.pass_time(_HANDOFF)]
    after = [*receive_all("c2", "c1"), *complete_all("c2"), do.pass_time(_REST)]
    return [*_before_handoff(), *paused, *after]


@CASES.case("handoff-without-open-messages", _FLOWS, "REB-1", "REB-2", "REB-11", partitions=2)
def _handoff_idle() -> Steps:
    """Partitions change hands, there and back, with nothing to wait for."""
    there = [*at_rest("c1"), *send_round("a"), *receive_all("c1"), *complete_all("c1"), *at_rest("c2")]
    use = [*send_round("b"), *receive_all("c1", "c2"), *complete_all("c1", "c2")]
    back = [do.unbind("c2"), do.pass_time(_REST), *send_round("c"), *receive_all("c1"), *complete_all("c1")]
    return [*there, *use, *back]


@CASES.case("order-through-flows", _FLOWS, "REB-3", partitions=2)
def _order() -> Steps:
    """Messages of three keys, received one by one and two by two through two flows."""
    one_by_one = [step for _ in range(6) for step in (do.receive("c1", 1), do.receive("c2", 2))]
    sends = [step for n in range(4) for step in send_round(f"m{n}", _KEYS[:3])]
    return [*at_rest("c1", "c2"), *sends, *one_by_one, *receive_all("c1", "c2")]


@CASES.case("order-through-a-lost-flow", _FLOWS, "REB-3", "REB-7", partitions=2)
def _order_through_loss() -> Steps:
    """A flow is lost with messages in hand and comes back later; what is new stays in order."""
    sends = [step for n in range(3) for step in send_round(f"m{n}", _KEYS[:4])]
    lost = [
        do.receive("c1", 2),
        do.receive("c2", 2),
        do.disconnect("c1"),
        *send_round("late"),
        do.pass_time(_REST),
    ]
    back = [*at_rest("c1"), *[do.receive(f"c{1 + n % 2}", 3) for n in range(8)]]
    return [*at_rest("c1", "c2"), *sends, *lost, *back]


@CASES.case("key-in-either-property", _FLOWS, "KEY-8", partitions=2)
def _key_properties() -> Steps:
    """QUEUE_PARTITION_KEY or JMSXGroupID decide; other keys beside them do not."""
    sends = []
    for key in _KEYS[:4]:
        others = ((SOLACE_KEY, key), (JMS_KEY, f"not-{key}"))
        sends += [
            do.send("p1", keyed(f"{key}-plain", key)),
            do.send("p1", keyed(f"{key}-jms", key, JMS_KEY)),
            do.send("p1", Message(f"{key}-both", properties=others)),
            do.send("p1", Message(f"{key}-session", session_id=f"s-{key}", properties=others[:1])),
            do.send("p1", Message(f"{key}-partition", partition_key="other", properties=others[:1])),
            do.send("p1", keyed(f"{key}-batch1", key), keyed(f"{key}-batch2", key)),
            do.send("p1", keyed(f"{key}-jms-again", key, JMS_KEY), timeout=60 * SECOND),
        ]
    return [*at_rest("c1", "c2"), *sends, *receive_all("c1", "c2")]


@CASES.case("key-keeps-its-partition", _FLOWS, "ROUTE-1", partitions=2)
def _key_for_life() -> Steps:
    """Equal keys are in one partition, before and after a lost flow, a rebalance and a restart."""
    use = [*receive_all("c1", "c2"), *complete_all("c1", "c2")]
    first = [*at_rest("c1", "c2"), *send_round("a"), *send_round("b"), *use]
    second = [do.disconnect("c1"), do.pass_time(_REST), *at_rest("c1"), *send_round("c"), *use]
    third = [*do.restart(), do.unbind("c1"), do.unbind("c2"), *at_rest("c1", "c2"), *send_round("d"), *use]
    return [*first, *second, *third]


@CASES.case("key-alone-decides", _FLOWS, "ROUTE-2", partitions=2)
def _key_alone() -> Steps:
    """Equal keys from different senders, alone and in batches."""
    sends = [*send_round("a", procs=("p1", "p2", "c1")), *send_round("b", procs=("p2", "c2", "p3"))]
    batches = [do.send("p3", keyed(f"x-{key}", key), keyed(f"y-{key}", key)) for key in _KEYS]
    return [*at_rest("c1", "c2"), *sends, *batches, *receive_all("c1", "c2")]


@CASES.case("keyless-through-flows", _FLOWS, "ROUTE-4", partitions=2)
def _keyless() -> Steps:
    """Messages without a key are spread over the partitions."""
    sends = [do.send(f"p{1 + n % 2}", Message(f"m{n}")) for n in range(_EVERYTHING - 2)]
    return [*at_rest("c1", "c2"), *sends, *receive_all("c1", "c2")]


@CASES.case("flows-come-and-go", _FLOWS, "REB-1", "REB-15", concurrent=True, partitions=3)
def _crowd() -> Steps:
    """Six clients bind, send, receive, settle and leave at once on three partitions."""
    clients = [f"c{n}" for n in range(1, 7)]
    for turn in range(5):
        for n, client in enumerate(clients):
            leaves = do.disconnect(client) if n % 2 else do.unbind(client)
            yield from [
                *bind(client),
                do.send(client, keyed(f"{client}-{turn}", _KEYS[n % 3])),
                do.receive(client, 3),
            ]
            yield from (
                [do.complete(client, 0), leaves] if (n + turn) % 3 == 0 else [do.complete(client, 0, 1)]
            )
        yield do.pass_time((SECOND, _DELAY, _REST)[turn % 3])
    yield do.pass_time(_REST)
