"""The suite as pytest items: one for each requirement of each case, and a few for the seeded programs, which
are those of ``partq run``. Registered by `plugin.py` where wanted.

pytest finds this file in ``--pyargs partq.conformance``; the items are made here and not from functions, so
that no module of ours is imported by its path. A case is run once and shared by its items. The selected cases
of a live broker are run several at once, where it allows that; in workers of xdist, which share them out,
each when it is asked for.

A rule that binds and is violated fails one item of a session, the first that shows it (with xdist, one of
each worker): any further item says which, and is an xfail, as is one that violates a SHOULD. So it is with
several binding rules of which one certainly is violated, unless one of them alone has failed an item. An item
with a rule otherwise left unknown is skipped, and the session then ends with 3, as ``partq run`` does, unless
it fails anyway.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

from partq.conformance.adapters import (
    Broker,
    UnknownBroker,
    Unreachable,
    claimed_profiles,
    open_broker,
    public_name,
)
from partq.conformance.evaluation.suite import (
    JOBS,
    BrokerFailed,
    NamedProgram,
    Run,
    Ways,
    cases_for,
    default_programs,
    lacks_of,
    runs,
    seeded,
)
from partq.conformance.frontends.pytest_plugin.shown import JudgedRuns, Requirements, Violation, violations_in
from partq.conformance.frontends.pytest_plugin.summary import (
    Reported,
    SummaryRow,
    exercised_or_open,
    summary_row,
    unknown_of,
)
from partq.conformance.verdict import Exit, Status, Verdict, Verdicts, binding_requirements, merge
from partq.conformance.workload.cases import ALL_CASES, Case
from partq.model.profiles import PROFILES, UnknownProfile, profile

HERE: Final = Path(__file__).resolve()
PACKAGE: Final = HERE.parents[2]
"""The folder of `partq.conformance`, which the command line names."""
WAY: Final = frozenset((HERE, *HERE.parents[:3]))
"""This file and the folders on the way to it."""

OTHERS: Final = "other-rules"
"""The item of a case for the rules it does not name: none of them may be violated either."""

TOGETHER: Final = 25
"""Seeded programs in an item."""

USAGE: Final = "partq: no broker to check; give one: pytest --pyargs partq.conformance --broker=reference"

Batch = Generator[tuple[int, Run], None, None]


class ItemFailed(Exception):
    """A requirement is violated; the text is what the report shows."""


class CannotRun(Exception):
    """The broker can't be run, so that the session ends; the text says why."""


