"""The specification's graph of a scope, by TLC, with the labels by which it is compared with the model's.

`words_of` says of each action of `Next` what its instances are called; one that is not known is an error.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any, Final

from partq.spec import MODULES
from partq.spec.tools.configuration import NEXT
from partq.spec.tools.errors import SpecError
from partq.spec.tools.labels import Domains, Instance, actions, extended, instances, labelled, text_of
from partq.spec.tools.tlc import Answer, check
from partq.spec.tools.values import Function

from .graphs import Graph, read_dump, relabelled


class NotExplored(SpecError):
    """TLC could not explore the scope; the message says why."""


@dataclass(frozen=True)
class SpecScope:
    """The constants of the specification that a scope fixes. ``keys``: of each message, ``-`` for none.
    ``profile``, ``alphabet``, ``freedoms``: words of `Catalogue.tla`. ``steps``: `Next`, or a mechanism's;
    ``sets``: the operators of `Catalogue.tla` that say which messages it is about."""

    profile: tuple[str, ...]
    keys: tuple[str, ...]
    alphabet: tuple[str, ...] = ()
    freedoms: tuple[str, ...] = ()
    partitions: int = 2
    clients: int = 2
    peek_max: int = 1
    max_tries: int = 2
    max_delivery_count: int = 9
    steps: str = NEXT
    sets: Mapping[str, Any] = field(default_factory=dict)

    @property
    def domains(self) -> Domains:
        """The elements of each set that actions range over."""
        messages = range(1, len(self.keys) + 1)
        sizes = range(1, self.peek_max + 1)
        return {
            "Messages": messages,
            "Partitions": range(1, self.partitions + 1),
            "Clients": [f"c{n + 1}" for n in range(self.clients)],
            "Turns": (1, 2) if "stale" in self.alphabet else (1,),
            "PeekAnswers": [frozenset(some) for size in sizes for some in combinations(messages, size)],
            "Calls": [frozenset({m}) for m in messages],
            **{name: sorted(self.sets.get(name, ())) for name in ("Mortal", "Scheduled")},
        }

    def constants(self) -> Mapping[str, Any]:
        """Every constant of `Catalogue.tla`."""
        return {
            "MessageCount": len(self.keys),
            "PartitionCount": self.partitions,
            "Clients": frozenset(self.domains["Clients"]),
            "KeyOf": dict(enumerate(self.keys, 1)),
            "TwoKeys": frozenset(),
            "MaxTries": self.max_tries,
            "MaxDeliveryCount": self.max_delivery_count,
            "PeekMax": self.peek_max,
            "Modulus": 16,
            "FirstNumber": 0,
            "Profile": frozenset(self.profile),
            "Alphabet": frozenset(self.alphabet),
            "Freedoms": frozenset(self.freedoms),
            "Observing": False,
            **self.sets,
        }


def graph_of(scope: SpecScope, modules: Path = MODULES) -> Graph:
    """The graph of a scope. ``modules``: the folder of the specification.

    Raises `NotExplored`, `ToolMissing`.
    """
    graph, every = unlabelled(scope, modules)
    return relabelled(graph, lambda operator, state: label_of(every[operator], state))


def unlabelled(scope: SpecScope, modules: Path = MODULES) -> tuple[Graph, Mapping[str, Instance]]:
    """The graph of a scope whose labels are names of actions' instances, and these by name.

    Raises `NotExplored`, `ToolMissing`.
    """
    every = {one.operator: one for one in instances(actions(modules, scope.steps), scope.domains)}
    with tempfile.TemporaryDirectory(prefix="partq-graph-") as folder:
        module = Path(folder) / "Labelled.tla"
        spelt = labelled("Labelled", _definitions(scope), every.values(), scope.steps)
        module.write_text(spelt, encoding="utf-8")
        dump = Path(folder) / "graph.dot"
        plain = _explored(scope, module, modules, scope.steps)
        dumped = ("-dump", "dot,actionlabels", str(dump))
        answer = _explored(scope, module, modules, "LabelledNext", *dumped)
        if (answer.distinct, answer.generated) != (plain.distinct, plain.generated):
            raise NotExplored("the generated module does not spell out all of Next, or more than it")
        with open(dump, encoding="utf-8") as lines:
            return read_dump(lines, every), every


def counted(
    scope: SpecScope, workers: int = 1, machine: Sequence[str] = (), modules: Path = MODULES
) -> Answer:
    """TLC's search through a scope for its figures alone, with so many workers. ``machine``: options of Java.

    Raises `NotExplored`, `ToolMissing`.
    """
    with tempfile.TemporaryDirectory(prefix="partq-count-") as folder:
        module = Path(folder) / "Counted.tla"
        module.write_text(extended("Counted", _definitions(scope), scope.steps), encoding="utf-8")
        return _explored(scope, module, modules, scope.steps, workers=workers, machine=machine)


def _definitions(scope: SpecScope) -> str:
    return "\n".join(f"The{name} == {text_of(value)}" for name, value in scope.constants().items())


def _explored(
    scope: SpecScope,
    module: Path,
    modules: Path,
    next: str,
    *options: str,
    workers: int = 1,
    machine: Sequence[str] = (),
) -> Answer:
    configuration = module.with_suffix(".cfg")
    constants = "\n".join(f"  {name} <- The{name}" for name in scope.constants())
    configuration.write_text(f"INIT Init\nNEXT {next}\nCHECK_DEADLOCK FALSE\nCONSTANTS\n{constants}\n")
    answer = check(module, configuration, workers=workers, options=options, library=modules, machine=machine)
    if not answer.holds:
        raise NotExplored(answer.error or f"{answer.violated} is violated")
    return answer


def label_of(one: Instance, state: Function) -> str:
    """The label of an action's instance in a state."""
    words = []
    for word in words_of(one.name).split(" "):
        found = _PLACES.get(word)
        words.append(word if found is None else found(one.arguments, state))
    return " ".join(word for word in words if word)


