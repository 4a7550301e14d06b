"""``partq spec validate`` as a user meets it: files in, what TLC says of each, and one exit code."""

import json
from pathlib import Path
from typing import Any

import pytest

from partq.conformance.frontends.cli.app import main
from partq.conformance.history import History
from partq.conformance.history.codec import read_history, write_history
from partq.conformance.history.notation import history
from partq.spec.tools.toolbox import ToolMissing, java, tlc_jar

LAWFUL = history("p send a key=k\nc receive 5 -> a#1.1 lock=x")
PHANTOM = history("p send a key=k\nc receive 5 -> b#1.1 lock=x")
SIZED = history("p send a key=k", max_size=9)


@pytest.fixture(autouse=True)
def needs_tlc() -> None:
    """Skip where there is no TLC."""
    try:
        java(), tlc_jar()
    except ToolMissing as error:
        pytest.skip(str(error))


def validated(folder: Path, capsys: pytest.CaptureFixture[str], **files: History) -> tuple[int, Any]:
    """The exit code, and what is said of each file."""
    paths = [folder / f"{name}.ndjson" for name in files]
    for path, one in zip(paths, files.values(), strict=True):
        write_history(path, one)
    code = main(["spec", "validate", *map(str, paths), "--format", "json"])
    found = json.loads(capsys.readouterr().out)["histories"]
    return code, {Path(one["file"]).stem: one for one in found}


def test_a_rejected_history_names_its_operation(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, found = validated(tmp_path, capsys, lawful=LAWFUL, phantom=PHANTOM)

    assert code == 1
    assert found["lawful"]["status"] == "accepted"
    assert (found["phantom"]["status"], found["phantom"]["operation"]) == ("rejected", "c receive -> b")


def test_what_is_not_specified_is_declined_and_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, found = validated(tmp_path, capsys, lawful=LAWFUL, sized=SIZED)

    assert code == 3
    assert found["sized"]["status"] == "declined"
    assert found["sized"]["reason"] == "sizes of entities are not followed"
    assert main(["spec", "validate", str(tmp_path / "lawful.ndjson"), str(tmp_path / "sized.ndjson")]) == 3
    assert "1 accepted; 1 declined: sizes of entities are not followed (1)" in capsys.readouterr().out


def test_rejected_histories_are_stored_and_verdicts_printed_as_they_are_decided(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, one in (("lawful", LAWFUL), ("phantom", PHANTOM)):
        write_history(tmp_path / f"{name}.ndjson", one)
    files = [str(tmp_path / f"{name}.ndjson") for name in ("lawful", "phantom")]

    code = main(["spec", "validate", *files, "--out", str(tmp_path / "out")])

    [stored] = json.loads((tmp_path / "out" / "rejected.json").read_text())["histories"]
    assert code == 1
    assert (stored["file"], stored["operation"]) == ("2-phantom.ndjson", "c receive -> b")
    assert read_history(tmp_path / "out" / stored["file"]).records == PHANTOM.records
    assert not (tmp_path / "out" / "1-lawful.ndjson").exists()
    lines = capsys.readouterr().err.splitlines()
    assert [f": {status}" in lines[n] for n, status in enumerate(("accepted", "rejected"))] == [True, True]
