"""The Hypothesis machine: quiet on the reference, loud on mutants, and its programs replay."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from pathlib import Path

import canned_broker
import pytest

from partq.conformance.adapters import Broker, Unreachable, open_broker
from partq.conformance.evaluation.decision import EVERY, NONE, Exactness
from partq.conformance.evaluation.finding_text import wrong_in
from partq.conformance.evaluation.suite import NamedProgram, Ways, runs
from partq.conformance.frontends.cli.app import main
from partq.conformance.frontends.search_state import NotConformant
from partq.conformance.frontends.stateful import machine_for, search_on
from partq.conformance.history import History
from partq.conformance.workload import program as programs
from partq.conformance.workload.program import Program
from partq.model.profiles import SECOND
from partq.model.profiles import profile as profile_named

SCREENS = Ways(jobs=1, exact=NONE)

PROFILES = ("azure-standard", "azure-premium", "azure-flat", "solace")


def _wrong(broker: Broker, program: Program, exact: Exactness) -> list[str]:
    """What is wrong with the broker's behaviour under the program, in words."""
    ((_, done),) = runs(broker, program.profile, [NamedProgram("it", program)], Ways(jobs=1, exact=exact))
    return wrong_in(done)


@pytest.mark.parametrize("profile", PROFILES)
def test_nothing_is_found_on_the_reference(profile: str) -> None:
    search_on(open_broker("reference"), profile, examples=60, seed=1)


@pytest.mark.parametrize(
    ("mutant", "rule"),
    [("newest-first", "RCV-3"), ("long-bodies-cut", None), ("visible-before-commit", "TXN-5")],
)
def test_a_mutant_is_found_or_out_of_reach(mutant: str, rule: str | None) -> None:
    broker = open_broker(f"mutant:{mutant}")
    if rule is None:  # the machine's bodies are short
        search_on(broker, "azure-premium", examples=60, seed=1, ways=SCREENS)
        return
    with pytest.raises(NotConformant, match=f"^{rule} (violated|or )") as found:
        search_on(broker, "azure-premium", examples=400, seed=2, ways=SCREENS)
    assert found.value.steady
    assert len(found.value.program.steps) <= 5
    assert _wrong(open_broker(f"mutant:{mutant}"), found.value.program, EVERY)


def test_the_program_that_is_printed_or_stored_replays(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "program.json"
    search_it = ("search", "mutant:route-by-body", "--profile", "azure-premium", "--examples", "50")
    replay_it = ("replay", str(file), "--broker")
    assert main(search_it) == 1
    printed = capsys.readouterr().out.splitlines()
    assert "The program, 2 steps:" in printed
    assert printed[-2].endswith("partq replay program.json --broker mutant:route-by-body")
    assert main((*search_it, "--out", str(file))) == 1
    assert capsys.readouterr().out.splitlines()[-1].endswith(shlex.join(("partq", *replay_it, search_it[1])))
    stored = file.read_text(encoding="utf-8").strip()
    assert printed[-1] == stored
    assert isinstance(programs.from_json(json.loads(stored)), Program)
    assert main((*replay_it, "mutant:route-by-body")) == 1
    assert capsys.readouterr().out.startswith("VIOLATED on mutant:route-by-body")
    assert main((*replay_it, "reference")) == 0
    assert capsys.readouterr().out.startswith("NOTHING FOUND on reference")


class Failing(canned_broker.Canned):
    """Can be run so many times, shows a violation the first so many times, and counts."""

    def __init__(self, runs: int = 1000, violations: int = 0) -> None:
        self.runs, self.violations, self.asked = runs, violations, 0

    def simulate(self, program: Program) -> History:
        self.asked += 1
        if self.asked > self.runs:
            raise Unreachable("it is gone")
        self.shows = canned_broker.SPLIT if self.asked <= self.violations else canned_broker.TOGETHER
        return super().simulate(program)


@pytest.mark.parametrize("runs", [0, 5])
def test_a_broker_that_is_gone_is_not_asked_again(runs: int) -> None:
    broker = Failing(runs)
    with pytest.raises(Unreachable, match="it is gone"):
        search_on(broker, "azure-premium", examples=20, seed=1)
    assert broker.asked == runs + 1


def test_what_shows_only_once_is_told_as_such() -> None:
    with pytest.raises(NotConformant, match="ROUTE-2 violated") as found:
        search_on(Failing(violations=1), "azure-premium", examples=20, seed=1)
    assert not found.value.steady
    assert "It did not show each time" in str(found.value)


def test_a_program_that_is_not_drawn_to_its_end_is_not_run() -> None:
    broker = Failing()
    seen = search_on(broker, "azure-premium", examples=20, seed=1)
    assert seen.programs == broker.asked == 20


class Listening(Failing):
    """Keeps the programs that it is asked to run."""

    def __init__(self) -> None:
        super().__init__()
        self.programs: list[Program] = []

    def simulate(self, program: Program) -> History:
        self.programs.append(program)
        return super().simulate(program)


def test_nothing_is_asked_for_before_anything_was_sent() -> None:
    broker = Listening()
    search_on(broker, "azure-premium", examples=30, seed=1)
    for program in broker.programs:
        ops = [step.op for step in program.steps if step.op in ("send", "send_batch", "receive", "peek")]
        assert not ops or ops[0].startswith("send")


def test_without_time_the_first_program_is_the_only_one() -> None:
    broker = Failing()
    seen = search_on(broker, "azure-premium", examples=50, seed=1, seconds=0)
    assert (broker.asked, seen.programs, seen.over) == (1, 1, True)
    broker = Failing(violations=1000)
    with pytest.raises(NotConformant):
        search_on(broker, "azure-premium", examples=50, seed=1, seconds=0)
    assert broker.asked == 1


@pytest.mark.parametrize(
    ("profile", "lock", "spans"),
    [
        ("azure-premium", 30 * SECOND, {SECOND, 6 * SECOND, 31 * SECOND}),
        ("azure-premium", SECOND, {SECOND // 5, 2 * SECOND}),
        ("solace", SECOND, {SECOND // 5, 6 * SECOND}),
    ],
)
def test_time_passes_as_the_queue_needs(profile: str, lock: int, spans: set[int]) -> None:
    made = machine_for(
        Failing(), profile, replace(profile_named(profile).default_entity, lock_duration=lock)
    )()
    for span in range(3):
        made.advance(span=span)
    assert {step.args["by"] for step in made.steps} == spans
