"""The norm apart from its deviations: it speaks of none, and imports none."""

from __future__ import annotations

import ast
import re
import tomllib
from fnmatch import fnmatch
from importlib.util import find_spec, module_from_spec
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


def _import_machine() -> None:
    """Run the machine's module once more, as a module of its own."""
    spec = find_spec("partq.model.machine")
    assert spec is not None and spec.loader is not None
    spec.loader.exec_module(module_from_spec(spec))


@pytest.mark.parametrize(
    ("mechanism", "table", "op"),
    [
        ("sessions", "CLIENT_OPS", "receive"),
        ("sessions", "BROKER_OPS", "send"),
        ("deferral", "BY_SETTING", "receive"),
        ("routing", "IN_TRANSACTION", "send"),
        ("sessions", "WITH_FLOWS", "receive"),
    ],
)
def test_two_norms_that_give_one_operation_are_refused(
    monkeypatch: pytest.MonkeyPatch, mechanism: str, table: str, op: str
) -> None:
    _import_machine()
    norm = mechanisms.parts("partq.model", "norm")[mechanism]
    monkeypatch.setattr(norm, table, {**getattr(norm, table, {}), op: None}, raising=False)
    with pytest.raises(ValueError, match=f"two mechanisms give the same operation: {op}"):
        _import_machine()
