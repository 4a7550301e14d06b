"""What becomes of a run that is interrupted: the runs that have ended are merged, stored and told."""

from __future__ import annotations

import json
import re
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from partq.conformance.frontends.cli.common import conclude, note
from partq.conformance.frontends.cli.shown import Detail, evidence_in, show_verdicts
from partq.conformance.verdict import FILE, Exit, ambiguities, merge, plural, verdicts_document

if TYPE_CHECKING:
    from partq.conformance.evaluation.keeping import Target
    from partq.conformance.evaluation.suite import Run

Ended = dict[str, list["Run"]]
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


def tell_ended(broker: str, out: Target | None, strict: bool, detail: Detail | None, ended: Ended) -> None:
    """Store what is known of the runs that have ended, unshrunk, and say it in that detail."""
    from partq.conformance.adapters import public_name

    if not ended:
        note("no run had been judged yet: there are no verdicts")
        return
    number = sum(map(len, ended.values()))
    verdicts = {name: merge(run.verdicts for run in runs) for name, runs in ended.items()}
    besides = [(Exit.INCONCLUSIVE, f"interrupted after {plural(number, 'run')}")]
    if out is not None:  # first: who hears of it may have ended, too
        _store_ended(out, verdicts_document(public_name(broker), verdicts, strict, besides), number, ended)
    if detail is not None:
        show_verdicts(public_name(broker), verdicts, detail, evidence_in(ended))
        conclude(verdicts, strict, besides)


def _store_ended(out: Target, document: Mapping[str, Any], number: int, ended: Ended) -> None:
    """The verdicts of the runs that have ended, and the programs of those that violated something."""
    from partq.conformance.evaluation.keeping import PROGRAMS
    from partq.conformance.workload.program import dumps

    (out.place / FILE).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    for name, runs in ended.items():
        folder = out.place / PROGRAMS / name
        for run in runs:
            if run.findings or ambiguities(run.verdicts):
                folder.mkdir(parents=True, exist_ok=True)
                (folder / f"{file_name(run.name)}.json").write_text(
                    dumps(run.program) + "\n", encoding="utf-8"
                )
    text = f"the verdicts of the {plural(number, 'run')} so far are in {out.shown / FILE}"
    note(text)


def file_name(run: str) -> str:
    """The run's name, as that of a file."""
    return re.sub(r"[^\w.-]+", "-", run)
