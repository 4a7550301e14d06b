"""Deferred messages: RCV-10 on the azure profiles."""

from __future__ import annotations

from typing import Final

from partq.conformance.workload.cases.case import Case
from partq.conformance.workload.cases.steps import (
    AZURE,
    abandon,
    begin,
    commit,
    complete,
    message,
    pass_time,
    peek,
    program,
    receive,
    restart,
    rollback,
    send,
    settle,
)
from partq.conformance.workload.program import Program, Step


def _defer(proc: str, txn: bool = False) -> Step:
    return settle(proc, "defer", txn=txn)


def _receive_deferred(proc: str, *pick: int) -> Step:
    return Step(proc, "receive_deferred", {"pick": list(pick)})


def _by_its_number(profile: str) -> Program:
    """Set aside, passed by a later message, received by its number alone."""
    return program(
        profile,
        *(send("c1", message(f"m{n}", "a")) for n in (1, 2)),
        receive("c1"),
        _defer("c1"),
        receive("c2", 5),
        complete("c2"),
        receive("c2", 5),
        peek("c2"),
        _receive_deferred("c1", 0),
        _receive_deferred("c1", 0),
        complete("c1"),
        _receive_deferred("c1", 0),
        peek("c2", start="start"),
    )


def _across(profile: str) -> Program:
    """Messages of many keys are deferred, and asked for two at a time."""
    sends = [send("c1", message(f"m{n}", f"k{n}")) for n in range(8)]
    takes = [step for _ in range(8) for step in (receive("c1"), _defer("c1"))]
    pairs = [_receive_deferred("c1", n, n + 1) for n in range(7)]
    return program(profile, *sends, *takes, *pairs, peek("c2"))


def _set_aside_again(profile: str) -> Program:
    """A lock on a deferred message is abandoned, runs out, and falls with the broker."""
    down, up = restart()
    again = _receive_deferred("c1", 0)
    return program(
        profile,
        send("c1", message("m1", "a")),
        receive("c1"),
        _defer("c1"),
        again,
        abandon("c1"),
        receive("c2"),
        again,
        pass_time(),
        receive("c2"),
        again,
        down,
        up,
        peek("c2"),
        pass_time(),
        again,
        complete("c1", 0, 1),
    )


def _in_a_transaction(profile: str) -> Program:
    """Deferred in a transaction: at its commit, and not after a rollback."""
    return program(
        profile,
        send("c1", message("m1", "a")),
        receive("c1"),
        begin("c1"),
        _defer("c1", txn=True),
        rollback("c1"),
        peek("c2"),
        begin("c1"),
        _defer("c1", txn=True),
        commit("c1"),
        peek("c2", start="start"),
        _receive_deferred("c1", 0),
        complete("c1"),
    )


CASES: Final = (
    Case(
        "deferred",
        ("RCV-10", "RCV-3"),
        AZURE,
        "A deferred message is passed by others, and received by its number alone.",
        _by_its_number,
    ),
    Case(
        "deferred-across",
        ("RCV-10",),
        AZURE,
        "Numbers of different partitions in one call are refused.",
        _across,
    ),
    Case(
        "deferred-lock",
        ("RCV-10", "RCV-9"),
        AZURE,
        "When a lock on a deferred message ends, it is deferred still, and its count is one higher.",
        _set_aside_again,
    ),
    Case(
        "deferred-transaction",
        ("RCV-10",),
        AZURE,
        "A message is deferred at the commit of the transaction, or not at all.",
        _in_a_transaction,
    ),
)
