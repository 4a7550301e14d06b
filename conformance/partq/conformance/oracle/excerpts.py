"""Excerpts of a history, to reject it by: what happened to a few of its messages, or in some partitions.

To find that nothing explains a history, a search has to try all that is open in it, though mostly a small
part shows what is wrong. An excerpt leaves effects out such that what explains the whole explains it, too.
So one that nothing explains is enough to reject the whole; one that is explained says nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final, NamedTuple

from partq.conformance.oracle.effects import Effect
from partq.conformance.oracle.message_excerpts import by_message, by_messages, without_flows
from partq.conformance.oracle.partition_excerpts import by_partitions
from partq.conformance.oracle.reading import Question
from partq.conformance.oracle.search import Found
from partq.model.state import Config, State

LEFT_OUT: Final = frozenset({"REB-14", "SEQ-4"})
"""Waived where messages are left out: a handoff waits until the old flow has settled them, and they have used
up numbers."""

FLOWLESS: Final = frozenset({"REB-2", "RCV-6"})
"""Waived where flows are left out, too: who may receive is not known then, nor when a flow's locks end."""


class Excerpt(NamedTuple):
    """``effects``: what is left. ``start``: the state in which they begin, with what has to be waived for
    them. ``known``: the configuration that the guidance may go by."""

    effects: tuple[Effect, ...]
    start: State
    known: Config


def excerpts(question: Question, stuck: Found) -> Iterator[Excerpt]:
    """The excerpts of the question that may show what is wrong where a search was stuck, the small and likely
    ones first."""
    start, effects = question.start, question.effects
    relaxed, loose = _waiving(start, LEFT_OUT), _waiving(start, LEFT_OUT | FLOWLESS)
    found = list(by_messages(effects, stuck.stuck, stuck.concerned))
    if start.flows is not None:
        yield from (Excerpt(without_flows(excerpt), loose, loose.cfg) for excerpt in found)
    yield from (Excerpt(excerpt, relaxed, start.cfg) for excerpt in found)
    if start.flows is not None:
        yield from (Excerpt(without_flows(excerpt), loose, loose.cfg) for excerpt in by_message(effects))
    else:
        records = {effect.record for effect in stuck.stuck}
        parts = by_partitions(effects, start.cfg)
        for excerpt in sorted(parts, key=lambda part: records.isdisjoint(effect.record for effect in part)):
            yield Excerpt(excerpt, start, start.cfg)


def _waiving(start: State, requirements: frozenset[str]) -> State:
    return start._replace(cfg=replace(start.cfg, waived=requirements & start.cfg.binding))
