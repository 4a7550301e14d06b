"""How a broker that does not offer browsing answers it (REB-16)."""

from __future__ import annotations

from ..actions import Answer, Observed
from ..departures import beyond
from ..operations import Outcome
from ..state import State, Steps
from .norm import browsed


@beyond(browsed, "REB-16")
def browsed_anyhow(state: State, seen: Observed | None) -> Steps:
    """Browsing shows any messages."""
    if seen is not None:
        yield Answer(Outcome.OK, messages=seen.messages), state
