"""`partq search` as a user meets it: that nothing was found is a verdict only of what was put to the test."""

from __future__ import annotations

import canned_broker
import pytest

from partq.conformance.cli import main

UNHEARD = "p1 send m1 key=a -> unknown\np2 send m2 key=a -> unknown"


class Unheard(canned_broker.Canned):
    """All of its sends have an unknown outcome."""

    shows = UNHEARD


@pytest.mark.parametrize(
    ("broker", "code", "told"),
    [
        ("Canned", 0, "azure-premium: nothing found in 5 programs\n"),
        ("Silent", 3, "azure-premium: nothing found in 5 programs; nothing was put to the test\n"),
        ("Unheard", 3, "azure-premium: nothing found in 5 programs; nothing was put to the test\n"),
        ("Split", 1, "ROUTE-2"),
    ],
)
def test_nothing_found_in_nothing_exercised_is_no_success(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], broker: str, code: int, told: str
) -> None:
    monkeypatch.setattr(canned_broker, "Unheard", Unheard, raising=False)
    assert main(["search", f"canned_broker:{broker}", "--examples", "5", "--length", "3"]) == code
    assert told in capsys.readouterr().out


def test_the_worst_profile_decides(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Half(canned_broker.Any):
        """Does nothing under one of its profiles."""

        def simulate(self, program: object) -> object:
            self.shows = "" if self.profile == "azure-standard" else canned_broker.TOGETHER
            return super().simulate(program)  # type: ignore[arg-type]

    monkeypatch.setattr(canned_broker, "Half", Half, raising=False)
    both = ("--profile", "azure-standard", "--profile", "azure-premium")
    assert main(["search", "canned_broker:Half", *both, "--examples", "3", "--length", "2"]) == 3
    assert len(capsys.readouterr().out.splitlines()) == 2
