"""The norm apart from its deviations: it speaks of none, and imports none."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest

import partq.model
from partq.model import departures

MODEL = Path(next(iter(partq.model.__path__)))
NORMS = sorted(path.name.replace("_deviations", "") for path in MODEL.glob("*_deviations.py"))
"""The mechanisms whose deviations stand beside them."""

OTHERS = ["commits.py", "cursors.py", "distributions.py", "pending.py"]
"""Parts of such a mechanism that no deviation is about."""

WAIVING = re.compile(
    r"\b(forbid|breaks|waive|relax|bend|deviat|depart|blame|narrowly|tolera)\w*", re.IGNORECASE
)


@pytest.mark.parametrize("name", [*NORMS, *OTHERS])
def test_a_norm_has_no_word_of_waiving(name: str) -> None:
    source = (MODEL / name).read_text()
    said = [
        node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else node.arg
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Name | ast.Attribute | ast.arg)
    ]
    assert not [word for word in said if WAIVING.search(word.replace("_", " "))]
    assert not WAIVING.search(source)


def test_every_module_of_deviations_is_loaded_and_held_by_the_contract() -> None:
    mechanisms = {name.removesuffix(".py") for name in NORMS}
    assert {*departures.MECHANISMS} == mechanisms
    project = tomllib.loads((MODEL.parents[2] / "pyproject.toml").read_text())
    contract = next(c for c in project["tool"]["importlinter"]["contracts"] if c["name"].startswith("a norm"))
    assert {f"partq.model.{name}" for name in mechanisms} <= {*contract["source_modules"]}
    assert {f"partq.model.{name}_deviations" for name in mechanisms} == {*contract["forbidden_modules"]}
