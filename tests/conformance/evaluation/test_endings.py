"""How histories end: drained, never drained, cut off because the broker got nowhere."""

from __future__ import annotations

from dataclasses import replace

import pytest

from partq.conformance.adapters.mutants import open_mutant
from partq.conformance.adapters.reference import Reference
from partq.conformance.evaluation.decision import NONE, Decider
from partq.conformance.evaluation.endings import Ending, ending, unreceivable
from partq.conformance.execution.runner import run
from partq.conformance.history import History
from partq.conformance.history.notation import history
from partq.conformance.workload.generator import generate, trace_seed
from partq.conformance.workload.program import Program, Step
from partq.model.messages import Message
from partq.model.profiles import SECOND, Entity
from partq.reference_impl.clock import Simulation


def never_drained() -> History:
    """A history of a broker that keeps what was locked when it was killed, and delivers it to nobody."""
    broker = open_mutant("kill-orphans-locked")
    histories = (run(broker, generate("azure-flat", trace_seed(5, n), length=24)) for n in range(40))
    return next(made for made in histories if ending(made) is Ending.UNDRAINED)


def test_what_nobody_can_receive_is_a_loss_that_the_drain_shows() -> None:
    given = never_drained()
    assert Decider().decide(given).violated == Decider(NONE).decide(given).violated == ["RCV-2"]
    (finding,) = Decider().decide(given).findings["RCV-2"]
    assert finding.key == "RCV-2/never drained" and finding.witness


def test_a_scheduled_message_that_never_came_may_wait_for_its_time_still() -> None:
    broker = open_mutant("never-activated")
    steps = (Step("c1", "schedule", {"messages": (Message("m1"),), "delay": SECOND}),)
    finding = unreceivable(run(broker, Program(broker.profile, steps, Entity(16), sequential=True)))
    assert finding is not None and finding.candidates == ("SCH-1", "RCV-2")


def test_with_flows_a_partition_may_have_no_owner() -> None:
    broker = open_mutant("orphans-forgotten")
    given = run(broker, generate("solace", trace_seed(5, 0), length=24))
    finding = unreceivable(given)
    assert finding is not None and finding.candidates == ("REB-11", "RCV-2")


LINGERING = """
c1 bind f1 @1-2
c1 disconnect flow=f1 -> unknown connection_lost @3-4
"""


def test_a_flow_that_may_still_be_bound_may_have_what_is_left() -> None:
    given = run(open_mutant("orphans-forgotten"), generate("solace", trace_seed(5, 0), length=24))
    left = history(LINGERING, "solace").records
    assert unreceivable(given) is not None
    assert unreceivable(History(given.header, (*left, *given.records))) is None


def test_a_drain_that_was_not_done_to_its_end_shows_nothing() -> None:
    given = never_drained()
    cut = History(given.header, given.records[:-4])
    assert ending(cut) is Ending.UNDRAINED and unreceivable(cut) is None


NOTHING, NEW = "drain receive 64 delete -> nothing\n", "drain receive 64 delete -> m2#3.1\n"


@pytest.mark.parametrize(
    ("profile", "drained", "lost"),
    [
        ("azure-flat", NOTHING * 7, False),
        ("azure-flat", NOTHING * 8, True),
        ("azure-premium", NOTHING * 23, False),
        ("azure-premium", NOTHING * 24, True),
        ("azure-premium", NOTHING * 23 + NEW + NOTHING * 23, False),
        ("azure-premium", NEW + NOTHING * 12 + NEW + NOTHING * 12, True),
    ],
)
def test_front_ends_may_fetch_what_is_left_again_and_again(profile: str, drained: str, lost: bool) -> None:
    number = "m2#1" if profile == "azure-flat" else "m2#3.1"
    given = history(f"p send m1\np send m2\n{drained}".replace("m2#3.1", number), profile)
    assert (unreceivable(given) is not None) is lost


def test_of_a_live_broker_it_leaves_open_whether_messages_are_lost() -> None:
    given = never_drained()
    live = History(replace(given.header, clock="wall"), given.records)
    assert ending(live) is Ending.UNDRAINED and unreceivable(live) is None
    assert "never found the entity empty" in Decider(NONE).decide(live).open["RCV-2"]
    cut = History(live.header, live.records[:-4])
    assert "RCV-2" not in Decider(NONE).decide(cut).open


def test_who_was_not_drained_is_left_open() -> None:
    assert ending(history("p send m1", "azure-flat")) is Ending.OPEN


@pytest.mark.parametrize("profile", ["azure-standard", "azure-premium", "azure-flat", "solace"])
def test_the_reference_is_always_drained(profile: str) -> None:
    """But for what is deferred in a session: it cannot be received any more."""
    broker = Reference(profile)
    for seed in range(40):
        program = generate(profile, seed, length=24)
        if not program.entity.requires_session or all(step.op != "defer" for step in program.steps):
            assert ending(run(broker, program)) is Ending.DRAINED


def test_a_broker_that_gets_nowhere_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Simulation.run
    monkeypatch.setattr(Simulation, "run", lambda clock: whole(clock, steps=60))
    given = run(Reference("azure-flat"), generate("azure-flat", 1, length=24))
    assert ending(given) is Ending.STUCK
    assert any(record.ret is None and record.error == "hang" for record in given.records)
