"""The Hypothesis machine: quiet on the reference, loud on mutants, and its programs replay."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings

from partq.conformance import program as programs
from partq.conformance.adapters import open_broker
from partq.conformance.adapters.reference import Reference
from partq.conformance.cli import main
from partq.conformance.program import Program
from partq.conformance.stateful import NotConformant, generated, search, verdict

PROFILES = ("azure-standard", "azure-premium", "azure-flat", "solace")


@pytest.mark.parametrize("profile", PROFILES)
def test_nothing_is_found_on_the_reference(profile: str) -> None:
    search("reference", profile, examples=60, seed=1)


@pytest.mark.parametrize(
    ("mutant", "rule"),
    [("newest-first", "RCV-3"), ("long-bodies-cut", None), ("delivered-after-completion", "RCV-7")],
)
def test_a_mutant_is_found_or_out_of_reach(mutant: str, rule: str | None) -> None:
    if rule is None:  # the machine's bodies are short
        search(f"mutant:{mutant}", "azure-premium", examples=60, seed=1)
        return
    with pytest.raises(NotConformant, match=rule) as found:
        search(f"mutant:{mutant}", "azure-premium", examples=400, seed=1)
    assert len(found.value.program.steps) <= 10
    assert verdict(open_broker(f"mutant:{mutant}"), found.value.program)


def test_the_program_that_is_printed_replays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [
        "search",
        "mutant:newest-first",
        "--examples",
        "400",
        "--out",
        str(tmp_path / "program.json"),
    ]
    assert main(arguments) == 1
    printed = capsys.readouterr().out.splitlines()[-1]
    stored = (tmp_path / "program.json").read_text(encoding="utf-8").strip()
    assert printed == stored
    assert isinstance(programs.from_json(json.loads(stored)), Program)
    assert main(["replay", str(tmp_path / "program.json"), "--broker", "mutant:newest-first"]) == 1
    assert capsys.readouterr().out.startswith("VIOLATED on mutant:newest-first")
    assert main(["replay", str(tmp_path / "program.json"), "--broker", "reference"]) == 0
    assert capsys.readouterr().out.startswith("NOTHING FOUND on reference")


@settings(max_examples=40, deadline=None)
@given(generated("azure-premium"))
def test_the_generator_draws_from_hypothesis_too(program: Program) -> None:
    assert programs.from_json(programs.to_json(program)) == program
    assert not verdict(Reference("azure-premium"), program, exact=False)
