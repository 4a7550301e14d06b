"""Programs whose clients lose their connections, and come back to the partitions that they had (REB-8)."""

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


def _resumed(draft: Draft) -> None:
    """A client with messages unsettled loses its connection, and comes back in time, or too late."""
    entity, client = draft.entity, draft.client()
    draft.add(client, "bind")
    if draft.source.below(4):
        rest(draft)
    send_some(draft, 1, 3)
    draft.receive(client, 5)
    draft.add(client, "disconnect")
    if draft.chance(3):
        draft.add(draft.client(), ("bind", "disconnect", "rebind")[draft.source.below(3)])
    if draft.chance(2):
        draft.wait(entity.rebalance_delay // (1 + draft.source.below(3)) + SECOND // 2)
    draft.add(client, "rebind")
    for one in (client, draft.client()):
        draft.receive(one, 5)
    if draft.chance(2):
        draft.wait(entity.rebalance_delay)


PHRASES: Final[Phrases] = {"resumed": _resumed}

THEME: Final = Theme(
    "resuming",
    rule="REB-8",
    weights=weighed(
        "bind 10, disconnect 2, send 20, receive 16, complete 12, abandon 2, advance 4, rest 4, resumed 26"
    ),
    needs="rebind",
    one_in=12,
)

CASES: Final = Cases()

_REST: Final = 12 * SECOND
"""Longer than delay and handoffs take."""


_sends: Final = partial(do.keyed_sends, count=6)


def _lost_and_back(wait: int, *between: Step) -> Steps:
    bound = [Step(proc, "bind", {}) for proc in ("c1", "c2")]
    yield from [*bound, do.pass_time(_REST), *_sends("a"), do.receive("c1", 20), do.disconnect("c1")]
    yield from [*_sends("b"), *between, do.pass_time(wait), Step("c1", "rebind", {}), do.receive("c1", 20)]
    yield from [do.receive("c2", 20), do.complete("c1", *range(20)), do.pass_time(_REST), *_sends("c")]
    yield from [do.receive("c1", 20), do.receive("c2", 20)]


@CASES.case("back-before-the-delay-ends", ("solace",), "REB-8", partitions=4)
def _back_in_time() -> Steps:
    """A client that comes back in time has its partitions at once, and nothing else moves."""
    return _lost_and_back(2 * SECOND)


@CASES.case("two-back-before-the-delay-ends", ("solace",), "REB-8", partitions=4)
def _both_back() -> Steps:
    """Two clients lose their connections, and one of them comes back in time."""
    return _lost_and_back(SECOND, do.disconnect("c2"), Step("c3", "bind", {}))


@CASES.case("back-after-the-delay", ("solace",), "RCV-2", partitions=4)
def _back_too_late() -> Steps:
    """A client that comes back too late is given nothing at once, and what it had not settled comes again."""
    return _lost_and_back(_REST)
