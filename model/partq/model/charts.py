"""State charts, drawn from an exploration of a small scope: the states of one message, or of one partition's
owner. Nothing here says what is allowed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import networkx as nx

from partq.model.errors import UserError

from . import explore
from .actions import Action
from .delivery.norm import DELETE
from .offers import Drawn
from .profiles import PROFILES, profile
from .scope import OFFERS, Node, Scope
from .state import Entry
from .statuses import LOCKED, STATUSES

_USUAL: Final = {
    "delivery": Drawn("azure-premium", ("receive", "delete", "prefetch")),
    "faults": Drawn("azure-flat", ("receive", "broker faults", "lost front ends")),
    "locks": Drawn("azure-flat", ("receive", "expire", "prefetch")),
    "rebalancing": Drawn("solace", ()),
    "settling": Drawn("azure-flat", ("receive", "complete", "abandon", "stale", "expire")),
    "transactions": Drawn("azure-flat", ("receive", "complete", "abandon", "transactions")),
}
PARTS: Final = dict(sorted({**_USUAL, **{name: offer.drawn for name, offer in OFFERS.items()}}.items()))
"""The mechanisms of which there is a chart. That of a profile has what all of them do under it: one scope
with everything would be too large."""

NOT_SENT: Final = "not sent"
WAITING: Final = "waiting for a commit"
GONE: Final = "gone"
NOBODY: Final = "nobody's"


class NoChart(UserError, LookupError):
    """There is no such chart. The text lists those that exist."""


def subjects() -> tuple[str, ...]:
    """The subjects of charts: mechanisms and modelled profiles."""
    return (*PARTS, *(name for name, family in PROFILES.items() if family.modelled))


def chart(subject: str) -> nx.DiGraph[str]:
    """The chart of a mechanism, or of a message's life under a profile: edges bear what leads from one state
    to another (``label``, a line each). Raises `NoChart`."""
    if subject not in subjects():
        raise NoChart(f"no chart of {subject!r}; there are charts of {', '.join(subjects())}")
    known = PARTS.get(subject)
    parts = (known,) if known else tuple(Drawn(subject, part.operations) for part in PARTS.values())
    told = _owners if subject == "rebalancing" else _life
    changes: dict[tuple[str, str], dict[str, None]] = {}
    for action, before, after in (step for part in parts for step in _steps(part)):
        for was, now in zip(told(before), told(after), strict=True):
            if was != now:
                changes.setdefault((was, now), {})[_said(action)] = None
    found: nx.DiGraph[str] = nx.DiGraph(name=subject)
    for (was, now), words in sorted(changes.items()):
        found.add_edge(was, now, label="\n".join(sorted(words)))
    return found


def _steps(part: Drawn) -> Iterator[tuple[Action, Node, Node]]:
    """Every step of a scope with one message, in as few partitions as an entity of the profile may have, with
    flows in two: one to pass on."""
    family = profile(part.profile)
    without = set() if family.transactions else {"transactions"}
    fewest = (2,) if family.flows else (1, 2, *family.partitions)
    count = next(n for n in fewest if not family.partitions or n in family.partitions)
    clients = 2 if family.flows and not part.operations else 1
    operations = tuple(name for name in part.operations if name not in without)
    graph = explore.reach(
        Scope(part.profile, count, ("a",), clients, operations=operations, freedoms=("lag",))
    )
    for edges in graph.edges:
        for edge in edges:
            yield edge.action, graph.nodes[edge.source], graph.nodes[edge.target]


def _said(action: Action) -> str:
    """A transition in the words of a history."""
    mode = " and delete" if action.mode == DELETE else ""
    return f"{action.op}{mode}{' in a transaction' if action.txn and action.op not in _ENDS else ''}"


_ENDS: Final = ("begin", "commit", "rollback")


def _life(node: Node) -> list[str]:
    """The state of the scope's one message."""
    entries = [entry for part in node.state.parts for entry in part.log]
    if entries:
        return [_status(entries[0])]
    return [WAITING if any(txn.sends for txn in node.state.txns) else GONE if node.sent else NOT_SENT]


def _status(entry: Entry) -> str:
    settled = entry.status == LOCKED and entry.lock is not None and entry.lock.txn is not None
    return f"{STATUSES[entry.status].name}{', settled in a transaction' if settled else ''}"


def _owners(node: Node) -> list[str]:
    """The flow of each partition, as reported to it."""
    owners = () if node.state.flows is None else node.state.flows.owner
    return [NOBODY if owner is None else owner[1] for owner in owners]


def dot(found: nx.DiGraph[str]) -> str:
    """The chart in Graphviz' DOT language."""
    numbers = {state: n for n, state in enumerate(found)}
    arrows = ((numbers[was], numbers[now], said["label"]) for was, now, said in found.edges(data=True))
    return explore.dot("chart", "shape=box, style=rounded", found, arrows)


def graphml(found: nx.DiGraph[str]) -> str:
    """The chart as GraphML, for networkx, Gephi, yEd."""
    return "\n".join([*nx.generate_graphml(found), ""])
