"""What partitions are called: a broker's own names, or the top bits of the numbers that it gives out (SEQ-2).

Both are labels, and need not be equal. A history that shows both is read with the top bits as names, so that
a message that shows the one is compared with a message that shows the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import structs

from partq.conformance.history.record import Record
from partq.model.profiles import Profile
from partq.model.state import COUNTER_BITS


def named_by_numbers(records: Sequence[Record], family: Profile) -> tuple[Record, ...]:
    """The records with each partition called what the numbers of its messages say. They are left as they are
    where the two differ nowhere, where numbers name no partition, and where a partition has two labels, or
    two have one."""
    both = family.partitioned and family.shows_seq
    labels = _labels(records) if both and _differ(records) else {}
    return tuple(_renamed(record, labels) for record in records) if labels else tuple(records)


def _differ(records: Sequence[Record]) -> bool:
    """Whether some message shows another name than its number."""
    differing = (
        shown
        for record in records
        for shown in record.messages
        if shown.seq is not None and shown.partition is not None
        if shown.seq >> COUNTER_BITS != shown.partition
    )
    return next(differing, None) is not None


def _labels(records: Sequence[Record]) -> dict[int, int]:
    """For each partition by its name the top bits of its numbers; nothing where that is no one-to-one."""
    pairs = {
        (shown.partition, shown.seq >> COUNTER_BITS): None
        for record in records
        for shown in record.messages
        if shown.partition is not None and shown.seq is not None
    }
    labels = dict(pairs.keys())
    if len(labels) < len(pairs) or len(set(labels.values())) < len(pairs):
        return {}
    taken = set(labels.values())
    for name in _told(records) - labels.keys():
        label = name
        while label in taken:
            label += 1 << (64 - COUNTER_BITS)  # no number's
        labels[name] = label
        taken.add(label)
    return labels


def _told(records: Sequence[Record]) -> set[int]:
    """Every name of a partition that the records hold."""
    names = {record.args["partition"] for record in records if record.is_env and "partition" in record.args}
    return names | {d.partition for record in records for d in record.messages if d.partition is not None}


def _renamed(record: Record, labels: Mapping[int, int]) -> Record:
    args = record.args
    if record.is_env and "partition" in args:
        args = {**args, "partition": labels[args["partition"]]}
    shown = tuple(
        d if d.partition is None else d._replace(partition=labels[d.partition]) for d in record.messages
    )
    return structs.replace(record, args=args, messages=shown)
