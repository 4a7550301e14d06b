"""The arguments and options that several commands have, with what a shell completes them from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from partq.conformance.adapters.names import BROKERS
from partq.conformance.frontends.cli.common import PROFILE_NAMES, Format, fail
from partq.conformance.frontends.cli.listing import Kind, complete_broker, completing
from partq.conformance.verdict import (
    BadRequire,
    BadShare,
    Focus,
    UnknownRule,
    checked_require,
    rules_named,
    share_of,
)
from partq.model.requirements import catalogue

if TYPE_CHECKING:
    from partq.conformance.evaluation.decision import Exactness

# --- what is checked, and by what ---------------------------------------------------------------------

Broker = Annotated[str, typer.Argument(help=BROKERS, autocompletion=complete_broker)]
ProjectBroker = Annotated[
    str | None,
    typer.Argument(help=f"{BROKERS}; default: the one in pyproject.toml.", autocompletion=complete_broker),
]
Profiles = Annotated[
    list[str] | None,
    typer.Option(
        "--profile",
        help=f"Only this profile ({PROFILE_NAMES}); may be repeated.",
        autocompletion=completing(Kind.PROFILES),
    ),
]
Seed = Annotated[int, typer.Option(min=0, help="The same seed gives the same programs.")]
Exact = Annotated[
    int | None,
    typer.Option(
        min=0,
        max=100,
        help="Ask the judge about so many histories in 100, besides those that screens suspect; 0: the "
        "screens suffice [100].",
    ),
]
ExactNodes = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="How many nodes the judge visits for a history that it does not decide at once "
        "[200000; of many simulated ones 20000].",
    ),
]

# --- what counts --------------------------------------------------------------------------------------

Strict = Annotated[bool, typer.Option("--strict", help="A violated SHOULD fails too.")]
StrictOrNot = Annotated[
    bool | None, typer.Option("--strict/--no-strict", help="A violated SHOULD fails too [--no-strict].")
]
Require = Annotated[
    list[str] | None,
    typer.Option(
        "--require",
        metavar="ID|N%",
        help="End with exit code 3 unless this rule (its ID), or this share of the rules that bind (such as "
        "90%), was exercised; may be repeated.",
    ),
]
Rules = Annotated[
    list[str] | None,
    typer.Option("--rule", metavar="ID", help="Only this rule, or group of rules, counts; may be repeated."),
]
Exclude = Annotated[
    list[str] | None,
    typer.Option(metavar="ID", help="This rule, or group of rules, does not count; may be repeated."),
]
OPEN_HELP: Final = (
    "Of the traces or programs that exercise a rule, this share may be left undecided, and the rule passes; "
    "with 0 none."
)
Baseline = Annotated[
    Path | None,
    typer.Option(
        "--baseline",
        help="File of known violations: these fail nothing; an entry that is no longer violated does.",
    ),
]
NewBaseline = Annotated[
    Path | None,
    typer.Option(
        "--write-baseline",
        help="As --baseline, and append an entry for each new violation; the file is made if it is missing.",
    ),
]

# --- what is printed ----------------------------------------------------------------------------------

Verbose = Annotated[
    bool, typer.Option("--verbose", "-v", help="Also show a table with a row for each rule that applies.")
]
WholeCatalogue = Annotated[
    bool,
    typer.Option(
        "--all", help="Show every rule in the table, also those that do not apply or are not implemented yet."
    ),
]
JUnit = Annotated[Path | None, typer.Option("--junit", help="File for the verdicts as JUnit XML.")]
Output = Annotated[Format, typer.Option("--format", help="What to print.")]

# --- campaigns ----------------------------------------------------------------------------------------

OUT_HELP: Final = (
    "Output folder, local or a URI of a file system that Spark knows (hdfs:, s3a:, abfss:, dbfs:); must not "
    "exist, or hold the same campaign (--resume)."
)
LENGTH_HELP: Final = (
    "Phrases (a few steps that belong together, such as a transaction) in each program; "
    "unless given, 24 to 96."
)
TraceExact = Annotated[
    int,
    typer.Option(
        min=0,
        max=100,
        help="Ask the judge about so many traces in 100, besides those that a screen suspects. With 100 a "
        "campaign takes 3 to 6 times as long.",
    ),
]
Wave = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Traces in a wave: with each, what was found is stored for good; unless given, some minutes of "
        "work.",
    ),
]
Resume = Annotated[bool, typer.Option(help="Finish what is missing in the folder.")]
BreakLock = Annotated[
    bool,
    typer.Option(
        "--break-lock",
        help="--resume, though a session on another machine has locked the folder; only if it has certainly "
        "ended.",
    ),
]


# --- what is made of them -----------------------------------------------------------------------------


@contextmanager
def _given(name: str) -> Iterator[None]:
    """End with one line where what is given for that option makes no sense."""
    try:
        yield
    except (BadRequire, BadShare, UnknownRule) as error:
        fail(f"{name}: {error}")


def share_left_open(word: str) -> Fraction:
    """The share that ``--open`` names."""
    with _given("--open"):
        return share_of(word)


def requirements_to_meet(words: Sequence[str] | None) -> tuple[str, ...]:
    """What ``--require`` asks for."""
    with _given("--require"):
        return checked_require(words or ())


def focus_of(rules: Sequence[str] | None, exclude: Sequence[str] | None) -> Focus:
    """What ``--rule`` and ``--exclude`` ask about; ends with one line where that is nothing."""
    with _given("--rule, --exclude"):
        focus = Focus(rules_named(tuple(rules or ())), rules_named(tuple(exclude or ())))
    if not any(map(focus.asks, catalogue())):
        fail("--exclude leaves no rule of those that --rule names")
    return focus


def exactness(base: Exactness, share: int | None, nodes: int | None) -> Exactness:
    """How much the judge is asked, where it is asked otherwise than usual."""
    share = base.share if share is None else share
    if nodes is None:
        return replace(base, share=share)
    first = nodes if base.nodes is None else min(base.nodes, nodes)
    return replace(base, share=share, nodes=first, again=nodes, more=nodes)


def words_of(given: Mapping[str, object]) -> list[str]:
    """The options as words of a command line: each of several values, a flag where it is true, nothing where
    it is not given."""
    words = []
    for option, value in given.items():
        if value is True:
            words.append(option)
        elif value is not None and value is not False:
            values = value if isinstance(value, list | tuple) else [value]
            words += [word for one in values for word in (option, str(one))]
    return words
