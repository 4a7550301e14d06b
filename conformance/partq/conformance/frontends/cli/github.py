"""What GitHub Actions shows of verdicts: annotations, and the summary of a step. Only `publish` writes.

Annotations are lines of a step's output. They go to standard error, which the runner reads as well, so that
they are not in the way of results on standard output.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from partq.conformance.adapters.names import public_text
from partq.conformance.frontends.cli.rule_outcomes import Outcome, RuleOutcome
from partq.conformance.frontends.cli.streams import note, printable
from partq.conformance.verdict import Absent, State

ACTIONS: Final = "GITHUB_ACTIONS"
SUMMARY: Final = "GITHUB_STEP_SUMMARY"
"""Variables of a step: that it is one, and the file that its summary is appended to."""

ANNOTATIONS: Final = 10
"""So many of each level GitHub shows of a step."""

_LEVELS: Final = {Outcome.FAILED: "error", Outcome.ERROR: "error", Outcome.KNOWN: "notice"}

_ABSENT: Final = {State.GONE: "🗑️", State.SILENT: "⏭️"}

_GLYPHS: Final = {Outcome.FAILED: "❌", Outcome.ERROR: "❓", Outcome.KNOWN: "☑️"}


def publish(
    broker: str,
    outcomes: Sequence[RuleOutcome],
    absent: Sequence[Absent],
    conclusion: str,
    environment: Mapping[str, str] = os.environ,
) -> None:
    """Annotate and summarise, if this is a step of GitHub Actions. That a summary can't be written is told,
    and changes no exit code."""
    if environment.get(ACTIONS) != "true":
        return
    for line in commands(outcomes, absent):
        note(line)
    if file := environment.get(SUMMARY):
        try:
            with Path(file).open("a", encoding="utf-8") as stream:
                stream.write(public_text(summary(broker, outcomes, absent, conclusion)))
        except OSError as error:
            note(f"partq: warning: {SUMMARY}: {file}: {error.strerror}")


def commands(outcomes: Iterable[RuleOutcome], absent: Iterable[Absent]) -> Iterator[str]:
    """The commands that annotate a run with what failed, what is undecided, what is known and what of the
    baseline has gone; no more of a level than GitHub shows."""
    found = [
        (_LEVELS[one.outcome], f"{one.requirement} ({one.profile})", _body(one))
        for one in outcomes
        if one.outcome in _LEVELS
    ]
    found += [("warning", f"baseline: {one.entry.text}", one.why) for one in absent]
    seen: Counter[str] = Counter()
    for level, title, text in found:
        seen[level] += 1
        if seen[level] <= ANNOTATIONS:
            named = _data(f"partq: {title}").replace(":", "%3A").replace(",", "%2C")
            yield f"::{level} title={named}::{_data(text)}"


def _body(one: RuleOutcome) -> str:
    if not one.text or one.outcome is Outcome.KNOWN:
        return one.message
    return one.text if one.text.startswith(one.message) else f"{one.message}\n{one.text}"


def _data(text: str) -> str:
    """The text as the message of a command."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def summary(broker: str, outcomes: Sequence[RuleOutcome], absent: Sequence[Absent], conclusion: str) -> str:
    """The Markdown of a step's summary: the conclusion, a table of what is to be looked at, and counts."""
    rows = [
        (_GLYPHS[one.outcome], one.requirement, one.profile, one.message)
        for one in sorted(outcomes, key=lambda one: list(Outcome).index(one.outcome))
        if one.outcome in _GLYPHS
    ]
    rows += [
        (_ABSENT[one.state], one.entry.text, one.entry.profile, f"baseline: {one.why}") for one in absent
    ]
    lines = [f"### partq: {_cell(conclusion)}", "", f"Broker: {_cell(broker)}", ""]
    if rows:
        lines += ["| | rule | profile | |", "|---|---|---|---|"]
        lines += [f"| {' | '.join(map(_cell, row))} |" for row in rows]
        lines.append("")
    counts = Counter(one.outcome for one in outcomes)
    lines.append(", ".join(f"{counts[outcome]} {outcome.value}" for outcome in Outcome if counts[outcome]))
    return "\n".join([*lines, "", ""])


CELL: Final = 300
"""Characters that a cell of the summary shows."""

_MARKED: Final = str.maketrans({sign: f"\\{sign}" for sign in "\\`*_{}[]<>()#+!|~"})


def _cell(text: str) -> str:
    """The text in a table of Markdown, without anything that would mark it up."""
    line = printable(text).replace("\n", " ")
    return (line if len(line) <= CELL else f"{line[: CELL - 1]}…").translate(_MARKED)
