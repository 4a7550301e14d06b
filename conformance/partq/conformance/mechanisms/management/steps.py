"""A client asks for what management shows of the entity, or asks it to change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from partq.conformance.workload.operations.record import Operation
from partq.model.operations import Arg, Kind

OPERATIONS: Final[Mapping[str, Operation]] = {
    "get": Operation(),
    "update": Operation(
        {"settings": Arg(Kind.OBJECT, required=True, meaning="the settings to change, by name")},
        retraced=lambda held, args: {"settings": args.get("settings", {})},
    ),
}
