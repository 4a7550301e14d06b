"""The bridge to the reference broker: programs become well-formed, repeatable, lawful histories."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Generator
from dataclasses import fields, replace
from itertools import pairwise

import pytest

from partq.conformance.adapters.names import BUILT_IN
from partq.conformance.adapters.protocol import Rejected
from partq.conformance.adapters.reference import (
    CAMPAIGN,
    DurableReference,
    LiveReference,
    Reference,
    config_of,
    lacks_of,
)
from partq.conformance.adapters.registry import open_broker
from partq.conformance.evaluation.decision import NONE, check_history
from partq.conformance.execution.runner import Limits, run
from partq.conformance.history import History, Record
from partq.conformance.history.codec import dumps, loads
from partq.conformance.oracle.judge import Judged, judge
from partq.conformance.verdict import Status
from partq.conformance.workload.generator import generate
from partq.conformance.workload.program import Program, Step
from partq.model.messages import SOLACE_KEY, Delivery, Message
from partq.model.operations import ENV, OPS
from partq.model.profiles import SECOND, Entity, profile
from partq.reference_impl.broker import Shown
from partq.reference_impl.durable import File
from partq.reference_impl.freedoms import Freedoms

PROFILES = ("azure-standard", "azure-premium", "azure-flat", "solace")


def _program(name: str, seed: int, length: int = 24) -> Program:
    return generate(name, seed, length=length, lacks=lacks_of(profile(name)))


def _simulate(program: Program) -> History:
    return run(Reference(), program)


def _steps(*steps: tuple[str, str, dict[str, object]]) -> tuple[Step, ...]:
    return tuple(Step(*step) for step in steps)


def _ended(history: History, op: str) -> list[Record]:
    return [record for record in history.records if record.op == op]


def test_what_the_broker_shows_is_what_a_history_holds() -> None:
    assert Shown._fields == Delivery._fields


@pytest.mark.parametrize("name", PROFILES)
def test_equal_programs_give_equal_histories_and_seeds_differ(name: str) -> None:
    program = replace(_program(name, 11), sequential=False)
    assert _simulate(program) == _simulate(program)
    again = {str(_simulate(replace(program, seed=seed)).records) for seed in range(5)}
    assert len(again) > 1


_DIGEST = """
import hashlib
from partq.conformance.adapters.reference import Reference
from partq.conformance.execution.runner import run
from partq.conformance.workload.generator import generate
digest = hashlib.sha256()
for name in ("azure-standard", "azure-premium", "azure-flat", "solace"):
    for seed in range(10):
        program = generate(name, seed, lacks=Reference(name).lacks())
        digest.update(repr(run(Reference(name), program).records).encode())
