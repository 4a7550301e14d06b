"""The broker's state: immutable, hashable tuples, with functions to read them.

Everything a client could ever find out is here, and nothing else: what is stored in which partition, which
locks, cursors, transactions and flows there are, what is down. Messages are known by their IDs; bodies are
the reader's. How the state changes is the mechanisms' business, by `edits` that keep it canonical.

Times are ns of one clock, `State.now`. A deadline is a pair (lo, hi): not before lo, at hi at the latest.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from .actions import Answer
from .configuration import Config, InvalidScope, configured
from .profiles import Destination, Entity, profile
from .statuses import COUNTED, FRESH, LOCKED, SCHEDULED, STATUSES

LATE: Final = "late "
"""`Lock.txn` of what a transaction that is over is still to settle begins so (TXN-5, waived)."""


class Deadline(NamedTuple):
    """When something ends: not before ``lo``, at ``hi`` at the latest."""

    lo: int
    hi: int


class Lock(NamedTuple):
    """A lock on a message. ``token`` and ``holder`` are None in a front end's cache. ``lo``, ``hi``: its
    deadline. ``shaken``: a fault may have ended it already (`Entry.upsets`). ``txn``: settled in this open
    transaction, or, with TXN-5 waived, `LATE` with the operation. ``rivals``: tokens of other locks that hold
    at the same time (with RCV-6 waived). ``given``: when the receive returned that gave it, where ORD-2
    binds, else 0."""

    token: str | None
    holder: str | None
    lo: int
    hi: int
    shaken: bool = False
    txn: str | None = None
    rivals: tuple[str, ...] = ()
    given: int = 0


class Entry(NamedTuple):
    """One stored message. ``number`` counts from 0 in its partition. ``status``: one of the constants above.
    ``tries``: its delivery count, at least. ``since``: the earliest instant from which a lock may have run
    that nobody has seen, kept where such locks are modelled (`Config.hindsight`); of a message that a client
    holds, the first fault that may have ended its lock. ``upsets``: the faults since, of which each may have
    ended a lock early. ``turn``: 0 if no client ever had a lock on it, else 1 and 2 by turns. ``at``: its
    enqueued time lies between, where times are compared (`Config.timed`). ``owed``: `COUNTED`, `OWED` or
    `SHOWN`. What these leave open is decided by what observes it (`locks`). ``group``: of a lagging message
    the transaction whose messages become visible together (TXN-5). ``hidden``: until when, ns, one that is
    visible now may have lagged. ``key``: its key, where the profile has an order domain, else "". ``due``:
    the time from which on a scheduled message may be activated, else 0. ``rest``: the status that it has
    whenever no lock holds, where that is not the usual one, else 0. ``life``: if it has a time to live, how
    long after its enqueued time that ends, at least and at most. ``session``: where its entity has sessions,
    the one that it belongs to; no front end fetches it before a client asks."""

    number: int
    id: str
    status: int
    tries: int = 0
    since: int = 0
    turn: int = 0
    lock: Lock | None = None
    at: tuple[int, int] | None = None
    upsets: int = 0
    owed: int = COUNTED
    group: str | None = None
    hidden: int = 0
    key: str = ""
    due: int = 0
    rest: int = 0
    life: tuple[int, int] | None = None
    session: str = ""


_OWN: Final = Entry._fields.index("rest")
"""From here on are the fields of mechanisms, which outlast locks."""


def locked(entry: Entry, tries: int, turn: int, lock: Lock) -> Entry:
    """The message locked for a client by that lock. By position, which costs a third, here beside the fields
    alone."""
    until_lock = (entry.number, entry.id, LOCKED, tries, 0, turn, lock)
    return tuple.__new__(Entry, (*until_lock, entry.at, 0, COUNTED, None, 0, entry.key, 0, *entry[_OWN:]))


def unlocked(entry: Entry, status: int, tries: int, since: int, upsets: int, owed: int) -> Entry:
    """The message after its lock ended."""
    until_lock = (entry.number, entry.id, status, tries, since, entry.turn, None)
    return tuple.__new__(Entry, (*until_lock, entry.at, upsets, owed, None, 0, entry.key, 0, *entry[_OWN:]))


class Part(NamedTuple):
    """One partition: the next number, the counter that number 0 is shown as (None: not yet known), the
    latest enqueued time that was shown (0: none), and what is stored, by number. ``gone``: what was
    completed or deleted (remembered only with RCV-7 waived)."""

    next: int
    base: int | None
    floor: int
    log: tuple[Entry, ...]
    gone: tuple[Entry, ...] = ()


class Client(NamedTuple):
    """A client with something to remember. ``cursor``: for each partition the number its next cursorless peek
    starts at. ``loose``: the partitions, as bits, whose cursor a fault may have set back to the start.
    ``shaky``: a fault may fail its next call. ``unseen``: past how many messages answers that did not reach
    it may have moved its cursors."""

    proc: str
    cursor: tuple[int, ...] = ()
    loose: int = 0
    shaky: bool = False
    unseen: int = 0


class Pending(NamedTuple):
    """A message sent in an open transaction. ``number``: its place in the partition, once it is taken.
    ``since``: when it was sent, where times are compared, else 0. ``seq``: the number that the history shows
    it with, if any. ``born``: what will be stored, but for number and time."""

    id: str
    part: int
    number: int | None
    since: int
    seq: int | None
    born: Entry


class Txn(NamedTuple):
    """An open transaction. ``part``, ``key``: pinned by its first send; ``locks_in``: the partition it
    settles in. ``sends``: what waits for the commit. ``settles``: (operation, partition, number, token).
    ``cancels``: (partition, message) of what is scheduled and to be cancelled.
    ``tainted``: the broker may refuse to commit it; ``doomed``: it has to; ``outlived``: a message that it
    settles was delivered again, or dead-lettered. ``begun``: the instant of its begin (without a clock 0)."""

    name: str
    proc: str
    part: int | None = None
    key: str | None = None
    locks_in: int | None = None
    sends: tuple[Pending, ...] = ()
    settles: tuple[tuple[str, int, int, str], ...] = ()
    cancels: tuple[tuple[int, str], ...] = ()
    tainted: bool = False
    doomed: bool = False
    outlived: bool = False
    begun: int = 0


class Sent(NamedTuple):
    """A message that was accepted, with its key and partition. ``at``: its enqueued time lies between, ns.
    ``txn``: the open transaction that it is part of. ``without_id``: the application gave it no ID."""

    id: str
    key: str | None
    part: int
    at: tuple[int, int]
    txn: str | None = None
    without_id: bool = False


class SessionLock(NamedTuple):
    """A client's lock on a session, which also is that of each message that the client holds of it. ``lo``,
    ``hi``: its deadline. ``shaken``: a fault may have ended it already. ``session``: empty where only the
    client was told which one it is."""

    session: str
    holder: str
    lo: int
    hi: int
    shaken: bool = False


class Other(NamedTuple):
    """Another entity of the namespace. ``name``: empty once it is deleted."""

    name: str
    partitioned: bool


class Flows(NamedTuple):
    """Who consumes (REB). ``active`` and ``standby``: (flow, client) in order of binding. ``owner``: for each
    partition its pair (flow, state), or None where it is unassigned. ``handoff``: for each partition in
    handoff (target flow, lo, hi). ``timer``: the rebalance delay. ``unseen``: pairs whose change is not yet
    observed, (partition, flow, state, latest time), where assignments are observed. ``former``: partitions
    that a flow still has beside another one (only with REB-1 waived). ``gone``: clients whose flows have gone
    (remembered only with REB-9 or REB-10 waived). ``alone``: the flow whose loss alone started the delay,
    where flows resume (`Config.resumed`). ``scaled``: the rebalance after another number of partitions is to
    come; ``waited``: the delay that ran then, and goes on. ``ends``: when that of all flows' loss may end."""

    active: tuple[tuple[str, str], ...] = ()
    standby: tuple[tuple[str, str], ...] = ()
    owner: tuple[tuple[str, str] | None, ...] = ()
    handoff: tuple[tuple[str, int, int] | None, ...] = ()
    timer: Deadline | None = None
    unseen: tuple[tuple[int, str, str, int], ...] = ()
    former: tuple[tuple[int, str], ...] = ()
    gone: tuple[str, ...] = ()
    alone: str = ""
    scaled: bool = False
    waited: Deadline | None = None
    ends: int = 0


