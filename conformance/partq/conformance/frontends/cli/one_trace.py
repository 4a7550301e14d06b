"""``partq fuzz --trace N``: one trace of a campaign, run here and judged with a generous budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, NoReturn

from partq.conformance.adapters import Broker, open_broker, public_name
from partq.conformance.frontends.campaign.plan import command_of, program_of
from partq.conformance.frontends.cli.common import Format, fail, failing, is_live
from partq.conformance.frontends.cli.lazy import lazily
from partq.conformance.frontends.cli.publishing import Answer
from partq.conformance.frontends.cli.shown import Detail, evidence_in
from partq.conformance.frontends.cli.streams import printable, say
from partq.conformance.history import History
from partq.conformance.history.codec import write_history
from partq.conformance.verdict import plural, verdicts_of
from partq.conformance.workload.program import Program, dumps

with lazily():
    from partq.conformance.evaluation import decision, suite
    from partq.conformance.frontends.campaign import limits
    from partq.conformance.screens import registry

NODES: Final = 20_000
AGAIN: Final = 500_000
"""How many nodes the judge visits at the most, and at its second look: a minute or two."""

PROGRAM: Final = "program.json"
HISTORY: Final = "history.ndjson"
"""The files of ``--out``."""


@dataclass(frozen=True, slots=True)
class Trace:
    """One trace of a campaign: whose broker's, under which profile, with which seed and length."""

    broker: str
    profile: str
    number: int
    seed: int
    length: int | None = None

    @property
    def command(self) -> str:
        """What runs it alone, without the broker's password."""
        return command_of(self.broker, self.profile, self.number, self.seed, self.length)

    def program(self, broker: Broker) -> Program:
        """Its program. Raises `BrokerFailed`."""
        broker.profile = self.profile
        return program_of(broker, self.seed, self.number, self.length, suite.lacks_of(broker))


def trace_of(
    broker: str, profiles: Sequence[str], number: int, seed: int, length: int | None, out: str | None
) -> Trace:
    """The trace that the options name; ends with one line where they do not name one."""
    if len(profiles) != 1:
        fail(f"--trace is of one profile: add --profile, one of {', '.join(profiles)}")
    if out is not None and Path(out).exists():
        fail(f"{out} exists: give a new folder")
    return Trace(broker, profiles[0], number, seed, length)


def run_trace(
    trace: Trace, out: str | None, strict: bool, verbose: bool, format: Format, limit: float
) -> NoReturn:
    """Run it, judge it, print what there is to say of it, and store program and history in the folder.
    ``limit``: the seconds that a simulated broker may take; 0: as many as it takes."""
    broker, name = open_broker(trace.broker), f"trace {trace.number}"
    program = trace.program(broker)
    ending = suite.histories(broker, trace.profile, [suite.NamedProgram(name, program)])
    ((_, history),) = limits.each_within(0.0 if is_live(broker) else limit, ending)
    stored = _stored(out, program, history)
    decided = decision.Decider(decision.Exactness(nodes=NODES, again=AGAIN)).decide(history)
    verdicts = verdicts_of(decided, trace.profile, registry.ALL, history.header.lacks)
    results = {trace.profile: verdicts}
    evidence = evidence_in({trace.profile: [suite.Run(name, program, history, verdicts)]})
    judged = ", ".join(decided.judged)
    figures = {"trace": trace.number, "profile": trace.profile, "seed": trace.seed}
    figures |= {"judged": judged, "why": decided.why, "command": trace.command}

    def rest() -> None:
        done = f"{plural(len(history), 'operation')} of {plural(len(program.steps), 'step')}"
        say(f"{name}, seed {program.seed}: {done}")
        say(printable(": ".join(filter(None, ("judge", judged, decided.why)))))
        if stored:
            say(printable(f"stored in {stored}"))

    answer = Answer(public_name(trace.broker), results, strict)
    answer.end(format, partial(answer.show, Detail(verbose), evidence, rest=rest), trace=figures)


def _stored(out: str | None, program: Program, history: History) -> str:
    """Where program and history were stored; empty where nobody asked for it."""
    if out is None:
        return ""
    folder = Path(out)
    with failing(out, inside=True):
        folder.mkdir(parents=True)
        (folder / PROGRAM).write_text(dumps(program) + "\n", encoding="utf-8")
        write_history(folder / HISTORY, history)
    return f"{folder / PROGRAM} and {folder / HISTORY} (partq check {folder / HISTORY})"
