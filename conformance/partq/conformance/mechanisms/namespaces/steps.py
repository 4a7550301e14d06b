"""A client creates and deletes other entities of the namespace."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from partq.conformance.workload.operations.record import Operation
from partq.model.operations import Arg, Kind


def _asks(meaning: str) -> Operation:
    return Operation(
        {"settings": Arg(Kind.OBJECT, required=True, meaning=meaning)},
        retraced=lambda held, args: {"settings": args.get("settings", {})},
    )


OPERATIONS: Final[Mapping[str, Operation]] = {
    "create": _asks("its `name`, and whether it is `partitioned`"),
    "delete": _asks("its `name`"),
}
