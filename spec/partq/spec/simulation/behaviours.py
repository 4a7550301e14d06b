"""Behaviours of the specification as traces: random walks, and counterexamples of goals.

A trace shows what clients and the environment see (`answer`), where each message and its lock were (`msg`),
which partitions were up (`up`), and what has to be known of the constants (`params`). A goal is a check that
ends with a counterexample: of the claim that a state is never reached, or of a property, by a wrong variant.
Making a test program of a trace is the conformance suite's business.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from partq.spec import MODULES
from partq.spec.checking.manifest import Check, Expected
from partq.spec.tools.apalache import Outcome, run
from partq.spec.tools.configuration import NEXT, Configuration, InvalidConfiguration, text
from partq.spec.tools.roots import ROOT, bare, root
from partq.spec.tools.tlc import NoTrace, check, walks
from partq.spec.tools.toolbox import Tool
from partq.spec.tools.values import Function

from .itf import SUFFIX, InvalidTrace, Trace, read_file

TRACED: Final = MODULES / "Traced.tla"
"""The module whose behaviours tell their constants, in the variable `SCOPE`."""

SCOPE: Final = "scope"

SHOWN: Final = ("answer", "msg", "up")
"""The variables that a trace keeps."""

UNTOLD: Final[Mapping[str, frozenset[str]]] = {
    "answer": frozenset({"beat", "waiting", "deferred", "named", "reasons"}),
    "msg": frozenset({"aside", "fading", "over", "reason"}),
}
"""The fields that traces leave out of an answer, and of each message: what tells a step from a stutter, and
what programs made of traces do not do (schedule, defer, dead-letter, bear a time to live) or cannot ask for
(that a peek still shows what a commit removed)."""

LARGER: Final[Mapping[str, str]] = {
    "MessageCount": "6",
    "PartitionCount": "4",
    "Clients": '{"c1", "c2", "c3"}',
}
"""The larger scope of every configuration (one that is not partitioned keeps its one partition): too large
to be searched whole; messages need fewer numbers than half of the smallest `Modulus`."""

LIMIT: Final = 3600.0
"""Seconds that one run of a tool may take."""


class Order(NamedTuple):
    """What is to be made of one check of the manifest: a counterexample if it `is_goal`, else so many random
    walks of so many steps at the most, ``larger`` of them in the scope `LARGER`. Equal orders give equal
    traces by one version of TLC; Apalache takes no seed for its random walks."""

    check: Check
    number: int = 1
    length: int = 20
    seed: int = 1
    tool: Tool = Tool.TLC
    larger: bool = False

    @property
    def names(self) -> list[str]:
        """The names of its traces."""
        name = self.check.name if self.tool is Tool.TLC else f"{self.check.name}-{self.tool}"
        number = 1 if is_goal(self.check) else self.number
        return [f"{name}-{n:04}" for n in range(1, number + 1)]

    @property
    def origins(self) -> list[Mapping[str, Any]]:
        """What each trace tells of its making (its ``meta``)."""
        by = {"format": "ITF", "source": f"{self.check.name}.cfg", "tool": str(self.tool)}
        if is_goal(self.check):
            return [{**by, str(self.check.expected): self.check.breaks}]
        options = {"length": self.length} | ({"seed": self.seed} if self.tool is Tool.TLC else {})
        options |= {"larger": True} if self.larger else {}
        return [{**by, **options, "walk": n} for n, _ in enumerate(self.names, 1)]

    @property
    def configuration(self) -> Configuration:
        """That of the check; of walks in the larger scope, if it is asked for."""
        found = self.check.configuration
        if not self.larger or is_goal(self.check):
            return found
        partitioned = '"partitioned"' in found.values["Profile"]
        more = {key: LARGER[key] for key in LARGER if partitioned or key != "PartitionCount"}
        return found._replace(values=found.values | more)


def is_traced(one: Check) -> bool:
    """Whether its behaviours can be traces: `TRACED` knows the steps of `NEXT` alone. By a second property of
    one wrong variant they are those of the first."""
    return one.configuration.steps == NEXT and "-" not in one.name


def is_goal(one: Check) -> bool:
    """Whether the check ends with a counterexample."""
    return one.expected is not Expected.HOLDS


def traces(order: Order) -> list[Trace]:
    """The traces of an order, as many as it has names. Raises `NoTrace`, `ToolMissing`."""
    make = _MAKERS[order.tool, is_goal(order.check)]
    with tempfile.TemporaryDirectory(prefix="partq-traces-") as folder:
        try:
            found = make(order, Path(folder))
        except (NoTrace, InvalidTrace, InvalidConfiguration) as why:
            raise NoTrace(f"{order.check.name}: {why}") from None
    return [_trace(states, meta) for states, meta in zip(found, order.origins, strict=True)]


def _trace(states: Iterable[Function], meta: Mapping[str, Any]) -> Trace:
    every = [*states]
    return Trace(tuple(map(_shown, every)), every[0][SCOPE], meta)


def _shown(state: Function) -> Function:
    return Function((name, _told(state[name], UNTOLD.get(name, frozenset()))) for name in SHOWN)


def _told(value: Any, untold: frozenset[str]) -> Any:
    """A value, without these fields of a record, or of each record in it."""
    if isinstance(value, tuple):
        return tuple(_told(one, untold) for one in value)
    if not isinstance(value, Function):
        return value
    return Function((name, _told(one, untold)) for name, one in value.items() if name not in untold)


Behaviours = list[list[Function]]


def _goal_by_tlc(order: Order, folder: Path) -> Behaviours:
    found = check(*_configured(order, folder, "TracedNext"), timeout=LIMIT)
    if found.violated != order.check.breaks:
        raise NoTrace(found.error or f"{order.check.breaks} was not violated")
    return [[step.state for step in found.trace]]


def _walks_by_tlc(order: Order, folder: Path) -> Behaviours:
    files = _configured(order, folder, "WalkNext")
    return walks(*files, order.number, order.length, order.seed, LIMIT)


def _configured(order: Order, folder: Path, next: str) -> tuple[Path, Path]:
    """`TRACED` and the order's configuration for it, in that folder: TLC looks for both in one."""
    traced = order.configuration._replace(init="TracedInit", steps=next)
    module, configuration = folder / TRACED.name, folder / f"{order.check.name}.cfg"
    module.write_bytes(TRACED.read_bytes())
    configuration.write_text(text(traced), encoding="utf-8")
    return module, configuration


