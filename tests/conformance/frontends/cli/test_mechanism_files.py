"""What the map of a mechanism shows is there, and nothing of its name is left out."""

from __future__ import annotations

from itertools import chain
from pathlib import Path

import pytest

from partq.conformance.frontends.cli.explain import files_of
from partq.conformance.of_mechanisms import FOLDERS
from partq.model import mechanisms
from partq.model.requirements import catalogue

ROOT = Path(__file__).parents[4]


def test_the_map_of_a_mechanism() -> None:
    assert files_of("transactions") == (
        "partq/model/transactions/rules.toml",
        "partq/model/transactions/commits.py",
        "partq/model/transactions/deviations.py",
        "partq/model/transactions/ending.py",
        "partq/model/transactions/limits.py",
        "partq/model/transactions/membership.py",
        "partq/model/transactions/norm.py",
        "partq/conformance/mechanisms/transactions/programs.py",
        "partq/conformance/mechanisms/transactions/reading.py",
        "partq/conformance/workload/operations/transactions.py",
        "partq/reference_impl/transactions.py",
        "partq/reference_impl/mutants/transactions.py",
        "partq/spec/tla/Transactions.tla",
        "docs/rules/transactions.md",
        "tests/corpus/transactions/bad.toml",
        "tests/corpus/transactions/good.toml",
        "tests/corpus/transactions/open.toml",
    )


def test_what_conformance_has_of_a_mechanism_is_in_a_folder_of_its_name() -> None:
    assert [name for name in files_of("deferral") if name.startswith("partq/conformance/")] == [
        "partq/conformance/mechanisms/deferral/programs.py",
        "partq/conformance/mechanisms/deferral/reading.py",
        "partq/conformance/mechanisms/deferral/steps.py",
    ]


def test_what_is_no_mechanism_has_no_files() -> None:
    assert files_of("nothing") == ()


@pytest.mark.parametrize("mechanism", sorted({rule.mechanism for rule in catalogue().values()}))
def test_every_module_and_history_of_a_mechanism_is_on_its_map(mechanism: str) -> None:
    files = files_of(mechanism)
    assert files[0] == f"partq/model/{mechanism}/rules.toml"
    found = [mechanisms.parts(FOLDERS, part).values() for part in ("steps", "programs", "reading")]
    modules = chain(mechanisms.norms(), mechanisms.deviations(), *found)
    names = {f"{module.__name__.replace('.', '/')}.py" for module in modules}
    assert {name for name in names if f"/{mechanism}/" in name} <= set(files)
    corpus = {
        f"tests/corpus/{mechanism}/{file.name}" for file in (ROOT / "tests/corpus" / mechanism).glob("*")
    }
    assert corpus <= set(files)


def test_every_part_of_the_corpus_bears_a_mechanism_s_name() -> None:
    folders = {file.parent.name for file in (ROOT / "tests/corpus").glob("*/*.toml")}
    assert folders <= {rule.mechanism for rule in catalogue().values()}
