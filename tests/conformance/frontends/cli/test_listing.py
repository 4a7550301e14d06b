"""The names that commands take: listed, filtered, completed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from partq.conformance.adapters import open_broker
from partq.conformance.adapters.mutants import MUTANTS
from partq.conformance.frontends.cli.app import main
from partq.conformance.frontends.cli.listing import ENTRIES, Kind
from partq.conformance.screens.registry import ALL
from partq.conformance.verdict import Inspection, verdicts_of
from partq.conformance.workload.cases.table import ALL_CASES
from partq.model.profiles import PROFILES
from partq.model.requirements import catalogue

PARTQ = Path(sys.executable).with_name("partq")


def listed(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    """The names that a list has."""
    assert main(["list", *arguments, "--format", "json"]) == 0
    return [entry["name"] for entry in json.loads(capsys.readouterr().out)[arguments[0]]]


@pytest.mark.parametrize(
    ("kind", "names"),
    [("profiles", PROFILES), ("cases", ALL_CASES), ("mutants", MUTANTS), ("rules", catalogue())],
)
def test_all_of_a_kind(kind: str, names: dict[str, object], capsys: pytest.CaptureFixture[str]) -> None:
    assert listed(capsys, kind) == list(names)


@pytest.mark.parametrize("name", PROFILES)
def test_a_profile_says_how_many_rules_a_run_counts(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    applying = [v for v in verdicts_of(Inspection(), name, ALL).values() if v.status != "not applicable"]
    own = len(listed(capsys, "rules", "--profile", name))
    main(["list", "profiles", "--profile", name])
    few = f", of which {len(applying)} apply" if len(applying) < own else ""
    assert " ".join(capsys.readouterr().out.split()).endswith(f"; {own} rules{few}")
    assert bool(few) == (name == "azure-flat"), "KEY-1 needs partitions"


def test_built_in_brokers_can_be_opened(capsys: pytest.CaptureFixture[str]) -> None:
    for name in listed(capsys, "brokers")[:2]:
        open_broker(name)


def test_by_rule_group_profile_and_words(capsys: pytest.CaptureFixture[str]) -> None:
    killed = listed(capsys, "mutants", "--rule", "route-2", "--profile", "solace")
    assert killed == [n for n, m in MUTANTS.items() if (m.breaks, m.profile) == ("ROUTE-2", "solace")]
    group = listed(capsys, "mutants", "--rule", "ROUTE")
    assert group == [n for n, m in MUTANTS.items() if m.breaks.startswith("ROUTE-")]
    assert listed(capsys, "mutants", "body", "partition", "--rule", "ROUTE-2")[0] == "route-by-body"


def test_which_rules_apply_to_a_broker_and_why_not(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[4] / "examples"))
    monkeypatch.setenv("COLUMNS", "160")
    toy = ("list", "rules", "--broker", "toy_broker:Toy")
    assert main([*toy]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[0].split() == ["rule", "about", "azure-premium"]
    assert not any(line.startswith("REB-") for line in shown), "only the rules of its profile"
    why = {line.split()[0]: line.rstrip() for line in shown}
    assert why["ROUTE-1"].endswith(" applies")
    assert why["ROUTE-6"].endswith(" the broker lacks partition_down")
    assert not any(line.endswith(" not implemented yet") for line in why.values())
    assert main([*toy, "--rule", "KEY-1", "--profile", "azure-flat", "--format", "json"]) == 0
    (entry,) = json.loads(capsys.readouterr().out)["rules"]
    assert entry["exempt"] == {"azure-flat": "the broker shows no partitions"}
    both = ("--profile", "solace", "--profile", "azure-premium", "--format", "json")
    assert main(["list", "rules", "--broker", "reference", "--rule", "REB-1", *both]) == 0
    (entry,) = json.loads(capsys.readouterr().out)["rules"]
    assert entry["exempt"]["solace"] is None, "what a broker lacks depends on its profile"
    assert main(["list", "rules", "--broker", "reference", "--rule", "REB-16", *both]) == 0
    (entry,) = json.loads(capsys.readouterr().out)["rules"]
    assert entry["exempt"]["solace"] == "not implemented yet"
    assert main(["list", "cases", "--broker", "reference"]) == 2
    assert "--broker is about rules: partq list rules --broker reference" in capsys.readouterr().err


def test_nothing_found_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "cases", "nonsense"]) == 0
    assert capsys.readouterr().out == "no such cases\n"


def test_a_table_has_them_all(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    for kind in Kind:
        assert main(["list", kind.value]) == 0
        shown = capsys.readouterr().out
        assert all(entry.name in shown for entry in ENTRIES[kind](tuple(PROFILES)))


@pytest.mark.parametrize(
    ("line", "completed"),
    [
        ("partq run refer", "reference"),
        ("partq run mutant:route-by-b", "mutant:route-by-body"),
        ("partq run reference --profile sol", "solace"),
        ("partq run reference --case same-k", "same-key"),
        ("partq explain ROUTE-1", "ROUTE-1"),
        ("partq mutants --only route-by-b", "route-by-body"),
        ("partq comple", "completion"),
    ],
)
def test_a_shell_completes(line: str, completed: str) -> None:
    asked = {"_PARTQ_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))}
    done = subprocess.run(
        [PARTQ], env={**os.environ, **asked}, capture_output=True, text=True, check=True, timeout=60
    )
    assert completed in done.stdout.split()
    assert not done.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "powershell"])
def test_each_shell_has_a_script(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    assert "_PARTQ_COMPLETE" in capsys.readouterr().out
