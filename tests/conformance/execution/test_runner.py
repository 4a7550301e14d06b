"""The runner on adapters that work, raise, hang, lie and die. Nothing here sleeps: all wait for events."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from partq.conformance.adapters import (
    Broker,
    Client,
    Indefinite,
    Rejected,
    SimulatedBroker,
    Unreachable,
    open_broker,
)
from partq.conformance.execution import watched
from partq.conformance.execution.cancellation import Stop, Stopped
from partq.conformance.execution.client_thread import ClientThread
from partq.conformance.execution.runner import Limits, run
from partq.conformance.history import Header, History, Record
from partq.conformance.workload.program import Program, Step
from partq.model.messages import Delivery, Message
from partq.model.operations import ENV, ERRORS
from partq.model.profiles import SECOND, Entity

PATIENT = 20.0
"""Seconds after which a test that waits for an event has failed."""

FAST = Limits(hang=PATIENT, fault=PATIENT, wait=0.01, advance=0.01, drain=0.05)
ENTITY = Entity(partitions=2, lock_duration=SECOND // 100)


def send(proc: str, name: str, **more: Any) -> Step:
    return Step(proc, "send", {"messages": (Message(name),), **more})


def receive(proc: str, most: int = 10, **more: Any) -> Step:
    return Step(proc, "receive", {"max": most, **more})


def program(*steps: Step, sequential: bool = True, drain: bool = False) -> Program:
    return Program("azure-premium", steps, ENTITY, sequential=sequential, drain=drain)


class Memory(Broker):
    """A queue in memory whose client does what the test says, and otherwise works."""

    client_class = Client

    def __init__(self, **behaviour: Callable[..., Any]) -> None:
        self.behaviour = behaviour
        self.stored: list[Message] = []
        self.calls: list[tuple[str, str]] = []
        self.closed: list[str] = []

    def act(self, what: str, default: Callable[[], Any], *args: Any) -> Any:
        special = self.behaviour.get(what)
        return default() if special is None else special(*args)

    def open(self, entity: Entity) -> Entity | None:
        self.stored.clear()
        answer: Entity | None = self.act("open", lambda: None)
        return answer

    def connect(self, proc: str) -> Client:
        client: Client = self.act("connect", lambda: MemoryClient(self, proc), proc)
        return client

    def inject(self, fault: str, args: dict[str, Any]) -> dict[str, Any]:
        self.calls.append((ENV, fault))
        answer: dict[str, Any] = self.act("inject", lambda: self.named(args), fault, args)
        return answer

    def named(self, args: dict[str, Any]) -> dict[str, Any]:
        return {"partition": 700 + args["index"]} if "index" in args else {}

    def is_empty(self) -> bool | None:
        answer: bool | None = self.act("is_empty", lambda: None)
        return answer

    def close(self) -> None:
        self.closed.append("broker")
        self.act("close", lambda: None)

    def lacks(self) -> frozenset[str]:
        return frozenset({"peek"})


class MemoryClient(Client):
    def __init__(self, broker: Memory, proc: str) -> None:
        self.broker = broker
        self.proc = proc

    def send(self, message: Message, *, txn: str | None = None, timeout: float = 60.0) -> None:
        self.broker.calls.append((self.proc, message.id))
        return self.broker.act("send", lambda: self.broker.stored.append(message), self.proc, message)

    def receive(
        self, max_messages: int, *, mode: str = "peek_lock", timeout: float = 1.0
    ) -> Sequence[Delivery]:
        self.broker.calls.append((self.proc, "receive"))
        answer: Sequence[Delivery] = self.broker.act("receive", lambda: self.take(max_messages))
        return answer

    def take(self, most: int) -> list[Delivery]:
        taken = self.broker.stored[:most]
        del self.broker.stored[:most]
        return [Delivery(message.id, lock=f"lock-{message.id}") for message in taken]

    def complete(self, locks: Sequence[str], *, txn: str | None = None) -> None:
        self.broker.act("complete", lambda: None, locks)

    def disconnect(self, *, how: str = "socket") -> None:
        self.broker.calls.append((self.proc, how))

    def close(self) -> None:
        self.broker.closed.append(self.proc)
        self.broker.act("close_client", lambda: None, self.proc)


def shown(history: History) -> list[tuple[str, str, str, str | None]]:
    return [(r.proc, r.op, str(r.outcome), r.error) for r in history.records]


def raising(error: BaseException) -> Callable[..., Any]:
    def act(*args: Any) -> Any:
        raise error

    return act


def check_shape(history: History) -> None:
    """What holds of every history, whatever the adapter did."""
    records = history.records
    assert [r.i for r in records] == sorted({r.i for r in records})
    assert all(a.call <= b.call for a, b in pairwise(records))
    busy_until: dict[str, int | None] = {}
    for record in records:
        before = busy_until.get(record.proc, -1)
        assert before is not None, f"{record.proc} went on after a call that never returned"
        assert record.is_env or record.call >= before
        busy_until[record.proc] = record.ret if not record.is_env else -1


class Told(list[str]):
    """Collects what the runner says of an adapter."""

    def __call__(self, text: str) -> None:
        self.append(text)

    def __contains__(self, part: object) -> bool:
        return any(str(part) in text for text in self)


# --- what works --------------------------------------------------------------------------------------


def test_how_long_a_send_may_take_is_recorded_and_asked_for() -> None:
    asked: list[float] = []

    class Timed(MemoryClient):
        def send(self, message: Message, *, txn: str | None = None, timeout: float = 1.0) -> None:
            asked.append(timeout)

    broker = Memory(connect=lambda proc: Timed(broker, proc))
    history = run(broker, program(send("a", "m1"), send("a", "m2", timeout=16 * SECOND)), limits=FAST)
    assert [record.args["timeout"] for record in history.records] == [60 * SECOND, 16 * SECOND]
    assert asked == [60.0, 16.0]


@pytest.mark.parametrize(("far", "told"), [(0, False), (3600 * SECOND, True), (-3600 * SECOND, True)])
def test_times_of_another_clock_are_told_of(far: int, told: bool) -> None:
    class Shows(MemoryClient):
        def take(self, most: int) -> list[Delivery]:
            return [Delivery("m1", locked_until=self.broker.now() + far)] * 2

    broker = Memory(connect=lambda proc: Shows(broker, proc))
    problems = Told()
    run(broker, program(receive("a"), receive("a")), limits=FAST, on_problem=problems)
    said = "a: locked_until looks like another clock's: give it in that of self.now(), see Broker.now"
    assert problems == [said] * told


@pytest.mark.parametrize("sequential", [True, False])
def test_what_the_broker_lacks_is_left_out(sequential: bool) -> None:
    steps = send("a", "m1"), Step("a", "peek", {"max": 1}), Step("b", "peek", {"max": 1}), send("a", "m2")
    history = run(Memory(), program(*steps, sequential=sequential), limits=FAST)
    assert shown(history) == [("a", "send", "ok", None)] * 2


def test_a_sequential_program_is_done_in_the_listed_order() -> None:
    broker = Memory()
    steps = [send("a", "m1"), send("b", "m2"), receive("b", 1), send("a", "m3"), receive("a", 5)]
    history = run(broker, program(*steps), limits=FAST)
    check_shape(history)
    assert [(r.proc, r.op) for r in history.records] == [(s.proc, s.op) for s in steps]
    assert [d.id for r in history.records for d in r.messages] == ["m1", "m2", "m3"]
    assert history.header == Header("azure-premium", {"queue": ENTITY}, "wall", 0, ("peek",))
    assert (sorted(broker.closed[:-1]), broker.closed[-1]) == (["a", "b"], "broker")


def test_steps_are_resolved_by_what_their_client_holds() -> None:
    held = Step("a", "complete", {"pick": [0]})
    history = run(Memory(), program(held, send("a", "m"), receive("a"), held, held), limits=FAST)
    assert [r.op for r in history.records] == ["send", "receive", "complete"]
    assert history.records[-1].args == {"locks": ("lock-m",)}


def test_clients_run_at_once() -> None:
    """Each send waits until the other one is under way too."""
    meeting = threading.Barrier(2)
    broker = Memory(send=lambda proc, message: meeting.wait(PATIENT) and None)
    history = run(broker, program(send("a", "m1"), send("b", "m2"), sequential=False), limits=FAST)
    check_shape(history)
    first, second = history.records
    assert first.outcome == second.outcome == "ok"
    assert first.ret is not None
    assert second.call < first.ret


def test_a_fault_strikes_while_what_is_listed_before_it_is_under_way() -> None:
    struck = threading.Event()

    def hold(proc: str, message: Message) -> None:
        if message.id == "early":
            assert struck.wait(PATIENT)

    def inject(fault: str, args: dict[str, Any]) -> dict[str, Any]:
        struck.set()
        return {}

    broker = Memory(send=hold, inject=inject)
    steps = [send("a", "early"), Step(ENV, "broker_kill"), send("b", "late")]
    history = run(broker, program(*steps, sequential=False), limits=FAST)
    check_shape(history)
    early, kill, late = history.records
    assert (early.op, kill.op, late.op) == ("send", "broker_kill", "send")
    assert early.ret is not None
    assert kill.call < early.ret
    assert kill.call < late.call


def test_steps_listed_after_a_fault_wait_until_it_has_begun() -> None:
    """b, which has nothing to do before the fault, does not run ahead of a."""
    broker = Memory()
    steps = [send("a", "m1"), send("a", "m2"), Step(ENV, "broker_kill"), send("b", "m3")]
    run(broker, program(*steps, sequential=False), limits=FAST)
    assert [name for _, name in broker.calls if name != "m2"] == ["m1", "broker_kill", "m3"]


def test_faults_bear_the_names_the_broker_answers() -> None:
    history = run(Memory(), program(Step(ENV, "partition_down", {"index": 1})), limits=FAST)
    assert [(r.proc, r.op, r.args) for r in history.records] == [(ENV, "partition_down", {"partition": 701})]


def test_receives_wait_no_longer_than_the_limit_and_say_how_long() -> None:
    history = run(Memory(), program(receive("a", timeout=99 * SECOND), receive("a")), limits=FAST)
    assert [r.args["timeout"] for r in history.records] == [SECOND // 100] * 2


def test_an_advance_waits_no_longer_than_the_limit_and_says_how_long() -> None:
    history = run(Memory(), program(Step(ENV, "advance", {"by": 3600 * SECOND})), limits=FAST)
    (advance,) = history.records
    assert advance.args == {"by": SECOND // 100}
    assert advance.ret is not None
    assert advance.ret - advance.call >= SECOND // 100


def test_the_way_to_disconnect_is_recorded() -> None:
    broker = Memory()
    steps = [Step("a", "disconnect"), Step("a", "disconnect", {"how": "channel"})]
    history = run(broker, program(*steps), limits=FAST)
    assert [r.args for r in history.records] == [{"how": "socket"}, {"how": "channel"}]
    assert broker.calls == [("a", "socket"), ("a", "channel")]


def test_events_of_the_broker_are_recorded_as_they_happen() -> None:
    event = {"partition": 7, "flow": "f1", "state": "ready"}
    broker = Memory()
    broker.behaviour["send"] = lambda proc, message: broker.on_event("assignment", event)
    history = run(broker, program(send("a", "m")), limits=FAST)
    during, told = history.records
    assert (told.proc, told.op, told.args, told.ret) == (ENV, "assignment", event, told.call)
    assert during.ret is not None
    assert during.call <= told.call <= during.ret


def test_the_history_s_clock_is_the_adapter_s_too() -> None:
    broker = Memory()
    broker.behaviour["receive"] = lambda: [Delivery("m", locked_until=broker.now())]
    history = run(broker, program(receive("a")), limits=FAST)
    (record,) = history.records
    assert record.ret is not None
    until = record.messages[0].locked_until
    assert until is not None
    assert record.call <= until <= record.ret


def test_a_simulated_broker_may_run_the_program_itself() -> None:
    asked = program(send("a", "m"))
    history = History(Header("azure-premium"), ())

    class Simulated(SimulatedBroker):
        def simulate(self, program: Program) -> History:
            assert program is asked
            return history

    assert run(Simulated(), asked) is history


# --- the drain -----------------------------------------------------------------------------------------


def test_a_drain_receives_all_and_says_drained() -> None:
    history = run(Memory(), program(send("a", "m1"), send("b", "m2"), drain=True), limits=FAST)
    check_shape(history)
    assert history.records[-1].op == "drained"
    assert [d.id for r in history.records if r.proc == "drain" for d in r.messages] == ["m1", "m2"]


def test_a_drain_brings_everything_up_first() -> None:
    broker = Memory()
    steps = [Step(ENV, "partition_down", {"index": 0}), Step(ENV, "broker_kill")]
    history = run(broker, program(*steps, drain=True), limits=FAST)
    assert [r.op for r in history.records if r.is_env] == [
        "partition_down",
        "broker_kill",
        "broker_start",
        "partition_up",
        "advance",
        "drained",
    ]


@pytest.mark.parametrize(
    "lasting",
    [
        {"receive": raising(Indefinite("timeout"))},
        {"receive": lambda: [Delivery("always there")]},
        {"inject": raising(RuntimeError("does not start"))},
    ],
    ids=["no answer", "never empty", "not up again"],
)
def test_drained_is_said_only_if_it_is_so(lasting: dict[str, Callable[..., Any]]) -> None:
    steps = [send("a", "m"), Step(ENV, "broker_kill")]
    history = run(Memory(**lasting), program(*steps, drain=True), limits=FAST, on_problem=Told())
    check_shape(history)
    assert "drained" not in [r.op for r in history.records]


def test_no_drained_before_the_locks_have_ended() -> None:
    long = replace(program(send("a", "m"), drain=True), entity=Entity(lock_duration=3600 * SECOND))
    history = run(Memory(), long, limits=FAST)
    assert "drained" not in [r.op for r in history.records]


# --- what raises ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "outcome", "kind"),
    [
        (Rejected("quota"), "error", "quota"),
        (Rejected("unsupported", "no such thing"), "error", "unsupported"),
        (Indefinite("timeout"), "unknown", "timeout"),
        (Rejected("hang"), "unknown", "hang"),
        (Rejected("adapter"), "unknown", "adapter"),
        (ValueError("what?"), "unknown", "adapter"),
        (SystemExit(3), "unknown", "adapter"),
        (KeyboardInterrupt(), "unknown", "adapter"),
        (MemoryError(), "unknown", "adapter"),
    ],
)
def test_whatever_an_adapter_raises_is_recorded(error: BaseException, outcome: str, kind: str) -> None:
    told = Told()
    broker = Memory(send=raising(error))
    history = run(broker, program(send("a", "m"), receive("a")), limits=FAST, on_problem=told)
    check_shape(history)
    assert shown(history) == [("a", "send", outcome, kind), ("a", "receive", "ok", None)]
    assert bool(told) == (kind in ("hang", "adapter"))
    assert broker.closed == ["a", "broker"]


def test_an_exception_that_cannot_even_say_what_it_is() -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    class Empty(Rejected):
        def __init__(self) -> None:
            pass

    for error in (Mute(), Empty()):
        history = run(Memory(send=raising(error)), program(send("a", "m")), limits=FAST, on_problem=Told())
        assert shown(history) == [("a", "send", "unknown", "adapter")]


def test_a_client_that_cannot_connect_did_nothing_and_tries_again() -> None:
    tries: list[str] = []
    broker = Memory()

    def connect(proc: str) -> Client:
        tries.append(proc)
        if len(tries) < 3:
            raise Indefinite("unavailable")
        return MemoryClient(broker, proc)

    broker.behaviour["connect"] = connect
    history = run(broker, program(send("a", "m1"), send("a", "m2")), limits=FAST, on_problem=Told())
    assert shown(history) == [("a", "send", "error", "unavailable"), ("a", "send", "ok", None)]


def test_a_fault_that_did_not_strike_is_no_event() -> None:
    history = run(
        Memory(inject=raising(Rejected("unsupported"))),
        program(Step(ENV, "broker_kill"), send("a", "m"), drain=True),
        limits=FAST,
    )
    assert "broker_kill" not in [r.op for r in history.records]
    assert "broker_start" not in [r.op for r in history.records]
    assert history.records[-1].op == "drained"


def test_a_fault_that_may_have_struck_never_returned() -> None:
    history = run(
        Memory(inject=raising(OSError("who knows"))),
        program(Step(ENV, "partition_down", {"index": 1}), send("a", "m")),
        limits=FAST,
        on_problem=Told(),
    )
    fault, _ = history.records
    assert (fault.op, fault.ret, fault.outcome, fault.error) == ("partition_down", None, "unknown", "adapter")


def test_a_broker_that_cannot_be_reached_ends_the_run_and_is_closed() -> None:
    broker = Memory(open=raising(Unreachable("nothing listens on localhost:1")))
    with pytest.raises(Unreachable, match="localhost:1"):
        run(broker, program(send("a", "m")), limits=FAST)
    assert broker.closed == ["broker"]


@pytest.mark.parametrize(
    ("act", "told"),
    [
        (raising(ValueError("no room")), r"Memory.open raised ValueError: no room \(.*test_runner.py:\d+\)"),
        (raising(SystemExit(3)), "Memory.open raised SystemExit: 3"),
        (raising(KeyboardInterrupt()), "Memory.open raised KeyboardInterrupt"),
        (lambda: "queue", "Memory.open answered str, which is no Entity"),
    ],
)
def test_whatever_keeps_a_broker_from_opening_is_one_line(act: Callable[..., Any], told: str) -> None:
    broker = Memory(open=act)
    with pytest.raises(Unreachable, match=told):
        run(broker, program(send("a", "m")), limits=FAST)
    assert broker.closed == ["broker"]


@pytest.mark.parametrize("skew", ["much", 1.5, -1, True])
def test_a_skew_that_is_no_number_of_ns_is_one_line(skew: Any) -> None:
    broker = Memory()
    broker.skew_ns = skew
    with pytest.raises(Unreachable, match=r"Memory.skew_ns is .*, which is no number of ns"):
        run(broker, program(send("a", "m")), limits=FAST)


def test_connecting_to_what_is_no_client_is_told_once_and_recorded() -> None:
    told = Told()
    broker = Memory(connect=lambda proc: None)
    history = run(broker, program(send("a", "m1"), send("a", "m2")), limits=FAST, on_problem=told)
    assert shown(history) == [("a", "send", "unknown", "adapter")] * 2
    assert list(told) == ["a: connect answered NoneType, which is no Client"]


def test_a_broker_that_names_no_way_to_disconnect_loses_its_socket() -> None:
    broker = Memory()
    broker.ways_to_disconnect = ()  # type: ignore[misc]
    steps = [send("a", "m"), Step("a", "disconnect")]
    history = run(broker, program(*steps, drain=True), limits=FAST)
    assert ("a", "socket") in broker.calls
    assert history.records[-1].op == "drained"


@pytest.mark.parametrize("act", [raising(ValueError("no")), lambda: "possibly", lambda: 1])
def test_a_senseless_word_on_emptiness_is_none(act: Callable[..., Any]) -> None:
    """Then the queue is drained as that of a broker that cannot tell: with a wait for locks."""
    told = Told()
    history = run(Memory(is_empty=act), program(send("a", "m"), drain=True), limits=FAST, on_problem=told)
    ops = [r.op for r in history.records]
    assert ops == ["send", "advance", *("receive",) * 4, "advance", *("receive",) * 3, "drained"]
    assert len(told) == 1


def test_a_broker_that_stops_telling_is_not_taken_for_empty() -> None:
    answers = iter([False])

    def once() -> bool:
        for answer in answers:
            return answer
        raise OSError("gone")

    history = run(Memory(is_empty=once), program(send("a", "m"), drain=True), limits=FAST, on_problem=Told())
    assert "drained" not in [r.op for r in history.records]


def test_closing_may_raise() -> None:
    told = Told()
    broken = raising(RuntimeError("stuck door"))
    broker = Memory(close=broken, close_client=broken)
    history = run(broker, program(send("a", "m")), limits=FAST, on_problem=told)
    assert len(history) == 1
    assert [text for text in told if "stuck door" in text] == list(told)
    assert len(told) == 2


# --- what hangs ----------------------------------------------------------------------------------------


@pytest.fixture
def released() -> Any:
    """An event that a hanging call waits for; set at the end, so that no thread is left behind."""
    event = threading.Event()
    yield event
    event.set()


HASTY = replace(FAST, hang=1.0)


@pytest.mark.parametrize("sequential", [True, False])
def test_a_call_that_hangs_is_cut_and_the_rest_goes_on(released: threading.Event, sequential: bool) -> None:
    told = Told()

    def hang(proc: str, message: Message) -> None:
        if proc == "a":
            released.wait(PATIENT)

    broker = Memory(send=hang)
    steps = [
        send("a", "m1", timeout=1),
        send("a", "m2"),
        Step(ENV, "broker_kill"),
        send("b", "m3"),
        receive("b"),
    ]
    history = run(broker, program(*steps, sequential=sequential), limits=HASTY, on_problem=told)
    check_shape(history)
    assert shown(history) == [
        ("a", "send", "unknown", "hang"),
        (ENV, "broker_kill", "ok", None),
        ("b", "send", "ok", None),
        ("b", "receive", "ok", None),
    ]
    assert history.records[0].ret is None
    assert "a: a call did not return" in told
    assert broker.closed == ["b", "broker"]


def test_an_answer_that_comes_too_late_changes_nothing(released: threading.Event) -> None:
    answered = threading.Event()

    def late() -> list[Delivery]:
        released.wait(PATIENT)
        answered.set()
        return [Delivery("late")]

    broker = Memory()
    broker.behaviour["receive"] = late

    def closing() -> None:
        released.set()
        assert answered.wait(PATIENT)

    broker.behaviour["close"] = closing
    steps = [receive("a", timeout=1), receive("a"), send("b", "m")]
    history = run(broker, program(*steps), limits=HASTY, on_problem=Told())
    assert shown(history) == [("a", "receive", "unknown", "hang"), ("b", "send", "ok", None)]
    assert history.records[0].messages == ()


def test_no_drained_while_somebody_may_hold_a_lock(released: threading.Event) -> None:
    broker = Memory(complete=lambda locks: released.wait(PATIENT))
    steps = [send("a", "m"), receive("a"), Step("a", "complete")]
    history = run(broker, program(*steps, drain=True), limits=HASTY, on_problem=Told())
    check_shape(history)
    assert ("a", "complete", "unknown", "hang") in shown(history)
    assert "drained" not in [r.op for r in history.records]


def test_a_fault_that_hangs_ends_the_faults_but_not_the_clients(released: threading.Event) -> None:
    broker = Memory(inject=lambda fault, args: released.wait(PATIENT))
    steps = [Step(ENV, "broker_kill"), Step(ENV, "broker_start"), send("a", "m")]
    limits = replace(FAST, fault=0.5)
    history = run(broker, program(*steps, sequential=False, drain=True), limits=limits, on_problem=Told())
    assert shown(history) == [(ENV, "broker_kill", "unknown", "hang"), ("a", "send", "ok", None)]


@pytest.mark.parametrize("where", ["connect", "close_client", "close"])
def test_connecting_and_closing_may_hang(released: threading.Event, where: str) -> None:
    told = Told()
    broker = Memory(**{where: lambda *args: released.wait(PATIENT)})
    limits = replace(HASTY, fault=0.5)
    history = run(broker, program(send("a", "m")), limits=limits, on_problem=told)
    assert len(history) == (0 if where == "connect" else 1)
    assert "broker" in broker.closed
    assert "in time" in told


def test_opening_may_hang(released: threading.Event) -> None:
    told = Told()
    broker = Memory(open=lambda: released.wait(PATIENT))
    with pytest.raises(Unreachable, match=r"Memory.open did not return within 0.5 s"):
        run(broker, program(send("a", "m")), limits=replace(FAST, fault=0.5), on_problem=told)
    assert broker.closed == ["broker"]
    assert broker.hung


@pytest.mark.parametrize("where", ["send", "close_client", "close"])
def test_a_broker_in_which_a_call_hangs_says_so(released: threading.Event, where: str) -> None:
    broker = Memory(**{where: lambda *args: released.wait(PATIENT)})
    limits = replace(HASTY, hang=0.5, fault=0.5)
    run(broker, program(send("a", "m", timeout=1)), limits=limits, on_problem=Told())
    assert broker.hung
    fine = Memory()
    run(fine, program(send("a", "m")), limits=FAST)
    assert not fine.hung


@pytest.mark.parametrize("during", ["open", "advance", "send", "drain"])
@pytest.mark.parametrize("sequential", [True, False])
def test_a_stop_breaks_the_run_off_and_closes_everything(
    released: threading.Event, monkeypatch: pytest.MonkeyPatch, during: str, sequential: bool
) -> None:
    """Whatever the run is waiting for at that moment; without it, it would go on to its end."""
    monkeypatch.setattr(watched, "MOMENT", 0.1)
    stop = Stop()

    def stops(*args: Any) -> None:
        stop.ask()

    def stops_and_waits(*args: Any) -> None:
        stop.ask()
        released.wait(PATIENT)

    acts: dict[str, dict[str, Callable[..., Any]]] = {
        "open": {"open": stops_and_waits},
        "send": {"send": stops_and_waits},
        "advance": {"send": lambda *args: None, "receive": lambda: stops() or []},
        "drain": {"is_empty": stops},
    }
    broker = Memory(**acts[during], close=released.set)
    hour = Step(ENV, "advance", {"by": 3600 * SECOND})
    steps = [send("a", "m"), receive("a"), *((hour, receive("a")) if during == "advance" else ())]
    limits = replace(FAST, advance=PATIENT, drain=PATIENT)
    entity = Entity(lock_duration=3600 * SECOND)
    asked = replace(program(*steps, sequential=sequential, drain=True), entity=entity)
    with pytest.raises(Stopped):
        run(broker, asked, limits=limits, on_problem=Told(), stop=stop)
    assert broker.closed[-1] == "broker"


@pytest.mark.parametrize("where", ["close_client", "close"])
def test_a_stop_does_not_wait_for_what_hangs_while_it_closes(
    released: threading.Event, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """Without it the run would wait until the test is over."""
    monkeypatch.setattr(watched, "MOMENT", 0.1)
    monkeypatch.setattr(watched, "PARTING", 0.1)
    stop = Stop()

    def hangs(*args: Any) -> None:
        stop.ask()
        assert not released.wait(PATIENT), "the run ends before the call does"

    broker = Memory(**{where: hangs})
    history = run(broker, program(send("a", "m")), limits=FAST, on_problem=Told(), stop=stop)
    assert shown(history) == [("a", "send", "ok", None)], "all that there was to do was done"
    assert broker.hung
    assert not released.is_set()


def test_a_run_that_is_stopped_before_it_begins_does_nothing() -> None:
    stop, broker = Stop(), Memory()
    stop.ask()
    with pytest.raises(Stopped):
        run(broker, program(send("a", "m")), limits=FAST, stop=stop)
    assert broker.calls == []


def test_an_interrupt_ends_the_run_and_closes_everything(released: threading.Event) -> None:
    def interrupt(proc: str, message: Message) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        released.wait(PATIENT)

    broker = Memory(send=interrupt, close=released.set)
    steps = [send("a", "m"), *(send("b", f"m{n}") for n in range(3))]
    with pytest.raises(KeyboardInterrupt):
        run(broker, program(*steps), limits=FAST, on_problem=Told())
    assert broker.closed[-1] == "broker"
    assert len(broker.calls) < len(steps)


# --- what lies -----------------------------------------------------------------------------------------

LIES: dict[str, Any] = {
    "nothing": None,
    "a generator": (d for d in ()),
    "a number": 7,
    "text": "messages",
    "a dict": {"id": "m"},
    "not a delivery": [("m",)],
    "a message": [Message("m")],
    "an ID that is none": [Delivery(7)],  # type: ignore[arg-type]
    "no ID": [Delivery(None)],  # type: ignore[arg-type]
    "a body of bytes": [Delivery("m", b"body")],  # type: ignore[arg-type]
    "65 bits": [Delivery("m", seq=2**64)],
    "a negative number": [Delivery("m", seq=-1)],
    "a negative partition": [Delivery("m", partition=-1)],
    "a negative count": [Delivery("m", delivery_count=-1)],
    "a long time": [Delivery("m", locked_until=2**63)],
    "a truth value": [Delivery("m", delivery_count=True)],
    "a fraction": [Delivery("m", seq=1.5)],  # type: ignore[arg-type]
    "a lock that is a number": [Delivery("m", lock=7)],  # type: ignore[arg-type]
    "properties by name": [Delivery("m", properties={"a": "b"})],  # type: ignore[arg-type]
    "properties of numbers": [Delivery("m", properties=(("a", 1),))],  # type: ignore[arg-type]
    "half a character": [Delivery("m", "\ud800")],
}


@pytest.mark.parametrize("invalid", LIES.values(), ids=LIES.keys())
def test_an_answer_that_no_history_can_hold_is_unknown_with_its_reason(invalid: Any) -> None:
    told = Told()
    broker = Memory(receive=lambda: invalid)
    history = run(broker, program(receive("a"), send("a", "m")), limits=FAST, on_problem=told)
    check_shape(history)
    assert shown(history) == [("a", "receive", "unknown", "adapter"), ("a", "send", "ok", None)]
    assert "a: receive answered" in told


def test_an_answer_may_hold_more_than_was_asked_for() -> None:
    """That is for the screens to judge."""
    broker = Memory(receive=lambda: (Delivery("m1"), Delivery("m2"), Delivery("m1")))
    (record,) = run(broker, program(receive("a", 1)), limits=FAST).records
    assert [d.id for d in record.messages] == ["m1", "m2", "m1"]


def test_an_unknown_kind_of_error_is_the_adapter_s_fault() -> None:
    error = Rejected("quota")
    error.kind = "spleen"
    assert "spleen" not in ERRORS
    history = run(Memory(send=raising(error)), program(send("a", "m")), limits=FAST, on_problem=Told())
    assert shown(history) == [("a", "send", "unknown", "adapter")]


@pytest.mark.parametrize(
    ("op", "args"),
    [
        ("assignment", {"partition": -1, "flow": "f", "state": "ready"}),
        ("assignment", {"partition": 1, "flow": "f", "state": "asleep"}),
        ("assignment", None),
        ("send", {}),
        ("earthquake", {}),
    ],
)
def test_events_that_make_no_sense_are_told_and_left_out(op: str, args: Any) -> None:
    told = Told()
    broker = Memory()
    broker.behaviour["send"] = lambda proc, message: broker.on_event(op, args)
    history = run(broker, program(send("a", "m")), limits=FAST, on_problem=told)
    assert shown(history) == [("a", "send", "ok", None)]
    assert len(told) == 1


@pytest.mark.parametrize("answer", [None, {"partition": "seven"}, {"partition": -7}, {}, {"index": 1}])
def test_a_fault_with_a_senseless_answer_may_have_struck(answer: Any) -> None:
    broker = Memory(inject=lambda fault, args: answer)
    step = Step(ENV, "partition_down", {"index": 1})
    (record,) = run(broker, program(step), limits=FAST, on_problem=Told()).records
    assert (record.ret, record.outcome, record.error) == (None, "unknown", "adapter")


# --- all of it ------------------------------------------------------------------------------------------


def test_every_record_can_be_stored_and_is_in_order() -> None:
    """A crowd of clients, with faults and events, on an adapter that misbehaves in every way in turn."""
    from partq.conformance.history.codec_records import plain_record, read_record

    answers = list(LIES.values())
    turn = iter(range(10**6))

    def odd() -> Any:
        n = next(turn) % (len(answers) + 2)
        if n == len(answers):
            raise RuntimeError("odd")
        return answers[n] if n < len(answers) else [Delivery("fine")]

    broker = Memory(receive=odd)
    steps = [receive(f"c{n % 8}") for n in range(200)]
    steps[50:50] = [Step(ENV, "partition_down", {"index": 1}), Step(ENV, "advance", {"by": 1})]
    history = run(broker, program(*steps, sequential=False), limits=FAST, on_problem=Told())
    check_shape(history)
    assert len(history) == len(steps)

    def again(record: Record) -> Record:
        return read_record(plain_record(record))

    assert all(again(record) == record for record in history.records)


def test_only_who_can_dead_letter_is_asked_for_dead_letters() -> None:
    class Main(Memory):
        def lacks(self) -> frozenset[str]:
            return frozenset({"dead_letter"})

    told = Told()
    steps = [send("a", "m"), receive("a", entity="dead_letter"), receive("a")]
    history = run(Main(), program(*steps, drain=True), limits=FAST, on_problem=told)
    assert not any("entity" in record.args for record in history.records)
    assert not list(told)


def test_the_toy_broker_of_the_documentation_conforms(monkeypatch: pytest.MonkeyPatch) -> None:
    from partq.conformance.evaluation.decision import NONE, check_history
    from partq.conformance.workload.generator import generate

    monkeypatch.chdir(Path(__file__).parents[3] / "examples")
    monkeypatch.syspath_prepend(".")
    broker = open_broker("toy_broker:Toy")
    for seed in range(6):
        drawn = generate("azure-premium", seed, lacks=broker.lacks())
        quick = replace(drawn, entity=replace(drawn.entity, lock_duration=SECOND // 5))
        history = run(broker, quick, limits=replace(FAST, advance=0.25, drain=2.0))
        check_shape(history)
        assert history.records[-1].op == "drained"
        verdicts = check_history(history, NONE)
        assert {k: v.findings for k, v in verdicts.items() if v.status == "violated"} == {}


# --- what on_problem raises --------------------------------------------------------------------------


def raised_by_run(broker: Broker, *steps: Step, limits: Limits = FAST, **more: Any) -> BaseException | None:
    """What a run raises whose ``on_problem`` raises ZeroDivisionError; fails if it does not end."""
    ends: list[BaseException | None] = []

    def work() -> None:
        try:
            run(broker, program(*steps, **more), limits=limits, on_problem=raising(ZeroDivisionError("oh")))
        except BaseException as error:
            ends.append(error)
        else:
            ends.append(None)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(PATIENT)
    assert ends, "the run does not end"
    return ends[0]


@pytest.mark.parametrize("sequential", [True, False])
@pytest.mark.parametrize("what", ["connect", "send", "inject", "close_client", "close", "is_empty"])
def test_what_on_problem_raises_is_raised_by_the_run(what: str, sequential: bool) -> None:
    behaviour = {"connect": raising(OSError("no")), "send": raising(KeyError("what"))}.get(what)
    broker = Memory(**{what: behaviour or raising(KeyError("what"))})
    steps = (send("p1", "m1"), Step(ENV, "broker_kill", {}), send("p2", "m2"))
    error = raised_by_run(broker, *steps, sequential=sequential, drain=what == "is_empty")
    assert isinstance(error, ZeroDivisionError)
    assert broker.closed[-1] == "broker"


def test_a_job_that_raises_counts_as_done_and_the_next_is_done() -> None:
    turn, raised, done = threading.Condition(), list[BaseException](), threading.Event()
    thread = ClientThread("p1", turn, raising(OSError("no")), raised.append)
    thread.submit(raising(ZeroDivisionError("oh")))
    thread.submit(done.set)
    thread.start()
    with turn:
        assert turn.wait_for(lambda: not thread.waiting, PATIENT)
    assert done.is_set()
    assert [type(error) for error in raised] == [ZeroDivisionError]
    thread.jobs.put(None)
    thread.join(PATIENT)