class SuitePlugin:
    """One session's suite: which broker, which profiles, the runs so far, the verdicts reported so far.
    ``failed``: the item that failed for each profile's rule, or rules of which one certainly is violated.

    Raises `pytest.UsageError` where the options name no broker or profile, or no usable one.
    """

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.broker: str | None = config.getoption("partq_broker")
        self.strict: bool = config.getoption("partq_strict")
        self.brokers: dict[str, Broker] = {}
        self.profiles = () if self.broker is None else self._profiles(self.broker)
        self.runs: dict[tuple[str, str], Run] = {}
        self.batches: dict[tuple[str, tuple[str, ...]], Batch] = {}
        self.failed: dict[tuple[str, Requirements], str] = {}
        self.reported = Reported(self.strict)

    def _profiles(self, broker: str) -> tuple[str, ...]:
        try:
            asked = tuple(profile(name).name for name in self.config.getoption("partq_profile") or ())
            names = asked or claimed_profiles(open_broker(broker)) or tuple(PROFILES)
            for name in names:
                lacks_of(self.opened(name))
        except (UnknownBroker, UnknownProfile, BrokerFailed) as error:
            raise pytest.UsageError(f"partq: {error}") from None
        return names

    def opened(self, profile_name: str) -> Broker:
        """The profile's broker, made once in this process."""
        broker = self.brokers.get(profile_name)
        if broker is None:
            assert self.broker is not None
            broker = self.brokers[profile_name] = open_broker(self.broker)
            broker.profile = profile_name
        return broker

    def run(self, item: CaseItem) -> Run:
        """The item's case's run, done once in this process. Raises `CannotRun`."""
        name = item.profile_name
        key = (name, item.case.name)
        if key not in self.runs:
            batch = self._batch(name, self._together(item))
            try:
                while key not in self.runs:
                    _, ended = next(batch)
                    self.runs[name, ended.name] = ended
            except (Unreachable, BrokerFailed) as error:
                raise CannotRun(str(error)) from None
        return self.runs[key]

    def programs(self, profile_name: str, numbers: range) -> list[Run]:
        """The runs of these seeded programs, on a broker object of their own. Raises `CannotRun`."""
        assert self.broker is not None
        try:
            broker = open_broker(self.broker)
            broker.profile = profile_name
            tasks = seeded(broker, profile_name, self.config.getoption("partq_seed"), numbers)
            return [done for _, done in sorted(runs(broker, profile_name, tasks, self._ways()))]
        except (UnknownBroker, Unreachable, BrokerFailed) as error:
            raise CannotRun(str(error)) from None

    def failing(self, item: SuiteItem, requirements: Requirements) -> str:
        """The item that fails for these rules: one that did for one of them alone, or the first to ask."""
        alone = (self.failed.get((item.profile_name, (requirement,))) for requirement in requirements)
        known = next(filter(None, alone), None)
        return known or self.failed.setdefault((item.profile_name, requirements), item.name)

    def _ways(self) -> Ways:
        assert self.broker is not None
        return Ways(partial(open_broker, self.broker), self.config.getoption("partq_jobs") or JOBS)

    def _together(self, item: CaseItem) -> tuple[Case, ...]:
        """The cases that are run when this item is the first to ask for one of them."""
        if hasattr(self.config, "workerinput"):
            return (item.case,)
        ours = (other for other in item.session.items if isinstance(other, CaseItem))
        same = {other.case.name: other.case for other in ours if other.profile_name == item.profile_name}
        return tuple(same.values())

    def _batch(self, profile_name: str, cases: tuple[Case, ...]) -> Batch:
        key = (profile_name, tuple(case.name for case in cases))
        if key not in self.batches:
            tasks = [NamedProgram(case.name, case.build(profile_name)) for case in cases]
            self.batches[key] = runs(self.opened(profile_name), profile_name, tasks, self._ways())
        return self.batches[key]

    # What pytest finds in our folder: this file alone, and no package to be imported by its path.

    @pytest.hookimpl(tryfirst=True)
    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        """Leave out everything of ours but this file."""
        path = collection_path.resolve()
        return True if PACKAGE in path.parents and path not in WAY else None

    @pytest.hookimpl(tryfirst=True)
    def pytest_collect_directory(self, path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        """Take our folders for plain ones."""
        if path.resolve() in WAY:
            folder: pytest.Dir = pytest.Dir.from_parent(parent, path=path)
            return folder
        return None

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        """Take this file for the suite."""
        if file_path.resolve() == HERE:
            file: SuiteFile = SuiteFile.from_parent(parent, path=file_path, suite=self)
            return file
        return None

    # What is shown.

    def pytest_report_header(self) -> str | None:
        """Which broker is checked."""
        if self.broker is None:
            return None
        return f"partq: {public_name(self.broker)} ({', '.join(self.profiles)})"

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Give the report what the item has to say, in plain data that a worker can send."""
        report = yield
        if isinstance(item, SuiteItem) and report.when == "call":
            report.partq = item.said  # type: ignore[attr-defined]  # pytest keeps a report's own attributes
            if call.excinfo is not None and call.excinfo.errisinstance(CannotRun):
                report.sections.clear()  # what libraries log of it would hide the one line
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note an item's verdicts, here or in a worker."""
        said = getattr(report, "partq", None)
        if said is not None:
            self.reported.add(said)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """End what is still running. A run that decides nothing, or leaves a binding rule open, is no
        success."""
        for batch in self.batches.values():
            batch.close()
        if exitstatus == pytest.ExitCode.OK and self.reported.inconclusive():
            session.exitstatus = Exit.INCONCLUSIVE

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """One line for each requirement, or how to use the suite."""
        if self.broker is None:
            terminalreporter.write_line(USAGE)
        else:
            self.reported.show(terminalreporter, public_name(self.broker))


class SuiteFile(pytest.File):
    """Every item, a case's together."""

    def __init__(self, *, suite: SuitePlugin, **more: Any) -> None:
        short: Any = "partq"  # text or a NodeId, by pytest's version
        super().__init__(nodeid=short, **more)
        self.suite = suite

    def collect(self) -> Iterator[pytest.Item]:
        """An item for each requirement of each case that applies, one for all other rules, and in the end the
        seeded programs. The other rules come after the named ones, so that these fail first; not in workers,
        where a case's items are to stay together."""
        suite = self.suite
        for name in suite.profiles:
            label = "" if len(suite.profiles) == 1 else f"-{name}"
            items = list(self._cases(name, label))
            if not hasattr(suite.config, "workerinput"):
                items.sort(key=lambda item: item.requirement == OTHERS)
            yield from items
            yield from self._programs(name, label)

    def _cases(self, profile_name: str, label: str) -> Iterator[CaseItem]:
        for case in cases_for(self.suite.opened(profile_name), profile_name, ALL_CASES.values()):
            for requirement in (*case.requirements, OTHERS):
                item: CaseItem = CaseItem.from_parent(
                    self,
                    name=f"{requirement}[{case.name}{label}]",
                    case=case,
                    profile_name=profile_name,
                    requirement=requirement,
                )
                if self.suite.config.pluginmanager.hasplugin("xdist"):
                    item.add_marker(pytest.mark.xdist_group(f"{case.name}{label}"))
                yield item

    def _programs(self, profile_name: str, label: str) -> Iterator[pytest.Item]:
        asked = self.suite.config.getoption("partq_programs")
        wanted = default_programs(self.suite.opened(profile_name)) if asked is None else asked
        for first in range(0, wanted, TOGETHER):
            numbers = range(first, min(first + TOGETHER, wanted))
            item: ProgramsItem = ProgramsItem.from_parent(
                self,
                name=f"programs[{first}-{numbers[-1]}{label}]",
                profile_name=profile_name,
                numbers=numbers,
            )
            yield item


class SuiteItem(pytest.Item):
    """What all our items have: a profile, and what they say, ``said``, for the summary."""

    def __init__(self, *, profile_name: str, **more: Any) -> None:
        super().__init__(**more)
        self.suite: SuitePlugin = more["parent"].suite
        self.profile_name = profile_name
        self.said: list[SummaryRow] = []

    def say(self, runs: Sequence[Run], verdicts: Verdicts) -> None:
        """Take down these verdicts, which the runs come to together."""
        label = f" ({self.profile_name})" if len(self.suite.profiles) > 1 else ""
        for name, verdict in verdicts.items():
            where = [f"{run.name}{label}" for run in runs if run.verdicts[name].findings]
            self.said.append(summary_row(name, verdict, where))

    def conclude(self, judged: JudgedRuns) -> None:
        """Fail for binding rules that are violated, if no other item did; else xfail for what is violated,
        and skip for what is unknown."""
        binding = binding_requirements(self.suite.strict)
        shown = {
            requirements: one
            for requirements, one in violations_in(judged).items()
            if not one.ambiguous or binding.issuperset(requirements)
        }
        if several := [one.heading for one in shown.values() if one.ambiguous]:
            self.user_properties.append(("ambiguous", "; ".join(several)))
        failing = {
            requirements: self.suite.failing(self, requirements)
            for requirements in shown
            if binding.issuperset(requirements)
        }
        if new := [shown[requirements].text() for requirements, item in failing.items() if item == self.name]:
            raise ItemFailed("\n\n".join(new))
        if shown:
            pytest.xfail("; ".join(self._known(one, failing.get(one.requirements)) for one in shown.values()))
        if unknown := unknown_of(merge(verdicts for _, verdicts in judged)):
            pytest.skip("; ".join(f"{name} unknown: {why}" for name, why in unknown.items()))

    def _known(self, shown: Violation, failing: str | None) -> str:
        why = f"for which {failing} fails" if failing else f"but no MUST: {shown.why}"
        return f"{shown.heading}, {why}"

    def repr_failure(self, excinfo: Any, style: Any = None) -> Any:
        """What was found, without a traceback of ours."""
        if isinstance(excinfo.value, ItemFailed | CannotRun):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        """What a failure's heading says."""
        return self.path, None, f"{self.name} {self.profile_name}"

    def runtest(self) -> None:
        """Judge. That the broker can't be run fails this item and ends the session."""
        self.said = []
        try:
            self.judge()
        except CannotRun as error:
            self.session.shouldstop = f"partq: {error}"
            raise

    def judge(self) -> None:
        """Pass, fail, xfail or skip. Raises `CannotRun`."""
        raise NotImplementedError


class CaseItem(SuiteItem):
    """One requirement in one case."""

    def __init__(self, *, case: Case, requirement: str, **more: Any) -> None:
        super().__init__(**more)
        self.case = case
        self.requirement = requirement

    def judge(self) -> None:
        """By the requirement's verdict in the case's history, or by those of all that it does not name."""
        properties = {"requirement": self.requirement, "case": self.case.name, "profile": self.profile_name}
        self.user_properties.extend(properties.items())
        run = self.suite.run(self)
        if self.requirement == OTHERS:
            self._others(run)
        else:
            self._named(run, run.verdicts[self.requirement])

    def _named(self, run: Run, verdict: Verdict) -> None:
        self.say([run], {self.requirement: verdict})
        self.user_properties += [("status", verdict.status.value), ("exercised", verdict.exercised)]
        self.conclude([(run, {self.requirement: verdict})])
        if verdict.status is not Status.PASS:
            pytest.skip(f"{verdict.status.value}{f': {verdict.reason}' if verdict.reason else ''}")

    def _others(self, run: Run) -> None:
        rest = {
            name: v
            for name, v in exercised_or_open(run.verdicts).items()
            if name not in self.case.requirements
        }
        self.say([run], rest)
        requirements = [name for name, verdict in rest.items() if verdict.findings]
        unknown = unknown_of(rest)
        held = Status.PASS if rest else Status.NOT_EXERCISED
        status = Status.VIOLATED if requirements else Status.UNKNOWN if unknown else held
        self.user_properties += [("status", status.value)]
        rows: dict[str, Collection[str]] = {"violated": requirements, "unknown": unknown}
        self.user_properties += [(word, ", ".join(ids)) for word, ids in rows.items() if ids]
        self.conclude([(run, rest)])
        if not rest:
            pytest.skip(Status.NOT_EXERCISED.value)


class ProgramsItem(SuiteItem):
    """Some of the seeded programs: no rule may be violated in any of them."""

    def __init__(self, *, numbers: range, **more: Any) -> None:
        super().__init__(**more)
        self.numbers = numbers

    def judge(self) -> None:
        """By all verdicts together."""
        self.user_properties += [("profile", self.profile_name), ("programs", len(self.numbers))]
        done = self.suite.programs(self.profile_name, self.numbers)
        total = exercised_or_open(merge(run.verdicts for run in done))
        self.say(done, total)
        rows = (f"{name} {verdict.exercised} {verdict.status.value}" for name, verdict in total.items())
        self.user_properties += [("rows", ", ".join(rows))]
        self.conclude([(run, run.verdicts) for run in done])
        if not any(verdict.exercised for verdict in total.values()):
            pytest.skip(Status.NOT_EXERCISED.value)
