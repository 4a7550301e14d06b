"""The properties of the specification, and the checks that stand behind them."""

import re

import pytest

from partq.model.requirements import catalogue
from partq.spec import MODULES
from partq.spec.checking.manifest import Expected, read_manifest
from partq.spec.checking.properties import checks_of, proofs_of, properties


def test_a_property_is_named_after_its_requirement() -> None:
    assert properties().keys() <= catalogue().keys()


def test_no_property_is_overlooked() -> None:
    files = [file for file in MODULES.glob("*.tla") if file.name not in ("Reach.tla", "Bugs.tla")]
    text = "\n".join(file.read_text(encoding="utf-8") for file in files)
    written = re.findall(r"^([A-Z]+_\d+) ==", text, re.M)

    assert properties().keys() == {name.replace("_", "-") for name in written}


def test_a_property_comes_with_the_sentence_that_it_stands_for() -> None:
    found = properties()["TXN-2"]

    assert found.comment.startswith("TXN-2 (A, I):")
    assert found.formula.startswith("TXN_2 == []")
    assert found.formula.endswith("SamePlace(m, n))")


def test_what_has_to_happen_in_the_end_comes_with_its_requirement() -> None:
    found = properties()["SCH-1"]
    holds, broken = checks_of("SCH-1")

    assert "SCH_1 == " in found.formula
    assert "SCH_1_Eventually == " in found.formula
    assert "MCSchedulingFair" in [one.name for one in holds]
    assert "BugNeverActivates" in [one.name for one in broken]


@pytest.mark.parametrize("requirement", properties())
def test_each_property_holds_somewhere_and_each_but_a_few_is_broken_by_a_wrong_variant(
    requirement: str,
) -> None:
    holds, broken = checks_of(requirement)

    assert holds
    assert broken or requirement in WITHOUT_A_WRONG_VARIANT


WITHOUT_A_WRONG_VARIANT: frozenset[str] = frozenset()


def test_a_proof_stands_behind_the_properties_that_it_implies() -> None:
    assert [one.name for one in proofs_of("SEQ-4")] == ["ProofNumbers"]
    assert [one.name for one in proofs_of("REB-1")] == ["ProofAssignment"]
    assert proofs_of("PEEK-1") == []


def test_the_manifest_has_wrong_variants_and_interesting_states() -> None:
    expected = [check.expected for check in read_manifest()]

    assert expected.count(Expected.VIOLATES) >= 16
    assert expected.count(Expected.REACHES) >= 8
