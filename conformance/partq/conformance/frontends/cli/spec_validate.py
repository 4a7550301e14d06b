"""``partq spec validate``: recorded histories, followed by TLC through the TLA+ specification."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from rich.text import Text

from partq.conformance.frontends.cli.check import read_files
from partq.conformance.frontends.cli.common import Format, end, failing
from partq.conformance.frontends.cli.lazy import lazily
from partq.conformance.frontends.cli.options import Output
from partq.conformance.frontends.cli.streams import note, output, printable
from partq.conformance.frontends.cli.table import titled
from partq.conformance.history import History
from partq.conformance.history.codec import write_history
from partq.conformance.verdict import Exit

with lazily():
    from partq.conformance.oracle import specified
    from partq.spec import validation
    from partq.spec.checking import checks


class Followed(NamedTuple):
    """What became of one entity of one file's history."""

    file: str
    entity: str
    found: validation.Validated


def validate(
    histories: Annotated[list[Path], typer.Argument(help="Files of partq.history/1: NDJSON or Parquet.")],
    jobs: Annotated[int, typer.Option(min=1, help="How many runs of TLC at a time.")] = 1,
    timeout: Annotated[float, typer.Option(min=1, help="Seconds that one run of TLC may take.")] = 300.0,
    states: Annotated[
        int, typer.Option(min=1, help="States that TLC makes of one history at the most.")
    ] = 40_000,
    out: Annotated[
        Path | None, typer.Option(help="A folder for rejected histories, and rejected.json about them.")
    ] = None,
    format: Output = Format.TABLE,
) -> None:
    """Follow recorded histories through the TLA+ specification. Each verdict is printed as it is decided.

    A history is accepted, rejected (with the first operation that no behaviour explains), unknown (a limit
    was reached), or declined (the specification does not say what was done). The specification has no clock:
    times are not compared. Exit codes: 0 all accepted, 1 one rejected, 3 otherwise."""
    read = read_files(histories, None)
    done: list[Followed] = []
    waiting: list[tuple[str, str, validation.Recording]] = []
    for file, history in read.items():
        for entity, recording in specified.recordings_of(history).items():
            if isinstance(recording, validation.NotFollowed):
                declined = validation.Validated(validation.Status.DECLINED, reason=str(recording))
                done.append(Followed(file, entity, declined))
            else:
                waiting.append((file, entity, recording))
    done += _followed(waiting, jobs, validation.Limits(states, timeout))
    order = list(read)
    done.sort(key=lambda one: (order.index(one.file), one.entity))
    if out is not None:
        _store(out, [one for one in done if str(one.found.status) == "rejected"], read)
    document = {"histories": [_plain(one, read[one.file]) for one in done]}
    end(_code(done), format, document, lambda: _show(done, read))


def _code(done: Sequence[Followed]) -> int:
    statuses = {str(one.found.status) for one in done}
    if "rejected" in statuses:
        return Exit.VIOLATED
    return Exit.CONFORMANT if statuses <= {"accepted"} else Exit.INCONCLUSIVE


def _followed(
    waiting: Sequence[tuple[str, str, validation.Recording]], jobs: int, limits: validation.Limits
) -> Iterator[Followed]:
    """Every recording followed, in batches of such as are alike, as they end."""
    ended = count(1)

    def run(batch: Sequence[int]) -> list[Followed]:
        def tell(k: int, found: validation.Validated) -> None:
            file, entity, _ = waiting[batch[k]]
            where = "" if found.record is None else f", record {found.record}"
            note(f"{next(ended)}/{len(waiting)} {file}, {entity}: {found.status}{where}")

        found = validation.validate([waiting[n][2] for n in batch], limits, decided=tell)
        return [Followed(*waiting[n][:2], one) for n, one in zip(batch, found, strict=True)]

    for batch in checks.several(run, validation.batches([recording for *_, recording in waiting]), jobs):
        yield from batch


def _store(folder: Path, rejected: Sequence[Followed], read: Mapping[str, History]) -> None:
    """Each history that has a rejected entity as a file, and what is said of them."""
    files = {file: f"{n}-{Path(file).stem}.ndjson" for n, file in enumerate(read, start=1)}
    said = [_plain(one, read[one.file]) | {"file": files[one.file]} for one in rejected]
    with failing(folder, inside=True):
        folder.mkdir(parents=True, exist_ok=True)
        for file in dict.fromkeys(one.file for one in rejected):
            write_history(folder / files[file], read[file])
        (folder / "rejected.json").write_text(json.dumps({"histories": said}, indent=1), encoding="utf-8")


def _plain(one: Followed, history: History) -> dict[str, Any]:
    found = one.found
    return {
        "file": one.file,
        "entity": one.entity,
        "status": str(found.status),
        "record": found.record,
        "operation": _operation(history, found.record),
        "explained": found.explained,
        "reason": found.reason,
        "states": found.states,
    }


def _operation(history: History, number: int | None) -> str:
    """A record in a few words."""
    record = next((one for one in history.records if one.i == number), None)
    if record is None:
        return ""
    shown = " ".join(message.id for message in record.messages)
    answer = shown or record.error or str(record.outcome)
    return f"{record.proc} {record.op} -> {answer}"


def _show(done: Sequence[Followed], read: Mapping[str, History]) -> None:
    title, headings = "histories, followed through the specification", ("history", "", "what TLC says")
    table = titled(title, headings, right=["states"], overflow="fold")
    styles = {"accepted": "green", "rejected": "bold red"}
    for one in done:
        found, status = one.found, str(one.found.status)
        said = found.reason
        if status == "rejected":
            operation = _operation(read[one.file], found.record)
            said = f"record {found.record}: {operation}; {found.explained} operations before it are explained"
        name = one.file if len(read) == len(done) else f"{one.file}, {one.entity}"
        style = styles.get(status, "yellow")
        table.add_row(printable(name), Text(status, style=style), Text(printable(said)), f"{found.states:,}")
    output().print(table)
    output().print(_summary([one.found for one in done]), markup=False)


def _summary(found: Sequence[validation.Validated]) -> str:
    """How many are what; apart from them those that are not followed, by reason."""
    counts = Counter(str(one.status) for one in found)
    followed = ", ".join(f"{counts[one]} {one}" for one in ("accepted", "rejected", "unknown") if counts[one])
    reasons = Counter(one.reason for one in found if str(one.status) == "declined")
    named = ", ".join(f"{reason} ({number})" for reason, number in reasons.most_common())
    return "; ".join(filter(None, (followed, named and f"{reasons.total()} declined: {named}")))
