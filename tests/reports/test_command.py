"""``partq report``: folders in, a file out; what is wrong is said in one line, exit code 2."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import typer
from samples import campaign, run_folder
from typer.testing import CliRunner, Result

from partq.conformance.commands.report import report

app = typer.Typer()
app.command()(report)


def call(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


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


DAMAGE = {
    "not JSON": ("campaign.json", lambda text: text[:100]),
    "schema": ("campaign.json", lambda text: text.replace("partq.campaign/1", "x/9")),
    "'conformant' is not a valid Status": (
        "campaign.json",
        lambda text: text.replace('"pass"', '"conformant"'),
    ),
    "missing 'plan'": ("campaign.json", lambda text: text.replace('"plan"', '"nalp"')),
    "program": ("counterexamples", lambda text: text.replace('"program":', '"marporg":')),
    "Parquet": ("coverage", lambda text: "not parquet"),
}


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


def test_a_campaign_still_running_is_reported_as_unfinished(tmp_path: Path) -> None:
    folder = campaign(tmp_path / "c")
    data = json.loads((folder / "campaign.json").read_text())
    started = {"schema": data["schema"], "complete": False, "plan": data["plan"]}
    (folder / "campaign.json").write_text(json.dumps(started))
    shutil.rmtree(folder / "counterexamples")
    assert call(folder).exit_code == 0
    assert "Unfinished" in (folder / "report.html").read_text()
