"""What a broker must offer to be tested: two small synchronous classes, and what their errors mean.

Subclass `Broker` and `Client`, override what your broker can do, and leave the rest: an operation you do
not override is one your broker lacks, and requirements that need it read *not applicable*. Nothing here
knows a real broker.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any, ClassVar, Final

from partq.conformance.history import History
from partq.conformance.workload.program import Program
from partq.model.errors import UserError
from partq.model.messages import Created, Delivery, Message, Overview, Session, SessionState
from partq.model.operations import ERRORS, OPS
from partq.model.profiles import SECOND, Entity


class Rejected(Exception):
    """The operation definitely did not happen, unless it is an `Indefinite`. ``kind`` is one of
    `operations.ERRORS`."""

    def __init__(self, kind: str, detail: str = "") -> None:
        if kind not in ERRORS:
            raise ValueError(f"unknown error kind {kind!r}; known: {', '.join(ERRORS)}")
        super().__init__(f"{kind}: {detail}" if detail else kind)
        self.kind = kind
        self.detail = detail


class Indefinite(Rejected):
    """The operation may or may not have happened: a timeout, a connection that ended too early."""


class Unreachable(UserError):
    """The broker cannot be reached or prepared at all, so there is nothing to test. Raised by `Broker.open`;
    the text is one line that says what to do, and a command that meets it ends with exit code 2."""


class Shares(Enum):
    """What several objects of a `Broker` class have in common, and so how many may be run at once."""

    EVERYTHING = "everything"
    """One at a time."""

    FAULTS = "faults"
    """Each opens a queue of its own, but a fault strikes them all: what injects none is run at once."""

    NOTHING = "nothing"
    """Each opens a queue of its own, with faults of its own."""


def clock() -> int:
    """The history's clock, in ns, in which all times that the broker shows are expressed.

    The runner replaces it by one that counts from the start of the run, before it calls `Broker.open`; that
    one keeps its distance to `time.monotonic_ns`, which this is until then. So neither `time.monotonic_ns`
    nor `time.time_ns` is it: look at both it and the broker's clock, and add the distance.
    """
    return time.monotonic_ns()


def tell(op: str, args: dict[str, Any]) -> None:
    """Tell the history of an environment event, such as ``assignment`` or ``connection_lost``, as it happens.

    The runner replaces it; until then nobody listens.
    """


class Client:
    """One logical client, used by one thread at a time. Times and timeouts are seconds.

    Every method either returns (it happened), raises `Rejected` (it did not), or raises `Indefinite` (it
    may have). Anything else that is raised is recorded as indefinite too. A call may block up to its
    ``timeout``; one that never returns is cut by the runner and recorded as ``hang``.
    """

    def send(self, message: Message, *, txn: str | None = None, timeout: float = 60.0) -> None:
        """Send one message, in the open transaction ``txn`` if given; return once the broker accepted it. One
        ``without_id`` is sent with no message ID (KEY-6); its ``id`` is recognised by the body alone."""
        raise Rejected("unsupported")

    def send_batch(
        self, messages: Sequence[Message], *, txn: str | None = None, timeout: float = 60.0
    ) -> None:
        """Send all or none of the messages in one request."""
        raise Rejected("unsupported")

    def schedule(
        self, messages: Sequence[Message], *, txn: str | None = None, timeout: float = 60.0
    ) -> Sequence[Delivery]:
        """Have all or none of the messages enqueued at their ``scheduled_at``. Answers each one's ``id``, and
        the ``seq`` to cancel it by."""
        raise Rejected("unsupported")

    def cancel_scheduled(self, seq: int, *, txn: str | None = None) -> None:
        """Delete the message that is scheduled under this number."""
        raise Rejected("unsupported")

    def receive(
        self, max_messages: int, *, mode: str = "peek_lock", timeout: float = 1.0, entity: str | None = None
    ) -> Sequence[Delivery]:
        """Up to ``max_messages``, waiting ``timeout`` for the first. ``peek_lock``: each bears a ``lock``
        to settle with; ``receive_and_delete``: each is gone once returned. ``entity``: ``"dead_letter"``
        for the dead-letter queue, each with its ``reason``; only a client that can `dead_letter` is asked.
        ``"Subscriptions/NAME"``: for that subscription of the topic, of a client that can `add_rule`; with
        ``"/$DeadLetterQueue"`` behind it, for its dead-letter queue."""
        raise Rejected("unsupported")

    def complete(self, locks: Sequence[str], *, txn: str | None = None) -> None:
        """Delete the messages locked by these, in one request."""
        raise Rejected("unsupported")

    def abandon(self, locks: Sequence[str], *, txn: str | None = None) -> None:
        """Give the messages back, to be delivered again."""
        raise Rejected("unsupported")

    def defer(self, locks: Sequence[str], *, txn: str | None = None) -> None:
        """Set the messages aside, to be received by their numbers alone."""
        raise Rejected("unsupported")

    def receive_deferred(self, seqs: Sequence[int]) -> Sequence[Delivery]:
        """The deferred messages with these numbers, each with a ``lock`` to settle with."""
        raise Rejected("unsupported")

    def dead_letter(self, locks: Sequence[str], *, reason: str | None = None, txn: str | None = None) -> None:
        """Move the messages to the dead-letter queue, for this reason."""
        raise Rejected("unsupported")

    def renew_lock(self, lock: str) -> Sequence[Delivery]:
        """Restart the lock's clock. Answers the message with its new ``locked_until``, or nothing."""
        raise Rejected("unsupported")

    def peek(
        self, max_messages: int, *, from_seq: int | None = None, entity: str | None = None
    ) -> Sequence[Delivery]:
        """Up to ``max_messages`` without locking, from the number on, or on from this client's own cursor.
        ``entity``: as of a receive; each has a cursor of its own."""
        raise Rejected("unsupported")

    def accept_session(
        self, *, session_id: str | None = None, timeout: float = 1.0, entity: str | None = None
    ) -> Session:
        """Lock this session, or (None) the next that has messages and is not locked. Raises
        ``Rejected("session_locked")`` for one that is, and, where there is no next one, within the
        ``timeout``, ``Rejected("timeout")``. ``entity``, here and below: where its messages come to, as of a
        receive."""
        raise Rejected("unsupported")

    def receive_session(
        self,
        session_id: str,
        max_messages: int,
        *,
        mode: str = "peek_lock",
        timeout: float = 1.0,
        entity: str | None = None,
    ) -> Sequence[Delivery]:
        """As `receive`, messages of a session that this client has accepted."""
        raise Rejected("unsupported")

    def renew_session(self, session_id: str, *, entity: str | None = None) -> Session | None:
        """Restart the clock of the lock on the session. Answers its new end, or nothing."""
        raise Rejected("unsupported")

    def close_session(self, session_id: str, *, entity: str | None = None) -> None:
        """Give the session back, with the messages of it that are locked."""
        raise Rejected("unsupported")

    def update(self, *, settings: Mapping[str, Any] | None = None) -> None:
        """Change these settings of the queue, and no others: ``partitions``, their number, or
        ``partitioned``, true or false. Of a queue with partitions that cannot be changed programs ask only
        for what it has to refuse, by any error; of others for another number, which they have when this
        returns."""
        raise Rejected("unsupported")

    def create(self, *, settings: Mapping[str, Any] | None = None) -> Created | None:
        """Create another queue in the namespace, of that ``name``, which is ``partitioned`` or not. Answers
        what it has become. `Broker.close` removes what is left of them."""
        raise Rejected("unsupported")

    def delete(self, *, settings: Mapping[str, Any] | None = None) -> None:
        """Delete the queue of that ``name``."""
        raise Rejected("unsupported")

    def get(self) -> Overview:
        """What the broker's management shows of the queue: counts of messages, its partitions, its
        availability status in the broker's word (``Limited`` while a partition is down). What it does not
        show is None."""
        raise Rejected("unsupported")

    def get_session_state(self, session_id: str, *, entity: str | None = None) -> SessionState:
        """The state of a session that this client has accepted: empty where it has none."""
        raise Rejected("unsupported")

    def set_session_state(self, session_id: str, state: str, *, entity: str | None = None) -> None:
        """Set it; an empty text clears it."""
        raise Rejected("unsupported")

    def add_rule(self, rule: Mapping[str, Any], *, txn: str | None = None, entity: str | None = None) -> None:
        """Add the rule of that ``name`` and ``filter`` (`Entity.subscriptions`), and its ``action`` if it has
        one, to the subscription ``entity``. With this method a broker has topics: `Broker.open` makes one
        where the settings have ``subscriptions``, each with its rule by the name ``$Default``."""
        raise Rejected("unsupported")

    def remove_rule(
        self, rule: Mapping[str, Any], *, txn: str | None = None, entity: str | None = None
    ) -> None:
        """Remove the rule of that ``name`` from the subscription ``entity``."""
        raise Rejected("unsupported")

    def begin(self, txn: str) -> None:
        """Open a transaction under this name."""
        raise Rejected("unsupported")

    def commit(self, txn: str) -> None:
        """Make all of it happen."""
        raise Rejected("unsupported")

    def rollback(self, txn: str) -> None:
        """Make none of it happen."""
        raise Rejected("unsupported")

    def bind(self, flow: str, *, partition: int | None = None) -> None:
        """Become a consumer of the queue under this name. A ``partition`` is asked for only to be refused."""
        raise Rejected("unsupported")

    def rebind(self, flow: str) -> None:
        """Reconnect after a lost connection, and become a consumer again under the name of the flow that was
        lost, presenting the partitions that it had (REB-8)."""
        raise Rejected("unsupported")

    def unbind(self, flow: str) -> None:
        """Stop being one, in good order."""
        raise Rejected("unsupported")

    def disconnect(self, *, how: str = "socket") -> None:
        """Lose the connection without a word (one of the broker's ``ways_to_disconnect``). The next call
        opens a new one."""
        raise Rejected("unsupported")

    def close(self) -> None:
        """Release what the client holds. Called once, at the end; must not raise."""


