"""What is asked in sessions becomes steps: accepts, receives, renewals, closes, states."""

from __future__ import annotations

from typing import Final

from .building import LOST, Building, Translated
from .receives import deliver
from .recording import Operation
from .steps import Step

_HELD: Final = "session_locked"
_STEPS: Final = {
    "renew_session": "renew session",
    "close_session": "close session",
    "set_session_state": "write",
    "get_session_state": "read",
}


def _accept(t: Building, one: Operation) -> None:
    if one.next and one.refused:
        if one.error != "timeout":  # there is none, or none was found
            t.refuse("next refused" if one.passing else "impossible", one)
    elif one.refused:
        _refuse(t, "accept refused", one, frozenset({_HELD}))
    else:
        op = "accept next" if one.next else "accept"
        t.put(one, [Step(op, session=t.session(one))], optional=not one.happened)


def _refuse(t: Building, op: str, one: Operation, kinds: frozenset[str]) -> None:
    lost = "lost" if one.error in kinds else "passing" if one.passing else "other"
    op = "impossible" if lost == "other" else op
    t.put(one, [Step(op, session=t.session(one), error=lost, passing=one.passing)])


def _ask(t: Building, one: Operation) -> None:
    if one.refused:
        _refuse(t, "request refused", one, LOST | {_HELD})
    elif one.happened or one.op in ("close_session", "set_session_state"):
        step = Step(_STEPS[one.op], session=t.session(one), state=t.text(one))
        t.put(one, [step], optional=not one.happened)


def _receive(t: Building, one: Operation) -> None:
    op = "delete in session" if one.deletes else "receive in session"
    if one.refused:
        _refuse(t, "request refused", one, LOST | {_HELD})
    elif not one.happened:
        t.put(one, [Step(op, session=t.session(one), max=one.limit)], optional=True)
    elif one.shown:
        deliver(t, op, one.client, one)


SESSIONS: Final[Translated] = {
    "accept_session": _accept,
    "receive_session": _receive,
    **dict.fromkeys(_STEPS, _ask),
}
