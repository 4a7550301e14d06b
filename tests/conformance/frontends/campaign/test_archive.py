"""The archive that executors get: complete, importable, and the same for the same code."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import partq
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
    target = archive.write(tmp_path / "partq.zip")
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
    names = set(zipfile.ZipFile(archive.write(tmp_path / "partq.zip")).namelist())
    assert {"partq/", "partq/model/", "partq/conformance/frontends/campaign/"} <= names
    assert "partq/reference_impl/__init__.py" in names
    assert not any(name.endswith(".pyc") for name in names)


def test_its_digest_knows_every_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    digests = []
    for text in ("x = 1", "x = 2"):
        (tmp_path / "module.py").write_text(text)
        monkeypatch.setattr(partq, "__path__", [str(tmp_path)])
        archive.digest.cache_clear()
        digests.append(archive.digest())
    archive.digest.cache_clear()
    assert digests[0] != digests[1]
