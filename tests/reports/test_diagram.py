"""The sequence diagram's content, apart from how it is drawn."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from samples import HANDED, PEEKED, ROUTED, long_history

from partq.conformance.history.notation import history
from partq.reports.diagram import LIMIT, Band, Diagram, Lifeline, diagram
from partq.reports.sequence import sequence_svg


def lifelines(content: Diagram) -> list[tuple[str, str]]:
    return [tuple(lifeline) for lifeline in content.lifelines]


def test_lanes_are_environment_clients_and_shown_partitions() -> None:
    assert lifelines(diagram(history(ROUTED))) == [
        ("env", "environment"),
        ("client", "c0"),
        ("client", "c1"),
        ("partition", "partition 3"),
        ("partition", "partition 5"),
    ]


def test_clients_are_in_natural_order() -> None:
    content = diagram(history("c10 begin t1\nc2 begin t2\nc1 begin t3"))
    assert [lifeline.title for lifeline in content.lifelines] == ["c1", "c2", "c10"]


def test_a_solace_history_has_the_partitions_of_its_assignments() -> None:
    content = diagram(history(HANDED, "solace"))
    assert [lifeline.title for lifeline in content.lifelines if lifeline.kind == "partition"] == [
        "partition 0",
        "partition 1",
    ]
    assert [mark.label for mark in content.marks][-2:] == ["paused f0", "ready f1"]
    assert content.links == (), "no client of Solace sees a partition"


def test_spans_overlap_as_the_operations_do() -> None:
    content = diagram(history("a send m1 ...\nb send m2\na -> ok"))
    first, second = content.activations
    assert first.end is not None
    assert second.end is not None
    assert first.start < second.start < second.end < first.end


def test_order_of_rows_is_order_of_times() -> None:
    records = history(ROUTED).records
    content = diagram(history(ROUTED))
    starts = [activation.start for activation in content.activations]
    assert starts == sorted(starts)
    assert len(content.rows) == sum(1 if r.is_env else 2 for r in records)


def test_what_never_returned_is_open_and_unknown() -> None:
    activation = diagram(history("c0 receive 1 ...")).activations[0]
    assert (activation.end, activation.outcome) == (None, "unknown")
    assert "never returned" in activation.note


def test_deliveries_come_from_and_sends_go_to_the_shown_partition() -> None:
    content = diagram(history(ROUTED))
    titles = [lifeline.title for lifeline in content.lifelines]
    seen = [(link.kind, titles[link.source], titles[link.target], link.label) for link in content.links]
    assert seen == [
        ("send", "c0", "partition 3", "m1"),
        ("send", "c1", "partition 5", "m2"),
        ("deliver", "partition 3", "c0", "m1 #7"),
        ("deliver", "partition 5", "c1", "m2 #1"),
        ("settle", "c1", "partition 5", "m2"),
        ("settle", "c0", "partition 3", "m1"),
    ]
    assert content.links[-1].outcome == "unknown"


def test_a_flat_entity_has_no_partitions() -> None:
    content = diagram(history("c0 send m1\nc0 receive 1 -> m1#5 lock=l", "azure-flat"))
    assert lifelines(content) == [("client", "c0")]


def test_a_partition_down_is_a_band_of_its_lane() -> None:
    content = diagram(history(ROUTED))
    (band,) = content.bands
    assert content.lifelines[band.lifeline or 0] == Lifeline("partition", "partition 3")
    assert band.end is not None
    assert band.start < band.end


def test_a_killed_broker_is_a_band_over_everything_until_it_starts_or_the_end() -> None:
    content = diagram(history("env broker_kill\nc0 send m1 -> error unavailable"))
    assert content.bands == (Band(None, 0, None, "broker down"),)


def test_time_passing_is_a_row_of_its_own() -> None:
    assert [time_break.label for time_break in diagram(history(PEEKED, "azure-premium")).time_breaks] == [
        "30s pass"
    ]


def test_that_it_was_drained_is_a_row_of_its_own_and_needs_no_environment() -> None:
    content = diagram(history("c0 send m1\ndrain receive 9 -> m1#3.1\nenv advance 1s\nenv drained"))
    assert [lifeline.title for lifeline in content.lifelines] == ["c0", "drain", "partition 3"]
    assert [time_break.label for time_break in content.time_breaks] == [
        "1s pass",
        "drained: received and peeked until nothing is left",
    ]
    assert content.marks == ()


def test_the_witness_is_marked() -> None:
    content = diagram(history(ROUTED), (0, 4))
    assert [activation.label for activation in content.activations if activation.witness] == [
        "send m1",
        "receive → m1",
    ]


def test_events_that_are_witnesses_are_marked() -> None:
    content = diagram(history(HANDED, "solace"), (6,))
    assert [mark.label for mark in content.marks if mark.witness] == ["paused f0"]
    text = str(sequence_svg(content, "t"))
    assert re.search('class="halo".*>▶ paused f0<', text)
    assert text.count('class="halo"') == 1


@pytest.mark.parametrize("operations", [LIMIT, LIMIT + 1, 500])
def test_a_long_history_shows_the_neighbourhood_of_the_witness_and_says_what_is_left_out(
    operations: int,
) -> None:
    long = long_history(operations)
    witness = (operations - 2, operations - 1)
    content = diagram(long, witness)
    left_out = sum(int(re.sub(r"\D", "", time_break.label)) for time_break in content.time_breaks)
    assert content.total == operations
    assert content.shown <= LIMIT
    assert content.shown + left_out == operations
    assert sum(activation.witness for activation in content.activations) == 2
    assert (left_out == 0) == (operations <= LIMIT)


def test_what_sent_the_witnessed_message_is_shown_however_far_off() -> None:
    labels = [activation.label for activation in diagram(long_history(120), (118, 119)).activations]
    assert "send m50" in labels


def test_what_is_not_offered_and_repeated_empty_answers_are_left_out() -> None:
    lines = ["c0 peek 3 -> nothing"] * 4 + ["c0 disconnect -> error unsupported", "c0 send m1"]
    content = diagram(history("\n".join(lines)))
    assert [activation.label for activation in content.activations] == ["peek → nothing", "send m1"]
    assert [time_break.label for time_break in content.time_breaks] == ["4 operations left out"]
    assert len(diagram(history("\n".join(lines)), (2, 4)).activations) == 4, "but never the witness"


def test_a_long_history_without_witness_shows_its_beginning() -> None:
    assert diagram(long_history(100)).activations[0].label == "send m0"


def test_the_drawing_holds_every_label_and_fits_its_box() -> None:
    text = str(sequence_svg(diagram(history(ROUTED), (0,)), "title <x>"))
    assert "title &lt;x&gt;" in text
    assert "▶ send m1" in text
    names, drawing = re.findall("<svg.*?</svg>", text, re.DOTALL)
    widths = set()
    for picture in (names, drawing):
        width, height = (int(value) for value in re.findall(r'viewBox="0 0 (\d+) (\d+)"', picture)[0])
        xs = [float(x) for x in re.findall(r'\bx[12]?="([-\d.]+)"', picture)]
        ys = [float(y) for y in re.findall(r'\by[12]?="([-\d.]+)"', picture)]
        assert 0 <= min(xs) <= max(xs) <= width
        assert 0 <= min(ys) <= max(ys) <= height
        widths.add(width)
    assert len(widths) == 1, "so that names stand above their lanes however far they are scrolled"
    assert [name for name in ("environment", "c0", "c1", "partition 3", "partition 5") if name in names] == [
        title for _, title in lifelines(diagram(history(ROUTED)))
    ]


PASSING = """
    c0 send m1                    -> ok @1-2
    env advance 12s                     @3-12000000004
    c0 receive 1                  -> m1#0.1 lock=l @12000000005-12000000006
    c0 complete l                 -> ok @20000000000-20000000001
    """


def test_rows_have_the_time_since_the_history_began_and_those_left_out_none() -> None:
    content = diagram(history(PASSING))
    assert content.times == (0, 1, 2, 12000000004, 12000000005, 19999999999, 20000000000)
    left_out = diagram(long_history(100), (98, 99))
    assert [kind for kind, time in zip(left_out.rows, left_out.times, strict=True) if time is None] == [
        "gap"
    ] * len(left_out.time_breaks)


def placed(kind: str, text: str) -> dict[str, float]:
    """The texts of that class, and how far down they stand."""
    return {label: float(y) for y, label in re.findall(rf'y="([\d.]+)" class="{kind}">([^<]*)<', text)}


def test_the_time_scale_is_true_and_leads_to_the_rows_of_each_moment() -> None:
    text = str(sequence_svg(diagram(history(PASSING)), "t"))
    ticks, moments = placed("tick", text), placed("when", text)
    assert list(moments) == ["0s", "12s", "20s"]
    (distance,) = {round(b - a) for a, b in pairwise(ticks.values())}
    step = float(list(ticks)[1].removesuffix("s"))
    fans = [(float(a), float(b)) for a, b in re.findall(r'y1="([\d.]+)" y2="([\d.]+)" class="fan"', text)]
    first = fans[0][0]
    assert [round((on_scale - first) / distance * step) for on_scale, _ in fans] == [0, 12, 20]
    assert [row + 4 for _, row in fans] == list(moments.values())
    begin, end = re.findall(r'y1="([\d.]+)" y2="([\d.]+)" class="ruler"', text)[0]
    assert (fans[0][0], round(fans[-1][0])) == (float(begin), round(float(end))), "from first to last"


def test_there_is_no_time_scale_where_no_time_passes() -> None:
    text = str(sequence_svg(diagram(history("c0 send m1\nc0 send m2")), "t"))
    assert 'class="tick"' not in text
    assert 'class="fan"' not in text


def test_no_arrow_runs_through_text_or_its_box() -> None:
    text = str(sequence_svg(diagram(history(ROUTED), tuple(range(9))), "t"))
    arrows = [
        float(y)
        for y in re.findall(r'<line x1="[\d.]+" x2="[\d.]+" y1="([\d.]+)" y2="\1"></line><poly', text)
    ]
    boxes = [
        (float(y), float(y) + float(height))
        for y, height in re.findall(
            r'y="([\d.]+)" width="[\d.]+" height="([\d.]+)" rx="5" class="halo"', text
        )
    ]
    words = [float(y) for y in re.findall(r'y="([\d.]+)" class="(?:what|how)', text)]
    assert len(arrows) == 6
    assert len(boxes) == 6 + 2, "of operations and events"
    assert all(not low <= y <= high for y in arrows for low, high in boxes)
    assert all(not baseline - 9 <= y <= baseline + 3 for y in arrows for baseline in words)


def test_long_names_are_cut_and_kept_in_the_tooltip() -> None:
    name = "x" * 300
    text = str(sequence_svg(diagram(history(f"c0 send {name}")), "t"))
    assert re.search(r">send x+…<", text)
    assert name in text


def test_a_tooltip_tells_times_in_seconds() -> None:
    text = str(sequence_svg(diagram(history("c0 receive 1 -> m lock=l until=31500ms @1s-1250ms")), "t"))
    assert "call 1s, return 1.25s" in text
    assert "locked_until=31.5s" in text


def test_labels_of_one_lane_do_not_overlap() -> None:
    text = str(sequence_svg(diagram(long_history(30)), "t"))
    places: dict[str, list[float]] = {}
    for x, y in re.findall(r'<text x="([\d.]+)" y="([\d.]+)" class="(?:what|how)', text):
        places.setdefault(x, []).append(float(y))
    assert len(places) == 3
    assert all(b - a >= 10 for ys in places.values() for a, b in pairwise(ys))
