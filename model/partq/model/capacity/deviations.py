"""How a broker breaks the rule on capacity (ENT-6), besides holding too much."""

from __future__ import annotations

from collections.abc import Iterator

from ..actions import Action, Answer
from ..admission.norm import refused, refused_for_good
from ..departures import beyond
from ..state import State
from .norm import has_size


@beyond(refused_for_good, "ENT-6", where=has_size, broken=True)
def full_too_soon(state: State, action: Action, error: str) -> Iterator[tuple[Answer, State]]:
    """A send is refused as if its partition were full."""
    if error == "quota" and action.messages:
        yield from refused(state, action, frozenset({error}))
