"""Flows: who has none is asked nothing; what may be told wrong is not blamed on routing."""

from __future__ import annotations

from corpus import corpus
from partq.conformance.history import History
from partq.conformance.history.notation import history
from partq.conformance.screens.assess import inspect
from partq.conformance.screens.delivery import turns
from partq.conformance.screens.flows import deliveries, ownership, rebalancing

SCREENS = (ownership.SCREEN, deliveries.SCREEN, turns.SCREEN, rebalancing.SCREEN)

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
    entries = [entry for entry in corpus().values() if entry.mechanism == "rebalancing"]
    suspected = {rule for entry in entries for several in entry.one_of for rule in several}
    assert rules - {"ORD-1", "ORD-2", "ORD-3"} <= suspected | {r for entry in entries for r in entry.found}


MOVED = """
    c1 bind f1 @1-2
    c2 bind f2 @3-4
    c3 bind f3 @4-5
    env assignment 0 f1 ready @6s
    env assignment 1 f2 ready @6s
    c9 send x1
    c1 receive 1 flow=f1 -> nothing
    c2 receive 1 flow=f2 -> x1 lock=lx
    {whole}
    c1 unbind f1 @20s-20001ms
    env assignment 0 f1 unassigned @20001ms
    {told}
    c1 send n key=k0 @40s-40001ms
    c2 receive 1 flow=f2 -> n lock=ln
    """


def moved(told: str) -> History:
    """Forty messages of one key came from partition 0, whose flow goes; one more comes through the other."""
    sends = "\n".join(f"c1 send m{n} key=k0" for n in range(40))
    shown = "\n".join(f"c1 receive 1 flow=f1 -> m{n} lock=l{n}\nc1 complete l{n}" for n in range(40))
    return history(MOVED.format(whole=f"{sends}\n{shown}", told=told), "solace", partitions=2)


def test_a_key_that_moved_is_suspected_of_all_that_may_have_moved_it() -> None:
    """An assignment that is left out (REB-13) looks like a key that moved (ROUTE-1): the judge decides."""
    for told in ("env assignment 0 f3 ready @20001ms", ""):
        said = inspect(moved(told), SCREENS)
        assert "ROUTE-1" not in said.findings
        assert {"ROUTE-1", "REB-13"} <= set(said.candidates["ROUTE-1"])
