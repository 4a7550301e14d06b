"""A campaign's folder: begun, refused where it holds something else, never believed where it was changed."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from partq.conformance.frontends.campaign import archive, local_folder, manifest, queries, remote
from partq.conformance.frontends.campaign.errors import CampaignError
from partq.conformance.frontends.campaign.examples import StoredExample, write_examples
from partq.conformance.frontends.campaign.files import Folder
from partq.conformance.frontends.campaign.plan import SUMMARY, Lane, Plan
from partq.conformance.frontends.campaign.store import Store
from partq.conformance.frontends.campaign.tables import TABLES
from partq.conformance.frontends.cli.app import main

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("spark")]

Do = Callable[..., str]
Opened = Callable[..., Store]
PLAN = Plan((Lane("mutant:long-bodies-cut", "azure-premium", 20, chunk=5),), seed=7, length=24)
OTHER = Plan(PLAN.lanes, seed=8, length=24)


@pytest.fixture
def opened(session: SparkSession) -> Opened:
    """The campaign's store at a folder."""

    def opened(out: Path, plan: Plan = PLAN) -> Store:
        return Store(
            session, Folder(session, str(out)), plan, plan.digest(archive.digest(archive.code_of(())))
        )

    return opened


# --- beginning --------------------------------------------------------------------------------------


def test_a_new_folder_is_made(opened: Opened, tmp_path: Path) -> None:
    assert opened(tmp_path / "new" / "out").open(resume=False) == []
    assert json.loads((tmp_path / "new" / "out" / SUMMARY).read_text())["complete"] is False


def test_of_two_sessions_that_begin_at_once_one_is_refused(
    opened: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened(tmp_path).open(resume=False)
    monkeypatch.setattr(Folder, "names", lambda *arguments: [])  # as the other one saw it, a moment ago
    with pytest.raises(CampaignError, match="another session"):
        opened(tmp_path, OTHER).open(resume=False)


def test_a_folder_with_something_in_it_is_refused(opened: Opened, tmp_path: Path) -> None:
    (tmp_path / "precious").touch()
    with pytest.raises(CampaignError, match="--resume"):
        opened(tmp_path).open(resume=False)
    with pytest.raises(CampaignError, match="not a campaign"):
        opened(tmp_path).open(resume=True)


@pytest.mark.parametrize("resume", [False, True])
def test_a_file_is_no_folder(opened: Opened, tmp_path: Path, resume: bool) -> None:
    (tmp_path / "notes.txt").touch()
    with pytest.raises(CampaignError, match=r"notes\.txt is a file"):
        opened(tmp_path / "notes.txt").open(resume)


def test_a_folder_that_can_not_be_made_is_one_line(opened: Opened, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()
    with pytest.raises(CampaignError, match=r"notes\.txt") as raised:
        opened(tmp_path / "notes.txt" / "out").open(resume=False)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"schema": "other"}', "null", 100_000 * "["])
def test_what_is_no_campaign_is_not_resumed(opened: Opened, tmp_path: Path, text: str) -> None:
    (tmp_path / SUMMARY).write_text(text)
    with pytest.raises(CampaignError):
        opened(tmp_path).open(resume=True)


def test_another_campaign_and_other_code_are_not_resumed(opened: Opened, tmp_path: Path) -> None:
    first = opened(tmp_path / "out")
    first.open(resume=False)
    with pytest.raises(CampaignError, match="another campaign: other --seed:"):
        opened(tmp_path / "out", OTHER).open(resume=True)
    with pytest.raises(CampaignError, match="another campaign: other broker, profiles or traces, --exact:"):
        opened(tmp_path / "out", Plan(PLAN.lanes * 2, 7, 24, exact=9)).open(resume=True)
    changed = Store(first.session, first.folder, PLAN, PLAN.digest("other code"))
    with pytest.raises(CampaignError, match="another version of partq"):
        changed.open(resume=True)


def test_a_folder_of_another_version_of_the_format_is_not_resumed(opened: Opened, tmp_path: Path) -> None:
    opened(tmp_path).open(resume=False)
    data = json.loads((tmp_path / SUMMARY).read_text())
    (tmp_path / SUMMARY).write_text(json.dumps({**data, "schema": "partq.campaign/1"}))
    with pytest.raises(CampaignError, match=r"another version of partq \(partq\.campaign/1\)"):
        opened(tmp_path).open(resume=True)


def test_what_was_begun_for_nothing_is_removed_but_nothing_else(opened: Opened, tmp_path: Path) -> None:
    for name, foreign in (("alone", False), ("shared", True)):
        store = opened(tmp_path / name)
        store.open(resume=False)
        if foreign:
            (tmp_path / name / "precious").touch()
        store.discard()
    assert sorted(path.name for path in tmp_path.rglob("*")) == [SUMMARY, "precious", "shared"]


def test_a_manifest_is_made_once(opened: Opened, tmp_path: Path) -> None:
    folder = opened(tmp_path / "out").folder
    folder.create("manifests/x", "one")
    with pytest.raises(CampaignError, match="another session"):
        folder.create("manifests/x", "two")
    assert folder.read("manifests/x") == "one"
    folder.write("manifests/x", "three")
    assert folder.read("manifests/x") == "three"
    assert folder.names("manifests") == ["x"]


def test_a_kill_between_the_steps_of_a_write_loses_nothing(opened: Opened, tmp_path: Path) -> None:
    first = opened(tmp_path / "out")
    first.open(resume=False)
    (tmp_path / "out" / SUMMARY).rename(tmp_path / "out" / f"_aside.{SUMMARY}")
    assert opened(tmp_path / "out").open(resume=True) == []


def test_a_full_disk_is_one_line_that_names_the_folder(
    opened: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*arguments: object) -> None:
        raise OSError("Job aborted. java.io.IOException: No space left on device\n at org.apache")

    store = opened(tmp_path / "out")
    store.open(resume=False)
    (tmp_path / "out" / "_staging" / "wave=0").mkdir(parents=True)
    monkeypatch.setattr(queries, "folded_stage", full)
    monkeypatch.setattr(Store, "_staged", lambda *arguments: None)
    with pytest.raises(CampaignError, match=r"out can't be written: No space left on device$"):
        store.complete(range(1))


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """A file system of that size."""
    place = tmp_path / "small"
    place.mkdir()

    def mounted(size: str) -> Path:
        command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)]
        if (
            shutil.which("mount") is None
            or subprocess.run(command, capture_output=True, check=False).returncode
        ):
            pytest.skip("only root may mount a small file system")
        return place

    yield mounted
    subprocess.run(["umount", "--lazy", str(place)], capture_output=True, check=False)


