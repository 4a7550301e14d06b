"""What the status of a message is, and what each means to every mechanism: a table.

Mechanisms ask for these properties; the order of the numbers means nothing.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from . import messages

RESERVED: Final = 0
"""Sent in a transaction that is not committed, and numbered already: nobody sees it."""
LAGGING: Final = 1
"""Committed, and not yet visible (TXN-5)."""
FRESH: Final = 2
"""To be delivered in the order of numbers. With flows also what came back from a lost flow (REB-3)."""
CACHED: Final = 3
"""Never delivered, but locked by a front end that fetched it (RCV-5): `Entry.lock` says until when."""
LOCKED: Final = 4
"""Locked for a client."""
BACK: Final = 5
"""A lock on it ended; the order of its redelivery is free (RCV-3)."""
SCHEDULED: Final = 6
"""To be activated, from `Entry.due` on (SCH)."""
WITHDRAWN: Final = 7
"""Scheduled, and cancelled: when it was due already it may be gone, or still be activated (SCH-5); otherwise
its number alone is remembered (due never)."""
OVERDUE: Final = 8
"""Its time had come when it was sent: it is about to be activated, and `Entry.number` is -1 until then."""
DEFERRED: Final = 9
"""Set aside by its holder, to be received by its number alone (RCV-10)."""
PARTING: Final = 10
"""Dead-lettered, and not yet in the dead-letter queue."""
FADING: Final = 11
"""Gone by a commit, and perhaps not yet to peeks (TXN-5): until one does not show it."""

UNCOUNTED: Final = -(2**62)
"""`Entry.tries` where no rule binds the count: in the dead-letter queue."""


class Status(NamedTuple):
    """What the status of a message means to every mechanism. ``visible``: a peek may show it; ``certain``:
    and has to. ``struck``: a fault may have ended a lock of it that nobody has seen. ``kept``: it is still
    there when the entity is found empty; ``vanishes``: it may be gone by then, whatever came before.
    ``loose``: no lock holds it, and a new one may. ``label``: as what a peek shows it, if not as active."""

    name: str
    visible: bool = True
    certain: bool = True
    struck: bool = True
    kept: bool = False
    vanishes: bool = False
    loose: bool = False
    label: str = ""


STATUSES: Final = (
    Status("reserved", visible=False, certain=False, struck=False, kept=True),
    Status("lagging", certain=False),
    Status("fresh", loose=True),
    Status("cached"),
    Status("locked"),
    Status("back", loose=True),
    Status("scheduled", struck=False, label=messages.SCHEDULED),
    Status("withdrawn", visible=False, certain=False, struck=False, vanishes=True),
    Status("overdue", visible=False, certain=False, struck=False),
    Status("deferred", struck=False, loose=True, label=messages.DEFERRED),
    Status("parting", visible=False, certain=False, struck=False, kept=True),
    Status("fading", certain=False, struck=False, vanishes=True),
)
VISIBLE: Final = tuple(status.visible for status in STATUSES)
CERTAIN: Final = tuple(status.certain for status in STATUSES)
"""These properties by status, as they are asked for with every message of a peek."""
LOOSE: Final = frozenset(number for number, status in enumerate(STATUSES) if status.loose)
LABELS: Final = frozenset({messages.DEFERRED, messages.SCHEDULED})
"""As what a peek may show a message; any other text says nothing of it."""


COUNTED: Final = 0
"""Peeks show the delivery count."""
OWED: Final = 1
"""The last lock's end is counted when the message is delivered again, at the latest: until a peek shows the
count, peeks may show one less."""
SHOWN: Final = 2
"""A peek showed the count, which RCV-9, waived, does not bind: so the next peek shows it again (PEEK-6)."""
