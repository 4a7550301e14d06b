"""The norm apart from its deviations: it speaks of none, and imports none."""

from __future__ import annotations

import ast
import re
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest

import partq.model
from partq.model import mechanisms

MODEL = Path(next(iter(partq.model.__path__)))
PARTS = sorted(str(path.relative_to(MODEL)) for path in MODEL.glob("*/*.py"))
"""The modules of the mechanisms."""

DEVIATIONS = [part for part in PARTS if part.endswith("deviations.py")]
NORMS = [part for part in PARTS if part not in DEVIATIONS]

WAIVING = re.compile(
    r"\b(forbid|breaks|waive|relax|bend|deviat|depart|blame|narrowly|tolera)\w*", re.IGNORECASE
)


@pytest.mark.parametrize("name", NORMS)
def test_a_norm_has_no_word_of_waiving(name: str) -> None:
    source = (MODEL / name).read_text()
    said = [
        node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else node.arg
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Name | ast.Attribute | ast.arg)
    ]
    assert not [word for word in said if WAIVING.search(word.replace("_", " "))]
    assert not WAIVING.search(source)


def test_every_mechanism_with_a_norm_is_listed() -> None:
    """And so its modules are found, which need no list."""
    assert sorted(mechanisms.MECHANISMS) == sorted({part.partition("/")[0] for part in PARTS})


def test_every_part_of_a_norm_and_its_deviations_is_held_by_the_contract() -> None:
    project = tomllib.loads((MODEL.parents[2] / "pyproject.toml").read_text())
    contract = next(c for c in project["tool"]["importlinter"]["contracts"] if c["name"].startswith("a norm"))
    for modules, held in ((NORMS, contract["source_modules"]), (DEVIATIONS, contract["forbidden_modules"])):
        names = [part.removesuffix(".py").replace("/", ".") for part in modules if "__init__" not in part]
        assert [name for name in names if not any(fnmatch(f"partq.model.{name}", one) for one in held)] == []
