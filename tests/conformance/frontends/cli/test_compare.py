"""``partq compare``: folders, files and brokers side by side; every kind of difference is found, and table,
JSON, page and exit code say the same."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from shutil import rmtree
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from samples import BROKER, campaign, run_folder, wave

from partq.conformance import schemas
from partq.conformance.frontends.cli.app import main
from partq.conformance.frontends.cli.comparison_table import rows_tables
from partq.conformance.frontends.cli.stored import columns_in
from partq.conformance.verdict import Change, Column, Group, Status, Verdict, compare, letters
from partq.model.requirements import catalogue

PROFILE = "azure-standard"
SCHEMA = Draft202012Validator(schemas.load("comparison"))
FINDING = {
    "requirement": "ROUTE-2",
    "title": "Equal keys in two partitions",
    "detail": "m1 is in 3, m2 in 5",
    "allowed": "both in one",
    "key": "apart",
    "witness": [1, 2],
}

Capture = pytest.CaptureFixture[str]
Rows = dict[str, dict[str, Any]]


def stored(folder: Path, edit: Callable[[dict[str, Any]], None] = lambda data: None) -> str:
    """A run of the sample, edited; answers the folder's name."""
    run_folder(folder)
    file = folder / "verdicts.json"
    data = json.loads(file.read_text(encoding="utf-8"))
    edit(data)
    file.write_text(json.dumps(data), encoding="utf-8")
    return str(folder)


def planted(folder: Path, **rows: dict[str, Any]) -> str:
    """The sample with these fields of requirements changed; ``_`` in their names stands for ``-``. It has no
    exit code but what its rows come to."""

    def edit(data: dict[str, Any]) -> None:
        del data["exit"]
        for name, fields in rows.items():
            data["profiles"][PROFILE][name.replace("_", "-")].update(fields)

    return stored(folder, edit)


VIOLATED = {"status": "violated", "findings": [FINDING], "found": {"apart": 12}}


def asked(capsys: Capture, *words: str) -> tuple[int, dict[str, Any]]:
    """The exit code and the document of a comparison, which fits its schema."""
    code = main(["compare", *words, "--format", "json"])
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    SCHEMA.validate(document)
    return code, document


def groups(document: dict[str, Any]) -> dict[str, str]:
    return {row["requirement"]: row["group"] for row in document["rows"]}


# --- what is found ------------------------------------------------------------------------------------

PLANTED: dict[str, tuple[dict[str, Any], Change, int]] = {
    "ROUTE_2": (VIOLATED, Change.NEW, 1),
    "RCV_2": ({"status": "unknown", "reason": "no time"}, Change.OPENED, 3),
    "SEQ_1": ({"status": "not exercised", "exercised": 0}, Change.LOST, 0),
    "RCV_15": ({"status": "pass", "exercised": 4}, Change.GAINED, 0),
    "SEQ_4": ({"status": "pass", "reason": ""}, Change.DECIDED, 0),
}


@pytest.mark.parametrize("rule", PLANTED)
def test_a_planted_change_of_one_verdict_is_found(rule: str, tmp_path: Path, capsys: Capture) -> None:
    fields, change, code = PLANTED[rule]
    before, after = stored(tmp_path / "before"), planted(tmp_path / "after", **{rule: fields})
    found, document = asked(capsys, before, after)
    (regression,) = document["regressions"].values()
    told = {name: rules for name, rules in regression["changes"].items() if rules}
    assert (found, document["exit"], regression["exit"]) == (code, code, code)
    assert told == {change.value: [rule.replace("_", "-")]}


def test_the_other_way_round_it_is_fixed(tmp_path: Path, capsys: Capture) -> None:
    before, after = planted(tmp_path / "before", ROUTE_2=VIOLATED), stored(tmp_path / "after")
    code, document = asked(capsys, before, after)
    assert (code, document["regressions"][PROFILE]["changes"]["fixed"]) == (0, ["ROUTE-2"])
    assert document["conclusion"] == "NOTHING NEWLY VIOLATED: 1 fixed"


def test_the_same_verdicts_of_another_broker_are_no_regression(tmp_path: Path, capsys: Capture) -> None:
    other = stored(tmp_path / "b", lambda data: data.update(broker="another"))
    worse = planted(tmp_path / "a", ROUTE_2=VIOLATED)
    code, document = asked(capsys, other, worse)
    assert (code, document["regressions"]) == (0, {})
    assert groups(document)["ROUTE-2"] == Group.BY_SOME


