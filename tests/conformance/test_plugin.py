"""The pytest plugin as a user meets it: what is collected, shown, stored and shared between items."""

from __future__ import annotations

import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from partq.conformance.cases import ALL_CASES
from partq.conformance.verdict import Exit
from partq.conformance.workload import trace_seed

HERE = Path(__file__).parent
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
    (folder / "canned_broker.py").write_bytes((HERE / "canned_broker.py").read_bytes())
    command = [sys.executable, "-m", "pytest", *arguments, "--rootdir", ".", "--junitxml=junit.xml"]
    return Ran(subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True), folder)


def suite(folder: Path, broker: str, *more: str, select: str = "same-key]") -> Ran:
    """Run the suite on one of the canned brokers, in the one case unless told otherwise."""
    return run(folder, *SUITE, f"--broker=canned_broker:{broker}", "-k", select, *more)


def test_one_item_for_each_requirement_and_case(tmp_path: Path) -> None:
    ran = suite(tmp_path, "Canned", "-v")
    assert ran.code == 0
    case = ALL_CASES["same-key"]
    wanted = {f"{requirement}[same-key]" for requirement in (*case.requirements, "other-rules")}
    assert set(ran.items) == wanted
    assert "partq: canned_broker:Canned (azure-premium)" in ran.out
    assert "partq::ROUTE-1[same-key] PASSED" in ran.out


def test_junit_properties_name_requirement_case_and_status(tmp_path: Path) -> None:
    ran = suite(tmp_path, "Canned")
    assert ran.properties("ROUTE-1[same-key]") == {
        "requirement": "ROUTE-1",
        "case": "same-key",
        "profile": "azure-premium",
        "status": "pass",
        "exercised": "1",
    }


def test_a_violation_fails_with_its_witness_and_no_traceback(tmp_path: Path) -> None:
    ran = suite(tmp_path, "Split")
    assert ran.code == 1
    assert "violated: " in ran.out
    assert "p1 send m1 key=a -> ok @1-2" in ran.out
    assert "allowed: " in ran.out
    assert "Traceback" not in ran.out
    assert "pytest_suite.py" not in ran.out
    failed = {name for name, node in ran.items.items() if node.find("failure") is not None}
    assert "violated" in {ran.properties(name)["status"] for name in failed}
    passed = set(ran.items) - failed
    assert "violated" not in {ran.properties(name)["status"] for name in passed}


def test_a_rule_the_case_does_not_name_is_not_passed_over(tmp_path: Path) -> None:
    ran = suite(tmp_path, "Split", select="other-rules and numbers-after-restart")
    assert ran.code == 1
    violated = ran.properties("other-rules[numbers-after-restart]")["violated"]
    assert f"{violated} " in ran.out.split("= partq: ")[1]


def test_a_should_row_is_an_xfail_unless_strict(tmp_path: Path) -> None:
    ran = suite(tmp_path, "Heap", "-rx", select="ROUTE-4")
    assert ran.code == 0
    assert "1 xfailed" in ran.out
    assert "no MUST" in ran.out
    assert suite(tmp_path, "Heap", "--partq-strict", select="ROUTE-4").code == 1


def test_nothing_exercised_is_skipped_and_no_success(tmp_path: Path) -> None:
    ran = suite(tmp_path, "Silent", "-rs")
    assert ran.code == Exit.INCONCLUSIVE
    assert "not exercised" in ran.out
    assert "inconclusive" in ran.out
    assert ran.items["ROUTE-1[same-key]"].find("skipped") is not None


def test_an_unknown_status_fails_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(
        "from partq.conformance import checkers, suite\n"
        "from dataclasses import replace\n"
        "def crash(facts):\n    raise RuntimeError('a defect')\n"
        "broken = tuple(replace(one, check=crash) for one in checkers.ALL)\n"
        "assess = suite.assess\n"
        "suite.assess = lambda history: assess(history, broken)\n"
    )
    ran = suite(tmp_path, "Canned", "conftest.py")
    assert ran.code == 1
    assert "unknown: checker routing: RuntimeError: a defect" in ran.out


UNSURE = """
from canned_broker import Canned
from partq.conformance import suite
from partq.conformance.verdict import Status, Verdict
assess = suite.assess
def unsure(history):
    return {**assess(history), "ROUTE-4": Verdict(Status.UNKNOWN, 1, reason="who knows")}
suite.assess = unsure
"""


@pytest.mark.parametrize(
    ("select", "code"), [("ROUTE-4", 0), ("same-key] and other-rules", Exit.INCONCLUSIVE), ("programs", 0)]
)
def test_what_is_unknown_of_a_should_is_an_xfail_unless_strict(
    tmp_path: Path, select: str, code: int
) -> None:
    (tmp_path / "unsure.py").write_text(UNSURE)
    options = (*SUITE, "--broker=unsure:Canned", "--partq-programs=2", "-k", select)
    ran = run(tmp_path, *options, "-rx")
    assert ran.code == code
    assert "unknown, but no MUST: ROUTE-4" in ran.out
    ran = run(tmp_path, *options, "--partq-strict")
    assert ran.code == 1
    assert "ROUTE-4 unknown: who knows" in ran.out


def test_a_binding_rule_that_the_case_does_not_name_must_not_be_unknown_either(tmp_path: Path) -> None:
    (tmp_path / "unsure.py").write_text(UNSURE.replace("ROUTE-4", "SEQ-4"))
    ran = run(tmp_path, *SUITE, "--broker=unsure:Canned", "-k", "same-key] and other-rules")
    assert ran.code == 1
    assert "SEQ-4 unknown: who knows" in ran.out


