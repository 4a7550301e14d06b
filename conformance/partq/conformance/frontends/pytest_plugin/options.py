"""What a session runs: pytest's options say it, and where they do not, [tool.partq] in pyproject.toml."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from partq.conformance.frontends import baseline_file
from partq.conformance.frontends.settings import Settings, settings_near
from partq.conformance.frontends.toml_tables import decoded
from partq.conformance.verdict import Entry

GIVEN: Final = ("broker", "profile", "programs", "seed", "strict", "baseline")
"""The settings that pytest has an option for."""


def settings_of(config: pytest.Config) -> Settings:
    """The session's. Raises `BadTable`."""
    given = {name: config.getoption(f"partq_{name}") for name in GIVEN}
    asked = {name: value for name, value in given.items() if value is not None and value is not False}
    return settings_near(config.invocation_params.dir).of(given["broker"])._replace(**asked)


def entries_in(file: Path | None) -> tuple[Entry, ...] | None:
    """What is known by that baseline; None without one. Raises `BadTable`."""
    return None if file is None else baseline_file.loads(decoded(file), str(file))