def test_a_campaign_has_a_column_for_each_profile(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "c").mkdir()
    code, document = asked(capsys, str(campaign(tmp_path / "c")), stored(tmp_path / "run"))
    names = [column["name"] for column in document["columns"]]
    assert names[0] == f"{BROKER} · azure-standard"
    assert len(names) == 5
    assert (code, groups(document)["REB-14"]) == (0, Group.BY_ALL)


def test_the_summary_of_a_campaign_stands_for_its_folder(tmp_path: Path) -> None:
    (tmp_path / "c").mkdir()
    folder = campaign(tmp_path / "c")
    assert columns_in(folder / "campaign.json") == columns_in(folder)


def test_a_violation_without_a_finding_is_told(tmp_path: Path, capsys: Capture) -> None:
    worse = planted(tmp_path / "worse", ROUTE_2={"status": "violated"})
    assert main(["compare", worse, stored(tmp_path / "run", lambda data: data.update(broker="other"))]) == 0
    assert "  A: violated, without a finding" in capsys.readouterr().out


def test_only_the_profiles_asked_for(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "c").mkdir()
    folder = str(campaign(tmp_path / "c"))
    _, document = asked(capsys, folder, "--profile", "solace", "--profile", "azure-flat")
    assert [column["profile"] for column in document["columns"]] == ["azure-flat", "solace"]


def test_a_file_of_verdicts_is_read_as_its_folder_is(tmp_path: Path, capsys: Capture) -> None:
    folder = stored(tmp_path / "run")
    assert asked(capsys, folder, f"{folder}/verdicts.json")[1]["conclusion"].endswith(
        "both runs say the same"
    )


def test_rules_that_older_results_do_not_have_are_said_to_be_missing(tmp_path: Path) -> None:
    folder = stored(tmp_path / "old", lambda data: data["profiles"][PROFILE].pop("SEQ-1"))
    (column,) = columns_in(Path(folder))
    assert column.verdicts["SEQ-1"] == Verdict(Status.NOT_IMPLEMENTED, reason="not in these results")


@pytest.mark.slow
def test_a_mutant_differs_from_the_reference_in_what_it_breaks(capsys: Capture) -> None:
    words = ("reference", "mutant:route-by-body", "--profile", PROFILE, "--programs", "0")
    code, document = asked(capsys, *words)
    assert code == 0
    rows = {row["requirement"]: row["verdicts"][1]["status"] for row in document["rows"]}
    assert [id for id, status in rows.items() if status == "violated"] == ["ROUTE-2"]
    assert groups(document)["ROUTE-2"] == Group.BY_SOME
    assert [column["name"] for column in document["columns"]] == ["reference", "mutant:route-by-body"]


# --- what is said -------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", PLANTED)
def test_table_json_page_and_exit_code_agree(rule: str, tmp_path: Path, capsys: Capture) -> None:
    fields, _, code = PLANTED[rule]
    before, after = stored(tmp_path / "before"), planted(tmp_path / "after", **{rule: fields})
    page = tmp_path / "page.html"
    _, document = asked(capsys, before, after)
    assert main(["compare", before, after, "--out", str(page)]) == code
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == document["conclusion"]
    word, _, sentence = last.partition(": ")
    assert f"<strong>{word.capitalize()}.</strong> {sentence}" in page.read_text(encoding="utf-8")


