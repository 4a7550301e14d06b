"""The tables of planted faults in the specification's README: each is a wrong variant, or a test."""

import re

import pytest

from partq.spec import MODULES
from partq.spec.checking.manifest import Expected, read_manifest
from partq.spec.comparison.pairs import PAIRS

ROOT = MODULES.parents[3]
CHECKS = {one.name: one for one in read_manifest()}


def rows(heading: str) -> list[list[str]]:
    """The rows of the table whose first column is called so."""
    text = (ROOT / "spec/README.md").read_text(encoding="utf-8")
    table = text.partition(f"| {heading} |")[2].partition("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table]


@pytest.mark.parametrize("row", rows("scope"), ids=lambda row: row[0])
def test_a_wrong_broker_is_a_variant_that_its_check_finds(row: list[str]) -> None:
    scope, variants = row
    found = [CHECKS[name] for name in re.findall(r"`(\w+)`", variants)]

    assert found and CHECKS[scope.strip("`")].expected is Expected.HOLDS
    assert all(one.expected is not Expected.HOLDS for one in found)
    assert all("Bug" in "".join(one.configuration.variants.values()) for one in found)


@pytest.mark.parametrize("row", rows("wrong model"), ids=lambda row: row[0])
def test_a_wrong_model_is_planted_in_a_test(row: list[str]) -> None:
    _, pair, test = row
    tests = (ROOT / "tests/spec/comparison/test_pairs.py").read_text(encoding="utf-8")
    (body,) = [one for one in tests.split("\n\n\n") if f"def {test.strip('`')}(" in one]

    names = pair.removesuffix(", by its histories").split(", ")
    assert PAIRS.keys() >= {*names}
    assert "monkeypatch.setattr" in body and all(f'"{name}"' in body for name in names)
