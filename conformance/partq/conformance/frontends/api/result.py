"""What `check` and `run` answer. Conclusion, exit code and document are those of the commands: the same
functions make them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from partq.conformance.evaluation.finding_text import finding_text
from partq.conformance.frontends.api import tables
from partq.conformance.history import History, Record
from partq.conformance.verdict import (
    NOT_IN_QUESTION,
    NOTHING_JUDGED,
    Besides,
    Done,
    Exit,
    Finding,
    Judging,
    Status,
    Verdict,
    Verdicts,
    ambiguities,
    came_about,
    conclusion,
    merge,
    verdicts_document,
)
from partq.model.requirements import catalogue

if TYPE_CHECKING:
    import pandas
    import pyarrow


class Violated(AssertionError):
    """A binding rule is violated. ``result``: all that is known; the text is its conclusion and findings."""

    def __init__(self, result: Result) -> None:
        super().__init__("\n\n".join([result.conclusion, *map(str, result.findings)]))
        self.result = result


class Judged(NamedTuple):
    """A history that was judged: under which profile, the file or run it comes from, what it shows, and
    what the judge did with it."""

    profile: str
    name: str
    history: History
    verdicts: Verdicts
    judging: Judging = NOTHING_JUDGED


class Found(NamedTuple):
    """The first finding of a cause. ``times``: how often there was one of that cause. ``where``: the file or
    run it is from; ``history``: that one's history."""

    profile: str
    finding: Finding
    times: int
    where: str
    history: History

    @property
    def requirements(self) -> tuple[str, ...]:
        """The violated rule, or those of which one certainly is."""
        return self.finding.requirements

    @property
    def title(self) -> str:
        """What is wrong, in a few words."""
        return self.finding.title

    @property
    def detail(self) -> str:
        """What is wrong in this history."""
        return self.finding.detail

    @property
    def allowed(self) -> str:
        """What the rule would have allowed instead."""
        return self.finding.allowed

    @property
    def witness(self) -> tuple[Record, ...]:
        """The few records that show it. Their times are in nanoseconds."""
        wanted = set(self.finding.witness)
        return tuple(record for record in self.history.records if record.i in wanted)

    def __str__(self) -> str:
        return finding_text(self.finding, self.history)


