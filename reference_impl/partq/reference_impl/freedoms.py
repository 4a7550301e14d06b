"""The freedoms that the catalogue leaves to a broker, and how often this one uses each.

A table of chances, one for each freedom; the place where the choice is made asks `taken`. Nothing else
about the broker is here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import cache
from random import Random
from typing import Final


def often(campaign: float) -> float:
    """A freedom that the plain broker makes no use of, and with that chance one of a campaign."""
    return field(default=0.0, metadata={"campaign": campaign})


def later(campaign: float) -> float:
    """One that was added after others: whether it is in a sample follows from what is drawn for those, so
    that a seed's further draws remain what they were."""
    return field(default=0.0, metadata={"campaign": campaign, "later": True})


@dataclass(frozen=True, slots=True)
class Freedoms:
    """The chance of each freedom, at each occasion, from 0 (never: the plain behaviour) to 1 (always).
    The plain broker makes use of none. In a campaign a chance is as great as may be without hiding what else
    happens.

    The text of each names the row of the catalogue that leaves it open.
    """

    # Sending.

    split_batch: float = often(0.5)
    """ROUTE-9, ROUTE-3: a keyless batch is stored at one instant, but in several partitions."""

    shuffle_batch: float = often(0.5)
    """SEQ-3: the messages of one batch get their numbers in any order."""

    stamp_apart: float = often(0.5)
    """SEQ-7: each message of a send or commit has an enqueued time of its own, from the request's arrival
    on."""

    ride_along: float = often(0.5)
    """KEY-7: keyless messages in a batch of one key are taken along to its partition. (Else: refused.)"""

    burn_numbers: float = often(0.5)
    """SEQ-4: a send that failed, was rolled back, or went elsewhere in the end uses up numbers."""

    busy: float = often(0.02)
    """KEY-9: an operation is refused by a passing error while nothing is down."""

    busy_commit: float = often(0.2)
    """KEY-9, TXN-10: a commit is refused by a passing error, and the transaction is rolled back."""

    internal_errors: float = often(0.5)
    """ROUTE-5: what a partition's fault prevents is refused as an internal error, or as a timeout."""

    late_effect: float = often(0.7)
    """KEY-9: an operation whose client was cut off, or gave up, before it was done is done later."""

    number_duplicates: float = later(0.5)
    """SEQ-4, DUP-1: a duplicate that is dropped uses up a number."""

    remember_activation: float = later(0.5)
    """DUP-2: the window of a scheduled message runs from its activation. (Else: from its send.)"""

    # Receiving and peeking.

    answer_nothing: float = often(0.1)
    """RCV-5: a receive returns nothing, although messages are there, or although it cannot return any."""

    answer_short: float = often(0.3)
    """RCV-5: a receive returns fewer messages than were asked for and there."""

    refuse_receive: float = often(0.5)
    """KEY-9, ROUTE-7: while a partition is down a receive, which asks them all, is refused."""

    prefetch: float = often(0.3)
    """RCV-5, RCV-13: a front end fetches, and locks, more than was asked for. (Not without partitions.)"""

    interleave: float = often(0.7)
    """RCV-4, PEEK-3, REB-3: the partitions' messages are mixed within one answer."""

    peek_short: float = often(0.3)
    """PEEK-4: a peek returns fewer messages than were asked for and there."""

    count_late: float = often(1.0)
    """RCV-9: the count is raised when the message is delivered again, and peeks show the old one till then.
    Drawn once for a broker."""

    dead_letter_late: float = often(0.5)
    """RCV-9: a message beyond the maximum is dead-lettered when it would be delivered again."""

    keep_number: float = later(0.5)
    """SEQ-6: in the dead-letter queue a message has the number, and enqueued time, that it had. (Else: new
    ones.) Drawn once for a partition."""

    vanish_early: float = later(0.5)
    """RCV-15: a message whose time to live has ended is gone at a peek. (Else: at the next receive.)"""

    deliver_fetched: float = later(0.5)
    """RCV-15, RCV-13: what a front end locked in time is delivered though its time to live has ended."""

    live_from_send: float = later(0.5)
    """RCV-15: the time to live of a scheduled message runs from its send. (Else: from its activation.)"""

    give_back: float = later(0.5)
    """RCV-5: a front end that is lost gives back what it had fetched. (Else: the locks have to end.)"""

    # Transactions.

    commit_lag: float = often(0.5)
    """TXN-5: what a transaction sent becomes visible some time after its commit returned."""

    number_early: float = often(0.5)
    """SEQ-3, TXN-5: what is sent in a transaction is given its number, and its enqueued time, before the
    commit. Drawn once for a transaction."""

    second_key: float = often(0.7)
    """TXN-2: a second key of the same partition is accepted in a transaction."""

    abort_refused: float = often(0.5)
    """KEY-9, TXN-10: a transaction in which an operation was refused is rolled back."""

    settle_elsewhere: float = often(0.7)
    """TXN-2, TXN-7: a transaction settles in another partition than it sends to."""

    settle_enlisted: float = often(0.5)
    """RCV-8, TXN-5: a lock that a transaction settles still settles outside of it, and once more in it."""

    commit_settled: float = often(0.5)
    """TXN-5: a commit is done although what it was to complete is completed already. (Else: refused.)"""

    time_from_begin: float = later(0.5)
    """TXN-9: the time limit of a transaction runs from its beginning, too."""

    count_settled: float = later(0.5)
    """TXN-9: what a transaction settles and cancels counts as messages of it."""

    # Sessions.

    close_parted: float = later(0.5)
    """SES-5: the sessions of a client whose connection has ended are closed. (Else: held.)"""

    settle_one_session: float = later(0.5)
    """TXN-4: what a transaction settles is of one session, the one that it sends to. (Else: of any.)"""

    # Scheduling.

    activate_late: float = later(0.5)
    """SCH-1: a scheduled message is activated some time after its time."""

    race_cancel: float = later(0.5)
    """SCH-5: a cancel that is asked for about the message's time takes until then, or longer, and may be
    answered ok although the message is activated."""

    # Topics.

    ignore_case: float = later(0.5)
    """TOPIC-1: SQL filters compare texts without their case. Drawn once for a topic."""

    fail_apart: float = later(0.5)
    """ROUTE-7: with a partition of a topic another one of its subscriptions is down. Drawn once for a topic.
    (Else: the one at that place.)"""

    # Forwarding.

    forward_late: float = later(0.5)
    """FWD-1: forwarding a message takes a moment."""

    forward_any_order: float = later(0.5)
    """SEQ-3: the messages of a partition are forwarded in any order. (Else: the oldest first.)"""

    # Management.

    locked_apart: float = later(0.5)
    """MGT-1: a locked message is not counted as active. (Else: it is.)"""

    deferred_apart: float = later(0.5)
    """MGT-1: a deferred message is not counted as active. (Else: it is.)"""

    stale_counts: float = later(0.5)
    """MGT-1: counts are as they were told up to two seconds before."""

    count_outrun: float = later(0.5)
    """SCH-5: a cancel that came too late is counted, so that the scheduled count may be negative."""

    refuse_update: float = later(0.5)
    """MGT-3: while a partition is down an update, a create or a delete fails."""

    slow_to_free: float = later(0.5)
    """ENT-5: the place of a queue that was deleted is taken still."""

    count_headers: float = later(0.5)
    """ENT-7: a message's size includes its headers and properties. (Else: it is that of the body.)"""

    hot_partition_full: float = later(0.5)
    """ENT-6: a message is refused where the partition of its key is full, though others are not."""

    skip_down: float = later(0.5)
    """MGT-1, MGT-2: the messages of a partition that is down are not counted."""

    # Faults.

    lose_link: float = often(0.02)
    """KEY-9: the network fails by itself: an operation does not arrive, and its client's connection ends."""

    break_link: float = often(0.5)
    """KEY-9: the next operation of a client whose front end was lost fails."""

    keep_locks: float = often(0.5)
    """RCV-6: a partition's locks survive a kill of the broker."""

    keep_cursors: float = often(0.5)
    """PEEK-5: a client's places in peeking survive the loss of its connection."""

    keep_transactions: float = often(0.5)
    """TXN-10: open transactions survive a kill of the broker."""

    keep_flows: float = often(0.7)
    """REB-1, REB-13: flows and their partitions survive a kill of the broker."""

    lose_locks: float = often(0.7)
    """RCV-6: a partition that goes down loses its locks."""

    count_lost_locks: float = often(0.5)
    """RCV-9: a lock that a fault ended counts as a failed delivery."""

    lose_transactions: float = often(0.5)
    """TXN-10: a partition that goes down rolls back the transactions that it coordinates."""

    # Flows.

    unbind_gone: float = often(0.5)
    """KEY-9: an unbind of a flow that is gone is answered ok. (Else: not found.)"""

    redeal: float = often(0.5)
    """REB-12: a rebalance deals all partitions out anew, instead of moving the fewest."""

    any_standby: float = often(0.7)
    """REB-6: any of several standbys takes over, instead of the first."""

    restart_delay: float = often(0.5)
    """REB-4, REB-7: a flow that comes or goes during the delay starts it anew."""

    restart_handoff: float = often(0.5)
    """REB-14: a rebalance that gives a paused partition to another flow starts the handoff time anew."""

    orphan_handoff: float = often(0.5)
    """REB-9, REB-14: a handoff whose new flow has gone is not called off: at its end nobody has the partition
    until the rebalance, or it stays paused until then."""

    cancel_handoffs: float = often(0.7)
    """REB-9: a bind during the delay that makes the flows as many as before cancels the handoffs."""

    late_timers: float = often(0.7)
    """REB-7, REB-14: a timer is late, within `Config.lateness`."""

    late_handoffs: float = often(0.7)
    """REB-14: a handoff takes a while, within `Config.lateness`, though nothing is unsettled, or the old flow
    has gone."""

    late_events: float = often(0.7)
    """REB-13: what happens to assignments is told late, within `Config.lateness`, and in order."""

    untold_deletion: float = later(0.5)
    """REB-17, REB-13: nothing tells that a flow has lost a partition that is deleted."""

    scale_at_once: float = later(0.3)
    """REB-17: the rebalance after the number of partitions has changed does not wait for the delay."""

    settle_deleted: float = later(0.5)
    """REB-17: a settlement of what was deleted with its partition is accepted. (Else: its lock is lost.)"""

    @classmethod
    def campaign(cls) -> Freedoms:
        """Every freedom, as often as in a campaign."""
        return cls(*(one.metadata["campaign"] for one in fields(cls)))

    def sample(self, random: Callable[[], float], share: float) -> Freedoms:
        """Some of these freedoms: of those that there are each with that chance, the others never. So that
        one run of a broker makes much use of a few."""
        used = _used(self)
        if not used:
            return self
        draws = {name: random() for name in used if name not in LATER}
        seed = sum(draws.values()) if draws else random()

        def draw(name: str) -> float:
            chance: float = getattr(self, name)
            return chance if chance > 0 and Random(f"{name} {seed}").random() < share else 0.0

        sample = object.__new__(_Sample)
        object.__setattr__(sample, "draw", draw)
        for name in _FIRST:
            object.__setattr__(sample, name, getattr(self, name) if draws.get(name, 1.0) < share else 0.0)
        return sample


class _Sample(Freedoms):
    """Some freedoms. Whether one that was added later is among them is drawn when it is first asked for: most
    are not, and a generator that begins anew for each is what a short run would spend most time in."""

    __slots__ = ("draw",)
    draw: Callable[[str], float]

    def __getattr__(self, name: str) -> float:
        if name not in LATER:
            raise AttributeError(name)
        chance = self.draw(name)
        object.__setattr__(self, name, chance)
        return chance


NAMES: Final = tuple(one.name for one in fields(Freedoms))

LATER: Final = frozenset(one.name for one in fields(Freedoms) if "later" in one.metadata)

_FIRST: Final = tuple(name for name in NAMES if name not in LATER)


@cache
def _used(freedoms: Freedoms) -> tuple[str, ...]:
    """The names of those with a chance."""
    return tuple(name for name in NAMES if getattr(freedoms, name) > 0)


def taken(freedom: float, random: Callable[[], float]) -> bool:
    """Whether a freedom of that chance is used now. Draws nothing if the chance is 0."""
    return freedom > 0 and random() < freedom
