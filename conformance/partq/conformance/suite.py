"""The suite on one broker and profile: directed cases and seeded programs, run, judged and merged.

Neutral of who shows it: the command line and the pytest plugin both call this. Adapters do the I/O.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from traceback import extract_tb

from .adapters import Broker, SimulatedBroker, Unreachable
from .assess import Inspection, assess, not_applicable, verdicts
from .campaign.plan import trace_seed
from .cases import Case
from .history import History
from .program import Program
from .runner import run
from .verdict import Finding, Verdicts, merge
from .workload import generate

PROGRAMS_SIMULATED = 200
PROGRAMS_LIVE = 3
"""How many seeded programs a run has unless asked otherwise."""


class BrokerFailed(Exception):
    """The adapter raised where nothing may be raised. The text says what and where, in one line."""


@dataclass(frozen=True, slots=True)
class Run:
    """One program's run. ``name``: its case, or ``program N``, the number its seed was made from."""

    name: str
    program: Program
    history: History
    verdicts: Verdicts

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Everything found, in the catalogue's order."""
        return tuple(finding for verdict in self.verdicts.values() for finding in verdict.findings)


@dataclass(frozen=True, slots=True)
class SuiteResult:
    """``verdicts``: all runs merged, one for every row of the catalogue. ``cases``: each case's verdicts.
    ``kept``: the runs that found something, with their histories. ``runs``: how many there were."""

    profile: str
    verdicts: Verdicts
    cases: dict[str, Verdicts]
    kept: tuple[Run, ...]
    runs: int

    def evidence(self, finding: Finding) -> Run | None:
        """The run that the finding comes from, or None."""
        return next((run for run in self.kept if finding in run.verdicts[finding.requirement].findings), None)


def run_case(broker: Broker, profile: str, case: Case) -> Run:
    """Run one case and judge its history."""
    return _run(broker, profile, case.name, case.build(profile))


def default_programs(broker: Broker) -> int:
    """How many seeded programs a run of this broker has unless asked otherwise."""
    return PROGRAMS_SIMULATED if isinstance(broker, SimulatedBroker) else PROGRAMS_LIVE


def cases_for(broker: Broker, profile: str, cases: Iterable[Case]) -> tuple[Case, ...]:
    """Those of the cases that the profile has, and of whose requirements one applies to the broker."""
    broker.profile = profile
    exempt = not_applicable(profile, tuple(sorted(broker.lacks())))
    return tuple(
        case for case in cases if profile in case.profiles and not exempt.keys() >= set(case.requirements)
    )


def run_suite(
    broker: Broker,
    profile: str,
    cases: Iterable[Case],
    programs: int,
    seed: int,
    on_run: Callable[[Run], None] = lambda run: None,
) -> SuiteResult:
    """Run the cases that apply, then that many seeded programs; ``on_run`` hears of each as it is judged.

    The programs are the first traces of a campaign with that seed. Raises `Unreachable` and `BrokerFailed`;
    what goes wrong once the broker is open is in the verdicts.
    """
    directed = cases_for(broker, profile, cases)
    lacks = broker.lacks()
    results: list[Verdicts] = [verdicts(Inspection(), profile, tuple(sorted(lacks)))]
    by_case: dict[str, Verdicts] = {}
    kept: list[Run] = []
    for done in _runs(broker, profile, directed, programs, seed):
        results.append(done.verdicts)
        if len(by_case) < len(directed):
            by_case[done.name] = done.verdicts
        if done.findings:
            kept.append(done)
        on_run(done)
    return SuiteResult(profile, merge(results), by_case, tuple(kept), len(results) - 1)


def _runs(broker: Broker, profile: str, cases: tuple[Case, ...], programs: int, seed: int) -> Iterator[Run]:
    for case in cases:
        yield run_case(broker, profile, case)
    lacks = broker.lacks()
    for number in range(programs):
        program = generate(profile, trace_seed(seed, number), lacks=lacks)
        yield _run(broker, profile, f"program {number}", program)


def _run(broker: Broker, profile: str, name: str, program: Program) -> Run:
    broker.profile = profile
    try:
        history = run(broker, program)
    except Unreachable:
        raise
    except Exception as error:
        place = extract_tb(error.__traceback__)[-1]
        kind = f"{type(broker).__name__} raised {type(error).__name__}"
        raise BrokerFailed(f"{kind}: {error} ({place.filename}:{place.lineno}), in {name}") from error
    return Run(name, program, history, assess(history))
