"""The view of a campaign of mutants: which known defects the suite killed, and how soon. Pure.

Like `evidence.py`, apart from `view.py` only for size.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from partq.conformance.verdict import Kill, plural
from partq.model.requirements import catalogue

from .signs import Share, Sign, shared
from .text import count

COLUMN: Final = "kills its mutants"
"""What the table of requirements says of each: whether it does."""


class KillView(NamedTuple):
    """One mutant. ``title``: of the rule that it breaks. ``fate``: whether it was killed. ``anchor`` leads to
    its counterexample, or is empty."""

    kill: Kill
    title: str
    fate: Sign
    traces: str
    steps: str
    anchor: str


def kill_views(kills: Sequence[Kill], anchors: Mapping[str, str]) -> tuple[KillView, ...]:
    """The mutants, survivors first, then in the catalogue's order of what they break. ``anchors``: broker ->
    its counterexample."""
    order = {id: place for place, id in enumerate(catalogue())}
    ordered = sorted(kills, key=lambda kill: (kill.killed, order.get(kill.breaks, len(order)), kill.mutant))
    return tuple(_kill(kill, anchors.get(f"mutant:{kill.mutant}", "")) for kill in ordered)


def _kill(kill: Kill, anchor: str) -> KillView:
    fate = ("killed", "pass", "✓") if kill.killed else ("survived", "violated", "✗")
    wrong = f", but {', '.join(kill.wrong)} reported too" if kill.wrong else ""
    return KillView(
        kill,
        catalogue()[kill.breaks].title if kill.breaks in catalogue() else "",
        Sign(f"{fate[0]}{wrong}", *fate[1:]),
        "–" if kill.first is None else count(kill.first),
        "–" if kill.operations is None else count(kill.operations),
        anchor,
    )


def kill_sentence(kills: Sequence[Kill]) -> str:
    """How many were killed, and which were not."""
    survivors = [kill.mutant for kill in kills if kill.first is None]
    wrong = [kill.mutant for kill in kills if kill.wrong]
    killed = sum(kill.killed for kill in kills)
    text = f"{killed} of {plural(len(kills), 'mutant')} killed by the rule that it breaks."
    text += f" Survivors: {', '.join(survivors)}." if survivors else ""
    return text + (f" Other rules were reported, too, of: {', '.join(wrong)}." if wrong else "")


def kill_shares(kills: Sequence[Kill]) -> tuple[Share, ...]:
    """How many were killed by their own rule, and how many not."""
    killed = sum(kill.killed for kill in kills)
    survived = Sign("not killed", "violated", "✗"), len(kills) - killed
    return shared((survived, (Sign("killed", "pass", "✓"), killed)))
