"""What a witness holds besides the records that a screen or the judge names."""

from __future__ import annotations

from partq.conformance.evaluation import circumstances
from partq.conformance.history.notation import history
from partq.conformance.verdict import Finding, Inspection


def completed(profile: str, text: str, *witness: int) -> tuple[int, ...]:
    """The witness of a finding that names these records."""
    inspection = Inspection()
    inspection.add(Finding("RCV-7", "title", witness, "detail", "allowed", "key"))
    circumstances.place(inspection, history(text, profile))
    (finding,) = inspection.doubts["RCV-7"].findings
    return finding.witness


def test_a_settlement_comes_with_the_answer_that_gave_its_lock() -> None:
    text = "p send m1\nq send m2\np receive 1 -> m1#1 lock=l\np complete l\np receive 1 -> m1#1 lock=k"
    assert completed("azure-flat", text, 0, 3, 4) == (0, 2, 3, 4)


def test_a_kill_between_comes_with_it_and_what_the_drain_brings_about_does_not() -> None:
    text = (
        "p send m1\np bind f1\nenv assignment 0 f1 ready\np receive 1 flow=f1 -> m1 lock=l\np complete l\n"
        "env broker_kill\ndrain bind drain-f1\nenv assignment 0 drain-f1 ready\n"
        "drain receive 1 flow=drain-f1 delete -> m1"
    )
    assert completed("solace", text, 0, 3, 4, 8) == (0, 1, 2, 3, 4, 5, 8)
