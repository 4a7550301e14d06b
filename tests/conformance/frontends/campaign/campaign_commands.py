"""``partq fuzz`` as a user runs it, in a process of its own, and the campaign that most tests of it do."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from partq.conformance.frontends.campaign.run import CampaignState

PROFILE = ("--profile", "azure-premium", "--length", "4")
ARGS = ("--traces", "520", "--seed", "7", *PROFILE, "--format", "json")
"""Three units."""


def started(folder: Path, *args: str, **env: str) -> subprocess.Popen[str]:
    """`partq fuzz` in that folder, as the leader of a group of processes."""
    return subprocess.Popen(
        [str(Path(sys.executable).with_name("partq")), "fuzz", *args],
        cwd=folder,
        env={**os.environ, **env},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


class Deaf:
    """A watcher that hears nothing."""

    def starting(self, state: CampaignState) -> None: ...

    def went(self, state: CampaignState) -> None: ...


def fuzz(folder: Path, *args: str, **env: str) -> subprocess.CompletedProcess[str]:
    """`partq fuzz` in that folder, to its end."""
    with started(folder, *args, **env) as process:
        out, err = process.communicate()
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def killed(process: subprocess.Popen[str]) -> None:
    """End it and its Java, as a machine that goes down does."""
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def dies_at(instant: str, folder: Path, *args: str, **env: str) -> None:
    """`partq fuzz` in that folder, which is killed at that instant (`mortal_driver`), before any verdict."""
    driver = [sys.executable, str(Path(__file__).with_name("mortal_driver.py"))]
    ended = subprocess.run(
        [*driver, instant, "fuzz", *args],
        cwd=folder,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        start_new_session=True,
        check=False,
    )
    assert ended.returncode == -signal.SIGKILL, f"{instant}: {ended.stderr}"
    assert not ended.stdout, "no verdict before the end"


def digest(done: subprocess.CompletedProcess[str]) -> str:
    """The digest that a campaign printed, which must have violated nothing."""
    assert done.returncode in (0, 3), done.stderr
    return str(json.loads(done.stdout)["campaign"]["digest"])
