"""The adapters of examples/, and the defects (`wrong_clients`) planted in each, with the case that shows each
and the rules that it may be named by."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from partq.conformance.adapters import Broker, Client

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))

import wrong_clients as wrong
from nats_jetstream import NatsJetStream
from redis_streams import RedisStreams

BROKERS = (NatsJetStream, RedisStreams)

KEYS: Final = "queue-keys"
ROUTED: Final = frozenset({"KEY-2", "ROUTE-1", "ROUTE-2"})

Planted = tuple[type[Client] | type[Broker], str, frozenset[str]]

EVERYWHERE: Final[tuple[Planted, ...]] = (
    (wrong.Loses, KEYS, frozenset({"RCV-2"})),
    (wrong.LosesKeyless, KEYS, frozenset({"RCV-2"})),
    (wrong.Duplicates, KEYS, frozenset({"RCV-6", "RCV-7"})),
    (wrong.Delays, "key-in-order", frozenset({"ORD-1"})),
    (wrong.Denies, KEYS, frozenset({"RCV-1"})),
    (wrong.Refuses, KEYS, frozenset({"KEY-9"})),
    (wrong.Garbles, KEYS, frozenset({"RCV-1"})),
    (wrong.Rekeys, KEYS, frozenset({"RCV-1"})),
    (wrong.Scatters, KEYS, ROUTED),
    (wrong.ScattersSome, KEYS, ROUTED),
    (wrong.Expires, "queue-locks", frozenset({"RCV-2"})),
    (wrong.Forgets, KEYS, frozenset({"RCV-7"})),
    (wrong.CompletesFirst, KEYS, frozenset({"RCV-7"})),
    (wrong.CompletesAll, "queue-leaving", frozenset({"RCV-2", "RCV-6"})),
    (wrong.Unlocks, "queue-locks", frozenset({"RCV-6"})),
    (wrong.NeverLocks, "queue-locks", frozenset({"RCV-6"})),
    (wrong.LosesAtStart, "queue-restart", frozenset({"RCV-2"})),
    (wrong.RestoresAtStart, "queue-restart", frozenset({"RCV-6", "RCV-7"})),
)
"""Numbers, counts of deliveries and late settlements are no rules of either's profile."""

DEFECTS: Final[dict[type[Broker], tuple[Planted, ...]]] = {
    NatsJetStream: (*EVERYWHERE, (wrong.AbandonCompletes, "came-back", frozenset({"RCV-2"}))),
    RedisStreams: (
        *EVERYWHERE,
        (wrong.Reverses, KEYS, frozenset({"ORD-1"})),
        (wrong.Swaps, "one-in-flight", frozenset({"ORD-1"})),
    ),
}
"""Only Redis answers and settles several messages of a partition; only NATS takes any back."""
