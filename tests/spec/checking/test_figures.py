"""The figures of the last runs, in a generated file."""

from pathlib import Path

import pytest

from partq.spec.checking.checks import Checked, named, recorded
from partq.spec.checking.figures import (
    FIGURES,
    Figures,
    InvalidFigures,
    Recorded,
    read_figures,
    record_checks,
    write_figures,
)
from partq.spec.checking.manifest import Check, Expected, read_manifest, read_symbolic
from partq.spec.tools.configuration import Configuration
from partq.spec.tools.tlc import LIVENESS, Answer, Step
from partq.spec.tools.values import Function


def test_the_file_is_as_it_is_written_and_of_questions_that_there_are(tmp_path: Path) -> None:
    write_figures(read_figures(), tmp_path / "figures.json")

    assert (tmp_path / "figures.json").read_text() == FIGURES.read_text()
    known = {one.name: one.expected is Expected.HOLDS for one in read_manifest()}
    assert all(known[name] for name in read_figures().checks)
    assert not any(known[name] for name in read_figures().lengths)
    assert len(read_figures().lengths) > 200
    assert read_figures().apalache.keys() <= {one.name for one in read_symbolic()}


def test_a_record_takes_the_place_of_the_one_before(tmp_path: Path) -> None:
    file = tmp_path / "figures.json"
    record_checks({"A": Figures(distinct=1), "B": Figures(distinct=2)}, file)
    record_checks({"A": Figures(distinct=3)}, file)

    assert read_figures(file).checks == {"A": Figures(distinct=3), "B": Figures(distinct=2)}


def test_of_a_counterexample_its_length_is_recorded_alone(tmp_path: Path) -> None:
    answer = Answer("RCV_3", distinct=9, generated=12, depth=3, trace=(Step("Initial", Function()),) * 4)
    check = Check("Bug", "?", Configuration({}, {}), Expected.VIOLATES, "RCV_3")

    found = recorded(Checked(check, answer, 1.04, ""), "2026-01-01")
    record_checks({"Bug": found, "A": Figures(distinct=2)}, tmp_path / "figures.json")

    assert found == Figures(depth=4)
    assert read_figures(tmp_path / "figures.json") == Recorded({"A": Figures(distinct=2)}, {"Bug": 4})


def test_what_does_not_happen_in_the_end_is_called_by_the_property_that_was_asked() -> None:
    check = Check("Bug", "?", Configuration({}, {}, properties=("SCH_1_Eventually",), steps="FairSpec"))

    assert named(check, Answer(violated=LIVENESS)).violated == "SCH_1_Eventually"
    assert named(check, Answer(violated="RCV_3")).violated == "RCV_3"


def test_what_is_no_record_is_told(tmp_path: Path) -> None:
    (tmp_path / "figures.json").write_text('{"checks": {"A": {"states": 1}}}')

    with pytest.raises(InvalidFigures, match="unknown field `states`"):
        read_figures(tmp_path / "figures.json")
