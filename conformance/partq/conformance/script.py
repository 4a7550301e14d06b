"""From a program's symbolic steps to concrete operations, one client at a time.

A `Script` remembers what its client holds (locks, an open transaction, a flow, numbers it has seen) and
turns the next step into arguments, or into nothing where the step makes no sense now. Pure: the
drivers (simulation, threads) do the calls and tell the script what came of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from partq.model.messages import Delivery
from partq.model.operations import Outcome

from .program import Step

Args = Mapping[str, Any]


class Script:
    """What one client of a running program holds."""

    __slots__ = ("ended", "enlisted", "flow", "held", "last_flow", "proc", "seen", "serial", "txn")

    def __init__(self, proc: str) -> None:
        self.proc = proc
        self.held: list[str] = []
        self.ended: list[str] = []
        self.enlisted: list[str] = []
        self.seen: list[int] = []
        self.txn: str | None = None
        self.flow: str | None = None
        self.last_flow: str | None = None
        self.serial = 0

    def resolve(self, step: Step) -> Args | None:
        """The step's operation arguments as a history records them, or None: nothing to do."""
        resolver = _RESOLVERS.get(step.op)
        return step.args if resolver is None else resolver(self, step.args)

    def absorb(
        self, op: str, args: Args, outcome: str, error: str | None, messages: tuple[Delivery, ...]
    ) -> None:
        """Learn from what came of an operation."""
        learn = _LEARNERS.get(op)
        if learn is not None:
            learn(self, args, outcome, error, messages)

    def _name(self, kind: str) -> str:
        self.serial += 1
        return f"{self.proc}-{kind}{self.serial}"

    def _send(self, args: Args) -> Args:
        if "txn" not in args:
            return args
        return _with_txn({k: v for k, v in args.items() if k != "txn"}, self.txn if args["txn"] else None)

    def _settle(self, args: Args) -> Args | None:
        pool = self.enlisted if args.get("again") else self.ended if args.get("stale") else self.held
        if not pool:
            return None
        locks = tuple(dict.fromkeys(pool[k % len(pool)] for k in args.get("pick", (0,))))
        if not locks:
            return None
        return _with_txn({"locks": locks}, self.txn if args.get("txn") else None)

    def _renew(self, args: Args) -> Args | None:
        settle = self._settle(args)
        return None if settle is None else {"lock": settle["locks"][0]}

    def _receive(self, args: Args) -> Args:
        return args if self.flow is None else {**args, "flow": self.flow}

    def _peek(self, args: Args) -> Args | None:
        start = args.get("from", "cursor")
        if start == "cursor":
            return {"max": args["max"]}
        if start == "start":
            return {"max": args["max"], "from_seq": 0}
        return {"max": args["max"], "from_seq": self.seen[start % len(self.seen)]} if self.seen else None

    def _begin(self, args: Args) -> Args | None:
        return None if self.txn else {"txn": self._name("t")}

    def _end(self, args: Args) -> Args | None:
        return {"txn": self.txn} if self.txn else None

    def _bind(self, args: Args) -> Args | None:
        asked = {name: value for name, value in args.items() if name != "again"}
        if self.flow is None:
            return {**asked, "flow": self._name("f")}
        return {**asked, "flow": self.flow} if args.get("again") else None

    def _unbind(self, args: Args) -> Args | None:
        flow = self.flow or (self.last_flow if args.get("again") else None)
        return {"flow": flow} if flow else None

    def _disconnect(self, args: Args) -> Args:
        return args if self.flow is None else {**args, "flow": self.flow}

    def _received(self, args: Args, outcome: str, error: str | None, messages: tuple[Delivery, ...]) -> None:
        for delivery in messages:
            if delivery.lock is not None:
                self.held.append(delivery.lock)
            if delivery.seq is not None:
                self.seen.append(delivery.seq)

    def _peeked(self, args: Args, outcome: str, error: str | None, messages: tuple[Delivery, ...]) -> None:
        self.seen.extend(delivery.seq for delivery in messages if delivery.seq is not None)

    def _settled(self, args: Args, outcome: str, error: str | None, messages: tuple[Delivery, ...]) -> None:
        if outcome == Outcome.ERROR and error != "lock_lost":
            return
        into = self.enlisted if "txn" in args and outcome == Outcome.OK else self.ended
        for lock in args["locks"]:
            if lock in self.held:
                self.held.remove(lock)
                into.append(lock)

    def _begun(self, args: Args, outcome: str, error: str | None, messages: tuple[Delivery, ...]) -> None:
        if outcome == Outcome.OK:
            self.txn = args["txn"]

    def _committed(self, args: Args, outcome: str, error: str | None, messages: tuple[Delivery, ...]) -> None:
        self._finish(self.held if outcome == Outcome.ERROR else self.ended)

    def _rolled_back(
        self, args: Args, outcome: str, error: str | None, messages: tuple[Delivery, ...]
    ) -> None:
        self._finish(self.held)

    def _finish(self, into: list[str]) -> None:
        into.extend(self.enlisted)
        self.enlisted.clear()
        self.txn = None

    def _bound(self, args: Args, outcome: str, error: str | None, messages: tuple[Delivery, ...]) -> None:
        if outcome == Outcome.OK:
            self.flow = self.last_flow = args["flow"]

    def _unbound(self, args: Args, outcome: str, error: str | None, messages: tuple[Delivery, ...]) -> None:
        if self.flow is not None:
            self.ended.extend(self.held)
            self.held.clear()
        self.flow = None


def _with_txn(args: dict[str, Any], txn: str | None) -> dict[str, Any]:
    if txn is not None:
        args["txn"] = txn
    return args


Learner = Callable[[Script, Args, str, str | None, tuple[Delivery, ...]], None]

_RESOLVERS: Final[Mapping[str, Callable[[Script, Args], Args | None]]] = {
    "send": Script._send,
    "send_batch": Script._send,
    "receive": Script._receive,
    "complete": Script._settle,
    "abandon": Script._settle,
    "renew_lock": Script._renew,
    "peek": Script._peek,
    "begin": Script._begin,
    "commit": Script._end,
    "rollback": Script._end,
    "bind": Script._bind,
    "unbind": Script._unbind,
    "disconnect": Script._disconnect,
}

_LEARNERS: Final[Mapping[str, Learner]] = {
    "receive": Script._received,
    "peek": Script._peeked,
    "complete": Script._settled,
    "abandon": Script._settled,
    "begin": Script._begun,
    "commit": Script._committed,
    "rollback": Script._rolled_back,
    "bind": Script._bound,
    "unbind": Script._unbound,
    "disconnect": Script._unbound,
}
