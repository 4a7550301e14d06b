"""A few command lines for the help of each command; a test runs them all, in this order, in one folder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

EXAMPLES: Final[Mapping[str, tuple[str, ...]]] = {
    "list": (
        "partq list profiles",
        "partq list mutants --rule ROUTE --profile azure-premium",
        "partq list cases lock --format json",
    ),
    "explain": ("partq explain ROUTE-2", "partq explain KEY", "partq explain route-by-body"),
    "graph": ("partq graph transactions", "partq graph azure-premium --format graphml --out life.graphml"),
    "init": ("partq init", "partq init begun --profile my-queue"),
    "profile": (
        "partq profile new my-queue",
        "partq profile check my-queue.toml",
        "partq profile show ordered-queue",
    ),
    "run": (
        "partq run",
        "partq run mutant:route-by-body --programs 5 --write-baseline known.toml",
        "partq run mutant:route-by-body --programs 5 --baseline known.toml --junit partq.xml",
        "partq run reference --profile azure-premium -v",
        "partq run mine:MyBroker --case same-key",
        "partq run mutant:route-by-body --programs 20 --out results --save-histories",
    ),
    "check": (
        "partq check results/histories/azure-standard/same-key.ndjson",
        "partq check results/histories/azure-standard/same-key.ndjson --baseline known.toml",
        "partq check - --format json < results/histories/azure-standard/same-key.ndjson",
    ),
    "search": (
        "partq search mutant:route-by-body --out smallest.json",
        "partq search reference --profile azure-flat --examples 20 --format json",
    ),
    "replay": (
        "partq replay smallest.json --broker mutant:route-by-body",
        "partq replay smallest.json --broker reference",
    ),
    "fuzz": (
        "partq fuzz mutant:route-by-body --traces 500 --seed 1 --out found",
        "partq fuzz mutant:route-by-body --traces 500 --seed 1 --out found --resume",
        "partq fuzz reference --trace 15603 --seed 7 --profile solace",
    ),
    "mutants": ("partq mutants --only route-by-body --traces 500 --out killed",),
    "compare": (
        "partq compare reference mutant:newest-first mine:MyBroker --profile azure-premium --programs 5",
        "partq compare results found --out comparison.html",
    ),
    "report": ("partq report results", "partq report found"),
    "completion": ("partq completion bash > partq-completion.bash",),
    "tours": ("partq tours reference --profile azure-flat --rounds 2",),
}
"""Command -> examples."""


def epilog(command: str) -> str | None:
    """The examples as the end of a command's help: a paragraph each, for only these keep their lines."""
    if command not in EXAMPLES:
        return None
    return "\n\n".join(("Examples:", *(f"  {example}" for example in EXAMPLES[command])))
