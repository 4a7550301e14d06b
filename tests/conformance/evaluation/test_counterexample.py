"""Counterexamples: made of a finding, stored as one file, read again; what is none of them is told so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from partq.conformance.adapters.mutants import open_mutant
from partq.conformance.evaluation import counterexample
from partq.conformance.evaluation.counterexample import Counterexample, InvalidCounterexample
from partq.conformance.evaluation.decision import Decider
from partq.conformance.execution.runner import run
from partq.conformance.verdict import Finding
from partq.conformance.workload import program as programs
from partq.conformance.workload.program import Program, Step
from partq.model.messages import Message

PROGRAM = Program(
    "azure-premium",
    tuple(Step("c1", "send", {"messages": (Message(f"m{n}", "x" * 100),)}) for n in range(3)),
    sequential=True,
)


def made(**settings: Any) -> Counterexample:
    broker = open_mutant("long-bodies-cut")
    (finding,) = Decider().decide(run(broker, PROGRAM)).findings["RCV-1"][:1]
    example = counterexample.make("mutant:long-bodies-cut", broker, PROGRAM, finding, **settings)
    assert example is not None
    return example


def test_it_is_the_smallest_program_and_what_that_shows() -> None:
    example = made(trace=12)
    assert len(example.program.steps) == 1
    assert example.found_steps == 3
    assert example.trace == 12
    assert example.finding.requirement == "RCV-1"
    sends = [record for record in example.history.records if record.op == "send"]
    assert len(sends) == 1
    assert set(example.finding.witness) <= {record.i for record in example.history.records}


def test_a_finding_that_does_not_show_again_makes_none() -> None:
    finding = Finding("RCV-1", "", (), "", "", "RCV-1/phantom")
    assert counterexample.make("x", open_mutant("long-bodies-cut"), PROGRAM, finding) is None


@pytest.mark.parametrize(
    ("rule", "key", "name"),
    [
        ("ROUTE-1", "ROUTE-1/apart, the last broker kill", "ROUTE-1-apart-the-last-broker-kill.json"),
        ("RCV-1", "RCV-1/altered körper", "RCV-1-altered-k-rper.json"),
        ("RCV-1", "RCV-1/", "RCV-1-finding.json"),
        ("RCV-1", "../../x", "RCV-1-x.json"),
        ("RCV-1", "RCV-1/" + "y" * 200, f"RCV-1-{'y' * 60}.json"),
    ],
)
def test_the_file_is_named_for_rule_and_cause_once(rule: str, key: str, name: str) -> None:
    finding = Finding(rule, "", (), "", "", key)
    source = made()
    example = Counterexample(source.broker, source.program, finding, source.history)
    assert example.name == name


def test_of_one_cause_each_has_a_file_of_its_own() -> None:
    """Two findings of one rule may show the same cause once they are shrunk."""
    taken: set[str] = set()
    names = [counterexample.free_name(made(trace=trace), taken) for trace in (3, 4, 5)]
    stem = names[0].removesuffix(".json")
    assert names[1:] == [f"{stem}-2.json", f"{stem}-3.json"]


def test_it_is_read_as_it_was_written(tmp_path: Path) -> None:
    example = made(trace=3)
    path = counterexample.write(tmp_path / "new" / "folder", example)
    assert path.name == example.name
    assert counterexample.read(path) == example


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda data: "{", "not JSON"),
        (lambda data: json.dumps([1]), "schema"),
        (lambda data: json.dumps({**data, "schema": programs.SCHEMA}), "schema"),
        (lambda data: json.dumps({k: v for k, v in data.items() if k != "program"}), "program"),
        (lambda data: json.dumps({k: v for k, v in data.items() if k != "history"}), "history"),
        (lambda data: json.dumps({**data, "broker": 3}), "broker"),
        (lambda data: json.dumps({**data, "finding": {**data["finding"], "witness": "all"}}), "witness"),
        (lambda data: json.dumps({**data, "history": []}), r"x\.json"),
        (lambda data: "[" * 100_000, "not JSON"),
    ],
)
def test_what_is_no_counterexample_is_told_so(tmp_path: Path, spoil: Any, says: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(spoil(counterexample.to_json(made())), encoding="utf-8")
    with pytest.raises(InvalidCounterexample, match=says) as told:
        counterexample.read(path)
    assert str(path) in str(told.value)
