"""What a project's continuous integration does: its settings, a baseline of what it knows, a beginning."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree as xml

import pytest
from jsonschema import Draft202012Validator

from partq.conformance import schemas
from partq.conformance.frontends.cli.app import main

WRONG = "mutant:second-oldest-first"  # violates RCV-3, in azure-premium
ALSO_WRONG = "mutant:abandon-not-counted"  # violates RCV-9, there too


class Ran(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.out)
        return found

    @property
    def last(self) -> str:
        return self.out.splitlines()[-1]


Partq = Callable[..., Ran]


@pytest.fixture
def partq(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Ran]:
    """Runs commands in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")

    def run(*arguments: object) -> Ran:
        code = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    return run


def process(*arguments: str) -> Ran:
    """Run a command as a process of its own: a process has but one Spark session, and the tests' has one."""
    command = Path(sys.executable).with_name("partq")
    ran = subprocess.run([command, *arguments], capture_output=True, text=True)
    return Ran(ran.returncode, ran.stdout, ran.stderr)


def one_error(ran: Ran) -> str:
    assert (ran.code, ran.out) == (2, "")
    (line,) = ran.err.strip().splitlines()
    return line


# --- the baseline -----------------------------------------------------------------------------------

RCV_3 = """schema = "partq.baseline/1"

[[violated]]
rule = "RCV-3"
reason = "BUG-1"
"""
WHOLE = ("--profile", "azure-premium", "--programs", "0")
ONE = ("--case", "one-by-one-in-order", "--profile", "azure-premium")


def agreeing(ran: Ran, word: str) -> dict[str, Any]:
    """The document, which says the same as exit code, conclusion, JUnit XML and schema."""
    document = ran.json
    Draft202012Validator(schemas.load("verdicts")).validate(document)
    assert document["exit"] == ran.code
    assert document["conclusion"].startswith(f"{word}: ")
    root = xml.fromstring(Path("junit.xml").read_bytes())
    assert bool(int(root.get("failures", "")) + int(root.get("errors", ""))) is (ran.code != 0)
    case = root.find(".//testcase[@name='conclusion']")
    assert case is not None
    assert [one.get("message") for one in case] == ([document["conclusion"]] if ran.code else [])
    return document


def failure_of(rule: str) -> str:
    """What the JUnit XML says of the rule, which fails."""
    cases = xml.fromstring(Path("junit.xml").read_bytes()).iter("testcase")
    return next(
        failure.text or ""
        for case in cases
        if case.get("name", "").startswith(rule)
        for failure in case.iter("failure")
    )


def test_what_is_known_passes_and_is_told(partq: Partq) -> None:
    Path("known.toml").write_text(RCV_3)
    assert partq("run", WRONG, *ONE).code == 1
    document = agreeing(
        partq("run", WRONG, *ONE, "--baseline", "known.toml", "--format", "json", "--junit", "junit.xml"),
        "NOTHING NEWLY VIOLATED",
    )
    assert "CONFORMANT" not in document["conclusion"]
    assert "1 known violation (RCV-3)" in document["conclusion"]
    assert document["requirements"]["RCV-3"]["status"] == "violated"
    (known,) = document["baseline"]["known"]
    assert (known["rules"], known["reason"]) == (["RCV-3"], "BUG-1")
    shown = partq("run", WRONG, *ONE, "--baseline", "known.toml")
    assert (shown.code, shown.last) == (0, document["conclusion"])
    assert "known: BUG-1" in shown.out
    assert "known.toml: [[violated]] 1: it has no condition, and so hides" in shown.err


def test_what_is_written_to_hold_always_is_warned_about(partq: Partq) -> None:
    ran = partq("run", WRONG, *ONE, "--write-baseline", "new.toml")
    (entry,) = tomllib.loads(Path("new.toml").read_text())["violated"]
    assert (ran.code, entry["condition"]) == (0, "always")
    assert "partq: warning: new.toml: RCV-3 (azure-premium, RCV-3/" in ran.err
    again = partq("run", WRONG, *ONE, "--write-baseline", "new.toml")
    assert "warning" not in again.err, "it has been said"


