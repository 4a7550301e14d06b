"""An operation is one record: who stores, runs or judges programs and histories knows none by name."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest

import partq.conformance.workload
from partq.conformance.adapters.calls import CALLS
from partq.conformance.adapters.protocol import CLIENT_OPS, FAULTS
from partq.conformance.adapters.reference_calls import OTHERWISE
from partq.conformance.workload.operations.record import Holdings
from partq.conformance.workload.operations.table import OPERATIONS
from partq.model.operations import OPS
from partq.reference_impl.flowend import FlowEnd

CONFORMANCE: Final = Path(partq.conformance.workload.__file__).parents[1]
ROOMS: Final = ("history", "workload", "adapters", "execution", "schemas", "oracle")

NAMING: Final[Mapping[str, str]] = {
    "workload/operations": "the records",
    "workload/cases": "programs, written out",
    "workload/phrases.py": "parts of programs, as are all phrases",
    "workload/flow_phrases.py": "phrases",
    "workload/request_phrases.py": "phrases",
    "workload/trouble_phrases.py": "phrases",
    "workload/weights.py": "names of phrases, some of which are those of operations",
    "workload/meetings.py": "the same",
    "workload/tours.py": "the words of the model's scopes",
    "workload/traces.py": "the words of the TLA+ specification",
    "oracle/roles.py": "what each is to the judge",
    "adapters/reference.py": "what that broker lacks",
    "adapters/reference_calls.py": "a broker's methods",
    "adapters/rabbitmq.py": "what that broker lacks",
    "adapters/rabbitmq_client.py": "the event that it reports",
}
"""Who may name operations, and as what."""

ALSO_OTHER_WORDS: Final = {"get", "delete"}


def named(source: str) -> Iterator[str]:
    """The operations that stand in a source as text."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from {node.value} & OPS.keys() - ALSO_OTHER_WORDS


def test_no_kernel_between_program_and_verdict_names_an_operation() -> None:
    found = set()
    for path in (path for room in ROOMS for path in (CONFORMANCE / room).rglob("*.py")):
        place = path.relative_to(CONFORMANCE).as_posix()
        if next(named(path.read_text(encoding="utf-8")), None) is not None:
            found.add(next((known for known in NAMING if place.startswith(known)), place))
    assert found == NAMING.keys()


def test_a_name_that_stands_in_a_kernel_is_found() -> None:
    assert [*named('if step.op == "receive": pass')] == ["receive"]
    assert [*named('KNOWN = {"renew_lock": 1}')] == ["renew_lock"]
    assert [*named('"""What a receive may be."""\nreceive = OPS[op].delivers')] == []


def test_a_step_is_an_operation_that_an_adapter_can_be_asked_for() -> None:
    assert OPERATIONS.keys() <= OPS.keys()
    assert {op for op in OPERATIONS if not OPS[op].env} <= {*CLIENT_OPS}
    assert {*CLIENT_OPS} == CALLS.keys()
    assert {op for op in OPERATIONS if OPS[op].fault} == {*FAULTS}


def test_the_reference_has_a_method_of_its_name_or_is_asked_otherwise() -> None:
    assert all(op in OTHERWISE or callable(getattr(FlowEnd, op)) for op in CLIENT_OPS)


@pytest.mark.parametrize("op", CALLS)
def test_a_client_takes_arguments_of_the_alphabet(op: str) -> None:
    call, known = CALLS[op], OPS[op].args
    assert {*call.asked, *call.named} <= known.keys()
    assert not any(known[name].required for name in call.named)


@pytest.mark.parametrize("op", OPERATIONS)
def test_a_step_that_may_find_nothing_to_do_says_why_and_no_other(op: str) -> None:
    busy = Holdings("c")
    busy.txn, busy.flows = "t", ["f", "g"]
    asked = ({}, {"ended": True}, {"from": 0}, {"max": 1})
    resolve = OPERATIONS[op].resolve
    ways = ((holder, {"max": 1, **args}) for holder in (Holdings("c"), busy) for args in asked)
    assert bool(OPERATIONS[op].idle) == any(resolve(*way) is None for way in ways if resolve is not None)


@pytest.mark.parametrize("op", OPERATIONS)
def test_what_a_step_says_is_explained(op: str) -> None:
    assert all(arg.meaning for arg in OPERATIONS[op].args.values())
