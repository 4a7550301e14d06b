"""Apalache's exit codes and what it prints, as recorded from 0.57.0; and the program itself, where it is."""

import json
from pathlib import Path
from typing import Any

import pytest
from executables import write_executable

from partq.spec.tools.apalache import Answer, Outcome, command, environment, read_answer, run
from partq.spec.tools.toolbox import ToolMissing, apalache

VERSION = "# APALACHE version: 0.57.0 | build: v0.57.0                       I@14:01:12.393\n"
UNTYPED = VERSION + "[Counter.tla:4:11-4:16]: Arguments to = should have the same type.      E@14:01:13.120\n"
UNREADABLE = VERSION + (
    "MC.tla:9:19-9:26: Input error (see the manual): Expected a constant integer range in [ .. ], "
    "found 1..MessageCount'. E@14:05:04.343\nEXITCODE: ERROR (255)\n"
)


@pytest.mark.parametrize(
    ("code", "output", "answer"),
    [
        (0, VERSION, Answer(Outcome.OK, "", "0.57.0")),
        (12, VERSION, Answer(Outcome.COUNTEREXAMPLE, "", "0.57.0")),
        (
            120,
            UNTYPED,
            Answer(
                Outcome.ERROR,
                "type error: [Counter.tla:4:11-4:16]: Arguments to = should have the same type.",
                "0.57.0",
            ),
        ),
        (150, "", Answer(Outcome.ERROR, "parse error")),
        (137, "Killed", Answer(Outcome.ERROR, "ended with exit code 137")),
    ],
)
def test_the_exit_code_says_how_it_ended(code: int, output: str, answer: Answer) -> None:
    assert read_answer(code, output) == answer


def test_an_error_is_told_in_one_line() -> None:
    answer = read_answer(255, UNREADABLE)

    assert answer.outcome is Outcome.ERROR
    assert answer.error.startswith("failed: MC.tla:9:19-9:26: Input error")
    assert "\n" not in answer.error and "E@" not in answer.error


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An ``apalache-mc`` of ours, in a home of its own: what it is to do is written into it."""
    file = tmp_path / "home" / "bin" / "apalache-mc"
    monkeypatch.setenv("APALACHE_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("JVM_ARGS", raising=False)
    return file


def test_a_run_has_a_folder_of_its_own(program: Path, tmp_path: Path) -> None:
    write_executable(
        program, 'echo "$@" >"$TMPDIR/words"; echo "$JVM_ARGS" >"$TMPDIR/java"; pwd >"$TMPDIR/where"; exit 12'
    )
    folder, modules = tmp_path / "run", tmp_path
    folder.mkdir()

    answer = run(["check", "--length=3", "M.tla"], folder, modules=modules)

    assert answer.outcome is Outcome.COUNTEREXAMPLE
    words = (folder / "words").read_text().split()
    assert words == ["check", f"--run-dir={folder}", f"--out-dir={folder}/runs", "--length=3", "M.tla"]
    assert (folder / "java").read_text().strip() == "-Xmx3g"
    assert (folder / "where").read_text().strip() == str(modules)


def test_the_users_own_options_of_java_stand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JVM_ARGS", "-Xmx9g")

    assert environment(tmp_path)["JVM_ARGS"] == "-Xmx9g"


def test_a_run_that_takes_too_long_is_an_error(program: Path, tmp_path: Path) -> None:
    write_executable(program, "exec tail -f /dev/null")

    answer = run(["check", "M.tla"], tmp_path, timeout=0.2, modules=tmp_path)

    assert answer == Answer(Outcome.ERROR, "Apalache did not end within 0.2 s")


def test_where_it_is_not_it_is_told_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("APALACHE_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(ToolMissing, match="unpack a release of Apalache") as raised:
        command(["check"], tmp_path)
    assert "\n" not in str(raised.value)


COUNTER = """---- MODULE Counter ----
EXTENDS Integers
VARIABLE
    \\* @type: Int;
    x
Init == x = 0
Next == \\E n \\in 1..2 : x' = x + n
Low == x < 5
Typo == x = TRUE
====
"""


def needs_apalache() -> None:
    """Skip where there is no Apalache."""
    try:
        apalache()
    except ToolMissing as error:
        pytest.skip(str(error))


@pytest.mark.slow
def test_the_program_finds_what_holds_and_what_does_not(tmp_path: Path) -> None:
    needs_apalache()
    typed = COUNTER.replace("Typo == x = TRUE\n", "")
    (tmp_path / "Counter.tla").write_text(typed)

    def checked(length: int) -> Answer:
        return run(["check", "--inv=Low", f"--length={length}", "Counter.tla"], tmp_path, modules=tmp_path)

    assert checked(2).outcome is Outcome.OK
    assert checked(3).outcome is Outcome.COUNTEREXAMPLE
    (tmp_path / "Counter.tla").write_text(COUNTER)
    assert checked(2).error.startswith("type error: ")


# --- what it wrote, once ------------------------------------------------------------------------------


def written(name: str) -> list[dict[str, Any]]:
    """The states of a trace that Apalache wrote."""
    found = json.loads((Path(__file__).parents[1] / "apalache" / name).read_text())
    states: list[dict[str, Any]] = found["states"]
    return states


def test_a_counterexample_ends_where_the_property_is_broken() -> None:
    duties = written("two-owners.itf.json")[-1]["history"]["duty"]["#map"]

    assert [sum(state != "none" for _, state in flows["#map"]) for _, flows in duties] == [1, 2]


def test_a_simulation_has_a_state_for_each_step_and_the_one_before() -> None:
    states = written("simulated.itf.json")

    assert [state["#meta"]["index"] for state in states] == [*range(9)]
    assert states[0]["answer"]["op"] == "-"
