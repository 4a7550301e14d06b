"""A wave's manifest: which units it did, and what each table holds of them.

Written last, it is what makes the wave complete.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise
from struct import Struct
from typing import Any, Final, NamedTuple

from partq.conformance.frontends.campaign.tables import TABLES

SCHEMA: Final = "partq.wave/1"
FOLDER: Final = "manifests"

WORDS: Final = 4
"""A row's hash has so many words of 64 bits, each added up over the rows."""

_WORDS: Final = Struct(f">{WORDS}Q")


class Fingerprint(NamedTuple):
    """What rows there are, whatever their order: how many, and the sums of their hashes' words."""

    rows: int = 0
    sums: tuple[int, ...] = (0,) * WORDS

    @staticmethod
    def of(line: str) -> Fingerprint:
        """The fingerprint of one row, given as JSON, which tells a null from an empty text or list."""
        return Fingerprint(1, _WORDS.unpack(sha256(line.encode()).digest()))

    def with_(self, other: Fingerprint) -> Fingerprint:
        """The fingerprint of these rows and of others together."""
        sums = tuple(one + two for one, two in zip(self.sums, other.sums, strict=True))
        return Fingerprint(self.rows + other.rows, sums)


@dataclass(frozen=True, slots=True)
class Manifest:
    """``plan``: the digest of the plan and its code. ``units``: those that the wave did. ``tables``: what is
    in each table. ``findings``: how many its verdicts count (manifests of 0.1 do not say)."""

    plan: str
    units: range
    tables: Mapping[str, Fingerprint]
    findings: int = 0

    @property
    def wave(self) -> int:
        """The wave's number: that of its first unit."""
        return self.units.start

    @property
    def traces(self) -> int:
        """How many traces were done."""
        return self.tables["verdicts"].rows


def file_of(wave: int) -> str:
    """Where in the campaign's folder the manifest of a wave is."""
    return f"{FOLDER}/wave={wave}.json"


def dumps(manifest: Manifest) -> str:
    """The manifest as JSON."""
    tables = {
        name: {"rows": found.rows, "digest": [f"{word:x}" for word in found.sums]}
        for name, found in manifest.tables.items()
    }
    units = [manifest.units.start, manifest.units.stop]
    data = {"schema": SCHEMA, "plan": manifest.plan, "units": units, "tables": tables}
    return json.dumps({**data, "findings": manifest.findings}, indent=1) + "\n"


def loads(text: str) -> Manifest:
    """The manifest in that text. Raises `ValueError`, whose text says what is wrong."""
    try:
        data = json.loads(text)
        if data["schema"] != SCHEMA:
            raise ValueError(f"schema: expected {SCHEMA!r}")
        start, stop = map(int, data["units"])
        tables = {name: _fingerprint(data["tables"][name]) for name in TABLES}
        return Manifest(str(data["plan"]), range(start, stop), tables, int(data.get("findings", 0)))
    except KeyError as error:
        raise ValueError(f"no {error}") from None
    except (TypeError, OverflowError, RecursionError) as error:
        raise ValueError(str(error)) from None


def _fingerprint(data: Mapping[str, Any]) -> Fingerprint:
    sums = tuple(int(word, 16) for word in data["digest"])
    if len(sums) != WORDS:
        raise ValueError(f"digest: expected {WORDS} words")
    return Fingerprint(int(data["rows"]), sums)


def overlap(manifests: Iterable[Manifest]) -> tuple[Manifest, Manifest] | None:
    """Two that did the same unit, if any did."""
    ordered = sorted(manifests, key=lambda manifest: manifest.wave)
    return next((pair for pair in pairwise(ordered) if pair[1].wave < pair[0].units.stop), None)
