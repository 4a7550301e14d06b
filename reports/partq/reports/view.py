"""From the material to the data of a page: what each part of the report says, in order. Pure.

No markup here but for the two kinds of drawing, which are made by `sequence.py` and `plots.py`. Whether a
requirement holds was decided elsewhere; here it is counted, grouped and put into words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from partq.conformance.verdict import Exit, Finding, Status, Verdict, merge
from partq.model.profiles import PROFILES
from partq.model.requirements import Requirement, catalogue, groups, sources

from .evidence import MOST_LANES, ExampleView, HeatView, HistogramView, examples, heat_maps, histograms
from .material import BlindSpots, Figures, Lane, Material
from .text import count, plural


class Sign(NamedTuple):
    """How a status looks: its class and a sign, so that it is never told by colour alone."""

    status: str
    css: str
    glyph: str


SIGNS: Final = {
    Status.VIOLATED: Sign(Status.VIOLATED.value, "violated", "✗"),
    Status.UNKNOWN: Sign(Status.UNKNOWN.value, "unknown", "?"),
    Status.PASS: Sign(Status.PASS.value, "pass", "✓"),
    Status.NOT_EXERCISED: Sign(Status.NOT_EXERCISED.value, "idle", "○"),
    Status.NOT_IMPLEMENTED: Sign(Status.NOT_IMPLEMENTED.value, "todo", "…"),
    Status.NOT_APPLICABLE: Sign(Status.NOT_APPLICABLE.value, "none", "–"),
}
"""In the order of the summary: what needs attention first."""

_TELLING: Final = frozenset({Status.VIOLATED, Status.UNKNOWN, Status.PASS, Status.NOT_EXERCISED})
_HEADLINES: Final = {
    Exit.CONFORMANT: ("pass", "✓", "Conformant"),
    Exit.VIOLATED: ("violated", "✗", "Not conformant"),
    Exit.INCONCLUSIVE: ("unknown", "?", "Inconclusive"),
}
_SHOWN_FINDINGS: Final = 5
"""Causes listed at a requirement; the rest are counted."""


class Share(NamedTuple):
    """How many requirements have one status, and their share of the bar in per cent."""

    sign: Sign
    number: int
    percent: float


class CellView(NamedTuple):
    """One requirement under one profile."""

    lane: str
    sign: Sign
    exercised: str
    reason: str


class FindingView(NamedTuple):
    """A cause as listed at its requirement: its first finding and how many there were. ``anchor`` leads to
    its counterexample, or is empty."""

    lane: str
    finding: Finding
    times: int
    anchor: str


@dataclass(frozen=True, slots=True)
class RowView:
    """One requirement. ``statuses``: classes of its statuses, to filter by. ``found``: how many findings
    there were of how many causes. ``findings``: causes, ``more``: those not listed."""

    rule: Requirement
    sources: tuple[str, ...]
    cells: tuple[CellView, ...]
    statuses: tuple[str, ...]
    found: str
    findings: tuple[FindingView, ...]
    more: int


@dataclass(frozen=True, slots=True)
class GroupView:
    """A group of the catalogue. ``open``: whether anything in it was decided or could have been."""

    code: str
    title: str
    rows: tuple[RowView, ...]
    shares: tuple[Share, ...]
    open: bool


class Headline(NamedTuple):
    """The verdict of the whole report in a word and a sentence."""

    css: str
    glyph: str
    word: str
    sentence: str


class LaneView(NamedTuple):
    """One broker and profile in the table of figures."""

    title: str
    profile: str
    family: str
    word: str
    sign: Sign
    traces: str
    shares: tuple[Share, ...]


@dataclass(frozen=True, slots=True)
class ReportView:
    """A whole page. ``causes``: the first counterexample of each requirement."""

    brokers: tuple[str, ...]
    title: str
    profiles: tuple[tuple[str, str], ...]
    headline: Headline
    causes: tuple[ExampleView, ...]
    lanes: tuple[LaneView, ...]
    shares: tuple[Share, ...]
    total: int
    figures: tuple[tuple[str, str], ...]
    settings: tuple[tuple[str, str], ...]
    columns: tuple[str, ...]
    groups: tuple[GroupView, ...]
    examples: tuple[ExampleView, ...]
    histograms: tuple[HistogramView, ...]
    heat: tuple[HeatView, ...]
    blind_spots: tuple[BlindSpots, ...]
    sources: tuple[tuple[str, str, str], ...]
    open_questions: tuple[tuple[str, str], ...]
    command: str
    notes: tuple[str, ...]
    version: str


def report_view(material: Material) -> ReportView:
    """The page of the material."""
    total = merge(lane.verdicts for lane in material.lanes)
    drawn = examples(material.examples)
    pairs = tuple((lane.broker, lane.profile) for lane in material.lanes)
    brokers = tuple(dict.fromkeys(broker for broker, _ in pairs))
    return ReportView(
        brokers=brokers,
        title=_title(brokers),
        profiles=tuple((name, _family(name)) for name in dict.fromkeys(name for _, name in pairs)),
        headline=_headline(material, total),
        causes=tuple({example.finding.requirement: example for example in reversed(drawn)}.values())[::-1],
        lanes=tuple(_lane(lane, len(brokers) > 1) for lane in material.lanes),
        shares=_shares(total.values()),
        total=len(total),
        figures=tuple(_figures(material.figures)),
        settings=(*_settings(material.figures), *material.made.items()),
        columns=tuple(name for name, _ in _columns(material.lanes, total)),
        groups=tuple(_groups(material.lanes, total, drawn)),
        examples=drawn,
        histograms=histograms(material.spread, pairs),
        heat=heat_maps(material.coverage, pairs),
        blind_spots=tuple(spots for spots in material.blind_spots if spots.sentences),
        sources=tuple((source.code, source.name, source.kind) for source in sources().values()),
        open_questions=tuple((r.id, r.open_question) for r in catalogue().values() if r.open_question),
        command=material.command,
        notes=material.notes,
        version=material.version,
    )


# --- the head ---------------------------------------------------------------------------------------


def _headline(material: Material, total: Mapping[str, Verdict]) -> Headline:
    if not material.complete:
        return Headline("unknown", "?", "Unfinished", "The campaign has not come to its end: no verdict yet.")
    return Headline(*_HEADLINES[material.exit], _sentence(material.exit, total))


def _sentence(code: int, total: Mapping[str, Verdict]) -> str:
    by_status = {status: [id for id, v in total.items() if v.status is status] for status in Status}
    bad, held = by_status[Status.VIOLATED], len(by_status[Status.PASS])
    unknown, idle = by_status[Status.UNKNOWN], len(by_status[Status.NOT_EXERCISED])
    if code == Exit.VIOLATED:
        verb = "is" if len(bad) == 1 else "are"
        text = f"{plural(len(bad), 'requirement')} {verb} violated: {_listed(bad)}; {count(held)} passed."
    elif code == Exit.INCONCLUSIVE:
        why = f"undecided: {_listed(unknown)}" if unknown else "too little was put to the test"
        text = f"No binding rule was seen broken, but the run is no proof: {why}; {count(held)} passed."
    else:
        should = f" Recommendations not met: {_listed(bad)}." if bad else ""
        text = f"{plural(held, 'requirement')} put to the test, and every binding one holds.{should}"
    return f"{text} {count(idle)} could have been tested and {_were(idle)} not." if idle else text


def _were(number: int) -> str:
    return "was" if number == 1 else "were"


def _listed(ids: Sequence[str], most: int = 6) -> str:
    if len(ids) <= most:
        return ", ".join(ids)
    return f"{', '.join(ids[:most])} and {len(ids) - most} more"


def _shares(verdicts: Iterable[Verdict]) -> tuple[Share, ...]:
    numbers = Counter(verdict.status for verdict in verdicts)
    total = sum(numbers.values()) or 1
    return tuple(
        Share(sign, numbers[status], round(100 * numbers[status] / total, 3))
        for status, sign in SIGNS.items()
        if numbers[status]
    )


def _lane(lane: Lane, name_broker: bool) -> LaneView:
    css, _, word = _HEADLINES[lane.exit]
    sign = next(sign for sign in SIGNS.values() if sign.css == css)
    traces = "" if lane.traces is None else count(lane.traces)
    return LaneView(
        _lane_name(lane, name_broker),
        lane.profile,
        _family(lane.profile),
        word,
        sign,
        traces,
        _shares(lane.verdicts.values()),
    )


def _title(brokers: Sequence[str]) -> str:
    return ", ".join(brokers) if len(brokers) <= 3 else plural(len(brokers), "broker")


def _family(name: str) -> str:
    return PROFILES[name].title if name in PROFILES else ""


def _lane_name(lane: Lane, name_broker: bool) -> str:
    return f"{lane.broker} · {lane.profile}" if name_broker else lane.profile


def _figures(figures: Figures) -> Iterable[tuple[str, str]]:
    known = (
        ("traces", figures.traces),
        ("operations", figures.operations),
        ("violations", figures.violations),
    )
    yield from ((name, count(number)) for name, number in known if number is not None)
    if figures.seconds:
        yield "duration", _seconds(figures.seconds)
        if figures.operations:
            yield "operations a second", count(figures.operations / figures.seconds)
        if figures.traces:
            yield "traces a second", count(figures.traces / figures.seconds)


def _seconds(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    return (
        f"{whole // 60} min {whole % 60} s" if whole < 3600 else f"{whole // 3600} h {whole % 3600 // 60} min"
    )


def _settings(figures: Figures) -> Iterable[tuple[str, str]]:
    if figures.seed is not None:
        yield "seed", str(figures.seed)
    if figures.length is not None:
        yield "phrases in a program", str(figures.length)
    if figures.master:
        yield "ran on", f"Spark {figures.master}"
    if figures.digest:
        yield "digest of the verdicts", figures.digest


# --- the table --------------------------------------------------------------------------------------


def _columns(lanes: Sequence[Lane], total: Mapping[str, Verdict]) -> list[tuple[str, Mapping[str, Verdict]]]:
    """The columns of the table: one for each lane, or of very many a single one for all."""
    if len(lanes) > MOST_LANES:
        return [(f"all {len(lanes)} together", total)]
    several = len({lane.broker for lane in lanes}) > 1
    return [(_lane_name(lane, several), lane.verdicts) for lane in lanes]


def _groups(
    lanes: Sequence[Lane], total: Mapping[str, Verdict], drawn: Sequence[ExampleView]
) -> Iterable[GroupView]:
    columns, found = _columns(lanes, total), _findings(lanes, drawn)
    for code, title in groups().items():
        rules = [rule for rule in catalogue().values() if rule.group == code]
        verdicts = [total[rule.id] for rule in rules if rule.id in total]
        yield GroupView(
            code,
            title,
            tuple(_row(rule, columns, found.get(rule.id, [])) for rule in rules),
            _shares(verdicts),
            any(verdict.status in _TELLING for verdict in verdicts),
        )


def _row(
    rule: Requirement, columns: Iterable[tuple[str, Mapping[str, Verdict]]], found: Sequence[FindingView]
) -> RowView:
    cells = tuple(_cell(name, verdicts.get(rule.id)) for name, verdicts in columns)
    return RowView(
        rule,
        tuple(sources()[code].name for code in rule.sources),
        cells,
        tuple(dict.fromkeys(cell.sign.css for cell in cells)),
        _found(found),
        tuple(found[:_SHOWN_FINDINGS]),
        max(0, len(found) - _SHOWN_FINDINGS),
    )


def _found(found: Sequence[FindingView]) -> str:
    if not found:
        return ""
    causes = len({item.finding.key for item in found})
    return f"{count(sum(item.times for item in found))} found" + (f", {causes} causes" if causes > 1 else "")


def _cell(name: str, verdict: Verdict | None) -> CellView:
    if verdict is None:
        return CellView(name, SIGNS[Status.NOT_IMPLEMENTED], "", "not in this report's data")
    times = f"{count(verdict.exercised)}×" if verdict.exercised else ""
    return CellView(name, SIGNS[verdict.status], times, verdict.reason)


def _findings(lanes: Sequence[Lane], drawn: Sequence[ExampleView]) -> dict[str, list[FindingView]]:
    """Requirement -> each cause in each lane."""
    anchors = {
        (example.broker, example.profile, example.finding.requirement, example.finding.key): example.anchor
        for example in reversed(drawn)
    }
    several = len({lane.broker for lane in lanes}) > 1
    found: dict[str, list[FindingView]] = {}
    for lane in lanes:
        name = _lane_name(lane, several)
        for id, verdict in lane.verdicts.items():
            for finding in verdict.causes:
                anchor = anchors.get((lane.broker, lane.profile, id, finding.key), "")
                item = FindingView(name, finding, verdict.found[finding.key], anchor)
                found.setdefault(id, []).append(item)
    return found
