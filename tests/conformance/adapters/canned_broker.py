"""Brokers that answer every program with the same short history, and live ones that do next to nothing: what
the commands and the plugin are tested with, independent of the reference broker. Stands for the module in a
user's own folder, too."""

import threading
from collections.abc import Sequence

from partq.conformance.adapters import Broker, Client, Shares, SimulatedBroker, Unreachable
from partq.conformance.history import History
from partq.conformance.history.notation import history
from partq.conformance.workload.program import Program
from partq.model.messages import Delivery, Message
from partq.model.profiles import Entity

TOGETHER = "p1 send m1 key=a\np2 send m2 key=a\np3 peek 5 -> m1#3.1 key=a, m2#3.2 key=a"
SPLIT = "p1 send m1 key=a\np2 send m2 key=a\np3 peek 5 -> m1#3.1 key=a, m2#4.1 key=a"
HEAP = (
    "\n".join(f"p1 send m{n}" for n in range(80))
    + "\np2 peek 80 -> "
    + ", ".join(f"m{n}#3.{n}" for n in range(80))
)


class Canned(SimulatedBroker):
    """Shows the same whatever is asked."""

    profile = "azure-premium"
    shows = TOGETHER

    def lacks(self) -> frozenset[str]:
        return frozenset()

    def simulate(self, program: Program) -> History:
        return history(self.shows, self.profile)


class Split(Canned):
    shows = SPLIT


class Heap(Canned):
    """Breaks a SHOULD row only (ROUTE-4)."""

    shows = HEAP


class Overtaken(Canned):
    """Out of order, or lost: which of them is not to be told."""

    profile = "azure-flat"
    shows = "p1 send m1\np1 send m2\np2 receive 1 delete -> m2#2"


class Silent(Canned):
    shows = ""


class Markup(Canned):
    shows = (
        'p1 send m1 key="[red]a[/red]"\np2 send m2 key="[red]a[/red]"\n'
        'p3 peek 5 -> m1#3.1 key="[red]a[/red]", m2#4.1 key="[red]a[/red]" body="\\u001b[31m\\u009b1m"'
    )


class Deaf(Canned):
    """Delivers to nobody but the drain."""

    shows = (
        "p1 send m1 key=a\np1 send m2 key=a\np1 receive 9 -> nothing\np2 receive 9 -> nothing\n"
        "drain receive 64 delete -> m1#3.1, m2#3.2\ndrain receive 64 delete -> nothing\nenv drained"
    )


class Stuck(Canned):
    """Its completions never return."""

    shows = (
        "p1 send m1 key=a\np1 receive 9 -> m1#3.1 lock=l until=30s\np1 complete l ...\nenv advance 31s\n"
        "drain receive 64 delete -> m1#3.1 count=1\nenv drained"
    )


class Busy(Canned):
    """Refuses what it is asked for, for now, time and again."""

    shows = "p1 send m1 -> error unavailable\np2 send m2 -> error quota\np1 send m3"


class Any(Canned):
    """Claims no profile."""

    profile = ""


class Gone(Canned):
    def simulate(self, program: Program) -> History:
        raise Unreachable("nobody listens at port 1: start the broker first")


class Broken(Canned):
    def simulate(self, program: Program) -> History:
        raise ZeroDivisionError("oh\ndear")


class Unmade(Canned):
    def __init__(self) -> None:
        raise OSError("no such file")


class Exits(Canned):
    def __init__(self) -> None:
        raise SystemExit(4)


class Profiled(Canned):
    """Claims a profile that there is not."""

    profile = "azure-best"


class Secretive(Canned):
    def profiles(self) -> tuple[str, ...]:
        raise KeyError("which?")


class Boasting(Canned):
    def lacks(self) -> frozenset[str]:
        raise ZeroDivisionError("nothing at all")


class Refusing(Broker):
    """A live broker that refuses everything, and so is always empty."""

    profile = "azure-premium"

    def connect(self, proc: str) -> Client:
        return Client()

    def is_empty(self) -> bool:
        return True

    def lacks(self) -> frozenset[str]:
        return frozenset()


class Jammed(Refusing):
    def open(self, entity: Entity) -> None:
        raise OSError("jammed")


class Clientless(Refusing):
    def connect(self, proc: str) -> Client:
        return None  # type: ignore[return-value]


class Liar(Client):
    """Sends well, and answers a receive with what no history can hold."""

    def send(self, message: Message, *, txn: str | None = None, timeout: float = 60.0) -> None:
        pass

    def receive(
        self, max_messages: int, *, mode: str = "peek_lock", timeout: float = 1.0
    ) -> Sequence[Delivery]:
        return [{"id": "m1"}]  # type: ignore[list-item]


class Lying(Refusing):
    def connect(self, proc: str) -> Client:
        return Liar()


class Forger(Liar):
    """Answers with a message that nobody sent."""

    def receive(
        self, max_messages: int, *, mode: str = "peek_lock", timeout: float = 1.0
    ) -> Sequence[Delivery]:
        return [Delivery("forged", seq=1)]


class Forging(Refusing):
    def connect(self, proc: str) -> Client:
        return Forger()


class Sociable(Refusing):
    """Opens only in company: two at once, or an error after some seconds."""

    shares = Shares.NOTHING
    meeting = threading.Barrier(2)

    def open(self, entity: Entity) -> None:
        self.meeting.wait(10)


class Solitary(Refusing):
    """Says that it may be run with others, and opens only without: so shows who runs it so all the same."""

    shares = Shares.NOTHING
    alone = threading.Lock()

    def open(self, entity: Entity) -> None:
        if not self.alone.acquire(blocking=False):
            raise OSError("somebody else is here")

    def close(self) -> None:
        self.alone.release()


NotABroker = dict
