"""What the parts of a report say, and the words for it."""

from __future__ import annotations

import re
from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console

from partq.conformance.frontends.cli.shown import show_found
from partq.conformance.history.notation import history
from partq.conformance.verdict import Finding, Status, Verdict, binding_requirements, exit_code, worst
from partq.model.requirements import catalogue
from partq.reports.evidence import examples, heat_maps, histograms
from partq.reports.material import Cell, Example, Kill, Lane, Material, Opinions, Spread
from partq.reports.plots import Bar, histogram_svg
from partq.reports.text import columns, compact, shortened, visible
from partq.reports.view import ReportView, report_view


def lane(**statuses: Status) -> Lane:
    """A lane in which every rule is not exercised but these (``ROUTE_1`` for ROUTE-1)."""
    verdicts = {id: Verdict(Status.NOT_EXERCISED) for id in catalogue()}
    for name, status in statuses.items():
        id = name.replace("_", "-")
        finding = Finding(id, "t", (0,), "d", "a", "k")
        verdicts[id] = Verdict(status, 5, (finding,) * 3 if status is Status.VIOLATED else ())
    return Lane("b", "azure-standard", verdicts, exit_code(verdicts, binding_requirements(strict=False)))


def of(*lanes: Lane) -> Material:
    """Their material; its exit code is the worst of theirs."""
    return Material(lanes, worst(lane.exit for lane in lanes))


def headline(*lanes: Lane) -> tuple[str, str]:
    told = report_view(of(*lanes)).headline
    return told.word, told.sentence


def test_a_violated_must_is_not_conformant() -> None:
    word, sentence = headline(lane(ROUTE_1=Status.VIOLATED, ROUTE_2=Status.PASS))
    assert word == "Not conformant"
    assert "1 rule is violated: ROUTE-1; 1 passed" in sentence


def test_a_violated_should_alone_is_no_violation_and_told() -> None:
    assert catalogue()["KEY-6"].level.value == "SHOULD"
    word, sentence = headline(lane(KEY_6=Status.VIOLATED, ROUTE_2=Status.PASS))
    assert word == "Nothing violated"
    assert "Recommendations not met: KEY-6" in sentence


def test_conformant_is_only_where_all_that_binds_was_exercised() -> None:
    binding = {id.replace("-", "_"): Status.PASS for id in binding_requirements(strict=False)}
    word, sentence = headline(lane(**binding))
    assert word == "Conformant"
    assert f"{len(binding)} of {len(binding)} binding rules exercised, none violated" in sentence
    assert (
        f"{len(binding) + 1} rules passed, {len(binding)} of them binding."
        in headline(lane(**binding, KEY_6=Status.PASS))[1]
    )
    word, sentence = headline(lane(**{**binding, "ROUTE_1": Status.NOT_EXERCISED}))
    assert word == "Nothing violated"
    assert f"{len(binding) - 1} of {len(binding)} binding rules exercised" in sentence


def test_nothing_exercised_is_no_success() -> None:
    assert headline(lane())[0] == "Inconclusive"
    assert headline()[0] == "Inconclusive"


def test_an_unknown_must_leaves_it_open() -> None:
    word, sentence = headline(lane(ROUTE_1=Status.UNKNOWN, ROUTE_2=Status.PASS))
    assert word == "Inconclusive"
    assert "undecided: ROUTE-1" in sentence


def test_one_of_several_surely_violated_is_not_conformant_and_told() -> None:
    ambiguous = Verdict(Status.UNKNOWN, reason="overtaken", candidates=("RCV-3", "RCV-2"))
    material = of(lane(ROUTE_2=Status.PASS))
    verdicts = {**material.lanes[0].verdicts, "RCV-2": ambiguous, "RCV-3": ambiguous}
    view = report_view(
        of(
            replace(
                material.lanes[0], verdicts=verdicts, exit=exit_code(verdicts, binding_requirements(False))
            )
        )
    )
    assert view.headline.word == "Not conformant"
    assert view.headline.sentence.startswith(
        "RCV-3 or RCV-2 violated, though it does not show which; 1 passed."
    )
    rows = [
        row
        for group in view.groups
        for row in group.rows
        if row.requirement.id in verdicts and row.cells[0].reason == "overtaken"
    ]
    assert [row.cells[0].sign.status for row in rows] == ["RCV-3 or RCV-2 violated"] * 2
    assert all(row.statuses == ("violated",) for row in rows)


