"""`partq run --program` and `partq spec simulate` as a user meets them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from test_tlc import needs_tlc

from partq.conformance.frontends.cli.app import main
from partq.conformance.workload.program import Program, Step, dumps
from partq.model.messages import Message
from partq.spec.simulation.itf import TRACES, read_file

EXAMPLES = Path(__file__).parents[4] / "examples"
LOST = TRACES / "ReachLost-0001.itf.json"
SENDS = Program(
    "azure-premium",
    (
        *(Step("c1", "send", {"messages": (Message(f"m{n}", partition_key="a"),)}) for n in range(3)),
        Step("c1", "receive", {"max": 3}),
    ),
    sequential=True,
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's folder with a program, a trace, and the example's broker."""
    (tmp_path / "program.json").write_text(dumps(SENDS), encoding="utf-8")
    shutil.copy(LOST, tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.syspath_prepend(str(EXAMPLES))
    return tmp_path


def as_json(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_a_trace_is_run_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--program", LOST.name, "--profile", "azure-premium"]

    assert main(["run", "reference", *options, "--save-histories", "--out", "out"]) == 0
    assert [file.name for file in Path("out/histories/azure-premium").iterdir()] == ["ReachLost-0001.ndjson"]
    assert f'"--program", "{LOST.name}"' in " ".join(Path("out/verdicts.json").read_text().split())


def test_another_seed_lets_a_simulated_broker_choose_otherwise() -> None:
    def history(seed: int, out: str) -> bytes:
        options = ["--profile", "azure-premium", "--seed", str(seed), "--save-histories", "--out", out]
        assert main(["run", "reference", "--program", LOST.name, *options]) == 0
        return Path(out, "histories/azure-premium/ReachLost-0001.ndjson").read_bytes()

    assert history(1, "first") == history(1, "again")
    assert history(1, "first-too") != history(2, "second")


def test_a_violation_names_the_trace_that_showed_it(capsys: pytest.CaptureFixture[str]) -> None:
    trace = TRACES / "BugPhantom-0001.itf.json"

    assert main(["run", "mutant:refused-while-down-and-stored", "--program", str(trace)]) == 1
    assert "azure-premium, BugPhantom-0001" in capsys.readouterr().out


def test_a_folder_is_all_that_is_in_it_under_each_profile_that_fits(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["run", "reference", "--program", ".", "--format", "json"]) == 0
    found = as_json(capsys)["profiles"]

    assert list(found) == ["azure-standard", "azure-premium"], "the program fits the second alone"
    exercised = [found[profile]["RCV-1"]["exercised"] for profile in found]
    assert exercised[0] < exercised[1]


def test_cases_and_seeded_programs_are_run_besides_if_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    besides = ["--case", "same-key", "--programs", "2", "--save-histories", "--out", "out"]

    assert (
        main(["run", "reference", "--profile", "azure-premium", "--program", "program.json", *besides]) == 0
    )
    names = {file.stem for file in Path("out/histories/azure-premium").iterdir()}
    assert names == {"same-key", "program", "program-0", "program-1"}


def test_equal_names_are_told_apart_by_their_folders(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--program", LOST.name, "--program", str(LOST), "--save-histories", "--out", "out"]

    assert main(["run", "reference", "--profile", "azure-premium", *options]) == 0
    assert len([*Path("out/histories/azure-premium").iterdir()]) == 2


def test_the_traces_of_the_package_need_no_path(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "mutant:standby-waits", "--traces"]) == 1
    assert "REB-6" in capsys.readouterr().out


@pytest.mark.slow
def test_a_live_broker_replays_a_trace(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "toy_broker:Toy", "--program", str(TRACES / "BugAnyOrder-0001.itf.json")]) == 0
    assert main(["run", "toy_broker:Toy", "--program", LOST.name]) == 0  # without what it lacks: outages


@pytest.mark.parametrize(
    ("text", "name", "why"),
    [
        ("{", "bad.itf.json", "bad.itf.json: no JSON"),
        (
            "{",
            "bad.json",
            "bad.json: no JSON: a program (partq.program/1) or a trace (.itf.json) is expected",
        ),
        ("{}", "bad.itf.json", "bad.itf.json: no trace"),
        ("{}", "bad.json", "bad.json: profile: is missing"),
        (None, "none.json", "none.json: No such file or directory"),
        ('{"vars":["x"],"states":[{"x":1}]}', "bad.itf.json", "bad.itf.json: params: Object missing"),
    ],
)
def test_what_is_no_program_is_told_in_one_line(
    text: str | None, name: str, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if text is not None:
        Path(name).write_text(text, encoding="utf-8")

    assert main(["run", "reference", "--program", name]) == 2
    assert why in " ".join(capsys.readouterr().err.split())


def test_a_folder_without_programs_and_a_program_of_another_profile_are_refused(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("empty").mkdir()

    assert main(["run", "reference", "--program", "empty"]) == 2
    assert "empty has no .json file" in capsys.readouterr().err
    assert main(["run", "reference", "--profile", "solace", "--program", LOST.name]) == 2
    assert f"{LOST.name} is for another profile than solace" in capsys.readouterr().err


def simulate(*options: str) -> int:
    """The command, on one wrong variant and one scope, with a walk of few steps."""
    chosen = ("--goal", "BugAnyOrder", "--scope", "MCPeek", "--out", "traces")
    return main(["spec", "simulate", *chosen, "--length", "5", *options])


def test_traces_are_made_once_and_can_be_run(capsys: pytest.CaptureFixture[str]) -> None:
    needs_tlc()

    assert simulate("--traces", "1") == 0
    assert capsys.readouterr().out.startswith("2 traces in traces")
    assert simulate("--traces", "2") == 0
    said = capsys.readouterr().err
    assert "1 trace there already" in said
    assert "MCPeek: 2 traces" in said
    made = sorted(file.name for file in Path("traces").iterdir())
    assert made == ["BugAnyOrder-0001.itf.json", "MCPeek-0001.itf.json", "MCPeek-0002.itf.json"]
    assert len(read_file(Path("traces") / made[1]).states) <= 6
    assert main(["run", "reference", "--profile", "azure-premium", "--program", "traces"]) == 0


def test_other_traces_are_not_overwritten(capsys: pytest.CaptureFixture[str]) -> None:
    Path("traces").mkdir()
    shutil.copy(LOST, "traces/MCPeek-0001.itf.json")

    assert simulate("--traces", "1") == 2
    assert "MCPeek-0001.itf.json was made with other options" in " ".join(capsys.readouterr().err.split())
    assert main(["spec", "simulate", "--scope", "MCPeak", "--out", "traces"]) == 2
    assert "no scope is called 'MCPeak'; did you mean MCPeek?" in capsys.readouterr().err
