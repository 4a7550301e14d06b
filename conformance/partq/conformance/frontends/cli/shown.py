"""Verdicts on standard output: what is wrong first, then what is undecided and how many rules ended how; with
``-v`` a row for every rule.

What a broker or file says is printed without markup. What a verdict comes to, `common` says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from rich.console import Console
from rich.text import Text

from partq.conformance.frontends.cli.lazy import lazily
from partq.conformance.frontends.cli.streams import printable
from partq.conformance.frontends.cli.table import Numbers, fits, pointer, verdict_table
from partq.conformance.history import History
from partq.conformance.history.notation_writer import evidence as finding_lines
from partq.conformance.verdict import Finding, Matched, Status, Verdicts, ambiguities, causes_of, plural
from partq.model.grouping import grouped

with lazily():
    from partq.conformance.evaluation import suite

REASON: Final = 240
"""Characters of a reason that are shown without the table."""


class Detail(NamedTuple):
    """How much is shown besides what is wrong: a table of what applies, or of the ``whole_catalogue``."""

    verbose: bool = False
    whole_catalogue: bool = False


Evidence = Callable[[str, Finding], tuple[str, History] | None]
"""For a profile's finding: where it was seen, and the history that its witness counts in."""

SeenIn = Callable[[str, tuple[str, ...]], str]
"""Where, under a profile, one of these rules certainly is violated, or the only one was left undecided first;
empty where that is not known."""


def nowhere(profile: str, candidates: tuple[str, ...]) -> str:
    """Where nothing is known of where it is."""
    return ""


def evidence_in(runs: Mapping[str, Sequence[suite.Run]]) -> Evidence:
    """The names of each profile's runs, and their histories, as evidence."""

    def seen(profile: str, finding: Finding) -> tuple[str, History] | None:
        run = suite.seen_in(runs[profile], finding)
        return None if run is None else (run.name, run.history)

    return seen


class _Shown(NamedTuple):
    """A finding under its number. ``lines``: it in lines, each with whether it shows a record. ``times``: how
    often that was found. ``known``: why it is accepted, empty where it is not. ``alike``: how many causes
    come to the same lines."""

    number: int
    profile: str
    finding: Finding
    where: str
    lines: tuple[tuple[str, bool], ...]
    times: int
    known: str = ""
    alike: int = 1


def show_found(
    out: Console,
    results: Mapping[str, Verdicts],
    evidence: Evidence = lambda profile, finding: None,
    seen_in: SeenIn = nowhere,
    known: Matched | None = None,
) -> Numbers:
    """Print what was found, numbered, and which rules one of which is violated; within a profile what is
    known comes last. Answers the numbers of each profile's rules."""
    numbers: dict[tuple[str, str], list[int]] = {}
    for profile, result in results.items():
        for one in _numbered(profile, result, evidence, known, 1 + sum(map(len, numbers.values()))):
            certain = [id for id in one.finding.candidates if result[id].status is Status.VIOLATED]
            _show_finding(out, one, certain)
            for requirement in one.finding.requirements:
                numbers.setdefault((profile, requirement), []).append(one.number)
        _show_ambiguities(out, profile, result, seen_in, known)
    return numbers


def _numbered(
    profile: str, result: Verdicts, evidence: Evidence, known: Matched | None, first: int
) -> list[_Shown]:
    """What `causes_of` answers, in its order; causes that come to the same lines as one."""
    shown: dict[tuple[object, ...], _Shown] = {}
    for finding, times, reason in causes_of(profile, result, known):
        found = evidence(profile, finding)
        lines = tuple(finding_lines(finding, found[1] if found else None))
        same = (finding.heading, lines, reason)
        if alike := shown.get(same):
            shown[same] = alike._replace(times=alike.times + times, alike=alike.alike + 1)
        else:
            where = found[0] if found else ""
            shown[same] = _Shown(0, profile, finding, where, lines, times, reason)
    return [one._replace(number=number) for number, one in enumerate(shown.values(), first)]


