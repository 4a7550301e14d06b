"""The numbers and partitions that the broker showed, and anomalies among them.

`facts.lifetimes` has the place of a single message. Shared by the screens; reached by
``facts.derive(Placements)``. Nothing here judges; anomalies are noted for the screen that owns them.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from partq.conformance.facts.index import Facts, Observation
from partq.conformance.facts.lifetimes import Lifetimes, in_order
from partq.model.state import COUNTER_BITS


class Placements:
    """``numbers``: number -> who bore it first · ``clashes``: two messages of one number · ``repeated``: how
    many messages were shown with a number more than once · ``renumbered``: all appearances of each message
    that had two numbers · ``names``: (top 16 bits, partition the broker named) -> the first such appearance ·
    ``unnumbered``: appearances without a number."""

    def __init__(self, facts: Facts) -> None:
        self.numbers: dict[int, Observation] = {}
        self.clashes: list[tuple[Observation, Observation]] = []
        self.repeated = 0
        self.renumbered: list[Sequence[Observation]] = []
        self.names: dict[tuple[int, int], Observation] = {}
        self.unnumbered: list[Observation] = []
        lives, received, peeked = facts.derive(Lifetimes), facts.received, facts.peeked
        for id in dict.fromkeys(chain(received, peeked)):
            life = lives.get(id)
            if life is not None:
                self._note(life.appearances, True)
            else:
                self._note(in_order(received.get(id, ()), peeked.get(id, ())), False)
        if not facts.profile.partitioned:
            self.names.clear()

    def _note(self, seen: Sequence[Observation], followed: bool) -> None:
        """Add all appearances of one message, in order of calls."""
        numbers, names, first_seq, renumbered = self.numbers, self.names, None, False
        before = len(self.unnumbered)
        for one in seen:
            delivery = one.delivery
            seq = delivery.seq
            if seq is None:
                self.unnumbered.append(one)
                continue
            if first_seq is None:
                first_seq = seq
            elif seq != first_seq:
                renumbered = True
            first = numbers.setdefault(seq, one)
            if first is not one:
                if first.delivery.id != delivery.id:
                    self.clashes.append((first, one))
                if first.delivery.partition == delivery.partition:
                    continue
            if delivery.partition is not None:
                names.setdefault((seq >> COUNTER_BITS, delivery.partition), one)
        if followed and len(seen) > 1:
            self.repeated += len(seen) - (len(self.unnumbered) - before) > 1
            if renumbered:
                self.renumbered.append(seen)
