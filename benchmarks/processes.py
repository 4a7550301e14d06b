"""What this process and all that it started have used so far, from ``/proc`` (Linux)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

TICKS: Final = os.sysconf("SC_CLK_TCK")
PARENT: Final = 1
TIMES: Final = slice(11, 15)
"""Fields of ``/proc/PID/stat`` after the name: the parent, and the times of the process and of its children
that have ended."""


Used = dict[int, int]
"""Process -> the ticks that it, and those of its children that have ended, have used."""


def used() -> Used:
    """By this process and all its living descendants."""
    return {pid: sum(map(int, fields[TIMES])) for pid, fields in _tree()}


def since(before: Used) -> float:
    """Seconds of the processors that were used since then, by what lives now: what has ended meanwhile was
    started for something else, and may have taken its count along."""
    return sum(ticks - before.get(pid, 0) for pid, ticks in used().items()) / TICKS


def peak() -> int:
    """The most bytes that this process itself has had in memory."""
    return _peak(os.getpid())


def peak_of(name: str) -> int:
    """The same of its living descendants of that name."""
    return sum(_peak(pid) for pid, _ in _tree() if _line(pid, "Name:") == name)


def _peak(pid: int) -> int:
    return int(_line(pid, "VmHWM:").split()[0]) * 1024


def _line(pid: int, field: str) -> str:
    lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace").splitlines()
    return next(line.removeprefix(field).strip() for line in lines if line.startswith(field))


def _tree() -> Iterator[tuple[int, list[str]]]:
    """The fields of this process and of its living descendants, by number."""
    fields = dict(_processes())
    known = {os.getpid()}
    while more := {pid for pid, found in fields.items() if int(found[PARENT]) in known} - known:
        known |= more
    return ((pid, fields[pid]) for pid in sorted(known & fields.keys()))


def _processes() -> Iterator[tuple[int, list[str]]]:
    for place in Path("/proc").iterdir():
        if place.name.isdecimal():
            try:
                text = (place / "stat").read_text(encoding="utf-8", errors="replace")
            except OSError:
                continue  # it has ended meanwhile
            yield int(place.name), text.rpartition(")")[2].split()
