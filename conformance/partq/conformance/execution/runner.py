"""A program on a broker: the history. Picks the driver; nothing is judged here."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from partq.conformance.adapters.protocol import Broker, SimulatedBroker, Unreachable
from partq.conformance.adapters.stage import StagedBroker
from partq.conformance.execution.cancellation import Stop
from partq.conformance.execution.live import Limits, LiveRun
from partq.conformance.execution.simulation import simulate
from partq.conformance.history import History
from partq.conformance.history.births import told_apart
from partq.conformance.history.codec import HistoryError, dumps
from partq.conformance.workload.program import Program

__all__ = ["DEFAULT_LIMITS", "Limits", "run"]

log = logging.getLogger(__name__)

DEFAULT_LIMITS: Final = Limits()


def run(
    broker: Broker,
    program: Program,
    *,
    limits: Limits = DEFAULT_LIMITS,
    on_problem: Callable[[str], None] = log.warning,
    stop: Stop | None = None,
) -> History:
    """Run the program and answer its history, in which the messages of an ID that was sent several times are
    told apart where nothing drops duplicates.

    ``on_problem`` is called with each error of the adapter, in words and once. Raises
    `Unreachable` where `Broker.open` does not do what it should, `Stopped` where ``stop`` was asked, what
    ``on_problem`` raises, and nothing that an adapter raises. The broker is closed in any case.
    """
    if isinstance(broker, StagedBroker):
        return simulate(broker, program)
    if isinstance(broker, SimulatedBroker):
        return told_apart(_storable(broker, broker.simulate(program)))
    return told_apart(LiveRun(broker, program, limits, on_problem, stop or Stop()).history())


def _storable(broker: SimulatedBroker, answer: object) -> History:
    """What a user's own broker answers, if it is a history that a file can hold. Raises `Unreachable`."""
    name = f"{type(broker).__name__}.simulate"
    if not isinstance(answer, History):
        raise Unreachable(f"{name} answered {type(answer).__name__}, which is no History")
    try:
        dumps(answer, f"{name} answered what no file can hold")
    except HistoryError as error:
        raise Unreachable(str(error)) from None
    except Exception as error:
        raise Unreachable(f"{name} answered what is no history: {type(error).__name__}: {error}") from error
    return answer
