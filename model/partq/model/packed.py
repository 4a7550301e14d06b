"""Counting a scope's states quickly: a state is one integer, a transition a difference of integers.

The components of a state (`Scope.components`) are numbered as they are met, and their numbers packed side by
side. What a group of actions does depends on its footprint alone, so it is found with the machine's own
`steps` once for each content of the footprint, and from then on looked up. That nothing else is looked at is
not assumed: all that is outside of the footprint is `POISON`, which cannot be used.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple, NoReturn

from .machine import steps
from .offers import Group
from .scope import PRODUCER, Node, Scope
from .state import Client, State

BITS: Final = 20
"""Bits for the number of one component's content."""

_ONES: Final = (1 << BITS) - 1


class TooLarge(RuntimeError):
    """More states, or more contents of one component, than there is room for."""


class Count(NamedTuple):
    """How large a graph is. ``depth``: the most transitions that the shortest way to a state has."""

    states: int
    transitions: int
    depth: int


class _Poison:
    """A value that must not be read: every use raises."""

    __slots__ = ()

    def _used(self, *_: object) -> NoReturn:
        raise AssertionError("an action looked outside of its footprint")

    __bool__ = __iter__ = __len__ = __getitem__ = __getattr__ = __hash__ = __eq__ = __lt__ = _used
    __rshift__ = __lshift__ = __or__ = __and__ = __add__ = __index__ = _used


POISON: Final[Any] = _Poison()

Table = tuple[int, tuple[int, ...]]
"""How many transitions there are, and the differences to the targets, each once, without 0."""


def count(scope: Scope, limit: int = 5_000_000) -> Count:
    """States and transitions that the scope reaches: the same numbers as of `explore.reach`. Raises
    `TooLarge` for more than ``limit`` states."""
    packing = _Packing(scope)
    start = packing.start()
    tables = [packing.table(group) for group in scope.groups]
    seen, frontier, transitions, depth = {start}, [start], 0, -1
    while frontier:
        depth += 1
        found: list[int] = []
        for state in frontier:
            for mask, known, make in tables:
                content = state & mask
                entry = known.get(content)
                if entry is None:
                    entry = known[content] = make(content)
                transitions += entry[0]
                for difference in entry[1]:
                    target = state + difference
                    if target not in seen:
                        seen.add(target)
                        found.append(target)
        if len(seen) > limit:
            raise TooLarge(f"more than {limit:,} states")
        frontier = found
    return Count(len(seen), transitions, depth)


class _Packing:
    """Numbers for the contents of components, and states made of them."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.procs = (PRODUCER, *scope.consumers)
        self.parts = [f"part {p}" for p in range(scope.partitions)]
        self.shifts = {name: n * BITS for n, name in enumerate(scope.components)}
        self.numbers: dict[str, dict[Any, int]] = {name: {} for name in scope.components}
        self.contents: dict[str, list[Any]] = {name: [] for name in scope.components}

    def start(self) -> int:
        """The empty entity, the first content of each component."""
        state, sent = self.scope.start
        first: dict[str, Any] = {
            "env": (state.dead, state.down),
            "sent": sent,
            "keys": (state.keys, state.used, state.burnt),
            "txns": state.txns,
            "flows": state.flows,
            **dict(zip(self.parts, state.parts, strict=True)),
        }
        return sum(self._number(name, first.get(name)) << shift for name, shift in self.shifts.items())

    def table(self, group: Group) -> tuple[int, dict[int, Table], Callable[[int], Table]]:
        """The bits of a group's footprint, its transitions by their content, and how to find new ones."""
        places = [(name, self.shifts[name]) for name in self.shifts if name in group.footprint]
        parts = tuple(p for p, name in enumerate(self.parts) if name in group.footprint)
        mask = sum(_ONES << shift for _, shift in places)

        def make(packed: int) -> Table:
            return self._transitions(group, packed, places, parts)

        return mask, {}, make

    def _transitions(
        self, group: Group, packed: int, places: list[tuple[str, int]], parts: tuple[int, ...]
    ) -> Table:
        scope = self.scope
        given = {name: self.contents[name][packed >> shift & _ONES] for name, shift in places}
        node = self._join(given)
        total = 0
        differences: set[int] = set()
        for action in group.actions(*node):
            found = {
                (answer, self._difference(given, node, after, scope.sent_after(action, answer, node.sent)))
                for answer, after in steps(node.state, action)
                if scope.within(after, parts)
            }
            total += len(found)
            differences.update(difference for _, difference in found)
        return total, tuple(sorted(differences - {0}))

    def _join(self, given: dict[str, Any]) -> Node:
        """The node with these components; poison for the others, but for what never changes."""
        scope = self.scope
        start = scope.start.state
        dead, down = given.get("env", (POISON, POISON))
        keys, used, burnt = given.get("keys", (POISON, POISON, POISON))
        parts = tuple([given.get(name, POISON) for name in self.parts])
        txns = given.get("txns", POISON if scope.transacts else ())
        flows = given.get("flows", POISON if scope.has_flows else None)
        state = State(
            start.cfg, start.now, dead, down, used, parts, keys, burnt, self._clients(given), txns, flows
        )
        return Node(state, given.get("sent", POISON))

    def _clients(self, given: dict[str, Any]) -> tuple[Client, ...]:
        undisturbed: Any = POISON if self.scope.disturbs else False
        found = []
        for proc in self.procs:
            content = given.get(f"client {proc}", POISON)
            if content is POISON:
                found.append(Client(proc, POISON, undisturbed, undisturbed))
            elif content is not None:
                found.append(content)
        found.sort(key=lambda client: client.proc)
        return tuple(found)

    def _difference(self, given: dict[str, Any], before: Node, after: State, sent: int) -> int:
        """The difference between the packed states. Raises if anything outside of the footprint changed."""
        state, total = before.state, 0
        for name, old, new in zip(self.parts, state.parts, after.parts, strict=True):
            if old is not new:
                total += self._change(name, given, new)
        if sent is not before.sent:
            total += self._change("sent", given, sent)
        if after.keys is not state.keys or after.used is not state.used or after.burnt is not state.burnt:
            total += self._change("keys", given, (after.keys, after.used, after.burnt))
        if after.dead is not state.dead or after.down is not state.down:
            total += self._change("env", given, (after.dead, after.down))
        if after.txns is not state.txns:
            total += self._change("txns", given, after.txns)
        if after.flows is not state.flows:
            total += self._change("flows", given, after.flows)
        if after.clients is not state.clients:
            total += self._clients_changed(given, state, after)
        return total

    def _clients_changed(self, given: dict[str, Any], before: State, after: State) -> int:
        total = 0
        old, new = ({client.proc: client for client in state.clients} for state in (before, after))
        for proc in self.procs:
            if old.get(proc) is not new.get(proc):
                total += self._change(f"client {proc}", given, new.get(proc))
        return total

    def _change(self, name: str, given: dict[str, Any], content: Any) -> int:
        if name not in given:
            raise AssertionError(f"an action changed {name}, outside of its footprint")
        return (self._number(name, content) - self._number(name, given[name])) << self.shifts[name]

    def _number(self, name: str, content: Any) -> int:
        numbers = self.numbers[name]
        number = numbers.get(content)
        if number is None:
            number = numbers[content] = len(numbers)
            self.contents[name].append(content)
            if number >> BITS:
                raise TooLarge(f"more than {1 << BITS:,} contents of {name}")
        return number
