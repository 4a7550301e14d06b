"""The Python API as a script meets it: what it takes, what it answers, and that the commands say the same."""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from canned_broker import SPLIT, TOGETHER, Canned, Heap, Lying, Markup, Overtaken, Silent, Split

from partq.conformance import check, explain, run
from partq.conformance.adapters import Broker, UnknownBroker
from partq.conformance.evaluation.suite import BrokerFailed
from partq.conformance.frontends.api import MissingPackage, Result, Violated
from partq.conformance.frontends.cli.app import main
from partq.conformance.history import History
from partq.conformance.history.codec import HistoryError, write_history
from partq.conformance.history.notation import history
from partq.conformance.verdict import BadRequire, Status
from partq.conformance.workload.cases.case import UnknownCase
from partq.model.profiles import UnknownProfile
from partq.model.requirements import UnknownRequirement, catalogue, requirement

PROFILE = "azure-premium"


@pytest.fixture
def split() -> History:
    """Equal keys in two partitions: ROUTE-2 is violated."""
    return history(SPLIT, PROFILE)


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    """The command's exit code, and its document."""
    capsys.readouterr()
    code = main([*arguments, "--format", "json"])
    return code, json.loads(capsys.readouterr().out)


def last_line(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The last line of the command's table."""
    capsys.readouterr()
    main(list(arguments))
    return capsys.readouterr().out.splitlines()[-1]


# The commands say the same.


@pytest.mark.parametrize("kind", [Canned, Split, Heap, Overtaken, Silent, Lying])
@pytest.mark.parametrize("more", [{}, {"strict": True}, {"require": ["90%", "SEQ-5"]}])
def test_run_says_what_the_command_says(
    capsys: pytest.CaptureFixture[str], kind: type[Broker], more: dict[str, Any]
) -> None:
    name = f"canned_broker:{kind.__name__}"
    options = ["--strict"] * more.get("strict", False)
    options += [word for each in more.get("require", ()) for word in ("--require", each)]
    number = 0 if kind is Lying else 3
    options += ["--case", "same-key", "--case", "one-by-one-in-order", "--programs", str(number)]
    given = ("run", name, "--seed", "2", *options)
    result = run(name, programs=number, seed=2, cases=["same-key", "one-by-one-in-order"], **more)
    code, document = printed(capsys, *given)
    assert result.to_json() == document
    assert result.exit_code == code == document["exit"]
    assert result.conclusion == document["conclusion"] == last_line(capsys, *given)


@pytest.mark.parametrize("shows", [TOGETHER, SPLIT, ""])
@pytest.mark.parametrize("more", [{}, {"require": ["ROUTE-4"]}, {"profile": "azure-standard"}])
def test_check_says_what_the_command_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], shows: str, more: dict[str, Any]
) -> None:
    file = tmp_path / "history.ndjson"
    write_history(file, history(shows, PROFILE))
    options = [word for each in more.get("require", ()) for word in ("--require", each)]
    options += ["--profile", more["profile"]] if "profile" in more else []
    result = check(file, **more)
    code, document = printed(capsys, "check", str(file), *options)
    assert result.to_json() == document
    assert result.exit_code == code
    assert result.conclusion == last_line(capsys, "check", str(file), *options)


def test_cases_alone_as_the_command_has_them(capsys: pytest.CaptureFixture[str]) -> None:
    code, document = printed(capsys, "run", "canned_broker:Split", "--case", "same-key")
    result = run("canned_broker:Split", cases=["same-key"])
    assert result.to_json() == document
    assert len(result.judged) == 1 == code


# What may be given.


def test_check_takes_a_history_a_file_and_several(tmp_path: Path, split: History) -> None:
    file = tmp_path / "one.ndjson"
    write_history(file, split)
    both = check(iter([split, file]))
    assert both.broker == "2 histories"
    assert [one.name for one in both.judged] == ["history 1", str(file)]
    (alone,) = check(split).of("ROUTE-2").values()
    assert both.verdicts[PROFILE]["ROUTE-2"].times == 2 * alone.times == 2
    assert check(str(file)).broker == str(file)


def test_histories_of_several_profiles_are_told_apart(split: History) -> None:
    other = replace(split, header=replace(split.header, profile="azure-standard"))
    assert list(check([split, other]).verdicts) == [PROFILE, "azure-standard"]
    assert list(check([split, other], profile=PROFILE).verdicts) == [PROFILE]


def test_run_takes_a_name_a_class_and_an_object() -> None:
    verdicts = [run(one, programs=2, cases=["same-key"]).verdicts for one in (NAME, Split, Split())]
    assert verdicts[0] == verdicts[1] == verdicts[2]
    assert run(Split, cases=["same-key"]).broker == NAME


NAME = "canned_broker:Split"


