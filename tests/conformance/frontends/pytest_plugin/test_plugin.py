"""The pytest plugin as a user meets it: what is collected, shown, stored and shared between items."""

from __future__ import annotations

import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from canned_broker import Canned, Split

from partq.conformance.evaluation.suite import run_suite
from partq.conformance.verdict import Exit, Status
from partq.conformance.workload.cases import ALL_CASES
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
    assert "suite.py" not in ran.out
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
    for item in ("ROUTE-1[same-key]", "other-rules[same-key]"):
        assert ran.items[item].find("skipped") is not None
        assert ran.properties(item)["status"] == "not exercised"


def test_one_item_fails_for_a_rule_and_the_others_name_it(tmp_path: Path) -> None:
    ran = suite(tmp_path, "Split", "--partq-programs=60", "-rx", select="azure-premium or same or programs")
    failed = {name for name, node in ran.items.items() if node.find("failure") is not None}
    violated = [name for name in ran.items if ran.properties(name).get("status") == "violated"]
    assert len(violated) > len(failed) == len({name.partition("[")[0] for name in failed})
    assert ran.code == 1
    (first,) = (name for name in failed if name.startswith("ROUTE-2"))
    others = [name for name in violated if name.startswith("ROUTE-2") and name != first]
    assert others
    for name in (*others, "programs[0-24]", "programs[50-59]"):
        skipped = ran.items[name].find("skipped")
        assert skipped is not None
        assert f"ROUTE-2 violated, for which {first} fails" in str(skipped.get("message"))
    assert ran.out.count("ROUTE-2 violated: ") == 1 + ran.out.count(f"FAILED partq::{first}")


def test_the_other_rules_of_a_case_come_last_and_fail_for_what_no_named_one_shows(tmp_path: Path) -> None:
    ran = suite(tmp_path, "Split", "-v", select="session-id-is-the-key] or same-key]")
    lines = [line for line in ran.out.splitlines() if "other-rules[session-id-is-the-key]" in line]
    assert "XFAIL" in lines[0]
    alone = suite(tmp_path, "Split", select="session-id-is-the-key]")
    assert alone.items["other-rules[session-id-is-the-key]"].find("failure") is not None


def test_each_profile_fails_for_itself(tmp_path: Path) -> None:
    (tmp_path / "both.py").write_text(
        "from canned_broker import Split\n"
        "class Both(Split):\n"
        "    def profiles(self):\n"
        "        return 'azure-premium', 'azure-standard'\n"
    )
    ran = run(tmp_path, *SUITE, "--broker=both:Both", "-k", "ROUTE-2 and (same-key-azure or restart)")
    failed = {name for name, node in ran.items.items() if node.find("failure") is not None}
    assert len(failed) == 2
    assert len(ran.items) == 4
    (row,) = rows(ran, "ROUTE-2")
    assert "4 found in same-key (azure-premium), " in row


def rows(ran: Ran, requirement: str) -> list[str]:
    """The lines of that rule in the summary."""
    summary = ran.out.split("= partq: ")[1]
    return [line for line in summary.splitlines() if line.startswith(f"{requirement} ")]


def test_the_summary_is_the_table_of_partq_run(tmp_path: Path) -> None:
    for kind in (Canned, Split):
        ran = run(tmp_path, *SUITE, f"--broker=canned_broker:{kind.__name__}", "--partq-programs=30")
        result = run_suite(kind(), "azure-premium", ALL_CASES.values(), 30, seed=1)
        told = {name: v for name, v in result.verdicts.items() if v.exercised or v.status is Status.VIOLATED}
        assert len(told) > 5
        for name, verdict in told.items():
            (row,) = rows(ran, name)
            assert f" {verdict.status.value} " in row
            assert (f" {verdict.exercised:,}×" in row) == (verdict.exercised > 0)
            assert (f" {verdict.times:,} found in " in row) == (verdict.times > 0)


def test_the_columns_of_the_summary_stand_under_each_other(tmp_path: Path) -> None:
    ran = suite(tmp_path, "Canned", select="conflict or same-key]")
    shown = [line for name in catalogue() for line in rows(ran, name)]
    places = {
        line.index(status)
        for line in shown
        for status in (" pass", " not exercised", " violated")
        if status in line
    }
    assert len(shown) > 5
    assert len(places) == 1