Burnt = tuple[tuple[int, str, int], ...]
"""See `State.burnt`."""


class State(NamedTuple):
    """One state of one entity, and of its dead-letter queue where `Config.subqueue` says so: that one's
    partitions follow on the others in ``parts``. ``down`` and ``used`` are sets of partition positions, as
    bits. ``burnt``: numbers that failed sends may have consumed and no gap has shown yet, as (partition, key,
    count), sorted; partition -1: that of the key, once it has one; -1 and the key "": any. ``former``: every
    token that was given, with its message (remembered only where RCV-8 is not enforced). ``withheld``:
    messages that may be stored after their send, though that was refused or has its place in a transaction
    (remembered only with a requirement waived). ``sent``: what is remembered of accepted messages whether
    they are still there or not, where a mechanism asks for it. ``sessions``: sorted. ``session_states``:
    (session, state) of those that have one, sorted. ``rules``: (name, filter, action) of a subscription's,
    sorted; None: as its settings say. ``others``: the entities that were created beside this one, sorted.
    ``deleted``: the tokens of locks on what was deleted with its partition."""

    cfg: Config
    now: int
    dead: bool
    down: int
    used: int
    parts: tuple[Part, ...]
    keys: tuple[tuple[str, int], ...]
    burnt: Burnt
    clients: tuple[Client, ...]
    txns: tuple[Txn, ...]
    flows: Flows | None
    former: tuple[tuple[str, str], ...] = ()
    withheld: tuple[str, ...] = ()
    sent: tuple[Sent, ...] = ()
    sessions: tuple[SessionLock, ...] = ()
    session_states: tuple[tuple[str, str], ...] = ()
    rules: tuple[tuple[str, str, str], ...] | None = None
    others: tuple[Other, ...] = ()
    deleted: tuple[str, ...] = ()

    def forbids(self, requirement: str) -> bool:
        """Whether the requirement is enforced: for deviations to ask, not the norm."""
        cfg = self.cfg
        return requirement in cfg.binding and requirement not in cfg.waived

    def breaks(self, requirement: str) -> bool:
        """Whether the broker is taken to break the requirement, so that also what another requirement
        forbids may come of it: a refused send is stored (RCV-1), a valid one refused for good (KEY-9). Where
        a requirement merely does not bind, those hold."""
        cfg = self.cfg
        return requirement in cfg.binding and requirement in cfg.waived


