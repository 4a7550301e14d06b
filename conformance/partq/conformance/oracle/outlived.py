"""What a history shows of flows after a kill of the broker: which went on, and which were gone.

Where that is not certain, the model tries both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from partq.conformance.oracle.effects import MAYBE, Effect
from partq.conformance.oracle.roles import BINDS, DELIVERS, KILLS, LEAVES, TELLS, UNBINDS
from partq.model.grouping import grouped
from partq.model.operations import FOR_GOOD, UNDOES, Outcome

_THERE, _GONE, _LIKELY = range(3)

_TOLD: Final = {"ready": _THERE, "paused": _THERE, "unbound": _GONE}
"""What the state of its partition shows of a flow."""


def with_fates(effects: list[Effect], margin: int) -> None:
    """Note at each kill which flows outlived it. ``margin``: so long after the broker is back, ns, an event
    may tell of what was before."""
    kills = [n for n, effect in enumerate(effects) if effect.action.op == KILLS]
    binds = _binds(effects) if kills else {}
    once = {flow: effects[several[0]] for flow, several in binds.items() if len(several) == 1}
    signs = [effect for effect in effects if effect.action.flow in once and _shown(effect) is not None]
    ends = [effect for effect in effects if effect.action.op in LEAVES or effect.action.op == KILLS]
    for n in kills if signs else ():
        kill = effects[n]
        starts = (e.ret for e in effects if UNDOES.get(e.action.op) == KILLS and e.call >= kill.call)
        back = min(starts, default=kill.ret) + margin
        fates = tuple(_fates(kill, back, once, signs, [end for end in ends if end is not kill]))
        effects[n] = kill._replace(action=kill.action._replace(fates=fates))
    struck = [effects[n] for n in kills]
    for flow, several in binds.items():
        for n in _bound_again([(n, effects[n]) for n in several], struck):
            effects[n] = effects[n]._replace(action=effects[n].action._replace(fates=((flow, None),)))


def _binds(effects: Sequence[Effect]) -> dict[str, list[int]]:
    """The binds of each flow's name, but for those that failed."""
    binds = ((n, effect) for n, effect in enumerate(effects) if effect.action.op in BINDS)
    return grouped((str(one.action.flow), n) for n, one in binds if one.observed.status != Outcome.ERROR)


def _bound_again(binds: Sequence[tuple[int, Effect]], kills: Sequence[Effect]) -> Iterator[int]:
    """Which of the binds of one name are of a client that bound it before a kill."""
    for n, effect in binds:
        first = next(one for _, one in binds if one.action.proc == effect.action.proc)
        struck = any(first.call <= kill.ret and kill.call <= effect.ret for kill in kills)
        if struck and first is not effect:
            yield n


def _fates(
    kill: Effect,
    back: int,
    binds: Mapping[str, Effect],
    signs: Sequence[Effect],
    ends: Sequence[Effect],
) -> Iterator[tuple[str, bool | None]]:
    """Of flows that were bound before the kill, whether they were there after it; None: likely. One that is
    gone may have ended otherwise, if anything else may have ended it by then."""
    found: tuple[set[str], ...] = (set(), set(), set())
    for sign in signs:
        flow, shows = str(sign.action.flow), _shown(sign)
        late = shows == _THERE and sign.action.op == TELLS
        if shows is None or binds[flow].ret >= kill.call or sign.call <= (back if late else kill.ret):
            continue
        others = (end for end in ends if kill.call <= end.ret and end.call <= sign.ret)
        if shows != _GONE or not any(_may_end(end, binds[flow]) for end in others):
            found[shows].add(flow)
    certain = found[_THERE] ^ found[_GONE]  # both break a rule
    for flow in sorted(set.union(*found)):
        yield flow, flow in found[_THERE] if flow in certain else None


def _shown(effect: Effect) -> int | None:
    """What the effect shows of its flow, if anything. A flow that is gone may be unbound, too."""
    if effect.action.op == TELLS:
        return _TOLD.get(str(effect.action.state))
    if effect.action.op in DELIVERS and effect.observed.messages and not effect.doubt & MAYBE:
        return _THERE
    if effect.action.op == UNBINDS and effect.ok:
        return _LIKELY
    asks = effect.action.op in DELIVERS or effect.action.op == UNBINDS
    return _GONE if asks and effect.observed.error in FOR_GOOD else None


def _may_end(end: Effect, bind: Effect) -> bool:
    """Whether the effect may have ended the flow."""
    if end.action.op == UNBINDS:
        return end.action.flow == bind.action.flow and end.ok
    return end.action.op == KILLS or bind.action.proc in (end.action.proc, end.action.victim)
