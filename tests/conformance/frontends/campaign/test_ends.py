"""How `partq fuzz` and `partq mutants` begin, go and end, on one session for all."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from jsonschema import Draft202012Validator

from partq.conformance import schemas
from partq.conformance.frontends.campaign import jvm, spark
from partq.conformance.frontends.campaign.errors import CampaignError
from partq.conformance.frontends.campaign.local_folder import manifests
from partq.conformance.frontends.campaign.plan import Plan, even
from partq.conformance.frontends.campaign.run import CampaignState, campaign
from partq.conformance.frontends.cli import campaigns, mutants
from partq.conformance.frontends.cli.app import INTERRUPTED, main
from partq.conformance.frontends.cli.campaigns import PERIOD, Display, shrinking
from partq.conformance.verdict import Kill

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("spark")]

BROKERS = Path(__file__).parents[2] / "adapters"


@pytest.fixture(autouse=True)
def folder(here: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's folder with the module `canned_broker`."""
    (tmp_path / "canned_broker.py").write_bytes((BROKERS / "canned_broker.py").read_bytes())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if Path(entry) != BROKERS])
    monkeypatch.delitem(sys.modules, "canned_broker", raising=False)
    return tmp_path


@pytest.fixture
def no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark must not be needed."""

    def started(master: str) -> None:
        raise AssertionError("Spark was started")

    monkeypatch.setattr(spark, "session", started)


def interrupted_at(stored: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The user interrupts once so many traces are stored."""
    went = Display.went

    def interrupt(display: Display, state: CampaignState) -> None:
        went(display, state)
        if state.stored >= stored:
            raise KeyboardInterrupt

    monkeypatch.setattr(Display, "went", interrupt)


def fuzz(*arguments: str, broker: str = "canned_broker:Canned", out: str = "out") -> int:
    return main(["fuzz", broker, "--length", "4", "--wave", "250", "--out", out, *arguments])