def test_one_bad_profile_is_enough() -> None:
    assert headline(lane(ROUTE_1=Status.PASS), lane(ROUTE_1=Status.VIOLATED))[0] == "Not conformant"


def test_findings_of_one_cause_are_listed_once() -> None:
    view = report_view(of(lane(ROUTE_1=Status.VIOLATED)))
    row = next(row for group in view.groups for row in group.rows if row.requirement.id == "ROUTE-1")
    assert [item.times for item in row.findings] == [3]
    assert row.found == "3 violations"
    assert row.statuses == ("violated",)


def test_every_finding_is_counted_kept_or_not() -> None:
    findings = tuple(Finding("ROUTE-1", "t", (0,), "d", "a", f"ROUTE-1/{cause}") for cause in "aab")
    found = {"ROUTE-1/a": 1200, "ROUTE-1/b": 1}
    verdicts = {"ROUTE-1": Verdict(Status.VIOLATED, 5, findings, found=found)}
    view = report_view(Material((Lane("b", "azure-standard", verdicts, 1),), 1))
    row = next(row for group in view.groups for row in group.rows if row.requirement.id == "ROUTE-1")
    assert row.found == "1,201 violations, 2 causes"
    assert [(item.finding.key, item.times) for item in row.findings] == list(found.items())


def test_the_exit_code_that_was_handed_over_is_the_verdict() -> None:
    told = lane(ROUTE_1=Status.PASS, KEY_6=Status.VIOLATED)
    assert told.exit == 0
    strict = Lane(told.broker, told.profile, told.verdicts, 1)
    view = report_view(of(strict, told))
    assert view.headline.word == "Not conformant"
    assert [row.word for row in view.lanes] == ["Not conformant", "Nothing violated"]


def test_when_and_where_the_results_were_made_is_told() -> None:
    told = lane(ROUTE_1=Status.PASS)
    view = report_view(Material((told,), told.exit, made={"started": "then", "host": "there"}))
    assert view.settings == (("started", "then"), ("host", "there"))


def opened(told: Lane) -> list[str]:
    return [group.code for group in report_view(of(told)).groups if group.open]


def test_groups_with_what_is_worst_are_open_and_all_where_nothing_is_bad() -> None:
    assert opened(lane(ROUTE_1=Status.VIOLATED, KEY_1=Status.UNKNOWN, SEQ_1=Status.PASS)) == ["ROUTE"]
    assert opened(lane(KEY_1=Status.UNKNOWN, SEQ_1=Status.PASS)) == ["KEY"]
    assert opened(lane(SEQ_1=Status.PASS)) == list(dict.fromkeys(row.group for row in catalogue().values()))


def test_one_of_several_surely_violated_opens_its_groups_as_a_violation_does() -> None:
    candidates = ("RCV-8", "TXN-5")
    rows = {id: Verdict(Status.UNKNOWN, 1, candidates=candidates) for id in candidates}
    told = lane(KEY_1=Status.UNKNOWN)
    assert opened(replace(told, verdicts={**told.verdicts, **rows})) == ["RCV", "TXN"]


KILLS = (
    Kill("slow", "TXN-5", "azure-premium", 900, 4, ()),
    Kill("quiet", "KEY-1", "azure-standard", None, None, ()),
    Kill("loud", "TXN-5", "azure-premium", 3, 5, ("RCV-8",)),
)


def of_mutants(kills: tuple[Kill, ...], code: int) -> ReportView:
    lanes = tuple(Lane(f"mutant:{kill.mutant}", kill.profile, lane().verdicts, 1, 100) for kill in kills)
    return report_view(Material(lanes, code, kills=kills))


def test_a_campaign_of_mutants_is_told_by_what_became_of_them() -> None:
    view = of_mutants(KILLS, 1)
    assert view.title == "3 mutants of the reference broker"
    assert (view.headline.word, view.headline.sign.css) == ("Not all killed", "violated")
    assert view.headline.sentence == (
        "2 of 3 mutants killed by the rule that it breaks. Survivors: quiet. "
        "Other rules were reported, too, of: loud."
    )
    assert [(one.kill.mutant, one.fate.status, one.traces) for one in view.kills] == [
        ("quiet", "survived", "–"),
        ("loud", "killed, but RCV-8 reported too", "3"),
        ("slow", "killed", "900"),
    ]
    assert [(share.sign.status, share.number) for share in view.bar] == [("not killed", 1), ("killed", 2)]


