"""What the parts of a report say, and the words for it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from partq.conformance.verdict import Finding, Status, Verdict, exit_code, failing_rows, worst
from partq.model.requirements import catalogue
from partq.reports.evidence import heat_maps, histograms
from partq.reports.material import Cell, Lane, Material, Spread
from partq.reports.plots import Bar, histogram_svg
from partq.reports.text import columns, compact, duration, shortened, visible
from partq.reports.view import report_view


def lane(**statuses: Status) -> Lane:
    """A lane in which every rule is not exercised but these (``ROUTE_1`` for ROUTE-1)."""
    verdicts = {id: Verdict(Status.NOT_EXERCISED) for id in catalogue()}
    for name, status in statuses.items():
        id = name.replace("_", "-")
        finding = Finding(id, "t", (0,), "d", "a", "k")
        verdicts[id] = Verdict(status, 5, (finding,) * 3 if status is Status.VIOLATED else ())
    return Lane("b", "azure-standard", verdicts, exit_code(verdicts, failing_rows(strict=False)))


def of(*lanes: Lane) -> Material:
    """Their material; its exit code is the worst of theirs."""
    return Material(lanes, worst(lane.exit for lane in lanes))


def headline(*lanes: Lane) -> tuple[str, str]:
    told = report_view(of(*lanes)).headline
    return told.word, told.sentence


def test_a_violated_must_is_not_conformant() -> None:
    word, sentence = headline(lane(ROUTE_1=Status.VIOLATED, ROUTE_2=Status.PASS))
    assert word == "Not conformant"
    assert "1 requirement is violated: ROUTE-1; 1 passed" in sentence


def test_a_violated_should_alone_is_conformant_and_told() -> None:
    assert catalogue()["KEY-6"].level.value == "SHOULD"
    word, sentence = headline(lane(KEY_6=Status.VIOLATED, ROUTE_2=Status.PASS))
    assert word == "Conformant"
    assert "Recommendations not met: KEY-6" in sentence


def test_nothing_exercised_is_no_success() -> None:
    assert headline(lane())[0] == "Inconclusive"
    assert headline()[0] == "Inconclusive"


def test_an_unknown_must_leaves_it_open() -> None:
    word, sentence = headline(lane(ROUTE_1=Status.UNKNOWN, ROUTE_2=Status.PASS))
    assert word == "Inconclusive"
    assert "undecided: ROUTE-1" in sentence


def test_one_of_several_surely_violated_is_not_conformant_and_told() -> None:
    either = Verdict(Status.UNKNOWN, reason="overtaken", among=("RCV-3", "RCV-2"))
    material = of(lane(ROUTE_2=Status.PASS))
    verdicts = {**material.lanes[0].verdicts, "RCV-2": either, "RCV-3": either}
    view = report_view(
        of(replace(material.lanes[0], verdicts=verdicts, exit=exit_code(verdicts, failing_rows(False))))
    )
    assert view.headline.word == "Not conformant"
    assert view.headline.sentence.startswith(
        "RCV-3 or RCV-2 violated, though it does not show which; 1 passed."
    )
    rows = [
        row
        for group in view.groups
        for row in group.rows
        if row.rule.id in verdicts and row.cells[0].reason == "overtaken"
    ]
    assert [row.cells[0].sign.status for row in rows] == ["RCV-3 or RCV-2 violated"] * 2
    assert all(row.statuses == ("violated",) for row in rows)


def test_one_bad_profile_is_enough() -> None:
    assert headline(lane(ROUTE_1=Status.PASS), lane(ROUTE_1=Status.VIOLATED))[0] == "Not conformant"


def test_findings_of_one_cause_are_listed_once() -> None:
    view = report_view(of(lane(ROUTE_1=Status.VIOLATED)))
    row = next(row for group in view.groups for row in group.rows if row.rule.id == "ROUTE-1")
    assert [item.times for item in row.findings] == [3]
    assert row.found == "3 violations"
    assert row.statuses == ("violated",)


def test_every_finding_is_counted_kept_or_not() -> None:
    findings = tuple(Finding("ROUTE-1", "t", (0,), "d", "a", f"ROUTE-1/{cause}") for cause in "aab")
    found = {"ROUTE-1/a": 1200, "ROUTE-1/b": 1}
    verdicts = {"ROUTE-1": Verdict(Status.VIOLATED, 5, findings, found=found)}
    view = report_view(Material((Lane("b", "azure-standard", verdicts, 1),), 1))
    row = next(row for group in view.groups for row in group.rows if row.rule.id == "ROUTE-1")
    assert row.found == "1,201 violations, 2 causes"
    assert [(item.finding.key, item.times) for item in row.findings] == list(found.items())


def test_the_exit_code_that_was_handed_over_is_the_verdict() -> None:
    told = lane(ROUTE_1=Status.PASS, KEY_6=Status.VIOLATED)
    assert told.exit == 0
    strict = Lane(told.broker, told.profile, told.verdicts, 1)
    view = report_view(of(strict, told))
    assert view.headline.word == "Not conformant"
    assert [row.word for row in view.lanes] == ["Not conformant", "Conformant"]


def test_when_and_where_the_results_were_made_is_told() -> None:
    told = lane(ROUTE_1=Status.PASS)
    view = report_view(Material((told,), told.exit, made={"started": "then", "host": "there"}))
    assert view.settings == (("started", "then"), ("host", "there"))


def test_shares_count_every_row_once() -> None:
    view = report_view(of(lane(ROUTE_1=Status.VIOLATED, ROUTE_2=Status.PASS)))
    assert sum(share.number for share in view.shares) == len(catalogue()) == view.total
    assert [(s.sign.status, s.number) for s in view.shares[:2]] == [("violated", 1), ("pass", 1)]


def test_a_histogram_counts_keyed_and_keyless_apart() -> None:
    rows = [Spread("b", "p", 3, True, 40), Spread("b", "p", 3, True, 2), Spread("b", "p", 0, False, 7)]
    (view,) = histograms(rows, [("b", "p")])
    assert view.summary == "2 partitions; 42 messages with a key, 7 without"
    assert "rank 3: 42 keyed, 0 keyless" in view.drawing


def test_the_tallest_bar_fills_the_plot_and_empty_data_draws() -> None:
    assert 'height="132"' in histogram_svg([Bar("0", 5, 0), Bar("1", 1, 1)], "t")
    assert "<svg" in histogram_svg([], "t")


def test_heat_grows_with_the_count_and_what_was_never_reached_is_empty() -> None:
    cells = [
        Cell("b", "p", "ROUTE-1", "ok", "none", 3, 10),
        Cell("b", "p", "KEY-1", "ok", "none", 30, 1000),
        Cell("b", "p", "KEY-1", "error", "broker_kill", 1, 1),
    ]
    (view,) = heat_maps(cells, [("b", "p")])
    assert [id for id, _ in view.rows] == ["KEY-1", "ROUTE-1"]
    assert view.faults == (("no fault", 2), ("broker kill", 2))
    key, route = (dict(view.rows)[id] for id in ("KEY-1", "ROUTE-1"))
    assert [cell.text for cell in key] == ["1.0k", "", "", "1"]
    assert key[0].heat > route[0].heat > key[3].heat > key[1].heat == 0
    assert route[0].tip == "ROUTE-1, no fault, outcome ok: 10 times in 3 traces"


def test_several_profiles_get_a_map_each_and_one_together() -> None:
    cells = [Cell("b", name, "KEY-1", "ok", "none", 1, 2) for name in ("p", "q")]
    views = heat_maps(cells, [("b", "q"), ("b", "p")])
    assert [(view.title, view.open) for view in views] == [("everything", True), ("q", False), ("p", False)]
    assert views[0].rows[0][1][0].text == "4"


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0"), (999, "999"), (1000, "1.0k"), (9999, "10k"), (12345, "12k"), (3_400_000, "3.4M")],
)
def test_compact(number: int, text: str) -> None:
    assert compact(number) == text


@pytest.mark.parametrize(
    ("ns", "text"), [(1, "1 ns"), (1500, "1.5 µs"), (30 * 10**9, "30 s"), (90 * 10**9, "1.5 min")]
)
def test_duration(ns: int, text: str) -> None:
    assert duration(ns) == text


def test_wide_letters_count_twice() -> None:
    assert columns("a漢e\u0301") == 4
    assert shortened("漢漢漢漢", 5) == "漢漢…"
    assert shortened("abc", 3) == "abc"


def test_visible_leaves_ordinary_text_alone() -> None:
    assert visible("grüße 漢 \N{NO-BREAK SPACE}x") == "grüße 漢 \N{NO-BREAK SPACE}x"
    assert visible("a\nb\tc\u202e", keep="\n") == "a\nb␉c⟨U+202E⟩"
