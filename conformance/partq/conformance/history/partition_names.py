"""What partitions are called: a broker's own names, or the top bits of the numbers that it gives out (SEQ-2).

Both are labels, and need not be equal. A history that shows both is read with the top bits as names, so that
a message that shows the one is compared with a message that shows the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

from msgspec import structs

from partq.conformance.history.record import Record
from partq.model.configuration import COUNTER_BITS
from partq.model.profiles import Profile


def named_by_numbers(records: Sequence[Record], family: Profile) -> tuple[Record, ...]:
    """The records with each partition called what the numbers of its messages say. They are left as they are
    where the two differ nowhere, where numbers name no partition, and where a partition has two labels, or
    two have one."""
    both = family.partitioned and family.shows_seq
    labels = _labels(records) if both else {}
    return tuple(_renamed(record, labels) for record in records) if labels else tuple(records)


def _pairs(records: Sequence[Record]) -> set[tuple[int, int]]:
    """Each name of a partition with the top bits of its numbers, as a message shows both at once; what is
    never shown so, as one message shows them one after the other."""
    names: dict[str, set[int]] = {}
    tops: dict[str, set[int]] = {}
    pairs = set()
    for record in records:
        for shown in record.messages:
            name, top = shown.partition, None if shown.seq is None else shown.seq >> COUNTER_BITS
            if name is not None and top is not None:
                pairs.add((name, top))
            elif name is not None:
                names.setdefault(shown.id, set()).add(name)
            elif top is not None:
                tops.setdefault(shown.id, set()).add(top)
    known = {name for name, _ in pairs}, {top for _, top in pairs}
    for id in names.keys() & tops.keys():
        pairs |= set(product(names[id] - known[0], tops[id] - known[1]))
    return pairs


def _labels(records: Sequence[Record]) -> dict[int, int]:
    """For each partition by its name the top bits of its numbers; nothing where they are equal, or no
    one-to-one."""
    pairs = _pairs(records)
    labels = dict(pairs)
    if len(labels) < len(pairs) or len(set(labels.values())) < len(pairs):
        return {}
    if all(name == top for name, top in pairs):
        return {}
    taken = set(labels.values())
    for name in sorted(_told(records) - labels.keys()):
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
