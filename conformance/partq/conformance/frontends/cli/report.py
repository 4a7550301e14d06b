"""``partq report``: a folder of results as one HTML file.

Here the folder of a campaign, or of ``partq run --out``, is read back and handed to `partq.reports` as plain
material; what the page says of it is decided there.
"""

from __future__ import annotations

import json
import shlex
import webbrowser
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import typer

from partq.conformance.frontends.cli.campaigns import EXACT, at_hand
from partq.conformance.frontends.cli.common import failing
from partq.conformance.frontends.cli.lazy import lazily
from partq.conformance.frontends.cli.mutants import MATRIX
from partq.conformance.frontends.cli.options import words_of
from partq.conformance.frontends.cli.stored import (
    CAMPAIGN,
    RUN,
    BadResults,
    check_campaign,
    document,
    reading,
    stored_code,
)
from partq.conformance.frontends.cli.streams import say
from partq.conformance.history.codec_profiles import typed
from partq.conformance.verdict import (
    COUNTS,
    Comparison,
    Exit,
    Kill,
    binding_requirements,
    count_of,
    exit_code,
    from_plain,
    text_of,
    worst,
)
from partq.conformance.workload import program as programs
from partq.model.requirements import catalogue

with lazily():
    from partq.conformance.adapters import mutants
    from partq.conformance.evaluation import counterexample
    from partq.conformance.screens import registry
    from partq.conformance.workload import untaken
    from partq.model import clauses
    from partq.reports import comparison as comparisons
    from partq.reports import html, material
    from partq.spec.checking import properties


def report(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="DIR", file_okay=False, help="What fuzz or run stored with --out, or its URI."
        ),
    ],
    out: Annotated[Path | None, typer.Option(help="The file to write; default: DIR/report.html.")] = None,
    open: Annotated[bool, typer.Option("--open", help="Show it in the browser.")] = False,
) -> None:
    """Write one self-contained HTML file: verdicts, counterexamples drawn, coverage, figures.

    Of several folders `partq compare DIR DIR --out` writes one."""
    with failing(folder, inside=True), at_hand(folder) as (there, place, name):
        target = out or place / "report.html"
        _write(html.render(gather(there, name)), target)
    say(f"report {target}")
    if open:
        webbrowser.open(target.resolve().as_uri())


def write_comparison(comparison: Comparison, target: Path) -> None:
    """Write the page of the comparison; ends with one line where that fails."""
    _write(comparisons.render(comparison, version("partq")), target)


def _write(page: str, target: Path) -> None:
    with failing(target, inside=True):
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(page, encoding="utf-8")


def gather(folder: Path, name: str | None = None) -> material.Material:
    """What a report on that folder is made of; ``name`` is what commands call it where it is a copy. Raises
    `BadResults`, `CampaignError`, or `OSError` for unreadable files."""
    name = name or str(folder)
    if (folder / CAMPAIGN[0]).is_file():
        return _campaign(folder, name)
    if (folder / RUN[0]).is_file():
        return _run(folder, name)
    what = "holds neither a campaign nor a run" if folder.is_dir() else "is not a folder"
    raise BadResults(f"{folder} {what}: give the folder that partq fuzz or partq run got as --out")


# --- a campaign -------------------------------------------------------------------------------------


def _campaign(folder: Path, name: str) -> material.Material:
    file = folder / CAMPAIGN[0]
    data = document(file, CAMPAIGN[1])
    with reading(file):
        complete = bool(data["complete"])
        lanes, figures = tuple(_campaign_lanes(data, complete)), _figures(data)
        options = [*words_of({"--strict": bool(data.get("strict"))}), *map(str, data.get("options", ()))]
        command = _fuzz_command(folder, name, data["plan"], options, complete)
        code, told = _code(data, lanes), _told(data)
    if complete:
        check_campaign(folder, data)
    tables = _tables(folder, complete)
    kills = _kills(folder) if complete else ()
    if kills:
        code = Exit.CONFORMANT if all(kill.killed for kill in kills) else Exit.VIOLATED
    return material.Material(
        lanes=lanes,
        exit=code,
        figures=figures,
        command=command,
        complete=complete,
        kills=kills,
        **tables,
        **told,
        **_known(folder, name),
    )


