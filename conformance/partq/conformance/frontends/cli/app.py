"""The `partq` command: assembles the commands and turns every way to fail into an exit code.

Each command is a function in a module of its own, whose imports wait until it runs (`lazy`), so that
`partq --help` is quick.
"""

from __future__ import annotations

import errno
import sys
import traceback
from collections.abc import Sequence
from importlib.metadata import version
from typing import Annotated, Any, Final

import typer
from typer.core import TyperCommand

from partq.conformance.frontends.cli import profile, spec
from partq.conformance.frontends.cli.check import check
from partq.conformance.frontends.cli.compare import compare
from partq.conformance.frontends.cli.completion import complete, completion
from partq.conformance.frontends.cli.examples import epilog
from partq.conformance.frontends.cli.explain import explain
from partq.conformance.frontends.cli.fuzz import fuzz
from partq.conformance.frontends.cli.graph import graph
from partq.conformance.frontends.cli.init import init
from partq.conformance.frontends.cli.listing import listing
from partq.conformance.frontends.cli.mutants import mutants
from partq.conformance.frontends.cli.process import answered, own
from partq.conformance.frontends.cli.replay import replay
from partq.conformance.frontends.cli.report import report
from partq.conformance.frontends.cli.run import run
from partq.conformance.frontends.cli.search import search
from partq.conformance.frontends.cli.spec_simulate import simulate
from partq.conformance.frontends.cli.spec_validate import validate
from partq.conformance.frontends.cli.streams import console, let_go_of_output, note, results_apart
from partq.conformance.frontends.cli.tours import tours
from partq.conformance.verdict import Exit
from partq.model.errors import UserError
from partq.spec.tools.errors import SpecError

INTERRUPTED: Final = 130
UNREAD: Final = 141
"""The exit codes that shells give to what SIGINT and SIGPIPE ended: no verdict."""

BROKEN: Final = 70
"""The exit code of a defect of partq itself, so that no crash is taken for a verdict."""

EPILOG: Final = (
    "Exit codes: 0 no new violation; 1 violated, even if it is not certain which rule (search: found "
    "something; replay: reproduced; mutants: one survived; compare: newly violated by the last of two runs "
    "of one broker); 2 bad input or usage, or no room for the results; 3 inconclusive: a rule is undecided, "
    "nothing was exercised, the broker hangs or delivers nothing, the baseline is out of date, or the "
    f"adapter gave answers that no history can hold; {INTERRUPTED} interrupted; {UNREAD} standard output "
    f"was closed; {BROKEN} a defect of partq."
)

_KINDS: Final = {
    "bool": "",
    "int": "NUMBER",
    "int range": "NUMBER",
    "str": "NAME",
    "list[str]": "NAME",
    "path": "PATH",
    "dir": "FOLDER",
    "file": "FILE",
    "list[Path]": "FILES",
}
"""How a user calls the kind of value that an option takes."""


class _Command(TyperCommand):
    """A command whose help speaks of values as a user would, not as Python does."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The parameters, each with a word for its kind."""
        params: list[Any] = super().get_params(ctx)
        for one in params:
            kind = one.display_type(ctx).strip("<>")
            one.display_type = lambda ctx, word=_KINDS.get(kind, kind): word
        return params

    def invoke(self, ctx: Any) -> Any:
        """Run it; what it does not print as a result goes to standard error."""
        with results_apart():
            return super().invoke(ctx)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """``BROKER`` instead of ``{broker}``."""
        return [
            piece.replace("{", "").replace("}", "").upper() for piece in super().collect_usage_pieces(ctx)
        ]


app = typer.Typer(
    help="Executable model and conformance suite for partitioned message brokers.",
    epilog=EPILOG,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for _command in (init, run, check, fuzz, search, tours, mutants, compare, replay, report, explain, graph):
    app.command(cls=_Command, epilog=epilog(_command.__name__))(_command)
app.command("list", cls=_Command, epilog=epilog("list"))(listing)
app.command(cls=_Command, epilog=epilog("completion"))(completion)
for _of_spec in (spec.setup, spec.check, spec.compare, validate, simulate):
    spec.app.command(cls=_Command)(_of_spec)
for _of_profile in (profile.new, profile.show, profile.check):
    profile.app.command(cls=_Command)(_of_profile)
app.add_typer(spec.app, name="spec")
app.add_typer(profile.app, name="profile")


def _version(asked: bool) -> None:
    if asked:
        print(f"partq {version('partq')}")
        raise typer.Exit


@app.callback()
def _options(
    asked: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """What stands before the command."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line and answer the exit code; see `verdict.Exit`. Without arguments it is the process's
    own, and so is the process (`process.own`)."""
    return answered(own()(_exit_code)) if arguments is None else _exit_code(list(arguments))


def _exit_code(arguments: list[str] | None = None) -> int:
    command = typer.main.get_command(app)
    if arguments is None and (answered := complete(command)) is not None:
        return answered
    try:
        code = command.main(args=arguments, prog_name="partq", standalone_mode=False)
        sys.stdout.flush()  # what was printed without a command, such as help
    except (typer.Abort, KeyboardInterrupt):
        code = INTERRUPTED
    except BaseException as error:  # SystemExit, too, is nobody's way to end a command
        return _failed(error)
    if code == INTERRUPTED:  # typer, too, makes it that
        note("partq: interrupted")
    return int(code or 0)


_NO_WRITING: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO)
"""What keeps a result from being written and is no defect of ours."""

_UNSAID: Final = {
    "Value error, ": "",
    "dir '": "'",
    "Input should be a valid integer, unable to parse string as an integer": "not a whole number",
    "Input should be greater than or equal to ": "must be at least ",
    "Input should be less than or equal to ": "must be at most ",
}
"""What the library that reads options says, and what it is in words."""


def _failed(error: BaseException) -> int:
    raised = error.__context__ if isinstance(error, SystemExit) else error  # typer makes it that
    if isinstance(raised, BrokenPipeError):  # nobody reads standard output
        let_go_of_output()
        return UNREAD
    if isinstance(error, OSError) and error.errno in _NO_WRITING:
        let_go_of_output()
        where = f"{error.filename}: " if error.filename else ""
        note(f"partq: error: {where}cannot write: {error.strerror}")
        return Exit.BAD_INPUT
    if isinstance(error, UserError | SpecError):
        note(f"partq: error: {error}".replace("\n", " "))
        return Exit.BAD_INPUT
    describe = getattr(error, "format_message", None)
    if describe is None:
        console.print("".join(traceback.format_exception(error)), markup=False, soft_wrap=True, end="")
        note("partq: error: this is a defect of partq; please report it")
        return BROKEN
    context = getattr(error, "ctx", None)
    usage = f" (see {context.command_path} --help)" if context is not None else ""
    text = " ".join(describe().split())
    for theirs, ours in _UNSAID.items():
        text = text.replace(theirs, ours)
    if text := text.removesuffix("."):
        note(f"partq: error: {text}{usage}")
    return int(getattr(error, "exit_code", Exit.BAD_INPUT))
