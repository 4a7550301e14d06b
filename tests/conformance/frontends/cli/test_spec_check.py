"""``partq spec check``: configurations written out, and figures kept. TLC is played by a function."""

from pathlib import Path

import pytest

from partq.conformance.frontends.cli.app import main
from partq.spec.checking import checks, figures
from partq.spec.checking.figures import Figures, read_figures
from partq.spec.tools.tlc import Answer


def test_a_configuration_is_written_out_to_be_opened(tmp_path: Path) -> None:
    assert main(("spec", "check", "--only", "BugAnyOrder", "--write", str(tmp_path / "cfg"))) == 0

    (file,) = (tmp_path / "cfg").iterdir()
    lines = file.read_text().splitlines()
    assert file.name == "BugAnyOrder.cfg"
    assert lines[0] == "\\* Is a broker found out that delivers in any order?"
    assert "    InOrder <- BugInOrder" in lines
    assert lines[-2:] == ["PROPERTIES", "    RCV_3"]


def test_figures_are_kept_of_what_ends_as_it_has_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = tmp_path / "figures.json"
    monkeypatch.setattr(checks, "check", lambda *_, **__: Answer(distinct=5, generated=7, depth=3))
    monkeypatch.setattr(figures.record_checks, "__defaults__", (kept,))

    assert main(("spec", "check", "--record", "--only", "MCPairs", "--only", "BugAnyOrder")) == 1

    recorded = read_figures(kept).checks
    assert recorded.keys() == {"MCPairs"}, "the wrong variant was not found out"
    assert recorded["MCPairs"] == Figures(5, 7, 3, recorded["MCPairs"].seconds, recorded["MCPairs"].date)


@pytest.mark.parametrize(
    ("words", "asked"), [((), False), (("--whole",), True), (("--only", "MCCachesWhole"), True)]
)
def test_the_largest_scope_is_asked_by_hand(tmp_path: Path, words: tuple[str, ...], asked: bool) -> None:
    assert main(("spec", "check", *words, "--write", str(tmp_path))) == 0

    assert (tmp_path / "MCCachesWhole.cfg").exists() == asked
    assert len([*tmp_path.iterdir()]) > 200 or "--only" in words
