"""What a command takes from the project that it runs in: the table [tool.partq], and the baseline. Reads and
writes the files, and ends with one line where they are wrong."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from partq.conformance.adapters import Broker, public_name
from partq.conformance.frontends import baseline_file
from partq.conformance.frontends.cli.common import fail, failing, is_live
from partq.conformance.frontends.cli.streams import note
from partq.conformance.frontends.settings import NOTHING, TABLE, Settings, settings_near
from partq.conformance.verdict import Entry, Matched, Verdicts, binding_requirements, entries_for, match


def settings_for(broker: str | None) -> Settings:
    """The settings of the project for the broker that is named on the command line, if one is."""
    found = settings_near(Path.cwd())
    applying = found.of(broker)
    if found is not NOTHING and applying.file is None:
        note(f"partq: {found.file}: {TABLE} is about {public_name(found.broker or '')}: not used")
    return applying


def broker_of(settings: Settings) -> str:
    """The broker of the project; ends with one line where it names none."""
    if settings.broker is None:
        fail(f"which broker? Give BROKER, or broker in {TABLE} of pyproject.toml (partq init writes one)")
    return settings.broker


class Baseline(NamedTuple):
    """A baseline. ``shown``: its file, as the user would type it; ``place``: where it is. ``writes``: whether
    what is new is to be put into it; ``sometimes``: whether the next run may show something else."""

    shown: Path
    place: Path
    entries: tuple[Entry, ...]
    writes: bool
    sometimes: bool = False

    def of(self, broker: Broker) -> Baseline:
        """For runs of that broker: those of a live one are never the same."""
        return self._replace(sometimes=is_live(broker))

    def matched(self, results: Mapping[str, Verdicts], whole: bool, strict: bool) -> Matched:
        """The verdicts against it, and against what was appended to it."""
        found = match(results, self.entries, whole)
        binding = binding_requirements(strict)
        new = [one for one in found.new if one.binds(binding)]
        more = entries_for(new, baseline_file.TODO, self.sometimes)
        if not (self.writes and (more or not self.place.exists())):
            return found
        head = "" if self.place.exists() else baseline_file.HEAD
        with failing(self.shown), self.place.open("a", encoding="utf-8") as stream:
            stream.write(head + baseline_file.dumps(more))
        for text in baseline_file.unconditional(more, new, str(self.shown)):
            note(f"partq: warning: {text}")
        return match(results, (*self.entries, *more), whole)


def baseline_of(asked: Path | None, new: Path | None, settings: Settings = NOTHING) -> Baseline | None:
    """The baseline to hold verdicts against; ends with one line where it can't be read."""
    if asked and new:
        fail("give --baseline or --write-baseline, which reads the file, too")
    here, settled = Path.cwd(), settings.baseline
    if settled and settled.is_relative_to(here):
        settled = settled.relative_to(here)
    shown = new or asked or settled
    if shown is None:
        return None
    if new and not new.exists():
        if not new.absolute().parent.is_dir():
            fail(f"{new.parent}: no such folder")
        return Baseline(shown, shown.absolute(), (), True)
    if not shown.exists():
        fail(f"{shown}: no such file; --write-baseline {shown} writes one")
    entries = baseline_file.read(shown)
    for text in baseline_file.doubtful(entries, str(shown)):
        note(f"partq: warning: {text}")
    return Baseline(shown, shown.absolute(), entries, new is not None)
