"""The module generated for a session: the specification as Apalache's explorer reads it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from partq.spec import MODULES
from partq.spec.tools.labels import Action, actions, text_of
from partq.spec.tools.roots import constants
from partq.spec.validation import Sent

ROOT: Final = "Explored"
INIT: Final = "ExploredInit"
NEXT: Final = "ExploredNext"
"""The generated module, and its operators that the server is told."""

_MODULUS: Final = 64
"""How far a partition's numbers count before they begin again: further than a session sends."""

_FREEDOMS: Final = frozenset({"gaps", "busy", "lag", "early"})
"""Every freedom of the catalogue that a broker without flows may make use of."""


class Setting(NamedTuple):
    """The constants of an exploration. ``words``: of the family and ``offered``: of the alphabet, as in
    `Catalogue.tla`. ``messages``: what is sent, in this order. ``maximum``: deliveries before a message is
    dead-lettered. ``first``: the first number of each partition, if known; ``bits``: of such a number.
    ``peeked``: how many messages a peek may show."""

    words: frozenset[str]
    offered: frozenset[str]
    messages: tuple[Sent, ...]
    clients: tuple[str, ...]
    partitions: int = 2
    maximum: int = 10
    first: int | None = None
    bits: int = 48
    peeked: int = 1


OWN: Final[Mapping[str, str]] = {
    "Expire": "expiry",
    "Prefetch": "caches",
    "NumberEarly": "transaction",
    "Appear": "transaction",
}
"""The broker's own moves, which nobody sees, and the word of family or alphabet that each needs."""

LAST_CHANCE: Final[Mapping[str, tuple[str, ...]]] = {
    "PartitionDown": ("Expire", "Prefetch"),
    "Send": ("NumberEarly",),
    "Rollback": ("NumberEarly",),
    "RollbackFails": ("NumberEarly",),
    "CommitFails": ("NumberEarly",),
}
"""Own moves of the broker that can't be made up for after an action: it may have made them before, though the
action is explained without them. All others can wait until an answer shows them."""

NEEDS: Final[Mapping[str, str]] = {
    "Send": "",
    "SendFails": "",
    "SendInvalid": "",
    "Receive": "",
    "ReceiveNothing": "",
    "ReceiveFails": "",
    "ReceiveAndDelete": "delete",
    "Complete": "",
    "CompleteRejected": "",
    "CompleteFails": "",
    "Abandon": "abandon",
    "AbandonRejected": "abandon",
    "AbandonFails": "abandon",
    "Peek": "peek",
    "PeekNothing": "peek",
    "PeekFails": "peek",
    "Begin": "transaction",
    "TxnSend": "transaction",
    "TxnSendLetPass": "transaction",
    "TxnSendInvalid": "transaction",
    "TxnSendFails": "transaction",
    "TxnComplete": "transaction",
    "TxnCompleteInvalid": "transaction",
    "TxnCompleteRejected": "transaction",
    "TxnCompleteFails": "transaction",
    "Commit": "transaction",
    "CommitFails": "transaction",
    "CommitRejected": "transaction",
    "Rollback": "transaction",
    "RollbackFails": "transaction",
    "RollbackRejected": "transaction",
    "PartitionDown": "outage",
    "PartitionUp": "outage",
    **OWN,
}
"""The actions of `Next` that are explored, and the word of family or alphabet that each needs."""

_SEEN: Final[Mapping[str, tuple[str, str]]] = {
    "seenBy": ("Str", "{a}.by"),
    "seenMessages": ("Set(Int)", "{a}.ms"),
    "seenTurn": ("Int", 'IF {a}.op = "receive" /\\ {a}.m # 0 THEN msg{p}[{a}.m].turn ELSE {a}.turn'),
    "seenCounts": ("Int -> Int", "{a}.counts"),
    "seenPlaces": ("Int -> Int", "[ m \\in Messages |-> IF Shows({a}, m) THEN msg[m].part ELSE 0 ]"),
    "seenNumbers": ("Int -> Int", "[ m \\in Messages |-> IF Shows({a}, m) THEN msg[m].num ELSE 0 ]"),
}
"""What may be seen of a step, each in a variable of its own, as only some of it may be known: its type, and
its value (``a``: the answer, ``p``: the prime of what holds after the step)."""


