"""The pairs of specification and model that are compared: one scope each, said on both sides.

A scope has few messages, partitions and clients, and no clock: locks, delays and handoffs end at any moment.
What clients may ask for is the scope's, and the same on both sides; what is left out says `Pair.left_out`.
Both halves of the model are compared: the graph of `steps`, and what `explain` says of the graph's paths.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, NamedTuple

from partq.model.scope import Scope
from partq.spec import MODULES
from partq.spec.tools.labels import Instance
from partq.spec.tools.values import Function

from . import model_side, spec_side, views
from .equivalence import Difference, Grade, bisimilar, minimal, same_graphs, same_traces
from .explaining import Explained, explained
from .graphs import SILENT, Graph, relabelled
from .spec_side import SpecScope

SIDES: Final = ("TLA+", "model")

NOT_COMPARED: Final[Mapping[str, tuple[str, ...]]] = {
    "how long locks, delays and handoffs last (there is no clock)": (),
    "which error a refusal has": (),
    "numbers, where graphs are not equal, and their roll-over": ("gaps",),
    "answers of several messages, batches, requests that settle two locks": ("batches", "pairs"),
    "messages with two keys": (),
    "locks by which another client settles": ("shared locks",),
    "an unbind of a flow that is gone answered ok": ("gone",),
    "the end of a drain": ("drain",),
    "transactions with deletes; kills with transactions, front ends that fetch early, or flows": (),
    "scheduled messages": ("schedule", "cancellation", "past", "reroute"),
    "the maximum delivery count, and the dead-letter queue": ("dead letter", "buries"),
    "deferred messages": ("defer",),
    "messages with a time to live": (),
    "messages of one ID": (),
}
"""Features that no pair compares, and the words of `Catalogue.tla` that no scope has for that reason."""


@dataclass(frozen=True)
class Pair:
    """Two scopes that have to agree.

    ``grade``: how strongly; ``why``: why not more strongly (empty for equal graphs). ``silent``: labels, as
    patterns, that nobody sees. ``dropped``: labels that are left out, for one side's alphabet has not got
    them; ``left_out`` says so in words. ``smallest``: the differences of the scope whose paths `explain` is
    asked about, unless about the whole.
    """

    name: str
    question: str
    spec: SpecScope
    model: Scope
    grade: Grade
    why: str = ""
    silent: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    left_out: str = ""
    smallest: Mapping[str, Any] = field(default_factory=dict)


class Compared(NamedTuple):
    """What came of a pair. ``sizes``: states and edges of each side; ``smallest``: with bisimilar states
    merged. ``explained``: what `explain` says of paths, at the pair's smallest scope or at the whole."""

    pair: Pair
    sizes: tuple[tuple[int, int], tuple[int, int]]
    smallest: tuple[tuple[int, int], tuple[int, int]]
    difference: Difference | None
    explained: Explained


def compare(pair: Pair, modules: Path = MODULES, whole: bool = False) -> Compared:
    """Explore both sides and compare them. ``modules``: the folder of the specification. ``whole``: ask
    `explain` about the scope of the graphs, too, not about its smallest form.

    Raises `NotExplored`, `ToolMissing`, `OverflowError`.
    """
    label = _label_of(pair)
    spec = relabelled(spec_side.graph_of(pair.spec, _asked, modules), label)
    busy = "busy" in pair.spec.freedoms
    model = relabelled(model_side.graph_of(pair.model, pair.spec.max_tries, busy), label)
    smallest = minimal(spec).size, minimal(model).size
    paths = explained(replace(pair.spec, **({} if whole else pair.smallest)), pair.model.profile, modules)
    return Compared(pair, (spec.size, model.size), smallest, _difference(pair, spec, model), paths)


def _difference(pair: Pair, spec: Graph, model: Graph) -> Difference | None:
    if pair.grade is Grade.GRAPHS:
        forms = views.of_spec, views.of_model(len(pair.spec.keys))
        return same_graphs(spec, model, forms, SIDES)
    return (bisimilar if pair.grade is Grade.BISIMILAR else same_traces)(spec, model, SIDES)


def _label_of(pair: Pair) -> Callable[[str, Any], str | None]:
    """A label of either side as the comparison uses it."""

    def label(text: str, state: Any) -> str | None:
        if any(re.fullmatch(pattern, text) for pattern in pair.dropped):
            return None
        return SILENT if any(re.fullmatch(pattern, text) for pattern in pair.silent) else text

    return label


