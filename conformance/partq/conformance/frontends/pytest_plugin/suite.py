"""The suite as pytest items: one for each rule that applies to the broker. Registered by `plugin.py` where
wanted.

pytest finds this file in ``--pyargs partq.conformance``; the items are made here and not from functions, so
that no module of ours is imported by its path.

A profile's runs, which are those of ``partq run``, are run once, before its first item, and each item judges
its rule by all of them: so an item that fails bears the name of the rule that is violated, wherever that
showed, and one defect fails one item. Where not all rules are selected, the runs are the cases that name one
of those, the cases that violated one of them when they were last run, and the seeded programs. In workers of
xdist the items of a profile stay together, for another worker would have to run everything again, and a live
broker may answer it otherwise.

A rule that binds and is violated fails; one that does not bind is an xfail, as is what the baseline knows.
Where one of several binding rules certainly is violated, the first of them that is selected fails. Items of
rules that were not exercised, or are otherwise unknown, are skipped, and the session ends with the exit code
of ``partq run``.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

from partq.conformance.adapters import Broker, claimed_profiles, open_broker, public_name
from partq.conformance.evaluation.keeping import StoredFile, Target, keep_example, keep_program
from partq.conformance.evaluation.live_shrinking import SECONDS
from partq.conformance.evaluation.suite import (
    JOBS,
    Run,
    Ways,
    cases_for,
    default_programs,
    lacks_of,
    run_suite,
)
from partq.conformance.frontends import baseline_file
from partq.conformance.frontends.pytest_plugin.shown import (
    TESTED,
    Ended,
    Reported,
    Said,
    failure,
    heading,
    said,
    teller,
)
from partq.conformance.frontends.settings import settings_near
from partq.conformance.history.codec_profiles import named_profile
from partq.conformance.screens.registry import ALL
from partq.conformance.verdict import (
    FILE,
    OPEN,
    Exit,
    Matched,
    Status,
    Verdict,
    binding_requirements,
    match_known,
    not_applicable,
    share_of,
)
from partq.conformance.workload.cases.table import ALL_CASES
from partq.model.errors import UserError
from partq.model.profiles import PROFILES
from partq.model.requirements import catalogue

HERE: Final = Path(__file__).resolve()
PACKAGE: Final = HERE.parents[2]
"""The folder of `partq.conformance`, which the command line names."""
WAY: Final = frozenset((HERE, *HERE.parents[:3]))
"""This file and the folders on the way to it."""

USAGE: Final = (
    "partq: no broker to check; give one: pytest --pyargs partq.conformance --broker=reference (or broker in "
    "[tool.partq] of pyproject.toml)"
)

GIVEN: Final = ("broker", "profile", "programs", "seed", "strict", "baseline")
"""The settings of [tool.partq] that pytest has an option for, which wins."""

VIOLATED: Final = "partq/violated"
"""Where in pytest's cache is kept which cases violated what when they were last run."""


class ItemFailed(Exception):
    """A requirement is violated; the text is what the report shows."""


