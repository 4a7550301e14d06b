"""Programs in which the number of partitions changes (REB-17)."""

from __future__ import annotations

from functools import partial
from typing import Final

from partq.conformance.workload.cases import steps as do
from partq.conformance.workload.cases.case import Cases, Steps
from partq.conformance.workload.flow_phrases import rest
from partq.conformance.workload.phrases import Draft, Phrases, send_some
from partq.conformance.workload.program import Step
from partq.conformance.workload.weights import Theme, weighed
from partq.model.profiles import SECOND


def _scaled(draft: Draft) -> None:
    """Flows have messages unsettled, the number of partitions changes, and more is sent and received."""
    entity, clients = draft.entity, [draft.client(), draft.client()]
    for client in clients:
        draft.add(client, "bind")
    if draft.source.below(4):
        rest(draft)
    send_some(draft, 2, 4)
    for client in clients:
        draft.receive(client, 1 + draft.source.below(5))
    send_some(draft, 0, 3)
    most = entity.partitions * (1 + draft.source.below(2))
    draft.add(draft.client(), "update", settings={"partitions": 1 + draft.source.below(most)})
    send_some(draft, 1, 3)
    if draft.chance(2):
        draft.add(clients[0], "abandon" if draft.chance(4) else "complete", pick=list(range(5)))
    if draft.chance(3):
        draft.add(clients[0], ("unbind", "disconnect")[draft.source.below(2)])
    if draft.chance(2):
        draft.wait(entity.rebalance_delay // (1 + draft.source.below(3)) + SECOND // 2)
    for client in draft.clients:
        draft.receive(client, 5)
    if draft.chance(2):
        rest(draft)


PHRASES: Final[Phrases] = {"scaled": _scaled}

THEME: Final = Theme(
    "scaling",
    rule="REB-17",
    weights=weighed(
        "bind 10, unbind 3, disconnect 2, send 22, receive 18, complete 12, abandon 2, advance 4, rest 4, "
        "scaled 8, kill 1"
    ),
    needs="update",
    one_in=24,
)

CASES: Final = Cases()

_REST: Final = 12 * SECOND
"""Longer than delay and handoffs take."""

_ALL: Final = range(40)


_sends: Final = partial(do.keyed_sends, count=8)


def _scale(count: int) -> Step:
    return Step("p1", "update", {"settings": {"partitions": count}})


def _scaling(*steps: Step) -> Steps:
    bound = [Step(proc, "bind", {}) for proc in ("c1", "c2")]
    received = [do.receive("c1", 40), do.receive("c2", 40)]
    yield from [*bound, do.pass_time(_REST), *_sends("a"), do.receive("c1", 2)]
    yield from [*steps, do.pass_time(_REST), *received, do.complete("c1", *_ALL), do.complete("c2", *_ALL)]
    yield from [*_sends("b"), *_sends("c"), *received]


@CASES.case("fewer-partitions", ("solace",), "REB-17", partitions=4)
def _fewer() -> Steps:
    """The highest partitions are deleted with what is in them, and keys are mapped to those that are left."""
    return _scaling(_scale(2))


@CASES.case("more-partitions", ("solace",), "REB-17", partitions=2)
def _more() -> Steps:
    """Partitions are added, and get flows after a rebalance."""
    return _scaling(_scale(5))


@CASES.case("fewer-partitions-than-flows", ("solace",), "REB-17", partitions=3)
def _fewer_than_flows() -> Steps:
    """Of more flows than partitions one stands by after the rebalance, and takes over when the other goes."""
    received = [
        do.receive("c1", 40),
        do.receive("c2", 40),
        do.complete("c1", *_ALL),
        do.complete("c2", *_ALL),
    ]
    yield from [Step("c1", "bind", {}), Step("c2", "bind", {}), do.pass_time(_REST), *_sends("a"), *received]
    yield from [_scale(1), do.pass_time(_REST), *_sends("b"), *received, do.disconnect("c1"), *_sends("c")]
    yield from received
