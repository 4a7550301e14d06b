"""What verdicts come to: the exit code, the line of words that says so, and ``partq.verdicts/1``.

The one place that decides this, for commands, pytest and the Python API alike. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from partq.conformance.verdict.document import SCHEMA, plain
from partq.conformance.verdict.exercised import coverage, unmet
from partq.conformance.verdict.exit_codes import Exit, binding_requirements, exit_code, worst
from partq.conformance.verdict.merging import ambiguities, merge
from partq.conformance.verdict.types import Status, Verdicts, violated_one_of


def outcome(verdicts: Verdicts, failing: Collection[str]) -> tuple[int, str]:
    """The exit code that these rows come to, and why; there is nothing to say of a success."""
    code = exit_code(verdicts, failing)
    rows = {name: verdict for name, verdict in verdicts.items() if name in failing}
    if code == Exit.VIOLATED:
        certain = [
            f"{name}{times(verdict.times)}"
            for name, verdict in rows.items()
            if verdict.status is Status.VIOLATED
        ]
        said = [f"{', '.join(certain)} violated"] if certain else []
        said += [violated_one_of(several) for several in ambiguities(rows) if rows.keys() >= {*several}]
        return code, "; ".join(said)
    if code == Exit.CONFORMANT:
        return code, ""
    unknown = [name for name, verdict in rows.items() if verdict.status is Status.UNKNOWN]
    return code, f"left open: {', '.join(unknown)}" if unknown else "nothing was put to the test"


def times(number: int) -> str:
    """How often, in words; of once there is nothing to say."""
    return f" ({number:,} times)" if number > 1 else ""


Besides = tuple[int, str]
"""What else the exit code comes from beside the verdicts: a code, and why."""


def conclusion(
    results: Mapping[str, Verdicts], strict: bool, besides: Sequence[Besides] = ()
) -> tuple[int, str]:
    """The exit code of the profiles' verdicts and what else counts, and the same in a line of words."""
    rows = binding_requirements(strict)
    whys: dict[Besides, list[str]] = {}
    for name, result in results.items():
        whys.setdefault(outcome(result, rows), []).append(name)
    code = worst([*(code for code, _ in whys), *(code for code, _ in besides)])
    if code == Exit.CONFORMANT:
        return code, _nothing_violated(merge(results.values()), rows)
    several = len(results) > 1
    said = [why + f" ({', '.join(names)})" * several for (c, why), names in whys.items() if c == code]
    said += [why for _, why in besides]
    return code, f"{WORDS[code]}: {'; '.join(said)}"


WORDS: Final = {
    Exit.CONFORMANT: "CONFORMANT",
    Exit.VIOLATED: "NOT CONFORMANT",
    Exit.INCONCLUSIVE: "INCONCLUSIVE",
}
"""The word for each exit code that is a verdict."""


def _nothing_violated(total: Verdicts, failing: Collection[str]) -> str:
    """Of a success: how much of what binds was exercised, and which rules did not hold that need not."""
    found = coverage(total, failing)
    bad = [id for id, verdict in total.items() if verdict.status is Status.VIOLATED and id not in failing]
    besides = f"; violated, but no MUST: {', '.join(bad)}" if bad else ""
    if found.whole:
        held = f"all {len(found.exercised)} binding rules that are checked held"
        return f"{WORDS[Exit.CONFORMANT]}: {held}{besides}"
    return f"NOTHING VIOLATED: {found}{besides}"


def required(results: Mapping[str, Verdicts], strict: bool, wanted: Sequence[str]) -> list[Besides]:
    """What the results leave undone of what ``--require`` asks for."""
    if not wanted:
        return []
    rows, several = binding_requirements(strict), len(results) > 1
    return [
        (Exit.INCONCLUSIVE, why + f" ({name})" * several)
        for name, result in results.items()
        for why in unmet(result, wanted, rows)
    ]


def verdicts_document(
    broker: str, results: Mapping[str, Verdicts], strict: bool, besides: Sequence[Besides] = ()
) -> dict[str, Any]:
    """``partq.verdicts/1``: the exit code, its reason and whether a SHOULD counts for it, the verdicts of
    each profile and all of them merged."""
    code, words = conclusion(results, strict, besides)
    return {
        "schema": SCHEMA,
        "broker": broker,
        "exit": code,
        "conclusion": words,
        "strict": strict,
        "profiles": {name: plain(result) for name, result in results.items()},
        "requirements": plain(merge(results.values())),
    }
