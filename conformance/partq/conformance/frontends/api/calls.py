"""The three calls: `check` histories, `run` a broker, `explain` a rule."""

from __future__ import annotations

import os
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from partq.conformance.adapters import (
    Broker,
    claimed_profiles,
    near_misses,
    open_broker,
    public_name,
    refuse_unwritten,
)
from partq.conformance.evaluation.activity import activity
from partq.conformance.evaluation.decision import EVERY, Decider, Exactness
from partq.conformance.evaluation.suite import JOBS, Ways, cases_for, default_programs, run_suite
from partq.conformance.frontends.api.explanation import Explanation
from partq.conformance.frontends.api.result import Judged, Result
from partq.conformance.history import History
from partq.conformance.history.births import told_apart
from partq.conformance.history.codec import read_history
from partq.conformance.history.codec_profiles import named_profile
from partq.conformance.history.gaps import missing_records
from partq.conformance.oracle.search import Tell, untold
from partq.conformance.screens.registry import ALL
from partq.conformance.verdict import (
    OPEN,
    Besides,
    Exit,
    Verdicts,
    added,
    checked_require,
    merge,
    narrowed,
    required,
    share_of,
    stalled,
)
from partq.conformance.workload.cases.case import chosen
from partq.conformance.workload.cases.table import ALL_CASES
from partq.model.profiles import PROFILES
from partq.model.requirements import requirement

Source = History | str | os.PathLike[str]
"""A history, or the file that it is in."""

LEVEL: Final = 3
"""Whose line a warning names: that of the caller of `check` or `run`."""


def check(
    history: Source | Iterable[Source],
    profile: str | None = None,
    *,
    strict: bool = False,
    require: Iterable[str] = (),
) -> Result:
    """Judge recorded histories, as ``partq check`` does.

    ``history``: one or several, each a `History` or a file of ``partq.history/1``, NDJSON or Parquet.
    ``profile``: what they are judged by, instead of what each one's header names: a name, or a profile's
    file. ``strict``: a SHOULD binds, too. ``require``: rules by ID, or shares such as ``"90%"`` of those that
    bind, which have to be exercised.

    Raises `HistoryError` where a file is no history, `UnknownProfile`, `BadRequire` where ``require`` makes
    no sense, and `ValueError` without any history. Warns of records that are missing from a history.
    """
    wanted = checked_require(require)
    under = None if profile is None else named_profile(profile)
    read = list(_read([history] if isinstance(history, History | str | os.PathLike) else history, under))
    if not read:
        raise ValueError("no history to check")
    return result_of(read, strict, wanted)


def result_of(
    read: Sequence[tuple[str, History]],
    strict: bool,
    wanted: Sequence[str],
    exact: Exactness = EVERY,
    tell: Tell = untold,
) -> Result:
    """What these histories, each under its name, come to. ``wanted``: what has to be exercised. ``exact``:
    how much the judge is asked about each. ``tell``: called with how far it has come."""
    named = [(name, told_apart(one)) for name, one in read]
    judged = tuple(
        Judged(one.header.profile, name, one, *Decider(exact, tell=tell).check(one)) for name, one in named
    )
    judging = added(one.judging for one in judged)
    subject = judged[0].name if len(judged) == 1 else f"{len(judged)} histories"
    verdicts, besides = dict[str, Verdicts](), list[Besides]()
    for name in dict.fromkeys(one.profile for one in judged):
        mine = [one for one in judged if one.profile == name]
        shown = sum((activity(one.history) for one in mine), Counter[str]())
        verdicts[name] = narrowed(merge(one.verdicts for one in mine), name, ALL, shown)
        besides += stalled(name, shown)
    besides += [*required(verdicts, strict, wanted), *judging.besides(Exit.INCONCLUSIVE)]
    return Result(subject, verdicts, judged, strict, tuple(besides), judging)


