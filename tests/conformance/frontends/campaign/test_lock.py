"""Of two sessions in one folder the second is refused, the first goes on, and neither harms the other."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from campaign_commands import Deaf

from partq.conformance.evaluation.keeping import made
from partq.conformance.frontends.campaign import run
from partq.conformance.frontends.campaign.errors import CampaignError
from partq.conformance.frontends.campaign.files import Folder
from partq.conformance.frontends.campaign.lock import LOCK, Lock
from partq.conformance.frontends.campaign.plan import SUMMARY, Lane, Plan
from partq.conformance.frontends.campaign.run import CampaignState

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("spark")]

Do = Callable[..., str]
PLAN = Plan((Lane("reference", "azure-premium", 20, chunk=5),), seed=7, length=4)


@pytest.fixture
def folder(session: SparkSession, tmp_path: Path) -> Folder:
    return Folder(session, str(tmp_path / "out"))


def edited(folder: Folder, **changes: Any) -> None:
    folder.write(LOCK, json.dumps({**json.loads(folder.read(LOCK) or ""), **changes}))


class Meanwhile(Deaf):
    """Does something once, while the first wave of a campaign is run, or between two waves."""

    def __init__(self, action: Callable[[], object], stored: int = 0) -> None:
        self.action, self.stored, self.done = action, stored, False

    def went(self, state: CampaignState) -> None:
        if not self.done and state.stored >= self.stored:
            self.done = True
            self.action()


def test_a_second_session_is_refused_by_name_and_the_first_comes_to_its_end(do: Do, tmp_path: Path) -> None:
    out, refused = tmp_path / "out", []

    def second() -> None:
        with pytest.raises(CampaignError) as raised:
            do(PLAN, out, resume=True)
        refused.append(str(raised.value))

    with run.campaign(PLAN, str(out), "local[2]", False, Meanwhile(second), wave=10) as first:
        digest = first.totals.digest
    assert "works on this campaign" in refused[0]
    assert made()["host"] in refused[0]
    assert digest == do(PLAN, tmp_path / "alone")
    assert LOCK not in {path.name for path in out.iterdir()}


def test_a_session_whose_lock_was_broken_names_the_other_and_removes_nothing(
    here: SparkSession, folder: Folder, tmp_path: Path
) -> None:
    def second() -> None:
        Lock(folder, {**made(), "host": "elsewhere"}).take(broken=True)

    with (
        pytest.raises(CampaignError, match=r"on elsewhere \(process .* took this campaign over"),
        run.campaign(PLAN, str(tmp_path / "out"), "local[2]", False, Meanwhile(second)),
    ):
        pass
    assert {LOCK, SUMMARY} <= set(folder.names())


def test_an_interrupt_gives_the_lock_back(do: Do, tmp_path: Path) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    out = tmp_path / "out"
    with (
        pytest.raises(KeyboardInterrupt),
        run.campaign(PLAN, str(out), "local[2]", False, Meanwhile(interrupt, 10), wave=10),
    ):
        pass
    assert sorted(path.name for path in out.glob("*.json")) == [SUMMARY]
    assert do(PLAN, out, resume=True) == do(PLAN, tmp_path / "whole")


def test_what_a_killed_session_of_this_machine_left_is_taken_over(folder: Folder) -> None:
    with subprocess.Popen(["true"]) as ended:
        pass
    Lock(folder, made()).take(broken=False)
    edited(folder, process=ended.pid)
    lock = Lock(folder, made())
    lock.take(broken=False)
    assert not lock.lost()
    edited(folder, born="0")  # another process has its number now
    Lock(folder, made()).take(broken=False)


@pytest.mark.parametrize("change", [{"machine": "another"}, {"machine": ""}, {}, {"process": []}])
def test_any_other_lock_a_person_has_to_break(folder: Folder, change: dict[str, object]) -> None:
    Lock(folder, made()).take(broken=False)
    edited(folder, **change)
    with pytest.raises(CampaignError, match="give --break-lock if it is certain to be gone"):
        Lock(folder, made()).take(broken=False)
    Lock(folder, made()).take(broken=True)


def test_a_lock_that_is_no_text_of_ours_is_one(folder: Folder) -> None:
    folder.write(LOCK, "{")
    with pytest.raises(CampaignError, match="another session works on this campaign"):
        Lock(folder, made()).take(broken=False)


def test_a_file_that_another_makes_at_the_same_instant_stays(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Folder._store

    def overtaken(one: Folder, name: str, text: str) -> None:
        store(one, name, text)
        Path(one.name, "x").write_text("theirs")

    monkeypatch.setattr(Folder, "_store", overtaken)
    with pytest.raises(CampaignError, match="another session"):
        folder.create("x", "ours")
    assert (folder.read("x"), folder.names()) == ("theirs", ["x"])


def test_a_wave_that_was_run_while_its_code_changed_is_not_stored(
    here: SparkSession, folder: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Local workers may have imported either."""
    module = tmp_path / "mine.py"
    module.write_text("x = 1")
    monkeypatch.setattr(run, "_code", lambda plan: {"mine.py": module})
    change = Meanwhile(lambda: module.write_text("x = 2"), 10)
    with (
        pytest.raises(CampaignError, match="the code was changed while it ran"),
        run.campaign(PLAN, str(tmp_path / "out"), "local[2]", False, change, wave=10),
    ):
        pass
    assert folder.names("manifests") == ["wave=0.json"]


def test_a_wave_that_vanishes_while_a_later_one_is_run_is_missed_before_the_end(
    here: SparkSession, folder: Folder, tmp_path: Path
) -> None:
    def lose() -> None:
        folder.delete("table=coverage/wave=0")

    with (
        pytest.raises(
            CampaignError, match=r"table=coverage/wave=0 has 0 rows, not .* delete manifests/wave=0"
        ),
        run.campaign(PLAN, str(tmp_path / "out"), "local[2]", False, Meanwhile(lose, 10), wave=10),
    ):
        pass
