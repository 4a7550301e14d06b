"""What a campaign says came together, and that programs reach what is hard to reach."""

from __future__ import annotations

from collections import Counter

import pytest

from partq.conformance.adapters.reference import Reference
from partq.conformance.execution.runner import run
from partq.conformance.frontends.campaign.combinations import Combination, combined
from partq.conformance.history.notation import history
from partq.conformance.workload.generator import generate, trace_seed

TEXT = """
    c1 begin txn=t0
    c1 send m1 key=a
    c1 receive 1 -> m1#1.1 lock=l1
    env partition_down 1
    c1 begin txn=t1
    c1 send m2 key=a txn=t1 timeout=5s
    c1 complete l1 txn=t1
    env partition_down 2
    c1 commit txn=t1 -> error unavailable
    c1 commit txn=t1 -> error not_found
    env partition_up 2
    env broker_kill
    c2 receive 3 delete -> error unavailable
    env broker_start
    env partition_up 1
    c1 peek 3 from=0
    """


def test_a_history_is_counted_by_mechanism_fault_and_shape() -> None:
    times, done = combined(history(TEXT, "azure-premium", partitions=2))
    assert times == {
        ("begin", "none", ""): 1,
        ("send", "none", "keyed"): 1,
        ("receive", "none", "one"): 1,
        ("begin", "one down", ""): 1,
        ("send in a transaction", "one down", "keyed, impatient"): 1,
        ("complete in a transaction", "one down", "one lock"): 1,
        ("commit", "all down", "sends and settlements"): 1,
        ("commit", "all down", "ended before"): 1,
        ("receive_and_delete", "broker down", "several"): 1,
        ("peek", "restarted", "start"): 1,
    }
    assert +(times - done) == {
        ("commit", "all down", "sends and settlements"): 1,
        ("commit", "all down", "ended before"): 1,
        ("receive_and_delete", "broker down", "several"): 1,
    }


REACHED = {
    "azure-premium": (
        ("renew_lock", "one down", ""),
        ("complete in a transaction", "one down", "one lock"),
        ("commit", "several down", "sends and settlements"),
        ("rollback", "none", "settlements"),
        ("commit", "none", "ended before"),
        ("send in an ended transaction", "none", "keyed"),
        ("complete", "none", "several locks, lost"),
        ("abandon", "none", "several locks"),
        ("send_batch", "none", "several keys"),
        ("send_batch", "none", "keyed, long"),
        ("send", "one down", "keyless, impatient"),
        ("send", "none", "keyless, large"),
        ("receive_and_delete", "one down", "several"),
    ),
    "solace": (
        ("abandon", "paused", "several locks"),
        ("complete", "none", "two locks, lost"),
        ("unbind", "unbound", ""),
        ("bind", "restarted", ""),
    ),
}


@pytest.mark.parametrize("profile", REACHED)
def test_programs_reach_what_is_hard_to_reach(profile: str) -> None:
    broker, seen = Reference(profile), Counter[Combination]()
    for trace in range(400):
        seen += combined(run(broker, generate(profile, trace_seed(1, trace), lacks=broker.lacks())))[0]
    assert [combination for combination in REACHED[profile] if not seen[Combination(*combination)]] == []
