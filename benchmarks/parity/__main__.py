"""``python -m benchmarks.parity``: did anything change that screens, judge or blame say?

``check`` prints every difference to what is frozen, and exits with 1 if there is one. ``freeze`` keeps what
is said now of the same histories; ``make`` makes the histories anew before.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from multiprocessing import Pool

from partq.conformance.history.codec import loads

from . import collection
from .opinions import Opinions, differences, opinions_of
from .store import Packed, packed_histories, read_opinions, write_histories, write_opinions

PROCESSES = 2


def main() -> int:
    """Do what is asked; answers the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.parity", description=__doc__)
    parser.add_argument("what", choices=("check", "freeze", "make"))
    what = parser.parse_args().what
    if what == "make":
        _make()
    if what != "check":
        write_opinions(dict(_opinions()))
        return 0
    return _check()


def _check() -> int:
    frozen, kinds = read_opinions(), Counter[str]()
    for name, now in _opinions():
        for difference in differences(name, frozen.pop(name, {}), now):
            kinds[difference.kind] += 1
            print(f"{name}: {difference.about}: was {difference.was}, is {difference.now}", flush=True)
    for name in frozen:
        kinds["history"] += 1
        print(f"{name}: its history is not kept")
    print("; ".join(f"{kind}: {count}" for kind, count in sorted(kinds.items())) or "nothing differs")
    return 1 if kinds else 0


def _make() -> None:
    with Pool(PROCESSES) as pool:
        made = pool.imap(collection.made, collection.parts())
        write_histories(one for part in made for one in part)


def _opinions() -> Iterator[tuple[str, Opinions]]:
    with Pool(PROCESSES) as pool:
        yield from pool.imap(_said, packed_histories(), chunksize=8)


def _said(packed: Packed) -> tuple[str, Opinions]:
    name, lines = packed
    return name, opinions_of(loads(lines))


if __name__ == "__main__":
    sys.exit(main())
