"""Results read back: the folder of a campaign, that of ``partq run --out``, or a file of verdicts.

What is not whole or not of this version raises `BadResults`, and is never taken for a better verdict. Nothing
is shown here.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from partq.conformance.adapters import public_name
from partq.conformance.adapters.names import public_text
from partq.conformance.frontends.campaign import plan
from partq.conformance.history.codec_fields import FieldError
from partq.conformance.history.codec_profiles import read_profile
from partq.conformance.verdict import (
    FILE,
    OPEN,
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
    share_of,
    text_of,
    worst,
)
from partq.model.errors import UserError
from partq.model.requirements import catalogue

CAMPAIGN: Final = (plan.SUMMARY, plan.SCHEMA)
RUN: Final = (FILE, SCHEMA)
"""Of each kind of folder the file by which it is known, and its schema."""


class BadResults(UserError):
    """A folder or file does not hold what it should. The text names file and field."""


@contextmanager
def reading(file: Path | str) -> Iterator[None]:
    """Raises `BadResults` about that file for whatever is raised inside by data that are not as they should
    be."""
    try:
        yield
    except KeyError as error:
        raise BadResults(f"{file}: missing {error}") from None
    except (TypeError, ValueError, AttributeError, ZeroDivisionError, RecursionError) as error:
        raise BadResults(f"{file}: {error}") from None


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


def stored_code(data: Mapping[str, Any], otherwise: int) -> int:
    """The exit code that is stored there. Raises `ValueError` where it is none of a verdict."""
    code: int = data.get("exit", otherwise)
    if code not in (Exit.CONFORMANT, Exit.VIOLATED, Exit.INCONCLUSIVE):
        raise ValueError(f"exit: no exit code of a verdict: {code!r}")
    return code


def _table(data: object, name: str) -> Iterable[Any]:
    """What a table in the data holds, where there is one."""
    table = data.get(name) if isinstance(data, dict) else None
    return table.values() if isinstance(table, dict) else ()


def check_campaign(folder: Path, data: Mapping[str, Any]) -> None:
    """Raises `BadResults` where a complete campaign lacks results of what was planned, or its tables come to
    something else than it says, and `CampaignError` where these can't be read; both can't be seen without
    pyarrow."""
    with reading(folder / CAMPAIGN[0]):
        said = {_lane(row): from_plain(row["requirements"]) for row in data["results"]}
        for broker, profile in map(_lane, data["plan"]["lanes"]):
            if (broker, profile) not in said:
                raise ValueError(f"results: none of {broker} as {profile}")
        share = Fraction(text_of(data, "open")) if "open" in data else share_of(OPEN)
        _hold_against_tables(folder, data, said, share)


def _lane(row: Mapping[str, Any]) -> tuple[str, str]:
    return text_of(row, "broker"), text_of(row, "profile")


def _hold_against_tables(
    folder: Path, data: Mapping[str, Any], said: Mapping[tuple[str, str], Verdicts], share: Fraction
) -> None:
    """Of the verdicts all but how they are worded; no exit code is better than what the counts come to."""
    try:
        from partq.conformance.frontends.campaign import local_folder
    except ImportError:
        return
    totals = local_folder.totals(folder, said).tolerating(share)
    file = folder / CAMPAIGN[0]
    digest = ["digest"] if "open" in data else []  # earlier versions had other columns
    for name in ("traces", "operations", "violations", *digest):
        _hold(file, name, data.get(name), getattr(totals, name))
    for lane, verdicts in totals.results.items():
        for id, verdict in verdicts.items():
            was = said[lane].get(id, NOTHING)
            held = _held(verdict)
            if verdict.status in _SILENT:  # and another version may have put it to the test
                times = {"exercised": totals.exercised.get((*lane, id), 0)}
                held = {} if was.status in _SILENT else times
            for name, value in held.items():
                _hold(file, f"{name} of {id} ({' as '.join(lane)})", _held(was)[name], value)
    code = data.get("exit")
    _hold(file, "exit", code, worst([code or Exit.CONFORMANT, *(code for code, _ in totals.besides)]))


NOTHING: Final = Verdict(Status.NOT_EXERCISED)

_SILENT: Final = (Status.NOT_APPLICABLE, Status.NOT_IMPLEMENTED)
"""The statuses of a rule that a version of partq does not exercise."""


def _held(verdict: Verdict) -> dict[str, Any]:
    """What a verdict says that comes of the tables alone."""
    status = NOTHING.status if verdict.status in _SILENT else verdict.status
    open = {"candidates": list(verdict.candidates), "traces": verdict.traces, "undecided": verdict.undecided}
    return {"status": status.value, "exercised": verdict.exercised, "found": dict(verdict.found), **open}


def _hold(file: Path, what: str, said: object, held: object) -> None:
    """Raises `BadResults` where a file says something else than what its tables come to."""
    if said not in (None, held):
        raise BadResults(f"{file} says {what}: {said}; its tables come to {held}")


# --- columns of a comparison --------------------------------------------------------------------------


def columns_in(place: Path) -> tuple[Column, ...]:
    """What is stored there, a column for each broker and profile. Raises `BadResults`, `CampaignError`, or
    `OSError` for unreadable files."""
    folder = place.parent if place.name == CAMPAIGN[0] else place
    if (folder / CAMPAIGN[0]).is_file():
        return _of_campaign(folder)
    file = place / RUN[0] if place.is_dir() else place
    if place.is_dir() and not file.is_file():
        raise BadResults(
            f"{place} holds neither a campaign nor a run: give what partq fuzz or partq run got as --out"
        )
    return columns_of(file, str(place), document(file, RUN[1]))


def columns_of(file: Path | str, source: str, data: Mapping[str, Any]) -> tuple[Column, ...]:
    """The columns of a document of ``partq.verdicts/1`` out of that file."""
    with reading(file):
        broker = text_of(data, "broker")
        return _columns(source, data, [(broker, name, rows) for name, rows in data["profiles"].items()])


def _of_campaign(folder: Path) -> tuple[Column, ...]:
    data = document(folder / CAMPAIGN[0], CAMPAIGN[1])
    if data.get("complete") is not True:
        raise BadResults(
            f"{folder}: the campaign is not complete, so there is no verdict yet: partq report {folder} says "
            "how to finish it"
        )
    check_campaign(folder, data)
    with reading(folder / CAMPAIGN[0]):
        return _columns(str(folder), data, [(*_lane(row), row["requirements"]) for row in data["results"]])


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
    code = stored_code(data, Exit.CONFORMANT)
    if code == Exit.CONFORMANT or code == worst(exit_code(one, binding) for one in verdicts):
        return Exit.CONFORMANT, ""
    words = text_of(data, "conclusion") if "conclusion" in data else f"exit code {code}"
    return code, public_text(words)