@pytest.mark.parametrize("size", ["4k", "160k"], ids=["as tasks write", "as tables are written"])
def test_a_disk_that_is_really_full_is_named_and_nothing_left_on_it(
    do: Do, small: Callable[[str], Path], size: str
) -> None:
    place = small(size)
    with pytest.raises(CampaignError) as raised:
        do(PLAN, place / "out")
    assert str(place) in str(raised.value)
    assert str(raised.value).endswith("No space left on device")
    assert list(place.iterdir()) == []


# --- a wave -----------------------------------------------------------------------------------------


@pytest.fixture
def staged(opened: Opened, tmp_path: Path) -> Store:
    """A campaign with the rows of its first two units staged, each in a file of its own."""
    from partq.conformance.frontends.campaign.spark import Tally, run_wave

    store = opened(tmp_path / "out")
    store.open(resume=False)
    run_wave(store.session, PLAN, range(2), store.staging(range(2)), Tally(store.session))
    return store


def test_rows_that_were_lost_before_a_manifest_make_no_wave(staged: Store, tmp_path: Path) -> None:
    first, _ = sorted((tmp_path / "out" / "_staging" / "wave=0").glob("*.parquet"))
    first.unlink()
    with pytest.raises(CampaignError, match="counts 5 traces, not 10"):
        staged.complete(range(2))
    assert staged.manifests() == []


def test_a_wave_that_another_session_completed_is_not_completed_again(staged: Store) -> None:
    staged.folder.create(manifest.file_of(0), "the other's")
    with pytest.raises(CampaignError, match="another session"):
        staged.complete(range(2))
    assert staged.folder.read(manifest.file_of(0)) == "the other's"


