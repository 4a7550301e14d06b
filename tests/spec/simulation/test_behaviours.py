"""Traces that TLC makes of the specification, and the set of them that comes with the package."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from executables import write_executable
from test_tlc import needs_tlc

from partq.spec.checking.manifest import Expected, read_manifest
from partq.spec.simulation.behaviours import Order, is_goal, is_traced, traces
from partq.spec.simulation.itf import SUFFIX, TRACES, Trace, read_file, write_trace
from partq.spec.tools.tlc import NoTrace, read_walk
from partq.spec.tools.toolbox import Tool, is_known, tlc_jar
from partq.spec.tools.values import Function

CHECKS = {one.name: one for one in read_manifest()}
KEPT = {file.name.removesuffix(SUFFIX): file for file in sorted(TRACES.glob(f"*{SUFFIX}"))}

EACH = 4
"""One of so many kept traces of TLC is made again."""


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
    right = CHECKS["BugAnyOrder"].configuration
    honest = CHECKS["BugAnyOrder"]._replace(
        configuration=right._replace(variants={"KeyOf": right.variants["KeyOf"]})
    )

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


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ("BugAnyOrder", "Action property RCV_3 .*is violated"),
        ("BugNumberTwice", "SEQ_1"),
    ],
)
def test_a_walk_that_breaks_a_property_is_no_trace(wrong: str, why: str) -> None:
    needs_tlc()
    scope = CHECKS[wrong]._replace(expected=Expected.HOLDS, breaks="")

    with pytest.raises(NoTrace, match=why):
        traces(Order(scope, number=200))


def test_larger_walks_find_what_the_scope_is_too_small_for() -> None:
    needs_tlc()
    check = CHECKS["BugBatchByTheFirst"]
    small = check.configuration._replace(values=check.configuration.values | {"MessageCount": "2"})
    order = Order(check._replace(expected=Expected.HOLDS, breaks="", configuration=small), number=100)

    assert {trace.params["KeyOf"] for trace in traces(order)} == {("-", "a")}
    with pytest.raises(NoTrace, match="ROUTE_1"):
        traces(order._replace(larger=True))


def test_a_larger_walk_says_so_and_keeps_one_partition_where_there_is_one() -> None:
    needs_tlc()
    (walk,) = traces(Order(CHECKS["MCFlat"], length=12, larger=True))

    assert walk.meta["larger"] is True
    assert len(walk.params["KeyOf"]) == 6
    assert Order(CHECKS["MCFlat"], larger=True).configuration.values["PartitionCount"] == "1"
    assert Order(CHECKS["BugAnyOrder"], larger=True).configuration == CHECKS["BugAnyOrder"].configuration


@pytest.fixture
def apalache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An ``apalache-mc`` of ours, which notes what it is asked and writes the files in a folder of ours."""
    write_executable(
        tmp_path / "bin" / "apalache-mc",
        f'echo "$@" >>{tmp_path}/asked\n'
        f"for word; do case $word in --run-dir=*) cp {tmp_path}/*.itf.json ${{word#*=}};; esac; done\n"
        f"exit $(cat {tmp_path}/code)",
    )
    monkeypatch.setenv("APALACHE_HOME", str(tmp_path))
    return tmp_path


def raw(of: str, folder: Path, name: str) -> None:
    """A kept trace as a tool writes it: constants in a variable, further variables."""
    trace = read_file(KEPT[of])
    states = [Function({**state, "scope": trace.params, "idle": False}) for state in trace.states]
    (folder / f"{name}{SUFFIX}").write_text(write_trace(Trace(tuple(states), meta={"format": "ITF"})))


def test_apalache_is_asked_for_walks(apalache: Path) -> None:
    order = Order(CHECKS["MCRouting"], number=2, length=8, tool=Tool.APALACHE)
    raw("MCRouting-apalache-0001", apalache, "example1")
    raw("MCRouting-apalache-0002", apalache, "example2")
    (apalache / "code").write_text("0")

    assert [write_trace(one) for one in traces(order)] == [KEPT[name].read_text() for name in order.names]
    asked = (apalache / "asked").read_text()
    assert asked.startswith("simulate ")
    assert {"--next=WalkNext", "--length=8", "--max-run=2", "--init=TracedInit"} <= {*asked.split()}


def test_apalache_is_asked_for_a_counterexample_of_the_depth_that_is_known(apalache: Path) -> None:
    order = Order(CHECKS["BugAnyOrder"], tool=Tool.APALACHE)
    raw("BugAnyOrder-0001", apalache, "violation1")
    (apalache / "code").write_text("12")
    (found,) = traces(order)

    assert found.states == read_file(KEPT["BugAnyOrder-0001"]).states
    assert found.meta["tool"] == "apalache"
    asked = (apalache / "asked").read_text().split()
    assert asked[0] == "check"
    assert {"--next=TracedNext", "--inv=Bare_RCV_3", "--length=3"} <= {*asked}


@pytest.mark.parametrize(
    ("code", "why"),
    [
        (0, "BugAnyOrder: RCV_3 was not violated"),
        (12, "BugAnyOrder: Apalache wrote no violation1"),
        (120, "BugAnyOrder: type error"),
    ],
)
def test_apalache_that_comes_to_no_trace_says_why(apalache: Path, code: int, why: str) -> None:
    raw("BugAnyOrder-0001", apalache, "another")
    (apalache / "code").write_text(str(code))

    with pytest.raises(NoTrace, match=why):
        traces(Order(CHECKS["BugAnyOrder"], tool=Tool.APALACHE))


def test_every_goal_has_its_trace_in_the_set() -> None:
    goals = [name for name, one in CHECKS.items() if is_goal(one) and is_traced(one)]

    assert {f"{name}-0001" for name in goals} <= KEPT.keys()


def test_what_is_scheduled_is_in_no_trace() -> None:
    assert is_traced(CHECKS["BugAnyOrder"])
    assert not is_traced(CHECKS["ReachRaced"])
    assert not is_traced(CHECKS["BugNeverActivates"])


def test_the_set_is_small() -> None:
    assert sum(file.stat().st_size for file in KEPT.values()) < 3_000 * len(KEPT)


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
@pytest.mark.parametrize("name", [name for name in KEPT if str(Tool.APALACHE) not in name][::EACH])
def test_a_kept_trace_of_tlc_is_made_again_the_same(name: str) -> None:
    needs_tlc()
    if not is_known(tlc_jar()):
        pytest.skip("another version of TLC may search and walk otherwise")
    order, walk = order_of(read_file(KEPT[name]).meta)

    assert write_trace(traces(order)[walk - 1]) == KEPT[name].read_text(encoding="utf-8")
