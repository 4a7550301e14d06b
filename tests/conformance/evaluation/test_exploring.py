"""A broker beside the specification, one step at a time, by an explorer that allows what it is told to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from partq.conformance.adapters import Broker, SimulatedBroker, Unreachable
from partq.conformance.adapters.mutants import open_mutant
from partq.conformance.adapters.reference import LiveReference, Reference
from partq.conformance.evaluation.exploring import Session, Side, setting_of
from partq.conformance.execution.runner import run
from partq.conformance.history import Header
from partq.conformance.workload.cases import steps
from partq.conformance.workload.menu import Choice
from partq.conformance.workload.program import Program, Step
from partq.model.profiles import Entity
from partq.spec.exploration.module import NEEDS, label
from partq.spec.exploration.session import Verdict
from partq.spec.validation import NotFollowed

MESSAGES = [steps.message("m1", "a"), steps.message("m2", "b")]
PROGRAM = Program("azure-premium", (), Entity(partitions=2, seq_start=1), sequential=True, drain=False)


class WholePrograms(SimulatedBroker):
    """A broker with a driver of its own."""


class Allows:
    """An explorer that allows everything, but for these actions."""

    def __init__(self, *without: str) -> None:
        self.without = {label(name) for name in without}
        self.labels = [label(name) for name in NEEDS]

    def __call__(self, method: str, parameters: Mapping[str, Any]) -> Mapping[str, Any]:
        if method == "loadSpec":
            every = [{"index": n, "labels": [name]} for n, name in enumerate(self.labels)]
            return {"sessionId": "1", "specParameters": {"nextTransitions": every}}
        refused = method == "assumeTransition" and self.labels[parameters["transitionId"]] in self.without
        return {"snapshotId": 1, "status": "DISABLED" if refused else "ENABLED"}


def listed(*listed: Step) -> Callable[[Sequence[Choice]], Step | None]:
    left = iter(listed)
    return lambda choices: next(left, None)


def explored(
    broker: Broker, *chosen: Step, call: Allows | None = None, program: Program = PROGRAM
) -> tuple[Session, list[str]]:
    """The session, and what was said of each step."""
    told: list[str] = []

    def tell(side: Side) -> None:
        told.append(f"{side.record.op}: {' '.join(side.followed.actions) or side.followed.verdict}")

    session = Session(call or Allows(), listed(*chosen), ("c1", "c2"), MESSAGES, told=tell)
    broker.profile = program.profile
    run(broker, program, guide=session)
    return session, told


@pytest.mark.parametrize("broker", [Reference, LiveReference])
def test_each_step_is_followed_when_it_is_done(broker: type[Broker]) -> None:
    session, told = explored(
        broker(), steps.send("c1", MESSAGES[0]), steps.peek("c2", 1), steps.receive("c2")
    )
    assert told == ["send: Send", "peek: Peek", "receive: Receive"]
    assert (session.verdict, session.reason) == (Verdict.EXPLAINED, "")


def test_nothing_is_done_after_a_divergence() -> None:
    chosen = steps.receive("c2"), steps.send("c1", MESSAGES[0])
    session, told = explored(Reference(), *chosen, call=Allows("ReceiveNothing"))
    assert told == ["receive: diverges"]
    assert session.verdict is Verdict.DIVERGES


def test_what_is_not_followed_is_not_decided() -> None:
    session, told = explored(Reference(), steps.receive("c1"), steps.receive("c3"))
    assert told == ["receive: ReceiveNothing", "receive: undecided"]
    assert session.reason == "not followed: c3 is not among the clients of the exploration"


def test_the_choices_are_what_can_be_done_then() -> None:
    offered: list[list[str]] = []

    def choose(choices: Sequence[Choice]) -> Step | None:
        offered.append([choice.text for choice in choices])
        return choices[0].step if len(offered) < 3 else None

    session = Session(Allows(), choose, ("c1", "c2"), MESSAGES)
    run(Reference(), PROGRAM, guide=session)
    assert [texts[0] for texts in offered] == ["c1 send m1 key=a", "c1 send m2 key=b", "c1 begin"]


def test_time_that_passes_is_no_step() -> None:
    _, told = explored(Reference(), steps.pass_time(), steps.receive("c1"))
    assert told == ["receive: ReceiveNothing"]


def test_the_setting_is_what_the_broker_opened() -> None:
    header = Header("azure-flat", {"queue": Entity(seq_start=5, max_delivery_count=3)}, lacks=("peek",))
    setting = setting_of(header, ("c1",), MESSAGES)
    assert (setting.partitions, setting.maximum, setting.first, setting.bits) == (1, 3, 5, 64)
    assert setting.offered == {"stale", "delete", "abandon", "transaction"}
    assert [message.key for message in setting.messages] == [None, None]


def test_flows_are_not_explored() -> None:
    with pytest.raises(NotFollowed, match="flows"):
        explored(Reference(), program=Program("solace", (), Entity(partitions=2), sequential=True))


def test_something_is_sent() -> None:
    with pytest.raises(NotFollowed, match="nothing is sent"):
        setting_of(Header("azure-flat", {"queue": Entity()}), ("c1",), [])


def test_a_broker_that_runs_whole_programs_is_not_guided() -> None:
    with pytest.raises(Unreachable, match="WholePrograms runs whole programs, never one step at a time"):
        explored(WholePrograms())


def test_a_mutant_is_guided_as_the_reference_is() -> None:
    _, told = explored(open_mutant("newest-first"), steps.receive("c1"))
    assert told == ["receive: ReceiveNothing"]