def test_a_rule_passes_if_it_killed_its_mutants() -> None:
    rows = {row.requirement.id: row for group in of_mutants(KILLS, 1).groups for row in group.rows}
    assert (rows["KEY-1"].statuses, rows["TXN-5"].statuses) == (("violated",), ("pass",))
    assert rows["KEY-1"].cells[0].reason == "not killed: quiet"
    assert rows["SEQ-1"].statuses == ("idle",)
    rows = {row.requirement.id: row for group in of_mutants(KILLS[:1], 0).groups for row in group.rows}
    assert rows["TXN-5"].statuses == ("pass",)


def test_all_killed_is_a_success() -> None:
    view = of_mutants(KILLS[:1], 0)
    assert (view.headline.word, view.headline.sign.css) == ("All killed", "pass")
    assert "Survivors" not in view.headline.sentence
    assert view.causes == ()


@pytest.mark.parametrize(
    ("stored", "says"), [(20, "20 of 100 traces are stored"), (None, "not come to its end")]
)
def test_an_unfinished_campaign_tells_how_far_it_is(stored: int | None, says: str) -> None:
    planned = Lane("b", "azure-standard", {}, 3, 100)
    view = report_view(Material((planned,), 3, command="go on", complete=False, stored=stored))
    assert says in view.headline.sentence
    assert (view.title, view.again) == ("b", "Finish it")
    assert view.groups == view.bar == view.lanes == ()


def example(told: Finding, text: str) -> Example:
    return Example(told, "b", "azure-standard", history(text), {"steps": []}, "again")


def test_messages_are_put_side_by_side_with_all_in_which_they_differ() -> None:
    text = """
        p1 send m1 key=a body=x -> ok
        p1 send m2 key=a body=x -> ok
        p2 send m3 session=a body=yy -> ok
        """
    (whole,) = examples([example(Finding("ROUTE-2", "t", (0, 1, 2), "all", "a", "k"), text)])
    assert whole.contrast is not None
    assert whole.contrast.names == ("sent by", "session_id", "partition_key", "body")
    assert [id for id, _ in whole.contrast.rows] == ["m1", "m2", "m3"]
    (named,) = examples([example(Finding("ROUTE-2", "t", (0, 1, 2), "'m1' and 'm3'", "a", "k"), text)])
    assert named.contrast is not None
    assert named.contrast.rows == (
        ("m1", ("p1", "–", "a", "x (1 character)")),
        ("m3", ("p2", "a", "–", "yy (2 characters)")),
    )


@pytest.mark.parametrize("witness", [(0,), (0, 1), ()])
def test_nothing_is_put_side_by_side_where_nothing_differs(witness: tuple[int, ...]) -> None:
    text = "p1 send m1 key=a body=x -> ok\np1 send m2 key=a body=x -> ok"
    (view,) = examples([example(Finding("ROUTE-2", "t", witness, "d", "a", "k"), text)])
    assert view.contrast is None


@pytest.mark.parametrize(("number", "unfolded"), [(1, 1), (3, 3), (4, 1)])
def test_of_many_counterexamples_one_is_unfolded(number: int, unfolded: int) -> None:
    told = example(Finding("ROUTE-2", "t", (), "d", "a", "k"), "p1 send m1 -> ok")
    bad = lane(ROUTE_2=Status.VIOLATED)
    assert report_view(Material((bad,), 1, examples=(told,) * number)).unfolded == unfolded
    mutants = Material((bad,), 1, examples=(told,) * number, kills=KILLS)
    assert report_view(mutants).unfolded == 0


def test_a_step_names_where_a_message_bears_its_key() -> None:
    messages = [
        {"id": "m1", "session_id": "k1"},
        {"id": "m2", "session_id": "k1", "partition_key": "k1"},
        {"id": "m3", "properties": [["QUEUE_PARTITION_KEY", "k1"]]},
        {"id": "m4"},
    ]
    program = {"steps": [{"proc": "c1", "op": "send_batch", "args": {"messages": messages}}]}
    told = example(Finding("ROUTE-2", "t", (), "d", "a", "k"), "p1 send m1 -> ok")
    (view,) = examples([replace(told, program=program)])
    assert view.steps is not None
    assert view.steps[0].text == (
        "send batch m1 (session_id k1) m2 (session_id k1, partition_key k1) m3 (QUEUE_PARTITION_KEY k1) "
        "m4 (no key)"
    )


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


