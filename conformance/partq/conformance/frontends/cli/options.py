"""Arguments and options that several commands have, with what a shell completes them from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from partq.conformance.frontends.cli.common import BROKERS, PROFILE_NAMES, Format
from partq.conformance.frontends.cli.listing import Kind, complete_broker, completing

if TYPE_CHECKING:
    from partq.conformance.evaluation.decision import Exactness

BrokerName = Annotated[str, typer.Argument(help=BROKERS, autocompletion=complete_broker)]

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

Strict = Annotated[bool, typer.Option("--strict", help="A violated SHOULD fails too.")]

StrictOrNot = Annotated[
    bool | None, typer.Option("--strict/--no-strict", help="A violated SHOULD fails too [--no-strict].")
]

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


def exactness(base: Exactness, share: int | None, nodes: int | None) -> Exactness:
    """How much the judge is asked, where it is asked otherwise than usual."""
    share = base.share if share is None else share
    if nodes is None:
        return replace(base, share=share)
    first = nodes if base.nodes is None else min(base.nodes, nodes)
    return replace(base, share=share, nodes=first, again=nodes, more=nodes)


def words_of(options: Mapping[str, object]) -> list[str]:
    """The options as words of a command line: each of several values, a flag where it is true, nothing where
    it is not given."""
    words = []
    for option, given in options.items():
        if given is True:
            words.append(option)
        elif given is not None and given is not False:
            values = given if isinstance(given, list | tuple) else [given]
            words += [word for value in values for word in (option, str(value))]
    return words


Output = Annotated[Format, typer.Option("--format", help="What to print.")]
