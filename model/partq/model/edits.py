"""Edits of the state. They keep it canonical (sorted, without default entries), so that equal situations are
equal states; the mechanisms decide when to apply them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from operator import attrgetter
from typing import Final

from .state import Burnt, Client, Entry, Part, State, Txn, once_visible
from .statuses import FADING, LAGGING, WITHDRAWN

_new: Final = tuple.__new__
"""Makes a named tuple of its fields in order; several times as fast as `_replace`, which these edits would
spend most of their time in."""


def later(state: State, now: int) -> State:
    """The state with its clock at that instant."""
    return _new(State, (state[0], now, *state[2:]))


def with_part(state: State, p: int, part: Part) -> State:
    """The state with one partition replaced."""
    parts = state.parts
    return _new(State, (*state[:5], (*parts[:p], part, *parts[p + 1 :]), *state[6:]))


def _with(state: State, place: int, value: object) -> State:
    """The state with the field at that place replaced."""
    return _new(State, (*state[:place], value, *state[place + 1 :]))


_USED: Final = State._fields.index("used")
_CLIENTS: Final = State._fields.index("clients")
_TXNS: Final = State._fields.index("txns")


def log_of(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """The messages as a partition's log has them."""
    return tuple(sorted(entries, key=attrgetter("number")))


def with_entry(part: Part, index: int, entry: Entry | None) -> Part:
    """The partition with one message replaced, or removed for None."""
    log = part.log
    middle = () if entry is None else (entry,)
    return with_log(part, log[:index] + middle + log[index + 1 :])


def with_log(part: Part, log: tuple[Entry, ...]) -> Part:
    """The partition with other contents."""
    return _new(Part, (*part[:3], log, *part[4:]))


def with_client(state: State, changed: Client) -> State:
    """The state with this client remembered, or forgotten where there is nothing to remember."""
    others = tuple(c for c in state.clients if c.proc != changed.proc)
    if changed.loose or changed.shaky or changed.unseen or any(changed.cursor):
        others = tuple(sorted((*others, changed)))
    return state if others == state.clients else _with(state, _CLIENTS, others)


def with_txn(state: State, name: str, changed: Txn | None) -> State:
    """The state with this transaction replaced, or closed for None."""
    others = tuple(t for t in state.txns if t.name != name)
    if changed is not None:
        others = tuple(sorted((*others, changed), key=lambda t: t.name))
    return _with(state, _TXNS, others)


def with_key(state: State, key: str, p: int) -> State:
    """The state in which the key lives in that partition, and the numbers that failed sends of it used up."""
    keys = tuple(sorted((*state.keys, (key, p))))
    burnt = state.burnt
    for where, of, count in burnt if key else ():
        if where < 0 and of == key:
            burnt = more(tuple(other for other in burnt if other != (where, of, count)), p, "", count)
    return state._replace(keys=keys, used=state.used | 1 << p, burnt=burnt)


def using(state: State, p: int) -> State:
    """The state in which that partition was used."""
    return state if state.used >> p & 1 else _with(state, _USED, state.used | 1 << p)


def more(burnt: Burnt, p: int, key: str, count: int) -> Burnt:
    """`State.burnt` with so many more, or fewer, there."""
    kept = tuple(other for other in burnt if other[:2] != (p, key))
    total = count + sum(other[2] for other in burnt if other[:2] == (p, key))
    return tuple(sorted((*kept, (p, key, total)))) if total else kept


def appeared(
    state: State, groups: Collection[str], slack: int = 0, parts: Iterable[int] | None = None
) -> State:
    """The state in which the messages of these committed transactions are visible, and what they removed is
    not, all of each (TXN-5), since ``slack`` ns from now at the latest; ``parts``: where they are, if
    known."""
    now = state.now + slack
    for p in range(len(state.parts)) if parts is None else parts:
        part = state.parts[p]
        if any(entry.group in groups for entry in part.log):
            log = (
                e._replace(status=_ended(e), group=None, hidden=now) if e.group in groups else e
                for e in part.log
            )
            state = with_part(state, p, part._replace(log=tuple(log)))
    return state


def _ended(entry: Entry) -> int:
    """The status of a message once the commit that stored, removed or deferred it is visible."""
    if entry.status == LAGGING:
        return once_visible(entry)
    return WITHDRAWN if entry.status == FADING else entry.status


def put(state: State, p: int, index: int, entry: Entry | None) -> State:
    """The state with one message replaced, or removed for None."""
    return with_part(state, p, with_entry(state.parts[p], index, entry))
