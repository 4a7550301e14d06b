"""The pytest entry point of partq: options, and the suite where it is asked for.

    pytest --pyargs partq.conformance --broker=reference --profile=azure-premium -n 2

Nothing heavy may be imported at module level, and nothing may get in the way of other suites: every pytest
run on the machine loads this module. The suite itself is `suite.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pytest

PACKAGE: Final = "partq.conformance"
SHORT: Final = ("--broker", "--profile")
"""Options that other plugins may have too: known only in runs that name our package."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options that bear our name; in runs of our suite the first two may be called --broker and --profile."""
    group = parser.getgroup("partq", f"partq, the broker conformance suite (pytest --pyargs {PACKAGE})")
    group.addoption(
        "--partq-broker", metavar="NAME", help="broker to check: reference, rabbitmq://…, my_module:MyBroker"
    )
    group.addoption(
        "--partq-profile", metavar="NAME", action="append", help="only this profile; may be repeated"
    )
    group.addoption(
        "--partq-jobs",
        metavar="N",
        type=int,
        help="cases of a live broker run at once, if it allows that [8]",
    )
    group.addoption(
        "--partq-programs", metavar="N", type=int, help="seeded programs for each profile [as partq run]"
    )
    group.addoption(
        "--partq-seed", metavar="N", type=int, default=1, help="the same seed gives the same programs [1]"
    )
    group.addoption(
        "--partq-strict",
        action="store_true",
        help="a SHOULD binds too: violated it fails (else xfail), unknown it leaves the session inconclusive",
    )


def pytest_load_initial_conftests(parser: pytest.Parser, args: list[str]) -> None:
    """In a run of our suite add the short names of the options."""
    if _ours(args):
        group = parser.getgroup("partq")
        group.addoption("--broker", dest="partq_broker", metavar="NAME", help="short for --partq-broker")
        group.addoption(
            "--profile",
            dest="partq_profile",
            metavar="NAME",
            action="append",
            help="short for --partq-profile",
        )


def pytest_configure(config: pytest.Config) -> None:
    """Take part in the run only if it is of our suite."""
    if config.getoption("partq_broker", None) or _ours(map(str, config.args)):
        from partq.conformance.frontends.process_title import hide_secrets
        from partq.conformance.frontends.pytest_plugin.suite import SuitePlugin

        hide_secrets()
        config.pluginmanager.register(SuitePlugin(config), "partq-suite")


def _ours(args: Iterable[str]) -> bool:
    return any(argument.partition("::")[0] == PACKAGE for argument in args)
