"""What a transaction may have in it, as far as the norms of other mechanisms say: marks for these."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from ..actions import Action
from ..hooks import Hook
from ..messages import Message
from ..state import Place, State, Txn

Belongs = Callable[[State, Txn, Action], bool]
Bars = Callable[[State, Txn, Sequence[Message], Sequence[Place]], bool]

belongs: Final = Hook[Belongs]()
"""Mark what a mechanism demands of a send that a transaction takes; else it is refused at once."""

bars: Final = Hook[Bars]()
"""Mark what says that a transaction may refuse what it is asked to send, or messages that are in these
places, which it is to settle or cancel."""


def may_take(state: State, txn: Txn, action: Action) -> bool:
    """Whether the transaction may take the send, as far as other mechanisms say."""
    return all(fits(state, txn, action) for fits in belongs)


def may_bar(state: State, txn: Txn, messages: Sequence[Message], places: Sequence[Place] = ()) -> bool:
    """Whether the transaction may refuse these as invalid, as other mechanisms say."""
    return any(barred(state, txn, messages, places) for barred in bars)