@dataclass(frozen=True, slots=True)
class Result:
    """``broker``: what was judged, by name. ``verdicts``: profile -> rule -> verdict, one for every rule of
    the catalogue. ``judged``: the histories that show findings, or all that were given. ``strict``: a SHOULD
    binds, too. ``besides``: what the exit code comes from beside the verdicts, each a code and why.
    ``judging``: what the judge did with the histories. ``done``: what was done to the broker under each
    profile; nothing where histories were given."""

    broker: str
    verdicts: Mapping[str, Verdicts]
    judged: tuple[Judged, ...] = ()
    strict: bool = False
    besides: tuple[Besides, ...] = ()
    judging: Judging = NOTHING_JUDGED
    done: Mapping[str, Done] = field(default_factory=dict)

    @property
    def requirements(self) -> Verdicts:
        """Rule -> the verdict of all profiles together."""
        return merge(self.verdicts.values())

    @property
    def exit_code(self) -> int:
        """0 nothing violated, 1 violated, 3 inconclusive: what the command ends with."""
        return conclusion(self.verdicts, self.strict, self.besides)[0]

    @property
    def conclusion(self) -> str:
        """What it comes to, in the words of the command's last line."""
        return conclusion(self.verdicts, self.strict, self.besides)[1]

    @property
    def findings(self) -> tuple[Found, ...]:
        """The first finding of each cause, in the order of profiles and catalogue. Where it is not known
        which of several rules is violated, there may be none: see `ambiguities`."""
        return tuple(
            Found(profile, finding, times, seen.name, seen.history)
            for profile, verdicts in self.verdicts.items()
            for verdict in verdicts.values()
            for finding, times in verdict.counted()
            if (seen := self.seen(profile, finding)) is not None
        )

    @property
    def ambiguities(self) -> dict[str, tuple[tuple[str, ...], ...]]:
        """Profile -> the sets of rules of which one certainly is violated, not known which."""
        found = {profile: tuple(ambiguities(verdicts)) for profile, verdicts in self.verdicts.items()}
        return {profile: sets for profile, sets in found.items() if sets}

    def seen(self, profile: str, finding: Finding) -> Judged | None:
        """The first history that shows the finding, if it was kept."""
        ours = (one for one in self.judged if one.profile == profile)
        return next((one for one in ours if finding in one.verdicts[finding.requirement].findings), None)

    def suspected(self, profile: str, candidates: tuple[str, ...]) -> Judged | None:
        """The first history in which one of these rules certainly is violated, not known which."""
        ours = (one for one in self.judged if one.profile == profile)
        return next((one for one in ours if candidates in ambiguities(one.verdicts)), None)

    def raise_for_violations(self) -> Result:
        """The result itself, unless a binding rule is violated. Raises `Violated`, an `AssertionError`. That
        nothing is violated may also mean that little was exercised: `exit_code` is 3 where nothing was."""
        if self.exit_code == Exit.VIOLATED:
            raise Violated(self)
        return self

    def to_json(self) -> dict[str, Any]:
        """The document of ``--format json``, ``partq.verdicts/1``."""
        document = verdicts_document(self.broker, self.verdicts, self.strict, self.besides)
        return {**document, **came_about(self.done, self.judging)}

    def to_arrow(self, table: str = "verdicts") -> pyarrow.Table:
        """A table: ``verdicts``, a row for each profile and rule, or ``findings``, a row for each cause.
        Raises `MissingPackage` without pyarrow, `ValueError` where there is no such table."""
        return tables.to_arrow(table, self._rows(table))

    def to_pandas(self, table: str = "verdicts") -> pandas.DataFrame:
        """The same as a data frame. Raises `MissingPackage` without pandas, and as `to_arrow`."""
        return tables.to_pandas(table, self._rows(table))

    def _rows(self, table: str) -> list[tuple[Any, ...]]:
        if tables.columns(table) is tables.VERDICTS:
            return [
                tables.verdict_row(profile, id, verdict)
                for profile, verdicts in self.verdicts.items()
                for id, verdict in verdicts.items()
            ]
        return [tables.finding_row(one.profile, one.finding, one.times, one.where) for one in self.findings]

    def of(self, requirement: str) -> dict[str, Verdict]:
        """Profile -> its verdict of that rule. Raises `KeyError` where there is no such rule."""
        return {profile: verdicts[requirement] for profile, verdicts in self.verdicts.items()}

    def __str__(self) -> str:
        return f"{self.broker}: {self.conclusion}"

    def _repr_html_(self) -> str:
        """The conclusion, what was found, and rules × profiles, folded. What a broker or file says is
        escaped."""
        return "".join(
            [
                f"<p><b>{escape(self.broker)}</b><br>{escape(self.conclusion)}</p>",
                *(
                    f"<details open><summary><b>{escape(one.finding.heading)}</b> "
                    f"({escape(one.profile)}, {escape(one.where)})</summary>"
                    f"<pre>{escape(str(one).partition(chr(10))[2])}</pre></details>"
                    for one in self.findings
                ),
                "<details><summary>All rules that apply</summary><table><thead><tr><th>Rule</th><th></th>",
                *(f"<th>{escape(profile)}</th>" for profile in self.verdicts),
                "</tr></thead><tbody>",
                *_rows(self.verdicts),
                "</tbody></table></details>",
            ]
        )


COLOURS: Final = {Status.VIOLATED: "#b00020", Status.UNKNOWN: "#8a6d00", Status.PASS: "#1b6e33"}


def _rows(verdicts: Mapping[str, Verdicts]) -> Iterator[str]:
    for id, rule in catalogue().items():
        row = [result[id] for result in verdicts.values() if id in result]
        if all(verdict.status in NOT_IN_QUESTION for verdict in row):
            continue
        yield f"<tr><td>{id}</td><td>{escape(rule.title)}</td>"
        for verdict in row:
            colour = COLOURS.get(verdict.status, "inherit")
            times = f" {verdict.exercised:,}×" if verdict.exercised else ""
            tip = escape(verdict.reason)
            yield f'<td style="color:{colour}" title="{tip}">{verdict.status.words}{times}</td>'
        yield "</tr>"
