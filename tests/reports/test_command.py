"""``partq report``: folders in, a file out; what is wrong is said in one line, exit code 2."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from functools import reduce
from io import StringIO
from operator import getitem
from pathlib import Path
from typing import NamedTuple

import pytest
from samples import campaign, run_folder, wave

from partq.conformance.frontends.campaign import local_folder, plan
from partq.conformance.frontends.cli.app import main
from partq.conformance.frontends.cli.report import gather
from partq.conformance.frontends.cli.stored import BadResults, columns_in
from partq.conformance.verdict.activity import Count, key
from partq.model.requirements import catalogue


class Ended(NamedTuple):
    exit_code: int
    stdout: str
    stderr: str

    @property
    def output(self) -> str:
        return self.stdout + self.stderr


def call(*arguments: object) -> Ended:
    with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as err:
        code = main(["report", *map(str, arguments)])
    return Ended(code, out.getvalue(), err.getvalue())


def test_writes_into_the_folder(tmp_path: Path) -> None:
    folder = run_folder(tmp_path / "run")
    result = call(folder)
    assert result.exit_code == 0
    assert result.stdout == f"report {folder / 'report.html'}\n"
    assert (folder / "report.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_writes_where_it_is_told(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "page.html"
    assert call(campaign(tmp_path / "c"), "--out", target).exit_code == 0
    assert target.is_file()


def test_neither_campaign_nor_run(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "missing"):
        result = call(folder)
        assert result.exit_code == 2
        assert "give the folder that partq fuzz or partq run got" in result.output.replace("\n", " ")


def test_a_strict_run_is_reported_as_it_ended_with_the_command_that_does_it_again(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    options = ("--profile", "azure-premium", "--case", "same-key", "--programs", "2", "--seed", "5")
    assert main(["run", "canned_broker:Heap", *options, "--strict", "--out", str(folder)]) == 1
    material = gather(folder)
    assert material.exit == 1
    assert [lane.exit for lane in material.lanes] == [1]
    again = ("partq", "run", "canned_broker:Heap", *options, "--strict", "--out", "run-again")
    assert material.command == " ".join(again)
    assert set(material.made) == {"started", "host", "system", "python", "partq"}
    assert call(folder).exit_code == 0
    assert "Not conformant" in (folder / "report.html").read_text(encoding="utf-8")


def test_a_strict_campaign_says_so_in_its_command(tmp_path: Path) -> None:
    folder = campaign(tmp_path / "c")
    assert "--strict" not in gather(folder).command
    data = json.loads((folder / "campaign.json").read_text())
    (folder / "campaign.json").write_text(json.dumps({**data, "strict": True}))
    assert "--strict" in gather(folder).command


def test_a_folder_of_an_older_version_is_judged_by_its_rows(tmp_path: Path) -> None:
    folder = campaign(tmp_path / "c")
    data = json.loads((folder / "campaign.json").read_text())
    for name in ("exit", "strict", "made"):
        del data[name]
    (folder / "campaign.json").write_text(json.dumps(data))
    assert (gather(folder).exit, gather(folder).made) == (1, {})


def test_the_command_of_a_counterexample_has_a_place_for_a_password(tmp_path: Path) -> None:
    folder = campaign(tmp_path / "c")
    for file in (folder / "counterexamples").iterdir():
        text = file.read_text(encoding="utf-8")
        file.write_text(text.replace('"acme:Broker"', '"rabbitmq://me:***@host/"'), encoding="utf-8")
    commands = [example.replay for example in gather(folder).examples]
    assert commands
    assert all(command.endswith(" --broker 'rabbitmq://me:***@host/'") for command in commands)


DAMAGE = {
    "not JSON": ("campaign.json", lambda text: text[:100]),
    "schema": ("campaign.json", lambda text: text.replace(plan.SCHEMA, "x/9")),
    "'conformant' is not a valid Status": (
        "campaign.json",
        lambda text: text.replace('"pass"', '"conformant"'),
    ),
    "missing 'plan'": ("campaign.json", lambda text: text.replace('"plan"', '"nalp"')),
    "exit: no exit code": ("campaign.json", lambda text: text.replace('"exit": 1', '"exit": 9')),
    "host: expected text": ("campaign.json", lambda text: text.replace('"build-7"', "[]")),
    "a cause is missing": ("campaign.json", lambda text: text.replace('"REB-14/early": 4', '"REB-14/x": 1')),
    "program": ("counterexamples", lambda text: text.replace('"program":', '"marporg":')),
    "Parquet": ("table=coverage/wave=0", lambda text: "not parquet"),
    "says traces: 20001; its tables come to 20000": (
        "campaign.json",
        lambda text: text.replace('"traces": 20000', '"traces": 20001', 1),
    ),
    "says violations: 213; its tables come to 214": (
        "campaign.json",
        lambda text: text.replace('"violations": 214', '"violations": 213'),
    ),
    "exit: 0, where the verdicts come to 1": (
        "campaign.json",
        lambda text: text.replace('"exit": 1', '"exit": 0'),
    ),
    "results: none of acme:Broker as azure-standard": (
        "campaign.json",
        lambda text: json.dumps({**json.loads(text), "results": json.loads(text)["results"][1:]}),
    ),
    "is no manifest": ("manifests/wave=0.json", lambda text: text[:100]),
    "says status of ROUTE-1 (acme:Broker as azure-standard): pass; its tables come to violated": (
        "campaign.json",
        lambda text: forged(text, exit=3, causes=[]),
    ),
    "says exercised of REB-16 (acme:Broker as solace): 5; its tables come to 0": (
        "campaign.json",
        lambda text: forged(text, "not exercised", "solace", exercised=5),
    ),
    "says digest: 0": ("campaign.json", lambda text: forged(text, "", digest=32 * "0")),
}


def forged(text: str, was: str = "violated", only: str = "", exercised: int = 0, **changes: object) -> str:
    """That ``campaign.json``, where what ``was`` so passes."""
    data = json.loads(text)
    for lane in data["results"]:
        for row in lane["requirements"].values() if only in lane["profile"] else ():
            if row["status"] == was:
                row.update(status="pass", findings=[], found={}, exercised=row["exercised"] or exercised)
    return json.dumps({**data, **changes})


@pytest.mark.parametrize("says", DAMAGE)
def test_damaged_files_are_named(tmp_path: Path, says: str) -> None:
    folder = campaign(tmp_path / "c")
    name, change = DAMAGE[says]
    file = folder / name if name.endswith(".json") else sorted((folder / name).iterdir())[0]
    file.write_text(change(file.read_text(encoding="utf-8", errors="replace")), encoding="utf-8")
    result = call(folder)
    assert result.exit_code == 2
    output = result.output.replace("\n", "")
    assert says in output
    assert str(folder / name).replace("\n", "") in output
    assert not (folder / "report.html").exists()


WRONG = ("x", -1, [], [1], {"a": 1}, True)


def _fields(data: object, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Where the values lie, of each kind one: of a list, and of rows by requirement, the first."""
    if isinstance(data, dict):
        known = [name for name in data if name not in catalogue()]
        for name in known + [name for name in data if name in catalogue()][:1]:
            yield (*path, name)
            if name not in ("program", "history"):
                yield from _fields(data[name], (*path, name))
    elif isinstance(data, list) and data:
        yield (*path, 0)
        yield from _fields(data[0], (*path, 0))


