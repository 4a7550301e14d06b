"""Sessions that clients accept, keep, receive from and give back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from partq.conformance.workload.operations.receiving import RECEIVING, received
from partq.conformance.workload.operations.record import Args, Holdings, Operation, Told, some_of
from partq.model.operations import OUTLET, Arg, Kind, Outcome

_WHICH: Final[Mapping[str, Arg]] = {
    "session": Arg(Kind.INT, meaning="an index among the sessions I hold, the last one first"),
    "lost": Arg(Kind.FLAG, meaning="among those I held, instead"),
    "named": Arg(Kind.NAME, meaning="this one, whether I hold it or not, instead"),
}


def _which(held: Holdings, args: Args) -> str | None:
    """The session that a step means."""
    if "named" in args:
        return str(args["named"])
    pool = held.sessions_lost if args.get("lost") else held.sessions
    return pool[args["session"] % len(pool)] if pool and "session" in args else None


def _accepted(held: Holdings, told: Told) -> None:
    session = told.args.get("session_id")
    if told.outcome == Outcome.OK and session is not None:
        _forget(held, session)
        held.sessions.insert(0, session)


def _forget(held: Holdings, session: str) -> None:
    for pool in (held.sessions, held.sessions_lost):
        if session in pool:
            pool.remove(session)


def _in_session(held: Holdings, args: Args) -> Args | None:
    session = _which(held, args)
    return None if session is None else {"session_id": session, **some_of(args, "entity")}


def _ended(held: Holdings, told: Told) -> None:
    """A session that was closed, or is lost."""
    session = told.args["session_id"]
    if session in held.sessions and (told.error is None or told.outcome == Outcome.ERROR):
        _forget(held, session)
        held.sessions_lost.insert(0, session)


def _renewed(held: Holdings, told: Told) -> None:
    if told.error == "lock_lost":
        _ended(held, told)


def _retraced(held: Holdings, args: Args) -> dict[str, Any]:
    session = args["session_id"]
    where = some_of(args, "entity")
    if session in held.sessions:
        return {"session": held.sessions.index(session), **where}
    return {"named": session, **where}


def _accept_retraced(held: Holdings, args: Args) -> Args:
    return some_of(args, *(() if args.get("next") else ("session_id",)), "timeout", "entity")


def _receive(held: Holdings, args: Args) -> Args | None:
    session = _which(held, args)
    plain = {name: value for name, value in args.items() if name not in _WHICH}
    return None if session is None else {"session_id": session, **plain}


def _received(held: Holdings, told: Told) -> None:
    received(held, told)
    _renewed(held, told)


def _with_state(held: Holdings, args: Args) -> Args | None:
    found = _in_session(held, args)
    return None if found is None else {**found, "state": args["state"]}


_OF_ONE: Final = Operation(
    {**_WHICH, **OUTLET}, _in_session, idle="it held no such session", retraced=_retraced
)

OPERATIONS: Final[Mapping[str, Operation]] = {
    "accept_session": Operation(
        {
            "session_id": Arg(Kind.NAME, meaning="which one; absent: the next"),
            "timeout": Arg(Kind.NS, meaning="ns to wait"),
            **OUTLET,
        },
        lambda held, args: args if "session_id" in args else {**args, "next": True},
        _accepted,
        retraced=_accept_retraced,
        waits=True,
    ),
    "receive_session": _OF_ONE._replace(
        args={
            **{name: RECEIVING["receive"].args[name] for name in ("max", "mode", "timeout")},
            **_WHICH,
            **OUTLET,
        },
        resolve=_receive,
        learn=_received,
        retraced=lambda held, args: {**some_of(args, "max", "mode", "timeout"), **_retraced(held, args)},
        waits=True,
    ),
    "renew_session": _OF_ONE._replace(learn=_renewed),
    "close_session": _OF_ONE._replace(learn=_ended),
    "get_session_state": _OF_ONE._replace(learn=_renewed),
    "set_session_state": _OF_ONE._replace(
        args={
            **_WHICH,
            **OUTLET,
            "state": Arg(Kind.TEXT, required=True, meaning="the state to write; empty: none"),
        },
        resolve=_with_state,
        learn=_renewed,
        retraced=lambda held, args: {**_retraced(held, args), "state": args["state"]},
    ),
}
