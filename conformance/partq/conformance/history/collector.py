"""The garbage collector, paused while a whole history is made or read.

A history is one large heap of objects without cycles. Whoever makes it or goes through it makes objects
by the thousand; every few hundred start a collection, which goes through what there is and frees nothing.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


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
