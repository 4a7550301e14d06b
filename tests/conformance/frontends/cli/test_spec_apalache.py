"""``partq spec check --tool apalache`` as a user meets it. Apalache is played by a script."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from executables import write_executable

from partq.conformance.frontends.cli.app import main
from partq.spec.checking import manifest
from partq.spec.checking.figures import Call, LastRun
from partq.spec.checking.records import text_of
from partq.spec.tools.apalache import Outcome

PROOF = next(one for one in manifest.read_symbolic() if one.name == "ProofLocks")._replace(last_run=None)
CHECK = ("spec", "check", "--tool", "apalache", "--only", "ProofLocks")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of an Apalache that finds no counterexample."""
    write_executable(tmp_path / "bin" / "apalache-mc", "exit 0")
    monkeypatch.setenv("APALACHE_HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "160")
    return tmp_path


def test_each_call_is_told_as_it_begins_and_the_end_in_a_table(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(CHECK) == 0

    told = capsys.readouterr()
    assert "ProofLocks: check --no-deadlock --init=AnyInd --inv=Ind --length=1\n" in told.err
    assert "1/1 ProofLocks: as expected" in told.err
    assert "ok, ok, ok" in told.out
    assert told.out.splitlines()[-1] == "1 questions, all as the manifest says"


def test_a_proof_that_fails_is_a_violation(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_executable(home / "bin" / "apalache-mc", "exit 12")

    assert main((*CHECK, "--format", "json")) == 1

    (found,) = json.loads(capsys.readouterr().out)["questions"]
    assert [call["outcome"] for call in found["calls"]] == ["counterexample"]
    assert found["wrong"].startswith("a counterexample: check ")
    assert found["text"] == text_of(PROOF), "which the record of this run is to bear"


def test_records_of_an_earlier_text_are_named(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = [Call("check", Outcome.OK, 1)]
    made = [
        PROOF._replace(name=name, last_run=LastRun("2026-01-01", "0.57.0", calls, text))
        for name, text in {"Fresh": text_of(PROOF), "Stale": "0" * 16}.items()
    ]
    monkeypatch.setattr(manifest, "read_symbolic", lambda: (PROOF, *made))

    assert main(CHECK[:-2]) == 0

    assert "1 of 3 records of Apalache are of an earlier text" in (told := capsys.readouterr().err)
    assert ": Stale\n" in told


def test_where_it_is_not_here_nothing_passes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("APALACHE_HOME", str(tmp_path))

    assert main(CHECK) == 2

    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("partq: error: no apalache-mc under APALACHE_HOME")
    assert told.err.count("\n") == 1 and "unpack a release of Apalache" in told.err


def test_a_check_of_tlc_is_none_of_apalache(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(("spec", "check", "--tool", "apalache", "--only", "MCRouting")) == 2

    assert "no check by Apalache is called 'MCRouting'" in capsys.readouterr().err
