"""A broker beside the specification, one step at a time: what the broker answered is followed before the next
step is chosen.

Here one step is put after the other. What a broker does is `execution`'s, what the specification says of it
`partq.spec.exploration.session`'s business.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from partq.conformance.history import Header, History, Record
from partq.conformance.oracle.specified import operation_of, sent_of, words_of
from partq.conformance.workload.menu import Choice, Menu
from partq.conformance.workload.program import Step
from partq.model.messages import Message
from partq.model.profiles import profile
from partq.spec.exploration.module import Setting
from partq.spec.exploration.session import OWN_MOVES, Call, Exploration, Followed, Verdict
from partq.spec.validation import NotFollowed

Chooser = Callable[[Sequence[Choice]], Step | None]
"""The next step, of these or any other; None: no more."""

SECONDS: Final = 600.0
"""How long the search for an explanation of one operation may take, unless more time is given."""

_WORDS: Final[Mapping[str, str]] = {
    "abandon": "abandon",
    "peek": "peek",
    "begin": "transaction",
    "partition_down": "outage",
}
"""Operations that a broker may lack, and their words of `Catalogue.tla`."""

_CHOSEN: Final = frozenset(
    {"send", "receive", "complete", "abandon", "peek", "begin", "commit", "rollback"}
    | {"partition_down", "partition_up"}
)
"""What the specification can be asked about one step at a time."""


class Side(NamedTuple):
    """One step of both sides: what the broker did, and what the specification says of it."""

    record: Record
    followed: Followed


@dataclass(slots=True)
class Session:
    """The guide of a run (`execution.guide`). ``messages``: those that will be sent, in this order;
    ``clients``: the first is the producer. ``ready`` is given the exploration when it is loaded, ``told``
    each step when it was followed. ``seconds``: for the search for one explanation.

    ``verdict`` and ``reason`` say what came of it in the end.
    """

    call: Call
    choose: Chooser
    clients: Sequence[str]
    messages: Sequence[Message]
    own: int = OWN_MOVES
    seconds: float = SECONDS
    ready: Callable[[Exploration], None] = lambda exploration: None
    told: Callable[[Side], None] = lambda side: None
    verdict: Verdict = Verdict.EXPLAINED
    reason: str = ""
    _until: float = 0.0
    _begun: tuple[Exploration, Menu] | None = None
    _step: Step | None = None
    _seen: int = 0

    def __call__(self, history: History) -> Step | None:
        """The next step, when what happened since the last is explained. Raises `ExplorerFailed`."""
        exploration, menu = self._begun or self._begin(history.header)
        for record in history.records[self._seen :]:
            if record.op != "advance" and not self._follow(exploration, record, history.header):
                return None
            if self._step is not None:
                menu.learn(self._step, record)
        self._seen = len(history.records)
        self._step = self.choose(menu.choices())
        return self._step

    def _begin(self, header: Header) -> tuple[Exploration, Menu]:
        setting = setting_of(header, self.clients, self.messages)
        exploration = Exploration(self.call, setting, self.own, spent=lambda: time.monotonic() > self._until)
        self.ready(exploration)
        missing = {op for op, word in _WORDS.items() if word not in setting.offered}
        menu = Menu(tuple(self.clients), self.messages, setting.partitions, _CHOSEN - missing)
        self._begun = exploration, menu
        return self._begun

    def _follow(self, exploration: Exploration, record: Record, header: Header) -> bool:
        self._until = time.monotonic() + self.seconds
        sent = {message.id: message for message in self.messages}
        try:
            followed = exploration.follow(operation_of(record, header, sent))
        except NotFollowed as why:
            followed = Followed(Verdict.UNDECIDED, reason=f"not followed: {why}")
        self.verdict, self.reason = followed.verdict, followed.reason
        self.told(Side(record, followed))
        return followed.verdict is Verdict.EXPLAINED


def setting_of(header: Header, clients: Sequence[str], messages: Sequence[Message]) -> Setting:
    """The constants for a broker's queue as it was opened. Raises `NotFollowed`."""
    family = profile(header.profile)
    entity = next(iter(header.entities.values()))
    if family.flows:
        raise NotFollowed("flows are not explored yet")
    if not messages:
        raise NotFollowed("a session in which nothing is sent")
    without = {"begin": family.transactions, "peek": family.peek, "partition_down": family.partitioned}
    offered = {word for op, word in _WORDS.items() if op not in header.lacks and without.get(op, True)}
    return Setting(
        words=words_of(family),
        offered=frozenset({"stale", "delete", *offered}),
        messages=tuple(sent_of(message, family) for message in messages),
        clients=tuple(clients),
        partitions=entity.partitions if family.partitioned else 1,
        maximum=entity.max_delivery_count,
        first=entity.seq_start,
        bits=family.counter_bits,
    )
