"""Long histories: is a defect among ten thousand lawful records found, and blamed as in a short history?

``python -m benchmarks.planted --records 10000`` plants each kind (`planting`) in a lawful history of the
reference on each profile, with faults in every other one, and prints a table: what is blamed, what is blamed
in short histories with the same kind, and what the judge had to say. An edit that comes to something
lawful, as the judge accepts it, is planted elsewhere. Times are of the processor.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from random import Random
from time import process_time
from typing import Final, NamedTuple

from partq.conformance.adapters.reference import Reference
from partq.conformance.evaluation.decision import EVERY, Decider, Decision, Exactness
from partq.conformance.execution.runner import run
from partq.conformance.history import History
from partq.conformance.workload.generator import generate, trace_seed
from partq.conformance.workload.themes import THEMES
from partq.conformance.workload.weights import Weights, weighed

from .planting import KINDS, plant

PROFILES: Final = ("azure-standard", "azure-premium", "azure-flat", "solace")

SHORT: Final = 40
"""Phrases of a short history."""
RECORDS_A_PHRASE: Final = 1.75
ONCE: Final = Exactness(nodes=EVERY.nodes, after=EVERY.after)
"""Short histories are decided at the first look, or left out."""
SHORTS: Final = 12
"""How many short histories are tried for what is blamed in them."""
ENOUGH: Final = 4
TRIES: Final = 6
"""In how many places a kind is planted until the judge does not accept it."""

_QUEUES: Final[Weights] = weighed(
    "send 20, batch 3, settle_all 14, take 20, receive 3, complete 3, abandon 2, renew 2, late 1, "
    "peek 5, transaction 4, settle_transaction 1, conflict 1, advance 1"
)
_FLOWS: Final[Weights] = weighed(
    "bind 4, unbind 3, send 20, batch 3, settle_all 14, take 6, receive 3, complete 3, abandon 2, "
    "rest 2, advance 2"
)
_FAULTS: Final[Weights] = weighed("outage 1, front_end 1, kill 1")
_FLOW_FAULTS: Final[Weights] = weighed("kill 1, disconnect 2")


class Row(NamedTuple):
    """A kind planted in a long history: how it ended, what was blamed, what is blamed in short ones."""

    kind: str
    ended: str
    blamed: tuple[str, ...]
    shorts: frozenset[str]
    seconds: float
    why: str


def lawful(profile: str, seed: int, phrases: int, faults: bool) -> History:
    """A history of the reference whose queue stays short, however long it goes on."""
    flows = profile == "solace"
    weights = {**(_FLOWS if flows else _QUEUES), **((_FLOW_FAULTS if flows else _FAULTS) if faults else {})}
    broker, themes = Reference(profile), dict.fromkeys(THEMES, weights)
    program = generate(
        profile, trace_seed(seed, int(faults)), length=phrases, lacks=broker.lacks(), themes=themes
    )
    return run(broker, program)


def blamed(decision: Decision) -> tuple[str, ...]:
    """The rules that the decision names, the first first."""
    found = [one for findings in decision.findings.values() for one in findings]
    return tuple(dict.fromkeys(id for one in found for id in one.requirements))


def in_short(profile: str, kind: str, faults: bool) -> frozenset[str]:
    """All that is blamed for the kind in short histories."""
    named: list[tuple[str, ...]] = []
    for seed in range(SHORTS):
        broken = plant(lawful(profile, 100 + seed, SHORT, faults), kind, Random(seed))
        if broken is not None and (ids := blamed(Decider(ONCE).decide(broken))):
            named.append(ids)
        if len(named) == ENOUGH:
            break
    return frozenset(id for ids in named for id in ids)


def rows(profile: str, records: int, kinds: list[str]) -> Iterator[Row]:
    """Each kind, planted in one long history of the profile."""
    phrases = int(records / RECORDS_A_PHRASE)
    histories = {faults: lawful(profile, 18, phrases, faults) for faults in (False, True)}
    for number, kind in enumerate(kinds):
        faults = bool(number % 2)
        shorts = in_short(profile, kind, faults)
        for attempt in range(TRIES):
            broken = plant(histories[faults], kind, Random(1000 * attempt + number))
            if broken is None:
                break
            began = process_time()
            decision = Decider(EVERY).decide(broken)
            took, ids = process_time() - began, blamed(decision)
            if ids or not decision.judged["accepted"]:
                ended = ("as when short" if {*ids} & shorts else "otherwise") if ids else "UNDECIDED"
                yield Row(f"{kind}{' (faults)' * faults}", ended, ids, shorts, took, decision.why)
                break


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.planted", description=__doc__)
    parser.add_argument("--records", type=int, default=10_000)
    parser.add_argument("--profile", action="append", choices=PROFILES)
    parser.add_argument("--kind", action="append", choices=tuple(KINDS))
    options = parser.parse_args()
    for profile in options.profile or PROFILES:
        ends: list[str] = []
        for row in rows(profile, options.records, options.kind or list(KINDS)):
            ends.append(row.ended)
            names = "/".join(row.blamed[:4])
            print(
                f"{profile:15} {row.kind:58} {row.ended:14} {names:30} {row.seconds:6.1f} s  {row.why}",
                flush=True,
            )
            if row.ended == "otherwise":
                print(f"{'':15} in short histories: {', '.join(sorted(row.shorts)) or 'nothing'}")
        found = ends.count("as when short")
        print(f"{profile}: {found} of {len(ends)} kinds found and blamed as in a short history")


if __name__ == "__main__":
    main()