def told(capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The lines on standard error."""
    return capsys.readouterr().err.splitlines()


@pytest.mark.parametrize(
    ("broker", "why"),
    [
        ("rabbitmq://guest:guest@localhost:1/", "no RabbitMQ server answers at localhost:1"),
        ("canned_broker:Jammed", "jammed"),
        ("canned_broker:Unmade", "no such file"),
        ("canned_broker:Boasting", "Boasting.lacks(): ZeroDivisionError: nothing at all"),
    ],
)
def test_a_broker_that_can_not_be_run_is_met_before_spark_and_leaves_nothing(
    broker: str, why: str, no_spark: None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert fuzz("--traces", "5", "--profile", "rabbitmq", broker=broker) == 2
    (line,) = told(capsys)
    assert why in line
    assert not Path("out").exists()


def test_nor_does_a_missing_java_leave_anything(no_spark: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(master: str) -> None:
        raise CampaignError("no Java found")

    monkeypatch.setattr(jvm, "check", missing)
    assert fuzz("--traces", "5") == 2
    assert not Path("out").exists()


@pytest.mark.parametrize("command", ["fuzz", "mutants"])
@pytest.mark.parametrize(
    ("out", "why"),
    [("canned_broker.py", "is a file"), ("canned_broker.py/x", "not a directory"), ("a*", "for a pattern")],
)
def test_an_output_folder_that_can_not_be_is_one_line(
    command: str, out: str, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    what = ["reference"] if command == "fuzz" else ["--only", "long-bodies-cut"]
    assert main([command, *what, "--traces", "5", "--out", out]) == 2
    *_, line = told(capsys)
    assert line.startswith(f"partq: error: {out}")
    assert why in line


def test_who_interrupts_is_told_what_is_stored_and_can_go_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with monkeypatch.context() as patched:
        interrupted_at(250, patched)
        assert fuzz("--traces", "600") == INTERRUPTED
    line = "250 of 600 traces are stored; finish with the same command and --resume"
    assert told(capsys)[-2:] == [line, "partq: interrupted"]
    assert fuzz("--traces", "600", "--resume", "--format", "json") == fuzz("--traces", "600", out="whole")
    resumed, whole = (json.loads(Path(out, "campaign.json").read_text()) for out in ("out", "whole"))
    assert resumed["digest"] == whole["digest"]
    assert resumed["timed_traces"] == 350


@pytest.mark.parametrize("arguments", [("fuzz", "reference"), ("mutants", "--only", "long-bodies-cut")])
def test_an_interrupt_before_anything_is_stored_leaves_no_folder(
    arguments: Sequence[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    interrupted_at(0, monkeypatch)
    assert main([*arguments, "--traces", "5", "--out", "out"]) == INTERRUPTED
    assert told(capsys)[-2:] == ["nothing is stored yet", "partq: interrupted"]
    assert not Path("out").exists()


def test_the_records_of_the_counterexample_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert fuzz("--traces", "3", broker="canned_broker:Split") == 1
    out = capsys.readouterr().out
    assert "   1  p2 send m2 key=a -> ok @3ns-4ns\n" in out
    assert re.search(r"\.json: \d+ steps shrunk to \d,", out)
    assert "records" not in out


def test_standard_output_is_the_document_alone(capsys: pytest.CaptureFixture[str]) -> None:
    fuzz("--traces", "3", "--format", "json", broker="canned_broker:Split")
    captured = capsys.readouterr()
    assert json.loads(captured.out)["campaign"]["traces"] == 3
    assert "starting Spark" in captured.err
    assert "shrinking 1 of " in captured.err


def test_the_mutants_json_begins_with_the_outcome(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["mutants", "--only", "long-bodies-cut", "--traces", "20", "--out", "out", "--format", "json"]
    assert main(arguments) == 0
    document = json.loads(capsys.readouterr().out)
    names = ["schema", "broker", "exit", "killed", "survived", "wrongly_reported", "mutants", "profiles"]
    assert list(document) == [*names, "requirements"]
    assert (document["killed"], document["survived"], document["wrongly_reported"]) == (1, [], [])
    assert document["mutants"][0]["first"] >= 1
    Draft202012Validator(schemas.load("verdicts")).validate(document)


def test_a_mutant_that_is_killed_is_done_with(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["mutants", "--only", "long-bodies-cut", "--traces", "600", "--out", "out"]
    for more in ([], ["--resume"]):
        assert main([*arguments, *more]) == 0
        assert [one.traces for one in manifests(Path("out"))] == [mutants.CHUNK]


@pytest.mark.parametrize(("first", "code"), [(3, 0), (None, 1)])
def test_what_else_is_reported_of_a_mutant_is_counted_and_leaves_the_exit_code(
    first: int | None, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    row = Kill("long-bodies-cut", "RCV-1", "azure-premium", first, None, ("KEY-9",))
    monkeypatch.setattr(mutants, "_rows", lambda *_: [row])
    assert main(["mutants", "--only", row.mutant, "--traces", "1", "--out", "out"]) == code
    shown = capsys.readouterr().out
    assert f"{int(code == 0)} of 1 killed by their own rule; 1 reported under another one, too" in shown
    assert "KEY-9" in shown


def test_where_the_results_are_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert fuzz("--traces", "1", "--profile", "azure-premium", out="a b") in (0, 3)
    assert "stored in a b (partq report 'a b')\n" in capsys.readouterr().out
    assert main(["mutants", "--only", "long-bodies-cut", "--traces", "1", "--out", "m\x1b"]) in (0, 1)
    assert "stored in m\\x1b (partq report 'm\\x1b')\n" in capsys.readouterr().out


def test_a_mutant_that_there_is_not_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mutants", "--only", "long-bodies-cutt", "--traces", "1", "--out", "out"]) == 2
    (line,) = told(capsys)
    assert "did you mean long-bodies-cut?" in line


# --- progress ---------------------------------------------------------------------------------------


class Noted:
    """A watcher that keeps what it was told."""

    def __init__(self) -> None:
        self.states: list[CampaignState] = []

    def starting(self, state: CampaignState) -> None:
        self.states.append(state)

    def went(self, state: CampaignState) -> None:
        self.states.append(state)


def test_the_rate_at_the_end_is_the_last_that_was_shown(folder: Path) -> None:
    plan = Plan(even("canned_broker:Split", ("azure-premium",), 600), seed=7, length=4)
    noted = Noted()
    with campaign(plan, str(folder / "out"), "local", False, noted, wave=250) as done:
        assert noted.states[-1].rate == done.state.rate is not None
        assert noted.states[-1].violations == done.totals.violations == 600
    assert list(dict.fromkeys(state.stored for state in noted.states)) == [0, 250, 500, 600]


def test_what_was_stored_before_counts_but_not_in_the_rate(folder: Path) -> None:
    plan = Plan(even("canned_broker:Split", ("azure-premium",), 600), seed=7, length=4)

    class Interrupting(Noted):
        def went(self, state: CampaignState) -> None:
            if state.stored:
                raise KeyboardInterrupt

    with (
        pytest.raises(KeyboardInterrupt),
        campaign(plan, str(folder / "out"), "local", False, Interrupting(), wave=250),
    ):
        pass
    noted = Noted()
    with campaign(plan, str(folder / "out"), "local", True, noted, wave=250):
        pass
    stored = {(state.stored, state.violations, state.timed): None for state in noted.states}
    assert [state for state in stored if state[0] == state[1]] == [
        (0, 0, 0),
        (250, 250, 0),
        (500, 500, 250),
        (600, 600, 350),
    ]


def test_a_line_at_once_and_then_one_a_period(capsys: pytest.CaptureFixture[str]) -> None:
    now = [0.0]
    display = Display(9000, lambda: now[0])
    display.starting(CampaignState(0, 0))
    for second in range(int(2.5 * PERIOD)):
        now[0] = float(second)
        display.went(CampaignState(100 * second, second, 100 * second, float(second)))
    assert told(capsys) == [
        "starting Spark",
        "1,000 of 9,000 traces, 10 violations, 100 traces/s",
        "2,000 of 9,000 traces, 20 violations, 100 traces/s",
    ]


def test_counterexamples_are_numbered(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(campaigns, "PERIOD", 0.0)
    with shrinking() as tell:
        tell(1, 2, "ROUTE-2/\x1b[31m")
        tell(2, 2, "SEQ-4/gap")
    assert told(capsys) == ["shrinking 1 of 2: ROUTE-2/\\x1b[31m", "shrinking 2 of 2: SEQ-4/gap"]
