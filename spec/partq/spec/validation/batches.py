"""Recordings validated, many in one run of TLC; of a rejected one the first operation that makes it so."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from partq.spec.tools.tlc import check

from .module import DATA, NAME, Overrides, configuration_text, data_text, kind_of, module_text
from .recording import NotFollowed, Recording, prefix
from .steps import Trace
from .translation import trace_of
from .verdict import IN_PART, Status, Validated, verdicts

STATES: Final = 40_000
"""How many states TLC finds of one history at the most, unless more are allowed."""

SECONDS: Final = 300.0
"""How long one run of TLC may take, unless more time is given."""

SIZE: Final = 16
"""How many histories one run of TLC validates."""

WIDTHS: Final = ((60, True), (600, False))
"""Of the narrow searches that come first, and whether each is hasty (`Validation.tla`): most of what is
lawful one of them explains."""

_STACK: Final = "-Xss16m"
"""Of Java: a trace is one deep expression."""


class Limits(NamedTuple):
    """``states``: how many TLC finds of one history at the most; ``seconds``: how long a run may take."""

    states: int = STATES
    seconds: float = SECONDS


def batches(recordings: Sequence[Recording], size: int = SIZE) -> list[list[int]]:
    """The places of the recordings, those together that TLC can validate in one run, of like sizes. Those
    that are not followed are together, too."""
    alike: dict[tuple[Any, ...], list[tuple[int, int]]] = {}
    for n, one in enumerate(recordings):
        kind, partitions = _kind(one)
        alike.setdefault(kind, []).append((partitions, n))
    found = []
    for members in alike.values():
        places = [n for _, n in sorted(members, key=lambda m: (m[0], len(recordings[m[1]].operations)))]
        found += [places[start : start + size] for start in range(0, len(places), size)]
    return found


def _kind(recording: Recording) -> tuple[tuple[Any, ...], int]:
    """The kind of its trace, and how many partitions that names."""
    try:
        trace = trace_of(recording)
    except NotFollowed:
        return (), 0
    return kind_of(trace), trace.partitions


def validate(
    recordings: Sequence[Recording],
    limits: Limits = Limits(),
    overrides: Overrides | None = None,
    decided: Callable[[int, Validated], None] = lambda n, one: None,
    locate: bool = True,
) -> list[Validated]:
    """Validate a batch of recordings; of those that are rejected, find the operation in a few runs more.

    ``decided`` is given the place of each, and what is found, as soon as that is known. Without ``locate``
    the operation named is where the search ended, which may be a send that something later contradicts.
    Raises `ToolMissing`.
    """
    found: dict[int, Validated] = {}
    traces: dict[int, Trace] = {}
    for n, recording in enumerate(recordings):
        try:
            traces[n] = trace_of(recording)
        except NotFollowed as why:
            found[n] = Validated(Status.DECLINED, reason=str(why))
            decided(n, found[n])
    follow = _Follower(limits, overrides or {})
    for n, one in follow(traces):
        found[n] = one
        if not locate or one.status is not Status.REJECTED:
            decided(n, one)
    rejected = {n: recordings[n] for n, one in found.items() if one.status is Status.REJECTED}
    if rejected and locate:
        found |= _located(rejected, {n: found[n].states for n in rejected}, follow)
        for n in rejected:
            decided(n, found[n])
    return [found[n] for n in range(len(recordings))]


class _Follower(NamedTuple):
    """TLC under these limits."""

    limits: Limits
    overrides: Overrides

    def __call__(self, traces: Mapping[int, Trace]) -> Iterator[tuple[int, Validated]]:
        """What TLC says of each trace, as it is known: after narrow searches, and where places are hidden of
        likely ones first. Of a search in part, or in haste, only acceptance counts."""
        open = dict(traces)
        for width, hasty in (*WIDTHS, (self.limits.states, False)):
            found = self._all({n: trace.guessed for n, trace in open.items()}, width, hasty)
            again = {
                n: trace
                for n, trace in open.items()
                if trace.likely != trace.allowed and found[n].status is not Status.ACCEPTED
            }
            for n, one in (found | self._all(again, width, hasty)).items():
                if one.status is Status.ACCEPTED or not (hasty or one.reason == IN_PART):
                    del open[n]
                    yield n, one

    def _all(self, traces: Mapping[int, Trace], width: int, hasty: bool) -> dict[int, Validated]:
        """What TLC says of each trace as it is, in as many runs as there are kinds."""
        kinds: dict[tuple[Any, ...], list[int]] = {}
        for n, trace in traces.items():
            kinds.setdefault(kind_of(trace), []).append(n)
        found: dict[int, Validated] = {}
        for members in kinds.values():
            found |= zip(members, self._run([traces[n] for n in members], width, hasty), strict=True)
        return found

    def _run(self, traces: Sequence[Trace], width: int, hasty: bool) -> list[Validated]:
        with tempfile.TemporaryDirectory(prefix="partq-validation-") as folder:
            module, data = Path(folder) / f"{NAME}.tla", Path(folder) / f"{DATA}.tla"
            configuration = module.with_suffix(".cfg")
            data.write_text(data_text(traces), encoding="utf-8")
            module.write_text(
                module_text(traces, self.limits.states, width, hasty, self.overrides), encoding="utf-8"
            )
            configuration.write_text(configuration_text(self.overrides), encoding="utf-8")
            answer = check(module, configuration, timeout=self.limits.seconds, machine=(_STACK,))
        return list(verdicts(traces, answer))


def _located(
    recordings: Mapping[int, Recording], states: dict[int, int], follow: _Follower
) -> dict[int, Validated]:
    """For each rejected recording the first operation whose return makes it so: the shortest prefix that is
    rejected, by halving all at once. ``states``: how many TLC made of each, which grows."""
    returns = {
        n: sorted({o.ret for o in one.operations if o.ret is not None}) for n, one in recordings.items()
    }
    low = dict.fromkeys(recordings, 0)  # so many returns are explained
    high = {n: len(times) for n, times in returns.items()}
    while open := [n for n in recordings if high[n] - low[n] > 1]:
        middle = {n: (low[n] + high[n]) // 2 for n in open}
        traces = {}
        for n in open:
            try:
                traces[n] = trace_of(prefix(recordings[n], returns[n][middle[n] - 1]))
            except NotFollowed:  # for what had not returned: a later operation is named, if any
                low[n] = middle[n]
        for n, one in follow(traces):
            (high if one.status is Status.REJECTED else low)[n] = middle[n]
            states[n] += one.states
    return {n: _blamed(one, returns[n][high[n] - 1], states[n]) for n, one in recordings.items()}


def _blamed(recording: Recording, last: int, states: int) -> Validated:
    """The verdict that names the operation which returned at that instant."""
    blamed = next(one for one in recording.operations if one.ret == last)
    before = sum(one.ret is not None and one.ret < last for one in recording.operations)
    return Validated(Status.REJECTED, blamed.record, before, states=states)