def _asked(one: Instance, state: Function) -> str | None:
    """None for what the model's scopes do not ask for: settling what is not stored."""
    if one.name in _ABOUT_STORED:
        known = state["msg"][one.arguments[1] - 1]
        return one.name if known["at"] in ("ready", "cached", "locked") else None
    return one.name


_ABOUT_STORED: Final = (
    "CompleteRejected",
    "AbandonRejected",
    "TxnCompleteRejected",
    "CompleteFails",
    "AbandonFails",
)
_AZURE: Final = ("partitioned", "numbers", "expiry")
_SOLACE: Final = ("partitioned", "flows")
_ENDLESS: Final = 9
"""More than any delivery count: what bounds it is `SpecScope.max_tries`, on both sides."""


def _model(*messages: str, **more: Any) -> Scope:
    return Scope(messages=messages, max_tries=_ENDLESS, **more)


_HOLD: Final = ("receive", "complete", "abandon", "expire")

PAIRS: Final[Mapping[str, Pair]] = {
    pair.name: pair
    for pair in (
        Pair(
            "delivery",
            "Two clients receive, settle and delete three messages of two keys.",
            SpecScope(_AZURE, ("a", "b", "a"), ("abandon", "delete")),
            _model("a", "b", "a", operations=(*_HOLD, "delete")),
            Grade.GRAPHS,
            smallest={"keys": ("a", "a"), "clients": 1},
        ),
        Pair(
            "stale",
            "Two messages of one key are settled by locks that hold, have ended, or were never given.",
            SpecScope(_AZURE, ("a", "a"), ("abandon", "stale"), clients=1),
            _model("a", "a", clients=1, operations=(*_HOLD, "stale")),
            Grade.BISIMILAR,
            "the model remembers that a message was never locked",
        ),
        Pair(
            "flat",
            "Two clients receive, settle, delete and peek on an entity without partitions.",
            SpecScope(("numbers", "expiry"), ("-", "-"), ("abandon", "delete", "peek"), partitions=1),
            _model("-", "-", profile="azure-flat", partitions=1, operations=(*_HOLD, "delete", "peek")),
            Grade.GRAPHS,
            smallest={"clients": 1},
        ),
        Pair(
            "peek",
            "Two clients peek while others receive, settle and delete.",
            SpecScope(_AZURE, ("a", "b"), ("delete", "peek")),
            _model("a", "b", operations=("receive", "complete", "expire", "delete", "peek")),
            Grade.GRAPHS,
            smallest={"clients": 1},
        ),
        Pair(
            "routing",
            "Keyed and keyless messages are sent and deleted while partitions go down and come up.",
            SpecScope(_AZURE, ("a", "-", "a"), ("delete", "outage"), clients=1, max_tries=1),
            _model("a", "-", "a", clients=1, operations=("delete", "partition faults")),
            Grade.BISIMILAR,
            "the model remembers which partitions were used",
            dropped=(r"receive \w+ -> m.", "complete .*", "expire .*"),
            left_out="locks",
            smallest={"keys": ("a", "-"), "max_tries": 0},
        ),
        Pair(
            "outage",
            "Locks of two messages while partitions go down and come up.",
            SpecScope(_AZURE, ("a", "-"), ("outage", "stale"), clients=1, max_tries=1),
            _model(
                "a", "-", clients=1, operations=("receive", "complete", "expire", "stale", "partition faults")
            ),
            Grade.TRACES,
            "what a fault did to a lock the model decides by a move of its own, the specification "
            "when it shows",
            silent=("expire .*",),
            smallest={"keys": ("a",)},
        ),
        Pair(
            "transactions",
            "A transaction of two keys sends and settles, commits or is rolled back.",
            SpecScope(_AZURE, ("a", "b"), ("transaction", "stale"), clients=1, max_tries=1),
            _model(
                "a", "b", clients=1, operations=("receive", "complete", "expire", "stale", "transactions")
            ),
            Grade.TRACES,
            "that a lock ended, or a transaction was rolled back, the model decides by a move of its own",
            silent=("expire .*",),
            smallest={"keys": ("a",)},
        ),
        Pair(
            "transactions in an outage",
            "A transaction sends and settles while its partition goes down and comes up.",
            SpecScope(
                _AZURE, ("a",), ("transaction", "stale", "outage"), partitions=1, clients=1, max_tries=1
            ),
            _model(
                "a",
                partitions=1,
                clients=1,
                operations=("receive", "complete", "expire", "stale", "transactions", "partition faults"),
            ),
            Grade.TRACES,
            "that a lock ended, or a transaction was rolled back, the model decides by a move of its own",
            silent=("expire .*",),
        ),
        Pair(
            "after a rollback",
            "Two messages of one key, each sent in the transaction or not, are peeked at with their numbers.",
            SpecScope(_AZURE, ("a", "a"), ("transaction", "peek"), partitions=1, clients=1, max_tries=0),
            _model("a", "a", partitions=1, clients=1, operations=("peek", "transactions")),
            Grade.BISIMILAR,
            "the common form says nothing of a transaction",
            dropped=("receive .*",),
            left_out="locks",
        ),
        Pair(
            "keyless in a transaction",
            "A message without a key is refused in a transaction, or let pass until the commit.",
            SpecScope(_AZURE, ("-",), ("transaction", "stale"), clients=1, max_tries=1),
            _model("-", clients=1, operations=("receive", "complete", "expire", "stale", "transactions")),
            Grade.TRACES,
            "the model keeps nothing of what was let pass",
            silent=("expire .*",),
            smallest={"partitions": 1},
        ),
        Pair(
            "lag",
            "What a commit stores is numbered early and shows late, to one who peeks.",
            SpecScope(
                _AZURE,
                ("a",),
                ("transaction", "peek"),
                ("lag", "early"),
                partitions=1,
                clients=1,
                max_tries=0,
            ),
            _model(
                "a",
                partitions=1,
                clients=1,
                operations=("peek", "transactions"),
                freedoms=("lag", "early"),
            ),
            Grade.TRACES,
            "a refused send in a transaction that may be over the model has roll it back later, too",
            silent=("appear.*", "number.*"),
            dropped=("receive .*",),
            left_out="locks",
        ),
        Pair(
            "caches",
            "A front end fetches two messages of one key early.",
            SpecScope((*_AZURE, "caches"), ("a", "a"), partitions=1, clients=1),
            _model(
                "a", "a", partitions=1, clients=1, operations=("receive", "complete", "expire", "prefetch")
            ),
            Grade.TRACES,
            "in the model front ends fetch again what came back only when it shows",
            silent=("prefetch .*", "expire .*"),
        ),
        Pair(
            "kill",
            "Locks of a message while the broker is killed and started.",
            SpecScope(_AZURE, ("a",), ("kill", "stale"), clients=1, max_tries=1),
            _model("a", clients=1, operations=("receive", "complete", "expire", "stale", "broker faults")),
            Grade.TRACES,
            "what a fault did to a lock the model decides by a move of its own, the specification "
            "when it shows",
            silent=("expire .*",),
        ),
        Pair(
            "peek in an outage",
            "A client peeks at two messages while partitions go down and come up.",
            SpecScope(_AZURE, ("a", "b"), ("peek", "outage"), clients=1, max_tries=0),
            _model("a", "b", clients=1, operations=("peek", "partition faults")),
            Grade.BISIMILAR,
            "the model remembers which partitions were used",
            dropped=("receive .*",),
            left_out="locks",
            smallest={"keys": ("a",)},
        ),
        Pair(
            "lost on the way",
            "A client peeks while front ends are lost and the broker is killed; any request may be refused.",
            SpecScope(
                _AZURE,
                ("a",),
                ("peek", "frontend", "kill"),
                ("busy",),
                partitions=1,
                clients=1,
                max_tries=0,
            ),
            _model("a", partitions=1, clients=1, operations=("peek", "lost front ends", "broker faults")),
            Grade.TRACES,
            "what a fault did to a cursor the model decides by a move of its own",
            dropped=("receive .*", "frontend_lost p"),
            left_out="locks, and the producer's front end",
        ),
        Pair(
            "two flows",
            "Two flows come and go, with messages of two keys in two partitions.",
            SpecScope(_SOLACE, ("a", "b"), freedoms=("cancel",)),
            _model("a", "b", profile="solace", operations=("receive", "complete")),
            Grade.BISIMILAR,
            "the model keeps the order in which flows were bound, and the numbers of what is gone",
            smallest={"keys": ("a",)},
        ),
        Pair(
            "three flows",
            "Three flows for two partitions come and go: standbys, takeovers, handoffs to no flow.",
            SpecScope(_SOLACE, ("a",), clients=3, freedoms=("cancel",)),
            _model(profile="solace", clients=3, operations=()),
            Grade.BISIMILAR,
            "the model keeps the order in which flows were bound",
            dropped=("receive .*", "complete .*", "send .*"),
            left_out="messages",
            smallest={"partitions": 1},
        ),
    )
}
"""Every pair by name."""
