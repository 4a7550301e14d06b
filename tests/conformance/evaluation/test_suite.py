"""The suite apart from who shows it: what is run, merged and kept."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from canned_broker import Broken, Canned, Gone, Overtaken, Refusing, Silent, Split
from one_case import run_case

from partq.conformance.adapters import (
    Broker,
    Client,
    Rejected,
    Shares,
    SimulatedBroker,
    UnknownBroker,
    Unreachable,
    open_broker,
)
from partq.conformance.evaluation.decision import NONE, check_history
from partq.conformance.evaluation.suite import (
    PROGRAMS_LIVE,
    PROGRAMS_SIMULATED,
    BrokerFailed,
    NamedProgram,
    Run,
    Ways,
    cases_for,
    deciding,
    default_programs,
    run_suite,
    runs,
)
from partq.conformance.execution.runner import run
from partq.conformance.execution.thread_pool import completed
from partq.conformance.history import History
from partq.conformance.verdict import Status
from partq.conformance.workload.cases.case import Case, chosen
from partq.conformance.workload.cases.table import ALL_CASES
from partq.conformance.workload.generator import generate, trace_seed
from partq.conformance.workload.program import Program, Step
from partq.model.messages import Message
from partq.model.operations import ENV
from partq.model.profiles import SECOND, Entity
from partq.model.requirements import catalogue

PATIENT = 20.0
"""Seconds after which a test that waits for others has failed."""

CASES = chosen(ALL_CASES, ["same-key", "numbers"])


class Watched(SimulatedBroker):
    """The reference, and every program that it was given."""

    def __init__(self, lacks: frozenset[str] = frozenset()) -> None:
        self.inner = open_broker("reference")
        self.programs: list[Program] = []
        self.missing = lacks

    def lacks(self) -> frozenset[str]:
        self.inner.profile = self.profile
        return self.inner.lacks() | self.missing

    def simulate(self, program: Program) -> History:
        assert self.profile == program.profile
        self.programs.append(program)
        return run(self.inner, program)


def test_cases_first_then_the_first_traces_of_a_campaign() -> None:
    broker, heard = Watched(), list[Run]()
    result = run_suite(broker, "azure-premium", CASES, 3, 7, heard.append)
    wanted = [case.build("azure-premium") for case in CASES]
    lacks = broker.lacks()
    wanted += [generate("azure-premium", trace_seed(7, n), lacks=lacks) for n in range(3)]
    assert broker.programs == wanted
    assert [run.name for run in heard] == ["same-key", "numbers", "program 0", "program 1", "program 2"]
    assert result.runs == 5


def test_verdicts_are_merged_over_every_row() -> None:
    broker = Watched()
    heard: list[Run] = []
    result = run_suite(broker, "azure-premium", CASES, 2, 1, heard.append)
    assert list(result.verdicts) == list(catalogue())
    times = sum(run.verdicts["SEQ-1"].exercised for run in heard)
    assert result.verdicts["SEQ-1"].exercised == times > 0
    assert result.verdicts["ENT-2"].status is Status.NOT_APPLICABLE
    assert Status.NOT_IMPLEMENTED not in {verdict.status for verdict in result.verdicts.values()}


def test_a_rule_that_no_screen_has_is_not_implemented() -> None:
    result = run_suite(Watched(), "solace", (), 0, 1)
    assert result.verdicts["REB-16"].status is Status.NOT_IMPLEMENTED


def test_nothing_run_is_not_exercised() -> None:
    result = run_suite(Watched(), "azure-premium", (), 0, 1)
    assert result.verdicts["ROUTE-1"].status is Status.NOT_EXERCISED
    assert result.runs == 0


def test_a_finding_leads_to_its_run() -> None:
    result = run_suite(Split(), "azure-premium", CASES, 0, 1)
    found = [finding for verdict in result.verdicts.values() for finding in verdict.findings]
    assert found
    for finding in found:
        run = result.evidence(finding)
        assert run is not None
        assert run.history.records[finding.witness[0]].i == finding.witness[0]
    assert len(result.kept) == 2


def test_a_run_without_findings_is_not_kept() -> None:
    assert run_suite(Canned(), "azure-premium", CASES, 0, 1).kept == ()


def test_cases_that_cannot_tell_anything_are_left_out() -> None:
    everywhere = ALL_CASES.values()
    names = {case.name for case in cases_for(Watched(), "azure-flat", everywhere)}
    assert names == {case.name for case in everywhere if "azure-flat" in case.profiles}
    lacking = Watched(frozenset({"begin", "commit", "rollback"}))
    left = {case.name for case in cases_for(lacking, "azure-premium", everywhere)}
    assert "transactional-sends" not in left
    assert "key-pins-in-and-out-of-transactions" in left, "ROUTE-1 of it still applies"


def test_what_an_adapter_raises_is_one_line_and_no_verdict() -> None:
    case = CASES[0]
    with pytest.raises(Unreachable, match="start the broker first"):
        run_case(Gone(), "azure-premium", case)
    with pytest.raises(BrokerFailed, match=r"Broken raised ZeroDivisionError: oh dear .*canned_broker.py"):
        run_case(Broken(), "azure-premium", case)


def test_a_silent_broker_exercises_nothing() -> None:
    assert not any(v.exercised for v in run_case(Silent(), "azure-premium", CASES[0]).verdicts.values())


def test_fewer_programs_on_live_brokers() -> None:
    assert default_programs(Canned()) == PROGRAMS_SIMULATED
    assert default_programs(open_broker("reference:live")) == PROGRAMS_LIVE


def test_cases_are_run_under_the_profile_asked_for() -> None:
    asked: list[str] = []
    case = Case("probe", ("ROUTE-1",), ("azure-premium",), "Asks.", lambda name: _note(asked, name))
    run_case(Watched(), "azure-premium", case)
    assert asked == ["azure-premium"]


def _note(asked: list[str], name: str) -> Program:
    asked.append(name)
    return CASES[0].build(name)


# --- several programs at once ----------------------------------------------------------------------------


class Shared:
    """What all objects of a live broker in a test see: who sends when, and which objects were opened."""

    def __init__(self) -> None:
        self.turn = threading.Condition()
        self.sending: list[str] = []
        self.met: list[set[str]] = []
        self.opened: list[Broker] = []

    def enter(self, name: str, company: int) -> None:
        """Be sending, until so many are at once."""
        with self.turn:
            self.sending.append(name)
            self.met.append(set(self.sending))
            self.turn.notify_all()
            assert self.turn.wait_for(lambda: len(max(self.met, key=len)) >= company, PATIENT)

    def leave(self, name: str) -> None:
        with self.turn:
            self.sending.remove(name)


class Live(Broker):
    """Takes messages, each in the company of as many others as the test says; has one fault."""

    profile = "azure-premium"

    def __init__(self, shared: Shared, shares: Shares, company: int = 1) -> None:
        self.shared, self.company = shared, company
        self.shares = shares  # type: ignore[misc]

    def open(self, entity: Entity) -> None:
        self.shared.opened.append(self)

    def connect(self, proc: str) -> Client:
        return LiveClient(self)

    def inject(self, fault: str, args: dict[str, Any]) -> dict[str, Any]:
        if fault in self.lacks():
            raise Rejected("unsupported")
        with self.shared.turn:
            self.shared.met.append({*self.shared.sending, "fault"})
        return {}

    def lacks(self) -> frozenset[str]:
        return frozenset({"partition_down", "partition_up"})


class LiveClient(Client):
    def __init__(self, broker: Live) -> None:
        self.broker = broker

    def send(self, message: Message, *, txn: str | None = None, timeout: float = 60.0) -> None:
        self.broker.shared.enter(message.id, self.broker.company)
        self.broker.shared.leave(message.id)


def sends(name: str, *faults: str) -> NamedProgram:
    steps = [Step("c1", "send", {"messages": (Message(name),)})]
    steps += [Step(ENV, fault, {"index": 0} if fault.startswith("partition") else {}) for fault in faults]
    return NamedProgram(name, Program("azure-premium", tuple(steps), sequential=True, drain=False))


def run_live(
    shared: Shared, shares: Shares, tasks: list[NamedProgram], company: int = 1, jobs: int = 3
) -> list[tuple[int, str]]:
    def another() -> Broker:
        return Live(shared, shares, company)

    ran = runs(another(), "azure-premium", tasks, Ways(another, jobs))
    return [(number, done.name) for number, done in ran]


def test_programs_run_at_once_each_on_an_object_of_its_own() -> None:
    shared = Shared()
    names = ["a", "b", "c"]
    done = run_live(shared, Shares.NOTHING, [sends(name) for name in names], company=3)
    assert sorted(done) == list(enumerate(names))
    assert {"a", "b", "c"} in shared.met
    assert len(set(map(id, shared.opened))) == 3


@pytest.mark.parametrize("shares", [Shares.EVERYTHING, Shares.FAULTS, Shares.NOTHING])
def test_one_job_is_one_object_and_the_programs_order(shares: Shares) -> None:
    shared = Shared()
    tasks = [sends("a"), sends("b", "broker_kill"), sends("c")]
    assert run_live(shared, shares, tasks, jobs=1) == [(0, "a"), (1, "b"), (2, "c")]
    assert len(set(map(id, shared.opened))) == 1


def test_what_shares_everything_is_run_one_by_one_whatever_is_asked_for() -> None:
    shared = Shared()
    done = run_live(shared, Shares.EVERYTHING, [sends(name) for name in "abcd"], jobs=4)
    assert done == list(enumerate("abcd"))
    assert all(len(together) == 1 for together in shared.met)
    assert len(set(map(id, shared.opened))) == 1


def test_faults_that_strike_all_strike_when_nobody_else_runs() -> None:
    """Programs without any go first, though listed last; one whose faults the broker lacks is among them."""
    shared = Shared()
    faulty = [sends("x", "broker_kill"), sends("y", "broker_kill")]
    harmless = [sends("a"), sends("b"), sends("c", "partition_down")]
    done = run_live(shared, Shares.FAULTS, [*faulty, *harmless], company=3)
    assert [name for _, name in done[-2:]] == ["x", "y"]
    assert sorted(done) == list(enumerate("xyabc"))
    assert {"a", "b", "c"} in shared.met
    assert all(len(together) == 1 for together in shared.met if together & {"x", "y", "fault"})


def test_faults_of_one_object_s_own_strike_among_others() -> None:
    shared = Shared()
    done = run_live(shared, Shares.NOTHING, [sends(name, "broker_kill") for name in "abc"], company=3)
    assert sorted(done) == list(enumerate("abc"))
    assert {"a", "b", "c"} in shared.met


def test_an_object_that_hangs_is_not_used_again() -> None:
    shared = Shared()
    first = Live(shared, Shares.NOTHING)
    first.hung = True
    ways = Ways(lambda: Live(shared, Shares.NOTHING), jobs=1)
    assert len(list(runs(first, "azure-premium", [sends(name) for name in "abc"], ways))) == 3
    assert len(set(map(id, shared.opened))) == 2


def test_runs_are_told_in_order_whichever_ends_first(monkeypatch: pytest.MonkeyPatch) -> None:
    from partq.conformance.evaluation import suite

    def backwards(broker: Broker, profile: str, tasks: list[NamedProgram], ways: Ways) -> Any:
        yield from reversed(list(runs(broker, profile, tasks, ways)))

    heard: list[str] = []
    ended: list[str] = []
    ordered = run_suite(Split(), "azure-premium", CASES, 2, 1)
    monkeypatch.setattr(suite, "runs", backwards)
    result = run_suite(
        Split(),
        "azure-premium",
        CASES,
        2,
        1,
        lambda run: heard.append(run.name),
        on_end=lambda run: ended.append(run.name),
    )
    assert heard == ["same-key", "numbers", "program 0", "program 1"]
    assert ended == heard[::-1]
    assert result == ordered


def test_histories_are_decided_in_order_whichever_ends_first(monkeypatch: pytest.MonkeyPatch) -> None:
    from partq.conformance.evaluation import suite

    def backwards(work: list[Any], jobs: int) -> Any:
        yield from reversed(list(completed(work, jobs)))

    tasks = [sends(name) for name in "abc"]
    monkeypatch.setattr(suite, "completed", backwards)
    assert [number for number, _ in runs(Split(), "azure-premium", tasks)] == [0, 1, 2]


def test_histories_of_a_live_broker_are_decided_as_check_does(monkeypatch: pytest.MonkeyPatch) -> None:
    from partq.conformance.evaluation import suite

    monkeypatch.setattr(suite, "SUITE", NONE)
    overtaken = run(Overtaken(), ALL_CASES["same-key"].build("azure-flat"))
    alone = check_history(overtaken)
    live = deciding(Refusing(), None)
    assert [live(overtaken, number).verdicts for number in range(3)] == [alone] * 3
    assert deciding(Overtaken(), None)(overtaken, 0) != alone, "of many histories the judge is asked less"


def test_a_broker_that_cannot_be_made_again_is_one_line() -> None:
    def broken() -> Broker:
        raise UnknownBroker("cannot make mine:Broker: OSError: only one")

    shared = Shared()
    first = Live(shared, Shares.NOTHING)
    first.hung = True
    tasks = [sends("a"), sends("b")]
    with pytest.raises(BrokerFailed, match="only one"):
        list(runs(first, "azure-premium", tasks, Ways(broken, jobs=1)))


@pytest.mark.parametrize("lacks", [7, [None], ["peek", 3]])
def test_a_senseless_word_on_what_it_lacks_is_one_line(lacks: Any) -> None:
    broker = Live(Shared(), Shares.NOTHING)
    broker.lacks = lambda: lacks  # type: ignore[method-assign]
    with pytest.raises(BrokerFailed, match=r"lacks\(\)"):
        cases_for(broker, "azure-premium", CASES)


def test_seeded_programs_have_the_broker_s_lock_duration() -> None:
    live, simulated = Live(Shared(), Shares.NOTHING), open_broker("reference")
    assert live.lock_duration == 5 * SECOND
    drawn = generate("azure-premium", 1, lock_duration=live.lock_duration)
    assert drawn.entity.lock_duration == 5 * SECOND
    assert generate("azure-premium", 1, lock_duration=simulated.lock_duration) == generate("azure-premium", 1)
