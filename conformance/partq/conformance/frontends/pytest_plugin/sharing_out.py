"""How workers of xdist share out a session's items: the items of a profile go to one worker together, any
others as ``--dist loadgroup`` has it, or singly. The only module that needs xdist."""

from __future__ import annotations

from typing import Final

from xdist.scheduler import LoadGroupScheduling

MODES: Final = ("load", "worksteal", "loadgroup")
"""The modes that might spread a profile's items. The others that share out go by the part before the last
``::``, which the items of a profile have in common."""


class Together(LoadGroupScheduling):  # type: ignore[misc]  # xdist has no types
    """``prefix``: what the IDs of our items begin with."""

    prefix = "partq::"

    def _split_scope(self, nodeid: str) -> str:
        if nodeid.startswith(self.prefix):
            return nodeid.rpartition("::")[0]
        scope: str = super()._split_scope(nodeid)
        return scope
