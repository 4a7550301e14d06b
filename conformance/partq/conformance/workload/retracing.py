"""A part of a recorded history as a program: the steps that would do the same again. Pure.

A live broker is slow, so what shows a finding is guessed from its witness instead of found by taking steps
away one by one. Whether a guess shows the finding is for a run to say.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Final

from msgspec.structs import replace as replace_step

from partq.conformance.history import History, Record
from partq.conformance.history.entities import asked
from partq.conformance.workload.operations.table import OPERATIONS
from partq.conformance.workload.program import Program, Step
from partq.conformance.workload.script import Script
from partq.model.operations import CLOCK, DRAINER, ENV, OPS, UNDOES

_BY_INDEX: Final = tuple(name for name, one in OPERATIONS.items() if "index" in one.args)
"""The faults whose record has the broker's own name for what a step names by an index."""


def guesses(program: Program, history: History, witness: Collection[int]) -> Iterator[Program]:
    """Programs made of parts of the history, the smallest first: of the witness and what it needs; with the
    waits; of all that concerns its messages; of everything up to its end."""
    records = [r for r in history.records if r.proc != DRAINER and r.op in OPERATIONS]
    records.sort(key=_moment)
    end = max((r.i for r in history.records if r.i in witness), default=0)
    shown = [r for r in history.records if r.i in witness]
    needed = _needed(records, shown)
    alike = {name for r in shown for name in r.ids}
    locks = {one.lock for r in records for one in r.messages if one.id in alike} - {None}
    alike_in = (r.i for r in records if not (alike.isdisjoint(r.ids) and locks.isdisjoint(_names(r))))
    concerned = needed | {*alike_in}
    waits = {r.i for r in records if r.op == CLOCK}
    parts = (needed, needed | waits, concerned, _needed(records, records, concerned | waits))
    tried: list[tuple[Step, ...]] = []
    for chosen in (*parts, {r.i for r in records if r.i <= end}):
        steps = _steps(program, [r for r in records if r.i in chosen])
        if steps and steps not in tried:
            tried.append(steps)
            yield replace(program.with_steps(steps), sequential=True)


def _moment(record: Record) -> int:
    """When it most likely took effect: an answer may hold what was sent only while it was waited for."""
    return record.call if record.ret is None or not record.messages else record.ret


def with_locks(program: Program, duration: int) -> Program:
    """The program with locks that last so many ns, and its waits shorter, or longer, in proportion."""
    usual = program.entity.lock_duration
    steps = [
        replace_step(step, args={"by": max(1, step.args["by"] * duration // usual)})
        if step.op == CLOCK
        else step
        for step in program.steps
    ]
    return replace(program.with_steps(tuple(steps)), entity=replace(program.entity, lock_duration=duration))


def _needed(records: list[Record], shown: list[Record], chosen: Collection[int] = ()) -> set[int]:
    """The records shown, or chosen, and those without which they could not be: that sent their messages, gave
    their locks, opened their transactions and flows, and repaired what their faults had broken. What is shown
    with the sends that matter needs no others, whatever else its answers hold."""
    senders = () if chosen else (r for r in shown if "messages" in r.args)
    matter = {one.id for r in senders for one in r.sent}
    shown = [r for r in shown if r.i in chosen] if chosen else shown
    names = {name for r in shown for name in _names(r)}
    messages = matter or {name for r in shown for name in r.ids}
    messages |= {one.id for r in records for one in r.messages if one.lock in names}
    numbers = {r.args["seq"] for r in shown if "seq" in r.args}
    messages |= {one.id for r in records for one in r.messages if one.seq in numbers}
    broken = {r.op for r in shown if OPS[r.op].undone_by}
    last = max((r.i for r in shown), default=0)
    found = {r.i for r in shown}
    for record in records:
        sends = any(one.id in messages for one in record.sent)
        gives = any(one.lock in names for one in record.messages)
        opens = OPS[record.op].opens and not names.isdisjoint(_names(record))
        repairs = UNDOES.get(record.op) in broken and record.i <= last
        if sends or gives or opens or repairs:
            found.add(record.i)
    return found


def _names(record: Record) -> set[str]:
    """The locks, the transaction and the flow that the record names."""
    args = record.args
    return {*args.get("locks", ()), *(args[name] for name in ("lock", "txn", "flow") if args.get(name))}


def _steps(program: Program, records: list[Record]) -> tuple[Step, ...]:
    scripts: dict[str, Script] = {}
    sent = {one.id for record in records for one in record.sent}
    struck = {op: [step for step in program.steps if step.op == op] for op in _BY_INDEX}
    steps = []
    for record in records:
        if record.proc == ENV:
            at = struck.get(record.op, [])
            takes = OPERATIONS[record.op].args
            args = at.pop(0).args if at else {k: v for k, v in record.args.items() if k in takes}
            steps.append(Step(ENV, record.op, args))
            continue
        script = scripts.setdefault(record.proc, Script(record.proc))
        script.now = record.call
        args = asked(record)
        known = OPERATIONS[record.op].retraced(script, args)
        if known is not None:
            steps.append(Step(record.proc, record.op, known))
        came = tuple(one for one in record.messages if one.id in sent or not sent)
        script.absorb(record.op, args, record.outcome, record.error, came)
    return tuple(steps)
