"""The corpus: histories in the terse notation, good and bad, and what each opinion says of them.

A file holds histories of one mechanism, each a table ``history``:

``shows``: what it is about. ``profile``, ``settings``, ``text``: the arguments of `notation.history`.
``rule``: the rule that is broken, if one is. The judge accepts what breaks none and rejects what breaks one,
unless ``judge`` says otherwise; screens find, and blame names, the rule that is broken, unless ``found`` and
``blame`` (the candidates in order) say otherwise. ``open``: what screens leave open; ``one_of``: rules of
which they know that one is broken. ``exercised``: rule -> how often, or rules that are at all. ``stuck``: the
record at which the judge is. ``incomplete``: searches of blame give up. ``tlc``: what TLC says where it
contradicts the judge, and not for times or marks.

A history without a rule that the judge rejects, blame without the rule that is broken, and ``tlc`` are
disagreements that are still to be decided.
"""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from partq.conformance.history import History
from partq.conformance.history.notation import history
from partq.conformance.oracle.judge import Judged


class Entry(NamedTuple):
    """One history of the corpus; see above."""

    name: str
    mechanism: str
    profile: str
    text: str
    settings: dict[str, Any]
    judge: Judged
    found: frozenset[str]
    open: frozenset[str]
    one_of: frozenset[tuple[str, ...]]
    exercised: dict[str, int] | list[str]
    blame: tuple[str, ...]
    stuck: int | None
    incomplete: bool
    tlc: str

    @property
    def history(self) -> History:
        return history(self.text, self.profile, **self.settings)


def _entry(file: Path, table: dict[str, Any]) -> Entry:
    mechanism, broken = file.parent.name, [table["rule"]] if "rule" in table else []
    judged = Judged(table.get("judge", "rejected" if broken else "accepted"))
    return Entry(
        f"{mechanism}/{file.stem}: {table['shows']}",
        mechanism,
        table["profile"],
        table["text"],
        table.get("settings", {}),
        judged,
        frozenset(table.get("found", broken)),
        frozenset(table.get("open", ())),
        frozenset(map(tuple, table.get("one_of", ()))),
        table.get("exercised", {}),
        tuple(table.get("blame", broken)),
        table.get("stuck"),
        table.get("incomplete", False),
        table.get("tlc", str(judged)),
    )


@cache
def corpus() -> dict[str, Entry]:
    """Every history by its name."""
    files = sorted(Path(__file__).parent.glob("*/*.toml"))
    entries = [
        _entry(file, one) for file in files for one in tomllib.loads(file.read_text("utf-8"))["history"]
    ]
    assert len({entry.name for entry in entries}) == len(entries), "two histories of one name"
    return {entry.name: entry for entry in entries}
