"""Scripts: what symbolic steps mean to a client, by what it holds."""

from __future__ import annotations

from typing import Any

import pytest

from partq.conformance.workload import program as programs
from partq.conformance.workload.operations.settling import FORGED
from partq.conformance.workload.program import InvalidProgram, Program, Step
from partq.conformance.workload.script import Script
from partq.model.messages import Delivery


def play(script: Script, op: str, answer: str = "ok", locks: tuple[str, ...] = (), **args: Any) -> Any:
    """Resolve one step and let it be answered so; its arguments."""
    found = script.resolve(Step(script.proc, op, args), 0)
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


def test_a_settlement_may_name_lost_locks_and_one_of_nobody() -> None:
    script = Script("c")
    play(script, "receive", locks=("k", "l", "m"), max=3)
    play(script, "complete", pick=[1])
    assert play(script, "abandon", "error", pick=[0, 1], lost=[0])["locks"] == ("k", "m", "l")
    assert play(script, "abandon", "error", pick=[], lost=[3])["locks"] == ("l",)
    assert play(script, "abandon", "error", pick=[0], forged=True)["locks"] == ("k", FORGED)
    assert play(Script("d"), "complete", "error", pick=[0], forged=True) == {"locks": (FORGED,)}
    assert play(Script("d"), "complete", pick=[0], lost=[0]) is None


def test_what_is_asked_for_in_an_ended_transaction_does_not_touch_the_open_one() -> None:
    script = Script("c")
    assert play(script, "commit", ended=True) is None and play(script, "send", ended=True) is None
    play(script, "receive", locks=("k", "l"), max=2)
    play(script, "begin")
    play(script, "rollback")
    play(script, "begin")
    play(script, "complete", pick=[0], txn=True)
    assert play(script, "send", "error", ended=True) == {"txn": "c-t1"}
    assert play(script, "complete", "ok", pick=[0], ended=True) == {"locks": ("l",), "txn": "c-t1"}
    assert play(script, "commit", "ok", ended=True) == {"txn": "c-t1"}
    assert (script.txn, script.enlisted, script.ended) == ("c-t2", ["k"], ["l"])


def test_a_client_may_have_as_many_flows_as_the_driver_allows() -> None:
    alone, script = Script("c"), Script("c", most_flows=2)
    for asked in (alone, script):
        play(asked, "bind")
    assert play(alone, "bind", another=True) is None
    assert play(script, "bind", another=True) == {"flow": "c-f2"}
    assert play(script, "bind", another=True) is None
    assert play(script, "receive", max=1, flow=1) == {"max": 1, "flow": "c-f2"}
    assert play(script, "receive", max=1) == {"max": 1, "flow": "c-f1"}
    assert play(script, "disconnect") is None
    assert play(script, "unbind", flow=1) == {"flow": "c-f2"}
    assert play(script, "receive", max=1, flow=1) == {"max": 1, "flow": "c-f1"}
    assert play(script, "disconnect") == {"flow": "c-f1"}
    assert play(script, "receive", max=1, flow=1) == {"max": 1}


def test_steps_done_again_are_stored_and_read() -> None:
    steps = tuple(Step("c", op, {"again": True}) for op in ("bind", "unbind", "complete", "abandon"))
    built = Program("solace", steps)
    assert programs.from_json(programs.to_json(built)) == built
    with pytest.raises(InvalidProgram, match="again"):
        programs.from_json(programs.to_json(Program("solace", (Step("c", "commit", {"again": True}),))))
