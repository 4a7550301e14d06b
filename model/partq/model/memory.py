"""What is remembered only while a requirement is waived: without these memories its breach could not be told
from another's.

With RCV-7 waived, messages that were completed or deleted, which may come back; with RCV-8 waived, every lock
token that was given. With nothing waived all of it stays empty. Who asks for it is beside the clauses.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .clauses import clause
from .edits import with_log, with_part
from .messages import Delivery
from .state import BACK, Entry, Part, State, entries


@clause("RCV-7")
def finished(state: State, ended: Iterable[Entry], part: Part) -> Part:
    """The partition that remembers these messages of it, which were just completed or deleted."""
    if state.forbids("RCV-7"):
        return part
    kept = [e._replace(status=BACK, lock=None, since=state.now, upsets=1, group=None) for e in ended]
    return part._replace(gone=tuple(sorted((*part.gone, *kept))))


@clause("RCV-7")
def revived(state: State, answer: Sequence[Delivery]) -> State:
    """The state in which the messages shown that were finished are stored again, with RCV-7 waived: the move
    of a broker that lost a completion, made as late as an answer shows it."""
    if state.forbids("RCV-7"):
        return state
    ids = {seen.id for seen in answer} - {entry.id for _, entry in entries(state)}
    for p, part in enumerate(state.parts):
        back = [entry for entry in part.gone if entry.id in ids]
        if back:
            log = tuple(sorted((*part.log, *back)))
            rest = tuple(entry for entry in part.gone if entry.id not in ids)
            state = with_part(state, p, with_log(part, log)._replace(gone=rest))
    return state


@clause("RCV-8")
def given(state: State, answer: Sequence[Delivery]) -> State:
    """The state that remembers the lock tokens of an answer, with RCV-8 waived."""
    if state.forbids("RCV-8"):
        return state
    tokens = tuple((seen.lock, seen.id) for seen in answer if seen.lock is not None)
    return state._replace(former=tuple(sorted({*state.former, *tokens}))) if tokens else state


def whose(state: State, token: str) -> tuple[int, int] | None:
    """Where the message is stored for which that token was once given, or None."""
    id = next((id for known, id in reversed(state.former) if known == token), None)
    if id is not None:
        for p, part in enumerate(state.parts):
            for index, entry in enumerate(part.log):
                if entry.id == id:
                    return p, index
    return None
