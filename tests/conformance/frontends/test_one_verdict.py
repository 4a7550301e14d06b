"""`partq run`, `search` and `replay` say the same of an adapter: of the one in examples/, of one that refuses
an operation as the documentation advises, and of one that is wrong."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest
from jsonschema import Draft202012Validator

from partq.conformance import schemas
from partq.conformance.evaluation.attribution import attribution
from partq.conformance.evaluation.decision import Decision
from partq.conformance.frontends.cli.app import main
from partq.conformance.frontends.cli.rule_outcomes import rule_outcomes
from partq.conformance.history.notation import history
from partq.conformance.oracle.blame import blame
from partq.conformance.screens.registry import ALL
from partq.conformance.verdict import (
    Finding,
    Verdict,
    conclusion,
    finding_of,
    finding_to_plain,
    from_plain,
    merge,
    plain,
    verdicts_of,
)
from partq.conformance.workload.program import Program, Step, dumps
from partq.model.messages import Message
from partq.model.profiles import SECOND, Entity
from partq.reports.view import _sentence

EXAMPLES = Path(__file__).parents[3] / "examples"

OTHERS = dedent(
    """
    from partq.conformance.adapters import Rejected
    from toy_broker import Toy, ToyClient


    class RefusingClient(ToyClient):
        def abandon(self, locks, *, txn=None):
            raise Rejected("unsupported")


    class Refusing(Toy):
        def connect(self, proc):
            return RefusingClient(self)


    class ForgetfulClient(ToyClient):
        def send(self, message, *, txn=None, timeout=60.0):
            pass


    class Forgetful(Toy):
        def connect(self, proc):
            return ForgetfulClient(self)
    """
)

PROGRAM = Program(
    "azure-premium",
    (
        Step("c1", "send", {"messages": (Message("m1", partition_key="k"),)}),
        Step("c1", "send", {"messages": (Message("m2", partition_key="k"),)}),
        Step("c1", "receive", {"max": 1}),
        Step("c1", "abandon", {"pick": [0]}),
        Step("c1", "receive", {"max": 2}),
        Step("c1", "complete", {"pick": [0]}),
    ),
    entity=Entity(lock_duration=SECOND),
    sequential=True,
)


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "others.py").write_text(OTHERS, encoding="utf-8")
    (tmp_path / "program.json").write_text(dumps(PROGRAM), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(EXAMPLES))
    monkeypatch.syspath_prepend(str(tmp_path))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("broker", "code"), [("toy_broker:Toy", 0), ("others:Refusing", 0), ("others:Forgetful", 1)]
)
def test_run_search_and_replay_agree(broker: str, code: int) -> None:
    assert main(["run", broker, "--case", "one-by-one-in-order"]) == code
    assert (
        main(["search", broker, "--profile", "azure-premium", "--examples", "5", "--seconds", "20"]) == code
    )
    assert main(["replay", "program.json", "--broker", broker]) == code


def _nothing(profile: str, finding: Finding) -> str:
    return ""


def pair() -> dict[str, Verdict]:
    """The verdicts where two rules only together explain what was seen."""
    text = (
        "p send m1\np receive 1 -> m1#1 lock=l count=0\nq receive 1 -> m1#1 lock=k count=0\np complete l\n"
        "p receive 1 -> m1#1 lock=z count=0"
    )
    cut, decision = history(text, "azure-flat"), Decision()
    found = attribution(cut, blame(cut))
    assert found is not None and found.detail.endswith(
        " No single rule explains it; RCV-8 and RCV-6 together do."
    )
    decision.add(found)
    return verdicts_of(decision, "azure-flat", ALL)


def test_two_rules_that_are_violated_together_are_said_to_be_everywhere() -> None:
    verdicts, said = pair(), "RCV-8 and RCV-6 violated together"
    (found,) = verdicts["RCV-8"].findings
    assert found.heading == said
    assert finding_of(finding_to_plain(found)) == found and finding_to_plain(found)["together"] is True
    again = from_plain(plain(verdicts))
    for known in (verdicts, again, merge([again, again])):
        assert {known[id].ambiguity for id in ("RCV-6", "RCV-8")} == {said}
        assert conclusion({"azure-flat": known}, False)[1] == f"NOT CONFORMANT: {said}"
        told = {
            one.requirement: one.message
            for one in rule_outcomes({"azure-flat": known}, False, None, _nothing)
        }
        assert told["RCV-6"] == told["RCV-8"] == said
    shape = schemas.load("verdicts")
    Draft202012Validator({**shape["$defs"]["verdict"], "$defs": shape["$defs"]}).validate(
        plain(verdicts)["RCV-8"]
    )
    assert _sentence(1, verdicts).startswith(f"{said}; ")
