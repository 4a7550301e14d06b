"""The suite on one broker and profile: directed cases and seeded programs, run, judged and merged.

Neutral of who shows it: the command line and the pytest plugin both call this. Adapters do the I/O.

Programs of a live broker mostly wait, so several are run at once where it allows that, each on a `Broker`
object of its own. What is said of them does not depend on which ends first.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Final, NamedTuple, TypeVar

from partq.conformance.adapters import Broker, Shares, SimulatedBroker, UnknownBroker, Unreachable
from partq.conformance.adapters.protocol import FAULTS
from partq.conformance.adapters.questions import NoAnswer, answer, place
from partq.conformance.adapters.shape import misfit
from partq.conformance.evaluation.activity import activity
from partq.conformance.evaluation.decision import EVERY, SUITE, Checked, Decider, Exactness
from partq.conformance.execution.cancellation import Stop, Stopped
from partq.conformance.execution.runner import run
from partq.conformance.execution.thread_pool import completed
from partq.conformance.history import History
from partq.conformance.screens.registry import ALL
from partq.conformance.verdict import (
    NOTHING_JUDGED,
    OPEN,
    Activity,
    Besides,
    Done,
    Exit,
    Finding,
    Inspection,
    Judging,
    Status,
    Verdicts,
    added,
    ambiguities,
    merge,
    narrowed,
    not_applicable,
    plural,
    share_of,
    stalled,
    tolerated,
    verdicts_of,
)
from partq.conformance.workload.cases.case import Case
from partq.conformance.workload.generator import generate, trace_seed
from partq.conformance.workload.program import Program
from partq.model.conditions import STRIKES
from partq.model.errors import UserError
from partq.model.operations import DRAINER

PROGRAMS_SIMULATED = 200
PROGRAMS_LIVE = 3
"""The default number of seeded programs in a run."""

JOBS: Final = 8
"""The default number of programs that a live broker runs at once."""

ADAPTER: Final = "adapter"
"""The error of an operation whose adapter raised or answered what it must not."""

log = logging.getLogger(__name__)

T = TypeVar("T")


_warn: Final = partial(log.warning, "%s: %s")


class BrokerFailed(UserError):
    """The adapter raised where it must not. The text says what and where, in one line."""


class NamedProgram(NamedTuple):
    """A program to be run, and the name of its run."""

    name: str
    program: Program


@dataclass(frozen=True, slots=True)
class Run:
    """One program's run. ``name``: its case, its own, or ``program N``, the number its seed was made from.
    ``judging``: what the judge did with its history."""

    name: str
    program: Program
    history: History
    verdicts: Verdicts
    judging: Judging = NOTHING_JUDGED

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Everything found, in the catalogue's order."""
        return tuple(finding for verdict in self.verdicts.values() for finding in verdict.findings)

    @property
    def unusable(self) -> tuple[str, ...]:
        """The operations that the adapter answered with what no history can hold."""
        return tuple(record.op for record in self.history.records if record.error == ADAPTER)


def seen_in(runs: Iterable[Run], finding: Finding) -> Run | None:
    """The first of the runs that the finding comes from, or None."""
    return next((run for run in runs if finding in run.verdicts[finding.requirement].findings), None)


@dataclass(frozen=True, slots=True)
class SuiteResult:
    """``verdicts``: all runs merged, one for every rule of the catalogue. ``kept``: the runs that found
    something, with their histories. ``runs``: how many there were. ``unusable``: the answers of the adapter
    that no history can hold, each as its operation and run. ``undecided``: by rule the first run that left it
    so, for the reason that its verdict has.
    ``activity``: what all runs show of it. ``faults``: how often each fault struck. ``judging``: what the
    judge did with the histories."""

    profile: str
    verdicts: Verdicts
    kept: tuple[Run, ...]
    runs: int
    unusable: Sequence[str] = ()
    undecided: Mapping[str, str] = field(default_factory=dict)
    activity: Activity = field(default_factory=dict)
    faults: Mapping[str, int] = field(default_factory=dict)
    judging: Judging = NOTHING_JUDGED

    @property
    def done(self) -> Done:
        """The programs and faults that the broker was given."""
        return Done(self.runs, self.faults)

    @property
    def besides(self) -> list[Besides]:
        """What the exit code comes from beside the verdicts: what the adapter answered that no history can
        hold, what the broker did not do, and what the judge did not decide, which the verdicts tell, too."""
        found = stalled(self.profile, self.activity)
        found += [(code, f"{why} ({self.profile})") for code, why in self.judging.besides()]
        if self.unusable:
            were = "was" if len(self.unusable) == 1 else "were"
            answers = f"{plural(len(self.unusable), 'answer')} of the adapter {were} unusable"
            why = f"{answers}: first that to {self.unusable[0]} ({self.profile})"
            found.append((Exit.INCONCLUSIVE, why))
        return found

    def evidence(self, finding: Finding) -> Run | None:
        """The run that the finding comes from, or None."""
        return seen_in(self.kept, finding)

    def evidence_of(self, candidates: tuple[str, ...]) -> Run | None:
        """The first run in which one of these rules certainly is violated, not known which, or None."""
        return next((run for run in self.kept if candidates in ambiguities(run.verdicts)), None)