def _goal_by_apalache(order: Order, folder: Path) -> Behaviours:
    configuration = order.check.configuration
    asked = ",".join([*configuration.invariants, *map(bare, configuration.properties)])
    words = ["check", "--next=TracedNext", f"--inv={asked}", f"--length={order.check.figures.depth - 1}"]
    if _asked(order, folder, words) is not Outcome.COUNTEREXAMPLE:
        raise NoTrace(f"{order.check.breaks} was not violated")
    return [_states(folder, "violation1")]


def _walks_by_apalache(order: Order, folder: Path) -> Behaviours:
    words = ["simulate", "--next=WalkNext", f"--length={order.length}", f"--max-run={order.number}"]
    _asked(order, folder, [*words, "--output-traces=true"])
    return [_states(folder, f"example{n}") for n in range(1, order.number + 1)]


def _asked(order: Order, folder: Path, words: Sequence[str]) -> Outcome:
    """How a command ended, put to the root module of the check's configuration. Raises `NoTrace`,
    `ToolMissing`."""
    module = folder / f"{ROOT}.tla"
    module.write_text(root(order.configuration, extends=TRACED.stem), encoding="utf-8")
    answer = run([*words, "--no-deadlock", "--init=TracedInit", str(module)], folder, LIMIT)
    if answer.outcome is Outcome.ERROR:
        raise NoTrace(answer.error)
    return answer.outcome


def _states(folder: Path, name: str) -> list[Function]:
    """The states of a trace that Apalache wrote. Raises `NoTrace`, `InvalidTrace`."""
    file = folder / f"{name}{SUFFIX}"
    if not file.is_file():
        raise NoTrace(f"Apalache wrote no {file.name}")
    return [*read_file(file).states]


_MAKERS: Final[Mapping[tuple[Tool, bool], Callable[[Order, Path], Behaviours]]] = {
    (Tool.TLC, True): _goal_by_tlc,
    (Tool.TLC, False): _walks_by_tlc,
    (Tool.APALACHE, True): _goal_by_apalache,
    (Tool.APALACHE, False): _walks_by_apalache,
}
"""How a goal, and random walks, are made by each tool."""
