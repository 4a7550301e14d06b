"""What is received, by number too, and what is peeked becomes steps."""

from __future__ import annotations

from typing import Final

from .building import LOST, NOBODY, Building, Given, Translated, grouped
from .recording import NotFollowed, Operation, Shown
from .steps import DEAD, Step


def _receive(t: Building, one: Operation) -> None:
    op, who = "delete" if one.deletes else "receive", _receiver(t, one)
    if t.recording.sessions and not one.dead:
        if one.shown or one.passing:  # elsewhere it finds nothing, or is refused
            t.refuse("receive fails" if one.passing else "impossible", one, who=who)
    elif one.refused:
        t.refuse("receive fails" if one.passing or t.flows else "impossible", one, who=who)
    elif not one.happened:
        if one.deletes or "caches" not in t.recording.words:
            t.put(one, [Step(op, who=who, max=one.limit)], optional=True)
    elif not one.shown:
        t.put(one, [Step("receive nothing", who=who)])
    else:
        deliver(t, op, who, one)


def _receive_deferred(t: Building, one: Operation) -> None:
    named, apart = [t.sent[id] for id in one.about], one.apart and "RCV-10" in t.recording.rules
    if one.refused:
        lost = one.error in LOST or one.passing
        t.refuse("by number refused" if lost else "impossible", one, ms=named, unknown=one.strange or apart)
    elif not one.happened:
        t.put(one, [Step("receive deferred", ms=named)] if named and not apart else [], optional=True)
    elif apart or not {t.sent.get(shown.id) for shown in one.shown} <= {*named}:
        t.put(one, [Step("impossible")])
    elif one.shown:
        deliver(t, "receive deferred", one.client, one)
    else:
        t.put(one, [Step("receive nothing")])


def deliver(t: Building, op: str, who: str, one: Operation) -> None:
    """Add the steps by which what is shown was delivered, and remember its locks."""
    head = 0
    for group in _delivered_together(t, one):
        prior = head if t.flows else 0
        head = t.put(
            one,
            (
                Step(
                    op,
                    who=who,
                    session=t.session(one),
                    ms=[t.sent[shown.id]],
                    counts=[_count(t, shown)],
                    prior=prior,
                )
                for shown in group
            ),
        )
        for n, shown in enumerate(group, head):
            if shown.lock is not None:
                given = Given(t.sent[shown.id], n, who, one.client, one.dead)
                t.given.setdefault(shown.lock, given)


def _receiver(t: Building, one: Operation) -> str:
    """The flow by which a client receives; the client itself where there are none."""
    if not t.flows:
        return one.client
    return one.flow if one.flow and t.bound.get(one.flow) == one.client else NOBODY


def _delivered_together(t: Building, one: Operation) -> list[list[Shown]]:
    """What was delivered at one instant: a flow is handed its messages one by one, in the answer's
    order; others get those of one partition together."""

    def instant(item: tuple[int, Shown]) -> int:
        place, shown = item
        return (0 if t.flows else t.places.part(t.sent[shown.id])) or -1 - place

    groups = [[shown for _, shown in group] for group in grouped(enumerate(one.shown), instant)]
    for group in groups:
        group.sort(key=lambda shown: t.places.number(t.sent[shown.id]))
    return groups


def _count(t: Building, shown: Shown) -> int:
    """The delivery count that is shown, where a rule is about it; else -1."""
    return -1 if shown.tries is None or "RCV-9" not in t.recording.rules else shown.tries


def _peek(t: Building, one: Operation) -> None:
    if not t.expiry:
        return  # it was refused, as it has to be
    who = one.client + (DEAD if one.dead else "") if one.since is None else f"{one.client}~{one.record}"
    if one.since not in (None, (0, 0)):
        t.cursors[who] = t.places.cursor(one.since or (0, 0), one.dead)
    if not one.happened:
        t.simple("peek", "peek fails", one, who=one.client if one.refused else who, max=one.limit)
    elif not one.shown:
        t.put(one, [Step("peek nothing", who=who)])
    elif len(one.shown) > one.limit or any(shown.lock is not None for shown in one.shown):
        t.put(one, [Step("impossible")])
    else:
        for group in grouped(one.shown, lambda shown: t.places.part(t.sent[shown.id])):
            ms = [t.sent[shown.id] for shown in group]
            if not t.places.part(ms[0]):
                raise NotFollowed("a peek that does not show partitions")
            op = "peek" if len(set(ms)) == len(ms) else "impossible"
            counts = [_count(t, shown) for shown in group]
            states = ["-" if one.dead else _state(t, shown) for shown in group]
            t.put(one, [Step(op, who=who, ms=ms, counts=counts, states=states)])


def _state(t: Building, shown: Shown) -> str:
    """What a peek shows of a message, where a rule is about it; else "-"."""
    known = shown.state is not None and "PEEK-7" in t.recording.rules
    return shown.state or "-" if known else "-"


RECEIVES: Final[Translated] = {"receive": _receive, "receive_deferred": _receive_deferred, "peek": _peek}
