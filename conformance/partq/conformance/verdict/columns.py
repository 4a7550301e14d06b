"""The columns of a comparison, and names for them: as short as they can be while all differ. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from string import ascii_uppercase
from typing import Any, Final, NamedTuple

from partq.conformance.verdict.exercised import coverage
from partq.conformance.verdict.exit_codes import Exit, binding_requirements
from partq.conformance.verdict.types import Verdicts, plural
from partq.model.conditions import STRIKES


class Done(NamedTuple):
    """What was done to a broker: so many programs; how often each fault struck, None: it was not counted."""

    programs: int
    faults: Mapping[str, int] | None = None

    def plain(self) -> dict[str, Any]:
        """As plain data, for JSON."""
        return {"programs": self.programs, "faults": dict(self.faults or {})}

    def __str__(self) -> str:
        programs = plural(self.programs, "program")
        if self.faults is None:
            return programs
        struck = [f"{op} {self.faults[op]:,}" for op in FAULTS if self.faults.get(op)]
        never = [op for op in FAULTS if not self.faults.get(op)]
        said = (programs, ", ".join(struck), f"never {', '.join(never)}" if never else "")
        return "; ".join(filter(None, said))


FAULTS: Final = tuple(sorted(STRIKES))
"""The faults that are told, struck or not."""


@dataclass(frozen=True, slots=True)
class Column:
    """One broker under one profile, out of one source.

    ``source``: the folder, file or broker that it was read from or run as, as it may be shown. ``broker``:
    its name, as it may be shown. ``code``, ``why``: where the source ended with another exit code than its
    verdicts come to (interrupted, `--require` not met …), that code and its words. ``done``: what was done
    to the broker; None in files of older versions.
    """

    source: str
    broker: str
    profile: str
    verdicts: Verdicts
    code: int = Exit.CONFORMANT
    why: str = ""
    done: Done | None = None

    @property
    def told(self) -> str:
        """What was done to the broker, and how much of what binds was exercised."""
        exercised = str(coverage(self.verdicts, binding_requirements(strict=False)))
        return exercised if self.done is None else f"{self.done}; {exercised}"


_BROKER, _PROFILE, _SOURCE, _TYPED = range(4)
_NAMED_BY: Final = (
    (_BROKER,),
    (_PROFILE,),
    (_BROKER, _PROFILE),
    (_SOURCE,),
    (_SOURCE, _PROFILE),
    (_TYPED, _PROFILE),
    (_BROKER, _SOURCE),
    (_BROKER, _PROFILE, _SOURCE),
)
"""What a column may be named by; the first of these by which all names differ is taken."""


def names(columns: Sequence[Column]) -> tuple[str, ...]:
    """A name for each column, all of them different."""
    brokers = brief([column.broker for column in columns])
    parts = [
        (broker, column.profile, PurePath(column.source).name or column.source, column.source)
        for broker, column in zip(brokers, columns, strict=True)
    ]
    for chosen in _NAMED_BY:
        found = tuple(" · ".join(part[place] for place in chosen) for part in parts)
        if len(set(found)) == len(found):
            return found
    return tuple(f"{name} #{number}" for number, name in enumerate(found, start=1))


def brief(brokers: Sequence[str]) -> list[str]:
    """The brokers' names, URLs without what all URLs of their scheme have in common."""
    split = [_parts(broker) for broker in brokers]
    shared = {
        scheme: set.intersection(*(set(parts) for parts in split if parts[0] == scheme))
        for scheme, *_ in split
    }
    return [
        " ".join([scheme, *(part for part in rest if part not in shared[scheme])]) for scheme, *rest in split
    ]


def _parts(broker: str) -> list[str]:
    """A URL's scheme, host, path and options; of another name nothing but itself."""
    scheme, mark, rest = broker.partition("://")
    return [scheme, *filter(None, re.split("[/?&]", rest))] if mark else [broker]


def letters(number: int) -> str:
    """A sign for the column of that number, counted from 0: ``A`` to ``Z``, then ``AA``."""
    more, last = divmod(number, len(ascii_uppercase))
    return (letters(more - 1) if more else "") + ascii_uppercase[last]
