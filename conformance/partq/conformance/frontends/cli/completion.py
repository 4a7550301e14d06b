"""``partq completion``: the script that makes a shell complete partq's commands, options and names."""

from __future__ import annotations

import os
from enum import StrEnum
from typing import Annotated, Any, Final

import typer
from typer._completion_classes import completion_init
from typer._completion_shared import get_completion_script

from partq.conformance.frontends.cli.streams import say

ASKED: Final = "_PARTQ_COMPLETE"
"""The variable by which a shell's script asks what completes a word."""


class Shell(StrEnum):
    """What there is a script for."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"
    POWERSHELL = "powershell"


def completion(
    shell: Annotated[Shell, typer.Argument(metavar="SHELL", help=f"One of {', '.join(Shell)}.")],
) -> None:
    """Print a shell's completion script, to be evaluated as the shell starts."""
    say(get_completion_script(prog_name="partq", complete_var=ASKED, shell=shell.value))


def complete(command: Any) -> int | None:
    """Answer a shell's script, if it is one that asks: the exit code."""
    if ASKED not in os.environ:
        return None
    completion_init()
    try:
        command.main(prog_name="partq", complete_var=ASKED, standalone_mode=False)
    except SystemExit as end:
        return int(end.code or 0)
    return 0
