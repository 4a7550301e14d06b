"""What ``partq run --out`` leaves in its folder, and the lines about it; where the run is interrupted, of the
runs that have ended."""

from __future__ import annotations

import json
import re
import shlex
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Any, Final

from partq.conformance.adapters import open_broker, public_name
from partq.conformance.frontends.cli.lazy import lazily
from partq.conformance.frontends.cli.publishing import Answer
from partq.conformance.frontends.cli.shown import Detail, evidence_in
from partq.conformance.frontends.cli.streams import note
from partq.conformance.verdict import FILE, Exit, Finding, Status, Verdicts, ambiguities, merge, plural
from partq.conformance.workload.program import dumps

with lazily():
    from partq.conformance.evaluation import keeping, suite


NOTHING_KEPT: Final = "nothing is stored: --out FOLDER keeps what is found, for partq replay and report"
"""Said where something was found; of a live broker, whose runs take minutes, when the first ends, too."""


def summary_lines(out: Path | None, stored: Sequence[keeping.StoredFile], found: bool) -> Iterator[str]:
    """Where everything is and what can be done with it, in lines. ``found``: whether there was anything."""
    for one in stored:
        yield f"{one.what} {one.path}, {one.size} ({one.command})"
    if any(one.cut for one in stored):
        yield "shrinking was cut short: --shrink-seconds 300 gives it more time"
    if out is not None:
        yield f"verdicts in {out / FILE} ({shlex.join(['partq', 'report', str(out)])})"
    elif found:
        yield NOTHING_KEPT


def next_steps(
    out: Path | None, stored: Sequence[keeping.StoredFile], results: Mapping[str, Verdicts], listed: bool
) -> str:
    """What may be done next, in a line. ``listed``: whether the rules are."""
    total = merge(results.values())
    if stored:
        return f"next: {stored[0].command}; {shlex.join(['partq', 'report', str(out)])}"
    if bad := [id for id, verdict in total.items() if verdict.bad]:
        return f"next: partq explain {bad[0]}"
    idle = sum(verdict.status is Status.NOT_APPLICABLE for verdict in total.values())
    return "" if listed else f"next: -v lists the rules; {idle} of {len(total)} do not apply"


def store(
    out: keeping.Target,
    broker: str,
    document: Mapping[str, Any],
    results: Mapping[str, suite.SuiteResult],
    seconds: float,
) -> list[keeping.StoredFile]:
    """Write ``verdicts.json``, and a program of each cause in each profile, and of each set of rules of which
    one is violated. ``seconds``: how long those of a live broker are shrunk in all."""
    _write_verdicts(out, document)
    stored = []
    end = monotonic() + seconds
    for profile, result in results.items():
        causes: dict[tuple[str, str], tuple[suite.Run, Finding]] = {}
        for done in result.kept:
            for finding in done.findings:
                causes.setdefault((finding.requirement, finding.key), (done, finding))
        taken: set[str] = set()
        for number, (done, finding) in enumerate(causes.values()):
            note(f"storing counterexample {number + 1} of {len(causes)}, found as {finding.rules}")
            share = max(0.0, end - monotonic()) / (len(causes) - number)
            stored.append(
                keeping.keep_example(out, profile, broker, open_broker(broker), done, finding, share, taken)
            )
        shown = {finding.candidates for _, finding in causes.values()}
        for candidates in ambiguities(result.verdicts):
            if candidates not in shown and (seen := result.evidence_of(candidates)) is not None:
                stored.append(
                    keeping.keep_program(out, profile, broker, open_broker(broker), seen, candidates)
                )
    return stored


def _write_verdicts(out: keeping.Target, document: Mapping[str, Any]) -> None:
    (out.place / FILE).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def file_name(run: str) -> str:
    """The run's name, as that of a file."""
    return re.sub(r"[^\w.-]+", "-", run)


# --- interrupted --------------------------------------------------------------------------------------

Ended = dict[str, list["suite.Run"]]
"""The runs that have ended, by profile."""


@contextmanager
def kept_if_interrupted(tell: Callable[[Ended], None]) -> Iterator[Ended]:
    """Where the runs that have ended are put, by profile. At an interrupt inside, or SIGTERM, ``tell``
    is called with them."""
    ended: Ended = {}
    mine = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGTERM, signal.default_int_handler) if mine else None
    try:
        yield ended
    except KeyboardInterrupt:
        tell({name: runs for name, runs in ended.items() if runs})
        raise
    finally:
        if mine:
            signal.signal(signal.SIGTERM, before)


def tell_ended(
    broker: str, out: keeping.Target | None, strict: bool, detail: Detail | None, ended: Ended
) -> None:
    """Store what is known of the runs that have ended, unshrunk, and say it in that detail."""
    if not ended:
        note("no run had been judged yet: there are no verdicts")
        return
    name, number = public_name(broker), plural(sum(map(len, ended.values())), "run")
    verdicts = {profile: merge(run.verdicts for run in runs) for profile, runs in ended.items()}
    answer = Answer(name, verdicts, strict, [(Exit.INCONCLUSIVE, f"interrupted after {number}")])
    if out is not None:  # first: who hears of it may have ended, too
        _write_verdicts(out, answer.document)
        _write_programs(out, ended)
        note(f"the verdicts of the {number} so far are in {out.shown / FILE}")
    if detail is not None:
        answer.show(detail, evidence_in(ended))


def _write_programs(out: keeping.Target, ended: Ended) -> None:
    """The programs of the runs that violated something."""
    for name, runs in ended.items():
        folder = out.place / keeping.PROGRAMS / name
        for run in runs:
            if run.findings or ambiguities(run.verdicts):
                folder.mkdir(parents=True, exist_ok=True)
                file = folder / f"{file_name(run.name)}.json"
                file.write_text(dumps(run.program) + "\n", encoding="utf-8")