def test_an_entry_for_another_cause_does_not_hide_a_violation(partq: Partq) -> None:
    Path("known.toml").write_text(f'{RCV_3}cause = "RCV-3/other"\n')
    ran = partq("run", WRONG, *ONE, "--baseline", "known.toml", "--format", "json", "--junit", "junit.xml")
    assert ran.code == 1
    document = agreeing(ran, "NOT CONFORMANT")
    assert document["baseline"]["known"] == []
    assert {tuple(one["rules"]) for one in document["baseline"]["new"]} == {("RCV-3",)}


def test_of_a_part_of_the_suite_it_is_not_said_that_something_has_gone(partq: Partq) -> None:
    Path("known.toml").write_text(RCV_3)
    options = ("--baseline", "known.toml", "--format", "json", "--junit", "junit.xml")
    ran = partq("run", "reference", *ONE, *options)
    assert ran.code == 0
    document = agreeing(ran, "NOTHING VIOLATED")
    assert document["conclusion"].endswith("1 of the baseline's entries not met")
    assert "part of the suite" in document["baseline"]["silent"][0]["why"]


@pytest.mark.slow
def test_histories_are_held_against_a_baseline_too(partq: Partq) -> None:
    for broker in (WRONG, ALSO_WRONG, "reference"):
        partq("run", broker, *WHOLE, "--out", broker[-5:], "--save-histories")
    first, both, good = ([*Path(name).glob("histories/*/*.ndjson")] for name in ("first", "unted", "rence"))
    options = ("--format", "json", "--junit", "junit.xml")
    written = agreeing(
        partq("check", *first, *options, "--write-baseline", "known.toml"), "NOTHING NEWLY VIOLATED"
    )
    assert "known violation" in written["conclusion"]
    known = (*options, "--baseline", "known.toml")
    agreeing(partq("check", *first, *known, "--order"), "NOTHING NEWLY VIOLATED")
    new = agreeing(partq("check", *first, *both, *known), "NOT CONFORMANT")
    assert ["RCV-9"] in [one["rules"] for one in new["baseline"]["new"]]
    assert "again: partq check unted/histories/azure-premium/" in failure_of("RCV-9")
    none = agreeing(partq("check", *good, *known), "CONFORMANT")
    assert "may be only a part of the suite" in none["baseline"]["silent"][0]["why"]
    unknown = agreeing(partq("check", *first, *options, "--order"), "NOT CONFORMANT")
    assert "the exact judge rejects" in unknown["conclusion"]


@pytest.mark.slow
@pytest.mark.xdist_group("spark")
def test_so_are_campaigns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    options = ("--traces", "300", "--profile", "azure-premium", "--format", "json", "--junit", "junit.xml")
    written = process("fuzz", WRONG, *options, "--write-baseline", "known.toml", "--out", "one")
    agreeing(written, "NOTHING NEWLY VIOLATED")
    assert process("report", "one").code == 0
    report = Path("one/report.html").read_text()
    assert "Nothing newly violated" in report
    assert "<span>--baseline</span> <span>known.toml</span>" in report
    gone = process("fuzz", "reference", *options, "--baseline", "known.toml", "--out", "two")
    assert "RCV-3" in agreeing(gone, "BASELINE OUT OF DATE")["conclusion"]
    wanted = process("fuzz", "reference", *options, "--require", "PEEK-1", "--out", "four")
    assert json.loads(Path("four/campaign.json").read_text())["exit"] == wanted.code
    new = process("fuzz", ALSO_WRONG, *options, "--baseline", "known.toml", "--out", "three")
    assert ["RCV-9"] in [one["rules"] for one in agreeing(new, "NOT CONFORMANT")["baseline"]["new"]]
    assert "again: partq replay three/counterexamples/" in failure_of("RCV-9")


