"""From the material to the data of a page: what each part of the report says, in order. Pure.

No markup here but for the two kinds of drawing, which are made by `sequence.py` and `plots.py`. Whether a
requirement holds was decided elsewhere; here it is counted, grouped and put into words.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from partq.conformance.verdict import (
    NOT_IN_QUESTION,
    WORDS,
    Exit,
    Finding,
    Status,
    Verdict,
    binding_requirements,
    coverage,
    firsts,
    in_words,
    kill_verdicts,
    merge,
    plural,
    some,
)
from partq.model.family import Ground
from partq.model.profiles import grounds_of, known
from partq.model.requirements import Requirement, Source, catalogue, groups, sources

from .evidence import MOST_LANES, ExampleView, HeatView, HistogramView, examples, heat_maps, histograms
from .kills import COLUMN, KillView, kill_sentence, kill_shares, kill_views
from .material import BlindSpots, Figures, Lane, Material, Opinions
from .signs import SEALS, SIGNS, Headline, Share, Sign, shares, sign_of
from .text import count

_UNFOLDED: Final = 3
"""With more counterexamples than this, only the first is unfolded; of mutants, none."""

_NAMED: Final = 6
"""Rules that the headline names; the rest are counted."""

SHOWN_FINDINGS: Final = 5
"""Causes listed at a requirement; the rest are counted."""


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
    """One requirement. ``grounds``: why it applies to a profile that has no column in the catalogue, with the
    address of the vendor's page. ``statuses``: classes of its statuses, to filter by. ``found``: how many
    findings there were of how many causes. ``opinions``: who in the project speaks of it; ``formula``: the
    text of its TLA+ property, or empty."""

    requirement: Requirement
    sources: tuple[Source, ...]
    grounds: tuple[tuple[str, str, Ground], ...]
    cells: tuple[CellView, ...]
    statuses: tuple[str, ...]
    found: str
    findings: Sequence[FindingView]
    opinions: tuple[str, ...]
    formula: str


@dataclass(frozen=True, slots=True)
class GroupView:
    """A group of the catalogue. ``open``: whether there is in it what asks for attention."""

    code: str
    title: str
    rows: tuple[RowView, ...]
    shares: tuple[Share, ...]
    open: bool


class LaneView(NamedTuple):
    """One broker and profile in the table of figures."""

    title: str
    family: str
    word: str
    sign: Sign
    traces: str
    shares: tuple[Share, ...]


@dataclass(frozen=True, slots=True)
class ReportView:
    """A whole page of the ``material``. ``causes``: the first counterexample of each rule, or of one
    of several. ``kills``: of a campaign of mutants, whose ``lanes`` are one: the suite itself. ``bar``: what
    the head counts, ``counted``: in words. ``again``: what its command does. ``unfolded``: so many
    counterexamples are shown open. ``pages``: of each profile that has some, the vendor's pages by title."""

    material: Material
    brokers: tuple[str, ...]
    title: str
    profiles: tuple[tuple[str, str], ...]
    headline: Headline
    kills: tuple[KillView, ...]
    bar: tuple[Share, ...]
    counted: str
    causes: tuple[ExampleView, ...]
    lanes: tuple[LaneView, ...]
    shares: tuple[Share, ...]
    total: int
    figures: tuple[tuple[str, str], ...]
    settings: tuple[tuple[str, str], ...]
    columns: tuple[str, ...]
    groups: tuple[GroupView, ...]
    examples: tuple[ExampleView, ...]
    unfolded: int
    histograms: tuple[HistogramView, ...]
    heat: tuple[HeatView, ...]
    blind_spots: tuple[BlindSpots, ...]
    sources: tuple[Source, ...]
    pages: tuple[tuple[str, Mapping[str, str]], ...]
    open_questions: tuple[tuple[str, str], ...]
    again: str


