"""The garbage collector, paused while a whole history is made, read or judged, and kept off what stays.

A history is one large heap of objects without cycles. Whoever makes it or goes through it makes objects
by the thousand; every few hundred start a collection, which goes through what there is and frees nothing.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Final

SELDOM: Final = 100_000
"""So many more objects start a collection: a few traces make as many, and hardly any in cycles."""


@contextmanager
def paused() -> Iterator[None]:
    """Without garbage collection; afterwards it is as it was, and frees what cycles were made meanwhile."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@cache
def leave_out() -> None:
    """Leave what there is at the first call, modules above all, out of all collections to come, and have
    these come seldom. For a process that does one thing over and over."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(SELDOM)