def _campaign_lanes(data: Mapping[str, Any], complete: bool) -> Iterator[material.Lane]:
    """Those with results; of an unfinished campaign those that it will have, of which nothing is said yet."""
    shares = {(lane["broker"], lane["profile"]): int(lane["traces"]) for lane in data["plan"]["lanes"]}
    for row in data.get("results", ()) if complete else data["plan"]["lanes"]:
        broker, profile = text_of(row, "broker"), text_of(row, "profile")
        rows = row["requirements"] if complete else {}
        yield _lane(data, broker, profile, rows, shares.get((broker, profile)))


def _kills(folder: Path) -> tuple[Kill, ...]:
    """What became of each mutant; none where the campaign was of another broker."""
    file = folder / MATRIX
    if not file.is_file():
        return ()
    with reading(file):
        rows = json.loads(file.read_text(encoding="utf-8"))
        return tuple(
            Kill(
                text_of(row, "mutant"),
                text_of(row, "breaks"),
                text_of(row, "profile"),
                None if row["first"] is None else int(row["first"]),
                None if row["operations"] is None else int(row["operations"]),
                tuple(map(str, row["wrong"])),
            )
            for row in rows
        )


def _figures(data: Mapping[str, Any]) -> material.Figures:
    return material.Figures(
        traces=count_of(data, "traces", None),
        operations=count_of(data, "operations", None),
        violations=count_of(data, "violations", None),
        seconds=_seconds(data) if data.get("timed_traces") == data.get("traces") else None,
        seed=data["plan"]["seed"],
        length=data["plan"]["length"],
        digest=data.get("digest", ""),
        master=data.get("master", ""),
        counts={name: data.get(name, {}) for name in COUNTS},
        open=count_of(data.get("undecided_traces", {}), "count", 0) or 0,
        undecided=tuple(_undecided(data)),
    )


def _undecided(data: Mapping[str, Any]) -> Iterator[material.Undecided]:
    """The undecided traces that are named; none in folders of older versions."""
    for one in data.get("undecided_traces", {}).get("first", ()):
        trace = count_of(one, "trace", 0) or 0
        yield material.Undecided(trace, text_of(one, "profile"), text_of(one, "why"), text_of(one, "command"))


def _seconds(data: Mapping[str, Any]) -> float | None:
    seconds = data.get("seconds")
    if seconds is not None and (isinstance(seconds, bool) or not isinstance(seconds, int | float)):
        raise ValueError(f"seconds: expected a number: {seconds!r}")
    return seconds


def _fuzz_command(
    folder: Path, name: str, planned: Mapping[str, Any], options: Sequence[str], complete: bool
) -> str:
    """The command line that does the campaign again, or finishes it; for one broker or a set of mutants."""
    lanes = planned["lanes"]
    brokers = list(dict.fromkeys(lane["broker"] for lane in lanes))
    if len(brokers) == 1:
        words, traces = ["partq", "fuzz", brokers[0]], sum(lane["traces"] for lane in lanes)
        chosen = {"--profile": [typed(lane["profile"]) for lane in lanes]}
    else:
        words, traces = ["partq", "mutants"], max(lane["traces"] for lane in lanes)
        names = [broker.removeprefix("mutant:") for broker in brokers]
        chosen = {"--only": names if set(names) != set(mutants.MUTANTS) else []}
    exact = planned.get("exact", EXACT)
    how = {"--seed": planned["seed"], "--length": planned["length"]}
    how |= {} if exact == EXACT else {"--exact": exact}
    words += [*words_of({"--traces": traces, **chosen, **how}), *options]
    return _again(words, folder) if complete else shlex.join([*words, "--out", name, "--resume"])


def _tables(folder: Path, complete: bool) -> dict[str, Any]:
    """The parts of the material that come from the tables, or what to note if they can't be read for want of
    pyarrow. Raises `CampaignError` where they are not what they should be."""
    try:
        from partq.conformance.frontends.campaign.local_folder import stored_traces, sums
    except ImportError:
        note = (
            "Partitions and coverage are left out, and the verdicts were not held against the tables: "
            "that needs pyarrow (pip install 'partq[parquet]')."
        )
        return {"notes": (note,)}
    return {
        "spread": tuple(material.Spread(**row) for row in sums(folder, "partitions")),
        "coverage": tuple(material.Cell(**row) for row in sums(folder, "coverage")),
        "stored": None if complete else stored_traces(folder),
    }


