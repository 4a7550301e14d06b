"""Scripts: what symbolic steps mean to a client, by what it holds."""

from __future__ import annotations

from typing import Any

import pytest

from partq.conformance import program as programs
from partq.conformance.program import InvalidProgram, Program, Step
from partq.conformance.script import Script
from partq.model.messages import Delivery


def play(script: Script, op: str, answer: str = "ok", locks: tuple[str, ...] = (), **args: Any) -> Any:
    """Resolve one step and let it be answered so; its arguments."""
    found = script.resolve(Step(script.proc, op, args))
    if found is not None:
        shown = tuple(Delivery(f"m-{lock}", lock=lock) for lock in locks)
        script.absorb(op, found, answer, "invalid_operation" if answer == "error" else None, shown)
    return found


def test_a_lock_is_settled_again_only_in_the_transaction_that_settled_it() -> None:
    script = Script("c")
    play(script, "receive", locks=("k", "l"), max=2)
    assert play(script, "complete", pick=[0], again=True) is None
    play(script, "begin")
    play(script, "complete", pick=[1], txn=True)
    assert play(script, "complete", pick=[1], txn=True) == {"locks": ("k",), "txn": "c-t1"}
    for asked in ({"txn": True}, {}):
        found = play(script, "abandon", "error", pick=[0], again=True, **asked)
        assert found["locks"] == ("l",)
        assert ("txn" in found) == bool(asked)
    play(script, "rollback")
    assert play(script, "complete", pick=[0], again=True) is None
    assert sorted(script.held) == ["k", "l"]


def test_a_settlement_names_each_lock_once_and_one_at_least() -> None:
    script = Script("c")
    play(script, "receive", locks=("k", "l"), max=2)
    assert play(script, "complete", "error", pick=[0, 2, 1, 1]) == {"locks": ("k", "l")}
    assert play(script, "complete", pick=[]) is None
    assert play(script, "renew_lock", pick=[]) is None


def test_a_flow_binds_again_under_its_name_and_leaves_again_by_it() -> None:
    script = Script("c")
    assert play(script, "unbind", again=True) is None
    assert play(script, "bind", again=True) == {"flow": "c-f1"}
    assert play(script, "bind") is None
    assert play(script, "bind", "error", again=True) == {"flow": "c-f1"}
    assert play(script, "unbind") == {"flow": "c-f1"}
    assert play(script, "unbind") is None
    assert play(script, "unbind", "error", again=True) == {"flow": "c-f1"}
    assert play(script, "bind") == {"flow": "c-f2"}


def test_steps_done_again_are_stored_and_read() -> None:
    steps = tuple(Step("c", op, {"again": True}) for op in ("bind", "unbind", "complete", "abandon"))
    built = Program("solace", steps)
    assert programs.from_json(programs.to_json(built)) == built
    with pytest.raises(InvalidProgram, match="again"):
        programs.from_json(programs.to_json(Program("solace", (Step("c", "commit", {"again": True}),))))
