"""Pairs of scopes explored on both sides and compared, and what no pair compares."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple

from partq.spec import MODULES
from partq.spec.tools.labels import STEPS, Instance, actions
from partq.spec.tools.values import Function

from . import model_side, spec_side, views
from .equivalence import Difference, Grade, bisimilar, minimal, same_graphs, same_traces
from .explaining import Explained, explained
from .graphs import SILENT, Graph, relabelled
from .pairs import NOT_COMPARED, Pair

SIDES: Final = ("TLA+", "model")


class Compared(NamedTuple):
    """What came of a pair. ``sizes``: states and edges of each side; ``smallest``: with bisimilar states
    merged. ``explained``: what `explain` says of paths, at the pair's smallest scope or at the whole.
    ``actions``: what the specification does in it."""

    pair: Pair
    sizes: tuple[tuple[int, int], tuple[int, int]]
    smallest: tuple[tuple[int, int], tuple[int, int]]
    difference: Difference | None
    explained: Explained
    actions: frozenset[str] = frozenset()


def overlooked(done: Iterable[Compared], modules: Path = MODULES) -> list[str]:
    """The actions that occur in none of these pairs though `NOT_COMPARED` does not say so, or in one of them
    though it does."""
    occurring = {name for one in done for name in one.actions}
    every = {action.name for steps in STEPS for action in actions(modules, steps)}
    named = {word for words in NOT_COMPARED.values() for word in words if word in every}
    return sorted((every - occurring - named) | (occurring & named))


def compare(pair: Pair, modules: Path = MODULES, whole: bool = False) -> Compared:
    """Explore both sides and compare them. ``modules``: the folder of the specification. ``whole``: ask
    `explain` about the scope of the graphs, too, not about its smallest form.

    Raises `NotExplored`, `ToolMissing`, `OverflowError`.
    """
    label = _label_of(pair)
    graph, every = spec_side.unlabelled(pair.spec, modules)

    def had(operator: str, state: Function) -> str | None:
        one = every[operator]
        return operator if _is_asked(one, state) and told(operator, state) is not None else None

    def told(operator: str, state: Function) -> str | None:
        return label(spec_side.label_of(every[operator], state), state)

    kept = relabelled(graph, had)
    spec = relabelled(kept, told)
    model = relabelled(model_side.graph_of(pair.model, pair.spec), label)
    smallest = minimal(spec).size, minimal(model).size
    paths = explained(replace(pair.spec, **({} if whole else pair.smallest)), pair.model.profile, modules)
    found = {every[operator].name for out in kept.edges for operator, _ in out} | paths.actions
    difference = _difference(pair, spec, model)
    return Compared(pair, (spec.size, model.size), smallest, difference, paths, frozenset(found))


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


def _is_asked(one: Instance, state: Function) -> bool:
    """Whether the model's scopes ask for it, too: not for settling what is not stored."""
    if one.name in _ABOUT_STORED:
        return state["msg"][one.arguments[1] - 1]["at"] in ("ready", "cached", "locked", "deferred")
    return True


_ABOUT_STORED: Final = (
    "CompleteRejected",
    "AbandonRejected",
    "TxnCompleteRejected",
    "CompleteFails",
    "AbandonFails",
    "DeferRejected",
)