def report_view(material: Material) -> ReportView:
    """The page of the material."""
    kills = material.kills
    suite = Lane("mutants", COLUMN, kill_verdicts(kills, "no mutant breaks it"), material.exit)
    lanes = (suite,) if kills else material.lanes
    total = merge(lane.verdicts for lane in lanes)
    drawn = examples(material.examples, () if kills else material.lanes)
    anchors = {example.broker: example.anchor for example in reversed(drawn)}
    pairs = tuple((lane.broker, lane.profile) for lane in material.lanes)
    brokers = tuple(dict.fromkeys(broker for broker, _ in pairs))
    profiles = tuple(dict.fromkeys(name for _, name in pairs))
    title = ", ".join(brokers) if len(brokers) <= 3 else plural(len(brokers), "broker")
    return ReportView(
        material=material,
        brokers=brokers,
        title=f"{plural(len(kills), 'mutant')} of the reference broker" if kills else title,
        profiles=tuple((name, _family(name)) for name in profiles),
        headline=_headline(material, total),
        kills=kill_views(kills, anchors),
        bar=kill_shares(kills) if kills else shares(total.values()),
        counted=plural(len(kills), "mutant") if kills else plural(len(total), "rule"),
        causes=() if kills else tuple(firsts(drawn, lambda one: one.finding.rules)),
        lanes=tuple(_lane(name, lane) for name, lane in _named(lanes)) if total else (),
        shares=shares(total.values()),
        total=len(total),
        figures=tuple(_figures(material.figures)),
        settings=(*_settings(material.figures), *material.made.items()),
        columns=tuple(name for name, _ in _columns(lanes, total)),
        groups=tuple(_groups(lanes, profiles, total, drawn, material.opinions)) if total else (),
        examples=drawn,
        unfolded=0 if kills else len(drawn) if len(drawn) <= _UNFOLDED else 1,
        histograms=() if kills else histograms(material.spread, pairs),
        heat=() if kills else heat_maps(material.coverage, pairs),
        blind_spots=tuple(spots for spots in material.blind_spots if spots.sentences),
        sources=tuple(sources().values()),
        pages=tuple((name, family.pages) for name in profiles if (family := known(name)) and family.pages),
        open_questions=tuple((r.id, r.open_question) for r in catalogue().values() if r.open_question),
        again="The same again" if material.complete else "Finish it",
    )


# --- the head ---------------------------------------------------------------------------------------


def _headline(material: Material, total: Mapping[str, Verdict]) -> Headline:
    if not material.complete:
        sentence = f"{_progress(material)} There is no verdict yet."
        return Headline(SIGNS[Status.UNKNOWN], "Unfinished", sentence)
    if material.kills:
        word = "All killed" if material.exit == Exit.CONFORMANT else "Not all killed"
        sentence = kill_sentence(material.kills)
    elif material.conclusion:
        word, _, said = material.conclusion.partition(": ")
        word, sentence = word.capitalize(), f"Against its baseline: {said}."
    else:
        word, sentence = _word(material.exit, total), _sentence(material.exit, total)
    return Headline(SEALS[material.exit], word, sentence)


def _word(code: int, verdicts: Mapping[str, Verdict]) -> str:
    """The word of a success is another one where not all that binds was exercised."""
    whole = coverage(verdicts, binding_requirements(strict=False)).whole
    return WORDS[code].capitalize() if code != Exit.CONFORMANT or whole else "Nothing violated"


def _progress(material: Material) -> str:
    planned = sum(lane.traces or 0 for lane in material.lanes)
    if material.stored is None or not planned:
        return "The campaign has not come to its end."
    shown = "; what is shown is of these" if material.stored else ""
    return f"{count(material.stored)} of {plural(planned, 'trace')} are stored{shown}."


def _sentence(code: int, total: Mapping[str, Verdict]) -> str:
    by_status = {status: [id for id, v in total.items() if v.status is status] for status in Status}
    bad, held = by_status[Status.VIOLATED], len(by_status[Status.PASS])
    unknown, idle = by_status[Status.UNKNOWN], len(by_status[Status.NOT_EXERCISED])
    if code == Exit.VIOLATED:
        verb = "is" if len(bad) == 1 else "are"
        said = [f"{plural(len(bad), 'rule')} {verb} violated: {some(bad, _NAMED)}"] if bad else []
        ambiguous = {one.ambiguity: one.together for one in total.values() if one.candidates}
        which = {False: ", though it does not show which", True: ""}
        said += [f"{text}{which[together]}" for text, together in ambiguous.items()]
        text = f"{'; '.join([*said, f'{count(held)} passed'])}."
    elif code == Exit.INCONCLUSIVE:
        why = f"undecided: {some(unknown, _NAMED)}" if unknown else "too little was exercised"
        text = f"No binding rule was seen violated, but the run is no proof: {why}; {count(held)} passed."
    else:
        should = f" Recommendations not met: {some(bad, _NAMED)}." if bad else ""
        binding = binding_requirements(strict=False)
        covered = coverage(total, binding)
        bound = count(sum(id in binding for id in by_status[Status.PASS]))
        text = f"{covered}, none violated; {plural(held, 'rule')} passed, {bound} of them binding.{should}"
    were = "was" if idle == 1 else "were"
    return f"{text} {count(idle)} could have been tested and {were} not." if idle else text


def _lane(name: str, lane: Lane) -> LaneView:
    return LaneView(
        name,
        _family(lane.profile),
        _word(lane.exit, lane.verdicts),
        SEALS[lane.exit],
        "" if lane.traces is None else count(lane.traces),
        shares(lane.verdicts.values()),
    )


