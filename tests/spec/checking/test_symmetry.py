"""Where all states of several flows are searched, those that differ only in which client is which are one."""

from pathlib import Path

import pytest
from test_tlc import needs_tlc

from partq.spec.checking.checks import run, written
from partq.spec.checking.manifest import read_manifest

CHECKS = {one.name: one for one in read_manifest()}


@pytest.mark.parametrize(
    ("name", "merged"),
    [("MCRebalance2", True), ("MCDelivery", False), ("MCFlowsFair", False), ("BugTwoOwners", False)],
)
def test_states_are_merged_where_all_are_searched(name: str, merged: bool, tmp_path: Path) -> None:
    text = written(CHECKS[name], tmp_path).read_text(encoding="utf-8")

    assert ("SYMMETRY Interchangeable" in text, "Clients = {c1, c2}" in text) == (merged, merged)


@pytest.mark.parametrize(("variant", "broken"), [("BugHeldByAnyFlow", "RCV_6"), ("HeldBy", "")])
def test_a_wrong_variant_is_found_among_merged_states(variant: str, broken: str) -> None:
    needs_tlc()
    right = CHECKS["MCRebalance2"]
    variants = right.configuration.variants | ({"HeldBy": variant} if broken else {})
    one = right._replace(configuration=right.configuration._replace(variants=variants))

    (found,) = run([one])

    assert found.answer.violated == broken
    assert bool(found.wrong) == bool(broken), "the number of states is as recorded"
