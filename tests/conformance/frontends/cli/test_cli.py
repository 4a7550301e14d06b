"""The commands as a user meets them: what is printed, where, and with which exit code."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any, Final

import pytest
from jsonschema import Draft202012Validator

from partq.conformance import schemas
from partq.conformance.evaluation import counterexample, decision
from partq.conformance.evaluation.decision import Decider
from partq.conformance.evaluation.suite import PROGRAMS_LIVE, PROGRAMS_SIMULATED
from partq.conformance.frontends.campaign.plan import Chunk
from partq.conformance.frontends.campaign.work import run_chunk
from partq.conformance.frontends.cli.app import BROKEN, INTERRUPTED, UNREAD, main
from partq.conformance.frontends.cli.streams import console
from partq.conformance.frontends.cli.table import summary
from partq.conformance.history import History
from partq.conformance.history.codec import dumps as dumps_history
from partq.conformance.history.codec import read_history, write_history
from partq.conformance.history.notation import history
from partq.conformance.oracle import long_histories
from partq.conformance.oracle.judge import Judged, Judgement
from partq.conformance.screens.protocol import Screen
from partq.conformance.verdict import Inspection, Status, Verdict, conclusion, coverage
from partq.conformance.workload.cases.table import ALL_CASES
from partq.conformance.workload.program import dumps, from_json
from partq.model.requirements import PROFILE_COLUMNS, Level, catalogue

BROKERS = Path(__file__).parents[2] / "adapters"


class Ran:
    """What a command left behind."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    @property
    def flat(self) -> str:
        """Standard output without the breaks of lines."""
        return " ".join(self.out.split())

    @property
    def json(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.out)
        return found


Partq = Callable[..., Ran]


@pytest.fixture
def partq(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Partq]:
    """Runs commands in a user's folder, which holds the module `canned_broker`."""
    (tmp_path / "canned_broker.py").write_bytes((BROKERS / "canned_broker.py").read_bytes())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if Path(entry) != BROKERS])
    monkeypatch.delitem(sys.modules, "canned_broker", raising=False)

    def run(*arguments: object) -> Ran:
        code = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    yield run
    sys.modules.pop("canned_broker", None)


def one_error(ran: Ran) -> str:
    """The text of the one line that an expected error is."""
    assert ran.code == 2
    assert ran.out == ""
    lines = ran.err.strip().splitlines()
    assert len(lines) == 1, ran.err
    assert lines[0].startswith("partq: error: ")
    return lines[0]


def last_line(ran: Ran) -> str:
    return ran.out.splitlines()[-1]


def run_canned(partq: Partq, name: str, *more: object) -> Ran:
    return partq("run", f"canned_broker:{name}", "--case", "same-key", *more)


# --- run --------------------------------------------------------------------------------------------


def test_a_conforming_broker(partq: Partq) -> None:
    ran = run_canned(partq, "Canned")
    assert ran.code == 0
    assert "violated" not in ran.flat
    assert "┃" not in ran.out
    assert "showed" not in ran.out
    assert "ROUTE-1 │ MUST │ Equal keys, same partition" in run_canned(partq, "Canned", "-v").flat


def test_what_is_wrong_comes_first_and_rows_point_to_it(partq: Partq) -> None:
    ran = run_canned(partq, "Split", "--verbose")
    assert ran.out.splitlines()[2].startswith("1. ")
    broken = re.search(r"1\. ([A-Z]+-\d+) violated", ran.out)
    assert broken
    assert ran.out.index(broken[0]) < ran.out.index("┃ ID") < ran.out.index(" rules pass, ")
    row = next(line for line in ran.out.splitlines() if line.startswith(f"│ {broken[1]} "))
    below = ran.out.splitlines()[ran.out.splitlines().index(row) + 1]
    assert "│ violated" in row and "finding 1" in below


def test_a_violation_is_told_with_its_witness(partq: Partq) -> None:
    ran = run_canned(partq, "Split")
    assert ran.code == 1
    assert "violated" in ran.flat
    assert "expected:" in ran.flat
    assert "azure-premium, same-key" in ran.out
    assert "p1 send m1 key=a -> ok @1ns-2ns" in ran.out


def test_a_should_row_fails_only_if_strict(partq: Partq) -> None:
    assert run_canned(partq, "Heap").code == 0
    assert "ROUTE-4 violated" in run_canned(partq, "Heap").out
    assert run_canned(partq, "Heap", "--strict").code == 1


def test_programs_at_once_where_the_adapter_allows_it(partq: Partq) -> None:
    cases = ("--case", "same-key", "--case", "numbers")
    assert partq("run", "canned_broker:Sociable", *cases).code == 3
    assert partq("run", "canned_broker:Solitary", *cases, "--jobs", 1).code == 3
    asked = partq("run", "canned_broker:Refusing", *cases, "--jobs", 2)
    assert asked.code == 3
    assert "one program at a time: the adapter does not say that more may run at once" in asked.err
    assert "at a time" not in partq("run", "canned_broker:Refusing", *cases).err


def test_what_an_adapter_does_wrong_is_told_once_and_counted(partq: Partq) -> None:
    ran = partq("run", "canned_broker:Clientless", "--case", "same-key", "--case", "numbers")
    assert ran.code == 3
    assert ran.err.count("nothing is stored: --out FOLDER keeps what is found") == 1
    lines = [line for line in ran.err.splitlines() if "c1: connect answered" in line]
    assert lines == [
        "same-key: c1: connect answered NoneType, which is no Client",
        "in 2 runs: c1: connect answered NoneType, which is no Client",
    ]


OPTIONAL: Final = (Level.SHOULD, Level.MAY)


