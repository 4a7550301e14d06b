"""What a session runs: pytest's options say it, and where they do not, [tool.partq] in pyproject.toml."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from partq.conformance.frontends import baseline_file
from partq.conformance.frontends.settings import settings_near
from partq.conformance.frontends.toml_tables import decoded
from partq.conformance.verdict import OPEN, Entry


class Options(NamedTuple):
    """As `partq run` has them. ``baseline``: the file of what is known; None without one."""

    broker: str | None
    profiles: tuple[str, ...]
    programs: int | None
    seed: int
    strict: bool
    require: tuple[str, ...]
    open: str
    baseline: Path | None

    @classmethod
    def of(cls, config: pytest.Config) -> Options:
        """The session's. Raises `BadTable`."""
        broker: str | None = config.getoption("partq_broker")
        settings = settings_near(config.invocation_params.dir).of(broker)
        programs, seed = config.getoption("partq_programs"), config.getoption("partq_seed")
        seed = settings.seed if seed is None else seed
        return cls(
            broker or settings.broker,
            tuple(config.getoption("partq_profile") or settings.profile),
            settings.programs if programs is None else programs,
            1 if seed is None else seed,
            config.getoption("partq_strict") or bool(settings.strict),
            settings.require,
            settings.open or OPEN,
            config.getoption("partq_baseline") or settings.baseline,
        )


def entries_in(file: Path | None) -> tuple[Entry, ...] | None:
    """What is known by that baseline; None without one. Raises `BadTable`."""
    return None if file is None else baseline_file.loads(decoded(file), str(file))
