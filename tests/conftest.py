"""One worker of xdist runs all tests that share a Spark session, so that a single session is started.

pytest-xdist 3.8 writes a test's `xdist_group` into its node ID, which pytest 9.2 no longer lets it change: by
itself ``--dist loadgroup`` groups nothing there. So the folder of a test decides.
"""

from __future__ import annotations

from typing import Any

import pytest

SPARK = "tests/conformance/frontends/campaign/"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> object | None:
    if config.getoption("dist") != "loadgroup":
        return None
    from xdist.scheduler import LoadGroupScheduling

    class OneSession(LoadGroupScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return "spark" if nodeid.startswith(SPARK) else str(super()._split_scope(nodeid))

    return OneSession(config, log)
