"""What verdicts come to: the exit code, the line of words that says so, and ``partq.verdicts/1``.

The one place that decides this, for commands, pytest and the Python API alike. Pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Container, Mapping, Sequence
from itertools import chain
from typing import Any, Final

from partq.conformance.verdict.baseline import Kind, Matched, named
from partq.conformance.verdict.columns import Done
from partq.conformance.verdict.document import SCHEMA, plain
from partq.conformance.verdict.exercised import coverage, unmet
from partq.conformance.verdict.exit_codes import Exit, binding_requirements, exit_code, worst
from partq.conformance.verdict.judging import Judging
from partq.conformance.verdict.merging import ambiguities, merge
from partq.conformance.verdict.types import Finding, Status, Verdict, Verdicts, either, plural
from partq.model.profiles import embedded

NAMED: Final = 8
"""How many rules that are undecided a conclusion names."""


def outcome(verdicts: Verdicts, failing: Collection[str]) -> tuple[int, str]:
    """The exit code that the verdicts on these rules come to, and why; the reason is empty for a success."""
    code = exit_code(verdicts, failing)
    rows = {name: verdict for name, verdict in verdicts.items() if name in failing}
    if code == Exit.VIOLATED:
        certain = [
            f"{name}{times(verdict.times - sum(number for _, number in _unsure(verdict)))}"
            for name, verdict in rows.items()
            if verdict.status is Status.VIOLATED
        ]
        said = [f"{', '.join(certain)} violated"] if certain else []
        told = ambiguities(rows)
        said += [one.ambiguity for several, one in told.items() if rows.keys() >= {*several}]
        return code, "; ".join([*said, *_more(rows, told)])
    if code == Exit.CONFORMANT:
        return code, ""
    unknown = [name for name, verdict in rows.items() if verdict.status is Status.UNKNOWN]
    return code, f"undecided: {_some(unknown)}" if unknown else "nothing was exercised"


def _unsure(verdict: Verdict) -> list[tuple[Finding, int]]:
    """The causes that another rule may explain, too, and how many findings each had."""
    return [(finding, number) for finding, number in verdict.counted() if finding.candidates]


def _more(rows: Verdicts, told: Container[tuple[str, ...]]) -> list[str]:
    """How many violations there were of one of several rules, beside those that are ``told``: of which a
    rule's verdict says so."""
    found: Counter[str] = Counter()
    for finding, number in chain.from_iterable(map(_unsure, rows.values())):
        if rows.keys() >= {*finding.candidates} and finding.candidates not in told:
            found[either(finding.candidates, finding.together)] += number
    which = next(iter(found), "") if len(found) == 1 else "one of several rules each"
    be = "is" if found.total() == 1 else "are"
    return [f"{plural(found.total(), 'more violation')} {be} of {which}"] if found else []


def _some(rules: Sequence[str]) -> str:
    """The rules; of many the first ones, and how many more there are."""
    more = len(rules) - NAMED
    return f"{', '.join(rules[:NAMED])} and {more} more rules" if more > 1 else ", ".join(rules)


def times(number: int) -> str:
    """How often, in words; of once there is nothing to say."""
    return f" ({number:,} times)" if number > 1 else ""


Besides = tuple[int, str]
"""What else the exit code comes from beside the verdicts: a code, and why."""


def conclusion(
    results: Mapping[str, Verdicts],
    strict: bool,
    besides: Sequence[Besides] = (),
    known: Matched | None = None,
) -> tuple[int, str]:
    """The exit code of the profiles' verdicts and what else counts, and the same in a line of words. What is
    ``known`` does not count, but is told; what of the baseline has gone does."""
    rows = binding_requirements(strict)
    whys: dict[Besides, list[str]] = {}
    for name, result in results.items():
        new = result if known is None else known.beyond(name, result)
        whys.setdefault(outcome(new, rows), []).append(name)
    code = worst([*(code for code, _ in whys), *(code for code, _ in besides)])
    told = _against(known) if known else []
    if code == Exit.CONFORMANT:
        more = [*told, *(why for _, why in besides)]
        if known:
            return _nothing_new(results, rows, known, more)
        return code, "; ".join([_nothing_violated(results, rows), *more])
    several = len(results) > 1
    said = [why + f" ({', '.join(names)})" * several for (c, why), names in whys.items() if c == code]
    said += [why for _, why in besides]
    return code, f"{WORDS[code]}: {'; '.join([*said, *told])}"


WORDS: Final = {
    Exit.CONFORMANT: "CONFORMANT",
    Exit.VIOLATED: "NOT CONFORMANT",
    Exit.INCONCLUSIVE: "INCONCLUSIVE",
}
"""The word for each exit code that is a verdict."""


def _nothing_violated(results: Mapping[str, Verdicts], failing: Collection[str]) -> str:
    """Of a success: how much of what binds was exercised, and which rules did not hold that need not."""
    total = merge(results.values())
    found = coverage(total, failing)
    bad = [id for id, verdict in total.items() if verdict.status is Status.VIOLATED and id not in failing]
    besides = f"; violated, but no MUST: {', '.join(bad)}" if bad else ""
    besides += "".join(f"; {one}" for one in _few_undecided(results, failing))
    if found.whole:
        number = len(found.exercised)
        one = "the one binding rule that is checked held"
        held = one if number == 1 else f"all {number} binding rules that are checked held"
        return f"{WORDS[Exit.CONFORMANT]}: {held}{_by_profile(results, failing)}{besides}"
    return f"NOTHING VIOLATED: {found}{_by_profile(results, failing)}{besides}"


