"""The pytest plugin as a user meets it: what is collected, run, shown and stored."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from canned_broker import Canned, Heap, Overtaken, Silent, Split

from partq.conformance.evaluation import counterexample
from partq.conformance.screens.registry import ALL
from partq.conformance.verdict import FILE, Exit, not_applicable
from partq.conformance.workload.cases.table import ALL_CASES
from partq.conformance.workload.generator import trace_seed
from partq.model.requirements import catalogue

BROKERS = Path(__file__).parents[2] / "adapters"
SUITE = ("--pyargs", "partq.conformance", "-p", "no:cacheprovider")


class Ran:
    """What a pytest run left behind."""

    def __init__(self, done: subprocess.CompletedProcess[str], folder: Path) -> None:
        self.code, self.out, self.err, self.folder = done.returncode, done.stdout, done.stderr, folder

    @property
    def items(self) -> dict[str, ElementTree.Element]:
        """The JUnit test cases by name."""
        tree = ElementTree.parse(self.folder / "junit.xml")
        return {str(node.get("name")): node for node in tree.iter("testcase")}

    def properties(self, item: str) -> dict[str, str]:
        """The JUnit properties of one item."""
        return {str(node.get("name")): str(node.get("value")) for node in self.items[item].iter("property")}


def run(folder: Path, *arguments: str) -> Ran:
    """Run pytest in a process of its own, as a user does, in a folder that holds `canned_broker`."""
    (folder / "canned_broker.py").write_bytes((BROKERS / "canned_broker.py").read_bytes())
    command = [sys.executable, "-m", "pytest", *arguments, "--rootdir", ".", "--junitxml=junit.xml"]
    at_a_desk = {name: value for name, value in os.environ.items() if name not in ("CI", "BUILD_NUMBER")}
    done = subprocess.run(command, cwd=folder, env=at_a_desk, check=False, capture_output=True, text=True)
    return Ran(done, folder)


def suite(folder: Path, broker: str, *more: str, select: str = "ROUTE") -> Ran:
    """Run the suite on one of the canned brokers, of these rules, and without programs unless told
    otherwise."""
    return run(folder, *SUITE, f"--broker=canned_broker:{broker}", "--partq-programs=0", "-k", select, *more)


def failed(ran: Ran) -> list[str]:
    """The items that failed."""
    return [name for name, node in ran.items.items() if node.find("failure") is not None]


def skipped(ran: Ran, item: str) -> str:
    """Why the item was skipped, or an xfail."""
    node = ran.items[item].find("skipped")
    assert node is not None
    return str(node.get("message"))


def summary(ran: Ran) -> list[str]:
    """The lines of the summary, up to the last one of pytest's."""
    return ran.out.split("= partq: ")[1].splitlines()[:-1]


def rows(ran: Ran, requirement: str) -> list[str]:
    """The lines of that rule in the summary."""
    return [line for line in summary(ran) if line.startswith(f"{requirement} ")]


def conclusion(ran: Ran) -> str:
    """The line that says what all comes to."""
    (line,) = (line for line in ran.out.splitlines() if line.startswith(f"partq: {ENDINGS[ran.code]}"))
    return line.removeprefix("partq: ")


ENDINGS = {
    Exit.CONFORMANT: ("NOTHING VIOLATED"),
    Exit.VIOLATED: "NOT CONFORMANT",
    Exit.INCONCLUSIVE: "INCONCLUSIVE",
}
"""Exit code -> how the conclusion begins. No canned broker exercises every rule."""


def test_an_item_for_each_rule_that_applies(tmp_path: Path) -> None:
    ran = run(tmp_path, *SUITE, "--broker=canned_broker:Canned", "--partq-programs=0", "-v")
    assert ran.code == 0
    exempt = not_applicable("azure-premium", ALL)
    assert list(ran.items) == [name for name in catalogue() if name not in exempt]
    assert "partq: canned_broker:Canned (azure-premium)" in ran.out
    assert "partq::ROUTE-1 PASSED" in ran.out


