"""Arguments and options that several commands have, with what a shell completes them from."""

from __future__ import annotations

from typing import Annotated

import typer

from partq.conformance.frontends.cli.common import BROKERS, PROFILE_NAMES, Format
from partq.conformance.frontends.cli.listing import Kind, complete_broker, completing

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

Output = Annotated[Format, typer.Option("--format", help="What to print.")]
