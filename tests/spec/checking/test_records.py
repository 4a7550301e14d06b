"""A record of Apalache tells on which text of the specification it was made."""

import shutil
from pathlib import Path

import pytest

from partq.spec import MODULES
from partq.spec.checking.manifest import Call, Kind, LastRun, Symbolic
from partq.spec.checking.records import earlier, text_of
from partq.spec.tools.apalache import Outcome


@pytest.fixture
def modules(tmp_path: Path) -> Path:
    """A copy of the specification, to be changed."""
    return Path(shutil.copytree(MODULES, tmp_path / "tla"))


def recorded(kind: Kind, file: str) -> Symbolic:
    """A question with a record of the text that is here."""
    question = Symbolic("Q", kind, file, "?")
    run = LastRun("2026-01-01", "0.57.0", [Call("check", Outcome.OK, 1)], text_of(question))
    return Symbolic("Q", kind, file, "?", last_run=run)


QUESTIONS = [recorded(Kind.PROOF, "ProofLocks.cfg"), recorded(Kind.TYPES, "MC.tla")]


def changed(file: Path, old: str, new: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new, 1), encoding="utf-8")


def test_a_record_of_the_same_text_stands(modules: Path) -> None:
    assert earlier(QUESTIONS, modules) == []


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        (
            "Delivery.tla",
            "IF CountsDeliveries THEN n + 1",
            "IF CountsDeliveries THEN n + 2",
        ),
        ("Bugs.tla", "BugRaisedNot(n) == n", "BugRaisedNot(n) == n + 2"),
        ("Faults.tla", "@type: Bool", "@type: Int"),
    ],
)
def test_one_of_another_text_is_found_out(modules: Path, file: str, old: str, new: str) -> None:
    changed(modules / file, old, new)

    assert earlier(QUESTIONS, modules) == QUESTIONS


def test_a_configuration_is_part_of_what_was_asked(modules: Path) -> None:
    changed(modules / "ProofLocks.cfg", "PartitionCount = 2", "PartitionCount = 1")

    assert earlier(QUESTIONS, modules) == QUESTIONS[:1]


def test_comments_and_modules_that_it_was_not_given_make_no_difference(modules: Path) -> None:
    changed(modules / "Faults.tla", "Partitions that go down", "Of partitions that go down")
    changed(modules / "Delivery.tla", "\\* RCV-6: m is locked for c alone.", "\\* RCV-6.")
    changed(modules / "Validation.tla", "EXTENDS PartitionedQueue", "EXTENDS Traces, PartitionedQueue")

    assert earlier(QUESTIONS, modules) == []


def test_a_record_that_does_not_say_is_of_an_earlier_text_and_what_never_ran_has_none() -> None:
    run = LastRun("2026-01-01", "0.57.0", [])
    unsaid = Symbolic("U", Kind.PROOF, "ProofLocks.cfg", "?", last_run=run)

    assert earlier([unsaid, Symbolic("N", Kind.PROOF, "ProofLocks.cfg", "?")]) == [unsaid]
