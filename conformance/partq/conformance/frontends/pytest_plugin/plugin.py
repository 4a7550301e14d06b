"""The pytest entry point of partq: options, and the suite where it is asked for.

    pytest --pyargs partq.conformance --broker=reference --profile=azure-premium

Nothing heavy may be imported at module level, and nothing may get in the way of other suites: every pytest
run on the machine loads this module. The suite itself is `suite.py`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pytest

PACKAGE: Final = "partq.conformance"

_SHORT: Final = f"(or {{short}}=NAME, after --pyargs {PACKAGE}) "
"""Of options that other plugins may have too: known only in runs that name our package."""

BROKER: Final = _SHORT + "broker to check: reference, rabbitmq://…, my_module:MyBroker"
PROFILE: Final = _SHORT + "only this profile; may be repeated"
"""What the help says of these."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options that bear our name; in runs of our suite the first two may be called --broker and --profile.
    What is not given, [tool.partq] in pyproject.toml says."""
    about = f"partq, the broker conformance suite (pytest --pyargs {PACKAGE}); defaults: [tool.partq]"
    group = parser.getgroup("partq", f"{about} in pyproject.toml")
    add = group.addoption
    add("--partq-broker", metavar="NAME", help=BROKER.format(short="--broker"))
    add("--partq-profile", metavar="NAME", action="append", help=PROFILE.format(short="--profile"))
    add("--partq-jobs", metavar="N", type=int, help="programs of a live broker run at once, if it allows [8]")
    add("--partq-programs", metavar="N", type=int, help="seeded programs for each profile [as partq run]")
    add("--partq-seed", metavar="N", type=int, help="the same seed gives the same programs [1]")
    add("--partq-baseline", metavar="FILE", type=Path, help="known violations, which are xfails (docs/ci.md)")
    add(
        "--partq-out",
        metavar="DIR",
        type=Path,
        help="keep verdicts and counterexamples there, for partq replay and partq report "
        "[counterexamples only, in pytest's cache]",
    )
    add(
        "--partq-strict",
        action="store_true",
        help="a SHOULD binds too: violated it fails (else xfail), undecided the session is inconclusive",
    )


def pytest_load_initial_conftests(parser: pytest.Parser, args: list[str]) -> None:
    """In a run of our suite add the short names of the options."""
    if _ours(args):
        add = parser.getgroup("partq").addoption
        add("--broker", dest="partq_broker", metavar="NAME", help="short for --partq-broker")
        short = "short for --partq-profile"
        add("--profile", dest="partq_profile", metavar="NAME", action="append", help=short)


def pytest_configure(config: pytest.Config) -> None:
    """Take part in the run only if it is of our suite."""
    if config.getoption("partq_broker", None) or _ours(map(str, config.args)):
        import pytest

        from partq.conformance.frontends.process_title import hide_secrets
        from partq.conformance.frontends.pytest_plugin.suite import SuitePlugin
        from partq.model.errors import UserError

        hide_secrets()
        try:
            config.pluginmanager.register(SuitePlugin(config), "partq-suite")
        except UserError as error:
            raise pytest.UsageError(f"partq: {error}") from None


def _ours(args: Iterable[str]) -> bool:
    return any(argument.partition("::")[0] == PACKAGE for argument in args)
