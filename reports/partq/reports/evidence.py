"""The view of a report's evidence: counterexamples, messages over partitions, coverage. Pure.

Like `view.py`, which puts it into the page; apart from it only for size.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeVar

from markupsafe import Markup

from partq.conformance.history import Record, time_text
from partq.conformance.verdict import Finding, causes_of, plural
from partq.model.grouping import grouped
from partq.model.messages import Message
from partq.model.operations import DRAINER, OUTCOMES
from partq.model.requirements import catalogue

from .diagram import Diagram, diagram
from .material import Cell, Example, Lane, Spread
from .plots import Bar, histogram_svg
from .sequence import sequence_svg
from .text import compact, count, shortened
from .timescale import elapsed, passes
from .wording import SENDS, label, locks_of, note

T = TypeVar("T", str, tuple[str, str])
L = TypeVar("L")

_FAULTS: Final = ("none", "partition_down", "frontend_lost", "broker_kill", "connection_lost")
MOST_LANES: Final = 6
"""With more brokers and profiles than this, the page does not show each by itself."""

_MOST_BARS: Final = 64
_COMPARED: Final = 6
"""The most messages put side by side."""

_KEYS: Final = ("session_id", "partition_key")
_LISTED: Final = 400
"""The most records listed as text below a diagram."""


class StepView(NamedTuple):
    """One step of a program, in words. ``untaken``: why it was not taken, or empty."""

    proc: str
    text: str
    untaken: str


class RecordView(NamedTuple):
    """One record of a history, in words. ``when``: the time of its call since the history began."""

    number: int
    when: str
    proc: str
    what: str
    how: str
    witness: bool


class Contrast(NamedTuple):
    """Messages side by side: the names of what they differ in, and of each message the values of these."""

    names: tuple[str, ...]
    rows: tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True)
class ExampleView:
    """One counterexample, drawn. ``program``: as JSON. ``timed``: whether time passes in the drawing.
    ``drains``: whether partq's own client, which receives at the end what is left, is drawn. ``contrast``:
    None where less than two messages that were sent count as witnesses."""

    anchor: str
    finding: Finding
    broker: str
    profile: str
    origin: str
    replay: str
    steps: tuple[StepView, ...]
    mode: str
    seed: str
    program: str
    drawing: Markup
    drawn: str
    timed: bool
    drains: bool
    contrast: Contrast | None
    records: tuple[RecordView, ...]


class HistogramView(NamedTuple):
    """Messages over the partitions of one broker and profile."""

    title: str
    summary: str
    drawing: Markup


class HeatCell(NamedTuple):
    """``heat``: 0 (never) to 100; ``text`` the number, short; ``tip`` in full."""

    heat: int
    text: str
    tip: str


@dataclass(frozen=True, slots=True)
class HeatView:
    """Requirement × (fault, outcome). ``faults``: each fault and how many outcomes stand under it."""

    title: str
    open: bool
    faults: tuple[tuple[str, int], ...]
    outcomes: tuple[str, ...]
    rows: tuple[tuple[str, tuple[HeatCell, ...]], ...]


# --- counterexamples --------------------------------------------------------------------------------


def examples(given: Sequence[Example], lanes: Sequence[Lane] = ()) -> tuple[ExampleView, ...]:
    """The counterexamples in the order in which the terminal tells the causes of these lanes; those of other
    causes last, by rule as the catalogue has them, the earliest traces first."""
    told = [
        (lane.broker, lane.profile, cause.finding.requirement, cause.finding.key)
        for lane in lanes
        for cause in causes_of(lane.profile, lane.verdicts)
    ]
    places = {cause: place for place, cause in enumerate(told)}
    order = {id: place for place, id in enumerate(catalogue())}

    def place(e: Example) -> tuple[int, int, int, str]:
        rule, key = e.finding.requirement, e.finding.key
        told_at = places.get((e.broker, e.profile, rule, key), len(places))
        return told_at, order.get(rule, len(order)), e.trace or 0, key

    ordered = sorted(given, key=place)
    return tuple(_example(f"counterexample-{n}", example) for n, example in enumerate(ordered, 1))


def _example(anchor: str, example: Example) -> ExampleView:
    finding = example.finding
    content = diagram(example.history, finding.witness)
    program = example.program
    steps = tuple(
        StepView(step["proc"], _step(step), example.untaken.get(position, ""))
        for position, step in enumerate(program["steps"])
    )
    return ExampleView(
        anchor,
        finding,
        example.broker,
        example.profile,
        _origin(example),
        example.replay,
        steps,
        _mode(program),
        str(program.get("seed", 0)),
        json.dumps(program, separators=(",", ":")),
        sequence_svg(content, f"Sequence diagram of {finding.rules}: {finding.title}"),
        _drawn(content),
        passes(content.times),
        any(lifeline.title == DRAINER for lifeline in content.lifelines),
        _contrast(example),
        tuple(_records(example)),
    )


def _origin(example: Example) -> str:
    parts = []
    if example.trace is not None:
        parts.append(f"first seen in trace {count(example.trace)}")
    steps = len(example.program["steps"])
    if 0 < steps < example.found_steps:
        parts.append(f"shrunk from {example.found_steps} to {plural(steps, 'step')}")
    return ", ".join(parts)


def _drawn(content: Diagram) -> str:
    if content.shown == content.total:
        return ""
    return (
        f"{count(content.shown)} of {count(content.total)} records are drawn. Left out are operations that "
        "the broker does not offer, repeated empty answers, and in a long history what is far from it."
    )


def _around(records: Sequence[Record], witness: Iterable[int]) -> Iterable[tuple[int, Record]]:
    """All records and their positions, or of a very long history those around the first witness."""
    first = min(witness, default=0)
    place = next((n for n, record in enumerate(records) if record.i == first), 0)
    start = max(0, min(place - _LISTED // 2, len(records) - _LISTED))
    return enumerate(records[start : start + _LISTED], start)


def _records(example: Example) -> Iterator[RecordView]:
    every, witness = example.history.records, example.finding.witness
    locks = locks_of(every)
    times = elapsed([record.call - every[0].call for record in every])
    for position, record in _around(every, witness):
        said = label(record, locks), note(record)
        yield RecordView(record.i, times[position], record.proc, *said, record.i in witness)


def _contrast(example: Example) -> Contrast | None:
    """What the witnessed messages differ in. Where the finding names some of them, these alone."""
    finding = example.finding
    sent = [
        (message.id, _traits(record, message))
        for record in example.history.records
        if record.i in finding.witness
        for message in (record.sent if record.op in SENDS else ())
    ]
    named = [entry for entry in sent if repr(entry[0]) in finding.detail]
    chosen = (named if len(named) > 1 else sent)[:_COMPARED]
    if len(chosen) < 2:
        return None
    every = dict.fromkeys(name for _, traits in chosen for name in traits)
    names = tuple(name for name in every if len({traits.get(name) for _, traits in chosen}) > 1)
    rows = tuple((id, tuple(traits.get(name) or "–" for name in names)) for id, traits in chosen)
    return Contrast(names, rows) if names else None


def _traits(record: Record, message: Message) -> dict[str, str | None]:
    """All that a client can vary of a message and its send."""
    body = shortened(message.body, 40)
    return {
        "sent by": record.proc,
        "operation": record.op.replace("_", " "),
        **{name: getattr(message, name) for name in _KEYS},
        "body": f"{body} ({plural(len(message.body), 'character')})",
        "in transaction": record.args.get("txn"),
        "outcome": record.outcome,
        **{f"property {name}": value for name, value in message.properties},
    }


def _mode(program: Mapping[str, Any]) -> str:
    entity = program.get("entity", {})
    parts = [plural(entity["partitions"], "partition")] if "partitions" in entity else []
    parts.append("one step at a time" if program.get("sequential") else "clients at once")
    return ", ".join(parts)


def _step(step: Mapping[str, Any]) -> str:
    """A step in words: its operation, its messages and every argument."""
    args = dict(step.get("args", {}))
    words = [str(step["op"]).replace("_", " ")]
    words += [_message(message) for message in args.pop("messages", ())]
    words += [_argument(name, value) for name, value in args.items()]
    return " ".join(word for word in words if word)


def _message(message: Mapping[str, Any]) -> str:
    """The message and where it bears a key."""
    keys = [f"{name} {message[name]}" for name in _KEYS if message.get(name) is not None]
    keys += [f"{name} {value}" for name, value in message.get("properties", ())]
    return f"{message['id']} ({', '.join(keys) or 'no key'})"


def _argument(name: str, value: Any) -> str:
    if name == "txn":
        return "in its transaction" if value else ""
    if name == "stale":
        return "(an ended lock)" if value else ""
    if name == "pick":
        return f"held lock {', '.join(map(str, value))}"
    if name in ("timeout", "by") and type(value) is int:
        return f"{name} {time_text(value)}"
    if name == "mode":
        return "" if value == "peek_lock" else str(value).replace("_", " ")
    return f"{name} {value}"


# --- messages over partitions -----------------------------------------------------------------------


def histograms(spread: Iterable[Spread], order: Sequence[tuple[str, str]]) -> tuple[HistogramView, ...]:
    """One histogram for each broker and profile, in that order; of very many, one for each profile."""
    lanes: dict[tuple[str, str], dict[int, list[int]]] = {}
    for row in spread:
        broker = row.broker if len(order) <= MOST_LANES else ""
        counts = lanes.setdefault((broker, row.profile), {}).setdefault(row.rank, [0, 0])
        counts[0 if row.keyed else 1] += row.messages
    return tuple(_histogram(title, counts) for title, counts in _titled(lanes, order))


def _histogram(title: str, counts: Mapping[int, Sequence[int]]) -> HistogramView:
    bars = [Bar(str(rank), *counts[rank]) for rank in sorted(counts)]
    keyed, keyless = sum(bar.keyed for bar in bars), sum(bar.keyless for bar in bars)
    summary = (
        f"{plural(len(bars), 'partition')}; {count(keyed)} messages with a key, {count(keyless)} without"
    )
    if len(bars) > _MOST_BARS:
        summary += f"; the first {_MOST_BARS} are drawn"
    drawing = histogram_svg(bars[:_MOST_BARS], f"Messages over partitions, {title}")
    return HistogramView(title, summary, drawing)


# --- coverage ---------------------------------------------------------------------------------------


def heat_maps(cells: Sequence[Cell], order: Sequence[tuple[str, str]]) -> tuple[HeatView, ...]:
    """One map of everything, and one for each broker and profile where there are a few, in that order."""
    lanes = grouped(((cell.broker, cell.profile), cell) for cell in cells)
    if len(lanes) <= 1:
        return tuple(_heat(profile, mine, True) for (_, profile), mine in lanes.items())
    whole = _heat("everything", cells, True)
    if len(lanes) > MOST_LANES:
        return (whole,)
    return (whole, *(_heat(title, mine, False) for title, mine in _titled(lanes, order)))


def _heat(title: str, cells: Sequence[Cell], open: bool) -> HeatView:
    sums: dict[tuple[str, str, str], list[int]] = {}
    for cell in cells:
        total = sums.setdefault((cell.requirement, cell.fault, cell.outcome), [0, 0])
        total[0] += cell.traces
        total[1] += cell.exercised
    faults = _ordered({fault for _, fault, _ in sums}, _FAULTS)
    outcomes = _ordered({outcome for _, _, outcome in sums}, OUTCOMES)
    reached = [total[1] for total in sums.values() if total[1]]
    least, most = min(reached, default=1), max(reached, default=1)
    rows = tuple(
        (id, tuple(_heat_cell(id, f, o, sums.get((id, f, o)), least, most) for f in faults for o in outcomes))
        for id in _ordered({id for id, _, _ in sums}, tuple(catalogue()))
    )
    heads = tuple((_fault_name(fault), len(outcomes)) for fault in faults)
    return HeatView(title, open, heads, outcomes * len(faults), rows)


def _fault_name(fault: str) -> str:
    return "no fault" if fault == "none" else fault.replace("_", " ")


def _heat_cell(
    id: str, fault: str, outcome: str, total: Sequence[int] | None, least: int, most: int
) -> HeatCell:
    where = f"{id}, {_fault_name(fault)}, outcome {outcome}"
    if not total or not total[1]:
        return HeatCell(0, "", f"{where}: never")
    share = math.log(total[1] / least) / math.log(most / least) if most > least else 1.0
    heat = round(12 + 88 * share)
    return HeatCell(
        heat, compact(total[1]), f"{where}: {count(total[1])} times in {plural(total[0], 'trace')}"
    )


def _titled(lanes: Mapping[tuple[str, str], L], order: Sequence[tuple[str, str]]) -> Iterator[tuple[str, L]]:
    """What there is of each broker and profile, in that order, under its title."""
    several = len({broker for broker, _ in lanes}) > 1
    for broker, profile in _ordered(lanes, order):
        yield f"{broker} · {profile}" if several else profile, lanes[broker, profile]


def _ordered(found: Iterable[T], order: Sequence[T]) -> tuple[T, ...]:
    """What was found, in that order; what the order does not know comes last."""
    places = {name: place for place, name in enumerate(order)}
    return tuple(sorted(found, key=lambda name: (places.get(name, len(places)), name)))
