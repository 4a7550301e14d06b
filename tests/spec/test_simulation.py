"""Traces that TLC makes of the specification, and the set of them that comes with the package."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs
from test_tlc import needs_tlc

from partq.spec.itf import SUFFIX, TRACES, Trace, read_file, write_trace
from partq.spec.manifest import read_manifest
from partq.spec.simulation import Order, is_goal, traces
from partq.spec.tlc import NoTrace, read_walk
from partq.spec.toolbox import Tool, is_known, tlc_jar

CHECKS = {one.name: one for one in read_manifest()}
KEPT = {file.name.removesuffix(SUFFIX): file for file in sorted(TRACES.glob(f"*{SUFFIX}"))}


def said(trace: Trace) -> list[str]:
    """What was seen, in the words of `answer.op` and `answer.out`."""
    return [f"{state['answer']['op']} {state['answer']['out']}" for state in trace.states[1:]]


def test_a_walk_is_read_from_what_tlc_writes() -> None:
    text = (
        "---- MODULE w ----\nSTATE_1 == \n/\\ x = 1\n/\\ y = <<>>\n\n"
        "STATE_2 == \n/\\ x = 2\n/\\ y = <<1,\n  2>>\n\n\n===="
    )

    assert read_walk(text) == [{"x": 1, "y": ()}, {"x": 2, "y": (1, 2)}]


def test_a_goal_is_the_shortest_way_to_it() -> None:
    needs_tlc()
    (trace,) = traces(Order(CHECKS["BugAnyOrder"]))

    assert said(trace) == ["send ok", "send ok", "receive ok"]
    assert trace.states[-1]["answer"]["m"] == 2, "the second message first"
    assert trace.params["KeyOf"] == ("a", "a")


def test_a_goal_that_is_not_reached_is_no_trace() -> None:
    needs_tlc()
    honest = structs.replace(CHECKS["BugAnyOrder"], cfg="MCRollover.cfg")

    with pytest.raises(NoTrace, match="RCV_3 was not violated"):
        traces(Order(honest))


def test_equal_seeds_give_equal_walks_and_no_walk_idles() -> None:
    needs_tlc()
    order = Order(CHECKS["MCOutage"], number=2, length=12, seed=3)
    found = traces(order)

    assert found == traces(order)
    assert traces(order._replace(number=1)) == found[:1], "the first of many is the first of few"
    assert traces(order._replace(seed=4)) != found
    for trace in found:
        assert 2 <= len(trace.states) <= 13
        pairs = zip(said(trace), said(trace)[1:], strict=False)
        assert not [pair for pair in pairs if pair == ("receive nothing", "receive nothing")]


def test_every_goal_has_its_trace_in_the_set() -> None:
    assert {f"{name}-0001" for name, one in CHECKS.items() if is_goal(one)} <= KEPT.keys()


def test_the_set_is_small() -> None:
    assert sum(file.stat().st_size for file in KEPT.values()) < 300_000


@pytest.mark.parametrize("name", KEPT)
def test_a_kept_trace_is_in_canonical_form_and_says_how_it_was_made(name: str) -> None:
    trace = read_file(KEPT[name])
    order, walk = order_of(trace.meta)

    assert write_trace(trace) == KEPT[name].read_text(encoding="utf-8")
    assert (name, trace.meta) == (order.names[walk - 1], order.origins[walk - 1])


def order_of(meta: Mapping[str, Any]) -> tuple[Order, int]:
    """By what a trace was made, and which of that order's traces it is."""
    walk = meta.get("walk", 1)
    options = {name: meta[name] for name in ("length", "seed") if name in meta}
    check = CHECKS[Path(meta["source"]).stem]
    return Order(check, number=walk, tool=Tool(meta["tool"]), **options), walk


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in KEPT if str(Tool.APALACHE) not in name])
def test_a_kept_trace_of_tlc_is_made_again_the_same(name: str) -> None:
    needs_tlc()
    if not is_known(tlc_jar()):
        pytest.skip("another version of TLC may search and walk otherwise")
    order, walk = order_of(read_file(KEPT[name]).meta)

    assert write_trace(traces(order)[walk - 1]) == KEPT[name].read_text(encoding="utf-8")
