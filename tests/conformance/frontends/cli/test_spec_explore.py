"""`partq spec explore` as a user meets it: with the real server where it is here, else as it answered once.

The exchanges in `explored/` were recorded with the real server (the first line of each says which, and when):
``partq spec explore --broker … --program PROGRAM --record EXCHANGES``. Where the reference comes to draw
otherwise, another ``seed`` in the program lets it behave again as it did then."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from partq.conformance.frontends.cli import spec_explore
from partq.conformance.frontends.cli.app import main
from partq.conformance.workload.cases import steps
from partq.conformance.workload.menu import Choice
from partq.spec.tools.toolbox import APALACHE, ToolMissing, apalache

DATA = Path(__file__).with_name("explored")
CHOICES = [Choice(steps.receive(f"c{n}"), f"c{n} receive") for n in (1, 2, 3)]

REAL = "real server"


@pytest.fixture(params=["recorded", pytest.param(REAL, marks=[pytest.mark.slow, pytest.mark.timeout(900)])])
def explorer(request: pytest.FixtureRequest) -> str:
    """Which of the two answers; the test's name says it, too."""
    if request.param == REAL:
        try:
            apalache()
        except ToolMissing as error:
            pytest.skip(f"only recorded exchanges are tested: {error}")
    return str(request.param)


def explore(explorer: str, broker: str, program: str) -> int:
    """The exit code for the program of that name."""
    words = ["spec", "explore", "--broker", broker, "--program", str(DATA / f"{program}.program.json")]
    recorded = ["--recorded", str(DATA / f"{program}.exchanges.jsonl")]
    return main(words if explorer == REAL else words + recorded)


def says_which(explorer: str, printed: str) -> bool:
    """Whether the first line says who answered."""
    said = (
        ", a server at port" if explorer == REAL else "exchanges with Apalache 0.57.0 that were recorded on"
    )
    return said in printed.splitlines()[0]


def test_the_reference_is_explained(explorer: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert explore(explorer, "reference", "conforming") == 0
    printed = capsys.readouterr().out
    assert says_which(explorer, printed)
    assert "m3#" in next(line for line in printed.splitlines() if "# Prefetch then Receive" in line)
    assert "c1 abandon lock-2 -> error unavailable" in next(
        line for line in printed.splitlines() if "# AbandonFails" in line
    )
    assert printed.splitlines()[-1] == "EXPLAINED: the specification allows every step"


def test_a_mutant_diverges(explorer: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert explore(explorer, "mutant:abandon-not-counted", "diverging") == 1
    *_, before, last, conclusion = capsys.readouterr().out.splitlines()
    assert "c2 abandon lock-1 -> ok" in before
    assert "count=0 lock=lock-2" in last
    assert last.endswith("# DIVERGES")
    assert conclusion.startswith("DIVERGES: no behaviour of the specification explains it")


def test_what_was_recorded_of_another_broker_does_not_fit(capsys: pytest.CaptureFixture[str]) -> None:
    assert explore("recorded", "reference", "diverging") == 2
    assert "the recorded exchanges do not fit" in capsys.readouterr().err


def test_where_apalache_is_absent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(APALACHE, str(tmp_path))
    assert main(["spec", "explore", "--broker", "reference", "--random", "3"]) == 2
    assert "unpack a release of Apalache" in capsys.readouterr().err


RECORDED = ["--recorded", str(DATA / "conforming.exchanges.jsonl")]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--profile", "solace", *RECORDED], "solace: flows are not explored yet"),
        (["--profile", "nowhere", *RECORDED], "unknown profile 'nowhere'"),
        (["--random", "3", "--program", str(DATA / "conforming.program.json")], "give one of them"),
        (["--record", "x", *RECORDED], "give one of them"),
        (["--record", str(DATA / "conforming.exchanges.jsonl")], "exists: give another file"),
        (["--recorded", str(DATA / "conforming.program.json")], "no recorded exchanges"),
        (
            ["--profile", "azure-flat", "--program", str(DATA / "conforming.program.json"), *RECORDED],
            "is a program for azure-premium, not for azure-flat",
        ),
    ],
)
def test_bad_input(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["spec", "explore", "--broker", "reference", *words]) == 2
    assert said in " ".join(capsys.readouterr().err.split())


def test_a_step_is_chosen_by_its_number(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = iter(["no", "4", " 2 ", ""])
    monkeypatch.setattr("builtins.input", lambda: next(answers))
    assert spec_explore._asked(CHOICES) == CHOICES[1].step
    assert spec_explore._asked(CHOICES) is None
    said = capsys.readouterr().err
    assert "   2  c2 receive" in said
    assert said.count("a number from 1 to 3, please") == 2


def test_a_session_ends_with_its_input(monkeypatch: pytest.MonkeyPatch) -> None:
    def end() -> str:
        raise EOFError

    monkeypatch.setattr("builtins.input", end)
    assert spec_explore._asked(CHOICES) is None


def test_equal_seeds_draw_equal_steps() -> None:
    one, again, other = (spec_explore._drawn(20, seed) for seed in (1, 1, 2))
    drawn = [[draw(CHOICES) for _ in range(21)] for draw in (one, again, other)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert drawn[0][-1] is None


def test_the_recordings_say_when_they_were_made() -> None:
    for file in DATA.glob("*.jsonl"):
        header = json.loads(file.read_text(encoding="utf-8").splitlines()[0])
        assert header.keys() == {"schema", "apalache", "recorded"}
