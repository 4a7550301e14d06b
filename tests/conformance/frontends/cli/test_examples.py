"""The examples of the help: each is a line that works as it stands, in an empty folder with an adapter."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

from partq.conformance.frontends.cli.app import app, main
from partq.conformance.frontends.cli.examples import EXAMPLES

TOY = Path(__file__).parents[4] / "examples" / "toy_broker.py"

MINE = """
from toy_broker import Toy

class MyBroker(Toy):
    pass
"""

ENDS = {
    "partq run mutant:route-by-body --programs 20 --out results --save-histories": 1,
    "partq check results/histories/azure-standard/same-key.ndjson": 1,
    "partq check - --format json < results/histories/azure-standard/same-key.ndjson": 1,
    "partq search mutant:route-by-body --out smallest.json": 1,
    "partq replay smallest.json --broker mutant:route-by-body": 1,
    "partq fuzz mutant:route-by-body --traces 500 --seed 1 --out found": 1,
    "partq fuzz mutant:route-by-body --traces 500 --seed 1 --out found --resume": 1,
}
"""The exit codes that are not 0."""


def lines() -> Iterator[str]:
    for examples in EXAMPLES.values():
        yield from examples


def test_every_command_has_examples_and_shows_them(capsys: pytest.CaptureFixture[str]) -> None:
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    assert EXAMPLES.keys() == commands.keys() - {"spec"}
    for command, examples in EXAMPLES.items():
        assert main([command, "--help"]) == 0
        shown = " ".join(capsys.readouterr().out.split())
        assert all(example in shown for example in examples)
        assert all(f"{example} ".startswith(f"partq {command} ") for example in examples)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.xdist_group("spark")
def test_every_example_works(tmp_path: Path) -> None:
    (tmp_path / "toy_broker.py").write_bytes(TOY.read_bytes())
    (tmp_path / "mine.py").write_text(MINE)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for line in lines():
        done = subprocess.run(
            ["bash", "-c", line],
            cwd=tmp_path,
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == ENDS.get(line, 0), f"{line}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
        assert "error" not in done.stderr
