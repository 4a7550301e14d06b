"""Verdicts as JUnit XML and for GitHub Actions: what is in them; nothing that a broker says spoils them."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO
from itertools import count
from pathlib import Path
from typing import Final
from xml.etree import ElementTree as xml

import pytest
from rich.console import Console

from partq.conformance.frontends.cli import publishing
from partq.conformance.frontends.cli.app import main
from partq.conformance.frontends.cli.github import ANNOTATIONS, commands, publish, summary
from partq.conformance.frontends.cli.junit import RuleTimes, junit
from partq.conformance.frontends.cli.rule_outcomes import Outcome, RuleOutcome, rule_outcomes
from partq.conformance.frontends.cli.shown import show_open
from partq.conformance.verdict import Absent, Entry, Exit, Finding, Kind, State, Status, Verdict, match

P: Final = "azure-premium"
NASTY: Final = 'a]]>&<b c="d">\x00\x1b[31m\ud800\ufffe % , : | `x` \r\n::error::second'

FOUND: Final = Finding("RCV-3", NASTY, (1,), "detail", "allowed", "k")
ONE_OF: Final = Finding("RCV-6", "title", (1,), "detail", "allowed", "k", ("RCV-6", "RCV-9"))

VERDICTS: Final = {
    "RCV-1": Verdict(Status.PASS, 3),
    "RCV-3": Verdict(Status.VIOLATED, 1, (FOUND,)),
    "RCV-6": Verdict(Status.UNKNOWN, 1, (ONE_OF,), "detail", {}, ("RCV-6", "RCV-9")),
    "RCV-9": Verdict(Status.UNKNOWN, 1, (), "detail", {}, ("RCV-6", "RCV-9")),
    "SEQ-1": Verdict(Status.UNKNOWN, reason="too long"),
    "SEQ-2": Verdict(Status.NOT_EXERCISED),
    "SEQ-3": Verdict(Status.NOT_APPLICABLE, reason="the broker lacks peek"),
    "ROUTE-4": Verdict(Status.VIOLATED, 1, (FOUND._replace(requirement="ROUTE-4"),)),
}

KNOWN: Final = (
    Entry(Kind.VIOLATED, ("RCV-3",), "BUG-1"),
    Entry(Kind.VIOLATED, ("RCV-6", "RCV-9"), "BUG-2"),
    Entry(Kind.OPEN, ("SEQ-1",), "BUG-3"),
)


def outcomes(strict: bool = False, *entries: Entry) -> list[RuleOutcome]:
    known = match({P: VERDICTS}, entries) if entries else None
    return rule_outcomes({P: VERDICTS}, strict, known, lambda profile, finding: f"{finding.title}\nagain")


def by_rule(found: list[RuleOutcome]) -> dict[str, Outcome]:
    return {one.requirement: one.outcome for one in found}


def test_every_rule_has_an_outcome() -> None:
    assert by_rule(outcomes()) == {
        "RCV-1": Outcome.PASSED,
        "RCV-3": Outcome.FAILED,
        "RCV-6": Outcome.FAILED,
        "RCV-9": Outcome.FAILED,
        "SEQ-1": Outcome.ERROR,
        "SEQ-2": Outcome.SKIPPED,
        "SEQ-3": Outcome.SKIPPED,
        "ROUTE-4": Outcome.SKIPPED,
    }
    assert by_rule(outcomes(True))["ROUTE-4"] is Outcome.FAILED


def test_what_is_known_fails_nothing_and_says_why() -> None:
    found = {one.requirement: one for one in outcomes(False, *KNOWN)}
    assert {id for id, one in found.items() if one.outcome is Outcome.KNOWN} == {
        "RCV-3",
        "RCV-6",
        "RCV-9",
        "SEQ-1",
    }
    assert "BUG-1" in found["RCV-3"].message
    assert "BUG-2" in found["RCV-9"].message
    assert "BUG-3" in found["SEQ-1"].message


def document(found: list[RuleOutcome], code: int = Exit.VIOLATED) -> xml.Element:
    return xml.fromstring(junit(NASTY, found, code, NASTY, RuleTimes()))


def test_what_is_undecided_leads_to_the_finding_or_the_run() -> None:
    """Of a candidate of a finding there is nothing else to say; of others why, and where that was."""
    open = {id: Verdict(Status.UNKNOWN, 1, reason="detail") for id in ("RCV-6", "RCV-9")}
    other = {"SEQ-1": VERDICTS["SEQ-1"], "RCV-1": Verdict(Status.UNKNOWN, 1, reason="detail")}
    verdicts = {**open, "RCV-6": replace(open["RCV-6"], findings=(ONE_OF,)), **other}
    text = StringIO()
    numbers = {(P, "RCV-6"): [2], (P, "RCV-9"): [2]}
    out = Console(file=text, width=200)
    show_open(out, {P: verdicts}, None, numbers, lambda profile, rules: f"run of {rules[0]}")
    assert text.getvalue().split("\n\n") == [
        f"\nundecided: RCV-6, RCV-9\n  {P}: each may be the rule of finding 2",
        f"undecided: SEQ-1\n  {P}, run of SEQ-1\n  too long",
        f"undecided: RCV-1\n  {P}, run of RCV-1\n  detail\n",
    ]


def test_junit_counts_what_is_in_it() -> None:
    root = document(outcomes())
    counts = {name: root.get(name) for name in ("tests", "failures", "errors", "skipped")}
    assert counts == {"tests": "9", "failures": "4", "errors": "1", "skipped": "3"}
    suites = root.findall("testsuite")
    for name, value in counts.items():
        assert sum(int(suite.get(name, "")) for suite in suites) == int(value or "")
    assert [len(suite.findall("testcase")) for suite in suites] == [8, 1]
    case = root.find(".//testcase[@classname='partq.azure-premium']/failure/..")
    assert case is not None
    assert case.get("name") == "RCV-3 First deliveries in sequence order"


def test_junit_of_anything_that_a_broker_says_can_be_read() -> None:
    failure = document(outcomes()).find(".//failure")
    assert failure is not None
    assert '&<b c="d">' in (failure.text or "")
    assert "\\x00\\x1b[31m\\ud800\\ufffe" in (failure.text or "")
    assert (failure.text or "").endswith("\nagain")


@pytest.mark.parametrize("code", [Exit.CONFORMANT, Exit.VIOLATED, Exit.INCONCLUSIVE])
def test_junit_is_red_where_the_exit_code_is_not_0(code: int) -> None:
    root = document([one for one in outcomes() if one.outcome is Outcome.PASSED], code)
    assert bool(int(root.get("failures", "")) + int(root.get("errors", ""))) is (code != 0)


def test_annotations_are_one_line_each_and_escaped() -> None:
    gone = Absent(KNOWN[0], State.GONE, "no longer violated: remove it")
    lines = list(commands(outcomes(), [gone]))
    assert len(lines) == 5
    assert not any("\n" in line or "\r" in line for line in lines)
    assert lines[0].startswith("::error title=partq%3A RCV-3 (azure-premium)::RCV-3 violated: a]]>&<b")
    assert "%25 , : |" in lines[0]
    assert "%0A::error::second" in lines[0]
    assert lines[-1] == "::warning title=partq%3A baseline%3A RCV-3::no longer violated: remove it"


def test_no_more_annotations_of_a_level_than_are_shown() -> None:
    assert len(list(commands(outcomes() * 10, []))) == ANNOTATIONS


def test_the_summary_is_one_table() -> None:
    text = summary("mine", outcomes(False, KNOWN[0]), [Absent(KNOWN[2], State.SILENT, "why")], "BAD: x|y")
    assert text.startswith("### partq: BAD: x\\|y\n")
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert [row.split(" | ")[1] for row in rows[2:]] == ["RCV-6", "RCV-9", "SEQ-1", "RCV-3", "SEQ-1"]
    assert all(row.replace("\\|", "").count("|") == 5 for row in rows)
    assert "1 passed" in text


def test_github_hears_only_of_its_own_steps(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "summary.md"
    step = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(file)}
    publish("mine", outcomes(), (), "BAD", {**step, "GITHUB_ACTIONS": "false"})
    assert not file.exists()
    for _ in range(2):
        publish("mine://u:secret@host", outcomes(), (), "BAD", step)
    assert file.read_text(encoding="utf-8").count("### partq: BAD") == 2
    assert "secret" not in file.read_text(encoding="utf-8")
    captured = capsys.readouterr()
    assert captured.out == "", "there are the results"
    assert captured.err.count("::error ") == 8


def test_a_summary_that_cannot_be_written_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    step = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(tmp_path / "no" / "folder.md")}
    publish("mine", [], (), "BAD", step)
    assert "warning: GITHUB_STEP_SUMMARY" in capsys.readouterr().err


def test_a_program_s_time_is_split_among_the_rules_that_it_exercised() -> None:
    times = RuleTimes(iter((10.0, 14.0, 15.0, 16.5)).__next__)
    times.lap({P: {"RCV-1": Verdict(Status.PASS, 9, traces=1), "SEQ-2": Verdict(Status.NOT_EXERCISED)}})
    times.lap({P: {id: Verdict(Status.PASS, 1, traces=1) for id in ("RCV-1", "SEQ-1")}})
    root = xml.fromstring(junit("broker", outcomes(), 0, "CONFORMANT", times))
    timed = {str(one.get("name")).split()[0]: one.get("time") for one in root.iter("testcase")}
    assert {rule: time for rule, time in timed.items() if time != "0.000"} == {
        "RCV-1": "4.500",
        "SEQ-1": "0.500",
        "conclusion": "1.500",
    }
    assert root.get("time") == "6.500", "they add up to that of the command"


EXAMPLE: Final = Path(__file__).parents[4] / "examples/history.ndjson"


def test_a_command_measures_its_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = count()
    monkeypatch.setattr(publishing, "RuleTimes", lambda: RuleTimes(clock=lambda: next(seconds)))
    file = tmp_path / "junit.xml"
    assert main(["check", str(EXAMPLE), "--junit", str(file)]) == 0
    root = xml.fromstring(file.read_bytes())
    took = [
        one for one in root.iter("testcase") if one.get("name") != "conclusion" and one.get("time") != "0.000"
    ]
    skipped = [one.find("skipped") for one in took]
    assert len(took) > 20
    assert {one.get("message") for one in skipped if one is not None} == {"freedom seen"}