@dataclass(frozen=True, slots=True)
class Ways:
    """How programs are run. ``another``: makes a further object of the same broker. ``jobs``: so many
    programs at once, if there is another and the broker allows it. ``on_problem``: called with the run's
    name and the problem, where the adapter did something wrong. ``exact``: how much the judge is asked;
    None: by the kind of broker, see `deciding`. ``focus``: what of each run's verdicts counts."""

    another: Callable[[], Broker] | None = None
    jobs: int = JOBS
    on_problem: Callable[[str, str], None] = _warn
    exact: Exactness | None = None
    focus: Callable[[Verdicts], Verdicts] = dict

    def at_once(self, broker: Broker) -> int:
        """How many programs of this broker are run at once."""
        alone = isinstance(broker, SimulatedBroker) or broker.shares is Shares.EVERYTHING
        return 1 if alone or self.another is None else max(1, self.jobs)


ONE_AT_A_TIME: Final = Ways(jobs=1)


def default_programs(broker: Broker) -> int:
    """The default number of seeded programs for this broker."""
    return PROGRAMS_SIMULATED if isinstance(broker, SimulatedBroker) else PROGRAMS_LIVE


def cases_for(broker: Broker, profile: str, cases: Iterable[Case]) -> tuple[Case, ...]:
    """The cases of the profile with at least one requirement that applies to the broker."""
    broker.profile = profile
    exempt = not_applicable(profile, ALL, tuple(sorted(lacks_of(broker))))
    return tuple(case for case in cases if case.fits(profile) and not exempt.keys() >= set(case.requirements))


def lacks_of(broker: Broker) -> frozenset[str]:
    """What the broker says that it lacks. Raises `BrokerFailed` where it does not say that, and where its
    classes are not what an adapter's have to be."""
    if wrong := misfit(broker):
        raise BrokerFailed(wrong)
    name = f"{type(broker).__name__}.lacks()"
    try:
        lacks = answer(lambda: frozenset(broker.lacks()))
    except NoAnswer as error:
        raise BrokerFailed(f"{name}: {error}") from error
    if not all(isinstance(one, str) for one in lacks):
        raise BrokerFailed(f"{name} answered what are no names of operations")
    return lacks


def run_suite(
    broker: Broker,
    profile: str,
    cases: Iterable[Case],
    programs: int,
    seed: int,
    on_run: Callable[[Run], None] = lambda run: None,
    *,
    ways: Ways = ONE_AT_A_TIME,
    on_end: Callable[[Run], None] = lambda run: None,
    named: Sequence[NamedProgram] = (),
    share: Fraction = share_of(OPEN),
) -> SuiteResult:
    """Run the cases that apply, then the programs that are ``named``, then that many seeded ones; ``on_run``
    is called with each, judged, in this order, ``on_end`` as they end. ``share``: of the runs that
    exercise a rule so many may be undecided, and it passes.

    The programs are the first traces of a campaign with that seed. Raises `Unreachable` and `BrokerFailed`;
    what goes wrong once the broker is open is in the verdicts.
    """
    lacks = lacks_of(broker)
    tasks = [NamedProgram(case.name, case.build(profile)) for case in cases_for(broker, profile, cases)]
    tasks += named
    tasks += seeded(broker, profile, seed, range(programs))
    ordered: list[Run] = []
    with closing(runs(broker, profile, tasks, ways)) as ending:
        for _, run_ in _in_order(_told(ending, on_end)):
            on_run(run_)
            ordered.append(run_)
    nothing = ways.focus(verdicts_of(Inspection(), profile, ALL, tuple(sorted(lacks))))
    unusable = [f"{op} in {run_.name}" for run_ in ordered for op in run_.unusable]
    shown = sum((activity(run_.history) for run_ in ordered), Counter[str]())
    verdicts = merge([nothing, *(run_.verdicts for run_ in ordered)])
    return SuiteResult(
        profile,
        tolerated(narrowed(verdicts, profile, ALL, shown), share),
        tuple(run_ for run_ in ordered if run_.findings or ambiguities(run_.verdicts)),
        len(ordered),
        unusable,
        {
            id: run_.name
            for run_ in reversed(ordered)
            for id, one in run_.verdicts.items()
            if one.status is Status.UNKNOWN and one.reason == verdicts[id].reason
        },
        shown,
        Counter(
            record.op
            for run_ in ordered
            for record in run_.history.records  # but those of the drain
            if record.op in STRIKES and record.proc != DRAINER and not record.refused
        ),
        added(run_.judging for run_ in ordered),
    )


