"""Brokers that answer every program with the same short history: what the commands and the plugin are
tested with, independent of the reference broker. Stands for the module in a user's own folder, too."""

from partq.conformance.adapters import SimulatedBroker, Unreachable
from partq.conformance.history import History
from partq.conformance.notation import history
from partq.conformance.program import Program

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


class Silent(Canned):
    shows = ""


class Markup(Canned):
    shows = (
        'p1 send m1 key="[red]a[/red]"\np2 send m2 key="[red]a[/red]"\n'
        'p3 peek 5 -> m1#3.1 key="[red]a[/red]", m2#4.1 key="[red]a[/red]" body="\\u001b[31m\\u009b1m"'
    )


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


NotABroker = dict
