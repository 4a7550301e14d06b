"""Excerpts by which a history can be rejected: the effects on a few of its messages, or in some partitions.

To reject a history a search has to try everything that it leaves open, though mostly a small part shows the
violation. An excerpt leaves effects out such that every explanation of the whole explains it, too. So one
without an explanation is enough to reject the whole; one with an explanation says nothing. The same holds
with requirements waived: then outages elsewhere are left in, which these may speak of, and none is taken out
by its partition, where it need not have been.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from partq.conformance.oracle.effects import Effect
from partq.conformance.oracle.message_excerpts import by_message, by_messages, without_flows
from partq.conformance.oracle.partition_excerpts import by_partitions
from partq.conformance.oracle.reading import Excerpt, Question
from partq.conformance.oracle.search import Found
from partq.conformance.oracle.uses import uses
from partq.model.configuration import NARROWLY, Config
from partq.model.state import State

LEFT_OUT: Final = frozenset({"REB-14", "SEQ-4"})
"""Waived where messages are left out: a handoff waits until the old flow has settled them, and they have used
up numbers."""

SPREADING: Final = frozenset(
    {
        *("PEEK-6", "RCV-8", "RCV-14", "TXN-7"),
        *("SEQ-1", "SEQ-2", "SEQ-3", "SEQ-5", "SEQ-6"),
        *("RCV-9", "REB-15"),
    }
).union(*(use.spreads for use in uses().values()))
"""With one of these waived what an excerpt leaves out may matter to what is left: a peek touches messages, a
settlement that is refused settles, numbers are other messages' or do not tell the partition, a message leaves
the queue, or comes to it, in another way than by what names it. So there are no excerpts then."""

FLOWLESS: Final = frozenset({"REB-2", "RCV-6"})
"""Waived where flows are left out, too: who may receive is not known then, nor when a flow's locks end."""


def excerpts(question: Question, stuck: Found) -> Iterator[Excerpt]:
    """The excerpts of the question that may show what is wrong where a search was stuck, the small and likely
    ones first."""
    start, effects, waived = question.start, question.effects, question.start.cfg.waived
    if not waived.isdisjoint(SPREADING):
        return
    kept = bool(waived)
    found = list(by_messages(effects, stuck.stuck, stuck.concerned, kept))
    if start.flows is not None:
        yield from map(_without_flows, found)
    yield from (Excerpt(excerpt, LEFT_OUT) for excerpt in found)
    if start.flows is not None:
        yield from map(_without_flows, by_message(effects, kept))
    elif not waived:
        records = {effect.record for effect in stuck.stuck}
        parts = by_partitions(effects, start.cfg)
        yield from map(
            Excerpt, sorted(parts, key=lambda part: records.isdisjoint(effect.record for effect in part))
        )


def _without_flows(excerpt: Sequence[Effect]) -> Excerpt:
    return Excerpt(without_flows(excerpt), LEFT_OUT | FLOWLESS, known=True)


def beginning(excerpt: Excerpt, start: State) -> tuple[State, Config]:
    """The state in which the excerpt of what begins so begins, with what has to be waived; and the
    configuration that the guidance may go by. What the wide form of a relaxed rule does not explain its
    narrow form does not either."""
    cfg = start.cfg
    waived = cfg.waived if cfg.waived.isdisjoint({NARROWLY}) else cfg.waived - {NARROWLY}
    loose = replace(cfg, waived=waived.union(excerpt.spared & cfg.waivable))
    return start._replace(cfg=loose), loose if excerpt.known else cfg