def test_junit_properties_name_rule_status_and_cases(tmp_path: Path) -> None:
    properties = suite(tmp_path, "Canned", "--partq-programs=2", select="ROUTE-1").properties("ROUTE-1")
    cases = properties.pop("cases").split(", ")
    assert {"same-key pass 1×", "programs pass 2×"} <= {*cases}
    assert properties.pop("exercised") == str(len(cases) + 1)
    assert properties == {"requirement": "ROUTE-1", "profile": "azure-premium", "status": "pass"}
    (tmp_path / "junit.xml").unlink()
    idle = suite(tmp_path, "Canned", select="TXN-8").properties("TXN-8")
    assert idle == {
        "requirement": "TXN-8",
        "profile": "azure-premium",
        "status": "not exercised",
        "exercised": "0",
    }


def test_one_defect_fails_one_item_that_bears_the_name_of_the_rule(tmp_path: Path) -> None:
    ran = run(tmp_path, *SUITE, "--broker=canned_broker:Split", "--partq-programs=30")
    assert ran.code == 1
    assert failed(ran) == ["ROUTE-2"]
    assert "1 failed" in ran.out
    assert "xfailed" not in ran.out
    assert ran.properties("ROUTE-2")["violated in"].startswith("session-id-is-the-key, ")


def test_a_violation_fails_with_its_witness_and_no_traceback(tmp_path: Path) -> None:
    ran = suite(tmp_path, "Split")
    assert failed(ran) == ["ROUTE-2"]
    assert "ROUTE-2 violated: " in ran.out
    assert "p1 send m1 key=a -> ok @1ns-2ns" in ran.out
    assert "expected: " in ran.out
    assert "shown by partition-key-is-the-key; " in ran.out
    assert "Traceback" not in ran.out
    assert "suite.py" not in ran.out


def test_a_rule_fails_by_what_only_a_case_that_does_not_name_it_shows(tmp_path: Path) -> None:
    (tmp_path / "late.py").write_text(LATE)
    ran = run(tmp_path, *SUITE, "--broker=late:Late", "--partq-programs=0")
    assert failed(ran) == ["ROUTE-2"]
    assert ran.properties("ROUTE-2")["violated in"] == "numbers-after-restart"


def test_what_failed_last_is_run_again_whichever_case_showed_it(tmp_path: Path) -> None:
    """Else `pytest --lf` would be green where nothing was mended."""
    (tmp_path / "late.py").write_text(LATE)
    options = (*SUITE[:2], "--broker=late:Late", "--partq-programs=0")
    assert run(tmp_path, *options, "-k", "ROUTE-2").code == 0
    assert run(tmp_path, *options).code == 1
    again = run(tmp_path, *options, "--lf")
    assert failed(again) == ["ROUTE-2"] == list(again.items)
    assert run(tmp_path, *options, "-k", "ROUTE-2").code == 1


LATE = """
from canned_broker import SPLIT, Canned
from partq.conformance.history.notation import history
from partq.conformance.workload.cases.table import ALL_CASES
WRONG = ALL_CASES["numbers-after-restart"].build("azure-premium")
assert "ROUTE-2" not in ALL_CASES["numbers-after-restart"].requirements
class Late(Canned):
    def simulate(self, program):
        return history(SPLIT, self.profile) if program == WRONG else super().simulate(program)
"""


def test_only_the_cases_that_name_a_selected_rule_are_run(tmp_path: Path) -> None:
    (tmp_path / "counting.py").write_text(COUNTING)
    options = (*SUITE, "--broker=counting:Counting", "--partq-programs=3")
    assert run(tmp_path, *options, "-k", "ROUTE-2 or ROUTE-6").code == 0
    naming = [case for case in ALL_CASES.values() if {"ROUTE-2", "ROUTE-6"} & {*case.requirements}]
    wanted = sum("azure-premium" in case.profiles for case in naming) + 3
    assert 3 < wanted < 30
    assert (tmp_path / "runs").read_text() == "x" * wanted


COUNTING = """
from canned_broker import Canned
class Counting(Canned):
    def simulate(self, program):
        open('runs', 'a').write('x')
        return super().simulate(program)
"""


