"""A get of an entity: its counts of messages, its availability, its partitions. And what an update may
change, and how large a send may be.

What an answer says is in `Action.told`, as far as it is to be compared: the counts where they are read at
rest (`docs/rules/management.md`). It is open whether a message is counted where no source says it, and where
the broker may have moved it without anybody seeing it.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from ..actions import OK, Action, Observed, failure
from ..admission.norm import limits
from ..clauses import clause, guard, point
from ..configuration import FOREVER, Config
from ..locks.norm import is_over
from ..messages import Message
from ..operations import DEAD_LETTER, ERRORS, UNAVAILABLE
from ..routing.norm import ACCEPTED, EITHER, REFUSED, weighs
from ..sizes import exceeds, limit_of, may_be_over
from ..state import Entry, State, Steps, range_of
from ..statuses import BACK, CACHED, FRESH, PARTING, SCHEDULED

LIMITED: Final = "Limited"
"""The availability status of an entity of which a partition is down."""

_ACTIVE: Final = frozenset({FRESH, CACHED, BACK})


class Tally(NamedTuple):
    """Of so many messages at least, and at most."""

    least: int = 0
    most: int = 0

    def plus(self, certain: bool) -> Tally:
        """With one more, that is certainly counted or possibly."""
        return Tally(self.least + certain, self.most + 1)


def get(state: State, action: Action, seen: Observed | None) -> Steps:
    """A client asks for the entity's properties. That changes nothing."""
    told = counts_agree(state, action) and is_limited(state, action)
    if told and has_sixteen(state, action) and has_as_many(state, action):
        yield OK, state


@point("MGT-1")
def counts_agree(state: State, action: Action) -> bool:
    """Whether the counts that are to be compared are those of what is stored in all partitions."""
    return not any(differences(state, action))


def differences(state: State, action: Action) -> list[int]:
    """Of each count by how much it is too low (negative) or too high. While a partition is down, or a
    transaction is open, no source says what is counted."""
    if state.down or state.txns:
        return []
    shown = [(value, _tally(state, action, name)) for name, value in action.told if name in _TALLIES]
    return [min(0, value - tally.least) + max(0, value - tally.most) for value, tally in shown if tally]


def _tally(state: State, action: Action, name: str) -> Tally | None:
    """How many messages that count may have; None where it is not known."""
    if name == "dead_lettered" and not state.cfg.subqueue:
        return None
    tally = Tally()
    for entity in ("", DEAD_LETTER) if state.cfg.subqueue else ("",):
        for p in range_of(state, entity):
            for entry in state.parts[p].log:
                if entry.due == FOREVER:  # a number that was cancelled
                    continue
                certain = _TALLIES[name](state, entry, action.slack, entity)
                tally = tally if certain is None else tally.plus(certain)
    return tally


@clause("MGT-1")
def is_active(state: State, entry: Entry, slack: int, entity: str) -> bool | None:
    """Whether the message is certainly counted as active, or possibly; None: certainly not. No source says so
    of one that is locked, deferred, of a session, or sent in a transaction."""
    if entity or (entry.status == SCHEDULED and not _may_be_due(state, entry, slack)):
        return None
    settled = entry.status in _ACTIVE and not (entry.rest or (entry.session and state.sessions))
    return settled and not is_over(state, entry, slack)


@clause("MGT-1", "SCH-5")
def is_scheduled(state: State, entry: Entry, slack: int, entity: str) -> bool | None:
    """The same of the count of scheduled messages. One whose time has come may be activated at any time."""
    if entity or not entry.due:
        return None
    waits = entry.status == SCHEDULED and not _may_be_due(state, entry, slack)
    return waits and not is_over(state, entry, slack)


@clause("MGT-1")
def is_dead(state: State, entry: Entry, slack: int, entity: str) -> bool | None:
    """The same of the count of dead letters: what is in the dead-letter queue, and what may be on its way."""
    if entity:
        return entry.status in _ACTIVE and not is_over(state, entry, slack)
    return False if entry.status == PARTING or is_over(state, entry, slack) else None


def _may_be_due(state: State, entry: Entry, slack: int) -> bool:
    return entry.due - state.cfg.skew <= state.now + slack


_TALLIES: Final = {"active": is_active, "scheduled": is_scheduled, "dead_lettered": is_dead}
"""The counts, by argument."""


@guard("MGT-2")
def is_limited(state: State, action: Action) -> bool:
    """Whether the status is `LIMITED` if a partition is down. What it is otherwise no source says."""
    return not state.down or all(value == LIMITED for name, value in action.told if name == "status")


@guard("ENT-2")
def has_sixteen(state: State, action: Action) -> bool:
    """Whether the entity shows the partitions that each one has on Standard."""
    return _shows_its_own(state, action)


@guard("ENT-3")
def has_as_many(state: State, action: Action) -> bool:
    """Whether the entity shows the partitions that its namespace has."""
    return _shows_its_own(state, action)


@point("ENT-1")
def update(state: State, action: Action, seen: Observed | None) -> Steps:
    """A client changes settings of the entity. One that would change how it is partitioned is refused, by any
    error, and leaves the entity as it is."""
    if repartitions(state.cfg, action.settings):
        yield failure(frozenset(ERRORS)), state
        return
    yield OK, state
    yield from amid_outage(state)


@clause("ENT-1")
def repartitions(cfg: Config, settings: tuple[tuple[str, Any], ...]) -> bool:
    """Whether the settings are of another partitioning than the entity has."""
    own = {"partitions": cfg.entity.partitions, "partitioned": cfg.profile.partitioned}
    return any(own.get(name, value) != value for name, value in settings)


@clause("MGT-3")
def amid_outage(state: State) -> Steps:
    """While a partition is down an update may fail."""
    if state.down:
        yield failure(UNAVAILABLE), state


def _shows_its_own(state: State, action: Action) -> bool:
    count = state.cfg.entity.partitions
    return all(value == count for name, value in action.told if name == "partitions")


@weighs
@clause("ENT-7")
def refused_by_size(cfg: Config, messages: tuple[Message, ...]) -> frozenset[bool]:
    """Whether the messages of one send must, may or must not be refused for their size."""
    if exceeds(cfg.profile, cfg.entity, messages):
        return REFUSED
    return EITHER if may_be_over(cfg.profile, cfg.entity, messages) else ACCEPTED


@limits
@clause("ENT-7", "KEY-9")
def may_be_too_large(cfg: Config, error: str, action: Action) -> bool:
    """Whether a send may be refused with that error, which speaks of a limit. Where a body is empty the
    history may have left it out."""
    if error != "too_large" or limit_of(cfg.profile, cfg.entity) is None:
        return True
    sent = action.messages
    return not all(message.body for message in sent) or may_be_over(cfg.profile, cfg.entity, sent)


CLIENT_OPS: Final = {"get": get, "update": update}
"""The operations of clients."""
