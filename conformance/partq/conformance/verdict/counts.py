"""What a campaign counts besides verdicts, in words: what the judge was asked, and how traces ended."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from partq.conformance.verdict.types import plural

Counts = Mapping[str, Mapping[str, int]]
"""``judged``: of how many traces the judge said what, or why it was not asked · ``again``: the same of its
second looks · ``undecided``: why it did not decide · ``overruled``: findings of screens that it contradicted,
by requirement · ``endings``: of traces · ``met``: of which two mechanisms how many messages made use."""

COUNTS: Final = ("judged", "again", "undecided", "overruled", "endings", "met")

ANSWERS: Final = ("accepted", "rejected", "unknown")


def in_words(counts: Counts, traces: int) -> Iterator[tuple[str, str]]:
    """What is worth saying of them, each with its name."""
    judged = counts.get("judged", {})
    asked = sum(judged.get(answer, 0) for answer in ANSWERS)
    if asked:
        said = f"{judged.get('accepted', 0):,} accepted, {judged.get('rejected', 0):,} rejected"
        again = counts.get("again", {})
        looks = again.get("accepted", 0) + again.get("rejected", 0)
        said += f" ({looks:,} at a second look)" if looks else ""
        reasons = sorted(counts.get("undecided", {}).items())
        why = "".join(f", {n:,} undecided ({reason})" for reason, n in reasons)
        yield "judged exactly", f"{asked:,} of {plural(traces, 'trace')}: {said}{why}"
    if overruled := counts.get("overruled"):
        listed = ", ".join(f"{id} {n:,}" for id, n in sorted(overruled.items()))
        yield "findings overruled by the judge", listed
    endings = counts.get("endings", {})
    for name in ("never drained", "got nowhere"):
        if endings.get(name):
            yield name, f"{endings[name]:,} of {plural(traces, 'trace')}"