def test_an_unknown_status_is_skipped_told_and_no_success(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(
        "from partq.conformance.evaluation.decision import Decider\n"
        "from partq.conformance.screens import registry\n"
        "from dataclasses import replace\n"
        "def crash(facts):\n    raise RuntimeError('a defect')\n"
        "broken = tuple(replace(one, check=crash) for one in registry.ALL)\n"
        "check = Decider.check\n"
        "Decider.check = lambda decider, *rest: check(Decider(decider.exact, broken), *rest)\n"
    )
    ran = suite(tmp_path, "Canned", "conftest.py")
    assert ran.code == Exit.INCONCLUSIVE
    skipped = ran.items["ROUTE-1[same-key]"].find("skipped")
    assert skipped is not None
    message = str(skipped.get("message"))
    assert message.startswith("ROUTE-1 unknown: screen ")
    assert message.endswith(": RuntimeError: a defect")
    assert message.removeprefix("ROUTE-1 unknown: ") in rows(ran, "ROUTE-1")[0]
    assert " unknown: inconclusive" in ran.out


UNSURE = """
from canned_broker import Canned
from partq.conformance.evaluation.decision import Decider
from partq.conformance.verdict import Status, Verdict
check = Decider.check
def unsure(*given):
    return {**check(*given), "ROUTE-4": Verdict(Status.UNKNOWN, 1, reason="who knows")}
Decider.check = unsure
"""


@pytest.mark.parametrize("select", ["ROUTE-4", "same-key] and other-rules", "programs"])
def test_what_is_unknown_of_a_should_is_skipped_and_open_only_if_strict(tmp_path: Path, select: str) -> None:
    (tmp_path / "unsure.py").write_text(UNSURE)
    options = (*SUITE, "--broker=unsure:Canned", "--partq-programs=2", "-k", f"{select} or ROUTE-2")
    ran = run(tmp_path, *options, "-rs")
    assert ran.code == 0
    assert "ROUTE-4 unknown: who knows" in " ".join(ran.out.split())
    ran = run(tmp_path, *options, "--partq-strict")
    assert ran.code == Exit.INCONCLUSIVE
    assert "partq: ROUTE-4 unknown: inconclusive" in ran.out


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_a_binding_rule_that_is_unknown_is_no_success_and_hides_no_failure(
    tmp_path: Path, workers: tuple[str, ...]
) -> None:
    (tmp_path / "unsure.py").write_text(UNSURE.replace("ROUTE-4", "SEQ-4"))
    chosen = (*workers, "-k", "same-key] and (other-rules or ROUTE-2)")
    ran = run(tmp_path, *SUITE, "--broker=unsure:Canned", *chosen)
    assert ran.code == Exit.INCONCLUSIVE
    assert "who knows" in rows(ran, "SEQ-4")[0]
    split = UNSURE.replace("ROUTE-4", "SEQ-4").replace("Canned", "Split")
    (tmp_path / "unsure.py").write_text(split)
    ran = run(tmp_path, *SUITE, "--broker=unsure:Split", *chosen)
    assert ran.code == 1
    assert "unknown: inconclusive" not in ran.out


@pytest.mark.parametrize("workers", [(), ("-n", "1")])
def test_one_item_fails_where_one_of_several_rules_surely_is_violated(
    tmp_path: Path, workers: tuple[str, ...]
) -> None:
    select = "one-by-one-in-order or bodies-and-properties or programs"
    ran = suite(tmp_path, "Overtaken", *workers, "--partq-programs=2", "-rx", select=select)
    assert ran.code == 1
    (failed,) = (name for name, node in ran.items.items() if node.find("failure") is not None)
    assert "RCV-3 or RCV-2 violated\n" in ran.out
    others = [name for name in ran.items if name != failed and "ambiguous" in ran.properties(name)]
    assert {"RCV-3[one-by-one-in-order]", "programs[0-1]"} <= {*others}
    for name in others:
        assert ran.properties(name)["ambiguous"] == "RCV-3 or RCV-2 violated"
        skipped = ran.items[name].find("skipped")
        assert skipped is not None
        assert f"RCV-3 or RCV-2 violated, for which {failed} fails" in str(skipped.get("message"))
    assert "\npartq: RCV-3 or RCV-2 violated\n" in ran.out
    assert "inconclusive" not in ran.out


AMBIGUOUS = """
from canned_broker import Canned
from partq.conformance.evaluation.decision import Decider
from partq.conformance.verdict import Status, Verdict
check = Decider.check
def unsure(*given):
    candidates = "ROUTE-2", "ROUTE-4"
    unclear = Verdict(Status.UNKNOWN, 1, reason="who knows", candidates=candidates)
    return {**check(*given), **dict.fromkeys(candidates, unclear)}
Decider.check = unsure
"""


def test_one_of_several_rules_fails_only_where_all_of_them_bind(tmp_path: Path) -> None:
    """ROUTE-4 is a SHOULD: it may be the one that is violated."""
    (tmp_path / "unsure.py").write_text(AMBIGUOUS)
    options = (*SUITE, "--broker=unsure:Canned", "-k", "same-key]")
    ran = run(tmp_path, *options)
    assert ran.code == Exit.INCONCLUSIVE
    assert "partq: ROUTE-2 unknown: inconclusive" in ran.out
    assert run(tmp_path, *options, "--partq-strict").code == 1


def test_a_rule_known_to_be_violated_fails_alone(tmp_path: Path) -> None:
    """ROUTE-2 is violated in every case; in the second one it or SEQ-4 is, which says no more."""
    (tmp_path / "unsure.py").write_text(
        AMBIGUOUS.replace("ROUTE-4", "SEQ-4")
        .replace("Canned", "Split")
        .replace("(*given):\n", "(*given, seen=[]):\n    seen.append(1)\n")
        .replace("    return", "    if len(seen) == 1:\n        return check(*given)\n    return")
    )
    ran = run(tmp_path, *SUITE, "--broker=unsure:Split", "-k", "ROUTE-2", "-rx")
    failed = [name for name, node in ran.items.items() if node.find("failure") is not None]
    assert len(failed) == 1 < len(ran.items)
    assert f"ROUTE-2 or SEQ-4 violated, for which {failed[0]} fails" in " ".join(ran.out.split())
    assert "\npartq: ROUTE-2 or SEQ-4" not in ran.out


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
    assert suite(tmp_path, "Gone", "--partq-programs=3", select="programs").code == Exit.BAD_INPUT


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
    ran = suite(tmp_path, broker, *workers, select="same-key")
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