@pytest.mark.parametrize("how", ["load", "loadgroup", "worksteal"])
def test_workers_of_xdist_run_everything_once_and_say_the_same(tmp_path: Path, how: str) -> None:
    (tmp_path / "counting.py").write_text(COUNTING)
    options = (*SUITE, "--broker=counting:Counting", "--partq-programs=3", "-k", "SEQ or ROUTE")
    alone = run(tmp_path, *options)
    properties = {name: alone.properties(name) for name in alone.items}
    runs = (tmp_path / "runs").read_text()
    both = run(tmp_path, *options, "-n", "2", "--dist", how)
    assert both.code == 0
    assert {name.partition("@")[0]: both.properties(name) for name in both.items} == properties
    assert summary(both) == summary(alone)
    assert (tmp_path / "runs").read_text() == runs * 2


def test_a_worker_of_xdist_has_a_profile_of_several_to_itself(tmp_path: Path) -> None:
    options = ("--profile=azure-premium", "--profile=azure-standard", "-n", "2", "-v")
    ran = suite(tmp_path, "Any", *options, select="SEQ or ROUTE")
    for profile in ("azure-premium", "azure-standard"):
        lines = [line for line in ran.out.splitlines() if f"partq::{profile}::" in line and "[gw" in line]
        assert len(lines) > 5
        assert len({line.split("]")[0] for line in lines}) == 1


