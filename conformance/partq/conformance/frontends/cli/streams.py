"""Where commands write: results to standard output, and everything else to standard error.

What adapters and libraries print goes to standard error, too, so that it cannot spoil a result. Nothing here
knows what a result is.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from io import UnsupportedOperation
from typing import Any, Final, TextIO

from rich.console import Console
from rich.progress import Progress, ProgressColumn

from partq.conformance.adapters.names import public_text

WIDTH: Final = 120
"""Columns of a table that is not shown on a terminal."""


class _Errors(Console):
    """Standard error, without the secrets of URLs. That it cannot be written is no exit code, and no end of
    what is under way."""

    def print(self, *texts: Any, **options: Any) -> None:
        """As `Console.print`."""
        super().print(*(public_text(text) if isinstance(text, str) else text for text in texts), **options)

    def __exit__(self, *exception: object) -> None:
        """Write what was printed; every way to print ends here."""
        try:
            super().__exit__(*exception)
        except OSError:
            self.on_broken_pipe()

    def on_broken_pipe(self) -> None:
        """Say nothing more, and leave nothing that Python would try to say at the end."""
        self.quiet = True
        _let_go(self.file)


class _Output(Console):
    """Standard output. That nobody reads on is not an exit code of ours (rich makes it 1)."""

    def on_broken_pipe(self) -> None:
        """Leave it to `app.main`."""
        raise BrokenPipeError


console: Final = _Errors(stderr=True, highlight=False, emoji=False)
"""For progress and errors; results go to standard output."""

_results: list[TextIO] = []
"""Standard output as it was before each `results_apart` that is under way."""


@contextmanager
def results_apart() -> Iterator[None]:
    """Only `say` and `output` write to standard output meanwhile: for everybody else it is standard error.

    Raises `OSError` at the end where the results cannot be written.
    """
    stream = sys.stdout
    _results.append(stream)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        _results.pop()
        stream.flush()


def _standard_output() -> TextIO:
    return _results[-1] if _results else sys.stdout


def printable(text: str) -> str:
    """A broker's or a file's text without anything that would steer a terminal."""
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)


def note(text: str) -> None:
    """Print what is no result: progress, warnings, errors."""
    console.print(printable(text), markup=False, soft_wrap=True)


def hint(text: str) -> None:
    """Print what may be done next, if there is a terminal to read it."""
    if text and console.is_terminal:
        note(text)


def bar(*columns: ProgressColumn, shown: bool = True) -> Progress:
    """A bar on standard error, gone when all is done; where that is no terminal there is none."""
    return Progress(*columns, console=console, transient=True, disable=not (shown and console.is_terminal))


def say(text: str) -> None:
    """Print a line of results."""
    print(text, file=_standard_output())


def output() -> Console:
    """Standard output for tables and styled text; wide enough where it is no terminal."""
    stream = _standard_output()
    wide = None if stream.isatty() or "COLUMNS" in os.environ else WIDTH
    return _Output(file=stream, highlight=False, markup=False, width=wide)


def let_go_of_output() -> None:
    """Drop what standard output has left and cannot write, so that Python does not try again at its end."""
    with suppress(UnsupportedOperation):  # it is no file
        _let_go(sys.stdout)


def _let_go(stream: object) -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())  # type: ignore[attr-defined]
    os.close(nowhere)
