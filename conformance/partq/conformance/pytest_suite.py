"""The suite as pytest items, one for each requirement of each case. Registered by `plugin.py` where wanted.

pytest finds this file in ``--pyargs partq.conformance``; the items are made here and not from functions, so
that no module of ours is imported by its path. A case is run once and shared by its items. The selected cases
of a live broker are run several at once, where it allows that; in workers of xdist, which share them out,
each when it is asked for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

from partq.model.profiles import PROFILES, UnknownProfile, profile
from partq.model.requirements import Level, catalogue

from .adapters import Broker, UnknownBroker, Unreachable, claimed_profiles, open_broker, public_name
from .cases import ALL_CASES, Case
from .suite import JOBS, BrokerFailed, Run, Task, Ways, cases_for, runs
from .terse import witness
from .verdict import Exit, Finding, Status, Verdict, merge

HERE: Final = Path(__file__).resolve()

OTHERS: Final = "other-rules"
"""The item of a case for the rules it does not name: none of them may be violated either."""

USAGE: Final = "partq: no broker to check; give one: pytest --pyargs partq.conformance --broker=reference"

COLOURS: Final[Mapping[Status, Mapping[str, bool]]] = {
    Status.PASS: {"green": True},
    Status.VIOLATED: {"red": True, "bold": True},
    Status.UNKNOWN: {"yellow": True},
}


Batch = Generator[tuple[int, Run], None, None]


class NotConformant(Exception):
    """A requirement is violated or unknown; the text is what the report shows."""


class SuitePlugin:
    """One session's suite: which broker, which profiles, the runs so far, the statuses reported so far.

    Raises `pytest.UsageError` where the options name no broker or profile.
    """

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.broker: str | None = config.getoption("partq_broker")
        self.strict: bool = config.getoption("partq_strict")
        self.profiles = () if self.broker is None else self._profiles(self.broker)
        self.brokers: dict[str, Broker] = {}
        self.runs: dict[tuple[str, str], Run | Exception] = {}
        self.batches: dict[tuple[str, tuple[str, ...]], Batch] = {}
        self.reported: list[dict[str, Verdict]] = []

    def _profiles(self, broker: str) -> tuple[str, ...]:
        try:
            asked = tuple(profile(name).name for name in self.config.getoption("partq_profile") or ())
            return asked or claimed_profiles(open_broker(broker)) or tuple(PROFILES)
        except (UnknownBroker, UnknownProfile) as error:
            raise pytest.UsageError(f"partq: {error}") from None

    def opened(self, profile_name: str) -> Broker:
        """The profile's broker, made once in this process."""
        broker = self.brokers.get(profile_name)
        if broker is None:
            assert self.broker is not None
            broker = self.brokers[profile_name] = open_broker(self.broker)
            broker.profile = profile_name
        return broker

    def run(self, item: CaseItem) -> Run:
        """The item's case's run, done once in this process. Raises what it raised, each time."""
        name = item.profile_name
        key = (name, item.case.name)
        if key not in self.runs:
            cases = self._together(item)
            batch = self._batch(name, cases)
            try:
                while key not in self.runs:
                    _, ended = next(batch)
                    self.runs[name, ended.name] = ended
            except (Unreachable, BrokerFailed) as error:
                for case in cases:
                    self.runs.setdefault((name, case.name), NotConformant(str(error)))
        done = self.runs[key]
        if isinstance(done, Exception):
            raise done
        return done

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
            assert self.broker is not None
            ways = Ways(partial(open_broker, self.broker), self.config.getoption("partq_jobs") or JOBS)
            tasks = [Task(case.name, case.build(profile_name)) for case in cases]
            self.batches[key] = runs(self.opened(profile_name), profile_name, tasks, ways)
        return self.batches[key]

    # What pytest finds in our folder: this file alone, and no package to be imported by its path.

    @pytest.hookimpl(tryfirst=True)
    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        """Leave out everything of ours but this file."""
        path = collection_path.resolve()
        return True if HERE.parent in path.parents and path != HERE else None

    @pytest.hookimpl(tryfirst=True)
    def pytest_collect_directory(self, path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        """Take our folder for a plain one."""
        if path.resolve() == HERE.parent:
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

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note an item's status, here or in a worker."""
        if report.when == "call":
            self.reported.append(dict(_statuses(dict(report.user_properties))))

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """End what is still running. A run in which nothing was put to the test is no success."""
        for batch in self.batches.values():
            batch.close()
        if exitstatus == pytest.ExitCode.OK and self.reported and not self._exercised():
            session.exitstatus = Exit.INCONCLUSIVE

    def _exercised(self) -> bool:
        return any(verdict.exercised for statuses in self.reported for verdict in statuses.values())

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """One line for each requirement, or how to use the suite."""
        if self.broker is None:
            terminalreporter.write_line(USAGE)
            return
        if not self.reported:
            return
        terminalreporter.section(f"partq: {public_name(self.broker)}")
        total = merge(self.reported)
        for requirement, row in catalogue().items():
            if requirement in total:
                verdict = total[requirement]
                times = f"{verdict.exercised:,}×" if verdict.exercised else ""
                terminalreporter.write(f"{requirement:9} {row.level.value:6} {row.title:45} ")
                terminalreporter.write(f"{verdict.status.value:14}", **COLOURS.get(verdict.status, {}))
                terminalreporter.write_line(f" {times}")
        counts = Counter(verdict.status.value for verdict in total.values())
        terminalreporter.write_line(", ".join(f"{count} {status}" for status, count in counts.items()))
        if not self._exercised():
            terminalreporter.write_line("partq: nothing was exercised: inconclusive", yellow=True)


class SuiteFile(pytest.File):
    """Every item, a case's together."""

    def __init__(self, *, suite: SuitePlugin, **more: Any) -> None:
        short: Any = "partq"  # text or a NodeId, by pytest's version
        super().__init__(nodeid=short, **more)
        self.suite = suite

    def collect(self) -> Iterator[pytest.Item]:
        """An item for each requirement of each case that applies, and one for all other rules."""
        suite = self.suite
        for name in suite.profiles:
            label = "" if len(suite.profiles) == 1 else f"-{name}"
            for case in self._cases(name):
                for requirement in (*case.requirements, OTHERS):
                    item: CaseItem = CaseItem.from_parent(
                        self,
                        name=f"{requirement}[{case.name}{label}]",
                        case=case,
                        profile_name=name,
                        requirement=requirement,
                    )
                    if suite.config.pluginmanager.hasplugin("xdist"):
                        item.add_marker(pytest.mark.xdist_group(f"{case.name}{label}"))
                    yield item

    def _cases(self, profile_name: str) -> tuple[Case, ...]:
        try:
            return cases_for(self.suite.opened(profile_name), profile_name, ALL_CASES.values())
        except BrokerFailed as error:
            raise self.CollectError(str(error)) from None


class CaseItem(pytest.Item):
    """One requirement in one case."""

    def __init__(self, *, case: Case, profile_name: str, requirement: str, **more: Any) -> None:
        super().__init__(**more)
        parent = more["parent"]
        self.suite: SuitePlugin = parent.suite
        self.case = case
        self.profile_name = profile_name
        self.requirement = requirement

    def runtest(self) -> None:
        """Pass, fail or skip by the requirement's verdict in the case's history."""
        properties = {"requirement": self.requirement, "case": self.case.name, "profile": self.profile_name}
        self.user_properties.extend(properties.items())
        run = self.suite.run(self)
        if self.requirement == OTHERS:
            self._others(run)
        else:
            self._judge(run, run.verdicts[self.requirement])

    def _judge(self, run: Run, verdict: Verdict) -> None:
        self.user_properties += [("status", verdict.status.value), ("exercised", verdict.exercised)]
        if verdict.status is Status.VIOLATED:
            self._violated(run, verdict.findings)
        elif verdict.status is Status.UNKNOWN:
            raise NotConformant(f"unknown: {verdict.reason}")
        elif verdict.status is not Status.PASS:
            pytest.skip(f"{verdict.status.value}{f': {verdict.reason}' if verdict.reason else ''}")

    def _others(self, run: Run) -> None:
        named = set(self.case.requirements)
        found = [finding for finding in run.findings if finding.requirement not in named]
        rules = dict.fromkeys(finding.requirement for finding in found)
        self.user_properties += [("status", Status.VIOLATED.value if rules else Status.PASS.value)]
        self.user_properties += [("violated", ", ".join(rules))] if rules else []
        if found:
            self._violated(run, tuple(found))

    def _violated(self, run: Run, findings: tuple[Finding, ...]) -> None:
        binding = {finding.requirement for finding in findings if _binding(finding, self.suite.strict)}
        text = "\n\n".join(_text(run, finding) for finding in findings[:3])
        if not binding:
            pytest.xfail(f"violated, but no MUST: {findings[0].title}")
        raise NotConformant(text)

    def repr_failure(self, excinfo: Any, style: Any = None) -> Any:
        """What was found, without a traceback of ours."""
        if isinstance(excinfo.value, NotConformant):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        """What a failure's heading says."""
        return self.path, None, f"{self.name} {self.profile_name}"


def _binding(finding: Finding, strict: bool) -> bool:
    level = catalogue()[finding.requirement].level
    return level is Level.MUST or (strict and level is Level.SHOULD)


def _text(run: Run, finding: Finding) -> str:
    shown = [f"    {text}" for text in witness(finding, run.history)]
    rows = [f"{finding.requirement} violated: {finding.title}", f"  {finding.detail}"]
    return "\n".join([*rows, f"  allowed: {finding.allowed}", *shown])


def _statuses(properties: Mapping[str, Any]) -> Iterable[tuple[str, Verdict]]:
    """What an item's properties say, as verdicts by requirement."""
    if "status" not in properties:
        return
    for requirement in filter(None, str(properties.get("violated", "")).split(", ")):
        yield requirement, Verdict(Status.VIOLATED)
    if properties["requirement"] != OTHERS:
        yield properties["requirement"], Verdict(Status(properties["status"]), properties["exercised"])
