"""How long a live run waits: for what may still come, and no longer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from partq.conformance.adapters import Broker, Client
from partq.conformance.execution.adapter_calls import CallResult
from partq.conformance.execution.ledger import Ledger
from partq.conformance.execution.live import BRIEF, Limits
from partq.conformance.execution.runner import run
from partq.conformance.history import History
from partq.conformance.workload.program import Program, Step
from partq.model.messages import Delivery, Message
from partq.model.operations import DRAINER, ENV
from partq.model.profiles import SECOND, Entity, profile


class Shelf(Client):
    """Gives what lies on it, once."""

    def __init__(self, stored: list[str]) -> None:
        self.stored = stored

    def send(self, message: Message, *, txn: str | None = None, timeout: float = 60.0) -> None:
        self.stored.append(message.id)

    def receive(
        self, max_messages: int, *, mode: str = "peek_lock", timeout: float = 1.0
    ) -> Sequence[Delivery]:
        taken, self.stored[:] = self.stored[:], []
        return [Delivery(name, lock=f"lock-{name}") for name in taken]

    def complete(self, locks: Sequence[str], *, txn: str | None = None) -> None:
        """Nothing is left to be done."""


class Shelves(Broker):
    client_class = Shelf

    def open(self, entity: Entity) -> None:
        self.stored: list[str] = []

    def connect(self, proc: str) -> Client:
        return Shelf(self.stored)

    def inject(self, fault: str, args: dict[str, Any]) -> dict[str, Any]:
        return {"partition": args["index"]}


def send(proc: str, name: str) -> Step:
    return Step(proc, "send", {"messages": (Message(name),)})


def receive(proc: str) -> Step:
    return Step(proc, "receive", {"max": 10})


def advance(by: int) -> Step:
    return Step(ENV, "advance", {"by": by})


FLAT = replace(profile("azure-flat").default_entity, lock_duration=SECOND // 4)
WAIT = SECOND // 10


def ran(*steps: Step, sequential: bool = True) -> History:
    program = Program("azure-flat", steps, FLAT, sequential=sequential)
    return run(Shelves(), program, limits=Limits(wait=WAIT / SECOND))


def waits(history: History, proc: str) -> list[int]:
    return [r.args["timeout"] for r in history.records if (r.proc, r.op) == (proc, "receive")]


def advances(history: History) -> list[int]:
    return [r.args["by"] for r in history.records if (r.proc, r.op) == (ENV, "advance")]


def test_a_receive_waits_while_an_accepted_message_may_come() -> None:
    steps = (receive("a"), send("a", "m"), receive("a"), Step("a", "complete"), receive("a"))
    assert waits(ran(*steps), "a") == [BRIEF, WAIT, BRIEF]
    assert set(waits(ran(*steps), DRAINER)) == {BRIEF}
    assert waits(ran(send("a", "m"), receive("a"), receive("a")), "a") == [WAIT, WAIT], "it is not settled"
    assert waits(ran(send("a", "m")), DRAINER)[0] == WAIT
    assert waits(ran(receive("a"), receive("b"), sequential=False), "a") == [BRIEF], "nobody sends"
    assert waits(ran(receive("a"), advance(0), send("b", "m"), sequential=False), "a") == [WAIT], "others may"


def test_the_drain_waits_for_locks_that_were_given_and_no_longer() -> None:
    assert advances(ran(send("a", "m"))) == []
    (given,) = advances(ran(send("a", "m"), receive("a"), Step("a", "complete")))
    assert 0 < given <= FLAT.lock_duration, "what comes again when its lock ends is still seen"
    steps = (send("a", "m"), receive("a"), Step(ENV, "advance", {"by": SECOND // 2}))
    assert advances(ran(*steps)) == [SECOND // 2], "all locks had ended"


def test_time_passes_while_something_is_left_that_it_may_change() -> None:
    assert advances(ran(advance(WAIT)))[:1] == [BRIEF]
    assert advances(ran(send("a", "m"), advance(WAIT)))[:1] == [WAIT], "a message"
    given = send("a", "m"), receive("a"), Step("a", "complete")
    assert advances(ran(*given, advance(WAIT)))[:1] == [WAIT], "the end of a lock"
    assert advances(ran(*given, advance(SECOND // 2), advance(WAIT)))[:2] == [SECOND // 2, BRIEF]
    down = Step(ENV, "partition_down", {"index": 0})
    assert advances(ran(down, advance(WAIT)))[:1] == [WAIT], "an outage"


class Hoard(Shelf):
    """Gives all of it again, every second time, whatever was settled."""

    def receive(
        self, max_messages: int, *, mode: str = "peek_lock", timeout: float = 1.0
    ) -> Sequence[Delivery]:
        asked = self.stored.count("asked")
        self.stored.append("asked")
        return [Delivery(name, lock=f"lock-{asked}") for name in self.stored[:1] if asked % 2 == 0]


class Hoards(Shelves):
    def connect(self, proc: str) -> Client:
        return Hoard(self.stored)

    def is_empty(self) -> bool:
        return False


def test_the_drain_ends_soon_where_the_same_comes_again_with_each_lock() -> None:
    program = Program("azure-flat", (send("a", "m"),), replace(FLAT, lock_duration=SECOND // 100))
    history = run(Hoards(), program, limits=Limits(wait=WAIT / SECOND))
    assert len(advances(history)) == 2
    assert not any(record.op == "drained" for record in history.records)


class Mortal(Shelves):
    """Knows nothing while it is down."""

    down = False

    def inject(self, fault: str, args: dict[str, Any]) -> dict[str, Any]:
        self.down = fault == "broker_kill"
        return {}

    def is_empty(self) -> bool:
        if self.down:
            raise ConnectionError("it is down")
        return not self.stored


def test_a_broker_is_started_before_it_is_asked_whether_it_is_empty() -> None:
    problems: list[str] = []
    program = Program("azure-flat", (send("a", "m"), Step(ENV, "broker_kill")), FLAT, sequential=True)
    history = run(Mortal(), program, limits=Limits(wait=WAIT / SECOND), on_problem=problems.append)
    assert not problems
    assert [r.op for r in history.records if r.proc == ENV] == ["broker_kill", "broker_start", "drained"]
    assert waits(history, DRAINER) == [WAIT // 10, WAIT // 10], "it says when it is empty"


SENT = {"messages": (Message("m"),)}
LOCKED = CallResult(messages=(Delivery("m", lock="l"),))


@pytest.mark.parametrize(
    ("notes", "left"),
    [
        ([], False),
        ([("send", SENT, CallResult())], True),
        ([("send", SENT, CallResult("unknown", "timeout"))], True),
        ([("send", SENT, CallResult("error", "quota"))], False),
        ([("send", SENT, CallResult()), ("receive", {"mode": "receive_and_delete"}, LOCKED)], False),
        ([("send", SENT, CallResult()), ("receive", {}, LOCKED)], True),
        (
            [
                ("send", SENT, CallResult()),
                ("receive", {}, LOCKED),
                ("complete", {"locks": ("l",)}, CallResult()),
            ],
            False,
        ),
        (
            [
                ("send", SENT, CallResult()),
                ("receive", {}, LOCKED),
                ("complete", {"locks": ("l",), "txn": "t"}, CallResult()),
            ],
            True,
        ),
        (
            [
                ("send", SENT, CallResult()),
                ("receive", {}, LOCKED),
                ("complete", {"locks": ("l",)}, CallResult("unknown", "hang")),
            ],
            True,
        ),
        (
            [
                ("send", SENT, CallResult()),
                ("receive", {}, LOCKED),
                ("abandon", {"locks": ("l",)}, CallResult()),
            ],
            True,
        ),
    ],
)
def test_a_message_is_gone_when_it_certainly_is(
    notes: list[tuple[str, dict[str, Any], CallResult]], left: bool
) -> None:
    ledger = Ledger()
    for op, args, result in notes:
        ledger.note(op, args, result, 0)
    assert ledger.nothing_left is not left