def test_six_columns_fit_into_80(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    folders = [planted(tmp_path / f"run-{n}", ROUTE_2=VIOLATED if n == 3 else {}) for n in range(6)]
    assert main(["compare", *folders]) == 0
    lines = capsys.readouterr().out.splitlines()
    (row,) = [line for line in lines if line.startswith("ROUTE-2   MUST")]
    assert row.split()[-6:] == ["✓", "✓", "✓", "✗", "✓", "✓"]
    assert catalogue()["ROUTE-2"].title in row
    assert "  D: Equal keys in two partitions (12 violations)" in [line.rstrip() for line in lines]
    assert max(map(len, lines)) <= 80


def test_what_all_agree_on_is_a_line_unless_asked_for(tmp_path: Path, capsys: Capture) -> None:
    folders = [stored(tmp_path / "a"), stored(tmp_path / "b", lambda data: data.update(broker="other"))]
    main(["compare", *folders])
    short = capsys.readouterr().out
    main(["compare", *folders, "-v"])
    long = capsys.readouterr().out
    assert ("KEY-1 " in short, "KEY-1 " in long) == (False, True)
    assert "Agreed rules: " in short and " pass where applicable" in short
    assert "SEQ-4" in short, "what is left open is never folded"


def test_more_columns_than_fit_come_in_several_tables() -> None:
    column = Column("s", "b", "p", {id: Verdict(Status.PASS, 1) for id in catalogue()})
    rows = compare([[column]] * 40).of(Group.AGREED)
    shown = [[str(one.header) for one in table.columns] for table in rows_tables(rows, 40, 80)]
    assert [(headings[-1], "rule" in headings) for headings in shown] == [
        (letters(17), False),
        (letters(35), False),
        (letters(39), True),
    ], "titles where there is room for them"


def test_no_password_is_shown_or_written(tmp_path: Path, capsys: Capture) -> None:
    url = "rabbitmq://me:hush@host/?token=hush2"
    folders = [stored(tmp_path / name, lambda data: data.update(broker=url)) for name in ("a", "b")]
    page = tmp_path / "page.html"
    assert main(["compare", *folders, "--out", str(page)]) == 0
    assert "hush" not in capsys.readouterr().out + page.read_text(encoding="utf-8")
    assert "***" in page.read_text(encoding="utf-8")


def test_an_interrupted_run_is_no_better_than_it_was(tmp_path: Path, capsys: Capture) -> None:
    def cut(data: dict[str, Any]) -> None:
        data["profiles"][PROFILE]["SEQ-4"].update(status="pass")
        data.update(exit=3, conclusion="INCONCLUSIVE: interrupted after 4 runs")

    code, document = asked(capsys, stored(tmp_path / "before"), stored(tmp_path / "after", cut))
    assert code == document["exit"] == 3
    assert document["columns"][1]["note"] == "INCONCLUSIVE: interrupted after 4 runs"


# --- what can't be used -------------------------------------------------------------------------------


def test_an_unfinished_campaign_has_no_verdict(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "c").mkdir()
    folder = campaign(tmp_path / "c")
    summary = json.loads((folder / "campaign.json").read_text(encoding="utf-8"))
    (folder / "campaign.json").write_text(json.dumps({**summary, "complete": False}), encoding="utf-8")
    assert refused(capsys, str(folder), stored(tmp_path / "run")) == (
        f"partq: error: {folder}: the campaign is not complete, so there is no verdict yet: partq report "
        f"{folder} says how to finish it"
    )


def test_a_campaign_that_lost_traces_is_none(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "c").mkdir()
    folder = campaign(tmp_path / "c")
    for table in folder.glob("table=*"):
        rmtree(table)
    wave(folder, 0, 19000)
    assert "says traces: 20000; its tables come to 19000" in refused(
        capsys, str(folder), stored(tmp_path / "run")
    )


def test_a_campaign_whose_summary_alone_was_changed_is_none(tmp_path: Path, capsys: Capture) -> None:
    """It says that a violated rule passes, and its tables know better."""
    gold, forged = (campaign(tmp_path / name) for name in ("gold", "forged"))
    data = json.loads((forged / "campaign.json").read_text(encoding="utf-8"))
    (lane,) = (one["requirements"] for one in data["results"] if "REB-14/early" in str(one))
    lane["REB-14"].update(status="pass", findings=[], found={})
    (forged / "campaign.json").write_text(json.dumps({**data, "exit": 0, "causes": []}), encoding="utf-8")
    told = "says status of REB-14 (acme:Broker as solace): pass; its tables come to violated"
    assert told in refused(capsys, str(gold), str(forged))
    assert main(["report", str(forged)]) == 2
    assert "campaign.json: exit: 0, where the verdicts come to 1" in capsys.readouterr().err


def refused(capsys: Capture, *words: str) -> str:
    """What is said of a source that can't be used, in one line, with exit code 2."""
    assert main(["compare", *words]) == 2
    captured = capsys.readouterr()
    (line,) = captured.err.splitlines()
    assert captured.out == ""
    return line


DAMAGE: dict[str, tuple[Callable[[dict[str, Any]], None], str]] = {
    "another version": (
        lambda data: data.update(schema="partq.verdicts/2"),
        "schema: expected 'partq.verdicts/1'",
    ),
    "no profiles": (lambda data: data.pop("profiles"), "missing 'profiles'"),
    "nothing in it": (lambda data: data.update(profiles={}), "there are no verdicts in it"),
    "a rule of nobody": (
        lambda data: data["profiles"][PROFILE].update({"SEQ-99": {}}),
        "SEQ-99 is no rule that this version of partq knows",
    ),
    "a status of nobody": (
        lambda data: data["profiles"][PROFILE]["SEQ-1"].update(status="fine"),
        "'fine' is not a valid Status",
    ),
    "a broken exit code": (lambda data: data.update(exit=7), "exit: no exit code of a verdict: 7"),
    "no broker": (lambda data: data.update(broker=None), "broker: expected text: None"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_results_are_refused_in_one_line(damage: str, tmp_path: Path, capsys: Capture) -> None:
    edit, why = DAMAGE[damage]
    folder = stored(tmp_path / "bad", edit)
    assert refused(capsys, stored(tmp_path / "good"), folder).endswith(f"{folder}/verdicts.json: {why}")


def test_a_folder_that_holds_no_results(tmp_path: Path, capsys: Capture) -> None:
    assert "holds neither a campaign nor a run" in refused(capsys, str(tmp_path), stored(tmp_path / "run"))


def test_no_folder_and_no_broker(tmp_path: Path, capsys: Capture) -> None:
    said = refused(capsys, stored(tmp_path / "run"), "refernce")
    assert "neither a folder nor a file, and no broker 'refernce'; did you mean reference?" in said


def test_one_column_is_nothing_to_compare(tmp_path: Path, capsys: Capture) -> None:
    assert refused(capsys, stored(tmp_path / "run")).endswith(
        "there is only one column: give two sources or more"
    )


def test_no_verdicts_under_that_profile(tmp_path: Path, capsys: Capture) -> None:
    folder = stored(tmp_path / "run")
    assert refused(capsys, folder, folder, "--profile", "solace").endswith("has no verdicts under solace")


def test_what_a_broker_of_partq_is_called_is_that_broker(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    stored(tmp_path / "reference")
    assert main(["compare", "reference", "./reference", "--profile", PROFILE, "--programs", "0"]) in (0, 3)
    assert "reference is the broker here; ./reference is the folder" in capsys.readouterr().err


def test_columns_tell_what_was_done_to_each_broker(tmp_path: Path, capsys: Capture) -> None:
    """What was never killed and passes is not beside what was, as if both had been put to the same test."""
    faults = {"broker_kill": 3, "disconnect": 2}

    def killed(data: dict[str, Any]) -> None:
        data["done"] = {PROFILE: {"programs": 40, "faults": faults}}

    def untouched(data: dict[str, Any]) -> None:
        data["done"] = {PROFILE: {"programs": 1, "faults": {}}}

    sources = [stored(tmp_path / "a", killed), stored(tmp_path / "b", untouched), stored(tmp_path / "old")]
    page = tmp_path / "page.html"
    main(["compare", *sources, "--format", "json", "--out", str(page)])
    data = json.loads(capsys.readouterr().out)
    SCHEMA.validate(data)
    told = [column["done"] for column in data["columns"]]
    assert told[0].startswith(
        "40 programs; broker_kill 3, disconnect 2; never connection_lost, frontend_lost, partition_down; "
    )
    assert told[1].startswith("1 program; never broker_kill, connection_lost, disconnect, ")
    assert all(one.endswith(" binding rules exercised") for one in told)
    assert "program" not in told[2], "a file of an older version does not say"
    main(["compare", *sources])
    out = " ".join(capsys.readouterr().out.split())
    assert all(one in out for one in told)
    assert told[0] in page.read_text()


def test_a_run_tells_what_it_did(capsys: Capture) -> None:
    run = ["run", "reference", "--profile", PROFILE, "--programs", "0", "--format", "json"]
    main([*run, "--case", "nothing-lost-in-a-restart", "--case", "same-key"])
    done = json.loads(capsys.readouterr().out)["done"][PROFILE]
    assert done["programs"] == 2
    assert done["faults"]["broker_kill"] >= 1


def test_what_was_done_is_checked(tmp_path: Path, capsys: Capture) -> None:
    for wrong in ([1], {PROFILE: 3}, {PROFILE: {"programs": -1, "faults": {}}}, {PROFILE: {"programs": 1}}):
        folder = stored(tmp_path / str(len(str(wrong))), lambda data, wrong=wrong: data.update(done=wrong))
        assert main(["compare", folder, "reference"]) == 2
        assert "verdicts.json" in capsys.readouterr().err