def test_several_profiles_in_one_run() -> None:
    result = run(Canned, ["azure-premium", "azure-standard"], cases=["same-key"])
    assert list(result.verdicts) == ["azure-premium", "azure-standard"]
    assert result.requirements["ROUTE-1"].exercised == 2


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda: run("nosuch"), UnknownBroker, "no broker 'nosuch'"),
        (lambda: run(Canned, "azure-premum"), UnknownProfile, "Did you mean azure-premium"),
        (lambda: run("reference", "rabbitmq"), UnknownProfile, "the reference broker has no profile"),
        (lambda: run(Canned, cases=["same-kex"]), UnknownCase, "same-key"),
        (lambda: run(Canned, require=["lots"]), BadRequire, "neither a rule"),
        (lambda: run("canned_broker:Broken"), BrokerFailed, "ZeroDivisionError"),
        (lambda: check([]), ValueError, "no history"),
        (lambda: check("nowhere.ndjson"), HistoryError, "No such file"),
        (lambda: check("nowhere.ndjson", "azure"), UnknownProfile, "unknown profile 'azure'"),
        (lambda: explain("ROUT-2"), UnknownRequirement, "ROUTE-2"),
        (lambda: run(Canned, cases=["same-key"]).to_arrow("rows"), ValueError, "verdicts, findings"),
    ],
)
def test_bad_input_is_one_line(call: Any, error: type[Exception], said: str) -> None:
    with pytest.raises(error) as caught:
        call()
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_missing_records_are_a_warning_at_the_callers_line(split: History) -> None:
    cut = replace(split, records=split.records[:1] + split.records[2:])
    with pytest.warns(UserWarning, match="history 1: no record 1: if lines were deleted") as seen:
        check(cut)
    assert seen[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check(split)


# What is answered.


def test_a_finding_has_its_witness_and_its_history(split: History) -> None:
    (found,) = check(split).findings
    assert (found.requirements, found.times, found.where) == (("ROUTE-2",), 1, "history 1")
    assert [record.i for record in found.witness] == list(found.finding.witness)
    assert found.title in str(found)
    assert f"expected: {found.allowed}" in str(found)
    assert "p1 send m1 key=a -> ok @1ns-2ns" in str(found)


def test_one_of_several_rules_is_an_ambiguity() -> None:
    result = run(Overtaken, cases=["one-by-one-in-order"])
    assert result.ambiguities == {"azure-flat": (("RCV-3", "RCV-2"),)}
    assert run(Canned, cases=["same-key"]).ambiguities == {}


def test_raise_for_violations(split: History) -> None:
    held = check(history(TOGETHER, PROFILE))
    assert held.raise_for_violations() is held
    with pytest.raises(Violated, match="NOT CONFORMANT: ROUTE-2 violated") as caught:
        check(split).raise_for_violations()
    assert "p1 send m1 key=a" in str(caught.value)
    assert caught.value.result.exit_code == 1


def test_tables_hold_every_verdict_and_finding() -> None:
    result = run(Split, [PROFILE, "azure-standard"], cases=["same-key"])
    for frame in (result.to_pandas(), result.to_arrow().to_pandas()):
        assert len(frame) == 2 * len(catalogue())
        for row in frame.itertuples():
            verdict = result.verdicts[row.profile][row.requirement]
            seen = row.status, row.exercised, row.found, row.reason, tuple(row.candidates)
            assert seen == (
                verdict.status.value, verdict.exercised, verdict.times, verdict.reason, verdict.candidates
            )  # fmt: skip
    for frame in (result.to_pandas("findings"), result.to_arrow("findings").to_pandas()):
        assert list(frame.requirement) == ["ROUTE-2"] * 2
        assert list(frame.witness[0]) == list(result.findings[0].finding.witness)


def test_tables_without_rows_keep_their_columns() -> None:
    result = run(Canned, cases=["same-key"])
    assert list(result.to_pandas("findings").columns) == result.to_arrow("findings").column_names
    assert result.to_arrow("findings").num_rows == 0


@pytest.mark.parametrize("package", ["pyarrow", "pandas"])
def test_without_the_package_a_table_is_one_line(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    result = run(Canned, cases=["same-key"])
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingPackage, match="pip install 'partq\\[") as caught:
        result.to_arrow() if package == "pyarrow" else result.to_pandas()
    assert "\n" not in str(caught.value)


class Tags(HTMLParser):
    """Every tag, and all text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def test_a_notebook_shows_conclusion_findings_and_rules(split: History) -> None:
    result = check(split)
    page = Tags(result._repr_html_())
    assert result.conclusion in page.text
    assert "ROUTE-2 violated: " in page.text
    assert "p1 send m1 key=a -> ok @1ns-2ns" in page.text
    rows = [id for id, verdict in result.requirements.items() if verdict.status is Status.PASS]
    assert rows
    assert all(id in page.text for id in rows)


def test_what_a_broker_or_file_says_is_no_html(tmp_path: Path) -> None:
    """Planted: a key and a file's name that would be tags."""
    evil = history(SPLIT.replace("key=a", 'key="<script>x</script>"'), PROFILE)
    file = tmp_path / "<img>.ndjson"
    write_history(file, evil)
    page = Tags(check(file)._repr_html_())
    assert "<script>" in page.text
    assert "<img>" in page.text
    assert page.tags.isdisjoint({"script", "img"})
    assert "red" in run(Markup, cases=["same-key"])._repr_html_()


def test_explain_has_text_sources_and_reading() -> None:
    rule, known = explain("route-2"), requirement("ROUTE-2")
    assert (rule.id, rule.text, rule.reading, rule.level) == (
        known.id,
        known.text,
        known.reading,
        known.level,
    )
    assert [source.code for source in rule.sources] == list(known.sources)
    assert PROFILE in rule.profiles
    assert "same-key" in rule.cases
    assert "route-by-body" in rule.mutants
    assert known.title in Tags(rule._repr_html_()).text
    assert known.text in str(rule)


# Light to import.


def test_importing_the_package_imports_nothing_of_ours_until_it_is_asked_for() -> None:
    code = (
        "import sys, partq.conformance\n"
        "before = {name for name in sys.modules if name.startswith('partq.')}\n"
        "from partq.conformance import check\n"
        "print(sorted(before), 'partq.conformance.frontends.api' in sys.modules)\n"
        "print([name for name in ('pandas', 'pyarrow', 'typer') if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.splitlines() == ["['partq.conformance'] True", "[]"]


def test_the_package_has_no_other_names() -> None:
    import partq.conformance

    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = partq.conformance.nothing
    assert isinstance(run(Canned, cases=["same-key"]), Result)