def seeded(broker: Broker, profile: str, seed: int, numbers: Iterable[int]) -> list[NamedProgram]:
    """The seeded programs of these numbers. Raises `BrokerFailed`."""
    lacks, lock_duration = lacks_of(broker), broker.lock_duration
    return [
        NamedProgram(
            f"program {n}", generate(profile, trace_seed(seed, n), lacks=lacks, lock_duration=lock_duration)
        )
        for n in numbers
    ]


def runs(
    broker: Broker, profile: str, tasks: Sequence[NamedProgram], ways: Ways = ONE_AT_A_TIME
) -> Generator[tuple[int, Run], None, None]:
    """Run and judge the tasks. Each one's number and run, in the order of `histories`, and raises as it.

    They are judged in this order, whichever ends first, so that what is learnt of one always serves the same
    others.
    """
    check = deciding(broker, ways.exact)
    with closing(histories(broker, profile, tasks, ways)) as ending:
        for number, history in ending:
            task = tasks[number]
            verdicts, judging = check(history, number)
            judging = judging.of(task.name)
            yield number, Run(task.name, task.program, history, ways.focus(verdicts), judging)


def usual(broker: Broker) -> Exactness:
    """How much the judge is asked about the broker's histories. Those of a live one are few: each is judged
    as ``partq check`` does, so that both say the same of it."""
    return SUITE if isinstance(broker, SimulatedBroker) else EVERY


def deciding(broker: Broker, exact: Exactness | None) -> Callable[[History, int], Checked]:
    """How the broker's histories, each with its number, are judged: together if they share an allowance, else
    each for itself."""
    asked = exact or usual(broker)
    if asked.allowance is None:
        return lambda history, number: Decider(asked).check(history, number)
    return Decider(asked).check


def histories(
    broker: Broker, profile: str, tasks: Sequence[NamedProgram], ways: Ways = ONE_AT_A_TIME
) -> Generator[tuple[int, History], None, None]:
    """Run the tasks. Each one's number and history, in the order in which they are begun.

    Those come first that may run at once; then, one by one, those whose faults would strike the others.
    Raises `Unreachable` and `BrokerFailed`; the runs under way are broken off then, and when it is closed.
    """
    jobs = ways.at_once(broker)
    faulty = [number for number, task in enumerate(tasks) if jobs > 1 and _strikes(broker, task.program)]
    free = [number for number in range(len(tasks)) if number not in set(faulty)]
    brokers = _Brokers(broker, ways.another, profile)
    for numbers, at_once in ((free, jobs), (faulty, 1)):
        work = [partial(_history, brokers, tasks[number], ways.on_problem) for number in numbers]
        with closing(completed(work, at_once)) as ending:
            for place, history in _in_order(ending):
                yield numbers[place], history


def _told(ending: Iterable[tuple[int, T]], tell: Callable[[T], None]) -> Iterator[tuple[int, T]]:
    """What ends, numbered, when it was told."""
    for number, one in ending:
        tell(one)
        yield number, one


def _in_order(ending: Iterable[tuple[int, T]]) -> Iterator[tuple[int, T]]:
    """What ends by its numbers, each as soon as those before it have ended."""
    ended: dict[int, T] = {}
    following = 0
    for number, one in ending:
        ended[number] = one
        while following in ended:
            yield following, ended.pop(following)
            following += 1


def _strikes(broker: Broker, program: Program) -> bool:
    """Whether the program would strike other programs too."""
    faults = set(FAULTS) - lacks_of(broker)
    return broker.shares is not Shares.NOTHING and any(step.op in faults for step in program.steps)


class _Brokers:
    """Objects of one broker, each for one program at a time. One that hangs is not used again."""

    def __init__(self, first: Broker, another: Callable[[], Broker] | None, profile: str) -> None:
        self.idle = [first]
        self.another = another or (lambda: first)
        self.profile = profile

    @contextmanager
    def one(self) -> Iterator[Broker]:
        """One to run a program on."""
        broker = self._taken()
        broker.profile = self.profile
        yield broker
        if not broker.hung:
            self.idle.append(broker)

    def _taken(self) -> Broker:
        with suppress(IndexError):
            return self.idle.pop()  # one step, whichever thread comes first
        try:
            return self.another()
        except UnknownBroker as error:
            raise BrokerFailed(str(error)) from error


def _history(
    brokers: _Brokers, task: NamedProgram, on_problem: Callable[[str, str], None], stop: Stop
) -> History:
    with brokers.one() as broker:
        try:
            return run(broker, task.program, on_problem=partial(on_problem, task.name), stop=stop)
        except (Unreachable, Stopped, KeyboardInterrupt):
            raise
        except BaseException as error:
            kind, said = type(error).__name__, " ".join(str(error).splitlines())
            where = f"{place(error)}, in {task.name}"
            raise BrokerFailed(f"{type(broker).__name__} raised {kind}: {said}{where}") from error
