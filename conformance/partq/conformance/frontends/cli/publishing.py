"""What a command says of a broker, and where: standard output, a file of JUnit XML, GitHub Actions. What is
said there, `shown`, `junit` and `github` know."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, NoReturn

from rich.text import Text

from partq.conformance.frontends.cli import github
from partq.conformance.frontends.cli.common import CODE_STYLES, Format, end, failing
from partq.conformance.frontends.cli.junit import RuleTimes, junit
from partq.conformance.frontends.cli.lazy import lazily
from partq.conformance.frontends.cli.project import Baseline
from partq.conformance.frontends.cli.rule_outcomes import rule_outcomes
from partq.conformance.frontends.cli.shown import (
    Detail,
    Evidence,
    SeenIn,
    nowhere,
    show_found,
    show_open,
    show_table,
)
from partq.conformance.frontends.cli.streams import hint, output, printable
from partq.conformance.frontends.cli.table import summary
from partq.conformance.verdict import (
    Besides,
    Exit,
    Finding,
    Matched,
    State,
    Status,
    Verdicts,
    match_known,
    matched_to_plain,
    verdicts_document,
)

with lazily():
    from partq.conformance.evaluation import finding_text


class NewFile(NamedTuple):
    """A file to be written. ``times``: how long each rule took since the command set out."""

    path: Path
    times: RuleTimes


def new_file(file: Path | None) -> NewFile | None:
    """Where the file is, wherever an adapter makes the current folder be meanwhile; its folder is made. Ends
    with one line where that can't be."""
    if file is None:
        return None
    with failing(file):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.open("a").close()
    return NewFile(file.absolute(), RuleTimes())


Again = Callable[[str, Finding, str], str]
"""A profile's finding and its place -> the command that shows it again."""


_BAD: Final = (Status.VIOLATED, Status.UNKNOWN)
"""The statuses of rules of which there is something to show."""


class Answer:
    """What a command says of a broker: verdicts by profile, and what else its exit code comes from
    (``besides``). ``known``: what of it the ``baseline``, or the profiles, know. ``document``: all of it as
    ``partq.verdicts/1``."""

    def __init__(
        self,
        broker: str,
        results: Mapping[str, Verdicts],
        strict: bool,
        besides: Sequence[Besides] = (),
        known: Matched | None = None,
        baseline: Path | None = None,
    ) -> None:
        self.results, self.strict, self.besides, self.known = results, strict, besides, known
        self.document = verdicts_document(broker, results, strict, besides, known)
        if known:
            self.document["baseline"] = matched_to_plain(known, str(baseline or ""))

    @property
    def _said(self) -> tuple[str, int, str]:
        """Of the document the broker, the exit code and the conclusion."""
        return self.document["broker"], self.document["exit"], self.document["conclusion"]

    def publish(self, evidence: Evidence, again: Again, xml: NewFile | None) -> None:
        """Write JUnit XML to that file, if there is one, and tell GitHub Actions, if that runs this. Where no
        lap was told of, all the time is that of these results."""

        def text(profile: str, finding: Finding) -> str:
            """The finding, what shows it, and the command."""
            seen = evidence(profile, finding)
            if seen is None:
                return f"{finding.heading}\n{finding.detail}\nexpected: {finding.allowed}"
            place, history = seen
            return f"{finding_text.finding_text(finding, history)}\nagain: {again(profile, finding, place)}"

        outcomes = rule_outcomes(self.results, self.strict, self.known, text)
        broker, code, conclusion = self._said
        if xml is not None:
            if not xml.times.seconds:
                xml.times.lap(self.results)
            xml.path.write_bytes(junit(broker, outcomes, code, conclusion, xml.times))
        github.publish(broker, outcomes, self.known.absent if self.known else (), conclusion)

    def show(
        self,
        detail: Detail,
        evidence: Evidence,
        seen_in: SeenIn = nowhere,
        rest: Callable[[], None] = lambda: None,
        then: str = "",
    ) -> None:
        """Print why the verdicts mean little, if they do (``besides``), what was found, by profile, what is
        undecided or, if it is asked for, the table, and how many rules ended how; what ``rest`` prints, and
        the conclusion; ``then``, a hint, after it. Of what is ``known`` it is told why."""
        broker, ended, conclusion = self._said
        out = output()
        for code, why in self.besides:
            if code == Exit.INCONCLUSIVE:
                out.print(Text(printable(f"inconclusive: {why}"), style="yellow"), soft_wrap=True)
        statuses = {one.status for result in self.results.values() for one in result.values()}
        if any(detail) or not statuses.isdisjoint(_BAD):
            out.print(Text(f"What {printable(broker)} showed:", style="bold"))
        numbers = show_found(out, self.results, evidence, seen_in, self.known)
        if any(detail):
            show_table(out, self.results, detail.whole_catalogue, numbers)
        else:
            show_open(out, self.results, self.known, numbers, seen_in)
        for one in self.known.absent if self.known else ():
            style, said = "bold yellow" if one.state is State.GONE else "dim", f"{one.entry.text}: {one.why}"
            out.print(Text(f"baseline: {printable(said)}", style=style), soft_wrap=True)
        out.print()
        out.print(summary(self.results))
        rest()
        out.print(Text(printable(conclusion), style=CODE_STYLES[ended]), soft_wrap=True)
        hint(then)

    def end(self, format: Format, show: Callable[[], None], **more: Any) -> NoReturn:
        """Print the document with ``more`` fields, or show it (`show`); end with the exit code."""
        end(self.document["exit"], format, {**self.document, **more}, show)


def held(
    known: Baseline | None,
    broker: str,
    results: Mapping[str, Verdicts],
    strict: bool,
    besides: Sequence[Besides],
    whole: bool,
) -> Answer:
    """These verdicts, held against the baseline where there is one and the divergences that their profiles
    name. ``whole``: see `match`."""
    matched = known.matched(results, whole, strict) if known else match_known(results, None, whole)
    return Answer(broker, results, strict, besides, matched, known and known.shown)
