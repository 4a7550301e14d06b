"""Every action of the specification is taken in a scope, or `partq spec check` fails."""

import pytest

from partq.conformance.frontends.cli.app import main
from partq.spec.checking import checks
from partq.spec.checking.checks import Checked, untaken
from partq.spec.checking.manifest import Expected, read_manifest
from partq.spec.tools.labels import STEPS, actions, witnessed
from partq.spec.tools.tlc import Answer

ACTIONS = {action.name for steps in STEPS for action in actions(steps=steps)}
SCOPE = read_manifest()[0]


def taken(names: set[str]) -> Answer:
    return Answer(printed=tuple(f'<<"taken", "{name}">>' for name in sorted(names)))


def test_each_disjunct_tells_that_it_was_taken() -> None:
    text = witnessed("MC", "SchedulingNext")

    assert r"    \/ (\E x0 \in Scheduled : Activate(x0)) /\ IsTaken(" in text
    assert r"    \/ (Begin) /\ IsTaken(" in text
    assert text.count(r"    \/ ") == len(actions(steps="SchedulingNext"))


def test_what_is_taken_in_no_scope_is_named() -> None:
    half = {name for name in ACTIONS if name < "M"}

    assert untaken([Checked(SCOPE, taken(half), 0, ""), Checked(SCOPE, taken(ACTIONS - half), 0, "")]) == []
    assert untaken([Checked(SCOPE, taken(ACTIONS - {"Commit"}), 0, "")]) == ["Commit"]


def test_the_command_fails_with_the_name(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(checks, "check", lambda *_, **__: taken(ACTIONS - {"ScheduleInvalid"}))

    assert main(("spec", "check", "--jobs", "1")) == 2
    assert "taken in no scope, so that no property speaks of them: ScheduleInvalid" in capsys.readouterr().err


def test_a_maximum_that_a_scope_reaches_can_be_exceeded_in_it() -> None:
    """Of RCV-9 the upper bound fails at the second delivery more than the maximum, not at the first."""
    for one in read_manifest():
        limit, locks = (int(one.configuration.values[name]) for name in ("MaxDeliveryCount", "MaxTries"))
        if "RCV_9" in one.configuration.properties and one.expected is Expected.HOLDS and limit <= locks:
            assert locks >= limit + 2, one.name
