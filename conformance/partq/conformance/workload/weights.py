"""What programs are about, and how often: the weights of everything that the generator draws. Data alone.

They follow what campaigns show (`partq fuzz` prints how often mechanism, fault and shape came together): what
came together rarely weighs more than its share.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

Weights = Mapping[str, int]
"""Phrase -> how often, in parts of the sum."""


def weighed(text: str) -> Weights:
    """The weights that a line spells out, such as "send 30, receive 18"."""
    return {phrase: int(weight) for phrase, weight in map(str.split, text.split(", "))}


class Theme(NamedTuple):
    """What programs about a mechanism do, on profiles that the ``rule`` binds. ``wears``: their entities may
    allow few deliveries. ``settings``: what their entities have. ``choices``: of what one of these is drawn.
    ``needs``: the operation without which a broker has no such entities. ``one_in``: it takes one program in
    so many from the other themes, by the seed alone, so that all other programs are what they were without
    it; 0: it is one of those."""

    name: str
    rule: str
    weights: Weights
    wears: bool = False
    settings: Mapping[str, Any] = {}
    choices: Mapping[str, tuple[Any, ...]] = {}
    needs: str = ""
    one_in: int = 0


LENGTHS: Final = (24, 24, 24, 24, 24, 24, 48, 96)
"""Phrases in a program, unless asked otherwise: each of these as often as it stands here."""

CAPPED: Final = "peek"
"""The theme in which an answer to a peek may be cut short."""

THEMES: Final[Mapping[str, Weights]] = {
    "mixed": weighed(
        "send 30, batch 6, receive 18, take 3, complete 14, abandon 6, stale 2, renew 2, peek 8, walk 2, "
        "transaction 4, advance 4, outage 3, front_end 1, kill 1"
    ),
    "trouble": weighed("send 20, batch 3, receive 10, complete 4, peek 3, trouble 20, advance 2"),
    "requests": weighed(
        "send 20, odd_batch 8, long_batch 3, odd_message 3, large 6, handful 5, mixed_handful 8, "
        "cut_short 4, forged 2, receive 10, complete 4, abandon 3, peek 3"
    ),
    "routing": weighed(
        "send 40, conflict 3, batch 14, receive 10, complete 6, peek 10, outage 8, blackout 1, kill 2, "
        "advance 2"
    ),
    "locks": weighed(
        "send 22, receive 26, take 3, complete 14, abandon 10, stale 8, wear_out 3, renew 6, keep 4, "
        "advance 12, outage 1, front_end 2, cut_off 4, late 5"
    ),
    CAPPED: weighed("send 26, receive 8, complete 5, abandon 2, peek 26, past_the_end 2, walk 10, advance 2"),
    "transactions": weighed(
        "send 10, transaction 34, settle_transaction 14, long_transaction 20, after_the_end 3, receive 14, "
        "complete 6, peek 10, advance 3, outage 1, kill 1"
    ),
    "keys": weighed("burst 30, transaction 12, receive 6, outage 3, kill 6"),
    "rollover": weighed("send 40, batch 4, receive 10, complete 6, peek 12, walk 4, abandon 4"),
    "flows": weighed(
        "bind 10, unbind 4, disconnect 4, send 40, receive 34, complete 24, abandon 3, settle_all 4, "
        "advance 6, rest 8, spread 6, take 3, newcomer 4, restart 2"
    ),
    "handoff": weighed(
        "bind 14, unbind 6, disconnect 6, send 26, receive 30, complete 6, advance 16, rest 6, handoff 10, "
        "standby 4, bind_partition 2, take 2, newcomer 4"
    ),
    "crossings": weighed(
        "bind 8, unbind 4, send 26, batch 3, odd_message 2, receive 26, complete 10, advance 4, rest 3, "
        "given_back 10, too_late 10, all_leave 5, early_leave 9, second_flow 5, killed_early 4"
    ),
    "flow-keys": weighed("bind 6, rest 6, spread 24, mixed_batch 10, complete 8, restart 3"),
    "domains": weighed(
        "burst 12, send 16, receive 24, one_by_one 6, handed_back 8, complete 14, abandon 8, take 2, "
        "advance 4, leaving 6, kill 1"
    ),
    "connections": weighed(
        "send 44, receive 30, take 3, complete 18, abandon 6, stale 2, disconnect 6, leaving 5, kill 2, "
        "advance 1"
    ),
}
"""Theme -> its weights; those about one mechanism are in its `programs`."""

AZURE_THEMES: Final = (
    "mixed",
    "routing",
    "keys",
    "locks",
    "peek",
    "transactions",
    "rollover",
    "trouble",
    "trouble",
    "requests",
)
CONNECTION_THEMES: Final = ("connections",)
QUEUE_THEMES: Final = ("mixed", "routing", "keys", "locks", "connections", "trouble", "domains", "domains")
"""Of families without transactions, whose locks end by time."""
FLOW_THEMES: Final = ("flows", "flows", "handoff", "flow-keys", "crossings", "crossings")

PAIRS: Final[Mapping[str, Weights]] = {
    "outage": weighed(
        "receive 2, settle 4, renew 4, transaction 3, end_of_sends 3, end_of_settlements 5, peek 2, keyless 2"
    ),
    "two_outages": weighed(
        "send 5, keyless 3, impatient_send 1, batch 2, receive 2, settle 3, renew 2, transaction 2, "
        "end_of_sends 2, end_of_settlements 2, peek 2"
    ),
    "all_but_one": weighed("send 3, keyless 4, impatient_send 2, batch 3, settle 1, end_of_settlements 2"),
    "blackout": weighed("settle 1, renew 1, end_of_settlements 1, batch 1, receive 1"),
    "front_end": weighed("end_of_settlements 1, renew 1, peek 2, settle 1"),
    "restart": weighed("receive 3, settle 2, renew 1, end_of_sends 2, end_of_settlements 2, peek 2"),
    "kill": weighed("settle 1, renew 1, end_of_sends 1, end_of_settlements 1, peek 1"),
}
"""Of the phrase "trouble": fault -> mechanism -> how often."""
