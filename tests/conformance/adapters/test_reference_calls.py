"""What the reference's front end is given for an operation that names only what it has to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from inspect import signature
from typing import Any

import pytest

from partq.conformance.adapters.reference_calls import CALLS
from partq.conformance.workload.operations.table import OPERATIONS
from partq.model.operations import OPS
from partq.reference_impl.flowend import FlowEnd
from partq.reference_impl.frontend import FrontEnd


class Listener:
    """A front end that does nothing but keep which of its methods was called, and with what."""

    def __init__(self) -> None:
        self.given: dict[str, Any] = {}
        self.annotations: dict[str, str] = {}

    def __getattr__(self, name: str) -> Callable[..., Iterator[None]]:
        shape = signature(getattr(FlowEnd if hasattr(FlowEnd, name) else FrontEnd, name))

        def method(*given: object) -> Iterator[None]:
            self.given = dict(list(shape.bind(self, *given).arguments.items())[1:])
            self.annotations = {one.name: str(one.annotation) for one in shape.parameters.values()}
            return iter(())

        return method


@pytest.mark.parametrize("op", CALLS)
def test_nothing_is_left_out_that_the_front_end_needs(op: str) -> None:
    end, named = Listener(), (*OPS[op].args.items(), *OPERATIONS[op].args.items())
    args = {name: object() for name, arg in named if arg.required}
    list(CALLS[op](end, object(), args))
    assert end.given
    assert not [
        name for name, value in end.given.items() if value is None and "None" not in end.annotations[name]
    ]
