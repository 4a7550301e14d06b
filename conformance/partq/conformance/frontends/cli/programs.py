"""The programs, and traces of the specification, that a user names by file; each ends with one line where it
is neither."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from partq.conformance.frontends.cli.common import fail, failing
from partq.conformance.frontends.cli.lazy import lazily
from partq.conformance.workload.program import Program, from_json
from partq.spec.simulation.itf import SUFFIX, read_file

with lazily():
    from partq.conformance.workload import traces

_JSON: Final = ".json"


class Stored(NamedTuple):
    """What a file holds. ``name``: of its run."""

    file: Path
    name: str
    holds: Program | traces.Behaviour

    def fits(self, profile: str) -> bool:
        """Whether it can be run under that profile."""
        return self.holds.profile == profile if isinstance(self.holds, Program) else self.holds.fits(profile)

    def program(self, profile: str, lacks: Collection[str], seed: int) -> Program:
        """Its program, for a profile that it fits. That of a trace has that seed, and none of the steps that
        the broker ``lacks``."""
        return self.holds if isinstance(self.holds, Program) else self.holds.program(profile, lacks, seed)


def programs_in(paths: Sequence[Path]) -> list[Stored]:
    """What is in these files; of a folder in all its .json files."""
    files = [file for path in paths for file in _files(path)]
    times = Counter(map(_stem, files))
    return [
        Stored(file, _stem(file) if times[_stem(file)] == 1 else str(file), _read(file)) for file in files
    ]


def _files(path: Path) -> Iterable[Path]:
    if not path.is_dir():
        return (path,)
    found = sorted(path.glob(f"*{_JSON}"))
    if not found:
        fail(f"{path} has no {_JSON} file")
    return found


def _stem(file: Path) -> str:
    return file.name.removesuffix(SUFFIX).removesuffix(_JSON)


def _read(file: Path) -> Program | traces.Behaviour:
    with failing(file):
        try:
            return traces.behaviour_of(read_file(file)) if file.name.endswith(SUFFIX) else _program(file)
        except ValueError as error:
            fail(f"{file}: {error}")


def _program(file: Path) -> Program:
    try:
        data = json.loads(file.read_bytes())
    except (ValueError, RecursionError):
        raise ValueError(f"no JSON: a program (partq.program/1) or a trace ({SUFFIX}) is expected") from None
    return from_json(data)