@pytest.mark.slow
def test_from_a_baseline_that_was_written_to_a_new_defect_and_to_none(partq: Partq) -> None:
    """Written for one defect it passes that one, fails on another, and is out of date where there is none."""
    whole = (*WHOLE, "--format", "json", "--junit", "junit.xml")
    written = partq("run", WRONG, *whole, "--write-baseline", "known.toml")
    entries = tomllib.loads(Path("known.toml").read_text())
    assert "RCV-3" in [entry["rule"] for entry in entries["violated"]]
    assert {entry["reason"] for entry in entries["violated"]} == {"TODO: say why"}
    first = agreeing(written, "NOTHING NEWLY VIOLATED")

    text = Path("known.toml").read_text()
    again = partq("run", WRONG, *whole, "--write-baseline", "known.toml")
    assert again.json["conclusion"] == first["conclusion"]
    assert Path("known.toml").read_text() == text, "there is nothing to add"

    new = agreeing(partq("run", ALSO_WRONG, *whole, "--baseline", "known.toml"), "NOT CONFORMANT")
    assert new["exit"] == 1
    assert ["RCV-9"] in [one["rules"] for one in new["baseline"]["new"]]
    assert "RCV-3" not in str(new["baseline"]["new"])

    gone = agreeing(partq("run", "reference", *whole, "--baseline", "known.toml"), "BASELINE OUT OF DATE")
    assert gone["exit"] == 3
    assert "RCV-3 (azure-premium, RCV-3/first deliveries) no longer violated: remove it" in gone["conclusion"]

    both = agreeing(
        partq("run", ALSO_WRONG, *whole, "--write-baseline", "known.toml"), "BASELINE OUT OF DATE"
    )
    assert both["baseline"]["new"] == []
    assert Path("known.toml").read_text().startswith(text), "what people wrote stays"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--baseline", "none.toml"), "none.toml: no such file; --write-baseline none.toml writes one"),
        (("--baseline", "."), "Is a directory"),
        (("--baseline", "bad.toml"), "bad.toml: schema: expected 'partq.baseline/1'"),
        (("--write-baseline", "bad.toml"), "bad.toml: schema: expected"),
        (("--write-baseline", "no/folder.toml"), "no: no such folder"),
        (("--baseline", "a", "--write-baseline", "b"), "give --baseline or --write-baseline"),
        (("--junit", "bad.toml/x.xml"), "bad.toml/x.xml: "),
    ],
)
def test_what_is_wrong_is_told_before_anything_runs(
    partq: Partq, options: tuple[str, ...], said: str
) -> None:
    Path("bad.toml").write_text("a = 1")
    assert said in one_error(partq("run", "reference", *ONE, *options))


def test_a_failure_in_the_xml_says_how_to_see_it_again(partq: Partq) -> None:
    partq("run", WRONG, *ONE, "--junit", "new/junit.xml")
    failure = xml.fromstring(Path("new/junit.xml").read_bytes()).find(".//failure")
    assert failure is not None
    assert "expected: " in (failure.text or "")
    assert (failure.text or "").endswith(
        "again: partq run mutant:second-oldest-first --profile azure-premium --case one-by-one-in-order"
    )
    partq("run", WRONG, *ONE, "--junit", "junit.xml", "--out", "out")
    failure = xml.fromstring(Path("junit.xml").read_bytes()).find(".//failure")
    assert failure is not None
    command = (failure.text or "").rpartition("again: ")[2]
    assert command.startswith("partq replay out/counterexamples/")
    assert partq(*command.split()[1:]).code == 1


def test_a_report_says_no_more_than_the_run(partq: Partq) -> None:
    Path("known.toml").write_text(RCV_3)
    ran = partq("run", WRONG, *ONE, "--baseline", "known.toml", "--out", "out")
    word, _, said = ran.last.partition(": ")
    assert partq("report", "out").code == 0
    page = Path("out/report.html").read_text()
    assert word.capitalize() in page
    assert said in page
    assert "none violated" not in page
    assert ">Conformant<" not in page


