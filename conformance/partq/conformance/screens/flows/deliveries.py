"""Deliveries through flows: to the flow that has the partition, while it is ready, and blind to partitions.

A partition is never seen; what a delivery says of it is `facts.candidate_partitions`'s. An anomaly is given
to the rule with the least assumption that explains all deliveries of a message by one partition, in this
order:

==============================================================================  ======
it was at every delivery ready or paused at the receiving flow                   REB-13
it was besides, at some, kept for a lost flow                                    REB-7
nothing of that: a flow got what it was not assigned, being certainly a standby     REB-5
the same, certainly not being one                                                   REB-2
==============================================================================  ======

But REB-2 explains everything: if it is needed for one message, then all are taken for it. And REB-7 is left
open where nothing shows that flows get only what is theirs (`Paths.exclusive`).

Where keys are is `affinity.py`'s.
"""

from __future__ import annotations

from typing import Final

from partq.conformance.facts.candidate_partitions import Paths
from partq.conformance.facts.index import Facts
from partq.conformance.screens.flows.affinity import judge_keys, judge_spread
from partq.conformance.screens.flows.misdelivery import judge_misdeliveries
from partq.conformance.screens.protocol import Report, Screen
from partq.model.operations import Outcome


def check(facts: Facts) -> Report:
    """REB-2, REB-13, REB-7, REB-15, and for keys and keyless messages KEY-8, ROUTE-1, ROUTE-2, ROUTE-4."""
    report = Report()
    if not facts.profile.flows:
        return report
    _hidden(facts, report)
    if facts.assignment_events:
        paths = facts.derive(Paths)
        report.count("REB-2", paths.conclusive)
        report.count("REB-13", paths.pauses)
        judge_keys(facts, paths, report, judge_misdeliveries(paths, report))
        judge_spread(facts, paths, report)
    return report


def _hidden(facts: Facts, report: Report) -> None:
    """REB-15."""
    for record in facts.receives:
        report.count("REB-15", len(record.messages))
        for delivery in record.messages:
            if delivery.partition is not None:
                report.find(
                    "REB-15",
                    "shows partition",
                    "A delivery shows a partition",
                    (record,),
                    f"{delivery.id!r} was delivered with partition {delivery.partition}",
                    "deliveries that do not show where the message was",
                )
    for record in facts.flows:
        if record.op == "bind" and "partition" in record.args and record.outcome != Outcome.UNKNOWN:
            report.count("REB-15")
            if record.outcome == Outcome.OK:
                report.find(
                    "REB-15",
                    "partition chosen",
                    "A consumer chose its partition",
                    (record,),
                    f"the bind of flow {record.args['flow']} asked for partition "
                    f"{record.args['partition']} and was accepted",
                    "the bind is refused",
                )


BLIND_SPOTS: Final = (
    "Without assignment events only REB-15 is seen.",
    "A flow that has every partition shows nothing of where its messages were.",
    "A message that came once, through the wrong flow, is taken for one of that flow's partitions: then its "
    "key seems to be apart.",
    "Messages whose ID is sent more than once are left out.",
    "Equal keys apart that fit two rules alike are left open under both.",
    "An update of the partition count is not followed.",
)

SCREEN: Final = Screen(
    "flows",
    ("KEY-8", "REB-2", "REB-5", "REB-7", "REB-13", "REB-15", "ROUTE-1", "ROUTE-2", "ROUTE-4"),
    check,
    BLIND_SPOTS,
    needs=dict.fromkeys(("REB-2", "REB-5", "REB-7", "REB-13", "REB-15"), ("bind",)),
)
