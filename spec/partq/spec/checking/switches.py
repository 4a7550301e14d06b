"""The operations, faults and promises that a scope needs so that a property can fail in it.

A property about peeks holds trivially in a scope without peeks, and a configuration that lists it there
promises more than it checks. A scope's constants say what it has.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import chain
from types import MappingProxyType
from typing import Final, NamedTuple

from partq.spec.tools.configuration import Configuration


class Switch(NamedTuple):
    """Words, with a space between two: ``all`` of them, ``one`` of them at least, ``none`` of them is there.

    A word is one of the profile, the alphabet or the freedoms, a constant that is a set, and not empty, or an
    operator that another one stands for.
    """

    all: str = ""
    one: str = ""
    none: str = ""

    def missing(self, words: frozenset[str]) -> str:
        """Why the property can't fail in a scope with these words; empty if it can."""
        told = [f"without {word}" for word in self.all.split() if word not in words]
        if self.one and words.isdisjoint(self.one.split()):
            told.append(f"without {' or '.join(self.one.split())}")
        return ", ".join([*told, *(f"with {word}" for word in self.none.split() if word in words)])


_AZURE: Final = Switch("partitioned", none="flows")
_NUMBERS: Final = Switch("numbers")
_NO_FLOWS: Final = Switch(none="flows")
_PEEK: Final = Switch("peek")
_FLOWS: Final = Switch("flows")
_TXN: Final = Switch("transaction")
_TXN_PARTITIONED: Final = Switch("transaction partitioned")

SWITCHES: Final[Mapping[str, Switch]] = {
    "KEY_2": _AZURE,
    "KEY_3": _AZURE._replace(all="partitioned TwoKeys"),
    "KEY_7": _AZURE._replace(all="partitioned batches"),
    "KEY_8": _FLOWS,
    "ROUTE_1": Switch("partitioned"),
    "ROUTE_2": Switch("partitioned"),
    "ROUTE_6": Switch(none="busy"),
    "ROUTE_7": Switch(none="busy"),
    "ROUTE_8": Switch(one="outage kill"),
    **dict.fromkeys(("SEQ_1", "SEQ_3", "SEQ_4", "SEQ_5", "SEQ_6"), _NUMBERS),
    "SEQ_2": Switch("numbers partitioned"),
    "RCV_2": Switch("drain"),
    **dict.fromkeys(("RCV_3", "RCV_8", "RCV_9", "RCV_12"), _NO_FLOWS),
    "RCV_10": Switch("defer"),
    "RCV_15": Switch("Mortal"),
    "RCV_14": _AZURE._replace(all="partitioned pairs"),
    **dict.fromkeys(("TXN_5", "TXN_10"), _TXN),
    **dict.fromkeys(("TXN_1", "TXN_2", "TXN_7", "TXN_8"), _TXN_PARTITIONED),
    "PEEK_1": Switch("peek", none="partitioned"),
    "PEEK_2": Switch("peek partitioned"),
    **dict.fromkeys(("PEEK_4", "PEEK_5", "PEEK_6", "PEEK_7"), _PEEK),
    **dict.fromkeys(("SCH_1", "SCH_2", "SCH_4", "SCH_6"), Switch("schedule")),
    "SCH_3": Switch("schedule cancellation"),
    **{f"REB_{n}": _FLOWS for n in (*range(1, 8), *range(9, 15), 18)},
    "REB_11_Eventually": _FLOWS,
}
"""By property. One that is not named here, nor in its mechanism's manifest, can fail in every scope."""

_WORD: Final = re.compile(r'"([^"]*)"')


def idle(
    configuration: Configuration, more: Mapping[str, Switch] = MappingProxyType({})
) -> Iterator[tuple[str, str]]:
    """The properties that can't fail in a configuration, and why. ``more``: switches of mechanisms'."""
    words = _words(configuration)
    for name in configuration.properties:
        if why := (more.get(name) or SWITCHES.get(name, Switch())).missing(words):
            yield name, why


def _words(configuration: Configuration) -> frozenset[str]:
    values = configuration.values
    said = (_WORD.findall(values.get(name, "")) for name in ("Profile", "Alphabet", "Freedoms"))
    sets = (name for name, value in values.items() if value.startswith("{") and value != "{}")
    return frozenset(chain(sets, configuration.variants, *said))