def test_the_seeded_programs_are_a_few_items(tmp_path: Path) -> None:
    ran = suite(tmp_path, "Canned", "--partq-programs=60", select="programs")
    assert ran.code == 0
    assert set(ran.items) == {"programs[0-24]", "programs[25-49]", "programs[50-59]"}
    properties = ran.properties("programs[50-59]")
    assert (properties["profile"], properties["programs"]) == ("azure-premium", "10")
    assert "ROUTE-1 10 pass" in properties["rows"]
    (row,) = (line for line in ran.out.splitlines() if line.startswith("ROUTE-1 "))
    assert row.split()[-2:] == ["pass", "60×"]


def test_what_the_programs_show_fails_with_its_witness(tmp_path: Path) -> None:
    ran = suite(tmp_path, "Split", "--partq-programs=3", select="programs")
    assert ran.code == 1
    assert "p1 send m1 key=a -> ok @1-2" in ran.out
    assert "Traceback" not in ran.out
    assert suite(tmp_path, "Silent", "--partq-programs=3", select="programs").code == Exit.INCONCLUSIVE
    ran = suite(tmp_path, "Gone", "--partq-programs=3", select="programs")
    assert "start the broker first" in ran.out
    assert "Traceback" not in ran.out


def test_the_programs_are_those_of_partq_run(tmp_path: Path) -> None:
    (tmp_path / "seeing.py").write_text(
        "from canned_broker import Canned\n"
        "class Seeing(Canned):\n"
        "    def simulate(self, program):\n"
        "        print(program.seed, file=open('seeds', 'a'))\n"
        "        return super().simulate(program)\n"
    )
    options = ("--broker=seeing:Seeing", "--partq-seed=5", "--partq-programs=30", "-k", "programs")
    assert run(tmp_path, *SUITE, *options).code == 0
    seeds = [int(line) for line in (tmp_path / "seeds").read_text().splitlines()]
    assert seeds == [trace_seed(5, number) for number in range(30)]


CANNOT_RUN = {"Gone": "start the broker first", "Broken": "ZeroDivisionError", "Jammed": "jammed"}


@pytest.mark.parametrize("broker", CANNOT_RUN)
def test_a_broker_that_cannot_be_run_fails_every_item_in_a_line(tmp_path: Path, broker: str) -> None:
    ran = suite(tmp_path, broker)
    assert ran.code == 1
    assert CANNOT_RUN[broker] in ran.out
    assert "Traceback" not in ran.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--broker=nosuch",), "no broker 'nosuch'"),
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


def test_several_profiles_in_one_run(tmp_path: Path) -> None:
    ran = suite(
        tmp_path, "Any", "--profile=azure-premium", "--profile=azure-standard", select="same-key-azure"
    )
    assert {"ROUTE-1[same-key-azure-premium]", "ROUTE-1[same-key-azure-standard]"} <= set(ran.items)


@pytest.mark.parametrize("how", ["load", "loadgroup"])
def test_under_xdist_the_summary_and_properties_are_complete(tmp_path: Path, how: str) -> None:
    alone = suite(tmp_path, "Canned", select="same-key")
    properties = {name: alone.properties(name) for name in alone.items}
    both = suite(tmp_path, "Canned", "-n", "2", "--dist", how, select="same-key")
    assert both.code == 0
    assert {name.partition("@")[0]: both.properties(name) for name in both.items} == properties
    table = [line.split() for line in alone.out.split("= partq: ")[1].splitlines() if " pass " in line]
    for line in table:
        assert line in [words.split() for words in both.out.splitlines()]


def test_a_case_is_run_once_and_shared(tmp_path: Path) -> None:
    (tmp_path / "counting.py").write_text(
        "from canned_broker import Canned\n"
        "class Counting(Canned):\n"
        "    def simulate(self, program):\n"
        "        open('runs', 'a').write('x')\n"
        "        return super().simulate(program)\n"
    )
    ran = run(tmp_path, *SUITE, "--broker=counting:Counting", "-k", "same-key]")
    assert len(ran.items) > 2
    assert (tmp_path / "runs").read_text() == "x"


def test_cases_of_a_live_broker_are_run_at_once_where_it_allows_that(tmp_path: Path) -> None:
    """Each opens only if another does."""
    ran = suite(tmp_path, "Sociable", select="same-key] or numbers]")
    assert "BrokenBarrierError" not in ran.out
    assert "not exercised" in ran.out


@pytest.mark.parametrize("options", [("--partq-jobs=1",), ("-n", "1")])
def test_one_job_or_a_worker_of_xdist_runs_one_case_at_a_time(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    ran = suite(tmp_path, "Solitary", *options, select="same-key] or numbers] or key]")
    assert "somebody else is here" not in ran.out
    assert "not exercised" in ran.out


def test_a_broker_that_does_not_say_what_it_lacks_is_one_line(tmp_path: Path) -> None:
    ran = suite(tmp_path, "Boasting")
    assert ran.code == pytest.ExitCode.INTERRUPTED
    assert "ZeroDivisionError: nothing at all" in ran.out
    assert "Traceback" not in ran.out


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
    ran = run(tmp_path, *SUITE, "--broker=mine:Canned", "-k", "same-key]")
    assert ran.code == 0, ran.out + ran.err