def _by_profile(results: Mapping[str, Verdicts], failing: Collection[str]) -> str:
    """Of several profiles, which share rules, how many binding ones were exercised under each."""
    counts = [f"{name} {len(coverage(verdicts, failing).exercised)}" for name, verdicts in results.items()]
    return f" ({', '.join(counts)})" if len(counts) > 1 else ""


LISTED: Final = 3
"""How many rules that pass with undecided histories the conclusion names."""


def _few_undecided(results: Mapping[str, Verdicts], failing: Collection[str]) -> list[str]:
    """Which rules pass although some histories were left undecided, those with the largest share first."""
    found = [
        (verdict.undecided / verdict.traces, id, name, verdict.openness)
        for name, result in results.items()
        for id, verdict in result.items()
        if id in failing and verdict.status is Status.PASS and verdict.undecided
    ]
    found.sort(key=lambda one: -one[0])
    several = len(results) > 1
    said = [f"{id}: {words}{f' ({name})' * several}" for _, id, name, words in found[:LISTED]]
    return [*said, f"{plural(len(found) - LISTED, 'more rule')} likewise"] if len(found) > LISTED else said


def _nothing_new(
    results: Mapping[str, Verdicts], failing: Collection[str], known: Matched, told: Sequence[str]
) -> tuple[int, str]:
    """Where nothing but what is known speaks against the broker: whether the baseline is up to date, and what
    is known. Nothing of the kind where nothing of the baseline was met."""
    if known.gone:
        return Exit.INCONCLUSIVE, f"BASELINE OUT OF DATE: {'; '.join(told)}"
    if not known.known:
        return Exit.CONFORMANT, "; ".join([_nothing_violated(results, failing), *told])
    exercised = f"{coverage(merge(results.values()), failing)}{_by_profile(results, failing)}"
    loose = dict.fromkeys(named(one.rules) for one in known.new if not one.binds(failing))
    besides = [f"violated or undecided, but no MUST: {', '.join(loose)}"] if loose else []
    besides += _few_undecided(results, failing)
    return Exit.CONFORMANT, f"NOTHING NEWLY VIOLATED: {'; '.join([*told, exercised, *besides])}"


def _against(known: Matched) -> list[str]:
    """What there is to say of a baseline: what of it has gone, what is known, what it says of rules of which
    this run says nothing."""
    said = [f"{one.entry.text} {one.why}" for one in known.gone]
    for kind, words in _KNOWN.items():
        if rules := [fault.rules for fault, _ in known.known if fault.kind is kind]:
            said.append(
                f"{len(rules)} known {words[len(rules) > 1]} ({', '.join(dict.fromkeys(map(named, rules)))})"
            )
    if silent := len(known.absent) - len(known.gone):
        said.append(f"{silent} of the baseline's entries not met")
    return said


_KNOWN: Final = {Kind.VIOLATED: ("violation", "violations"), Kind.OPEN: ("undecided rule", "undecided rules")}


def required(results: Mapping[str, Verdicts], strict: bool, wanted: Sequence[str]) -> list[Besides]:
    """What the results leave undone of what ``--require`` asks for. A rule is required under each profile
    that it applies under; where that is none, it is unmet."""
    rows, several = binding_requirements(strict), len(results) > 1
    return [
        (Exit.INCONCLUSIVE, why + f" ({name})" * several)
        for name, result in results.items()
        for why in unmet(result, [word for word in wanted if _asked_of(result, word, results)], rows)
    ]


def _asked_of(result: Verdicts, word: str, results: Mapping[str, Verdicts]) -> bool:
    """Whether the word is asked of these verdicts, those of one profile: a share always is."""

    def applies(verdicts: Verdicts) -> bool:
        return word not in verdicts or verdicts[word].status is not Status.NOT_APPLICABLE

    return applies(result) or not any(map(applies, results.values()))


def verdicts_document(
    broker: str,
    results: Mapping[str, Verdicts],
    strict: bool,
    besides: Sequence[Besides] = (),
    known: Matched | None = None,
) -> dict[str, Any]:
    """``partq.verdicts/1``: the exit code, its reason and whether a SHOULD counts for it, the verdicts of
    each profile and all of them merged; what the profiles say that are not built in."""
    code, words = conclusion(results, strict, besides, known)
    return {
        "schema": SCHEMA,
        "broker": broker,
        "exit": code,
        "conclusion": words,
        "strict": strict,
        "profiles": {name: plain(result) for name, result in results.items()},
        "requirements": plain(merge(results.values())),
        **({"profile_files": files} if (files := embedded(results)) else {}),
    }


def came_about(done: Mapping[str, Done], judging: Judging) -> dict[str, Any]:
    """How the verdicts came about, as further fields of ``partq.verdicts/1``: what was done to the broker
    under each profile, where one was run, and what the judge did with the histories."""
    ran = {"done": {name: one.plain() for name, one in done.items()}} if done else {}
    return {**ran, "judge": judging._asdict()}
