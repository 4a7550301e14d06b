"""The archive that executors get: complete, importable, and the same for the same code."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from campaign_commands import ARGS, dies_at, fuzz

from partq.conformance.frontends.campaign import archive
from partq.conformance.frontends.campaign.plan import Chunk
from partq.conformance.frontends.campaign.work import run_chunk

SCRIPT = """
import json, sys
sys.path.insert(0, sys.argv[1])
from partq.conformance.frontends.campaign import plan, work
result = work.run_chunk(plan.Chunk("mutant:long-bodies-cut", "azure-flat", 0, 3), seed=7, length=4, exact=100)
print(json.dumps([work.__file__, result.rows()], default=str))
"""


def test_a_chunk_done_with_the_archive_alone_gives_the_same_rows(tmp_path: Path) -> None:
    target = archive.write(archive.code_of(()), tmp_path / "partq.zip")
    # Isolated (-I): neither this folder nor PYTHONPATH; the packages of others stay.
    done = subprocess.run(
        [sys.executable, "-I", "-c", SCRIPT, str(target)],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    file, rows = json.loads(done.stdout)
    here = run_chunk(Chunk("mutant:long-bodies-cut", "azure-flat", 0, 3), seed=7, length=4, exact=100)
    assert file.startswith(str(target))
    assert rows == json.loads(json.dumps(here.rows(), default=str))


def test_every_folder_has_an_entry(tmp_path: Path) -> None:
    names = set(zipfile.ZipFile(archive.write(archive.code_of(()), tmp_path / "partq.zip")).namelist())
    assert {"partq/", "partq/model/", "partq/conformance/frontends/campaign/"} <= names
    assert "partq/reference_impl/__init__.py" in names
    assert not any(name.endswith(".pyc") for name in names)


# --- whose code ---------------------------------------------------------------------------------------


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a user's module, what that imports, and what it does not."""
    files = {
        "archived_mine.py": "import json, archived_helper\ndef later(): from archived_pkg.sub import one",
        "archived_helper.py": "x = 1",
        "archived_pkg/__init__.py": "from . import base",
        "archived_pkg/base.py": "from .sub import two",
        "archived_pkg/sub/__init__.py": "",
        "archived_pkg/sub/one.py": "from .. import three",
        "archived_pkg/sub/two.py": "",
        "archived_pkg/three.py": "",
        "archived_pkg/unused.py": "",
        "unrelated.py": "",
        "json/data.py": "",
        "partq/README.md": "a clone of partq",
        "partq/.git/HEAD": "",
    }
    for name, text in files.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    yield tmp_path
    for name in [name for name in sys.modules if name.startswith("archived_")]:
        del sys.modules[name]


USED = {
    "archived_mine.py",
    "archived_helper.py",
    "archived_pkg/__init__.py",
    "archived_pkg/base.py",
    "archived_pkg/three.py",
    "archived_pkg/sub/__init__.py",
    "archived_pkg/sub/one.py",
    "archived_pkg/sub/two.py",
}


def test_of_the_users_code_it_has_the_module_and_what_that_imports(mine: Path) -> None:
    assert archive.code_of(["archived_mine"]).keys() - archive.code_of([]).keys() == USED
    names = zipfile.ZipFile(archive.write(archive.code_of(["archived_mine"]), mine / "a.zip")).namelist()
    assert {*USED, "archived_pkg/sub/"} <= set(names)
    assert archive.code_of(["archived_pkg.sub.one"]).keys() >= USED - {
        "archived_mine.py",
        "archived_helper.py",
    }


def test_of_installed_packages_it_has_the_one_alone(mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = mine / "site-packages"
    folder.mkdir()
    for name in ("archived_mine.py", "archived_helper.py"):
        (mine / name).rename(folder / name)
    monkeypatch.setattr(sys, "path", [*sys.path, str(folder)])
    assert archive.code_of(["archived_mine"]).keys() - archive.code_of([]).keys() == {"archived_mine.py"}


@pytest.mark.parametrize("name", sorted(USED))
def test_its_digest_knows_every_line_of_it(mine: Path, name: str) -> None:
    before = archive.digest(archive.code_of(["archived_mine"]))
    (mine / "unrelated.py").write_text("x = 2")
    (mine / "partq" / ".git" / "tag").write_text("x")
    assert archive.digest(archive.code_of(["archived_mine"])) == before
    with (mine / name).open("a") as file:
        file.write("\n# changed")
    assert archive.digest(archive.code_of(["archived_mine"])) != before


def test_a_folder_named_partq_below_the_current_one_is_no_part_of_it(mine: Path) -> None:
    assert all((mine / "partq") not in file.parents for file in archive.code_of([]).values())
    assert not [name for name in archive.code_of([]) if name.count("/") < 2]


def test_its_digest_knows_every_line_of_partq(mine: Path) -> None:
    code = dict(archive.code_of([]))
    changed = mine / "changed.py"
    changed.write_text(code["partq/model/messages.py"].read_text() + "# changed")
    assert archive.digest({**code, "partq/model/messages.py": changed}) != archive.digest(code)


@pytest.mark.slow
@pytest.mark.xdist_group("spark")
def test_a_campaign_does_not_go_on_with_an_edited_broker(tmp_path: Path) -> None:
    module = tmp_path / "soon_edited.py"
    module.write_text(
        "from partq.conformance.adapters.reference import Reference\nclass Mine(Reference): ...\n"
    )
    arguments = ("soon_edited:Mine", *ARGS, "--out", "out", "--master", "local[1]")
    dies_at("after Folder.create 2", tmp_path, *arguments)  # the campaign is begun
    with module.open("a") as text:
        text.write("# edited\n")
    refused = fuzz(tmp_path, *arguments, "--resume")
    assert refused.returncode == 2
    why = "was begun by another version of partq, or of the broker's module: give another folder"
    assert refused.stderr.splitlines()[-1] == f"partq: error: out/campaign.json {why}"
