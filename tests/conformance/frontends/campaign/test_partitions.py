"""The campaign's table of messages over partitions: each message once, by the load of its partition."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from partq.conformance.frontends.campaign.local_folder import sums
from partq.conformance.frontends.campaign.plan import Lane, Plan
from partq.conformance.frontends.campaign.store import Store
from partq.conformance.frontends.campaign.work import ChunkResult, _spread
from partq.conformance.history.notation import history

TRACE = """
    c0 send_batch m1 key=a, m2 key=a
    c0 send m3
    c0 send m4
    c1 peek 5    -> m1#9.0, m2#9.1
    c1 receive 5 -> m1#9.0 lock=l1, m2#9.1 lock=l2, m3#4.0 lock=l3
    c1 abandon l1
    c1 receive 5 -> m1#9.0 lock=l4, m9#4.1 lock=l5
"""


def spread(text: str, profile: str = "azure-standard", **settings: bool) -> Counter[tuple[int, bool]]:
    counted: Counter[tuple[int, bool]] = Counter()
    _spread(counted, history(text, profile, **settings))
    return counted


def test_each_message_once_by_load_and_key() -> None:
    assert spread(TRACE) == {(1, True): 2, (2, False): 1}, "m4 was never shown, m9 never sent"


def test_a_message_id_is_a_key_where_duplicates_are_detected() -> None:
    assert spread("c0 send m1\nc1 peek 1 -> m1#9.0", duplicate_detection=True) == {(1, True): 1}


def test_a_flat_entity_and_a_hidden_partition_count_nothing() -> None:
    assert spread("c0 send m1\nc0 receive 1 -> m1#5 lock=l", "azure-flat") == {}
    assert spread("c0 bind f\nc0 send m1 key=a\nc0 receive 1 flow=f -> m1 lock=l", "solace") == {}


@pytest.mark.slow
@pytest.mark.xdist_group("spark")
def test_chunks_add_up(stage: Callable[..., Store], tmp_path: Path) -> None:
    plan = Plan((Lane("reference", "azure-standard", 2, chunk=1),), 1, 1)
    results = []
    for chunk in (plan.unit(0)[0], plan.unit(1)[0]):
        result = ChunkResult(chunk)
        result.verdicts.append(
            {"trace": chunk.first, "broker": chunk.broker, "profile": chunk.profile, "findings": 0}
        )
        _spread(result.partitions, history(TRACE))
        results.append(result)
    stage(plan, tmp_path / "out", results).complete(range(2))
    lane = {"broker": "reference", "profile": "azure-standard"}
    assert sums(tmp_path / "out", "partitions") == [
        {**lane, "rank": 1, "keyed": True, "messages": 4},
        {**lane, "rank": 2, "keyed": False, "messages": 2},
    ]
