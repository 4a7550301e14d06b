"""A client asks for what management shows of the entity."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from partq.conformance.workload.operations.record import Operation

OPERATIONS: Final[Mapping[str, Operation]] = {"get": Operation(written=lambda pen, held, action: None)}
