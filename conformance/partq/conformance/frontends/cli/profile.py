"""``partq profile``: a profile of one's own, begun, shown and checked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Final

import typer

from partq.conformance.frontends.cli.common import Format, created, fail, failing, known_profile, print_json
from partq.conformance.frontends.cli.examples import epilog
from partq.conformance.frontends.cli.listing import Kind, completing
from partq.conformance.frontends.cli.options import Output
from partq.conformance.frontends.cli.streams import output, printable, say
from partq.conformance.frontends.profile_text import TODO, written
from partq.conformance.history.codec_profiles import SUFFIX
from partq.conformance.verdict import plural
from partq.model.family import Ground, Profile
from partq.model.profile_file import NAME_RULE, is_name, plain
from partq.model.profiles import grounds_of
from partq.model.requirements import catalogue

app = typer.Typer(
    help="A profile of your own: begin one, show one, check one.",
    epilog=epilog("profile"),
    no_args_is_help=True,
)

LIKE: Final = "partitioned-queue"
"""What a profile begins with."""

NEEDS: Final = {"SEQ": "shows_seq", "PEEK": "peek", "TXN": "transactions"}
"""Group -> the switch without which none of its rules is exercised."""

ProfileWord = Annotated[
    str,
    typer.Argument(
        metavar="PROFILE", help="A name or a file (./mine.toml).", autocompletion=completing(Kind.PROFILES)
    ),
]


def new(
    name: Annotated[str, typer.Argument(help="What it is called; NAME.toml is written.")],
    like: Annotated[
        str, typer.Option(help="The profile that it begins with.", autocompletion=completing(Kind.PROFILES))
    ] = LIKE,
) -> None:
    """Begin a profile: write NAME.toml, with every switch and a line about it. Nothing is overwritten."""
    name = profile_name(name)
    file = Path(f"{name}{SUFFIX}")
    with failing(file):
        if not created(file, begun(name, known_profile(like))):
            fail(f"{file} exists: give another name")
    say(f"written: {file}, like {printable(like)}")
    say(f"next: partq profile check {file}; partq run BROKER --profile {file}")


def profile_name(word: str) -> str:
    """What a new profile is called; ends with one line where none may be called so."""
    name = word.removesuffix(SUFFIX)
    return name if is_name(name) else fail(f"{name!r} is no name of a profile: it {NAME_RULE}")


def begun(name: str, like: Profile) -> str:
    """The text of a new profile that begins with another one. Every rule has a table, for its ground; the
    pages and sentences of the other's vendor are left out."""
    rules: dict[str, Ground | None] = dict.fromkeys(grounds_of(like.name))
    title = f"{TODO}what it is a profile of"
    return written(replace(like, name=name, title=title, rules=rules, pages={}, divergences=()), begins=True)


def show(profile: ProfileWord, format: Output = Format.TABLE) -> None:
    """Print what a profile says, as TOML, every switch included."""
    family = known_profile(profile)
    if format is Format.JSON:
        print_json(plain(family))
    else:
        say(written(family).rstrip("\n"))


def check(profile: ProfileWord, format: Output = Format.TABLE) -> None:
    """Check a profile's file: exit code 2 and one line where it is wrong; else what it comes to."""
    family = known_profile(profile)
    grounds, doubts = grounds_of(family.name), list(_doubts(family))
    if format is Format.JSON:
        print_json({"name": family.name, "rules": list(grounds), "doubts": doubts})
        return
    levels = Counter(catalogue()[id].level.value for id in grounds)
    count = ", ".join(f"{number} {level}" for level, number in levels.items())
    bound = plural(len(grounds), "rule binds", "rules bind")
    say(f"{printable(family.name)}: {printable(family.title)}; {bound} ({count})")
    for doubt in doubts:
        output().print(printable(f"  {doubt}"), markup=False, highlight=False, soft_wrap=True)


def _doubts(family: Profile) -> Iterator[str]:
    """What is allowed, and hardly meant."""
    grounds = grounds_of(family.name)
    if family.title.startswith(TODO):
        yield "the title is still to be written"
    if family.pages and (bare := [id for id, ground in grounds.items() if ground is None]):
        yield f"without a page of the vendor: {', '.join(bare)}"
    for group, switch in NEEDS.items():
        idle = [id for id in grounds if catalogue()[id].group == group]
        if idle and not getattr(family, switch):
            yield f"never exercised, since {switch} is false: {', '.join(idle)}"
    if not family.modelled:
        yield "the judge is not asked, since the model does not know what a kill undoes: screens alone decide"