def test_json_is_not_spoilt_on_github(partq: Partq, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary.md")
    ran = partq("run", WRONG, *ONE, "--format", "json")
    assert ran.json["exit"] == 1
    assert "::error title=partq%3A RCV-3" in ran.err
    assert Path("summary.md").read_text().startswith("### partq: NOT CONFORMANT")


# --- [tool.partq] -----------------------------------------------------------------------------------


def test_settings_are_taken_where_the_command_line_says_nothing(partq: Partq) -> None:
    Path("known.toml").write_text(RCV_3)
    Path("pyproject.toml").write_text(
        f'[tool.partq]\nbroker = "{WRONG}"\nprofile = "azure-premium"\nprograms = 0\nseed = 9\n'
        'strict = true\nbaseline = "known.toml"\nrequire = "100%"\n'
    )
    case = ("--case", "one-by-one-in-order")
    document = partq("run", *case, "--format", "json", "--out", "a").json
    assert document["broker"] == WRONG
    assert document["strict"] is True
    assert document["baseline"]["file"] == "known.toml"
    assert document["exit"] == 0, "what is required is required of the whole suite"
    options = json.loads(Path("a/verdicts.json").read_text())["options"]
    assert "--seed 9" in " ".join(options)
    other = partq("run", *case, "--no-strict", "--seed", "3", "--format", "json", "--out", "b").json
    assert other["strict"] is False
    assert "--seed 3" in " ".join(json.loads(Path("b/verdicts.json").read_text())["options"])
    assert partq("run", *case, "--require", "100%").code == 3
    assert partq("run", "--rule", "RCV-3", "--programs", "1").code == 0, "nor is it of a run about some rules"


def test_they_are_not_for_another_broker(partq: Partq) -> None:
    Path("pyproject.toml").write_text('[tool.partq]\nbroker = "mine:X"\nbaseline = "none.toml"\n')
    ran = partq("run", "reference", *ONE)
    assert ran.code == 0
    assert "[tool.partq] is about mine:X: not used" in ran.err


def test_no_broker_anywhere_is_told(partq: Partq) -> None:
    assert "which broker? Give BROKER, or broker in [tool.partq]" in one_error(partq("run"))
    Path("pyproject.toml").write_text("[tool.partq]\nbrokr = 'x'\n")
    assert "unknown key 'brokr'; did you mean broker?" in one_error(partq("run"))


# --- partq init -------------------------------------------------------------------------------------


def test_a_beginning_overwrites_nothing(partq: Partq) -> None:
    Path("pyproject.toml").write_text('[project]\nname = "mine"')
    Path("my_broker.py").write_text("# mine\n")
    ran = partq("init")
    assert ran.code == 0
    assert Path("my_broker.py").read_text() == "# mine\n"
    assert "left as it is: my_broker.py" in ran.out
    said = tomllib.loads(Path("pyproject.toml").read_text())
    assert said["project"] == {"name": "mine"}
    assert said["tool"]["partq"]["broker"] == "my_broker:MyBroker"
    before = {file: file.read_bytes() for file in Path().rglob("*") if file.is_file()}
    assert partq("init").out.count("left as it is") == 4
    assert {file: file.read_bytes() for file in Path().rglob("*") if file.is_file()} == before


@pytest.mark.parametrize("text", ["= 1", "tool = {}", '[tool]\npartq = "x"\n[tool.partq.y]'])
def test_a_pyproject_that_takes_no_table_is_told_before_anything_is_written(partq: Partq, text: str) -> None:
    Path("pyproject.toml").write_text(text)
    assert "cannot take a table [tool.partq]" in one_error(partq("init"))
    assert [file.name for file in Path().iterdir()] == ["pyproject.toml"]


def test_a_beginning_elsewhere_says_where(partq: Partq) -> None:
    assert "\n  cd new/project\n" in partq("init", "new/project").out
    assert "my_broker.py" in one_error(partq("init", "new/project/my_broker.py"))


@pytest.mark.slow
def test_a_beginning_runs(partq: Partq) -> None:
    assert partq("init").code == 0
    ran = subprocess.run([sys.executable, "-m", "partq", "run"], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "CONFORMANT: all 8 binding rules" in ran.stdout
    tests = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"]
    done = subprocess.run(tests, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "2 passed" in done.stdout


def test_a_report_believes_no_exit_code_that_the_baseline_does_not_explain(partq: Partq) -> None:
    Path("known.toml").write_text(RCV_3)
    partq("run", WRONG, *ONE, "--baseline", "known.toml", "--out", "out")
    file = Path("out/verdicts.json")
    data = json.loads(file.read_text())
    data["baseline"]["known"] = []
    file.write_text(json.dumps(data))
    assert partq("report", "out").code == 2