Steps = Iterator[tuple[Answer, State]]
"""What an operation may come to: each answer, with the state after it."""

Place = tuple[int, int]
"""Where a message is: the position of its partition, and its index in that log."""


def initial(
    profile_name: str,
    entity: Entity | None = None,
    names: tuple[int, ...] | None = None,
    now: int = 0,
    waived: frozenset[str] = frozenset(),
    **options: int,
) -> State:
    """The empty entity. ``names``: what the partitions that a history shows are called; the others stay
    anonymous and interchangeable. None: they are called 0, 1, …. ``waived``: requirements not
    enforced. ``options``: switches of `Config`; ``most``: how many partitions it may come to have.

    Raises `InvalidScope` for more names than partitions (SEQ-2), a name twice, a partition count that the
    profile does not allow, or a family that is not modelled; `UnknownProfile`.
    """
    family = profile(profile_name)
    settings = entity or family.default_entity
    count = settings.partitions
    if not family.modelled:
        raise InvalidScope(f"{family.title} is not modelled")
    single = isinstance(settings, Destination) and count == 1  # it need not be partitioned
    if family.partitions and count not in family.partitions and not single:
        allowed = ", ".join(map(str, family.partitions))
        raise InvalidScope(f"{family.title} has {allowed} partitions, not {count}")
    most = options.pop("most", count)
    if names is not None and (len(names) > most or len(set(names)) < len(names)):
        if waived.isdisjoint({"SEQ-2", "SEQ-5"}):
            raise InvalidScope(f"{most} partitions cannot be called {names}")
        names = tuple(dict.fromkeys(names))[:most]
    known = tuple(range(most)) if names is None else names + tuple(range(-1, len(names) - most - 1, -1))
    known *= 2 if options.get("subqueue") else 1
    options.setdefault("symmetric", names is not None and not family.flows)
    cfg = configured(profile_name, settings, known, tuple(sorted(options.items())), waived)
    named = 0 if names is None else (1 << len(names)) - 1
    part = Part(0, settings.seq_start if family.shows_seq else 0, 0, ())
    flows = Flows(owner=(None,) * count, handoff=(None,) * count) if family.flows else None
    beside = (Part(0, 1 << family.counter_bits - 1, 0, ()),) * count if cfg.subqueue else ()
    return State(cfg, now, False, 0, named, (*(part,) * count, *beside), (), (), (), (), flows)


