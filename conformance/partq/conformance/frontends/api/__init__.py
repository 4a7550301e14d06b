"""The Python API: histories and brokers in, verdicts out, for scripts and notebooks (docs/api.md).

`partq.conformance` hands these names on, and imports them only when they are asked for.
"""

from __future__ import annotations

from partq.conformance.frontends.api.calls import check, explain, run
from partq.conformance.frontends.api.explanation import Explanation
from partq.conformance.frontends.api.result import Found, Result, Violated
from partq.conformance.frontends.api.tables import MissingPackage

__all__ = ["Explanation", "Found", "MissingPackage", "Result", "Violated", "check", "explain", "run"]
