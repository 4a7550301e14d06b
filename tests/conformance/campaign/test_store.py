"""The output folder: whole files, resumable, refused where it holds something else."""

from __future__ import annotations

from pathlib import Path

import pytest

from partq.conformance.campaign import store
from partq.conformance.campaign.plan import Plan, even
from partq.conformance.campaign.run import summarise
from partq.conformance.campaign.work import run_chunk

PLAN = Plan(even("reference", ("azure-flat",), 300), seed=7, length=4)


def test_a_new_folder_is_made(tmp_path: Path) -> None:
    assert store.prepare(tmp_path / "new" / "out", PLAN, resume=False) == set()


def test_a_folder_with_something_in_it_is_refused(tmp_path: Path) -> None:
    (tmp_path / "precious").touch()
    with pytest.raises(store.CampaignError, match="--resume"):
        store.prepare(tmp_path, PLAN, resume=False)


def test_another_campaign_is_not_resumed(tmp_path: Path) -> None:
    store.prepare(tmp_path / "out", PLAN, resume=False)
    with pytest.raises(store.CampaignError, match="another campaign"):
        store.prepare(tmp_path / "out", Plan(PLAN.lanes, seed=8, length=4), resume=True)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"schema": "other"}', "null"])
def test_what_is_no_campaign_is_not_resumed(tmp_path: Path, text: str) -> None:
    (tmp_path / store.SUMMARY).write_text(text)
    with pytest.raises(store.CampaignError):
        store.prepare(tmp_path, PLAN, resume=True)


def test_a_chunk_without_its_marker_is_done_again_to_the_same_bytes(tmp_path: Path) -> None:
    store.prepare(tmp_path / "out", PLAN, resume=False)
    chunks = list(PLAN.chunks())
    for chunk in chunks:
        store.write_chunk(tmp_path / "out", run_chunk(chunk, PLAN.seed, PLAN.length))
    assert store.prepare(tmp_path / "out", PLAN, resume=True) == {0, 1}
    whole = summarise(PLAN, tmp_path / "out")
    (tmp_path / "out" / store.PROGRESS / "chunk-000001.json").unlink()
    assert store.prepare(tmp_path / "out", PLAN, resume=True) == {0}
    store.write_chunk(tmp_path / "out", run_chunk(chunks[1], PLAN.seed, PLAN.length))
    assert summarise(PLAN, tmp_path / "out").digest == whole.digest


def test_rows_come_back_as_they_were(tmp_path: Path) -> None:
    store.prepare(tmp_path / "out", PLAN, resume=False)
    result = run_chunk(next(PLAN.chunks()), PLAN.seed, PLAN.length)
    store.write_chunk(tmp_path / "out", result)
    rows = list(store.read_rows(tmp_path / "out", "verdicts"))
    assert [row["seed"] for row in rows] == [row["seed"] for row in result.verdicts]
    assert {pair["requirement"]: pair["times"] for pair in rows[0]["exercised"]} == dict(
        result.verdicts[0]["exercised"]
    )
