"""A campaign whose machine goes down again and again comes to the same end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from campaign_commands import dies_at, fuzz

from partq.conformance.frontends.campaign.plan import SUMMARY

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("spark"), pytest.mark.timeout(900)]

BROKEN = ("mutant:long-bodies-cut", "--profile", "azure-premium", "--length", "1", "--seed", "7")
ARGS = (*BROKEN, "--traces", "750", "--wave", "500", "--master", "local[2]")
"""Two waves, of two units and of one, with violations in both."""

INSTANTS = (
    "before Folder._link 1",  # the lock is written, and not named yet
    "before Folder._link 2",  # campaign.json is written, and not named yet
    "seen _staging/wave=0/_temporary/0/task_*",  # a task of the wave has ended
    "seen _staging/wave=0/part-*",  # the wave's rows are committed
    "before Store._write 4",  # between two tables
    "seen table=coverage/wave=0/part-*",  # a table is committed
    "before Folder.create 2",  # all tables are there, the manifest is not
    "before Folder._link 2",  # the manifest is written, and not named yet
    "after Folder.create 2",  # the wave is complete, and what was staged still there
    "after Folder.delete 1",  # the lock of the last session is removed
    "after Folder.delete 2",  # what that left is being removed
    "before Folder._rename 1",  # all waves are complete, campaign.json is not in its place
)
"""When sessions are killed, one after the other, each begun with `--resume`."""


def left(out: Path) -> list[str]:
    """What there is of tables and manifests, and of what is not whole."""
    return sorted(path.relative_to(out).as_posix() for path in out.glob("*/*"))


def test_a_campaign_that_is_killed_again_and_again_comes_to_the_same_end(tmp_path: Path) -> None:
    for instant in INSTANTS:
        dies_at(instant, tmp_path, *ARGS, "--out", "out", "--resume")
    resumed, whole = (
        fuzz(tmp_path, *ARGS, "--out", "out", "--resume"),
        fuzz(tmp_path, *ARGS, "--out", "whole"),
    )
    assert resumed.returncode == whole.returncode == 1, resumed.stderr + whole.stderr
    ends = [json.loads((tmp_path / out / SUMMARY).read_text()) for out in ("out", "whole")]
    assert ends[0]["digest"] == ends[1]["digest"]
    assert ends[0]["violations"] == ends[1]["violations"] > 0
    assert left(tmp_path / "out") == left(tmp_path / "whole"), "nothing is left of what was cut off"
