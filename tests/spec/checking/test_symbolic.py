"""The questions for Apalache: which calls each takes, and what their outcomes come to.

Apalache itself is played by a script; what its exit codes mean is `test_apalache`'s business.
"""

from pathlib import Path

import pytest
from executables import write_executable

from partq.spec.checking.manifest import (
    Expected,
    InvalidManifest,
    Kind,
    Symbolic,
    read_manifest,
    read_symbolic,
)
from partq.spec.checking.records import earlier
from partq.spec.checking.symbolic import Answered, calls, run
from partq.spec.tools.apalache import Outcome

CHECKS = {one.name: one.configuration for one in (*read_manifest(), *read_symbolic())}
PROOF = Symbolic("P", Kind.PROOF, "?", CHECKS["ProofLocks"])
ROUTING = Symbolic("B", Kind.BOUNDED, "?", CHECKS["MCRouting"], length=4)
STEP, START, IMPLIED = (
    "check --no-deadlock --init=AnyInd --inv=Ind --length=1",
    "check --no-deadlock --init=Init --inv=Ind --length=0",
    "check --no-deadlock --init=AnyInd --inv=Bare_RCV_6,Bare_RCV_7,Bare_RCV_8 --length=1",
)


def test_a_proof_takes_three_calls() -> None:
    assert [" ".join(words) for words in calls(PROOF)] == [STEP, START, IMPLIED]


def test_properties_of_states_alone_are_implied_without_a_step() -> None:
    *_, implied = calls(Symbolic("P", Kind.PROOF, "?", CHECKS["ProofNumbers"]))

    assert implied[-1] == "--length=0"


def test_a_bounded_check_follows_its_steps_from_the_start() -> None:
    (words,) = calls(ROUTING)

    assert words[2] == "--init=Init"
    assert words[3].startswith("--inv=Bare_SEQ_1,Bare_SEQ_2,")
    assert words[-1] == "--length=4"


def test_an_interesting_state_is_asked_for_as_its_invariant() -> None:
    (words,) = calls(Symbolic("R", Kind.BOUNDED, "?", CHECKS["ReachLost"], length=5))

    assert words[3] == "--inv=NeverLost"


@pytest.fixture
def answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where an ``apalache-mc`` of ours looks up its exit code (by ``--init`` and ``--length``), and keeps the
    module that it was given."""
    write_executable(
        tmp_path / "bin" / "apalache-mc",
        'echo "# APALACHE version: 0.57.0 | build: v0.57.0  I@14:01:12.393"\n'
        "for word; do case $word in --init=*) init=${word#*=};; --length=*) length=${word#*=};; esac; done\n"
        'eval "module=\\${$#}"\n'
        f'cp "$module" "{tmp_path}/given.tla"\n'
        f'exit "$(cat "{tmp_path}/$init$length" 2>/dev/null || echo 0)"',
    )
    monkeypatch.setenv("APALACHE_HOME", str(tmp_path))
    return tmp_path


def asked(question: Symbolic) -> Answered:
    """What becomes of one question."""
    (done,) = run([question], jobs=1)
    return done


def test_a_proof_holds_by_all_its_calls(answers: Path) -> None:
    done = asked(PROOF)

    assert [call.answer.outcome for call in done.made] == [Outcome.OK] * 3
    assert done.made[0].answer.version == "0.57.0"
    assert done.wrong == ""


def test_a_call_that_fails_ends_a_proof_and_is_named(answers: Path) -> None:
    (answers / "Init0").write_text("12")

    done = asked(PROOF)

    assert len(done.made) == 2
    assert done.wrong == f"a counterexample: {START}"


def test_a_wrong_variant_needs_a_counterexample_of_one_call(answers: Path) -> None:
    wrong = PROOF._replace(configuration=CHECKS["ProofLocksFails"], expected=Expected.VIOLATES)

    assert asked(wrong).wrong == "no counterexample, where there has to be one"
    (answers / "AnyInd1").write_text("12")
    assert asked(wrong).wrong == ""
    assert "OVERRIDE_MayLock(m) == BugMayLockHeld(m)" in (answers / "given.tla").read_text()


@pytest.mark.parametrize("expected", Expected)
def test_an_error_is_never_what_was_expected(answers: Path, expected: Expected) -> None:
    (answers / "Init4").write_text("75")

    assert asked(ROUTING._replace(expected=expected)).wrong == "cannot evaluate the specification"


def test_types_are_checked_of_the_specification(answers: Path) -> None:
    assert asked(Symbolic("T", Kind.TYPES, "?", CHECKS["Types"])).wrong == ""
    assert "MODULE MC" in (answers / "given.tla").read_text()


# --- the manifest -------------------------------------------------------------------------------------


@pytest.mark.parametrize("question", read_symbolic(), ids=lambda question: question.name)
def test_what_is_recorded_is_what_would_be_asked_and_what_has_to_come_out(question: Symbolic) -> None:
    if question.last_run is None:
        pytest.skip("never ran, as the manifest says")
    recorded = question.last_run.calls

    if not earlier([question]):  # else another text was asked
        asked = [" ".join(words) for words in calls(question)]
        assert [call.command for call in recorded] == asked[: len(recorded)]
    assert [call.outcome for call in recorded] == (
        ["ok"] * len(calls(question))
        if question.expected is Expected.HOLDS
        else ["ok"] * (len(recorded) - 1) + ["counterexample"]
    )


def test_each_proof_has_a_wrong_variant_by_which_it_fails() -> None:
    proofs = [one for one in read_symbolic() if one.kind is Kind.PROOF]
    holding = [one.configuration for one in proofs if one.expected is Expected.HOLDS]
    failing = [one.configuration for one in proofs if one.expected is Expected.VIOLATES]

    assert len(holding) == 5
    assert holding == [one._replace(variants={"KeyOf": one.variants["KeyOf"]}) for one in failing]
    assert all(len(one.variants) == 2 for one in failing)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('kind = "bounded"', "a length is given for all that is bounded"),
        ('kind = "proof"\nbase = "None"', "no base is called None"),
        ('kind = "guess"', "Invalid enum value 'guess'"),
    ],
)
def test_a_manifest_that_makes_no_sense_is_told(tmp_path: Path, line: str, said: str) -> None:
    file = tmp_path / "manifest.toml"
    file.write_text(f'[apalache.A]\nquestion = "?"\n{line}\n')

    with pytest.raises(InvalidManifest, match=said):
        read_symbolic(file)