class SuitePlugin:
    """One session's suite: which broker, which profiles, what their runs came to, what was reported so far.

    Raises `UserError` where the options name no broker or profile, or no usable one.
    """

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        given = {name: config.getoption(f"partq_{name}") for name in GIVEN}
        asked = {name: value for name, value in given.items() if value is not None and value is not False}
        settings = settings_near(config.invocation_params.dir).of(given["broker"])._replace(**asked)
        self.broker, self.strict = settings.broker, bool(settings.strict)
        self.programs, self.seed = settings.programs, 1 if settings.seed is None else settings.seed
        self.brokers: dict[str, Broker] = {}
        self.profiles = () if self.broker is None else self._profiles(self.broker, settings.profile)
        out: Path | None = config.getoption("partq_out")
        self.out = None if out is None else Target.of(out)
        self.cache: pytest.Cache | None = getattr(config, "cache", None)
        self.ended: dict[str, Ended | UserError] = {}
        self.baseline = None if settings.baseline is None else baseline_file.read(settings.baseline)
        self.share = share_of(settings.open or OPEN)
        self.reported = Reported(self.strict, settings.require, self.baseline)

    def _profiles(self, broker: str, wanted: Sequence[str]) -> tuple[str, ...]:
        asked = tuple(named_profile(word) for word in wanted)
        names = asked or claimed_profiles(open_broker(broker)) or tuple(PROFILES)
        for name in names:
            lacks_of(self.opened(name))
        return names

    def opened(self, profile_name: str) -> Broker:
        """The profile's broker, made once in this process."""
        broker = self.brokers.get(profile_name)
        if broker is None:
            assert self.broker is not None
            broker = self.brokers[profile_name] = open_broker(self.broker)
            broker.profile = profile_name
        return broker

    # What is run.

    def ran(self, item: RuleItem) -> Ended:
        """What the runs of the item's profile came to, done once in this process. Raises `UserError`."""
        name = item.profile_name
        if name not in self.ended:
            try:
                self.ended[name] = self._run(name, self.selected(item))
            except UserError as error:
                self.ended[name] = error
        ended = self.ended[name]
        if isinstance(ended, UserError):
            raise ended
        return ended

    def selected(self, item: RuleItem) -> set[str]:
        """The rules of the item's profile that the session has items of."""
        ours = (other for other in item.session.items if isinstance(other, RuleItem))
        return {other.requirement for other in ours if other.profile_name == item.profile_name}

    def _run(self, profile_name: str, selected: set[str]) -> Ended:
        assert self.broker is not None
        broker = self.opened(profile_name)
        programs = default_programs(broker) if self.programs is None else self.programs
        every = cases_for(broker, profile_name, ALL_CASES.values())
        before = self._remembered().get(profile_name, {})
        again = {case for requirement in selected for case in before.get(requirement, ())}
        cases = [one for one in every if one.name in again or not selected.isdisjoint(one.requirements)]
        by_run: dict[str, dict[str, Verdict]] = {}

        def note(run: Run) -> None:
            for requirement, verdict in run.verdicts.items():
                if verdict.status in TESTED:
                    by_run.setdefault(requirement, {})[run.name] = verdict

        reporter = self.config.pluginmanager.get_plugin("terminalreporter")
        tell = teller(reporter, profile_name, len(cases), programs)
        ways = Ways(partial(open_broker, self.broker), self.config.getoption("partq_jobs") or JOBS)
        result = run_suite(
            broker, profile_name, cases, programs, self.seed, note, ways=ways, on_end=tell, share=self.share
        )
        whole, directed = len(cases) == len(every), frozenset(case.name for case in cases)
        known = match_known({profile_name: result.verdicts}, self.baseline, whole)
        return Ended(directed, whole, by_run, result, known)

    def keep(self, ended: Ended, verdict: Verdict) -> StoredFile | None:
        """Store what shows the violation; None where there is no folder for it."""
        run, finding = ended.evidence(verdict)
        out = self.out
        if out is None and self.cache is not None:
            place, here = Path(self.cache.mkdir("partq")), self.config.invocation_params.dir
            out = Target(place.relative_to(here) if place.is_relative_to(here) else place, place)
        if out is None or self.broker is None or run is None:
            return None
        profile_name = run.program.profile
        target = open_broker(self.broker)
        if finding is not None:
            return keep_example(out, profile_name, self.broker, target, run, finding, SECONDS, set())
        return keep_program(out, profile_name, self.broker, target, run, verdict.candidates)

    def _remembered(self) -> dict[str, dict[str, list[str]]]:
        """Profile -> rule -> the runs that violated it when they were last run, as far as pytest's cache
        knows."""
        return {} if self.cache is None else self.cache.get(VIOLATED, {})

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

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Run what the item judges by before its own time begins: a test's time limit is none for the
        suite."""
        if isinstance(item, RuleItem):
            with suppress(UserError):  # the item raises it again
                self.ran(item)
        return (yield)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> object:
        """Keep the items of a profile together in a worker of xdist."""
        from partq.conformance.frontends.pytest_plugin.sharing_out import MODES, Together

        return Together(config, log) if config.getoption("dist") in MODES else None

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
        if isinstance(item, RuleItem) and report.when == "call":
            report.partq = item.said  # type: ignore[attr-defined]  # pytest keeps a report's own attributes
            if call.excinfo is not None and call.excinfo.errisinstance(UserError):
                report.sections.clear()  # what libraries log of it would hide the one line
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note an item's verdict, here or in a worker."""
        word = getattr(report, "partq", None)
        if word is not None:
            self.reported.add(word)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Keep what was found, and end as ``partq run`` does."""
        if hasattr(session.config, "workerinput") or not self.reported.verdicts:
            return
        if self.cache is not None:
            known, new = self._remembered(), self.reported.where
            self.cache.set(VIOLATED, known | {name: {**known.get(name, {}), **new[name]} for name in new})
        if self.out is not None and self.broker is not None:
            self.out.place.mkdir(parents=True, exist_ok=True)
            document = self.reported.document(public_name(self.broker))
            (self.out.place / FILE).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
        code, _ = self.reported.conclusion()
        if exitstatus == pytest.ExitCode.OK and code != Exit.CONFORMANT:
            session.exitstatus = code

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """One line for each requirement and the conclusion, or how to use the suite."""
        if self.broker is None:
            terminalreporter.write_line(USAGE)
        else:
            self.reported.show(terminalreporter, public_name(self.broker))


class SuiteFile(pytest.File):
    """Every item; of several profiles, those of each under its name."""

    def __init__(self, *, suite: SuitePlugin, **more: Any) -> None:
        short: Any = "partq"  # text or a NodeId, by pytest's version
        super().__init__(nodeid=short, **more)
        self.suite = suite

    def collect(self) -> Iterator[pytest.Item | pytest.Collector]:
        """The rules of the only profile, or the profiles."""
        profiles = self.suite.profiles
        if len(profiles) == 1:
            yield from rule_items(self, self.suite, profiles[0])
            return
        for name in profiles:
            rules: ProfileRules = ProfileRules.from_parent(self, name=name, suite=self.suite)
            yield rules


class ProfileRules(pytest.Collector):
    """The items of one of several profiles."""

    def __init__(self, *, suite: SuitePlugin, **more: Any) -> None:
        super().__init__(**more)
        self.suite = suite

    def collect(self) -> Iterator[pytest.Item]:
        """An item for each rule."""
        yield from rule_items(self, self.suite, self.name)


def rule_items(parent: pytest.Collector, suite: SuitePlugin, profile_name: str) -> Iterator[pytest.Item]:
    """An item for each rule that applies to the profile and the broker."""
    exempt = not_applicable(profile_name, ALL, tuple(sorted(lacks_of(suite.opened(profile_name)))))
    for requirement in catalogue():
        if requirement not in exempt:
            item: RuleItem = RuleItem.from_parent(
                parent, name=requirement, suite=suite, requirement=requirement, profile_name=profile_name
            )
            yield item


class RuleItem(pytest.Item):
    """One rule, judged by all runs. ``said``: what it has to say for the summary."""

    def __init__(self, *, suite: SuitePlugin, requirement: str, profile_name: str, **more: Any) -> None:
        super().__init__(**more)
        self.suite = suite
        self.requirement = requirement
        self.profile_name = profile_name
        self.said: Said | None = None

    def runtest(self) -> None:
        """Judge. That the broker can't be run fails this item and ends the session."""
        try:
            ended = self.suite.ran(self)
        except UserError as error:
            self.session.shouldstop = f"partq: {error}"
            raise
        verdict, where = ended.result.verdicts[self.requirement], ended.violating(self.requirement)
        self.said = said(self.profile_name, self.requirement, verdict, where, ended)
        properties = {  # for JUnit
            "requirement": self.requirement,
            "profile": self.profile_name,
            "status": verdict.status.value,
            "exercised": str(verdict.exercised),
            "cases": ended.cases(self.requirement),
            "violated in": ", ".join(where),
            "ambiguous": verdict.ambiguity,
        }
        self.user_properties.extend((name, value) for name, value in properties.items() if value)
        self._conclude(ended, verdict)

    def _conclude(self, ended: Ended, verdict: Verdict) -> None:
        """Pass, fail, xfail or skip. What is known counts for nothing but an xfail."""
        binding = binding_requirements(self.suite.strict)
        if ended.known is not None:
            verdict = self._beyond(ended.known, ended, verdict)
        if verdict.status is Status.VIOLATED and self.requirement not in binding:
            pytest.xfail(f"{heading(self.requirement, verdict)}, but no MUST: {verdict.findings[0].title}")
        if verdict.status is Status.VIOLATED or binding.issuperset(verdict.candidates or [""]):
            selected = self.suite.selected(self)
            speaker = next((name for name in verdict.candidates if name in selected), self.requirement)
            if speaker != self.requirement:
                pytest.skip(f"{heading(self.requirement, verdict)}, for which {speaker} fails")
            stored = self.suite.keep(ended, verdict)
            raise ItemFailed("\n".join(failure(ended, self.requirement, verdict, stored)))
        if verdict.status is not Status.PASS:
            pytest.skip(f"{verdict.status.words}{f': {verdict.reason}' if verdict.reason else ''}")

    def _beyond(self, known: Matched, ended: Ended, verdict: Verdict) -> Verdict:
        """The verdict without what the baseline knows; an xfail where nothing else is wrong."""
        name, verdicts = self.profile_name, ended.result.verdicts
        rest = known.beyond(name, verdicts)[self.requirement]
        if rest.status is Status.PASS is not verdict.status:
            reasons = "; ".join(known.reasons(name, self.requirement))
            what = verdict.reason if verdict.status is Status.UNKNOWN else heading(self.requirement, verdict)
            pytest.xfail(f"{what} (known: {reasons})")
        return rest

    def repr_failure(self, excinfo: Any, style: Any = None) -> Any:
        """What was found, without a traceback of ours."""
        if isinstance(excinfo.value, ItemFailed | UserError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        """What a failure's heading says."""
        return self.path, None, f"{self.name} {self.profile_name}"