@pytest.mark.parametrize("name", ["campaign.json", "counterexamples/REB-14-early.json"])
def test_a_field_of_the_wrong_type_is_no_defect(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    """Whichever it is, the page is written or the file is named."""
    folder = campaign(tmp_path / "c")
    for file in (folder / "counterexamples").glob("*.json"):
        if not str(file).endswith(name):
            file.unlink()
    text = (folder / name).read_text(encoding="utf-8")
    for *path, last in _fields(json.loads(text)):
        for wrong in ("x", [1]):
            data = json.loads(text)
            reduce(getitem, path, data)[last] = wrong
            (folder / name).write_text(json.dumps(data), encoding="utf-8")
            code = main(["report", str(folder)])
            said = capsys.readouterr().err
            assert code == 0 or (code == 2 and name in said), (path, last, wrong, said)


@pytest.mark.parametrize("trace", WRONG)
def test_a_trace_of_the_wrong_type_is_named(tmp_path: Path, trace: object) -> None:
    folder = campaign(tmp_path / "c")
    file = folder / "counterexamples" / "REB-14-early.json"
    data = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps({**data, "trace": trace}), encoding="utf-8")
    result = call(folder)
    assert result.exit_code == 2
    assert "REB-14-early.json: trace: expected a whole number, 0 or more" in result.output.replace("\n", "")