def test_counts_agree_with_their_nouns() -> None:
    passes, not_exercised = Verdict(Status.PASS, 1), Verdict(Status.NOT_EXERCISED)
    one = {"RCV-1": passes, "RCV-2": not_exercised}
    assert str(summary({"mine": one})) == "1 rule passes, 1 not exercised"
    assert str(summary({"mine": {**one, "RCV-7": passes}})) == "2 rules pass, 1 not exercised"
    should, may = (next(id for id, row in catalogue().items() if row.level is level) for level in OPTIONAL)
    more = {**one, should: passes, may: Verdict(Status.SEEN, 1)}
    said = "2 rules pass (1 MUST, 1 SHOULD), 1 permission used (MAY), 1 not exercised"
    assert str(summary({"mine": more})) == said
    assert conclusion({"mine": {"RCV-1": passes}}, False)[1] == (
        "CONFORMANT: the one binding rule that is checked held"
    )
    assert str(coverage({"RCV-2": not_exercised}, {"RCV-2"})) == "0 of 1 binding rule exercised"


def test_nothing_exercised_is_no_success(partq: Partq) -> None:
    ran = run_canned(partq, "Silent")
    assert ran.code == 3
    assert last_line(ran) == "INCONCLUSIVE: nothing was exercised"


@pytest.mark.parametrize(
    ("name", "more", "line"),
    [
        ("Canned", (), "NOTHING VIOLATED: 11 of 66 binding rules exercised"),
        ("Split", (), "NOT CONFORMANT: ROUTE-2 violated"),
        ("Heap", (), "NOTHING VIOLATED: 8 of 64 binding rules exercised; violated, but no MUST: ROUTE-4"),
        ("Heap", ("--strict",), "NOT CONFORMANT: ROUTE-4 violated"),
        (
            "Any",
            ("--profile", "azure-premium", "--profile", "azure-flat"),
            "INCONCLUSIVE: nothing was exercised (azure-flat)",
        ),
    ],
)
def test_the_last_line_says_it_in_words(partq: Partq, name: str, more: tuple[str, ...], line: str) -> None:
    ran = run_canned(partq, name, *more)
    assert last_line(ran) == line
    assert run_canned(partq, name, *more, "--format", "json").json["conclusion"] == line


def test_conformant_is_only_who_was_put_to_every_test(partq: Partq) -> None:
    ran = partq("run", "reference", "--profile", "azure-flat")
    assert ran.code == 0
    assert last_line(ran) == "CONFORMANT: all 36 binding rules that are checked held"


def test_the_numbers_of_one_output_agree(partq: Partq) -> None:
    profiles = ("azure-premium", "solace")
    ran = partq(
        "run", "reference", "--programs", "3", *(word for one in profiles for word in ("--profile", one))
    )
    for profile in profiles:
        (counts,) = re.findall(rf"{profile}: (\d+ rules pass(?:[^:]*, \d+ not \w+(?: yet)?)+)", ran.flat)
        assert sum(map(int, re.findall(r"(\d+) [a-z]", counts))) == len(catalogue())
        (must,) = re.findall(r"\d+ rules pass \((\d+) MUST, \d+ SHOULD\)", counts)
        assert f"{profile} {must}" in last_line(ran)


ELSEWHERE: Final = "not a rule of the profile azure-premium"


@pytest.mark.parametrize(
    ("require", "code", "line"),
    [
        (("ROUTE-2",), 0, "NOTHING VIOLATED: 11 of 66 binding rules exercised"),
        (("SEQ-5", "16%"), 3, "INCONCLUSIVE: SEQ-5 is required, but was not exercised"),
        (("25%",), 3, "INCONCLUSIVE: 11 of 66 binding rules exercised, 25% are required"),
        (("REB-1",), 3, f"INCONCLUSIVE: REB-1 is required, but does not apply ({ELSEWHERE})"),
    ],
)
def test_what_is_required_has_to_be_exercised(
    partq: Partq, require: tuple[str, ...], code: int, line: str
) -> None:
    ran = run_canned(partq, "Canned", *(word for one in require for word in ("--require", one)))
    assert (ran.code, last_line(ran)) == (code, line)


@pytest.mark.parametrize("word", ["SEQ-99", "120%", "%", "-1%", "50"])
def test_what_cannot_be_required_is_refused_in_one_line(partq: Partq, word: str) -> None:
    ran = run_canned(partq, "Canned", "--require", word)
    assert ran.code == 2
    assert f"--require: {word!r} is neither a rule" in ran.err


def test_each_count_is_named(partq: Partq) -> None:
    ran = run_canned(partq, "Split", "-v")
    assert "exercised ┃ violations" in ran.flat
    assert "azure-premium, same-key, 1 violation\n" in ran.out
    assert " rules pass, 1 violated" in ran.out
    assert ran.out.splitlines()[0] == "What canned_broker:Split showed:"


