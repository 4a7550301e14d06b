"""``partq graph``: charts on the terminal and in files, and pictures where Graphviz is there."""

from __future__ import annotations

from pathlib import Path

import pytest

from partq.conformance.frontends.cli.app import main


def test_a_chart_goes_to_the_terminal_or_to_a_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["graph", "settling"]) == 0
    assert 'label="abandon\\nexpire"' in capsys.readouterr().out
    file = tmp_path / "life.graphml"
    assert main(["graph", "settling", "--format", "graphml", "--out", str(file)]) == 0
    assert capsys.readouterr().out == f"{file}: 5 states, 5 arrows\n"
    assert file.read_text().startswith("<graphml")


def test_what_cannot_be_drawn_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["graph", "paying"]) == 2
    assert capsys.readouterr().err.startswith(
        "partq: error: no chart of 'paying'; there are charts of deferral"
    )


def _with_dot(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str | None) -> None:
    if script is not None:
        dot = folder / "dot"
        dot.write_text(f"#!/bin/sh\n{script}\n")
        dot.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))


@pytest.mark.parametrize(
    ("script", "code", "told"),
    [
        ("echo '<svg/>'", 0, "<svg/>"),
        ("echo broken >&2; exit 3", 2, "partq: error: dot ended with 3: broken"),
        (None, 2, "partq: error: --format svg needs Graphviz"),
    ],
)
def test_a_picture_is_graphviz_s(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    script: str | None,
    code: int,
    told: str,
) -> None:
    _with_dot(tmp_path, monkeypatch, script)
    assert main(["graph", "settling", "--format", "svg"]) == code
    out, err = capsys.readouterr()
    assert (out + err).startswith(told)
