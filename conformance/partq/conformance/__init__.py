"""Driving a broker and judging what it answered: programs, adapters, histories, screens, verdicts.

Holds every stage between a workload and a verdict, in pytest, Hypothesis and Spark size. May import
`partq.model` and `partq.spec`; only `adapters.reference` and `adapters.mutants` may touch the reference
broker, and pyspark stays under `frontends.campaign`. What a broker is allowed to do belongs to the model, not
here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from partq.conformance.frontends.api import check as check
    from partq.conformance.frontends.api import explain as explain
    from partq.conformance.frontends.api import run as run

__all__ = ["check", "explain", "run"]

_API: Final = "partq.conformance.frontends.api"


def __getattr__(name: str) -> Any:
    """The Python API, imported when it is asked for: every pytest run on the machine imports this package."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_API), name)
