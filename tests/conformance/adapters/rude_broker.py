"""Brokers that misbehave around their answers: they quit, print, change the folder, hang, crash, leave
processes. Their answers are those of `canned_broker`."""

import ctypes
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from typing import NoReturn

from canned_broker import Canned, Refusing, Split

from partq.conformance.adapters import Client, Rejected
from partq.conformance.history import History
from partq.conformance.history.notation import history
from partq.conformance.workload.program import Program
from partq.model.messages import Delivery, Message
from partq.model.profiles import Entity

NEVER = threading.Event()


class QuitsInLacks(Canned):
    def lacks(self) -> NoReturn:
        raise SystemExit(0)


class EndsInLacks(Canned):
    def lacks(self) -> NoReturn:
        raise GeneratorExit


class InterruptsInLacks(Canned):
    def lacks(self) -> NoReturn:
        raise KeyboardInterrupt


class QuitsInProfiles(Canned):
    def profiles(self) -> NoReturn:
        raise SystemExit(0)


class EndsInInit(Canned):
    def __init__(self) -> None:
        raise GeneratorExit


class QuitsInSimulate(Canned):
    def simulate(self, program: Program) -> NoReturn:
        raise SystemExit(0)


class EndsInSimulate(Canned):
    def simulate(self, program: Program) -> NoReturn:
        raise GeneratorExit


class QuitsLive(Refusing):
    """Of an open broker, whose `lacks` is asked again for each run."""

    asked = 0

    def lacks(self) -> frozenset[str]:
        type(self).asked += 1
        if self.asked > 1:
            raise SystemExit(0)
        return frozenset()


class HangsInLacks(Canned):
    def lacks(self) -> frozenset[str]:
        NEVER.wait()
        return frozenset()


class HangsInInit(Canned):
    def __init__(self) -> None:
        NEVER.wait()


class HangsInProfiles(Canned):
    def profiles(self) -> tuple[str, ...]:
        NEVER.wait()
        return ()


class Prints(Canned):
    """In every way: by Python, to the descriptor, in another process."""

    def simulate(self, program: Program) -> History:
        print("printed")
        sys.stdout.flush()
        os.write(1, b"written\n")
        subprocess.run([sys.executable, "-c", "print('said elsewhere')"], check=True)
        return super().simulate(program)


class Wanders(Split):
    """Makes another folder the current one, and stays there."""

    def simulate(self, program: Program) -> History:
        os.chdir("/")
        return super().simulate(program)


class Mutates(Client):
    """Does what it likes with what it was given."""

    def send(self, message: Message, *, txn: str | None = None, timeout: float = 60.0) -> None:
        object.__setattr__(message, "id", "mutated")

    def receive(
        self, max_messages: int, *, mode: str = "peek_lock", timeout: float = 1.0
    ) -> Sequence[Delivery]:
        raise Rejected("unavailable")


class Mutating(Refusing):
    client_class = Mutates

    def open(self, entity: Entity) -> None:
        object.__setattr__(entity, "partitions", 77)

    def connect(self, proc: str) -> Client:
        return Mutates()


class Leaves(Canned):
    """Leaves a process behind, and one more in a session of its own."""

    def simulate(self, program: Program) -> History:
        for own, output in ((False, None), (True, subprocess.DEVNULL)):
            code = "import threading; threading.Event().wait(60)"
            command = [sys.executable, "-c", code]
            left = subprocess.Popen(command, start_new_session=own, stdout=output, stderr=output)
            print(f"left {left.pid}")
        return super().simulate(program)


class Forks(Canned):
    """One of two processes comes back late, and with its own results."""

    def simulate(self, program: Program) -> History:
        if os.fork() == 0:
            NEVER.wait(0.5)
        return super().simulate(program)


HUGE = "x" * 11_000_000


class HugeAnswers(Client):
    """Sends well, and shows a body that no line of a history has room for."""

    def send(self, message: Message, *, txn: str | None = None, timeout: float = 60.0) -> None:
        pass

    def receive(
        self, max_messages: int, *, mode: str = "peek_lock", timeout: float = 1.0
    ) -> Sequence[Delivery]:
        return [Delivery("m1", HUGE)]


class Huge(Refusing):
    client_class = HugeAnswers

    def connect(self, proc: str) -> Client:
        return HugeAnswers()


class HugeSimulated(Canned):
    def simulate(self, program: Program) -> History:
        return history(f"p1 send m1 body={HUGE}", self.profile)


class Historyless(Canned):
    def simulate(self, program: Program) -> History:
        return [1]  # type: ignore[return-value]


class Crashes(Canned):
    def simulate(self, program: Program) -> History:
        ctypes.string_at(0)
        return super().simulate(program)