def test_a_campaign_still_running_is_reported_as_unfinished(tmp_path: Path) -> None:
    folder = campaign(tmp_path / "c")
    data = json.loads((folder / "campaign.json").read_text())
    started = {"schema": data["schema"], "complete": False, "plan": data["plan"]}
    (folder / "campaign.json").write_text(json.dumps(started))
    shutil.rmtree(folder / "counterexamples")
    for number, traces in enumerate((100, 250)):
        shutil.rmtree(folder / "table=coverage", ignore_errors=True)
        wave(folder, number, traces, partitions=[])
    assert call(folder).exit_code == 0
    assert "350 of 20,000 traces are stored" in (folder / "report.html").read_text()
    material = gather(folder)
    assert [(lane.broker, lane.verdicts) for lane in material.lanes] == [("acme:Broker", {})] * 4
    assert material.command.endswith(f"--seed 7 --length 24 --out {folder} --resume")


@pytest.mark.parametrize("table", ["coverage", "verdicts", "violations"])
def test_a_table_that_is_not_as_its_manifest_says_is_refused(tmp_path: Path, table: str) -> None:
    folder = campaign(tmp_path / "c")
    shutil.rmtree(folder / f"table={table}")
    result = call(folder)
    assert result.exit_code == 2
    assert "has 0 rows" in result.output.replace("\n", " ")


def test_a_campaign_that_got_nowhere_does_not_end_better_than_its_counts_say(tmp_path: Path) -> None:
    """Its exit code is no verdict of a rule: most calls hung."""
    folder = campaign(tmp_path / "c", stored=[])
    rows = [
        {"broker": "acme:Broker", "profile": "solace", "kind": "activity", "name": name, "times": 9}
        for name in (key(Count.CALLED, "receive"), key(Count.HUNG, "receive"))
    ]
    wave(folder, 1, 1, counts=rows)
    file = folder / "campaign.json"
    digest = local_folder.totals(folder, []).digest
    data = {**json.loads(file.read_text()), "exit": 0, "traces": 20001, "digest": digest}
    file.write_text(json.dumps({**data, "exit": 3}))
    assert columns_in(folder)
    file.write_text(json.dumps(data))
    with pytest.raises(BadResults, match="says exit: 0; its tables come to 3"):
        columns_in(folder)


ROW = {"mutant": "astray", "breaks": "ROUTE-1", "profile": "azure-standard", "first": 3, "operations": 8}


@pytest.mark.parametrize(("first", "wrong", "code"), [(3, [], 0), (None, [], 1), (3, ["KEY-1"], 0)])
def test_a_campaign_of_mutants_is_reported_by_what_became_of_them(
    tmp_path: Path, first: int | None, wrong: list[str], code: int
) -> None:
    folder = campaign(tmp_path / "c")
    (folder / "mutants.json").write_text(json.dumps([{**ROW, "first": first, "wrong": wrong}]))
    material = gather(folder)
    assert material.exit == code
    assert [(kill.mutant, kill.first, list(kill.wrong)) for kill in material.kills] == [
        ("astray", first, wrong)
    ]


def test_a_damaged_table_of_mutants_is_named(tmp_path: Path) -> None:
    folder = campaign(tmp_path / "c")
    (folder / "mutants.json").write_text(json.dumps([ROW]))
    result = call(folder)
    assert result.exit_code == 2
    assert "missing 'wrong'" in result.output
