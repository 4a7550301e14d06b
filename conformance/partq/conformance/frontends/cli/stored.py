"""Results read back: the folder of a campaign, that of ``partq run --out``, or a file of verdicts.

What is not whole or not of this version raises `BadResults`, and is never taken for a better verdict. Nothing
is shown here.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from partq.conformance.adapters.names import public_name, public_text
from partq.conformance.frontends.campaign import plan
from partq.conformance.frontends.campaign.errors import CampaignError
from partq.conformance.history.codec_fields import FieldError
from partq.conformance.history.codec_profiles import read_profile
from partq.conformance.verdict import (
    FILE,
    SCHEMA,
    Column,
    Done,
    Exit,
    Status,
    Verdict,
    Verdicts,
    binding_requirements,
    count_of,
    exit_code,
    from_plain,
    text_of,
    worst,
)
from partq.model.requirements import catalogue

CAMPAIGN: Final = (plan.SUMMARY, plan.SCHEMA)
RUN: Final = (FILE, SCHEMA)
"""Of each kind of folder the file by which it is known, and its schema."""

UNREADABLE: Final = (KeyError, TypeError, ValueError, AttributeError)
"""What is raised by data that are not as they should be."""


class BadResults(Exception):
    """A folder or file does not hold what it should. The text names file and field."""


def document(file: Path, schema: str) -> dict[str, Any]:
    """The object in that file, whose profiles are known from now on. Raises `BadResults` where it is none of
    that schema, `OSError` where it can't be read."""
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise BadResults(f"{file}: not JSON: {error}") from None
    if not isinstance(data, dict) or data.get("schema") != schema:
        raise BadResults(f"{file}: schema: expected {schema!r}")
    try:
        for said in (*_table(data, "profile_files"), *_table(data.get("plan"), "profiles")):
            read_profile(said)
    except FieldError as error:
        raise BadResults(f"{file}: profile.{error.field}: {error.message}") from None
    return data


def _table(data: object, name: str) -> Iterable[Any]:
    """What a table in the data holds, where there is one."""
    table = data.get(name) if isinstance(data, dict) else None
    return table.values() if isinstance(table, dict) else ()


def why(error: Exception) -> str:
    """An error of `UNREADABLE` in words."""
    return f"missing {error}" if isinstance(error, KeyError) else str(error)


def stored_traces(folder: Path) -> int | None:
    """How many traces of a campaign are done; None where that can't be read for want of pyarrow."""
    try:
        from partq.conformance.frontends.campaign import local_folder
    except ImportError:
        return None
    try:
        return local_folder.stored_traces(folder)
    except CampaignError as error:
        raise BadResults(str(error)) from None


def check_figures(folder: Path, traces: int | None, violations: int | None) -> None:
    """Raises `BadResults` where the waves of a complete campaign hold something else than it says; that can't
    be seen without pyarrow."""
    try:
        from partq.conformance.frontends.campaign import local_folder
    except ImportError:
        return
    try:
        local_folder.check_rows(folder)
        done, found = local_folder.stored_traces(folder), local_folder.stored_findings(folder)
    except CampaignError as error:
        raise BadResults(str(error)) from None
    file = folder / CAMPAIGN[0]
    if traces not in (None, done):
        raise BadResults(f"{file} says {traces:,} traces, the manifests of its waves {done:,}")
    if violations not in (None, found):
        raise BadResults(f"{file} says {violations:,} violations, table=violations {found:,}")


# --- columns of a comparison --------------------------------------------------------------------------


def columns_in(place: Path) -> tuple[Column, ...]:
    """What is stored there, a column for each broker and profile. Raises `BadResults`, or `OSError` for
    unreadable files."""
    folder = place.parent if place.name == CAMPAIGN[0] else place
    if (folder / CAMPAIGN[0]).is_file():
        return _of_campaign(folder)
    file = place / RUN[0] if place.is_dir() else place
    if place.is_dir() and not file.is_file():
        raise BadResults(
            f"{place} holds neither a campaign nor a run: give what partq fuzz or partq run got as --out"
        )
    return columns_of(str(file), str(place), document(file, RUN[1]))


def columns_of(file: str, source: str, data: Mapping[str, Any]) -> tuple[Column, ...]:
    """The columns of a document of ``partq.verdicts/1`` out of that file."""
    try:
        broker, profiles = text_of(data, "broker"), data["profiles"]
        rows = [(broker, name, requirements) for name, requirements in profiles.items()]
        return _columns(source, data, rows)
    except UNREADABLE as error:
        raise BadResults(f"{file}: {why(error)}") from None


def _of_campaign(folder: Path) -> tuple[Column, ...]:
    file = folder / CAMPAIGN[0]
    data = document(file, CAMPAIGN[1])
    if data.get("complete") is not True:
        raise BadResults(
            f"{folder}: the campaign is not complete, so there is no verdict yet: partq report {folder} says "
            "how to finish it"
        )
    try:
        lanes = [
            (text_of(row, "broker"), text_of(row, "profile"), row["requirements"]) for row in data["results"]
        ]
        columns = _columns(str(folder), data, lanes)
        traces, violations = count_of(data, "traces", None), count_of(data, "violations", None)
    except UNREADABLE as error:
        raise BadResults(f"{file}: {why(error)}") from None
    check_figures(folder, traces, violations)
    return columns


def _columns(
    source: str, data: Mapping[str, Any], lanes: Sequence[tuple[str, str, Mapping[str, Any]]]
) -> tuple[Column, ...]:
    verdicts = [dict(_verdicts(requirements)) for _, _, requirements in lanes]
    if not verdicts:
        raise ValueError("there are no verdicts in it")
    code, reason = _besides(data, verdicts)
    return tuple(
        Column(source, public_name(broker), profile, found, code, reason, _done(data, profile, len(lanes)))
        for (broker, profile, _), found in zip(lanes, verdicts, strict=True)
    )


def _done(data: Mapping[str, Any], profile: str, lanes: int) -> Done | None:
    """What was done to the broker under that profile: in a run, or in a campaign of that profile alone."""
    if (known := data.get("done", {}).get(profile)) is not None:
        faults = {str(op): count_of(known["faults"], op, 0) or 0 for op in known["faults"]}
        return Done(count_of(known, "programs", 0) or 0, faults)
    traces = count_of(data, "traces", None)
    return Done(traces) if traces is not None and lanes == 1 else None


def _verdicts(rows: Mapping[str, Any]) -> Iterator[tuple[str, Verdict]]:
    """A verdict for every requirement of the catalogue. Raises `ValueError` for one that is not in it: what
    is said there must not be lost."""
    if strange := rows.keys() - catalogue().keys():
        raise ValueError(f"{min(strange)} is no rule that this version of partq knows")
    found = from_plain(rows)
    for id in catalogue():
        yield id, found.get(id, Verdict(Status.NOT_IMPLEMENTED, reason="not in these results"))


def _besides(data: Mapping[str, Any], verdicts: Sequence[Verdicts]) -> tuple[int, str]:
    """With which other exit code than its verdicts come to the command ended, and its words; 0 if with
    none."""
    binding = binding_requirements(bool(data.get("strict")))
    code = data.get("exit", Exit.CONFORMANT)
    if code not in (Exit.CONFORMANT, Exit.VIOLATED, Exit.INCONCLUSIVE):
        raise ValueError(f"exit: no exit code of a verdict: {code!r}")
    if code == Exit.CONFORMANT or code == worst(exit_code(one, binding) for one in verdicts):
        return Exit.CONFORMANT, ""
    words = text_of(data, "conclusion") if "conclusion" in data else f"exit code {code}"
    return code, public_text(words)
