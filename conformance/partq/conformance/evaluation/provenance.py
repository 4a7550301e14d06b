"""When, where and with which versions results were made. No digest includes it."""

from __future__ import annotations

import platform
from datetime import UTC, datetime
from importlib.metadata import version


def made() -> dict[str, str]:
    """The time, the machine and the versions, each with its name."""
    return {
        "started": datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC"),
        "host": platform.node(),
        "system": f"{platform.system()} {platform.release()}, {platform.machine()}",
        "python": platform.python_version(),
        "partq": version("partq"),
    }
