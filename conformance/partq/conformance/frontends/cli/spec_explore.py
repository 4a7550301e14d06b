"""``partq spec explore``: a broker beside the TLA+ specification, one step at a time, by Apalache's
explorer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Final, NoReturn

import typer
from rich.text import Text

from partq.conformance.adapters import Broker, claimed_profiles
from partq.conformance.frontends.cli.common import (
    BROKERS,
    PROFILE_NAMES,
    console,
    fail,
    failing,
    known_profile,
    note,
    open_broker,
    output,
    printable,
)
from partq.conformance.frontends.cli.lazy import lazily
from partq.conformance.frontends.cli.replay import read_replayable
from partq.conformance.history.notation_writer import line
from partq.conformance.verdict import Exit
from partq.conformance.workload.cases import steps
from partq.conformance.workload.generator import Seeded
from partq.conformance.workload.program import Program, Step
from partq.model.profiles import SECOND

with lazily():
    from partq.conformance.evaluation import exploring
    from partq.conformance.execution import runner
    from partq.conformance.workload import menu
    from partq.spec import validation
    from partq.spec.exploration import server
    from partq.spec.exploration import session as sessions

KEYS: Final = ("a", "a", "b", "-")
"""The keys of the messages of a session, unless others are asked for."""

CLIENTS: Final[tuple[str, ...]] = ("c1", "c2")
"""The clients of a session that follows no program."""

LASTING: Final = 3600
"""Seconds that locks last in it, so that thinking does not end them."""

USUAL: Final = "azure-premium"
"""The profile where neither broker nor program has one."""


def explore(
    broker: Annotated[str, typer.Option(help=BROKERS)],
    profile: Annotated[str | None, typer.Option(help=f"One of {PROFILE_NAMES}.")] = None,
    program: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="Take the steps of this program.")
    ] = None,
    random: Annotated[int | None, typer.Option(min=1, help="Take so many steps at random.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="The same seed makes the same choices.")] = 1,
    key: Annotated[
        list[str] | None, typer.Option(help="A message with this key (-: none); may be repeated.")
    ] = None,
    own_moves: Annotated[
        int, typer.Option(min=0, help="How many moves of the broker's own may come before a step.")
    ] = 2,
    seconds: Annotated[float, typer.Option(min=1, help="Search no longer for one explanation.")] = 600.0,
    record: Annotated[Path | None, typer.Option(help="New file for all exchanges with the explorer.")] = None,
    recorded: Annotated[
        Path | None,
        typer.Option(exists=True, dir_okay=False, help="Answer from such a file, without Apalache."),
    ] = None,
) -> None:
    """Run a broker and the TLA+ specification side by side, one step at a time.

    Without --program and --random you choose each step. What the broker answered is looked for among what the
    specification allows; if nothing allows it, they diverge. Exit codes: 0 every step was explained, 1 they
    diverge, 2 no Apalache or bad input, 3 not decided."""
    if program is not None and random is not None:
        fail("--program and --random: give one of them")
    if record is not None and recorded is not None:
        fail("--record and --recorded: give one of them")
    target = open_broker(broker)
    if program is None:
        done, clients = _sends(profile or _claimed(target), key or KEYS, seed), CLIENTS
        choose = _asked if random is None else _drawn(random, seed)
    else:
        done = _stored(program, profile)
        left = iter(done.steps)
        choose, clients = (lambda choices: next(left, None)), done.procs
    target.profile = done.profile
    try:
        with _explorer(recorded, record) as explorer:
            session = _session(explorer, done, choose, clients, own_moves, seconds)
            runner.run(target, done, on_problem=note, guide=session)
    except validation.NotFollowed as why:
        fail(f"{done.profile}: {why}")
    _conclude(session, own_moves)


# What is run


def _stored(file: Path, profile: str | None) -> Program:
    """The program in a file, one step after the other."""
    stored = read_replayable(file).program
    if profile is not None and known_profile(profile).name != stored.profile:
        fail(f"{file} is a program for {stored.profile}, not for {profile}")
    return replace(stored, sequential=True, drain=False)


def _sends(profile: str, keys: Sequence[str], seed: int) -> Program:
    """What the steps are chosen for: a message with each key, on the fewest partitions that there can be."""
    family = known_profile(profile)
    few = min((count for count in family.partitions if count > 1), default=2 if family.partitioned else 1)
    entity = replace(family.default_entity, partitions=few, lock_duration=LASTING * SECOND, seq_start=1)
    messages = [steps.message(f"m{n}", None if key == "-" else key) for n, key in enumerate(keys, 1)]
    sends = tuple(steps.send(CLIENTS[0], message) for message in messages)
    return Program(family.name, sends, entity, seed, sequential=True, drain=False)


def _claimed(broker: Broker) -> str:
    """The profile that the broker claims, if it is one."""
    claimed = claimed_profiles(broker)
    return claimed[0] if len(claimed) == 1 else USUAL


# Who answers, who chooses


@contextmanager
def _explorer(recorded: Path | None, record: Path | None) -> Iterator[server.Explorer]:
    """The explorer: recorded exchanges, or a server of our own."""
    if recorded is not None:
        yield server.replayed(recorded.read_text(encoding="utf-8").splitlines())
        return
    if record is not None and record.exists():
        fail(f"{record} exists: give another file")
    with server.serving() as served:
        if record is None:
            yield served
            return
        with failing(record):
            out = record.open("x", encoding="utf-8")
        with out:
            yield server.recording(served, out, datetime.now(UTC).date().isoformat())


def _session(
    explorer: server.Explorer,
    program: Program,
    choose: exploring.Chooser,
    clients: Sequence[str],
    own: int,
    seconds: float,
) -> exploring.Session:
    out = output()
    out.print(Text(f"explorer: {explorer.name}"), soft_wrap=True)
    note("loading the specification, which takes half a minute or more")

    def ready(exploration: sessions.Exploration) -> None:
        out.print(f"specification: {exploration.transitions} transitions")

    def told(side: exploring.Side) -> None:
        out.print(Text(printable(_line(side, program.profile))), soft_wrap=True)

    messages = [message for step in program.steps for message in step.args.get("messages", ())]
    return exploring.Session(explorer.call, choose, clients, messages, own, seconds, ready, told)


def _drawn(count: int, seed: int) -> exploring.Chooser:
    """So many steps, drawn from the choices: first the operation, so that each is as frequent as others."""
    source, left = Seeded(seed), iter(range(count))

    def draw(choices: Sequence[menu.Choice]) -> Step | None:
        if next(left, None) is None:
            return None
        operations = [*dict.fromkeys(choice.step.op for choice in choices)]
        operation = operations[source.below(len(operations))]
        alike = [choice.step for choice in choices if choice.step.op == operation]
        return alike[source.below(len(alike))]

    return draw


def _asked(choices: Sequence[menu.Choice]) -> Step | None:
    """What the user chooses, by its number; nothing more at an empty line or the end of the input."""
    for number, choice in enumerate(choices, 1):
        note(f"{number:>4}  {choice.text}")
    while True:
        console.print("next step (its number; nothing to end): ", markup=False, end="")
        try:
            answer = input().strip()
        except EOFError:
            return None
        if not answer:
            return None
        if answer.isdecimal() and 1 <= int(answer) <= len(choices):
            return choices[int(answer) - 1].step
        note(f"a number from 1 to {len(choices)}, please")


# What is printed


def _line(side: exploring.Side, profile: str) -> str:
    """A step in the notation of histories, and how the specification explains it."""
    record, followed = side
    said = " then ".join(followed.actions) or str(followed.verdict).upper()
    return f"{record.i:>4}  {line(record, known_profile(profile))}  # {said}"


def _conclude(session: exploring.Session, own: int) -> NoReturn:
    """Say what came of the session, and end with its exit code."""
    code, style, text = _ENDS[str(session.verdict)]
    said = text.format(reason=session.reason, own=own)
    output().print(Text(printable(said), style=style), soft_wrap=True)
    raise typer.Exit(code)


_ENDS: Final = {
    "explained": (Exit.CONFORMANT, "bold green", "EXPLAINED: the specification allows every step"),
    "diverges": (
        Exit.VIOLATED,
        "bold red",
        "DIVERGES: {reason} (with at most {own} moves of the broker's own before a step)",
    ),
    "undecided": (Exit.INCONCLUSIVE, "bold yellow", "UNDECIDED: {reason}"),
}
"""The exit code, style and words for each verdict."""
