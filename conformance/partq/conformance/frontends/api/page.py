"""A result as a notebook shows it. Everything a broker or file says is escaped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Final

from partq.conformance.verdict import NOT_IN_QUESTION, Status, Verdicts
from partq.model.requirements import catalogue

COLOURS: Final = {Status.VIOLATED: "#b00020", Status.UNKNOWN: "#8a6d00", Status.PASS: "#1b6e33"}


def html(
    broker: str, conclusion: str, verdicts: Mapping[str, Verdicts], found: Sequence[tuple[str, str, str]]
) -> str:
    """The conclusion, what was found (heading, place and text of each), and rules × profiles, folded."""
    return "".join(
        [
            f"<p><b>{escape(broker)}</b><br>{escape(conclusion)}</p>",
            *(
                f"<details open><summary><b>{escape(heading)}</b> ({escape(place)})</summary>"
                f"<pre>{escape(text)}</pre></details>"
                for heading, place, text in found
            ),
            "<details><summary>All rules that apply</summary><table><thead><tr><th>Rule</th><th></th>",
            *(f"<th>{escape(profile)}</th>" for profile in verdicts),
            "</tr></thead><tbody>",
            *_rows(verdicts),
            "</tbody></table></details>",
        ]
    )


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
