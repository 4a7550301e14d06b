"""What a third-party broker answers becomes in a history, or is refused: of sessions, and of its settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from partq.conformance.adapters.protocol import Broker, Client, Rejected
from partq.conformance.execution.adapter_calls import open_queue, operate
from partq.model.messages import Delivery, Session, SessionState
from partq.model.operations import Outcome
from partq.model.profiles import SECOND, Entity

END = 30_000_000_000


class Sessions(Client):
    """Answers what it is given, and notes what it was asked."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.asked: list[Any] = []

    def accept_session(self, *, session_id: str | None = None, timeout: float = 1.0) -> Session:
        self.asked += [session_id, timeout]
        return self._answer()

    def receive_session(
        self, session_id: str, max_messages: int, *, mode: str = "peek_lock", timeout: float = 1.0
    ) -> Sequence[Delivery]:
        self.asked += [session_id, max_messages, mode]
        return self._answer()

    def renew_session(self, session_id: str) -> Session | None:
        self.asked.append(session_id)
        return self._answer()

    def get_session_state(self, session_id: str) -> SessionState:
        self.asked.append(session_id)
        return self._answer()

    def set_session_state(self, session_id: str, state: str) -> None:
        self.asked += [session_id, state]

    def _answer(self) -> Any:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.mark.parametrize(
    ("op", "args", "answer", "asked", "told"),
    [
        ("accept_session", {"session_id": "s"}, Session("s", END), ["s", 1.0], {"locked_until": END}),
        ("accept_session", {"session_id": "s"}, Session("s"), ["s", 1.0], {}),
        (
            "accept_session",
            {"next": True},
            Session("t", END),
            [None, 1.0],
            {"session_id": "t", "locked_until": END},
        ),
        ("renew_session", {"session_id": "s"}, Session("s", END), ["s"], {"locked_until": END}),
        ("renew_session", {"session_id": "s"}, None, ["s"], {}),
        ("get_session_state", {"session_id": "s"}, SessionState("3 done"), ["s"], {"state": "3 done"}),
        ("get_session_state", {"session_id": "s"}, SessionState(""), ["s"], {"state": ""}),
        ("set_session_state", {"session_id": "s", "state": ""}, None, ["s", ""], {}),
    ],
)
def test_what_an_answer_gives_is_recorded_with_the_arguments(
    op: str, args: dict[str, Any], answer: Any, asked: list[Any], told: dict[str, Any]
) -> None:
    client = Sessions(answer)
    result = operate(lambda: client, op, args, lambda: 0)
    assert (result.outcome, result.error, result.problem) == (Outcome.OK, None, "")
    assert client.asked == asked
    assert {**args, **(result.args or {})} == {**args, **told}


def test_messages_of_a_session_are_recorded_as_of_any_receive() -> None:
    client = Sessions([Delivery("m1", lock="l", session_id="s")])
    result = operate(lambda: client, "receive_session", {"session_id": "s", "max": 2}, lambda: 0)
    assert client.asked == ["s", 2, "peek_lock"]
    assert [shown.id for shown in result.messages] == ["m1"]


@pytest.mark.parametrize(
    ("op", "answer", "problem"),
    [
        ("accept_session", "s", "accept_session answered str, which is no Session"),
        ("renew_session", SessionState("x"), "renew_session answered SessionState, which is no Session"),
        ("get_session_state", "x", "get_session_state answered str, which is no SessionState"),
        ("get_session_state", None, "get_session_state answered NoneType, which is no SessionState"),
        ("get_session_state", SessionState(3), "state"),  # type: ignore[arg-type]  # as an adapter may
        ("accept_session", Session("s", "soon"), "locked_until"),  # type: ignore[arg-type]  # as an adapter may
    ],
)
def test_any_other_answer_is_the_adapter_s_mistake(op: str, answer: Any, problem: str) -> None:
    result = operate(lambda: Sessions(answer), op, {"session_id": "s"}, lambda: 0)
    assert (result.outcome, result.error) == (Outcome.UNKNOWN, "adapter")
    assert problem in result.problem


def test_a_refusal_is_a_definite_no() -> None:
    result = operate(
        lambda: Sessions(Rejected("session_locked")), "accept_session", {"session_id": "s"}, lambda: 0
    )
    assert (result.outcome, result.error) == (Outcome.ERROR, "session_locked")


@pytest.mark.parametrize(
    ("heeds", "answers", "timeout"),
    [((), None, 120), ((), 5, 120), ((), 60, 60), (("transaction_timeout",), None, 5)],
)
def test_a_setting_that_few_brokers_know_is_theirs_if_they_say_so(
    heeds: tuple[str, ...], answers: int | None, timeout: int
) -> None:
    class Opened(Broker):
        def open(self, entity: Entity) -> Entity | None:
            return None if answers is None else replace(entity, transaction_timeout=answers * SECOND)

    broker, asked = Opened(), Entity(transaction_timeout=5 * SECOND, lock_duration=7)
    broker.heeds = frozenset(heeds)  # type: ignore[misc]  # one class for all of them
    assert open_queue(broker, asked) == replace(asked, transaction_timeout=timeout * SECOND)