def test_a_narrow_terminal_loses_no_column(partq: Partq, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("azure-standard", "azure-premium", "azure-flat")
    asked = ["-v", *(word for name in names for word in ("--profile", name))]
    wide = run_canned(partq, "Any", *asked)
    assert " ┃ ".join(names) in wide.flat
    monkeypatch.setenv("COLUMNS", "56")
    narrow = run_canned(partq, "Any", *asked)
    assert "…" not in narrow.out
    assert max(map(len, narrow.out.splitlines())) <= 56
    assert all(f"\n{name}\n┏" in narrow.out for name in names)
    assert narrow.flat.count("┃ status") == 3


def test_answers_that_no_history_can_hold_are_no_success(partq: Partq) -> None:
    ran = run_canned(partq, "Lying", "--programs", "0")
    assert ran.code == 3
    assert last_line(ran).startswith("INCONCLUSIVE: ")
    assert (
        "answers of the adapter were unusable: first that to receive in same-key (azure-premium)" in ran.out
    )
    assert "receive answered a dict where a Delivery belongs" in ran.err


def test_a_live_violation_is_told_when_its_case_ends(partq: Partq) -> None:
    ran = run_canned(partq, "Forging", "--programs", "0", "--out", "kept")
    assert ran.code == 1
    assert "azure-premium: cases: 1, seeded programs: 0" in ran.err
    assert "azure-premium: same-key (1 of 1): RCV-1 violated" in ran.err
    assert "RCV-1-phantom.json, shrunk from 14 steps to 1 (partq replay kept/counterexamples/" in ran.out


def test_a_simulated_run_tells_its_first_violation_and_where_it_is(
    partq: Partq, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("partq.conformance.frontends.cli.run_progress.OFTEN", 0.0)
    ran = run_canned(partq, "Split", "--programs", "2")
    lines = ran.err.splitlines()
    assert lines == [
        "azure-premium: cases: 1, seeded programs: 2",
        "azure-premium: first violation: same-key (1 of 3): ROUTE-2 violated",
        "azure-premium: program 0 (2 of 3)",
        "azure-premium: program 1 (3 of 3)",
    ]


def test_what_was_stored_is_said(partq: Partq) -> None:
    kept = run_canned(partq, "Split", "--out", "kept")
    file = "kept/counterexamples/azure-premium/ROUTE-2-apart.json"
    assert f"counterexample {file}, " in kept.out
    assert f"(partq replay {file} --broker canned_broker:Split)" in kept.out
    assert "verdicts in kept/verdicts.json (partq report kept)" in kept.out
    assert "--out" in run_canned(partq, "Split").out
    assert "--out" not in run_canned(partq, "Canned").out
    listed = run_canned(partq, "Split", "--out", "more", "--format", "json").json
    assert listed["out"] == "more"
    assert listed["counterexamples"] == [file.replace("kept", "more")]


def test_a_terminal_is_told_what_may_be_done_next(partq: Partq, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the last line of standard output, on standard error; nowhere else."""
    run = ("run", "mutant:route-by-body", "--profile", "azure-premium", "--case", "same-key")
    assert "next:" not in partq(*run).err
    monkeypatch.setattr(console, "_force_terminal", True)
    ran = partq(*run)
    assert ran.err.endswith("next: partq explain ROUTE-2\n")
    assert last_line(ran).startswith("NOT CONFORMANT: ROUTE-2 (")
    file = "kept/counterexamples/azure-premium/ROUTE-2-apart.json"
    assert partq(*run, "--out", "kept").err.endswith(f"next: partq replay {file}; partq report kept\n")
    assert "next:" not in partq(*run, "--format", "json").err
    held = ("run", "reference", *run[2:])
    assert re.search(r"next: -v lists the rules; \d+ of \d+ do not apply\n$", partq(*held).err)
    assert "next:" not in partq(*held, "-v").err


def test_what_a_broker_says_does_not_steer_the_terminal(partq: Partq) -> None:
    ran = run_canned(partq, "Markup")
    assert ran.code == 1
    assert "[red]a[/red]" in ran.out
    assert "\x1b" not in ran.out
    assert "\x9b" not in ran.out


def test_json_fits_its_schema_and_the_exit_code(partq: Partq) -> None:
    validate = Draft202012Validator(schemas.load("verdicts")).validate
    for name, code in (("Canned", 0), ("Split", 1), ("Silent", 3)):
        ran = run_canned(partq, name, "--format", "json")
        validate(ran.json)
        assert ran.code == ran.json["exit"] == code
        assert ran.json["broker"] == f"canned_broker:{name}"
        assert list(ran.json["profiles"]) == ["azure-premium"]
        assert set(ran.json["requirements"]) == set(catalogue())
    found = run_canned(partq, "Split", "--format", "json").json["requirements"]
    violated = [row for row in found.values() if row["status"] == "violated"]
    assert violated
    assert all(finding["witness"] and finding["allowed"] for row in violated for finding in row["findings"])


def test_json_of_several_profiles_merges_them(partq: Partq) -> None:
    profiles = ("--profile", "azure-premium", "--profile", "azure-standard")
    ran = run_canned(partq, "Any", *profiles, "--format", "json")
    assert list(ran.json["profiles"]) == ["azure-premium", "azure-standard"]
    times = [rows["ROUTE-1"]["exercised"] for rows in ran.json["profiles"].values()]
    assert ran.json["requirements"]["ROUTE-1"]["exercised"] == sum(times) > 0


def test_without_a_profile_all_that_fit_are_run(partq: Partq) -> None:
    ran = run_canned(partq, "Any", "--format", "json")
    assert set(ran.json["profiles"]) == set(ALL_CASES["same-key"].profiles)
    shown = run_canned(partq, "Any")
    assert "azure-standard" in shown.out
    assert "azure-premium" in shown.out


def test_rows_nobody_checks_are_named(partq: Partq) -> None:
    solace = ("run", "reference", "--profile", "solace", "--case", "valid-requests")
    ran = partq(*solace, "-v")
    assert "not implemented yet: " in ran.flat
    folded = ran.flat.split("not implemented yet: ")[1].split()
    assert "REB-16" in folded
    every = partq(*solace, "--all")
    assert all(requirement in every.out for requirement in catalogue())
    assert "nothing checks it yet" in every.flat


def test_programs_of_a_seed_are_run_after_the_cases(partq: Partq) -> None:
    ran = run_canned(partq, "Canned", "--programs", "3", "--seed", "5", "--format", "json")
    assert ran.json["requirements"]["ROUTE-1"]["exercised"] == 4


def test_out_keeps_verdicts_counterexamples_and_histories(partq: Partq, tmp_path: Path) -> None:
    ran = run_canned(partq, "Split", "--out", "kept", "--save-histories")
    assert ran.code == 1
    stored = json.loads((tmp_path / "kept" / "verdicts.json").read_text())
    assert stored["exit"] == 1
    (saved,) = (tmp_path / "kept" / "histories" / "azure-premium").iterdir()
    assert saved.name == "same-key.ndjson"
    assert len(read_history(saved)) == 3
    examples = list((tmp_path / "kept" / "counterexamples").glob("**/*.json"))
    assert examples
    for file in examples:
        assert counterexample.read(file).finding.requirement in file.name
    assert "not empty" in one_error(run_canned(partq, "Split", "--out", "kept"))


def test_one_of_several_rules_is_shown_stored_and_replayed(partq: Partq) -> None:
    case = next(case.name for case in ALL_CASES.values() if "azure-flat" in case.profiles)
    ran = partq("run", "canned_broker:Overtaken", "--case", case, "--out", "kept")
    assert ran.code == 1
    assert f"1. RCV-3 or RCV-2 violated\n   azure-flat, {case}, 1 violation\n" in ran.out
    assert last_line(ran) == "NOT CONFORMANT: RCV-3 or RCV-2 violated"
    file = "kept/counterexamples/azure-flat/RCV-3-receive-ok.json"
    command = ("replay", file, "--broker", "canned_broker:Overtaken")
    assert f"counterexample {file}, shrunk from " in ran.out
    assert f"(partq {' '.join(command)})" in ran.out
    assert partq(*command).code == 1
    assert partq("report", "kept").code == 0


# --- every way to get it wrong ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "fragment"),
    [
        (("run",), "which broker?"),
        (("run", "reference", "--nonsense"), "--nonsense"),
        (("run", "reference", "--programs", "x"), "--programs"),
        (("run", "reference", "--format", "xml"), "--format"),
        (("dance",), "dance"),
        (("check",), "Missing argument"),
        (("list",), "Missing argument 'KIND'. Choose from: brokers, profiles, cases"),
        (("run", "nosuch"), "known: reference"),
        (("run", "rabbitmq://me:***@host/"), "the password is not stored"),
        (("run", "mutant:nosuch"), "nosuch"),
        (("run", "canned_broker:Nothing"), "has no 'Nothing'"),
        (("run", "canned_broker:NotABroker"), "is not a subclass of"),
        (("run", "no_such_module:Broker"), "cannot import"),
        (("run", "canned_broker:Unmade"), "no such file"),
        (("run", "canned_broker:Gone"), "start the broker first"),
        (("run", "canned_broker:Broken"), "ZeroDivisionError: oh dear"),
        (("run", "canned_broker:Exits"), "cannot make canned_broker:Exits: SystemExit: 4"),
        (("run", "canned_broker:Profiled"), "Profiled.profiles(): unknown profile 'azure-best'"),
        (("run", "canned_broker:Secretive"), "Secretive.profiles(): KeyError: 'which?'"),
        (("run", "canned_broker:Boasting"), "ZeroDivisionError: nothing at all"),
        (("run", "canned_broker:Jammed", "--case", "same-key"), "Jammed.open raised OSError: jammed"),
        (("replay", "program.json", "--broker", "canned_broker:Jammed"), "open raised OSError: jammed"),
        (
            ("search", "canned_broker:Jammed", "--examples", "1", "--length", "1"),
            "open raised OSError: jammed",
        ),
        (("run", "canned_broker:Canned", "--profile", "azure-premum"), "Did you mean azure-premium?"),
        (("run", "canned_broker:Canned", "--case", "same-keys"), "did you mean same-key"),
        (
            ("run", "canned_broker:Canned", "--case", "surplus-flow-stands-by"),
            "none of these cases is for azure-premium; those that are: partq list cases --profile az",
        ),
        (
            ("run", "canned_broker:Any", "--case", "same-key", "--profile", "partitioned-queue"),
            "none of these cases is for partitioned-queue",
        ),
        (("run", "canned_broker:Canned", "--save-histories"), "--out"),
        (("run", "canned_broker:Canned", "--out", "canned_broker.py"), "canned_broker.py"),
        (("check", "absent.ndjson"), "absent.ndjson"),
        (("check", "."), "is a folder: give its files, such as *.ndjson"),
        (("check", "canned_broker.py"), "canned_broker.py:1: not JSON"),
        (("check", "canned_broker.py", "--profile", "solce"), "Did you mean solace?"),
        (("explain", "ROUT-1"), "did you mean ROUTE-1"),
        (("run", "canned_broker:Canned", "--case", "nosuchcase"), "partq list cases"),
        (("run", "mutant:"), "partq list mutants names all"),
        (("run", "mutant:route"), "did you mean route-by-body or "),
        (("mutants",), "Missing option '--traces'"),
        (("run", "canned_broker.Canned"), "did you mean canned_broker:Canned?"),
        (("run", "canned_broker.py:Canned"), "without .py: canned_broker:Canned"),
        (("run", "canned_broker.py"), "say canned_broker:ItsName"),
        (("explain", "same-kez"), "did you mean same-key?"),
        (("run", "reference", "--profile", "rabbitmq"), "the reference broker has no profile rabbitmq"),
        (("run", "reference", "--jobs", "0"), "must be at least 1 (see partq run --help)"),
        (("run", "reference", "--format", "yaml"), "'--format': 'yaml' is not one of 'table', 'json' (see"),
        (("fuzz", "reference", "--traces", "abc", "--out", "x"), "'--traces': not a whole number (see"),
        (("run", "rabbitmq://host/?partitions=0"), "partitions=0: partitions is a number from 1 to 1024"),
        (("run", "rabbitmq://host/?type=none"), "type=none: type is classic or quorum"),
        (("run", "rabbitmq://host/?typ=quorum"), "typ is no option; known: type, cancel, partitions"),
        (("report", "canned_broker.py"), "'canned_broker.py' is a file"),
        (("explain", "rou"), "no group of rules 'ROU'; did you mean ROUTE?"),
        (("explain",), "--all"),
        (("explain", "ROUTE-1", "--all"), "--all"),
    ],
)
def test_an_expected_error_is_one_line_and_code_2(
    partq: Partq, tmp_path: Path, arguments: tuple[str, ...], fragment: str
) -> None:
    (tmp_path / "program.json").write_text(dumps(ALL_CASES["same-key"].build("azure-premium")))
    assert fragment in one_error(partq(*arguments))


def test_a_defect_of_ours_is_no_verdict(partq: Partq, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(*arguments: object) -> None:
        raise RuntimeError("a defect")

    monkeypatch.setattr("partq.conformance.evaluation.suite.Decider.check", crash)
    ran = run_canned(partq, "Canned")
    assert ran.code == BROKEN
    assert "report it" in ran.err


def test_an_interrupted_run_is_no_verdict(partq: Partq, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("partq.conformance.evaluation.suite.Decider.check", interrupt)
    ran = run_canned(partq, "Canned")
    told = "no run had been judged yet: there are no verdicts\npartq: interrupted\n"
    assert (ran.code, ran.out, ran.err) == (INTERRUPTED, "", told)


def test_an_interrupted_run_keeps_what_is_known(partq: Partq, monkeypatch: pytest.MonkeyPatch) -> None:
    check = Decider.check

    def interrupted(decider: Decider, *given: Any) -> Any:
        if given[1] == 2:
            os.kill(os.getpid(), signal.SIGTERM)
        return check(decider, *given)

    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr("partq.conformance.evaluation.suite.Decider.check", interrupted)
    ran = run_canned(partq, "Split", "--programs", "2", "--out", "kept")
    assert ran.code == INTERRUPTED
    assert last_line(ran).startswith("NOT CONFORMANT: ")
    assert last_line(ran).endswith("interrupted after 2 runs")
    assert "the verdicts of the 2 runs so far are in kept/verdicts.json" in ran.err
    document = json.loads(Path("kept/verdicts.json").read_text(encoding="utf-8"))
    assert document["exit"] == 1 and "interrupted after 2 runs" in document["conclusion"]
    assert sorted(file.name for file in Path("kept/programs/azure-premium").iterdir())[0] == "program-0.json"
    assert signal.getsignal(signal.SIGTERM) == before

    def closed(*arguments: object) -> None:
        raise BrokenPipeError

    monkeypatch.setattr("partq.conformance.frontends.cli.publishing.show_found", closed)
    run_canned(partq, "Split", "--programs", "2", "--out", "unseen")
    assert Path("unseen/verdicts.json").exists(), "stored before it is shown"


# --- check ------------------------------------------------------------------------------------------


GOOD = "p1 send m1 key=a\np2 send m2 key=a\np3 peek 5 -> m1#3.1 key=a, m2#3.2 key=a"
BAD = "p1 send m1 key=a\np2 send m2 key=a\np3 peek 5 -> m1#3.1 key=a, m2#4.1 key=a"


@pytest.mark.parametrize("name", ["h.ndjson", "h.parquet"])
def test_recorded_histories_are_judged(partq: Partq, tmp_path: Path, name: str) -> None:
    write_history(tmp_path / name, history(GOOD, "azure-premium"))
    assert partq("check", name).code == 0
    write_history(tmp_path / name, history(BAD, "azure-premium"))
    ran = partq("check", name)
    assert ran.code == 1
    assert f"azure-premium, {name}" in ran.out
    assert "p3 peek 5 -> m1#3.1 key=a, m2#4.1 key=a" in ran.out


OVERTAKEN = "p1 send m1\np1 send m2\np2 receive 1 delete -> m2#2"


def test_a_history_may_come_on_standard_input(
    partq: Partq, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for text, code in ((GOOD, 0), (BAD, 1)):
        stream = TextIOWrapper(BytesIO(dumps_history(history(text, "azure-premium"))))
        monkeypatch.setattr(sys, "stdin", stream)
        ran = partq("check", "-", "--format", "json")
        assert (ran.code, ran.json["exit"]) == (code, code)
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(b"")))
    assert "standard input: is empty" in one_error(partq("check", "-"))


def test_why_a_rule_is_undecided_is_said_once(partq: Partq) -> None:
    run = ("run", "mutant:route-by-body", "--profile", "azure-premium", "--programs", "5")
    shown = partq(*run)
    rows = partq(*run, "--format", "json").json["requirements"].items()
    undecided = {id for id, row in rows if row["status"] == "unknown" and not row["candidates"]}
    told = re.findall(
        r"undecided: (.*)\n  azure-premium: (?:each|it) may be the rule of findings? ", shown.out
    )
    assert undecided == {id for ids in told for id in ids.split(", ")}
    assert len(undecided) == sum(len(ids.split(", ")) for ids in told)


def test_what_is_json_but_no_history_is_told(partq: Partq) -> None:
    run_canned(partq, "Split", "--out", "kept", "--save-histories")
    found = "kept/counterexamples/azure-premium/ROUTE-2-apart.json"
    assert f"is a counterexample: partq replay {found}" in partq("check", found).err
    assert "is verdicts: partq report kept" in partq("check", "kept/verdicts.json").err
    Path("other.json").write_text("{\n}\n", encoding="utf-8")
    assert "other.json is JSON, but no history" in partq("check", "other.json").err
    assert "such as kept/histories/azure-premium/*.ndjson" in partq("check", "kept").err


def test_lines_that_are_missing_are_told(partq: Partq) -> None:
    run_canned(partq, "Split", "--out", "kept", "--save-histories")
    lines = Path("kept/histories/azure-premium/same-key.ndjson").read_text(encoding="utf-8").splitlines(True)
    Path("whole").write_text("".join(lines), encoding="utf-8")
    Path("gap").write_text("".join([*lines[:2], *lines[3:]]), encoding="utf-8")
    Path("headless").write_text("".join(lines[1:]), encoding="utf-8")
    assert "warning" not in partq("check", "whole").err
    assert "gap: no record 1: if lines were deleted" in partq("check", "gap").err
    assert "headless:1: is no header, but an operation" in partq("check", "headless").err


def test_numbers_as_far_apart_as_can_be_are_told(partq: Partq) -> None:
    write_history("h", history(GOOD, "azure-premium"))
    header, first, *_, last = Path("h").read_text(encoding="utf-8").splitlines(True)
    lines = [header, first, last.replace('"i":2', f'"i":{2**63 - 1}')]
    Path("h").write_text("".join(lines), encoding="utf-8")
    assert "h: no record 1, 2, 3, 4, 5 and 9,223,372,036,854,775,801 more" in partq("check", "h").err


def test_the_exact_judge_explains(partq: Partq, tmp_path: Path) -> None:
    write_history(tmp_path / "h", history(OVERTAKEN, "azure-flat"))
    told = partq("check", "h", "-v")
    assert told.code == 1  # out of order, or lost: the screens do not tell which
    assert told.flat.count("│ RCV-3 or RCV-2 violated │") == 2
    where = "The receive at 2 cannot have returned m2: m1 was accepted before it and is still there."
    assert told.flat.count(where) == 1
    assert "2 undecided" in told.flat
    assert last_line(told) == "NOT CONFORMANT: RCV-3 or RCV-2 violated"
    ran = partq("check", "h", "--order")
    assert ran.code == 1
    assert f"Exact judge, h: rejected: {where}" in ran.flat
    assert "then none of: 2 p2 receive" in ran.flat
    assert ran.flat.count("expected: nothing, or m1 first") == 2  # by the finding, and by the judge
    assert last_line(ran) == "NOT CONFORMANT: RCV-3 or RCV-2 violated; the exact judge rejects h"


def test_the_exact_judge_as_data(partq: Partq, tmp_path: Path) -> None:
    write_history(tmp_path / "h", history(GOOD, "azure-premium"))
    long = "\n".join(f"p1 send m{n}" for n in range(61))
    write_history(tmp_path / "long", history(long, "azure-flat"))
    ran = partq("check", "h", "long", "--order", "--format", "json")
    assert ran.json["exact"]["h"]["judgement"] == "accepted"
    assert ran.json["exact"]["h"]["explained"] == [0, 1, 2]
    assert ran.json["exact"]["long"]["judgement"] == "accepted"
    Draft202012Validator(schemas.load("verdicts")).validate(ran.json)


def test_several_histories_are_one_verdict(partq: Partq, tmp_path: Path) -> None:
    write_history(tmp_path / "good", history(GOOD, "azure-premium"))
    write_history(tmp_path / "bad", history(BAD, "azure-standard"))
    ran = partq("check", "good", "bad", "--format", "json")
    assert ran.code == 1
    assert ran.json["broker"] == "2 histories"
    assert ran.json["profiles"]["azure-premium"]["ROUTE-1"]["status"] == "pass"
    Draft202012Validator(schemas.load("verdicts")).validate(ran.json)


def test_nothing_is_judged_unless_every_file_is_right(partq: Partq, tmp_path: Path) -> None:
    write_history(tmp_path / "bad", history(BAD, "azure-premium"))
    (tmp_path / "broken").write_bytes((tmp_path / "bad").read_bytes()[:-4])
    assert "broken:4: is cut off" in one_error(partq("check", "bad", "broken"))


def test_the_profile_can_be_another_one(partq: Partq, tmp_path: Path) -> None:
    write_history(tmp_path / "h", history(BAD, "azure-premium"))
    ran = partq("check", "h", "--profile", "azure-flat", "--format", "json")
    assert list(ran.json["profiles"]) == ["azure-flat"]
    assert ran.json["requirements"]["ROUTE-1"]["status"] == "not applicable"


# --- explain, version, help -------------------------------------------------------------------------


@pytest.mark.parametrize("requirement", ["ROUTE-1", "SEQ-4", "PEEK-2", "ROUTE-10"])
def test_a_rule_is_explained(partq: Partq, requirement: str) -> None:
    ran = partq("explain", requirement)
    row = catalogue()[requirement]
    assert ran.code == 0
    for text in (row.title, " ".join(row.text.split()), row.level.value, *(row.reading or "").split()):
        assert text in ran.flat
    named = ran.flat.split("cases: ")[1].split(" mutants: ")[0].split(", ")
    cases = [case.name for case in ALL_CASES.values() if requirement in case.requirements]
    assert named == (cases or ["none"])
    assert "clauses: " in ran.flat
    assert f"mechanism {row.mechanism}: partq/model/{row.mechanism}/rules.toml" in ran.flat
    if requirement == "ROUTE-10":
        assert "screens: none: not implemented" in ran.flat


def test_sources_have_the_addresses_of_their_pages(partq: Partq) -> None:
    ran = partq("explain", "RCV-7")
    assert "sources: Azure Service Bus" in ran.out
    assert "for rabbitmq: Consumer Acknowledgements and Publisher Confirms, Positively" in ran.flat
    assert "https://www.rabbitmq.com/docs/confirms" in ran.out
    limits = re.findall(r"https://\S+", partq("explain", "TXN-9").out)
    assert [url.rpartition("/")[2] for url in limits] == ["service-bus-transactions", "service-bus-quotas"]


def test_clauses_and_screens_have_their_place_and_blind_spots_are_the_rule_s(partq: Partq) -> None:
    ran = partq("explain", "ROUTE-2")
    assert re.search(r"clauses: partq/model/routing/placing\.py:\d+ placements", ran.out)
    assert re.search(r"deviations: partq/model/routing/deviations\.py:\d+ \w+", ran.out)
    assert re.search(r"screens: partq/conformance/screens/routing/affinity\.py:\d+ routing", ran.out)
    assert "is reported under ROUTE-2" in ran.flat and "Messages whose ID" in ran.flat
    assert "KEY-1 holds trivially" not in ran.flat and "more of the same screens name other rules" in ran.flat


def test_mutants_and_cases_are_explained(partq: Partq) -> None:
    for name in ("route-by-body", "mutant:route-by-body"):
        assert "breaks: ROUTE-2" in partq("explain", name).flat
    assert "exercises: ROUTE-1, ROUTE-2, KEY-2" in partq("explain", "same-key").flat


def test_that_no_profile_is_claimed_is_told(partq: Partq, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("partq.conformance.adapters.claimed_profiles", lambda broker: ())
    ran = partq("run", "canned_broker:Canned", "--case", "peek-oldest-first")
    assert "canned_broker:Canned claims no profile: running all" in ran.err


def test_case_does_not_matter_and_a_group_is_listed(partq: Partq) -> None:
    assert partq("explain", "route-6").out == partq("explain", "ROUTE-6").out
    ran = partq("explain", "route")
    assert ran.out.startswith("ROUTE: From key to partition\n")
    assert len(ran.out.splitlines()) == 1 + sum(row.group == "ROUTE" for row in catalogue().values())


def test_open_questions_and_contradictions_are_told(partq: Partq) -> None:
    ran = partq("explain", "SEQ-4")
    assert "not settled: Does an aborted send" in ran.flat
    assert "contradiction: " in ran.flat


def test_a_list_has_its_names_whole_in_a_narrow_terminal(
    partq: Partq, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    ran = partq("list", "cases", "--profile", "azure-premium")
    assert "session-against-partition-key" in ran.out
    assert "…" not in ran.out


def test_the_whole_catalogue(partq: Partq) -> None:
    ran = partq("explain", "--all")
    assert ran.code == 0
    assert ran.out.startswith("ENT: ")
    assert all(f"{requirement} " in ran.out for requirement in catalogue())


def test_version_and_help(partq: Partq) -> None:
    assert partq("--version").out.startswith("partq 0.")
    helped = partq("--help")
    assert helped.code == 0
    for command in ("init", "run", "check", "fuzz", "mutants", "replay", "compare", "report", "explain"):
        assert f" {command} " in helped.out
        told = partq(command, "--help")
        assert told.code == 0
        assert not any(sign in told.out for sign in ("<int", "<str>", "<bool>", "<list", "{"))
    assert f"[{PROGRAMS_SIMULATED}; of a live broker {PROGRAMS_LIVE}]" in partq("run", "--help").flat
    assert "partq run [OPTIONS] [BROKER]" in partq("run", "--help").out
    assert "partq fuzz [OPTIONS] BROKER" in partq("fuzz", "--help").out


def test_help_imports_nothing_heavy() -> None:
    heavy = ("pyspark", "pyarrow", "pika", "networkx", "jinja2", "hypothesis", "jsonschema", "pytest")
    code = (
        "import sys\nfrom partq.conformance.frontends.cli.app import main\nmain(['--help'])\n"
        f"print('loaded:', *[n for n in {heavy!r} if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.split("loaded:")[1].split() == []


# --- with the reference broker ----------------------------------------------------------------------


@pytest.mark.parametrize("profile", ["azure-standard", "azure-premium", "azure-flat", "solace"])
def test_the_reference_conforms(partq: Partq, profile: str) -> None:
    ran = partq("run", "reference", "--profile", profile, "--programs", "30", "--format", "json")
    rows = ran.json["requirements"]
    assert [name for name, row in rows.items() if row["status"] in ("violated", "unknown")] == []
    assert ran.code == 0
    groups = {"KEY", "ROUTE", "SEQ", "RCV", "PEEK", "TXN", "REB"}
    silent = {
        name
        for name, row in rows.items()
        if catalogue()[name].group in groups
        and catalogue()[name].level.value == "MUST"
        and row["status"] == Status.NOT_EXERCISED
    }
    assert silent == set()


def test_the_reference_is_run_under_every_family_of_the_catalogue(partq: Partq) -> None:
    ran = partq("run", "reference", "--programs", "0", "--format", "json")
    assert list(ran.json["profiles"]) == list(PROFILE_COLUMNS)


def test_a_run_is_repeatable(partq: Partq) -> None:
    arguments = ("run", "reference", "--profile", "azure-premium", "--programs", "10", "--format", "json")
    assert partq(*arguments).out == partq(*arguments).out


def test_a_reader_that_goes_away_is_no_verdict() -> None:
    command = [
        sys.executable,
        "-c",
        "from partq.conformance.frontends.cli.app import main; raise SystemExit(main())",
    ]
    writer = subprocess.Popen([*command, "explain", "--all"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert writer.stdout is not None
    assert writer.stderr is not None
    writer.stdout.close()
    assert writer.stderr.read() == b""
    assert writer.wait() == UNREAD
    writer.stderr.close()


@pytest.mark.parametrize(
    ("broker", "code"), [("nosuch:Broker", 2), ("canned_broker:Lying", 3), ("canned_broker:Secretive", 2)]
)
def test_nobody_reading_errors_changes_no_exit_code_and_ends_no_run(broker: str, code: int) -> None:
    """What `Lying` does wrong is told by the thread of a client."""
    program = "from partq.conformance.frontends.cli.app import main; raise SystemExit(main())"
    command = [sys.executable, "-c", program, "run", broker, "--case", "same-key", "--programs", "0"]
    unread, errors = os.pipe()
    os.close(unread)
    ended = subprocess.run(
        command, cwd=BROKERS, stdout=subprocess.DEVNULL, stderr=errors, timeout=60, check=False
    )
    os.close(errors)
    assert ended.returncode == code


def test_one_undecided_program_of_a_few_leaves_the_rule_undecided_unless_told_otherwise(
    partq: Partq, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The conclusion, the row, the document and the command that makes the run again say so."""
    inspect = decision.inspect

    def unsure(history: History, screens: Sequence[Screen]) -> Inspection:
        inspection = inspect(history, screens)
        if len(asked) == 0:
            inspection.leave_open("RCV-15", "too much at once")
            inspection.leave_open("SEQ-1", "too much at once")
        asked.append(history)
        return inspection

    asked: list[History] = []
    monkeypatch.setattr(decision, "inspect", unsure)
    monkeypatch.setattr(decision, "left_behind", lambda history: "")
    monkeypatch.setattr(Decider, "_follow_judge", lambda *_: None)
    few = ("run", "reference", "--profile", "azure-premium", "--case", "same-key", "--programs", "9")
    strict = partq(*few, "--format", "json")
    asked.clear()
    told = partq(*few, "--open", "20%", "-v")
    assert (strict.code, strict.json["requirements"]["SEQ-1"]["status"]) == (3, "unknown")
    assert "1 of 10 traces undecided" in told.flat
    assert told.code == 3 and told.flat.endswith("undecided: RCV-15"), "that one was never exercised"
    asked.clear()
    stored = partq(*few, "--open", "20%", "--out", "out")
    assert stored.code == 3
    assert "undecided: RCV-15\n  azure-premium, same-key\n  too much at once\n" in stored.out
    document = json.loads(Path("out/verdicts.json").read_text(encoding="utf-8"))
    row = document["requirements"]["SEQ-1"]
    assert (row["status"], row["traces"], row["undecided"]) == ("pass", 10, 1)
    assert document["options"][-2:] == ["--open", "20%"]


@pytest.mark.parametrize(
    "command", [("run", "reference"), ("fuzz", "reference", "--traces", "1", "--out", "x")]
)
def test_a_share_that_makes_no_sense_is_one_line(partq: Partq, command: tuple[str, ...]) -> None:
    said = partq(*command, "--open", "0.1")
    assert (said.code, said.err.strip()) == (2, "partq: error: --open: '0.1' is no share such as 0.1%, nor 0")


TRACE = ("fuzz", "reference", "--trace", "4", "--seed", "7", "--length", "2")


def test_one_trace_of_a_campaign_is_run_and_judged_without_spark(
    partq: Partq, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its program is the one that the campaign ran; what the judge leaves undecided is said with why."""
    said = partq(*TRACE, "--profile", "azure-flat", "--out", "one")
    assert said.code == 0 and "judge: accepted" in said.out
    ran = run_chunk(Chunk("reference", "azure-flat", 4, 1), 7, 2)
    kept = from_json(json.loads(Path("one/program.json").read_text(encoding="utf-8")))
    assert kept.seed == int(ran.verdicts[0]["seed"]) and f"seed {kept.seed}" in said.out
    assert partq("check", "one/history.ndjson").code == 0
    assert "one exists: give a new folder" in partq(*TRACE, "--profile", "azure-flat", "--out", "one").err
    stuck = Judgement(Judged.UNKNOWN, reason="no answer after 9 nodes", kind="over the budget")
    for module in (decision, long_histories):
        monkeypatch.setattr(module, "judge", lambda *_, **__: stuck)
    told = partq(*TRACE, "--profile", "azure-flat")
    assert "judge: unknown: no answer after 9 nodes" in told.out
    figures = partq(*TRACE, "--profile", "azure-flat", "--format", "json").json["trace"]
    assert figures["command"] == " ".join([*("partq", *TRACE[:6]), "--profile", "azure-flat", *TRACE[6:]])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--trace", "3"), "--trace is of one profile: add --profile, one of azure-standard, "),
        (("--trace", "3", "--traces", "9"), "give --traces for a campaign, or --trace for one trace of it"),
        (("--traces", "9"), "a campaign needs --traces and --out; --trace N runs one trace of it"),
    ],
)
def test_what_is_missing_for_a_campaign_or_a_trace_is_one_line(
    partq: Partq, options: tuple[str, ...], said: str
) -> None:
    done = partq("fuzz", "reference", *options)
    assert done.code == 2 and said in done.err