def is_up(state: State, p: int) -> bool:
    """Whether a partition is up."""
    return not (state.dead or state.down >> p & 1)


def up(state: State) -> list[int]:
    """The partitions that are up."""
    return [p for p in range_of(state) if is_up(state, p)]


def range_of(state: State, entity: str = "") -> range:
    """The positions of an entity's partitions; of its dead-letter queue's for any word."""
    count = state.cfg.entity.partitions if state.cfg.subqueue else len(state.parts)
    return range(count, len(state.parts)) if entity else range(count)


def stored_with(state: State, p: int) -> tuple[int, ...]:
    """The positions of what goes down and comes up with this partition: its dead letters, too."""
    return tuple(range(p, len(state.parts), state.cfg.entity.partitions))


def key_partition(state: State, key: str) -> int | None:
    """The partition of a key, or None while that is open."""
    for known, p in state.keys:
        if known == key:
            return p
    return None


def client(state: State, proc: str) -> Client:
    """The state kept for a client."""
    for known in state.clients:
        if known.proc == proc:
            return known
    return Client(proc)


def transaction(state: State, name: str | None) -> Txn | None:
    """The open transaction of that name, or None."""
    for txn in state.txns:
        if txn.name == name:
            return txn
    return None


def entries(state: State) -> Iterator[tuple[int, Entry]]:
    """Every stored message with its partition's position."""
    for p, part in enumerate(state.parts):
        for entry in part.log:
            yield p, entry


def once_visible(entry: Entry) -> int:
    """The status that a message has once it is visible."""
    return SCHEDULED if entry.due else FRESH


def label(entry: Entry) -> str:
    """As what a peek shows the message while no lock holds it: "" for one that is active."""
    return STATUSES[entry.rest or once_visible(entry)].label


def find_lock(state: State, token: str, only: int | None = None) -> tuple[int, int] | None:
    """Partition and index of the message that is locked for a client with this token, or None. ``only``: look
    in that partition alone."""
    for p in range(len(state.parts)) if only is None else (only,):
        for index, entry in enumerate(state.parts[p].log):
            lock = entry.lock
            if lock is not None and (lock.token == token or (lock.rivals and token in lock.rivals)):
                return p, index
    return None


def find_number(part: Part, number: int) -> int | None:
    """The index in the partition's log of the message with that number, or None."""
    for index, entry in enumerate(part.log):
        if entry.number == number:
            return index
    return None


def choices(state: State) -> list[int]:
    """The partitions worth trying for something new: of interchangeable ones only the first, and that before
    those in use, whose numbers it may disturb."""
    every = range_of(state)
    if not state.cfg.symmetric:
        return list(every)
    used = state.used
    fresh = next((p for p in every if not used >> p & 1), None)
    return [*(() if fresh is None else (fresh,)), *(p for p in every if used >> p & 1)]
