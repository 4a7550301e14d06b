"""From a program's symbolic steps to concrete operations, one client at a time.

A `Script` remembers what its client holds (locks, an open transaction, a flow, numbers it has seen) and
turns the next step into arguments, or into nothing where the step makes no sense now. Pure: the
drivers (simulation, threads) do the calls and report to the script what came of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from partq.conformance.workload.program import Step
from partq.model.messages import Delivery
from partq.model.operations import UNAVAILABLE, Outcome

Args = Mapping[str, Any]


FORGED: Final = "no-client-was-given-this-lock"


class Script:
    """What one client of a running program holds. ``most_flows``: so many it may have at a time."""

    __slots__ = (
        "ended",
        "enlisted",
        "flows",
        "held",
        "last_flow",
        "last_txn",
        "most_flows",
        "proc",
        "seen",
        "serial",
        "txn",
    )

    def __init__(self, proc: str, most_flows: int = 1) -> None:
        self.proc = proc
        self.most_flows = most_flows
        self.held: list[str] = []
        self.ended: list[str] = []
        self.enlisted: list[str] = []
        self.seen: list[int] = []
        self.txn: str | None = None
        self.last_txn: str | None = None
        self.flows: list[str] = []
        self.last_flow: str | None = None
        self.serial = 0

    @property
    def flow(self) -> str | None:
        """The client's flow, or its first."""
        return self.flows[0] if self.flows else None

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

    def _send(self, args: Args) -> Args | None:
        if "txn" not in args and "ended" not in args:
            return args
        plain = {name: value for name, value in args.items() if name not in ("txn", "ended")}
        return self._in_txn(plain, args)

    def _in_txn(self, plain: dict[str, Any], args: Args) -> Args | None:
        """The arguments, in the transaction that the step asks for; None if there is none such."""
        if args.get("ended"):
            return {**plain, "txn": self.last_txn} if self.last_txn else None
        return {**plain, "txn": self.txn} if args.get("txn") and self.txn else plain

    def _settle(self, args: Args) -> Args | None:
        pool = self.enlisted if args.get("again") else self.ended if args.get("stale") else self.held
        chosen = _chosen(pool, args.get("pick", (0,)))
        if "lost" in args:
            chosen += _chosen(self.ended, args["lost"])
        if args.get("forged"):
            chosen.append(FORGED)
        return self._in_txn({"locks": tuple(dict.fromkeys(chosen))}, args) if chosen else None

    def _renew(self, args: Args) -> Args | None:
        settle = self._settle(args)
        return None if settle is None else {"lock": settle["locks"][0]}

    def _receive(self, args: Args) -> Args:
        if not self.flows:
            return {name: value for name, value in args.items() if name != "flow"} if "flow" in args else args
        return {**args, "flow": self.flows[args.get("flow", 0) % len(self.flows)]}

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
        txn = self.last_txn if args.get("ended") else self.txn
        return {"txn": txn} if txn else None

    def _bind(self, args: Args) -> Args | None:
        asked = {name: value for name, value in args.items() if name not in ("again", "another")}
        if not self.flows or (args.get("another") and len(self.flows) < self.most_flows):
            return {**asked, "flow": self._name("f")}
        return {**asked, "flow": self.flows[-1]} if args.get("again") else None

    def _unbind(self, args: Args) -> Args | None:
        if self.flows:
            return {"flow": self.flows[args.get("flow", 0) % len(self.flows)]}
        return {"flow": self.last_flow} if args.get("again") and self.last_flow else None

    def _disconnect(self, args: Args) -> Args | None:
        if len(self.flows) > 1:
            return None  # The record of a disconnect names one flow.
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
        enlisted = outcome == Outcome.OK and args.get("txn", self) == self.txn
        into = self.enlisted if enlisted else self.ended
        for lock in args["locks"]:
            if lock in self.held:
                self.held.remove(lock)
                into.append(lock)

    def _begun(self, args: Args, outcome: str, error: str | None, messages: tuple[Delivery, ...]) -> None:
        if outcome == Outcome.OK:
            self.txn = args["txn"]

    def _committed(self, args: Args, outcome: str, error: str | None, messages: tuple[Delivery, ...]) -> None:
        if args["txn"] == self.txn:
            self._finish(self.held if outcome == Outcome.ERROR else self.ended)

    def _rolled_back(
        self, args: Args, outcome: str, error: str | None, messages: tuple[Delivery, ...]
    ) -> None:
        if args["txn"] == self.txn:
            self._finish(self.held)

    def _finish(self, into: list[str]) -> None:
        into.extend(self.enlisted)
        self.enlisted.clear()
        self.last_txn, self.txn = self.txn, None

    def _bound(self, args: Args, outcome: str, error: str | None, messages: tuple[Delivery, ...]) -> None:
        if outcome != Outcome.ERROR:
            self.last_flow = args["flow"]
            if self.last_flow not in self.flows:
                self.flows.append(self.last_flow)

    def _unbound(self, args: Args, outcome: str, error: str | None, messages: tuple[Delivery, ...]) -> None:
        if outcome != Outcome.UNKNOWN and error not in UNAVAILABLE:
            self._left(args, outcome, error, messages)

    def _left(self, args: Args, outcome: str, error: str | None, messages: tuple[Delivery, ...]) -> None:
        if args.get("flow") in self.flows:
            self.flows.remove(args["flow"])
            if not self.flows:
                self.ended.extend(self.held)
                self.held.clear()


def _chosen(pool: list[str], picks: Sequence[int]) -> list[str]:
    """The locks at those indexes, which go round."""
    return [pool[pick % len(pool)] for pick in picks] if pool else []


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
    "disconnect": Script._left,
}