def _read(given: Iterable[Source], profile: str | None) -> Iterator[tuple[str, History]]:
    """Each history under its name."""
    for number, one in enumerate(given, 1):
        name = f"history {number}" if isinstance(one, History) else os.fspath(one)
        history = one if isinstance(one, History) else read_history(one)
        if missing := missing_records(history):
            warnings.warn(f"{name}: {missing}", stacklevel=LEVEL)
        if profile is not None:
            history = replace(history, header=replace(history.header, profile=profile))
        yield name, history


def run(
    broker: str | Broker | type[Broker],
    profile: str | Iterable[str] | None = None,
    *,
    programs: int | None = None,
    seed: int = 1,
    cases: Iterable[str] | None = None,
    jobs: int = JOBS,
    strict: bool = False,
    require: Iterable[str] = (),
    open: str = OPEN,
) -> Result:
    """Run the directed cases and some seeded programs on a broker and judge them, as ``partq run`` does.

    ``broker``: its name as the command takes it (``"reference"``, ``"my_module:MyBroker"``, a URL), a class,
    or an object, which runs one program at a time. ``profile``: one or several, by name or file; without it
    those the broker claims, or all. ``programs``: how many seeded ones (200; of a live broker 3; with
    ``cases`` none). ``seed``: the same seed gives the same programs. ``cases``: only these, by name.
    ``jobs``: so many programs of a live broker at once, if it allows that. ``strict``, ``require``: as for
    `check`. ``open``: the share of the runs exercising a rule that may be undecided, and it passes.

    Raises `UnknownBroker`, `UnknownProfile` and `UnknownCase` where there is none of that name, `BadRequire`,
    `BadShare`,
    `ValueError` where none of the cases is for the profiles, `Unreachable` where the broker is not there, and
    `BrokerFailed` where its adapter raises what it must not. Warns of methods that may be misspelt.
    """
    wanted, share, first = checked_require(require), share_of(open), _opened(broker)
    selected = tuple(ALL_CASES.values()) if cases is None else chosen(ALL_CASES, tuple(cases))
    for text in near_misses(first):
        warnings.warn(text, stacklevel=LEVEL - 1)
    asked = (profile,) if isinstance(profile, str) else tuple(profile or ())
    asked = tuple(dict.fromkeys(map(named_profile, asked)))
    refuse_unwritten(first, asked)
    names = [
        name
        for name in asked or claimed_profiles(first) or tuple(PROFILES)
        if asked or cases is None or any(case.fits(name) for case in selected)
    ]
    if not names:
        raise ValueError(f"none of these cases is for the profile of {_name(broker)}")
    ways = Ways(None if isinstance(broker, Broker) else lambda: _opened(broker), jobs)
    results = {}
    for name in names:
        target = _opened(broker)
        usual = default_programs(target) if cases is None else 0
        directed = cases_for(target, name, selected)
        number = usual if programs is None else programs
        results[name] = run_suite(target, name, directed, number, seed, ways=ways, share=share)
    verdicts = {name: result.verdicts for name, result in results.items()}
    besides = [one for result in results.values() for one in result.besides]
    judged = tuple(
        Judged(name, run.name, run.history, run.verdicts, run.judging)
        for name, result in results.items()
        for run in result.kept
    )
    judging = added(result.judging for result in results.values())
    besides += required(verdicts, strict, wanted)
    done = {name: result.done for name, result in results.items()}
    return Result(_name(broker), verdicts, judged, strict, tuple(besides), judging, done)


def _opened(broker: str | Broker | type[Broker]) -> Broker:
    if isinstance(broker, str):
        return open_broker(broker)
    return broker if isinstance(broker, Broker) else broker()


def _name(broker: str | Broker | type[Broker]) -> str:
    if isinstance(broker, str):
        return public_name(broker)
    kind = type(broker) if isinstance(broker, Broker) else broker
    return f"{kind.__module__}:{kind.__qualname__}"


def explain(id: str) -> Explanation:
    """The rule of that ID, such as ``"ROUTE-2"``: its text, its sources, how it is read, and what exercises
    it. Raises `UnknownRequirement`, whose text suggests near IDs."""
    return Explanation(requirement(id.upper()))
