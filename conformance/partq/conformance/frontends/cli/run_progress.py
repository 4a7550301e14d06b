"""What ``partq run`` says while it runs: a bar, or lines now and then, and what adapters did wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from time import monotonic
from typing import Final

from partq.conformance.frontends.cli.lazy import lazily
from partq.conformance.frontends.cli.streams import bar, console, note
from partq.conformance.verdict import Exit, outcome

with lazily():
    from partq.conformance.evaluation import suite

OFTEN: Final = 5.0
"""Seconds from one line of progress to the next, of a simulated broker."""


class ProblemPrinter:
    """What adapters did wrong, on standard error: each thing once, however many runs it is met in."""

    def __init__(self) -> None:
        self.times: Counter[str] = Counter()

    def report(self, name: str, problem: str) -> None:
        """It happened in the run of that name."""
        self.times[problem] += 1
        if self.times[problem] == 1:
            note(f"{name}: {problem}")

    def summarise(self) -> None:
        """Say which happened more than once."""
        for problem, times in self.times.items():
            if times > 1:
                note(f"in {times} runs: {problem}")


@contextmanager
def progress(profile: str, numbers: Mapping[str, int], live: bool) -> Iterator[Callable[[suite.Run], None]]:
    """A bar on standard error, gone when all is done; where that is no terminal, a line now and then, of a
    live broker, which takes its time, a line for each run. The first run that violates something is always
    told, of a live broker every one."""
    total = sum(numbers.values())
    intro = f"{profile}: {', '.join(f'{kind}: {number}' for kind, number in numbers.items())}"
    every, last, ended, violated = 0.0 if live else OFTEN, monotonic(), 0, False
    with bar() as shown:
        task = shown.add_task(profile, total=total)

        def advance(done: suite.Run) -> None:
            nonlocal intro, last, ended, violated
            shown.update(task, advance=1, description=f"{profile}: {done.name}")
            ended += 1
            code, why = outcome(done.verdicts, done.verdicts)
            wrong = f": {why}" if code == Exit.VIOLATED else ""
            tell = bool(wrong) and (live or not violated)
            violated |= bool(wrong)
            now, terminal = monotonic(), console.is_terminal
            due = not terminal and now - last >= every
            if intro and (due or (tell and not terminal)):
                note(intro)
                intro = ""
            if due or tell:
                last = now
                first = "" if live or not tell else "first violation: "
                note(f"{profile}: {first}{done.name} ({ended} of {total}){wrong if tell else ''}")

        yield advance
