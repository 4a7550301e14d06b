"""Our broker against the rules of partitioned queues, case by case (`partq list cases`). What is run, and
which violations are known, says [tool.partq] in pyproject.toml.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

CASES = ("queue-keys", "queue-leaving")  # TODO: those that matter to you; `partq run` has all

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("case", CASES)
def test_conformance(case: str) -> None:
    command = [sys.executable, "-m", "partq", "run", "--case", case]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
