"""Files that an earlier version wrote, in `earlier`: they are read, and say what they said.

They are of the commit before profiles were files and known violations had conditions (5aeacf3), of
`mutant:newest-first` under azure-premium.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from partq.conformance.frontends.cli.app import main

EARLIER = Path(__file__).parent / "earlier"
BROKEN = ("run", "mutant:newest-first", "--profile", "azure-premium")
ONE = ("--case", "one-by-one-in-order")

FILES: dict[str, tuple[tuple[str, ...], int, str]] = {
    "history": (("check", f"{EARLIER / 'history.ndjson'}"), 0, "NOTHING VIOLATED"),
    "counterexample": (("replay", f"{EARLIER / 'counterexample.json'}"), 1, "REPRODUCED RCV-3"),
    "program": ((*BROKEN, "--program", f"{EARLIER / 'program.json'}"), 1, "RCV-3 or RCV-9 violated"),
    "baseline": ((*BROKEN, *ONE, "--baseline", f"{EARLIER / 'baseline.toml'}"), 0, "NOTHING NEWLY VIOLATED"),
    "campaign": (("compare", f"{EARLIER / 'campaign'}", f"{EARLIER / 'campaign'}"), 0, "1 still violated"),
}
"""File -> a command that reads it, its exit code, and what it says."""


@pytest.mark.parametrize("name", FILES)
def test_what_an_earlier_version_wrote_is_read(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    command, code, said = FILES[name]
    ended = main([*command])
    out, err = capsys.readouterr()
    assert ended == code, out + err
    assert said in out
    assert ("it has no condition" in err) is (name == "baseline")


def test_a_campaign_of_an_earlier_version_has_a_report(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert main(["report", str(EARLIER / "campaign"), "--out", str(page)]) == 0
    assert "RCV-3" in page.read_text()
