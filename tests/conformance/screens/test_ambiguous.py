"""One of several rules certainly broken: what makes it sure, and what does not."""

from __future__ import annotations

from partq.conformance.screens.protocol import Report


def test_of_several_ambiguities_those_count_whose_rules_all_apply() -> None:
    report = Report()
    report.ambiguous(("RCV-6", "RCV-9"), "the count did not rise")
    report.ambiguous(("RCV-6", "RCV-7"), "peeked when it was gone")
    report.settle({"RCV-9"})
    assert report.open == dict.fromkeys(("RCV-6", "RCV-7"), "peeked when it was gone")
    assert report.candidates == dict.fromkeys(("RCV-6", "RCV-7"), ("RCV-6", "RCV-7"))
