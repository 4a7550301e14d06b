"""What the commands of ``partq spec`` share: what was asked for, a line as each ends, and the answers.

What one of them asks of a tool is in its own module.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date
from typing import Any, NoReturn, TypeVar

import typer
from rich.text import Text

from partq.conformance.frontends.cli.common import Format, fail, note, output, print_json
from partq.conformance.verdict import Exit

T = TypeVar("T")


def known(names: Sequence[str], every: Mapping[str, T], what: str) -> list[T]:
    """Those of these names, all if there are none; ends with one line where one is not known."""
    from partq.conformance.history.codec_fields import did_you_mean

    for name in names:
        if name not in every:
            fail(f"no {what} is called {name!r}{did_you_mean(name, every)}")
    return [one for name, one in every.items() if not names or name in names]


def told(ending: Iterable[T], total: int, line: Callable[[T], str]) -> Iterator[T]:
    """Each as it ends, when it was told with a numbered line."""
    for number, one in enumerate(ending, start=1):
        note(f"{number}/{total} {line(one)}")
        yield one


def today() -> str:
    """The date that records of this run bear."""
    return date.today().isoformat()


def ok_or(wrong: str) -> Text:
    """How an answer fits the manifest, in a table."""
    return Text(wrong, style="bold red") if wrong else Text("ok", style="green")


def report(
    what: str,
    done: Sequence[T],
    format: Format,
    *,
    plain: Callable[[T], dict[str, Any]],
    show: Callable[[Sequence[T]], None],
    wrong: Callable[[Any], object] = lambda one: one.wrong,
    otherwise: str = "as the manifest says",
) -> NoReturn:
    """Print the answers, as JSON or by ``show`` with a last line, and end with the exit code. ``what``: their
    name; ``otherwise``: what they all are where none is wrong."""
    differ = sum(bool(wrong(one)) for one in done)
    if format is Format.JSON:
        print_json({what: [plain(one) for one in done]})
    else:
        show(done)
        said = f"{differ} of {len(done)} {what} differ" if differ else f"{len(done)} {what}, all {otherwise}"
        output().print(said, style="bold red" if differ else "bold green")
    raise typer.Exit(Exit.VIOLATED if differ else Exit.CONFORMANT)
