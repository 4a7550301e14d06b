"""The steps of a program that were not taken in a history of it, and why.

A program's steps are symbolic, so a step may find nothing to do: no lock to settle, no transaction to commit.
A history does not say which step made which record; here each client's script is followed through its
records, which tells. Nothing is run and nothing is judged.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection
from typing import Final

from partq.conformance.history import History, Record
from partq.conformance.history.entities import asked
from partq.conformance.workload.operations.record import Args
from partq.conformance.workload.operations.table import OPERATIONS
from partq.conformance.workload.program import Program, Step
from partq.conformance.workload.script import Script
from partq.model.operations import ENV

_LACKING: Final = "the broker does not offer it"
_NEVER_REACHED: Final = "the run did not come to it"
_NO_FAULT: Final = "the fault did not strike"
_UNSUPPORTED: Final = "unsupported"


def untaken(program: Program, history: History) -> dict[int, str]:
    """Position of each step that was not taken -> why, in order.

    Of the environment's steps only the kinds of the faults that struck are known: where one of several of a
    kind failed, a later one, or a repair at the end, may stand for it.
    """
    left = _records_by_proc(program, history)
    scripts = {proc: Script(proc, most_flows=len(program.steps)) for proc in left}
    lacks = frozenset(history.header.lacks)
    reasons = [_untaken(step, scripts[step.proc], left[step.proc], lacks) for step in program.steps]
    return {position: reason for position, reason in enumerate(reasons) if reason}


def _records_by_proc(program: Program, history: History) -> dict[str, deque[Record]]:
    """The records of each client in order; of the environment those that may be steps."""
    faults = {step.op for step in program.steps if step.proc == ENV}
    found: dict[str, deque[Record]] = {proc: deque() for proc in (*program.procs, ENV)}
    for record in history.records:
        if record.proc in found and (not record.is_env or record.op in faults):
            found[record.proc].append(record)
    return found


def _untaken(step: Step, script: Script, left: deque[Record], lacks: Collection[str]) -> str:
    """Why the step was not taken, or nothing. The record that it made is taken off and learnt from."""
    args = script.resolve(step, left[0].call if left else 0)
    if args is None:
        return OPERATIONS[step.op].idle
    if not left or not _made(left[0], step.op, args, script):
        return _without_record(step, args, script, lacks)
    record = left.popleft()
    script.absorb(record.op, asked(record), record.outcome, record.error, record.messages)
    return _LACKING if record.error == _UNSUPPORTED else ""


def _without_record(step: Step, args: Args, script: Script, lacks: Collection[str]) -> str:
    if step.op in lacks:
        return _LACKING
    if step.proc == ENV:
        return _NO_FAULT
    # How many flows a client may have is the driver's to say.
    operation = OPERATIONS[step.op]
    return operation.idle if operation.further(script, args) else _NEVER_REACHED


def _made(record: Record, op: str, args: Args, script: Script) -> bool:
    """Whether a step that comes to this operation may have made the record. Only a flow's name tells a
    further flow from one that is bound again."""
    further = OPERATIONS[op].further
    return record.op == op and further(script, record.args) == further(script, args)