def _family(name: str) -> str:
    family = known(name)
    return family.title if family else ""


def _named(lanes: Sequence[Lane]) -> list[tuple[str, Lane]]:
    """The lanes, each under its name: its profile, and of several brokers the broker, too."""
    several = len({lane.broker for lane in lanes}) > 1
    return [(f"{lane.broker} · {lane.profile}" if several else lane.profile, lane) for lane in lanes]


def _figures(figures: Figures) -> Iterable[tuple[str, str]]:
    for name in ("traces", "operations", "violations"):
        if (number := getattr(figures, name)) is not None:
            yield name, count(number)
    yield from in_words(figures.counts, figures.traces or 0)
    if figures.seconds:
        yield "spent on traces", _seconds(figures.seconds)
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
    return [(name, lane.verdicts) for name, lane in _named(lanes)]


def _groups(
    lanes: Sequence[Lane],
    profiles: Sequence[str],
    total: Mapping[str, Verdict],
    drawn: Sequence[ExampleView],
    spoken: Mapping[str, Opinions],
) -> Iterable[GroupView]:
    columns, found, silence = _columns(lanes, total), _findings(lanes, drawn), Opinions()
    urgent = max(map(_weight, total.values()), default=0)
    for code, title in groups().items():
        requirements = [requirement for requirement in catalogue().values() if requirement.group == code]
        verdicts = [total[requirement.id] for requirement in requirements if requirement.id in total]
        yield GroupView(
            code,
            title,
            tuple(
                _row(one, profiles, columns, found.get(one.id, []), spoken.get(one.id, silence))
                for one in requirements
            ),
            shares(verdicts),
            any(_weight(verdict) == urgent for verdict in verdicts),
        )


def _weight(verdict: Verdict) -> int:
    """How much the verdict asks for attention; of all groups those with the most are open."""
    if verdict.bad:
        return 3
    return 2 if verdict.status is Status.UNKNOWN else int(verdict.status not in NOT_IN_QUESTION)


def _row(
    requirement: Requirement,
    profiles: Iterable[str],
    columns: Iterable[tuple[str, Mapping[str, Verdict]]],
    found: Sequence[FindingView],
    spoken: Opinions,
) -> RowView:
    cells = tuple(_cell(name, verdicts.get(requirement.id)) for name, verdicts in columns)
    return RowView(
        requirement,
        tuple(sources()[code] for code in requirement.sources),
        tuple(
            (name, family.pages[ground.page], ground)
            for name in profiles
            if (family := known(name)) and (ground := grounds_of(name).get(requirement.id))
        ),
        cells,
        tuple(dict.fromkeys(cell.sign.css for cell in cells)),
        _found(found),
        found,
        tuple(_spoken(spoken)),
        spoken.formula,
    )


def _spoken(spoken: Opinions) -> Iterator[str]:
    """Who speaks of a requirement, each in a few words."""
    if spoken.mutants:
        yield f"reference ({plural(spoken.mutants, 'mutant')} of it)"
    if spoken.clauses:
        yield f"model ({plural(len(spoken.clauses), 'clause')})"
    if spoken.screens:
        yield f"screens ({', '.join(spoken.screens)})"
    if spoken.formula:
        yield "TLA+"


def _found(found: Sequence[FindingView]) -> str:
    if not found:
        return ""
    causes = len({item.finding.key for item in found})
    times = sum(item.times for item in found)
    return plural(times, "violation") + (f", {causes} causes" if causes > 1 else "")


def _cell(name: str, verdict: Verdict | None) -> CellView:
    if verdict is None:
        return CellView(name, SIGNS[Status.NOT_IMPLEMENTED], "", "not in this report's data")
    times = f"{count(verdict.exercised)}×" if verdict.exercised else ""
    reason = ": ".join(filter(None, (verdict.openness, verdict.reason)))
    return CellView(name, sign_of(verdict), times, reason)


def _findings(lanes: Sequence[Lane], drawn: Sequence[ExampleView]) -> dict[str, list[FindingView]]:
    """Requirement -> each cause in each lane."""
    anchors = {
        (example.broker, example.profile, example.finding.requirement, example.finding.key): example.anchor
        for example in reversed(drawn)
    }
    found: dict[str, list[FindingView]] = {}
    for name, lane in _named(lanes):
        for id, verdict in lane.verdicts.items():
            for finding, times in verdict.counted():
                anchor = anchors.get((lane.broker, lane.profile, id, finding.key), "")
                item = FindingView(name, finding, times, anchor)
                found.setdefault(id, []).append(item)
    return found
