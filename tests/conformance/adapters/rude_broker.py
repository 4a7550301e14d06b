"""Brokers that misbehave around their answers: they quit, print, change the folder, hang, crash, leave
processes. Their answers are those of `canned_broker`."""

import ctypes
import os
import subprocess
import sys
import threading
from typing import NoReturn

from canned_broker import Canned, Refusing

from partq.conformance.history import History
from partq.conformance.workload.program import Program

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


class Crashes(Canned):
    def simulate(self, program: Program) -> History:
        ctypes.string_at(0)
        return super().simulate(program)