print(digest.hexdigest())
"""


def test_the_hash_seed_of_the_process_does_not_matter() -> None:
    def digest(hash_seed: str) -> str:
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        done = subprocess.run(
            [sys.executable, "-c", _DIGEST], env=environment, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    assert len(digest("1")) == hashlib.sha256().digest_size * 2
    assert digest("1") == digest("2")


@pytest.mark.parametrize("name", PROFILES)
def test_histories_are_well_formed_and_drained(name: str) -> None:
    for seed in range(60):
        program = _program(name, seed)
        history = _simulate(program)
        records = history.records
        assert [record.i for record in records] == sorted({record.i for record in records})
        instants = [record.call for record in records]
        assert instants == sorted(set(instants))
        ends: dict[str, int] = {}
        for record in records:
            assert record.op in OPS
            assert record.ret is not None
            assert record.ret > record.call or record.op in ("assignment", "drained")
            if record.proc != ENV:
                assert record.call > ends.get(record.proc, -1)
                ends[record.proc] = record.ret
        kept = program.entity.requires_session and any(step.op == "defer" for step in program.steps)
        assert kept or records[-1].op == "drained"  # what is deferred in a session cannot be received


@pytest.mark.parametrize("name", PROFILES)
def test_histories_survive_the_codec(name: str) -> None:
    for seed in range(10):
        history = _simulate(_program(name, seed))
        assert loads(dumps(history)) == history


@pytest.mark.parametrize("name", PROFILES)
def test_no_screen_finds_anything(name: str) -> None:
    for seed in range(1000, 1150):
        history = _simulate(_program(name, seed))
        wrong = {
            requirement: verdict.findings or verdict.reason
            for requirement, verdict in check_history(history, NONE).items()
            if verdict.status in (Status.VIOLATED, Status.UNKNOWN)
        }
        assert not wrong, f"seed {seed}: {wrong}"


def test_every_kind_of_answer_occurs() -> None:
    seen: Counter[tuple[str, str, str | None]] = Counter()
    for seed in range(400):
        for record in _simulate(_program("azure-premium", seed)).records:
            seen[record.op, str(record.outcome), record.error] += 1
    for expected in (
        ("send", "unknown", "connection_lost"),
        ("send", "error", "unavailable"),
        ("send", "error", "timeout"),
        ("send", "error", "invalid_operation"),
        ("receive", "unknown", "connection_lost"),
        ("complete", "ok", None),
        ("complete", "error", "lock_lost"),
        ("commit", "error", "unavailable"),
        ("commit", "unknown", "connection_lost"),
        ("rollback", "ok", None),
        ("renew_lock", "ok", None),
        ("frontend_lost", "ok", None),
    ):
        assert seen[expected], expected


def test_clients_overlap_and_faults_strike_operations_under_way() -> None:
    overlapping = struck = 0
    for seed in range(100):
        records = _simulate(_program("azure-premium", seed)).records
        for before, after in pairwise(records):
            assert before.ret is not None
            if before.ret > after.call:
                overlapping += 1
                struck += after.proc == ENV
    assert overlapping > 500
    assert struck > 20


def test_faults_keep_their_place_among_the_steps() -> None:
    steps = _steps(
        *((f"c{n % 3}", "send", {"messages": (Message(f"m{n}"),)}) for n in range(9)),
        (ENV, "broker_kill", {}),
        *((f"c{n % 3}", "send", {"messages": (Message(f"m{n}"),)}) for n in range(9, 18)),
    )
    for seed in range(50):
        records = _simulate(Program("azure-premium", steps, Entity(partitions=4), seed)).records
        (at,) = [place for place, record in enumerate(records) if record.op == "broker_kill"]
        before = {record.args["messages"][0].id for record in records[:at]}
        assert before == {f"m{n}" for n in range(9)}


def test_a_sequential_program_runs_step_by_step() -> None:
    program = replace(_program("azure-premium", 5), sequential=True)
    records = _simulate(program).records
    assert all(before.ret is not None and before.ret < after.call for before, after in pairwise(records))


def test_advancing_moves_the_clock_and_ends_locks() -> None:
    steps = _steps(
        ("c1", "send", {"messages": (Message("m"),)}),
        ("c1", "receive", {"max": 1}),
        (ENV, "advance", {"by": 31 * SECOND}),
        ("c1", "complete", {"pick": [0]}),
        ("c1", "receive", {"max": 1}),
    )
    records = _simulate(Program("azure-flat", steps, sequential=True)).records
    assert records[2].ret is not None
    assert records[2].ret - records[2].call >= 31 * SECOND
    assert records[3].error == "lock_lost"
    assert records[4].messages[0].delivery_count == 1


def test_nothing_survives_unseen_when_faults_are_left_behind() -> None:
    steps = _steps(
        ("c1", "send", {"messages": (Message("a", partition_key="k"),)}),
        ("c1", "send", {"messages": (Message("b"),)}),
        ("c1", "receive", {"max": 1}),
        (ENV, "partition_down", {"index": 0}),
        (ENV, "partition_down", {"index": 3}),
        (ENV, "broker_kill", {}),
    )
    for seed in range(30):
        history = _simulate(Program("azure-premium", steps, Entity(partitions=4), seed, sequential=True))
        assert history.records[-1].op == "drained"
        drained = [shown.id for record in _ended(history, "receive")[1:] for shown in record.messages]
        assert sorted(drained) == ["a", "b"]


def test_without_a_drain_the_history_ends_with_the_program() -> None:
    steps = _steps(("c1", "send", {"messages": (Message("a"),)}))
    history = _simulate(Program("azure-premium", steps, drain=False))
    assert [record.op for record in history.records] == ["send"]


@pytest.mark.parametrize(
    ("name", "op", "args"),
    [("azure-premium", "bind", {}), ("solace", "peek", {"max": 1}), ("azure-premium", "disconnect", {})],
)
def test_steps_that_a_family_lacks_are_refused(name: str, op: str, args: dict[str, object]) -> None:
    (record,) = _simulate(Program(name, _steps(("c1", op, args)), drain=False)).records
    assert (record.outcome, record.error) == ("error", "unsupported")


def test_entity_settings_reach_the_broker() -> None:
    entity = Entity(partitions=2, lock_duration=7 * SECOND, seq_start=2**48 - 1, peek_cap=2)
    steps = _steps(
        ("c1", "send_batch", {"messages": tuple(Message(f"m{n}", partition_key="k") for n in range(4))}),
        ("c1", "peek", {"max": 9}),
        ("c1", "receive", {"max": 9}),
    )
    _, peek, receive, *_ = _simulate(Program("azure-premium", steps, entity)).records
    assert len(peek.messages) == 2
    assert [shown.seq % 2**48 for shown in receive.messages if shown.seq is not None] == [2**48 - 1, 0, 1, 2]
    until = receive.messages[0].locked_until
    assert until is not None
    assert receive.ret is not None
    assert receive.call <= until - 7 * SECOND < receive.ret


def test_solace_assignments_are_reported_as_they_happen() -> None:
    steps = _steps(
        ("c1", "bind", {}),
        ("c1", "send", {"messages": (Message("m", properties=((SOLACE_KEY, "k"),)),)}),
        ("c1", "receive", {"max": 1, "timeout": 6 * SECOND}),
    )
    history = _simulate(Program("solace", steps, Entity(partitions=3), drain=False))
    told = [record for record in history.records if record.op == "assignment"]
    receive = _ended(history, "receive")[0]
    assert {record.args["state"] for record in told} == {"ready"}
    assert len({record.args["partition"] for record in told}) == 3
    assert receive.ret is not None
    assert all(receive.call < record.call < receive.ret for record in told)
    assert [shown.id for shown in receive.messages] == ["m"]


def test_the_registry_knows_them_and_they_take_every_family_of_the_catalogue() -> None:
    made = {"reference": Reference, "reference:live": LiveReference, "reference:durable": DurableReference}
    assert tuple(made) == BUILT_IN
    for name, kind in made.items():
        broker = open_broker(name)
        assert type(broker) is kind
        assert broker.profiles() == PROFILES
        for family in PROFILES:
            broker.profile = family
            assert broker.lacks() <= OPS.keys()


def test_the_header_tells_where_timers_and_news_may_be_late() -> None:
    """Only in some runs, and only of a queue with flows."""

    def said(name: str, freedoms: Freedoms) -> set[tuple[bool, bool]]:
        broker = Reference(name, freedoms=freedoms)
        headers = [run(broker, generate(name, seed, length=1)).header for seed in range(60)]
        return {(header.late_ns is not None, header.skew_ns > 0) for header in headers}

    every = {(True, True), (True, False), (False, True), (False, False)}
    assert said("solace", CAMPAIGN) == every
    assert said("solace", Freedoms()) == said("azure-premium", CAMPAIGN) == {(False, False)}


def test_every_setting_of_an_entity_is_the_broker_s() -> None:
    for chosen in (Entity(), Entity(2, 3, 4, 5, 6, 7, True, 8, 9)):
        config = config_of(profile("azure-premium"), chosen, lambda: 0.5, lambda op, args: None)
        said = {field.name: getattr(chosen, field.name) for field in fields(Entity)}
        known = {name: value for name, value in said.items() if value is not None}
        assert {name: getattr(config, name) for name in known} == known


# Its messages in files.


def _killed_and_started() -> History:
    steps = _steps(
        ("c1", "send", {"messages": (Message("a", partition_key="k"),)}),
        ("c1", "send", {"messages": (Message("b", partition_key="k"),)}),
        ("c2", "receive", {"max": 2}),
        ("c2", "complete", {"pick": [0]}),
        ("env", "broker_kill", {}),
        ("env", "broker_start", {}),
        ("c3", "receive", {"max": 2}),
    )
    return run(DurableReference("azure-premium"), Program("azure-premium", steps, sequential=True))


def test_a_started_broker_reads_its_files() -> None:
    history = _killed_and_started()
    receives = [[shown.id for shown in record.messages] for record in _ended(history, "receive")]
    assert receives[:2] == [["a", "b"], ["b"]]
    assert judge(history).status is Judged.ACCEPTED


def test_what_was_not_written_is_lost_and_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(File, "write", lambda self: None)
    verdicts = check_history(_killed_and_started())
    assert {id for id, verdict in verdicts.items() if verdict.findings} == {"RCV-2"}


@pytest.mark.parametrize("name", PROFILES)
def test_what_it_does_in_random_programs_is_lawful(name: str) -> None:
    for seed in range(12):
        broker = DurableReference(name)
        history = run(broker, generate(name, seed, length=14, lacks=broker.lacks()))
        assert judge(history).status is not Judged.REJECTED


# The same broker on the wall clock.

LIVE = Entity(partitions=4, lock_duration=SECOND // 2, rebalance_delay=SECOND // 10, max_handoff=SECOND // 10)


def _live(name: str, *steps: tuple[str, str, dict[str, object]], entity: Entity = LIVE) -> History:
    program = Program(name, _steps(*steps), entity, sequential=True)
    return run(LiveReference(name), program, limits=Limits(wait=0.2, advance=1.0))


def test_live_clients_are_served_on_the_wall_clock() -> None:
    history = _live(
        "azure-premium",
        (
            "c1",
            "send_batch",
            {"messages": (Message("a", partition_key="k"), Message("b", partition_key="k"))},
        ),
        ("c1", "send", {"messages": (Message("x", session_id="s", partition_key="other"),)}),
        ("c2", "peek", {"max": 9}),
        ("c2", "receive", {"max": 1}),
        ("c2", "renew_lock", {"pick": [0]}),
        ("c2", "begin", {}),
        ("c2", "complete", {"pick": [0], "txn": True}),
        ("c2", "commit", {}),
        ("c1", "receive", {"max": 1, "mode": "receive_and_delete"}),
    )
    answers = [
        (record.op, record.error, [shown.id for shown in record.messages]) for record in history.records
    ]
    assert answers[:9] == [
        ("send_batch", None, []),
        ("send", "invalid_operation", []),
        ("peek", None, ["a", "b"]),
        ("receive", None, ["a"]),
        ("renew_lock", None, ["a"]),
        ("begin", None, []),
        ("complete", None, []),
        ("commit", None, []),
        ("receive", None, ["b"]),
    ]
    assert history.records[-1].op == "drained"
    enqueued = history.records[2].messages[0].enqueued_at
    assert enqueued is not None
    assert history.records[0].ret is not None
    assert history.records[0].call <= enqueued <= history.records[0].ret


def test_live_faults_hit_partitions_and_broker() -> None:
    history = _live(
        "azure-premium",
        ("c1", "send", {"messages": (Message("a", partition_key="k"),)}),
        *((ENV, "partition_down", {"index": index}) for index in range(4)),
        ("c1", "peek", {"max": 1}),
        *((ENV, "partition_up", {"index": index}) for index in range(4)),
        (ENV, "broker_kill", {}),
        ("c1", "peek", {"max": 1}),
        (ENV, "broker_start", {}),
        (ENV, "frontend_lost", {"proc": "c1"}),
        ("c1", "peek", {"max": 1}),
    )
    down, dead, alive = _ended(history, "peek")[:3]
    assert (down.error, dead.error) == ("unavailable", "unavailable")
    assert [shown.id for shown in alive.messages] == ["a"]
    names = {record.args["partition"] for record in _ended(history, "partition_down")}
    assert len(names) == 4
    assert alive.messages[0].partition in names


AZURE = ("azure-standard", "azure-premium", "azure-flat")
LATER = Message("m", partition_key="k", scheduled_at=60 * SECOND)


@pytest.mark.parametrize("name", AZURE)
def test_a_send_with_a_time_is_peeked_as_scheduled_and_received_from_its_time_on(name: str) -> None:
    steps = _steps(
        ("c1", "send", {"messages": (LATER,)}),
        ("c1", "peek", {"max": 9}),
        ("c1", "receive", {"max": 9, "timeout": SECOND}),
    )
    history = _simulate(Program(name, steps, sequential=True))
    (peek,), (early, *late) = _ended(history, "peek"), _ended(history, "receive")
    assert [(shown.id, shown.state) for shown in peek.messages] == [("m", "scheduled")]
    assert early.messages == ()
    (shown,) = [shown for receive in late for shown in receive.messages]
    assert shown.seq == (peek.messages[0].seq or 0) + 1
    assert min(receive.call for receive in late if receive.messages) >= 60 * SECOND
    assert history.records[-1].op == "drained"


@pytest.mark.parametrize(("name", "error"), [*((name, None) for name in AZURE), ("solace", "unsupported")])
def test_schedule_answers_with_numbers_by_which_a_cancel_finds_the_messages(
    name: str, error: str | None
) -> None:
    stage = Reference().stage(Program(name, ()), lambda op, args: None)
    connection = stage.connect("c1")
    heard: list[tuple[str, str | None, list[str]]] = []

    def scene() -> Generator[int | None, None, None]:
        answer = yield from stage.operate(connection, "schedule", {"messages": (LATER,)})
        numbers = [shown.seq for shown in answer[2]] or [1]
        for number in (*numbers, *numbers):
            heard.append((*answer[:2], [shown.id for shown in answer[2]]))
            answer = yield from stage.operate(connection, "cancel_scheduled", {"seq": number})
        heard.append((*answer[:2], []))

    stage.clock.spawn(scene())
    assert stage.clock.run()
    refused = "error", error, []
    sound = [("ok", None, ["m"]), ("ok", None, []), ("error", "not_found", [])]
    assert heard == ([refused] * 3 if error else sound)


def test_a_live_client_schedules_and_cancels() -> None:
    broker = LiveReference("azure-premium")
    broker.open(LIVE)
    client = broker.connect("c1")
    try:
        waiting = Message("m", scheduled_at=broker.now() + 600 * SECOND)
        past, later = client.schedule((Message("past", scheduled_at=0), waiting))
        (shown,) = client.receive(9, timeout=10.0)
        assert (shown.id, shown.seq) == ("past", (later.seq or 0) + 1)
        assert [(one.id, one.state) for one in client.peek(9, from_seq=later.seq)][:1] == [("m", "scheduled")]
        client.cancel_scheduled(later.seq or 0)
        for void in (past, later):
            with pytest.raises(Rejected, match="not_found"):
                client.cancel_scheduled(void.seq or 0)
    finally:
        broker.close()


def test_live_flows_report_assignments() -> None:
    history = _live(
        "solace",
        ("c1", "bind", {}),
        ("c1", "send", {"messages": (Message("a", properties=((SOLACE_KEY, "k"),)),)}),
        ("c1", "receive", {"max": 1}),
        ("c1", "complete", {"pick": [0]}),
        ("c1", "unbind", {}),
        ("c2", "bind", {}),
        ("c2", "disconnect", {}),
    )
    assert len(_ended(history, "assignment")) >= 4
    assert [shown.id for shown in _ended(history, "receive")[0].messages] == ["a"]
    assert history.records[-1].op == "drained"


def test_a_live_broker_that_is_not_open_says_so_and_closes_without_harm() -> None:
    broker = LiveReference("azure-premium")
    broker.close()
    with pytest.raises(Rejected, match="not open"):
        broker.is_empty()
    broker.open(LIVE)
    client = broker.connect("c1")
    client.send(Message("m"))
    assert broker.is_empty() is False
    with pytest.raises(Rejected, match="unsupported"):
        broker.inject("meteor", {})
    with pytest.raises(Rejected, match="unsupported"):
        client.bind("f")
    broker.close()
    broker.close()