class Broker:
    """One broker under test. A run opens it, connects clients, injects faults, and closes it.

    ``profile``: the profile it claims, used unless the command line names another: a name, or the path of
    a profile's file, from the folder of the class's module.
    ``ways_to_disconnect``: a program that does not say how takes each in turn; a drain takes the first.
    ``skew_ns``: how far the times it shows may be off the history's clock (`now`); set here, or in `open`.
    ``shares``: what it has in common with other objects of its class.
    ``lock_duration``: ns that locks last in seeded programs and searches, which have to wait them out; None:
    as the programs would have it.
    ``heeds``: those settings of `SELDOM_CHOSEN` that `open` heeds. Of the others the queue is taken to have
    the usual ones, unless it answers otherwise.
    """

    profile: str = ""
    client_class: ClassVar[type[Client]] = Client
    ways_to_disconnect: ClassVar[tuple[str, ...]] = ("socket",)
    skew_ns: int = 0
    shares: ClassVar[Shares] = Shares.EVERYTHING
    lock_duration: ClassVar[int | None] = 5 * SECOND
    heeds: ClassVar[frozenset[str]] = frozenset()
    hung: bool = False
    """Set by the runner: a call on it did not return, so that it is not used for another program."""
    now: Callable[[], int] = staticmethod(clock)
    """Set by the runner."""
    on_event: Callable[[str, dict[str, Any]], None] = staticmethod(tell)
    """Set by the runner."""

    def open(self, entity: Entity) -> Entity | None:
        """Make one fresh, empty queue with these settings, before each program. Answers the settings that it
        really has, where they differ. Raises `Unreachable` if it cannot."""
        return None

    def connect(self, proc: str) -> Client:
        """A client of that name on the queue opened last."""
        raise NotImplementedError("an adapter must override Broker.connect")

    def inject(self, fault: str, args: dict[str, Any]) -> dict[str, Any]:
        """Do a fault: ``partition_down``/``partition_up`` (``index``), ``frontend_lost`` (``proc``),
        ``broker_kill``, ``broker_start``. Answers the event's arguments with the broker's own names, e.g.
        ``{"partition": 7}``. Raises `Rejected("unsupported")` for one it can't do."""
        raise Rejected("unsupported")

    def is_empty(self) -> bool | None:
        """Whether the queue certainly holds nothing, locked messages included; None: the broker does not
        know. Asked at the end of a drain, when receiving found nothing more."""
        return None

    def close(self) -> None:
        """Remove the queue and release everything. Called at the end of every run, even if `open` failed.
        Must not raise."""

    def restore(self) -> None:
        """Bring up what faults have left down. Called after a campaign that ended amid its runs, so that
        `close` may not have been, on an object that was not opened. Must not raise."""

    def profiles(self) -> tuple[str, ...]:
        """The profiles it can be run under; none: whatever the command line says, else every one."""
        return (self.profile,) if self.profile else ()

    def lacks(self) -> frozenset[str]:
        """The operations and faults it does not offer: by default the client methods not overridden, and
        all faults unless `inject` is overridden."""
        missing = {op for op in CLIENT_OPS if getattr(self.client_class, op) is getattr(Client, op)}
        if type(self).inject is Broker.inject:
            missing.update(FAULTS)
        return frozenset(missing)


class SimulatedBroker(Broker):
    """A broker that runs whole programs in virtual time, deterministically, instead of call by call. This one
    has a driver of its own; a `StagedBroker` uses partq's."""

    lock_duration = None

    def simulate(self, program: Program) -> History:
        """Run the program, interleaved by its seed; equal programs give equal histories."""
        raise NotImplementedError("a simulated broker must override simulate")


CLIENT_OPS: Final = tuple(op for op, spec in OPS.items() if not spec.env and hasattr(Client, op))
FAULTS: Final = tuple(op for op, spec in OPS.items() if spec.fault)