def _show_finding(out: Console, one: _Shown, certain: Sequence[str]) -> None:
    """One finding, with the operations that show it, and how many there were. ``certain``: its candidates
    that are violated in any case."""
    where = f", {printable(one.where)}" if one.where else ""
    alike = f" of {one.alike} causes that come to the same" if one.alike > 1 else ""
    out.print()
    style = "yellow" if one.known else "bold red"
    out.print(Text(f"{one.number}. {printable(one.finding.heading)}", style=style))
    _show_known(out, one.known)
    out.print(Text(f"   {one.profile}{where}, {plural(one.times, 'violation')}{alike}", style="dim"))
    if certain:
        out.print(Text(f"   certainly violated, by other findings: {', '.join(certain)}", style="dim"))
    for text, is_record in one.lines:
        out.print(Text(f" {printable(text)}", style="cyan" if is_record else ""), soft_wrap=is_record)


def _show_known(out: Console, reason: str) -> None:
    """Why it is accepted, if it is."""
    if reason:
        out.print(Text(f"   known: {printable(reason)}", style="yellow"))


def _show_ambiguities(
    out: Console, profile: str, result: Verdicts, seen_in: SeenIn, known: Matched | None
) -> None:
    """Each set of rules of which one certainly is violated, where, and why it is not known which, unless a
    finding has told it."""
    told = {finding.candidates for verdict in result.values() for finding in verdict.findings}
    for candidates, verdict in ambiguities(result).items():
        if candidates in told:
            continue
        where = seen_in(profile, candidates)
        out.print()
        accepted = known.reason_of(profile, candidates) if known else ""
        out.print(Text(verdict.ambiguity, style="yellow" if accepted else "bold red"))
        _show_known(out, accepted)
        out.print(Text(f"  {profile}{f', {printable(where)}' if where else ''}", style="dim"))
        out.print(Text(f"  {printable(verdict.reason)}"))


def show_open(
    out: Console,
    results: Mapping[str, Verdicts],
    known: Matched | None,
    numbers: Numbers,
    seen_in: SeenIn = nowhere,
) -> None:
    """Why which rules are undecided, those with the same reason together, and where the first one is; and why
    that is accepted. Of those that only may be the rule of findings, the ``numbers`` of these."""
    for profile, result in results.items():
        for (findings, reason), names in _open_by_reason(profile, result, numbers).items():
            out.print()
            out.print(Text(f"undecided: {', '.join(names)}", style="yellow"))
            if findings:
                who = "each may be the rule" if len(names) > 1 else "it may be the rule"
                out.print(Text(f"  {profile}: {who} of {pointer(findings)}", style="dim"))
            else:
                where = seen_in(profile, (names[0],))
                short = reason if len(reason) <= REASON else f"{reason[: REASON - 1]}… (-v: all of it)"
                out.print(Text(f"  {profile}{f', {printable(where)}' if where else ''}", style="dim"))
                out.print(Text(f"  {printable(short)}"))
            for name in names:
                for accepted in known.reasons(profile, name) if known else ():
                    out.print(Text(f"  {name} known: {printable(accepted)}", style="yellow"))


def _open_by_reason(
    profile: str, result: Verdicts, numbers: Numbers
) -> Mapping[tuple[Sequence[int], str], Sequence[str]]:
    """The undecided rules, except the candidates of a violation, by why they are: by the numbers of findings
    that say so, else by the reason."""
    told = {(id, f.detail) for one in result.values() for f in one.findings for id in f.candidates}
    undecided = [
        (name, one.reason)
        for name, one in result.items()
        if one.status is Status.UNKNOWN and not one.candidates
    ]
    return grouped(
        ((tuple(numbers.get((profile, name), ())), "") if (name, why) in told else ((), why), name)
        for name, why in undecided
    )


def show_table(
    out: Console, results: Mapping[str, Verdicts], whole_catalogue: bool, numbers: Numbers
) -> None:
    """A row for each rule and a column for each of several profiles, or a table for each, where that is too
    wide; then the rules that are not in it."""
    out.print()
    table, hidden = verdict_table(results, whole_catalogue, out.width, numbers)
    if len(results) == 1 or fits(out, table):
        out.print(table)
    else:
        for name, result in results.items():
            out.print(Text(name, style="bold"))
            out.print(verdict_table({name: result}, whole_catalogue, out.width, numbers)[0])
    for status, rows in hidden.items():
        out.print(f"{plural(len(rows), 'rule')} {status.words}: {' '.join(rows)}", style="dim")
