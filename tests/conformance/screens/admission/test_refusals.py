"""Valid requests refused for good: each with one that may be refused so."""

from __future__ import annotations

import pytest
from inspections import inspected

STANDARD, FLAT, SOLACE = "azure-standard", "azure-flat", "solace"
INVALID, MISSING = "-> error invalid_operation", "-> error not_found"
OPEN = "p begin t\np send m1 key=a txn=t\n"
LOCKED = "p send m1\np receive 1 -> m1#1 lock=l until=30s\np begin t\np complete l txn=t\n"
BOUND = "c1 bind f1 @1s-2s\n"
KILLED = f"{BOUND}c2 bind f2\nenv broker_kill\nenv broker_start\n"

PAIRS = {
    "a send": (STANDARD, f"p send m1 {INVALID}", "p send m1 -> error quota"),
    "a send of two keys alike": (
        STANDARD,
        f"p send m1 session=a key=a {INVALID}",
        f"p send m1 session=a key=b {INVALID}",
    ),
    "a batch": (
        STANDARD,
        f"p send_batch m1 key=a, m2 key=a {MISSING}",
        f"p send_batch m1 key=a, m2 key=b {INVALID}",
    ),
    "a keyless batch": (
        STANDARD,
        f"p send_batch m1, m2 {INVALID}",
        f"p send_batch m1 key=a, m2 {INVALID}",
    ),
    "a receive": (FLAT, f"p receive 1 {MISSING}", "p receive 1 -> error timeout"),
    "a peek": (FLAT, "p peek 1 -> error lock_lost", "p peek 1 -> error unavailable"),
    "a begin": (FLAT, f"p begin t {INVALID}", f"p begin t\np rollback t\np begin t {INVALID}"),
    "a commit": (FLAT, f"{OPEN}p commit t {INVALID}", f"{OPEN}env broker_kill\np commit t {INVALID}"),
    "a commit that settles": (
        FLAT,
        f"{LOCKED}p commit t {INVALID}",
        f"{LOCKED}env advance 40s\np commit t {INVALID}",
    ),
    "a commit after all was accepted": (
        STANDARD,
        f"{OPEN}p send m2 key=a txn=t\np commit t {MISSING}",
        f"{OPEN}p send m2 key=b txn=t {INVALID}\np commit t {MISSING}",
    ),
    "a rollback": (FLAT, f"{OPEN}p rollback t {MISSING}", f"{OPEN}p commit t\np rollback t {MISSING}"),
    "a send in a transaction": (
        STANDARD,
        f"{OPEN}p send m2 key=a txn=t {INVALID}",
        f"{OPEN}p send m2 key=b txn=t {INVALID}",
    ),
    "a send in a transaction, before a keyless one": (
        STANDARD,
        f"p begin t\np send m1 key=a txn=t {INVALID}",
        f"p begin t\np send m1 txn=t {INVALID}",
    ),
    "a bind": (SOLACE, f"c1 bind f1 {INVALID}", f"{BOUND}c1 bind f1 {INVALID}"),
    "an unbind": (SOLACE, f"{BOUND}c1 unbind f1 {MISSING}", f"{BOUND}c1 unbind f1\nc1 unbind f1 {MISSING}"),
    "an unbind, where a disconnect says nothing": (
        SOLACE,
        f"{BOUND}c1 unbind f1 {MISSING}",
        f"{BOUND}c1 disconnect flow=f1 {MISSING}",
    ),
    "a receive by a flow": (
        SOLACE,
        f"{BOUND}c1 receive 1 flow=f1 {INVALID}",
        f"{BOUND}c1 unbind f1\nc1 receive 1 flow=f1 {INVALID}",
    ),
    "a send in a transaction that was not begun": (
        FLAT,
        "p begin t -> error unavailable\np send m1 txn=t",
        "p begin t -> unknown timeout\np send m1 txn=t",
    ),
    "a commit after less than the time limit": (
        STANDARD,
        f"{OPEN}env advance 119s\np commit t {MISSING}",
        f"{OPEN}env advance 120s\np commit t {MISSING}",
    ),
    "a send in a transaction that was used meanwhile": (
        STANDARD,
        f"{OPEN}env advance 90s\np send m2 key=a txn=t\nenv advance 90s\np commit t {MISSING}",
        f"{OPEN}env advance 90s\np send m2 key=a txn=t -> unknown timeout\nenv advance 90s\n"
        f"p commit t {MISSING}",
    ),
    "a request after the connection was lost": (
        SOLACE,
        f"{BOUND}c1 send m1 -> error unavailable\nc1 unbind f1 {MISSING}",
        f"{BOUND}c1 send m1 -> error connection_lost\nc1 unbind f1 {MISSING}",
    ),
    "a commit of nothing": (FLAT, "p commit t\np begin t", "p begin t\np commit t"),
}


@pytest.mark.parametrize("name", PAIRS)
def test_refused_though_valid(name: str) -> None:
    profile, bad, _ = PAIRS[name]
    inspection = inspected(bad, profile)
    assert inspection.candidates or inspection.findings.keys() <= {"KEY-9", "TXN-10"}
    assert bool(inspection.candidates) != bool(inspection.findings)


@pytest.mark.parametrize("name", PAIRS)
def test_refused_and_possibly_not_valid(name: str) -> None:
    profile, _, good = PAIRS[name]
    inspection = inspected(good, profile)
    assert not inspection.candidates
    assert not inspection.findings


@pytest.mark.parametrize(
    "text",
    [
        f"{BOUND}c1 unbind f1\nc1 unbind f1",
        f"{BOUND}c1 disconnect\nc1 unbind f1",
        f"{KILLED}c1 unbind f1\nc2 unbind f2 {MISSING}",
    ],
)
def test_an_unbind_of_a_flow_that_is_gone_is_answered_either_way(text: str) -> None:
    inspection = inspected(text, SOLACE)
    assert not inspection.candidates
    assert not inspection.findings