@pytest.mark.parametrize("options", [("--partq-out=found",), ("-p", "cacheprovider")])
def test_a_failure_keeps_a_counterexample_and_says_how_to_run_it_again(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    ran = run(
        tmp_path, *SUITE[:2], "--broker=canned_broker:Split", "--partq-programs=0", "-k", "ROUTE", *options
    )
    (command,) = (line for line in ran.out.splitlines() if line.startswith("partq replay "))
    words = shlex.split(command)
    example = counterexample.read(tmp_path / words[2])
    assert words[3:] == ["--broker", "canned_broker:Split"]
    assert example.finding.requirement == "ROUTE-2"
    folder = "found" if options[0].startswith("--partq-out") else ".pytest_cache/d/partq"
    assert words[2].startswith(f"{folder}/counterexamples/azure-premium/ROUTE-2-")
    assert f"counterexample {words[2]}, " in ran.out
    again = [sys.executable, "-m", "partq", *words[1:]]
    assert subprocess.run(again, cwd=tmp_path, check=False, capture_output=True).returncode == 1


def test_the_folder_asked_for_holds_the_verdicts_too(tmp_path: Path) -> None:
    ran = suite(tmp_path, "Split", "--partq-out=found")
    document = json.loads((tmp_path / "found" / FILE).read_text())
    assert document["exit"] == ran.code == 1
    assert document["conclusion"] == conclusion(ran)
    assert document["requirements"]["ROUTE-2"]["status"] == "violated"


def test_without_a_folder_nothing_is_kept_and_the_failure_says_so(tmp_path: Path) -> None:
    ran = suite(tmp_path, "Split")
    assert "with --partq-out=DIR a counterexample is kept" in ran.out
    assert "partq replay" not in ran.out


def test_a_should_row_is_an_xfail_unless_strict(tmp_path: Path) -> None:
    ran = suite(tmp_path, "Heap", "-rx", select="ROUTE or SEQ")
    assert ran.code == 0
    assert "1 xfailed" in ran.out
    assert "no MUST" in ran.out
    assert failed(suite(tmp_path, "Heap", "--partq-strict")) == ["ROUTE-4"]


KNOWN = """schema = "partq.baseline/1"
[[violated]]
rule = "ROUTE-2"
reason = "BUG-17"
"""


def test_what_the_baseline_knows_is_an_xfail_and_a_new_violation_fails(tmp_path: Path) -> None:
    (tmp_path / "known.toml").write_text(KNOWN)
    ran = suite(tmp_path, "Split", "--partq-baseline=known.toml", "--partq-out=kept")
    assert (ran.code, failed(ran)) == (0, [])
    assert skipped(ran, "ROUTE-2") == "ROUTE-2 violated (known: BUG-17)"
    assert "partq: NOTHING NEWLY VIOLATED: 1 known violation (ROUTE-2)" in ran.out
    document = json.loads((tmp_path / "kept" / FILE).read_text())
    assert (document["exit"], document["requirements"]["ROUTE-2"]["status"]) == (0, "violated")
    assert failed(suite(tmp_path, "Overtaken", "--partq-baseline=known.toml", select="RCV")) == ["RCV-3"]


def test_a_baseline_that_is_out_of_date_is_no_success(tmp_path: Path) -> None:
    (tmp_path / "known.toml").write_text(KNOWN)
    whole = (*SUITE, "--broker=canned_broker:Canned", "--partq-programs=0", "--partq-baseline=known.toml")
    ran = run(tmp_path, *whole)
    assert ran.code == Exit.INCONCLUSIVE
    assert "partq: BASELINE OUT OF DATE: ROUTE-2 no longer violated: remove it" in ran.out
    part = run(tmp_path, *whole, "-k", "ROUTE-2")
    assert part.code == 0, "of a part of the suite it cannot be said that something has gone"


def test_what_is_not_given_says_the_projects_table(tmp_path: Path) -> None:
    (tmp_path / "known.toml").write_text(KNOWN)
    (tmp_path / "pyproject.toml").write_text(
        '[tool.partq]\nbroker = "canned_broker:Split"\nprograms = 0\nbaseline = "known.toml"\n'
        'require = ["100%"]\n'
    )
    ran = run(tmp_path, *SUITE)
    assert (ran.code, failed(ran)) == (Exit.INCONCLUSIVE, [])
    assert "100% are required" in ran.out
    assert run(tmp_path, *SUITE, "-k", "ROUTE").code == 0, "a part of the suite need not exercise all"
    assert failed(run(tmp_path, *SUITE, "--broker=canned_broker:Overtaken", "-k", "RCV")) == ["RCV-3"]
    (tmp_path / "pyproject.toml").write_text("[tool.partq]\nbrokr = 1")
    wrong = run(tmp_path, *SUITE)
    assert wrong.code == 4
    assert "unknown key 'brokr'; did you mean broker?" in wrong.err


def test_nothing_exercised_is_skipped_and_no_success(tmp_path: Path) -> None:
    ran = suite(tmp_path, "Silent", "-rs")
    assert ran.code == Exit.INCONCLUSIVE
    assert skipped(ran, "ROUTE-1") == "not exercised"
    assert conclusion(ran) == "INCONCLUSIVE: nothing was exercised"


def test_each_profile_fails_for_itself(tmp_path: Path) -> None:
    (tmp_path / "both.py").write_text(
        "from canned_broker import Split\n"
        "class Both(Split):\n"
        "    def profiles(self):\n"
        "        return 'azure-premium', 'azure-standard'\n"
    )
    options = (*SUITE, "--broker=both:Both", "--partq-programs=0", "-v")
    ran = run(tmp_path, *options, "-k", "ROUTE-2")
    for profile in ("azure-premium", "azure-standard"):
        assert f"partq::{profile}::ROUTE-2 FAILED" in ran.out
    (row,) = rows(ran, "ROUTE-2")
    assert " found in partition-key-is-the-key (azure-premium), " in row
    assert "ROUTE-2" in run(tmp_path, *options, "-k", "ROUTE-2 and azure-standard").items


@pytest.mark.parametrize("kind", [Canned, Split, Heap, Overtaken, Silent])
def test_verdicts_exit_code_and_conclusion_are_those_of_partq_run(tmp_path: Path, kind: type[Canned]) -> None:
    name = f"canned_broker:{kind.__name__}"
    ran = run(tmp_path, *SUITE, f"--broker={name}", "--partq-programs=30")
    command = [sys.executable, "-m", "partq", "run", name, "--programs", "30", "--format", "json"]
    done = subprocess.run(command, cwd=tmp_path, check=False, capture_output=True, text=True)
    document = json.loads(done.stdout)
    assert ran.code == done.returncode == document["exit"]
    assert conclusion(ran) == document["conclusion"]
    for requirement, row in document["requirements"].items():
        if requirement in ran.items:
            properties = ran.properties(requirement)
            assert (properties["status"], properties["exercised"]) == (row["status"], str(row["exercised"]))
        else:
            assert row["status"] == "not applicable"
    shown = [name for name, row in document["requirements"].items() if sum(row["found"].values())]
    for requirement in shown:
        times = sum(document["requirements"][requirement]["found"].values())
        assert f" {times:,} found in " in rows(ran, requirement)[0]


def test_the_columns_of_the_summary_stand_under_each_other(tmp_path: Path) -> None:
    ran = suite(tmp_path, "Canned")
    shown = [line for name in catalogue() for line in rows(ran, name)]
    places = {
        line.index(status)
        for line in shown
        for status in (" pass", " not exercised", " violated")
        if status in line
    }
    assert len(shown) > 5
    assert len(places) == 1


CRASHING = """
from partq.conformance.evaluation.decision import Decider
from partq.conformance.screens import registry
from dataclasses import replace
def crash(facts):
    raise RuntimeError('a defect')
broken = tuple(replace(one, check=crash) for one in registry.ALL)
check = Decider.check
Decider.check = lambda decider, *rest: check(Decider(decider.exact, broken), *rest)
"""


def test_an_unknown_status_is_skipped_told_and_no_success(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CRASHING)
    ran = suite(tmp_path, "Canned", "conftest.py")
    assert ran.code == Exit.INCONCLUSIVE
    message = skipped(ran, "ROUTE-1")
    assert message.startswith("undecided: screen ")
    assert message.endswith(": RuntimeError: a defect")
    assert message.removeprefix("undecided: ") in rows(ran, "ROUTE-1")[0]
    assert conclusion(ran).startswith("INCONCLUSIVE: undecided: ")


UNSURE = """
from canned_broker import Canned
from partq.conformance.evaluation.decision import Decider
from partq.conformance.verdict import Status, Verdict
check = Decider.check
def unsure(*given):
    found = check(*given)
    unclear = Verdict(Status.UNKNOWN, 1, reason="who knows")
    return found._replace(verdicts={**found.verdicts, "ROUTE-4": unclear})
Decider.check = unsure
"""


def test_what_is_unknown_of_a_should_is_skipped_and_open_only_if_strict(tmp_path: Path) -> None:
    (tmp_path / "unsure.py").write_text(UNSURE)
    options = (*SUITE, "--broker=unsure:Canned", "--partq-programs=2", "-k", "ROUTE")
    ran = run(tmp_path, *options, "-rs")
    assert ran.code == 0
    assert skipped(ran, "ROUTE-4") == "undecided: who knows"
    ran = run(tmp_path, *options, "--partq-strict")
    assert ran.code == Exit.INCONCLUSIVE
    assert conclusion(ran) == "INCONCLUSIVE: undecided: ROUTE-4"


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_a_binding_rule_that_is_unknown_is_no_success_and_hides_no_failure(
    tmp_path: Path, workers: tuple[str, ...]
) -> None:
    (tmp_path / "unsure.py").write_text(UNSURE.replace("ROUTE-4", "SEQ-4"))
    chosen = (*workers, "--partq-programs=0", "-k", "SEQ-4 or ROUTE-2")
    ran = run(tmp_path, *SUITE, "--broker=unsure:Canned", *chosen)
    assert ran.code == Exit.INCONCLUSIVE
    assert "who knows" in rows(ran, "SEQ-4")[0]
    split = UNSURE.replace("ROUTE-4", "SEQ-4").replace("Canned", "Split")
    (tmp_path / "unsure.py").write_text(split)
    ran = run(tmp_path, *SUITE, "--broker=unsure:Split", *chosen)
    assert ran.code == 1
    assert conclusion(ran).startswith("NOT CONFORMANT: ROUTE-2")


@pytest.mark.parametrize(("select", "speaker"), [("RCV", "RCV-3"), ("RCV-2", "RCV-2")])
def test_where_one_of_several_rules_surely_is_violated_the_first_selected_fails(
    tmp_path: Path, select: str, speaker: str
) -> None:
    ran = suite(tmp_path, "Overtaken", "--partq-out=found", select=select)
    assert failed(ran) == [speaker]
    assert "RCV-3 or RCV-2 violated\n" in ran.out
    assert ran.properties(speaker)["ambiguous"] == "RCV-3 or RCV-2 violated"
    if select == "RCV":
        assert skipped(ran, "RCV-2") == "RCV-3 or RCV-2 violated, for which RCV-3 fails"
        assert conclusion(ran) == "NOT CONFORMANT: RCV-3 or RCV-2 violated"
    (kept,) = (line for line in ran.out.splitlines() if line.startswith("partq replay found/"))
    assert (tmp_path / shlex.split(kept)[2]).is_file()


AMBIGUOUS = """
from canned_broker import Canned
from partq.conformance.evaluation.decision import Decider
from partq.conformance.verdict import Status, Verdict
check = Decider.check
def unsure(*given):
    candidates = "ROUTE-2", "ROUTE-4"
    unclear = Verdict(Status.UNKNOWN, 1, reason="who knows", candidates=candidates)
    found = check(*given)
    return found._replace(verdicts={**found.verdicts, **dict.fromkeys(candidates, unclear)})
Decider.check = unsure
"""


def test_one_of_several_rules_fails_only_where_all_of_them_bind(tmp_path: Path) -> None:
    """ROUTE-4 is a SHOULD: it may be the one that is violated."""
    (tmp_path / "unsure.py").write_text(AMBIGUOUS)
    options = (*SUITE, "--broker=unsure:Canned", "--partq-programs=0", "-k", "ROUTE")
    ran = run(tmp_path, *options)
    assert ran.code == Exit.INCONCLUSIVE
    assert conclusion(ran) == "INCONCLUSIVE: undecided: ROUTE-2"
    assert run(tmp_path, *options, "--partq-strict").code == 1


def test_a_rule_known_to_be_violated_fails_alone(tmp_path: Path) -> None:
    """ROUTE-2 is violated in every case; in the second one it or SEQ-4 is, which says no more."""
    (tmp_path / "unsure.py").write_text(
        AMBIGUOUS.replace("ROUTE-4", "SEQ-4")
        .replace("Canned", "Split")
        .replace("(*given):\n", "(*given, seen=[]):\n    seen.append(1)\n")
        .replace("    return", "    if len(seen) == 1:\n        return check(*given)\n    return")
    )
    ran = run(tmp_path, *SUITE, "--broker=unsure:Split", "--partq-programs=0", "-k", "ROUTE-2 or SEQ-4")
    assert failed(ran) == ["ROUTE-2"]
    assert skipped(ran, "SEQ-4") == "undecided: who knows"
    assert "ROUTE-2 or SEQ-4" not in ran.out.split("= partq: ")[1]


def test_the_programs_are_those_of_partq_run(tmp_path: Path) -> None:
    (tmp_path / "seeing.py").write_text(
        "from canned_broker import Canned\n"
        "class Seeing(Canned):\n"
        "    def simulate(self, program):\n"
        "        print(program.seed, file=open('seeds', 'a'))\n"
        "        return super().simulate(program)\n"
    )
    options = ("--broker=seeing:Seeing", "--partq-seed=5", "--partq-programs=30", "-k", "ROUTE-1")
    assert run(tmp_path, *SUITE, *options).code == 0
    seeds = [int(line) for line in (tmp_path / "seeds").read_text().splitlines()]
    assert seeds[-30:] == [trace_seed(5, number) for number in range(30)]


CANNOT_RUN = {
    "Gone": "nobody listens at port 1: start the broker first",
    "Broken": "Broken raised ZeroDivisionError: oh",
    "Jammed": "Jammed.open raised OSError: jammed",
}


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
@pytest.mark.parametrize("broker", CANNOT_RUN)
def test_a_broker_that_cannot_be_run_ends_the_session_with_a_line(
    tmp_path: Path, broker: str, workers: tuple[str, ...]
) -> None:
    ran = suite(tmp_path, broker, *workers, select="ROUTE")
    assert ran.code == Exit.BAD_INPUT == pytest.ExitCode.INTERRUPTED
    assert len(ran.items) in (1, len(workers))
    assert f"Interrupted: partq: {CANNOT_RUN[broker]}" in ran.out
    assert "Traceback" not in ran.out


def test_what_a_library_logs_does_not_hide_why_the_broker_cannot_be_run(tmp_path: Path) -> None:
    (tmp_path / "chatty.py").write_text(
        "import logging\n"
        "from canned_broker import Gone\n"
        "class Chatty(Gone):\n"
        "    def simulate(self, program):\n"
        "        logging.getLogger('library').error('a page of it')\n"
        "        return super().simulate(program)\n"
    )
    ran = run(tmp_path, *SUITE, "--broker=chatty:Chatty")
    assert "start the broker first" in ran.out
    assert "a page of it" not in ran.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--broker=nosuch",), "no broker 'nosuch'"),
        (("--broker=nosuch", "--profile=azure-premium"), "no broker 'nosuch'"),
        (("--broker=nomodule:Broker", "--profile=azure-premium"), "cannot import 'nomodule'"),
        (("--broker=canned_broker:Boasting", "-n", "2"), "ZeroDivisionError: nothing at all"),
        (("--broker=canned_broker:Canned", "--profile=azure-premum"), "Did you mean azure-premium?"),
    ],
)
def test_wrong_options_are_a_usage_error(tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    ran = run(tmp_path, *SUITE, *arguments)
    assert ran.code == pytest.ExitCode.USAGE_ERROR
    assert said in ran.err
    assert "Traceback" not in ran.err


def test_without_a_broker_nothing_is_collected_and_usage_is_shown(tmp_path: Path) -> None:
    ran = run(tmp_path, *SUITE)
    assert ran.code == pytest.ExitCode.NO_TESTS_COLLECTED
    assert "--broker=reference" in ran.out


def test_cases_of_a_live_broker_are_run_at_once_where_it_allows_that(tmp_path: Path) -> None:
    """Each opens only if another does."""
    ran = suite(tmp_path, "Sociable", select="RCV-6")
    assert "BrokenBarrierError" not in ran.out
    assert "1 skipped" in ran.out


def test_one_job_runs_one_case_at_a_time(tmp_path: Path) -> None:
    ran = suite(tmp_path, "Solitary", "--partq-jobs=1", select="RCV-3")
    assert "somebody else is here" not in ran.out
    assert "1 skipped" in ran.out


def test_a_time_limit_of_tests_is_none_for_the_suite(tmp_path: Path) -> None:
    """What all items judge by is run before the first one begins."""
    (tmp_path / "slow.py").write_text(
        "from time import process_time\n"
        "from canned_broker import Canned\n"
        "class Slow(Canned):\n"
        "    def simulate(self, program):\n"
        "        end = process_time() + 0.3\n"
        "        while process_time() < end:\n"
        "            pass\n"
        "        return super().simulate(program)\n"
    )
    options = ("--broker=slow:Slow", "--partq-programs=8", "--timeout=2", "-k", "ROUTE-1")
    ran = run(tmp_path, *SUITE, *options)
    assert ran.code == 0, ran.out


@pytest.mark.parametrize("named", [(), SUITE[:2]])
def test_the_help_names_both_ways_to_name_a_broker(tmp_path: Path, named: tuple[str, ...]) -> None:
    said = " ".join(run(tmp_path, *named, "--help").out.split())
    assert "--partq-broker=NAME (or --broker=NAME, after --pyargs partq.conformance)" in said
    assert "--partq-profile=NAME (or --profile=NAME, after --pyargs partq.conformance)" in said


def test_other_suites_keep_their_own_options(tmp_path: Path) -> None:
    """--broker and --profile are ours only where our package is named."""
    (tmp_path / "conftest.py").write_text(
        "def pytest_addoption(parser):\n"
        "    parser.addoption('--broker')\n"
        "    parser.addoption('--profile', action='store_true')\n"
    )
    (tmp_path / "test_theirs.py").write_text(
        "def test_it(request):\n"
        "    assert request.config.getoption('--broker') == 'theirs'\n"
        "    assert request.config.getoption('--profile') is True\n"
    )
    ran = run(tmp_path, "test_theirs.py", "--broker=theirs", "--profile")
    assert ran.code == 0, ran.out + ran.err


def test_a_users_own_package_called_model_is_not_hidden(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "__init__.py").write_text("MINE = True\n")
    (tmp_path / "mine.py").write_text("import model\nfrom canned_broker import Canned\nassert model.MINE\n")
    ran = run(tmp_path, *SUITE, "--broker=mine:Canned", "--partq-programs=0", "-k", "ROUTE")
    assert ran.code == 0, ran.out + ran.err
