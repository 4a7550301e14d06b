"""Flows: who has none is asked nothing."""

from __future__ import annotations

from corpus import corpus
from partq.conformance.history.notation import history
from partq.conformance.screens.assess import inspect
from partq.conformance.screens.flows import deliveries, order, ownership, rebalancing

SCREENS = (ownership.SCREEN, deliveries.SCREEN, order.SCREEN, rebalancing.SCREEN)

SHOWN = """
    c1 send m1 key=a
    c1 send m2 key=b
    c1 receive 1 -> m2 lock=l2 partition=0
    c1 receive 1 -> m1 lock=l1 partition=0
    """


def test_other_families_have_no_flows() -> None:
    assert not inspect(history(SHOWN, "azure-premium"), SCREENS).exercised


def test_every_rule_has_a_bad_history() -> None:
    rules = {rule for screen in SCREENS for rule in screen.requirements}
    assert rules <= {
        rule for entry in corpus().values() if entry.mechanism == "rebalancing" for rule in entry.found
    }
