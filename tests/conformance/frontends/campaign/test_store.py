"""The output folder: whole files, resumable, refused where it holds something else."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from partq.conformance.frontends.campaign import store
from partq.conformance.frontends.campaign.plan import Plan, even
from partq.conformance.frontends.campaign.run import summarise
from partq.conformance.frontends.campaign.work import run_chunk

PLAN = Plan(even("reference", ("azure-flat",), 300), seed=7, length=4)


def test_a_new_folder_is_made(tmp_path: Path) -> None:
    out = tmp_path / "new" / "out"
    store.check(out, PLAN, resume=False)
    assert not out.exists()
    store.prepare(out, PLAN)
    assert (out / store.SUMMARY).exists()


def test_a_folder_with_something_in_it_is_refused(tmp_path: Path) -> None:
    (tmp_path / "precious").touch()
    with pytest.raises(store.CampaignError, match="--resume"):
        store.check(tmp_path, PLAN, resume=False)


@pytest.mark.parametrize("resume", [False, True])
def test_a_file_is_no_folder(tmp_path: Path, resume: bool) -> None:
    (tmp_path / "notes.txt").touch()
    with pytest.raises(store.CampaignError, match=r"notes\.txt is a file"):
        store.check(tmp_path / "notes.txt", PLAN, resume)


def test_a_folder_that_can_not_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()
    inside = tmp_path / "notes.txt" / "out"
    store.check(inside, PLAN, resume=False)
    with pytest.raises(store.CampaignError, match="Not a directory"):
        store.prepare(inside, PLAN)


def test_another_campaign_is_not_resumed(tmp_path: Path) -> None:
    store.prepare(tmp_path / "out", PLAN)
    with pytest.raises(store.CampaignError, match="another campaign"):
        store.check(tmp_path / "out", Plan(PLAN.lanes, seed=8, length=4), resume=True)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"schema": "other"}', "null"])
def test_what_is_no_campaign_is_not_resumed(tmp_path: Path, text: str) -> None:
    (tmp_path / store.SUMMARY).write_text(text)
    with pytest.raises(store.CampaignError):
        store.check(tmp_path, PLAN, resume=True)


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    """A folder in which every chunk is done."""
    store.prepare(tmp_path / "out", PLAN)
    for chunk in PLAN.chunks():
        store.write_chunk(tmp_path / "out", run_chunk(chunk, PLAN.seed, PLAN.length))
    return tmp_path / "out"


def test_a_chunk_without_its_marker_is_done_again_to_the_same_bytes(whole: Path) -> None:
    store.check(whole, PLAN, resume=True)
    assert store.done(whole) == {0, 1}
    digest = summarise(PLAN, whole).digest
    marker(whole).unlink()
    store.check(whole, PLAN, resume=True)
    assert store.done(whole) == {0}
    store.write_chunk(whole, run_chunk(list(PLAN.chunks())[1], PLAN.seed, PLAN.length))
    assert summarise(PLAN, whole).digest == digest


def marker(folder: Path) -> Path:
    """That of the second chunk."""
    return folder / store.PROGRESS / "chunk-000001.json"


@pytest.mark.parametrize("field", ["candidates", "found", "digest"])
def test_what_another_version_began_is_not_resumed(whole: Path, field: str) -> None:
    part = json.loads(marker(whole).read_text())
    del part[field]
    marker(whole).write_text(json.dumps(part))
    with pytest.raises(store.CampaignError, match=rf"another version of partq .*{field}.*another folder"):
        store.check(whole, PLAN, resume=True)


def test_nor_are_tables_of_another_version(whole: Path) -> None:
    file = whole / "verdicts" / "chunk-000000.parquet"
    pq.write_table(pq.read_table(file).drop_columns(["seed"]), file)
    with pytest.raises(store.CampaignError, match=r"another version of partq .*verdicts"):
        store.check(whole, PLAN, resume=True)


@pytest.mark.parametrize("text", ["", "[1]"])
def test_a_marker_that_is_none_is_one_line(whole: Path, text: str) -> None:
    marker(whole).write_text(text)
    with pytest.raises(store.CampaignError, match=r"chunk-000001\.json"):
        store.check(whole, PLAN, resume=True)


def test_what_was_prepared_for_nothing_is_removed_but_nothing_else(tmp_path: Path) -> None:
    for name, foreign in (("alone", False), ("shared", True)):
        store.prepare(tmp_path / name, PLAN)
        if foreign:
            (tmp_path / name / "precious").touch()
        store.discard(tmp_path / name)
    assert [path.name for path in tmp_path.rglob("*")] == ["shared", "precious"]


def test_what_is_done_is_not_removed(whole: Path) -> None:
    store.discard(whole)
    store.check(whole, PLAN, resume=True)
    assert store.done(whole) == {0, 1}


def test_rows_come_back_as_they_were(tmp_path: Path) -> None:
    store.prepare(tmp_path / "out", PLAN)
    result = run_chunk(next(PLAN.chunks()), PLAN.seed, PLAN.length)
    store.write_chunk(tmp_path / "out", result)
    rows = list(store.read_rows(tmp_path / "out", "verdicts"))
    assert [row["seed"] for row in rows] == [row["seed"] for row in result.verdicts]
    assert {pair["requirement"]: pair["times"] for pair in rows[0]["exercised"]} == dict(
        result.verdicts[0]["exercised"]
    )