# --- a run ------------------------------------------------------------------------------------------


def _run(folder: Path, name: str) -> material.Material:
    file = folder / RUN[0]
    data = document(file, RUN[1])
    with reading(file):
        broker = text_of(data, "broker")
        lanes = tuple(_lane(data, broker, name, rows) for name, rows in data["profiles"].items())
        command = _again(["partq", "run", broker, *map(str, data.get("options", ()))], folder)
        code, told = _code(data, lanes), _told(data)
    return material.Material(lanes=lanes, exit=code, command=command, **told, **_known(folder, name))


# --- what both have ---------------------------------------------------------------------------------


def _known(folder: Path, name: str) -> dict[str, Any]:
    """The parts of the material that need no document: what was kept, and what partq knows."""
    spots = (one for one in registry.ALL if one.blind_spots)
    return {
        "examples": _examples(folder, name),
        "blind_spots": tuple(
            material.BlindSpots(one.name, one.requirements, one.blind_spots) for one in spots
        ),
        "opinions": _opinions(),
        "version": version("partq"),
    }


def _told(data: Mapping[str, Any]) -> dict[str, Any]:
    """How the results were made and, where they were held against a baseline, what they came to in words."""
    made = data.get("made", {})
    if not isinstance(made, dict):
        raise ValueError(f"made: expected an object: {made!r}")
    conclusion = text_of(data, "conclusion") if "baseline" in data else ""
    return {"made": {name: text_of(made, name) for name in made}, "conclusion": conclusion}


def _lane(
    data: Mapping[str, Any], broker: str, profile: str, rows: Mapping[str, Any], traces: int | None = None
) -> material.Lane:
    verdicts = from_plain(rows)
    code = exit_code(verdicts, binding_requirements(bool(data.get("strict"))))
    return material.Lane(broker, profile, verdicts, code, traces)


def _code(data: Mapping[str, Any], lanes: Iterable[material.Lane]) -> int:
    """The exit code that was stored, none better than what the lanes come to, but for what a baseline knows
    (a run may be short of what was required of it); folders of older versions have theirs."""
    known = {(one["profile"], id) for one in data.get("baseline", {}).get("known", ()) for id in one["rules"]}
    binding = binding_requirements(bool(data.get("strict")))
    code = worst(
        exit_code({id: v for id, v in lane.verdicts.items() if (lane.profile, id) not in known}, binding)
        for lane in lanes
    )
    stored = stored_code(data, code)
    if worst((stored, code)) != stored:
        raise ValueError(f"exit: {stored}, where the verdicts come to {code}")
    return stored


def _again(words: Sequence[str], folder: Path) -> str:
    return shlex.join([*words, "--out", f"{folder.resolve().name}-again"])


def _examples(folder: Path, name: str) -> tuple[material.Example, ...]:
    found = []
    for file in sorted((folder / counterexample.FOLDER).glob("**/*.json")):
        try:
            stored = counterexample.read(file)
        except counterexample.InvalidCounterexample as error:
            raise BadResults(str(error)) from None
        found.append(
            material.Example(
                stored.finding,
                stored.broker,
                stored.program.profile,
                stored.history,
                programs.to_json(stored.program),
                counterexample.replay_command(f"{name}/{file.relative_to(folder).as_posix()}", stored.broker),
                stored.trace,
                stored.found_steps,
                untaken.untaken(stored.program, stored.history),
            )
        )
    return tuple(found)


def _opinions() -> dict[str, material.Opinions]:
    """Who speaks of each requirement. The reference does if there is a mutant of it that breaks just that."""
    broken = Counter(mutant.breaks for mutant in mutants.MUTANTS.values())
    formulas = properties.properties()
    return {
        id: material.Opinions(
            broken[id],
            tuple(clauses.of(id)),
            tuple(screen.name for screen in registry.ALL if id in screen.requirements),
            formulas[id].text if id in formulas else "",
        )
        for id in catalogue()
    }
