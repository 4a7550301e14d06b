"""A record of Apalache tells on which text of the specification it was made."""

import shutil
from pathlib import Path

import pytest

from partq.spec import MODULES
from partq.spec.checking.figures import Call, LastRun
from partq.spec.checking.manifest import Symbolic, read_symbolic
from partq.spec.checking.records import earlier, text_of
from partq.spec.tools.apalache import Outcome


@pytest.fixture
def modules(tmp_path: Path) -> Path:
    """A copy of the specification, to be changed."""
    return Path(shutil.copytree(MODULES, tmp_path / "tla"))


TYPES, LOCKS = (one._replace(last_run=None) for one in read_symbolic() if one.name in ("Types", "ProofLocks"))


def recorded(question: Symbolic) -> Symbolic:
    """The question with a record of the text that is here."""
    run = LastRun("2026-01-01", "0.57.0", [Call("check", Outcome.OK, 1)], text_of(question))
    return question._replace(last_run=run)


QUESTIONS = [recorded(LOCKS), recorded(TYPES)]


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
        ("FlatQueue.tla", 'at[m] = "there"', "TRUE"),
    ],
)
def test_one_of_another_text_is_found_out(modules: Path, file: str, old: str, new: str) -> None:
    changed(modules / file, old, new)

    assert earlier(QUESTIONS, modules) == QUESTIONS


def test_a_configuration_is_part_of_what_was_asked() -> None:
    asked = LOCKS.configuration
    smaller = asked._replace(values={**asked.values, "PartitionCount": "1"})
    questions = [one._replace(configuration=smaller) for one in QUESTIONS]

    assert earlier(questions) == questions[:1]


def test_comments_and_modules_that_it_was_not_given_make_no_difference(modules: Path) -> None:
    changed(modules / "Faults.tla", "Partitions that go down", "Of partitions that go down")
    changed(modules / "Delivery.tla", "\\* RCV-6: m is locked for c alone.", "\\* RCV-6.")
    changed(modules / "Validation.tla", "EXTENDS Deferral", "EXTENDS Traces, Deferral")

    assert earlier(QUESTIONS, modules) == []


def test_a_record_that_does_not_say_is_of_an_earlier_text_and_what_never_ran_has_none() -> None:
    run = LastRun("2026-01-01", "0.57.0", [])
    unsaid = LOCKS._replace(last_run=run)

    assert earlier([unsaid, LOCKS]) == [unsaid]