def words_of(action: str) -> str:
    """What an action's instances are called, with places for what they are about."""
    if action in LABELS:
        return LABELS[action]
    return f"{LABELS[_REFUSAL.sub('', action)].partition(' -> ')[0]} -> error"


_REFUSAL: Final = re.compile("(Fails|Rejected|Invalid)$")


def _message(number: int) -> str:
    return f"m{number}"


def _lock(arguments: tuple[Any, ...], state: Function) -> str:
    """A lock: its message and its turn. Where no former lock is ever named, all have the first turn."""
    return f"{_message(arguments[-2])}/{arguments[-1]}"


_PLACES: Final[Mapping[str, Callable[[tuple[Any, ...], Function], str]]] = {
    "{c}": lambda arguments, state: arguments[0],
    "{m}": lambda arguments, state: _message(arguments[-1]),
    "{both}": lambda arguments, state: " ".join(map(_message, arguments[1:])),
    "{ms}": lambda arguments, state: " ".join(map(_message, sorted(arguments[-1]))),
    "{named}": lambda arguments, state: " ".join(map(_message, sorted(arguments[-2]))),
    "{lock}": _lock,
    "{p}": lambda arguments, state: f"partition {arguments[-1]}",
}
"""What stands for the places in a label: client, message, messages, lock, partition."""

LABELS: Final[Mapping[str, str]] = {
    "Send": "send {m} -> ok",
    "SendBatch": "send_batch {m} and the next -> ok",
    "Receive": "receive {c} -> {m}",
    "ReceiveAndDelete": "receive {c} and delete -> {m}",
    "ReceiveNothing": "receive {c} -> nothing",
    "Complete": "complete {c} {lock} -> ok",
    "Abandon": "abandon {c} {lock} -> ok",
    "CompleteBoth": "complete {c} {both} -> ok",
    "Expire": "expire {m}",
    "Prefetch": "prefetch {m}",
    "Peek": "peek {c} -> {ms}",
    "PeekNothing": "peek {c} -> nothing",
    "Begin": "begin -> ok",
    "TxnSend": "send {m} in the transaction -> ok",
    "TxnSendLetPass": "send {m} in the transaction -> ok",
    "TxnComplete": "complete {c} {lock} in the transaction -> ok",
    "NumberEarly": "number {m}",
    "Commit": "commit -> ok",
    "Rollback": "rollback -> ok",
    "Appear": "appear",
    "PartitionDown": "partition_down {p}",
    "PartitionUp": "partition_up {p}",
    "BrokerKill": "broker_kill",
    "BrokerStart": "broker_start",
    "FrontendLost": "frontend_lost {c}",
    "Drained": "drained",
    "Bind": "bind {c} -> ok",
    "Unbind": "unbind {c} -> ok",
    "UnbindNothing": "unbind {c} -> ok",
    "Takeover": "unbind {c} -> ok",
    "Rebalance": "rebalance",
    "Handoff": "handoff {p}",
    "HandoffTimeout": "handoff {p} -> time over",
    "DeadLetter": "dead_letter {c} {lock} -> ok",
    "ReceiveDead": "receive {c} from the dead letters -> {m}",
    "ReceiveDeadNothing": "receive {c} from the dead letters -> nothing",
    "CompleteDead": "complete {c} {m} of the dead letters -> ok",
    "AbandonDead": "abandon {c} {m} of the dead letters -> ok",
    "ExpireDead": "expire {m} of the dead letters",
    "PeekDead": "peek {c} at the dead letters -> {ms}",
    "PeekDeadNothing": "peek {c} at the dead letters -> nothing",
    "DeadDrained": "drained of dead letters",
    "Defer": "defer {c} {lock} -> ok",
    "TxnDefer": "defer {c} {lock} in the transaction -> ok",
    "ReceiveDeferred": "receive_deferred {c} {named} -> {ms}",
    "ReceiveDeferredNothing": "receive_deferred {c} {ms} -> nothing",
    "ReceiveDeferredInvalid": "receive_deferred {c} {ms} -> error",
    "ReceiveDeferredRejected": "receive_deferred {c} {ms} -> error",
    "ReceiveDeferredFails": "receive_deferred {c} {ms} -> error",
    "LifeEnds": "life ends {m}",
    "Vanish": "vanish {m}",
    "SendDuplicate": "send {m} -> ok",
}
"""The labels of each action's instances, but of refusals that are called as what they refuse."""
