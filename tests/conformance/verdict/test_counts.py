"""What a campaign counts besides verdicts, in words."""

from __future__ import annotations

from partq.conformance.verdict import in_words


def test_what_was_judged_is_told_with_what_was_left_undecided_and_why() -> None:
    counts = {
        "judged": {"accepted": 980, "rejected": 5, "unknown": 15, "not asked": 9000},
        "again": {"accepted": 20, "rejected": 1, "unknown": 12},
        "undecided": {"over the budget": 12, "not modelled": 3},
        "overruled": {"RCV-3": 2},
        "endings": {"drained": 9990, "never drained": 7, "got nowhere": 3},
    }
    assert dict(in_words(counts, 10_000)) == {
        "judged exactly": "1,000 of 10,000 traces: 980 accepted, 5 rejected (21 at a second look), "
        "3 undecided (not modelled), 12 undecided (over the budget)",
        "findings overruled by the judge": "RCV-3 2",
        "never drained": "7 of 10,000 traces",
        "got nowhere": "3 of 10,000 traces",
    }


def test_what_did_not_happen_is_not_told() -> None:
    assert not dict(in_words({"judged": {"not asked": 10}, "endings": {"drained": 10}}, 10))
    assert not dict(in_words({}, 0)), "of folders of older versions nothing is known"