def test_what_a_manifest_tells_of_is_on_the_disk_before_it(
    staged: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fsync, link = os.fsync, Folder._link
    synced: set[int] = set()
    before: list[set[int]] = []

    def noted(descriptor: int) -> None:
        synced.add(os.fstat(descriptor).st_ino)
        fsync(descriptor)

    def named(folder: Folder, new: str, name: str) -> bool:
        before.append(set(synced))
        return link(folder, new, name)

    monkeypatch.setattr(os, "fsync", noted)
    monkeypatch.setattr(Folder, "_link", named)
    one = staged.complete(range(2))
    files = list((tmp_path / "out").glob("table=*/wave=0/*.parquet"))
    assert len(files) == len(TABLES)
    told = [*files, tmp_path / "out" / manifest.file_of(one.wave)]
    assert {file.stat().st_ino for file in told} <= before[-1]


# --- what was changed -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def complete(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A campaign of two waves with violations, not to be changed."""
    from partq.conformance.frontends.campaign.spark import Tally, run_wave

    out = tmp_path_factory.mktemp("campaign") / "out"
    store = Store(session, Folder(session, str(out)), PLAN, PLAN.digest(archive.digest(archive.code_of(()))))
    store.open(resume=False)
    for units in (range(2), range(2, 4)):
        run_wave(session, PLAN, units, store.staging(units), Tally(session))
        assert store.complete(units).tables["violations"].rows
    return out


@pytest.fixture
def out(complete: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(complete, tmp_path / "out"))


def part(out: Path, table: str, wave: int = 0) -> Path:
    (file,) = (out / f"table={table}" / f"wave={wave}").glob("*.parquet")
    return file


def rewritten(file: Path, change: Callable[[pa.Table], pa.Table]) -> None:
    pq.write_table(change(pq.ParquetFile(file).read()), file)


def truncate(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def no_findings(out: Path) -> None:
    """The findings are gone, and the manifest says that there were none: the verdicts know better."""
    for wave in (0, 2):
        rewritten(part(out, "violations", wave), lambda table: table[:0])
        file = out / "manifests" / f"wave={wave}.json"
        data = json.loads(file.read_text())
        data["tables"]["violations"] = {"rows": 0, "digest": ["0"] * 4}
        file.write_text(json.dumps(data))


def edit(out: Path, wave: int = 0, **change: object) -> None:
    file = out / "manifests" / f"wave={wave}.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **change}))


DAMAGE: dict[str, tuple[Callable[[Path], object], str]] = {
    "findings deleted": (lambda out: part(out, "violations").unlink(), "violations.*0 rows"),
    "findings emptied": (
        lambda out: rewritten(part(out, "violations"), lambda table: table[:0]),
        "violations.*0 rows",
    ),
    "a row less": (lambda out: rewritten(part(out, "verdicts"), lambda t: t[1:]), "verdicts.*9 rows, not 10"),
    "a row twice, another lost": (
        lambda out: rewritten(part(out, "verdicts"), lambda t: pa.concat_tables([t[1:], t[1:2]])),
        "verdicts.*other rows",
    ),
    "a status forged": (
        lambda out: rewritten(
            part(out, "verdicts"),
            lambda t: t.set_column(t.schema.get_field_index("status"), "status", pa.array(["pass"] * len(t))),
        ),
        "verdicts.*other rows",
    ),
    "a column less": (
        lambda out: rewritten(part(out, "requirements"), lambda t: t.drop_columns(["violated"])),
        "requirements.*other rows",
    ),
    "a table gone": (lambda out: shutil.rmtree(out / "table=coverage"), "table=coverage"),
    "all files of a table deleted": (
        lambda out: [file.unlink() for file in out.glob("table=coverage/*/*.parquet")],
        "table=coverage/wave=0 has 0 rows, not ",
    ),
    "verdicts emptied": (lambda out: truncate(part(out, "verdicts")), "can't be read"),
    "a wave of a table gone": (lambda out: shutil.rmtree(part(out, "counts").parent), "counts.*0 rows"),
    "a foreign file": (
        lambda out: shutil.copy(part(out, "verdicts", 2), part(out, "verdicts").with_name("more.parquet")),
        "verdicts.*20 rows, not 10",
    ),
    "a foreign file beside the waves": (
        lambda out: shutil.copy(part(out, "verdicts"), out / "table=verdicts" / "more.parquet"),
        "more.parquet is not of this campaign",
    ),
    "a manifest cut off": (
        lambda out: truncate(out / "manifests" / "wave=0.json"),
        "wave=0.json is no manifest",
    ),
    "a manifest under another name": (
        lambda out: (out / "manifests" / "wave=2.json").rename(out / "manifests" / "wave=3.json"),
        "is that of wave 2",
    ),
    "a manifest of more units": (lambda out: edit(out, 2, units=[2, 9]), "which the plan has not"),
    "half the work": (lambda out: edit(out, 0, units=[0, 4]), "counts 10 traces, not 20"),
    "fewer findings": (lambda out: edit(out, 2, findings=0), "wave=2.json counts 0 findings, its verdicts"),
    "a manifest of another campaign": (lambda out: edit(out, plan="x"), "of another campaign"),
    "two manifests of the same units": (
        lambda out: (
            shutil.copy(out / "manifests" / "wave=2.json", out / "manifests" / "wave=1.json"),
            edit(out, 1, units=[1, 3]),
        ),
        "are of the same traces",
    ),
}


@pytest.mark.parametrize("what", DAMAGE)
def test_nothing_that_was_changed_is_believed(opened: Opened, out: Path, what: str) -> None:
    change, told = DAMAGE[what]
    change(out)
    with pytest.raises(CampaignError, match=told):
        opened(out).open(resume=True)


@pytest.mark.parametrize("name", ["_part-1.parquet", ".part-1.parquet"])
def test_hidden_files_are_nobodys(opened: Opened, out: Path, name: str) -> None:
    shutil.copy(part(out, "verdicts"), part(out, "verdicts").with_name(name))
    assert len(opened(out).open(resume=True)) == 2
    assert local_folder.totals(out, PLAN.names).traces == 20


def test_a_campaign_elsewhere_is_reported_of_a_copy(
    do: Do, out: Path, session: SparkSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    do(PLAN, out, resume=True)
    monkeypatch.chdir(tmp_path)
    assert main(["report", f"file://{out}"]) == 0
    page = (out / "report.html").read_text()
    monkeypatch.setattr(remote, "local_path", lambda name: None)  # as a URI of another file system
    assert main(["report", f"file://{out}", "--out", "copy.html"]) == 0
    assert (tmp_path / "copy.html").read_text() == page
    assert main(["report", f"file://{out}/none"]) == 2


def test_what_is_advised_of_a_campaign_elsewhere_is_of_there(
    do: Do, out: Path, session: SparkSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    do(PLAN, out, resume=True)
    kept = pq.read_table(part(out, "violations")).to_pylist()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(remote, "local_path", lambda name: None)  # as a URI of another file system
    stored = list[StoredExample]()
    there = Folder(session, f"file://{out}")
    write_examples(kept, PLAN.lanes[0].broker, there, lambda *_: None, 1000, stored.append)
    assert main(["report", there.name, "--out", "copy.html"]) == 0
    told = re.sub("<.*?>", "", (tmp_path / "copy.html").read_text())
    file = told.partition("partq replay ")[2].partition(".json")[0] + ".json"
    assert Path(file) == Path(stored[0].place)
    assert main(["replay", file]) == 1
    assert main(["replay", f"{file}.none"]) == 2


def test_what_was_not_changed_is(opened: Opened, out: Path) -> None:
    assert sorted(one.wave for one in opened(out).open(resume=True)) == [0, 2]


def test_findings_that_were_lost_with_their_manifests_are_missed_by_the_verdicts(do: Do, out: Path) -> None:
    no_findings(out)
    with pytest.raises(CampaignError, match="contradicts itself"):
        do(PLAN, out, resume=True)


def test_a_wave_without_a_manifest_is_run_again_and_what_a_kill_left_of_it_removed(
    do: Do, out: Path, tmp_path: Path
) -> None:
    digest = do(PLAN, tmp_path / "whole")
    (out / "manifests" / "wave=0.json").rename(out / "manifests" / "_new.0.wave=0.json")
    shutil.copytree(out / "table=verdicts" / "wave=0", out / "table=verdicts" / "wave=1")
    (out / "_staging").mkdir()
    assert do(PLAN, out, resume=True) == digest
    assert sorted(path.name for path in (out / "table=verdicts").iterdir()) == ["wave=0", "wave=2"]
    assert {len(list((out / f"table={table}").iterdir())) for table in TABLES} == {2}
    assert len(list((out / "manifests").iterdir())) == 2


@pytest.mark.parametrize(
    ("change", "told"),
    [({"digest": "0" * 32}, "was complete with the digest 0000"), ({"digest": None}, "with the digest None")],
)
def test_a_complete_campaign_that_comes_to_another_end_is_refused(
    do: Do, out: Path, change: dict[str, object], told: str
) -> None:
    do(PLAN, out, resume=True)
    data = json.loads((out / SUMMARY).read_text())
    (out / SUMMARY).write_text(json.dumps({**data, **change}))
    with pytest.raises(CampaignError, match=told):
        do(PLAN, out, resume=True)
