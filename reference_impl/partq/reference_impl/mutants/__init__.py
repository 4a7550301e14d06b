"""The mutants: the reference broker with one defect each. Importing this package registers them all.

A defect replaces one class of the broker (`broker.Parts`) by a subclass of a few lines. It names the rule
it breaks; the suite must kill it by that rule. Rules that a client cannot tell apart from it are named in
``also``, with the reason beside the mutant.
"""

from __future__ import annotations

from importlib import import_module

from .registry import MUTANTS, Mutant

__all__ = ["MUTANTS", "Mutant"]

for _family in (
    "keys",
    "refusals",
    "routing",
    "isolation",
    "sequencing",
    "delivery",
    "answers",
    "locks",
    "counts",
    "peeking",
    "cursors",
    "transactions",
    "enlisting",
    "endings",
    "flows",
    "rebalancing",
    "sharing",
    "requests",
    "outages",
    "recovery",
    "commits",
    "settlements",
    "contents",
    "numbering",
    "browsing",
    "takeovers",
    "handoffs",
    "endurance",
    "domains",
    "held_out.addressing",
    "held_out.affinity",
    "held_out.deliveries",
    "held_out.domains",
    "held_out.flows",
    "held_out.locks",
    "held_out.numbering",
    "held_out.outages",
    "held_out.peeks",
    "held_out.placing",
    "held_out.refusals",
    "held_out.transactions",
):
    import_module(f"{__name__}.{_family}")
