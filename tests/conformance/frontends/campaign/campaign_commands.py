"""``partq fuzz`` as a user runs it, in a process of its own, and the campaign that most tests of it do."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

PROFILE = ("--profile", "azure-premium", "--length", "4")
ARGS = ("--traces", "520", "--seed", "7", *PROFILE, "--format", "json")
"""Three units."""


def fuzz(folder: Path, *args: str, **env: str) -> subprocess.CompletedProcess[str]:
    """`partq fuzz` in that folder."""
    command = [str(Path(sys.executable).with_name("partq")), "fuzz", *args]
    return subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def digest(done: subprocess.CompletedProcess[str]) -> str:
    """The digest that a campaign printed, which must have violated nothing."""
    assert done.returncode in (0, 3), done.stderr
    return str(json.loads(done.stdout)["campaign"]["digest"])
