"""What happens to a broker: faults, their repairs, and time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from partq.conformance.workload.operations.record import Operation
from partq.model.operations import Arg, Kind

_OF_PARTITION: Final = Operation(
    {"index": Arg(Kind.INT, required=True, meaning="0 … partitions-1")},
    written=lambda pen, held, action: {"index": action.partition or 0},
)
_PLAIN: Final = Operation(written=lambda pen, held, action: {})

FAULTS: Final[Mapping[str, Operation]] = {
    "partition_down": _OF_PARTITION,
    "partition_up": _OF_PARTITION,
    "frontend_lost": Operation(
        {"proc": Arg(Kind.TEXT, required=True, meaning="the client whose front end is lost")},
        written=lambda pen, held, action: {"proc": action.victim or ""},
    ),
    "broker_kill": _PLAIN,
    "broker_start": _PLAIN,
    "advance": _PLAIN._replace(args={"by": Arg(Kind.NS, required=True, meaning="ns")}),
}
