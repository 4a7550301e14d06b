"""What was found, in lines for a reader: a finding with the records that show it, what is wrong in a run, and
a program's steps.

For the search and the pytest suite. Nothing is judged here; how a record is written is
`history.notation_writer`'s business.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from partq.conformance.evaluation.suite import Run
from partq.conformance.history import History, Record, time_text
from partq.conformance.history.notation_writer import evidence, line
from partq.conformance.verdict import Finding, ambiguities
from partq.conformance.workload.operations.table import OPERATIONS
from partq.conformance.workload.program import Program, Step
from partq.model.operations import OPS, Kind
from partq.model.profiles import Profile, profile

HIDDEN: Final = ("timeout",)
"""Arguments of steps that are not shown."""


def finding_text(finding: Finding, history: History) -> str:
    """The finding with the records of the history that show it."""
    return "\n".join([finding.heading, *(text for text, _ in evidence(finding, history))])


def wrong_in(run: Run) -> list[str]:
    """What is wrong in the run's history, in words: of each requirement the first violation, or else what
    violates one of several."""
    found = [one for one in run.verdicts.values() if one.findings]
    told = [one for one in found if not one.candidates] or found
    if told:
        return [finding_text(one.findings[0], run.history) for one in told]
    return [f"{one.ambiguity}: {one.reason}" for one in ambiguities(run.verdicts).values()]


def steps(program: Program) -> list[str]:
    """The program's steps, a line each."""
    family = profile(program.profile)
    return [_step(step, family) for step in program.steps]


def _step(step: Step, family: Profile) -> str:
    """Such as ``c1 send m1 key=a``: as `notation` writes operations, with the words of a program for what is
    known only while it runs."""
    arguments = {name: value for name, value in step.args.items() if name not in HIDDEN}
    known = OPS[step.op].args.keys() - _SYMBOLIC
    plain = {name: arguments.pop(name) for name in tuple(arguments) if name in known}
    text = line(Record(0, step.proc, step.op, "", 0, 0, plain), family).rpartition(" -> ")[0]
    return " ".join([text, *_symbolic(step.op, arguments)])


_SYMBOLIC: Final = {"txn"}
"""What is a name in a history and a flag in a program."""


def _symbolic(op: str, arguments: Mapping[str, Any]) -> Iterator[str]:
    for name, value in arguments.items():
        if value is True:
            yield name
        elif OPERATIONS[op].args[name].kind is Kind.NS:
            yield f"{name}={time_text(value)}"
        elif value is not False:
            yield f"{name}={','.join(map(str, value)) if isinstance(value, list) else value}"