_FORGETS: Final = """\\* @type: ($history, $answer) => Bool;
OVERRIDE_Record(h, a) == history' = history /\\ answer' = a"""
"""Only the last answer that clients saw is asked for."""


def root(setting: Setting, modules: Path = MODULES) -> str:
    """The module that the server loads: `PartitionedQueue` with its constants, a label for each action, and
    variables for what is seen. Raises `UnknownForm`."""
    every = [action for action in actions(modules) if _explored(action.name, setting)]
    lines = [f"---- MODULE {ROOT} ----", "EXTENDS PartitionedQueue", "VARIABLES"]
    lines += [",\n".join(f"    \\* @type: {type};\n    {name}" for name, (type, _) in _SEEN.items())]
    lines += [*constants(_constants(setting), modules), _FORGETS]
    lines += ["\\* @type: ($answer, Int) => Bool;"]
    lines += ['Shows(a, m) == a.op \\in {"receive", "delete", "peek"} /\\ m \\in a.ms']
    lines += [f"{INIT} == Init", *_conjuncts(prime="")]
    lines += ["Observed ==", *_conjuncts(prime="'")]
    lines += [f"{NEXT} ==", *(f"    \\/ {label(one.name)} :: ({_any(one)}) /\\ Observed" for one in every)]
    return "\n".join([*lines, "====", ""])


def label(action: str) -> str:
    """The server's name of an action's transitions."""
    return f"Do_{action}"


def _explored(action: str, setting: Setting) -> bool:
    return action in NEEDS and NEEDS[action] in setting.words | setting.offered | {""}


def _conjuncts(prime: str) -> Iterator[str]:
    for name, (_, value) in _SEEN.items():
        yield f"    /\\ {name}{prime} = ({value.format(a='answer' + prime, p=prime)})"


def _any(action: Action) -> str:
    """Any instance of an action."""
    names = [f"x{n}" for n, _ in enumerate(action.sets)]
    if not names:
        return action.name
    bound = ", ".join(f"{name} \\in {of}" for name, of in zip(names, action.sets, strict=True))
    return f"\\E {bound} : {action.name}({', '.join(names)})"


def _constants(setting: Setting) -> dict[str, str]:
    keys = _key_names(setting)
    choices = " [] ".join(f'm = {m} -> "{key}"' for m, key in enumerate(keys, 1))
    conflicting = {m for m, sent in enumerate(setting.messages, 1) if sent.conflicting}
    return {
        "MessageCount": str(len(setting.messages)),
        "PartitionCount": str(setting.partitions),
        "Clients": text_of({*clients_of(setting).values()}),
        "KeyOf": f"[ m \\in 1 .. {len(keys)} |-> CASE {choices} ]",
        "TwoKeys": text_of(conflicting),
        "MaxTries": str(setting.maximum + 2),
        "MaxDeliveryCount": str(setting.maximum),
        "PeekMax": str(setting.peeked),
        "Modulus": str(_MODULUS),
        "FirstNumber": "0",
        "Profile": text_of(setting.words),
        "Alphabet": text_of(setting.offered),
        "Freedoms": text_of(_FREEDOMS),
        "Observing": "TRUE",
    }


def _key_names(setting: Setting) -> list[str]:
    """Of each message its key by a name that TLA+ can hold; ``-`` for none."""
    names: dict[str | None, str] = {None: "-"}
    for sent in setting.messages:
        names.setdefault(sent.key, f"k{len(names)}")
    return [names[sent.key] for sent in setting.messages]


def clients_of(setting: Setting) -> dict[str, str]:
    """The clients, and their names in the specification."""
    return {client: f"c{n}" for n, client in enumerate(setting.clients, 1)}


_EXTENDS: Final = re.compile(r"^EXTENDS (.*)$", re.M)


def sources(setting: Setting, modules: Path = MODULES) -> list[str]:
    """The texts of all modules that the server needs, the root first: it reads no files of ours. Raises
    `UnknownForm`."""
    texts = {ROOT: root(setting, modules)}
    waiting = [ROOT]
    while waiting:
        for name in _EXTENDS.findall(texts[waiting.pop()])[0].split(", "):
            file = modules / f"{name}.tla"
            if name not in texts and file.is_file():
                texts[name] = file.read_text(encoding="utf-8")
                waiting.append(name)
    return [*texts.values()]