def test_wide_letters_count_twice() -> None:
    assert columns("a漢e\u0301") == 4
    assert shortened("漢漢漢漢", 5) == "漢漢…"
    assert shortened("abc", 3) == "abc"


def test_visible_leaves_ordinary_text_alone() -> None:
    assert visible("grüße 漢 \N{NO-BREAK SPACE}x") == "grüße 漢 \N{NO-BREAK SPACE}x"
    assert visible("a\nb\tc\u202e", keep="\n") == "a\nb␉c⟨U+202E⟩"


def test_a_requirement_says_who_states_it_and_shows_its_tla_property() -> None:
    spoken = {
        "ROUTE-1": Opinions(
            2, ("routing.home", "routing.anew"), ("affinity",), "ROUTE-1 (A)\n\nROUTE_1 == []P"
        )
    }
    view = report_view(Material((lane(),), 0, opinions=spoken))
    row = next(row for group in view.groups for row in group.rows if row.requirement.id == "ROUTE-1")

    assert row.opinions == ("reference (2 mutants of it)", "model (2 clauses)", "screens (affinity)", "TLA+")
    assert row.formula.endswith("ROUTE_1 == []P")


def test_the_page_tells_findings_in_the_order_of_the_terminal() -> None:
    """By profile, by rule as the catalogue has them, and those of a rule as they were found."""
    found = {
        name: {id: [Finding(id, f"{name} {id} {key}", (0,), "d", "a", key) for key in "ba"] for id in RULES}
        for name in ("azure-premium", "azure-standard")
    }
    results = {
        name: {
            id: Verdict(Status.VIOLATED, 2, tuple(findings), found={"a": 1, "b": 1})
            for id, findings in rows.items()
        }
        for name, rows in found.items()
    }
    text = StringIO()
    show_found(Console(file=text, width=200), results)
    terminal = re.findall(r"azure-\w+ [A-Z]+-\d [ab]", text.getvalue())
    stored = [
        replace(example(finding, "c0 send m1 -> ok"), profile=name)
        for name in sorted(found, reverse=True)
        for id in reversed(RULES)
        for finding in sorted(found[name][id], key=lambda finding: finding.key)
    ]
    lanes = tuple(Lane("b", name, verdicts, 1) for name, verdicts in results.items())
    view = report_view(Material(lanes, 1, examples=tuple(stored)))
    assert len(terminal) == 8
    assert [one.finding.title for one in view.examples] == terminal
    assert [one.finding.requirement for one in view.causes] == list(RULES)


def test_what_is_certain_comes_first_and_is_named_where_it_may_be_that() -> None:
    """On the terminal and on the page, whatever the catalogue's order; within a profile."""
    several = ("ROUTE-1", "RCV-1")
    unsure = Finding("ROUTE-1", "unsure", (0,), "d", "a", "ROUTE-1/k", several)
    sure = Finding("RCV-1", "sure", (0,), "d", "a", "RCV-1/k")
    verdicts = {
        "ROUTE-1": Verdict(Status.UNKNOWN, 1, (unsure,)),
        "RCV-1": Verdict(Status.VIOLATED, 1, (sure,)),
    }
    text = StringIO()
    numbers = show_found(Console(file=text, width=200), {P: verdicts})
    assert numbers == {(P, "RCV-1"): [1, 2], (P, "ROUTE-1"): [2]}
    first, second = text.getvalue().split("2. ROUTE-1 or RCV-1 violated")
    assert "certainly" not in first
    assert "certainly violated, by other findings: RCV-1\n" in second
    stored = tuple(replace(example(one, "c0 send m1 -> ok"), profile=P) for one in (unsure, sure))
    view = report_view(Material((Lane("b", P, verdicts, 1),), 1, examples=stored))
    assert [one.finding.title for one in view.examples] == ["sure", "unsure"]


P = "azure-premium"
RULES = ("ROUTE-1", "RCV-1")
