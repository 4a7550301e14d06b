"""A whole campaign: what is missing of a plan, wave by wave, and the sum. `partq fuzz` calls it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any, Final, NamedTuple, NoReturn, Protocol, TypeVar

from partq.conformance.adapters import (
    Broker,
    Shares,
    SimulatedBroker,
    UnknownBroker,
    Unreachable,
    module_of,
    open_broker,
)
from partq.conformance.adapters.questions import NoAnswer, answer
from partq.conformance.evaluation.keeping import made
from partq.conformance.evaluation.suite import BrokerFailed
from partq.conformance.frontends.campaign import archive, jvm, spark
from partq.conformance.frontends.campaign.errors import CampaignError, SparkFailed
from partq.conformance.frontends.campaign.files import Folder, refuse_early
from partq.conformance.frontends.campaign.lock import Lock, locked
from partq.conformance.frontends.campaign.manifest import Manifest
from partq.conformance.frontends.campaign.plan import SUMMARY, Plan
from partq.conformance.frontends.campaign.spark import Tally, run_wave, uninterrupted, watched
from partq.conformance.frontends.campaign.store import Store, to_text
from partq.conformance.frontends.campaign.totals import Totals, document, totals_of
from partq.conformance.frontends.campaign.work import check_broker
from partq.conformance.verdict import OPEN, share_of

A = TypeVar("A")
T = TypeVar("T")


class Pace(NamedTuple):
    """How much a wave does unless told: so many traces for each of Spark's cores at first, later what takes
    so many seconds at the rate measured."""

    traces: int
    seconds: float


SIMULATED: Final = Pace(25_000, 240.0)
LIVE: Final = Pace(8, 30.0)


@dataclass(frozen=True, slots=True)
class Campaign:
    """A finished campaign. ``state``: how far this session came with it. ``store``: its folder and session.
    ``document``: what is in its ``campaign.json``."""

    plan: Plan
    totals: Totals
    state: CampaignState
    store: Store
    document: Mapping[str, Any]

    @property
    def folder(self) -> Folder:
        """Where it is."""
        return self.store.folder

    def shared_out(
        self, doing: str, work: Callable[[A], T], several: Sequence[A], look: Callable[[int], None]
    ) -> list[T]:
        """What ``work`` makes of each, in order, done by Spark's tasks; ``look`` is called now and then with
        how many are done. Raises `CampaignError` where one fails."""
        session = self.store.session
        done = session.sparkContext.accumulator(0)

        def do() -> list[T]:
            self.store.describe(doing)
            return spark.each(session, work, several, done)

        return watched(session, self.store.group, do, lambda: look(done.value))

    def conclude(self, said: Mapping[str, Any]) -> None:
        """Put what the command ends with into ``campaign.json``, too; while its folder is open."""
        self.folder.write(SUMMARY, to_text({**self.document, **said}))


GO_ON: Final = "finish with the same command and --resume"
"""What to do about a campaign that ended before time."""


class CampaignState(NamedTuple):
    """How far a campaign is. ``traces`` and ``violations`` are those of earlier sessions, too; ``timed``
    traces were done in this one, in ``seconds``, its start apart. ``stored``: traces in complete waves.
    ``doing``: what is done just now, unless it is traces."""

    traces: int
    violations: int
    timed: int = 0
    seconds: float = 0.0
    stored: int = 0
    doing: str = ""

    @property
    def rate(self) -> float | None:
        """Traces a second, or None where none was done."""
        return self.timed / self.seconds if self.timed and self.seconds else None


class Watcher(Protocol):
    """Called with the progress of a campaign."""

    def starting(self, state: CampaignState) -> None:
        """All is checked; Spark is started, which takes a while."""

    def went(self, state: CampaignState) -> None:
        """So far it is; called now and then, the first time as the work begins."""


@contextmanager
def campaign(
    plan: Plan,
    out: str,
    master: str,
    resume: bool,
    watcher: Watcher,
    *,
    strict: bool = False,
    wave: int | None = None,
    share: Fraction = share_of(OPEN),
    break_lock: bool = False,
) -> Iterator[Campaign]:
    """The campaign, done, or what was missing of it, with its folder open; ``campaign.json`` is written.
    ``strict`` is for the exit code in there. ``wave``: traces in a wave, rounded up to units; None: some
    minutes of work. ``share``: of the traces that exercise a rule so many may be undecided, and it passes.
    ``break_lock``: whatever session has the folder's lock is gone, so that the campaign is resumed.

    Raises `CampaignError` where the folder, the broker, Java, Spark or a chunk fails. The waves that were
    complete then, or before an interrupt, stay and can be resumed; if there are none, no folder is left.
    """
    begun, resume = made(), resume or break_lock
    if not resume:
        refuse_early(out)
    _check(plan, master)
    watcher.starting(CampaignState(0, 0))
    with (
        _restored(plan),
        spark.session(master, code := _code(plan)) as session,
        locked(folder := Folder(session, out), begun, break_lock) as lock,
    ):
        store = Store(session, folder, plan, plan.digest(archive.digest(code)))
        pace, tasks = _pace(plan)
        if tasks is not None and jvm.speculates(session):
            raise CampaignError(
                "spark.speculation runs a task twice at once, and what these brokers share is not for two: "
                "set it to false"
            )
        work = _Work(store, lock, watcher, wave, pace, tasks)
        totals = work.do(resume).tolerating(share)
        circumstances = {
            "seconds": round(work.state.seconds, 3),
            "timed_traces": work.state.timed,
            "master": jvm.master(session),
            "open": str(share),
        }
        data = document(totals, plan, store.identity, strict, {**circumstances, "made": begun})
        store.folder.write(SUMMARY, to_text(data))
        yield Campaign(plan, totals, work.state, store, data)


def _code(plan: Plan) -> archive.Code:
    return archive.code_of(filter(None, dict.fromkeys(module_of(lane.broker) for lane in plan.lanes)))


def _check(plan: Plan, master: str) -> None:
    """Raises `CampaignError` where nothing can come of the plan: no Java, no master, no broker."""
    jvm.check(master)
    for lane in {lane.broker: lane for lane in plan.lanes}.values():
        try:
            check_broker(lane)
        except (Unreachable, UnknownBroker, BrokerFailed) as error:
            raise CampaignError(str(error)) from error


@contextmanager
def _restored(plan: Plan) -> Iterator[None]:
    """Where all inside ends before time, live brokers are up again: a fault may have taken one down."""
    try:
        yield
    except BaseException:
        with uninterrupted():
            for broker in _live(plan):
                with suppress(NoAnswer):
                    answer(broker.restore)
        raise


def _live(plan: Plan) -> list[Broker]:
    """The plan's brokers that are no simulated ones."""
    opened = (open_broker(name) for name in dict.fromkeys(lane.broker for lane in plan.lanes))
    return [broker for broker in opened if not isinstance(broker, SimulatedBroker)]


