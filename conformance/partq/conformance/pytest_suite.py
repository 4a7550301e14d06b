"""The suite as pytest items: one for each requirement of each case, and a few for the seeded programs, which
are those of ``partq run``. Registered by `plugin.py` where wanted.

pytest finds this file in ``--pyargs partq.conformance``; the items are made here and not from functions, so
that no module of ours is imported by its path. A case is run once and shared by its items. The selected cases
of a live broker are run several at once, where it allows that; in workers of xdist, which share them out,
each when it is asked for.

What fails an item is what makes ``partq run`` end with 1 or 3: a binding rule that is violated or unknown. A
SHOULD that is one of these is an xfail.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

from partq.model.profiles import PROFILES, UnknownProfile, profile
from partq.model.requirements import Level, catalogue

from .adapters import Broker, UnknownBroker, Unreachable, claimed_profiles, open_broker, public_name
from .cases import ALL_CASES, Case
from .suite import JOBS, BrokerFailed, Run, Task, Ways, cases_for, default_programs, runs, seeded
from .terse import witness
from .verdict import Exit, Finding, Status, Verdict, Verdicts, merge

HERE: Final = Path(__file__).resolve()

OTHERS: Final = "other-rules"
"""The item of a case for the rules it does not name: none of them may be violated or unknown either."""

TOGETHER: Final = 25
"""Seeded programs in an item."""

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

    def programs(self, profile_name: str, numbers: range) -> list[Run]:
        """The runs of these seeded programs, on a broker object of their own. Raises `NotConformant`."""
        assert self.broker is not None
        try:
            broker = open_broker(self.broker)
            broker.profile = profile_name
            tasks = seeded(broker, profile_name, self.config.getoption("partq_seed"), numbers)
            return [done for _, done in sorted(runs(broker, profile_name, tasks, self._ways()))]
        except (UnknownBroker, Unreachable, BrokerFailed) as error:
            raise NotConformant(str(error)) from None

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
            tasks = [Task(case.name, case.build(profile_name)) for case in cases]
            self.batches[key] = runs(self.opened(profile_name), profile_name, tasks, self._ways())
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
        """An item for each requirement of each case that applies, one for all other rules, and in the end the
        seeded programs."""
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
            yield from self._programs(name, label)

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

    def _cases(self, profile_name: str) -> tuple[Case, ...]:
        try:
            return cases_for(self.suite.opened(profile_name), profile_name, ALL_CASES.values())
        except BrokerFailed as error:
            raise self.CollectError(str(error)) from None


class SuiteItem(pytest.Item):
    """What all our items have: a profile, and the verdict on what was found."""

    def __init__(self, *, profile_name: str, **more: Any) -> None:
        super().__init__(**more)
        self.suite: SuitePlugin = more["parent"].suite
        self.profile_name = profile_name

    def conclude(self, found: Sequence[tuple[Run, Finding]], unknown: Mapping[str, str]) -> None:
        """Fail for a binding rule that is violated or unknown (requirement -> why); xfail for another."""
        strict = self.suite.strict
        broken = [(run, finding) for run, finding in found if _binding(finding.requirement, strict)]
        if broken:
            raise NotConformant("\n\n".join(_text(run, finding) for run, finding in broken[:3]))
        undecided = [f"{name} unknown: {why}" for name, why in unknown.items() if _binding(name, strict)]
        if undecided:
            raise NotConformant("\n".join(undecided))
        if found:
            pytest.xfail(f"violated, but no MUST: {found[0][1].title}")
        if unknown:
            pytest.xfail(f"unknown, but no MUST: {', '.join(unknown)}")

    def repr_failure(self, excinfo: Any, style: Any = None) -> Any:
        """What was found, without a traceback of ours."""
        if isinstance(excinfo.value, NotConformant):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        """What a failure's heading says."""
        return self.path, None, f"{self.name} {self.profile_name}"


class CaseItem(SuiteItem):
    """One requirement in one case."""

    def __init__(self, *, case: Case, requirement: str, **more: Any) -> None:
        super().__init__(**more)
        self.case = case
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
        unknown = {self.requirement: verdict.reason} if verdict.status is Status.UNKNOWN else {}
        self.conclude([(run, finding) for finding in verdict.findings], unknown)
        if verdict.status is not Status.PASS:
            pytest.skip(f"{verdict.status.value}{f': {verdict.reason}' if verdict.reason else ''}")

    def _others(self, run: Run) -> None:
        rest = {name: v for name, v in run.verdicts.items() if name not in self.case.requirements}
        found = [(run, finding) for verdict in rest.values() for finding in verdict.findings]
        unknown = _unknown(rest)
        rules = dict.fromkeys(finding.requirement for _, finding in found)
        status = Status.VIOLATED if rules else Status.UNKNOWN if unknown else Status.PASS
        self.user_properties += [("status", status.value)]
        rows: dict[str, Iterable[str]] = {"violated": rules, "unknown": unknown}
        self.user_properties += [(word, ", ".join(ids)) for word, ids in rows.items() if ids]
        self.conclude(found, unknown)


class ProgramsItem(SuiteItem):
    """Some of the seeded programs: no rule may be violated or unknown in any of them."""

    def __init__(self, *, numbers: range, **more: Any) -> None:
        super().__init__(**more)
        self.numbers = numbers

    def runtest(self) -> None:
        """Pass, fail or skip by all verdicts together."""
        self.user_properties += [("profile", self.profile_name), ("programs", len(self.numbers))]
        done = self.suite.programs(self.profile_name, self.numbers)
        total = merge(run.verdicts for run in done)
        telling = {name: v for name, v in total.items() if v.exercised or v.status in COLOURS}
        rows = (f"{name} {verdict.exercised} {verdict.status.value}" for name, verdict in telling.items())
        self.user_properties += [("rows", ", ".join(rows))]
        self.conclude([(run, finding) for run in done for finding in run.findings], _unknown(total))
        if not any(verdict.exercised for verdict in total.values()):
            pytest.skip(Status.NOT_EXERCISED.value)


def _unknown(verdicts: Verdicts) -> dict[str, str]:
    return {name: v.reason for name, v in verdicts.items() if v.status is Status.UNKNOWN}


def _binding(requirement: str, strict: bool) -> bool:
    level = catalogue()[requirement].level
    return level is Level.MUST or (strict and level is Level.SHOULD)


def _text(run: Run, finding: Finding) -> str:
    shown = [f"    {text}" for text in witness(finding, run.history)]
    rows = [f"{finding.requirement} violated: {finding.title}", f"  {finding.detail}"]
    return "\n".join([*rows, f"  allowed: {finding.allowed}", *shown])


def _statuses(properties: Mapping[str, Any]) -> Iterable[tuple[str, Verdict]]:
    """What an item's properties say, as verdicts by requirement."""
    for row in _listed(properties, "rows"):
        requirement, exercised, status = row.split(" ", 2)
        yield requirement, Verdict(Status(status), int(exercised))
    for status in (Status.VIOLATED, Status.UNKNOWN):
        for requirement in _listed(properties, status.value):
            yield requirement, Verdict(status)
    if "status" in properties and properties["requirement"] != OTHERS:
        yield properties["requirement"], Verdict(Status(properties["status"]), properties["exercised"])


def _listed(properties: Mapping[str, Any], name: str) -> Iterable[str]:
    return filter(None, str(properties.get(name, "")).split(", "))
