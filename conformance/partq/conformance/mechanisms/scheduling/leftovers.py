"""What a drain does about scheduled messages: it waits."""

from __future__ import annotations

from typing import Final

from partq.conformance.execution.drain import Leftover
from partq.model.messages import SCHEDULED

LEFTOVERS: Final = (Leftover(SCHEDULED, waits=True),)