def _pace(plan: Plan) -> tuple[Pace, int | None]:
    """How much a wave does, and how many tasks it may have: one where brokers have something in common, for
    within a task what they share is honoured."""
    live = _live(plan)
    alone = any(broker.shares is not Shares.NOTHING for broker in live)
    return LIVE if live else SIMULATED, 1 if alone else None


@dataclass(slots=True)
class _Work:
    """One session's work on a campaign, and how far it is. ``planned``: the traces of the waves of this
    session, had no lane ended early: by these the next wave is measured out."""

    store: Store
    lock: Lock
    watcher: Watcher
    wave: int | None
    pace: Pace
    tasks: int | None
    state: CampaignState = field(default_factory=lambda: CampaignState(0, 0))
    manifests: list[Manifest] = field(default_factory=list)
    planned: int = 0

    def do(self, resume: bool) -> Totals:
        """Do what is missing, and sum up."""
        self.manifests = self._watched(lambda: self.store.open(resume))
        try:
            return self._go_on()
        except BaseException as error:
            lost, stays = "", True
            with uninterrupted(), suppress(CampaignError):
                if not (lost := self.lock.lost()):
                    stays = self._leave()
            if lost and isinstance(error, Exception):
                raise CampaignError(lost) from error
            if isinstance(error, SparkFailed) and stays:
                raise CampaignError(f"{error}; {GO_ON}") from error
            raise

    def _leave(self) -> bool:
        """End before time: complete waves stay, the one of just now, too; else no folder does. Whether it
        stays."""
        stored = sum(one.traces for one in self._watched(self.store.manifests))
        if stored:
            self._tell(stored=stored)
        else:
            self._watched(partial(spark.wait_for_tasks, self.store.session))
            self._watched(self.store.discard)
        return bool(stored)

    def _go_on(self) -> Totals:
        plan, recorded = self.store.plan, self._watched(self.store.recorded)
        self._stored()
        gaps = plan.missing(one.units for one in self.manifests)
        if self.pace is LIVE and any(gap.stop < plan.units for gap in gaps):
            raise CampaignError(
                f"{self.store.folder.name}: manifests were lost, which a live broker does not bring again: "
                "give another folder"
            )
        for missing in gaps:
            while missing:
                units = plan.wave(missing, self._traces())
                self._wave(units)
                missing = range(units.stop, missing.stop)
        self.lock.check()
        self._tell(doing="summing up")
        totals = self._watched(lambda: totals_of(self.store, self.manifests))
        if recorded not in (None, totals.digest):
            raise CampaignError(
                f"{self.store.folder.name} was complete with the digest {recorded}, and now has "
                f"{totals.digest}: rows were lost that did not come again; give another folder"
            )
        return totals

    def _traces(self) -> int:
        """How many traces the next wave shall have."""
        if self.wave is not None:
            return self.wave
        if not (self.planned and self.state.seconds):
            return self.pace.traces * self.store.session.sparkContext.defaultParallelism
        return math.ceil(self.planned / self.state.seconds * self.pace.seconds)

    def _wave(self, units: range) -> None:
        called = self._called(units)
        tally, before, began, doing = Tally(self.store.session), self.state, time.monotonic(), ""

        def look() -> None:
            tally.check()
            traces = tally.traces.value
            self._tell(
                doing=doing,
                traces=before.traces + traces,
                violations=before.violations + tally.violations.value,
                timed=before.timed + traces,
                seconds=before.seconds + time.monotonic() - began,
            )

        def do() -> Manifest | None:
            nonlocal doing
            store = self.store
            store.describe(f"{called}: generate, run, judge")
            run_wave(store.session, store.plan, units, store.staging(units), tally, self.tasks)
            doing = "writing tables"
            self.lock.check()
            self._same_code()
            there = store.staged(units) if tally.lost.value else units
            return store.complete(there, called) if there else None

        if (done := watched(self.store.session, self.store.group, do, look)) is not None:
            self.manifests.append(done)
            self.planned += self.store.plan.planned(done.units)
            seconds = before.seconds + time.monotonic() - began
            self.state = self.state._replace(timed=before.timed + done.traces, seconds=seconds)
            self._stored()
        if tally.lost.value:
            self._lost(tally.lost.value)

    def _same_code(self) -> None:
        """Raises `CampaignError` where workers may have imported code that was changed meanwhile."""
        store = self.store
        now = store.plan.digest(archive.digest(_code(store.plan)))
        if spark.is_local(store.session.sparkContext.master or "") and now != store.identity:
            raise CampaignError(
                f"{store.folder.name}: the code was changed while it ran, so that this wave is not stored: "
                "have it as it was and --resume, or give another folder"
            )

    def _called(self, units: range) -> str:
        """Which wave it is, of how many if those to come are as large."""
        number, plan = len(self.manifests) + 1, self.store.plan
        rest = plan.units - sum(len(one.units) for one in self.manifests)
        return f"wave {number} of {number - 1 + math.ceil(rest / len(units))}"

    def _lost(self, why: str) -> NoReturn:
        """The broker is there no more."""
        if not self.manifests:
            raise CampaignError(why)
        far = f"{self.state.stored:,} of {self.store.plan.traces:,} traces"
        raise CampaignError(f"lost after {far}, which are stored: {why}; {GO_ON}")

    def _tell(self, **now: Any) -> None:
        """What of the state is otherwise now."""
        self.state = self.state._replace(**now)
        self.watcher.went(self.state)

    def _stored(self) -> None:
        """Take what is in complete waves for what is done."""
        traces = sum(one.traces for one in self.manifests)
        found = sum(one.findings for one in self.manifests)
        self._tell(traces=traces, violations=found, stored=traces)

    def _watched(self, action: Callable[[], T]) -> T:
        return watched(self.store.session, self.store.group, action, lambda: None)
