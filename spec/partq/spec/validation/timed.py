"""What the times of a recording's operations say, which the specification has no clock to tell: which message
may be a duplicate of which, and which transaction may be over, or full.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Final

from .recording import NotFollowed, Operation, Sent

Operations = tuple[Operation, ...]

_AROUND: Final = ("begin", "commit", "rollback")
"""What begins and ends a transaction."""


def with_copies(
    operations: Sequence[Operation], id_of: Callable[[Sent], Hashable], window: int, skew: int, slack: int
) -> Operations:
    """The operations, whose messages say of which others they may be duplicates, or are (DUP-1, DUP-2).

    ``id_of``: the ID, and key, by which a message is remembered. ``window``: for how long it counts, ns;
    ``skew``: how far clients' times may differ; ``slack``: and how late the broker's may be, too. Raises
    `NotFollowed`.
    """
    groups: dict[Hashable, list[tuple[Operation, Sent]]] = {}
    for one in operations:
        for message in one.sent:
            groups.setdefault(id_of(message), []).append((one, message))
    shown = {shown.id for one in operations for shown in one.shown if not one.sent}
    copies, repeats = dict[str, tuple[str, ...]](), dict[str, tuple[str, ...]]()
    commits = {one.txn: one.ret for one in operations if one.op == "commit" and one.happened}

    def stored(one: Operation) -> int | None:
        """By when what it sends was stored, if it was."""
        return one.ret if one.txn is None else commits.get(one.txn)

    over, within = window + slack, window - skew
    for group in groups.values():
        for one, message in group if len(group) > 1 else ():
            if not (one.happened or one.refused) and not {message.id, message.later} & shown:
                raise NotFollowed("a copy that is never shown, whose send has an unknown outcome")
            others = [(other, copy) for other, copy in group if copy is not message]
            copies[message.id] = tuple(
                copy.id
                for other, copy in others
                if copy.later or (end := stored(other)) is None or one.call - end <= over
            )
            repeats[message.id] = tuple(
                copy.id
                for other, copy in others
                if (end := stored(one)) is not None and end - other.call < within
            )
    return tuple(
        one._replace(
            sent=tuple(
                s._replace(copies=copies.get(s.id, ()), repeats=repeats.get(s.id, ())) for s in one.sent
            )
        )
        for one in operations
    )


def with_limits(operations: Sequence[Operation], timeout: int, most: int) -> Operations:
    """The operations, with what is known of the limits of their transactions (TXN-9). Whether what is
    settled counts no source says. ``timeout``: how long one certainly lasts, ns; ``most``: how many messages
    it may have."""
    begun = {one.txn: one.call + timeout for one in operations if one.op == "begin"}
    inside: dict[str, list[Operation]] = {}
    for one in operations:
        if one.txn is not None and one.op not in _AROUND:
            inside.setdefault(one.txn, []).append(one)

    def sized(one: Operation) -> Operation:
        late = tuple(t for t, end in begun.items() if t and (one.ret is None or end <= one.ret))
        if one.txn is None or one.op in _AROUND:
            return one._replace(late=late)
        mine = [other for other in inside[one.txn] if other is not one]
        asked = [other for other in mine if one.ret is None or other.call <= one.ret]
        accepted = [other for other in mine if other.happened and (other.ret or 0) <= one.call]
        size = len(one.sent)
        return one._replace(
            late=late,
            full=sum(map(_size, (one, *asked))) > most,
            overfull=bool(size) and size + sum(len(other.sent) for other in accepted) > most,
        )

    return tuple(map(sized, operations))


def _size(one: Operation) -> int:
    """How many messages it sends, settles or cancels."""
    return len(one.sent) + len(one.locks) + (one.op == "cancel_scheduled")
