"""What ``partq fuzz`` and ``partq mutants`` share: how a campaign's progress is shown, on standard error, and
how it ends where it can't be done or is interrupted.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rich import progress

from partq.conformance.frontends.cli.common import fail
from partq.conformance.frontends.cli.streams import bar, console, note, printable
from partq.conformance.verdict import plural

if TYPE_CHECKING:
    from partq.conformance.frontends.campaign.plan import Plan
    from partq.conformance.frontends.campaign.run import Campaign, CampaignState

DEFAULT_MASTER: Final = "local[*]"

EXACT: Final = 5
"""Of so many traces in 100 the judge is asked unless a command is told otherwise: a campaign takes less than
twice the time of one without."""

TRACE_TIMEOUT: Final = 60.0
"""Seconds that a simulated broker may take for a trace unless a command is told otherwise."""

SLOW: Final = 10
"""Below so many traces a second a rate has decimals."""

PERIOD: Final = 10.0
"""Seconds between two lines of progress, where standard error is no terminal."""


def check_extra() -> None:
    """End with one line unless the packages of the extra ``spark`` are installed."""
    if missing := [name for name in ("pyspark", "pyarrow", "pandas") if find_spec(name) is None]:
        fail(f"{' and '.join(missing)} not installed: pip install 'partq[spark]'")


@contextmanager
def at_hand(name: Path) -> Iterator[tuple[Path, Path, str]]:
    """Where the file or folder, which may be a URI, can be read, where what is made of it goes, and its name.
    Ends with one line where it is not to be had."""
    if ":/" not in str(name):
        yield name, name, str(name)
        return
    check_extra()
    from partq.conformance.frontends.campaign import remote

    with remote.at_hand(str(name)) as found:
        yield found


@contextmanager
def done(plan: Plan, out: str, master: str, resume: bool, **how: Any) -> Iterator[Campaign]:
    """The campaign, done, with its folder open; its progress is on standard error. ``how``: as `campaign`
    takes it. Ends with one line where it can't be done; an interrupt prints what is stored and how to go
    on."""
    from partq.conformance.frontends.campaign.run import GO_ON, campaign

    display = Display(plan.traces)
    try:
        with campaign(plan, out, master, resume, display, **how) as finished:
            display.bar.stop()
            yield finished
    except KeyboardInterrupt:
        text = f"{display.stored:,} of {plural(plan.traces, 'trace')} are stored; {GO_ON}"
        note(text if display.stored else "nothing is stored yet")
        raise
    finally:
        display.bar.stop()


def stored_line(out: str) -> str:
    """Where the results are, and how to see them."""
    return printable(f"stored in {out} ({shlex.join(['partq', 'report', out])})")


class Display:
    """A campaign's progress, and how many traces are ``stored``: a bar on a terminal, elsewhere a line every
    `PERIOD`."""

    def __init__(self, total: int, clock: Callable[[], float] = time.monotonic) -> None:
        columns = (
            progress.TextColumn("{task.description}"),
            progress.BarColumn(),
            progress.MofNCompleteColumn(),
            progress.TextColumn("{task.fields[rate]} traces/s"),
            progress.TextColumn("{task.fields[bad]} violations"),
            progress.TimeRemainingColumn(),
        )
        self.bar = progress.Progress(*columns, console=console, disable=not console.is_terminal)
        self.total = total
        self.stored = 0
        self.lines = Lines(clock)

    def starting(self, state: CampaignState) -> None:
        """Spark is started."""
        if console.is_terminal:
            self.task = self.bar.add_task("starting Spark", total=self.total, **self._fields(state))
            self.bar.start()
        else:
            self.lines.say("starting Spark")

    def went(self, state: CampaignState) -> None:
        """So far it is."""
        self.stored = state.stored
        if console.is_terminal:
            self.bar.update(self.task, description=state.doing or "traces", **self._fields(state))
        else:
            traces = f"{state.traces:,} of {plural(self.total, 'trace')}"
            rate = state.doing or f"{rate_in_words(state.rate)} traces/s"
            self.lines.say_if_due(f"{traces}, {plural(state.violations, 'violation')}, {rate}")

    def _fields(self, state: CampaignState) -> dict[str, Any]:
        rate = rate_in_words(state.rate)
        return {"completed": state.traces, "bad": f"{state.violations:,}", "rate": rate}


def rate_in_words(rate: float | None) -> str:
    """Traces a second, of a live broker less than one; ``-`` where that is not known."""
    if not rate:
        return "-"
    return f"{rate:,.0f}" if rate >= SLOW else f"{rate:.2g}"


class Lines:
    """Lines on standard error, not too many."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self.due = clock()

    def say(self, text: str) -> None:
        """Say it now."""
        self.due = self.clock() + PERIOD
        note(text)

    def say_if_due(self, text: str) -> None:
        """Say it if the last was said a `PERIOD` ago."""
        if self.clock() >= self.due:
            self.say(text)


@contextmanager
def shrinking() -> Iterator[Callable[[int, int, str], None]]:
    """Announces which of how many counterexamples is shrunk, and whose: one line on a terminal, gone when all
    is done, elsewhere a line every `PERIOD`."""
    lines = Lines()
    with bar(progress.TextColumn("{task.description}")) as shown:
        task = shown.add_task("", visible=False)

        def announce(number: int, total: int, whose: str) -> None:
            doing = printable(f"shrinking {number} of {total}: {whose}")
            if console.is_terminal:
                shown.update(task, description=doing, visible=True)
            else:
                lines.say_if_due(doing)

        yield announce
