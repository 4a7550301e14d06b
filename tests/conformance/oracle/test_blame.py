"""Whom blame names: the requirements whose waiver alone explains a rejected history."""

from __future__ import annotations

import pytest

from corpus import corpus
from partq.conformance.history import History
from partq.conformance.history.notation import history
from partq.conformance.oracle.blame import REJECTING, blame
from partq.conformance.oracle.judge import Judged, Judgement, judge

LIMITED = "delivery/bad: dead-lettered after half as many deliveries as allowed, or lost"
LOST = "delivery/bad: dead-lettered after one delivery, or lost"

SPLIT = "p send m1 key=a\np send m2 key=a\nq receive 2 delete -> m1#1.1, m2#2.1"
ASTRAY: dict[str, tuple[str, tuple[str, ...]]] = {
    "nothing more": ("", ("KEY-2", "ROUTE-2", "ROUTE-1")),
    "sessions come apart, too": (
        "\np send m3 session=b\np send m4 session=b\nq receive 2 delete -> m3#1.2, m4#2.2",
        ("ROUTE-2", "ROUTE-1", "KEY-2"),
    ),
}


@pytest.mark.parametrize("name", ASTRAY)
def test_what_does_not_explain_the_whole_comes_last(name: str) -> None:
    more, candidates = ASTRAY[name]
    cut, whole = (history(text, "azure-premium", partitions=2) for text in (SPLIT, SPLIT + more))
    said = blame(cut, whole=whole)
    assert said.candidates == candidates and said.violated is None


def test_two_violations_are_a_pair() -> None:
    text = (
        "p send m1\np receive 1 -> m1#1 lock=l count=0\nq receive 1 -> m1#1 lock=k count=0\n"
        "p send m2\np receive 1 delete -> m2#2\nq receive 1 delete -> m2#2"
    )
    said = blame(history(text, "azure-flat"))
    assert said.candidates == () and set(said.pairs[0]) == {"RCV-6", "RCV-7"}


def test_the_second_of_a_pair_may_be_asked_for_only_where_the_first_is_waived() -> None:
    text = "p send m1\np send m2\nc receive 1 -> m1#2\nc receive 1 -> m2#1"
    said = blame(history(text, "azure-flat"))
    assert "RCV-3" not in said.consulted and said.pairs == (("SEQ-3", "RCV-3"),)


def test_without_time_the_candidates_are_a_lower_bound() -> None:
    said = blame(history("p send m1\np receive 1 delete -> m2#1", "azure-flat"), seconds=0)
    assert said.violated == "RCV-1"  # no search is needed
    sends = "\n".join(f"c{n} send m{n} @{n + 1}-50" for n in range(8))
    said = blame(history(f"{sends}\nq receive 9 delete -> m0#99 @60-61", "azure-flat"), seconds=0)
    assert not said.complete and said.violated is None


PATIENCE = {
    "what precedes the one that explains it": (LIMITED, "RCV-9", ("RCV-9", "RCV-2")),
    "what the one precedes, which takes its wide form": (LOST, "RCV-2", ("RCV-2", "RCV-9")),
}


@pytest.mark.parametrize("which", PATIENCE)
def test_what_comes_first_is_asked_about_again_where_its_search_gave_up(
    which: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, first, candidates = PATIENCE[which]
    budgets = _stingy(monkeypatch, first, REJECTING * 1_000)
    said = blame(corpus()[name].history, nodes=1_000)
    assert said.candidates == candidates and said.complete
    assert budgets[frozenset({first})] == [1_000, REJECTING * 1_000]
    assert budgets[frozenset({candidates[1]})] == [1_000]


def test_a_wide_form_precedes_nothing_whose_search_gave_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A message that was delivered once is lost, or was dead-lettered as if it had been delivered too often:
    the latter alone is known."""
    _stingy(monkeypatch, "RCV-2", 1_000_000)
    said = blame(corpus()[LOST].history, nodes=1_000)
    assert said.candidates == ("RCV-9",) and said.open == ("RCV-2",)
    assert said.level == ("RCV-9", "RCV-2")


def _stingy(
    monkeypatch: pytest.MonkeyPatch, rule: str, enough: int
) -> dict[frozenset[str], list[int | None]]:
    """Have searches with that rule waived, in either form, give up unless they have enough nodes. The budgets
    from now on, by what is waived."""
    budgets: dict[frozenset[str], list[int | None]] = {}

    def stingy(history: History, seconds: float, late: int, waived: frozenset[str], nodes: int) -> Judgement:
        budgets.setdefault(waived, []).append(nodes)
        gives_up = rule in waived and nodes < enough
        return Judgement(Judged.UNKNOWN) if gives_up else judge(history, seconds, late, waived, nodes)

    monkeypatch.setattr("partq.conformance.oracle.blame.judge", stingy)
    return budgets


def test_what_was_consulted_before_the_search_gave_up_is_waived(monkeypatch: pytest.MonkeyPatch) -> None:
    def forgetful(
        history: History,
        seconds: float,
        late: int = 0,
        waived: frozenset[str] = frozenset(),
        nodes: int | None = None,
    ) -> Judgement:
        said = judge(history, seconds, late, waived, nodes)
        return Judgement(Judged.UNKNOWN) if "nothing" in {*waived} else said

    monkeypatch.setattr("partq.conformance.oracle.blame.judge", forgetful)
    said = blame(corpus()[LIMITED].history)
    assert said.judgement.status is Judged.REJECTED and said.candidates == corpus()[LIMITED].blame
    assert not said.complete and {"KEY-9", "TXN-10"} <= {*said.open}
