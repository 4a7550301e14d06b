"""Which sends and settlements must be accepted or refused: good histories, and bad ones with their rule."""

from __future__ import annotations

import pytest
from inspections import assert_open, assert_owned, inspected, violated

from partq.conformance.history.notation import history
from partq.conformance.oracle.judge import Judged, judge

HOME = "p1 send h1 key=a\np1 receive 1 -> h1#3.1 lock=h until=25s\n"
"""Key a lives in partition 3, as far as one message tells."""

KNOWN = (
    "".join(f"p1 send k{n} key=a\n" for n in range(8))
    + f"p1 receive 8 -> {', '.join(f'k{n}#3.{n + 1}' for n in range(8))}\n"
)
"""Key a lives in partition 3."""

RECEIVED = "p1 receive 9 -> "

BATCH = "p1 send_batch a{n}, b{n} -> error invalid_operation\n"

GOOD = {
    "two keys in one message, refused": (
        "p1 send m1 session=a key=b -> error invalid_operation",
        {"KEY-3": 1},
    ),
    "two keys in one message, refused while all is down": (
        "env broker_kill\np1 send m1 session=a key=b -> error unavailable",
        {},
    ),
    "session ID and partition key alike": ("p1 send m1 session=a key=a", {"KEY-9": 1}),
    "valid sends refused for now": (
        "p1 send m1 -> error quota\np1 send m2 key=a -> error timeout\np1 send m3 -> error unsupported",
        {"KEY-9": 2},
    ),
    "what may be invalid, refused": (
        "p1 send_batch m1 key=a, m2 -> error invalid_operation\np1 begin t\n"
        "p1 send m3 txn=t -> error invalid_operation",
        {},
    ),
    "two keys in one message of a batch, refused": (
        "p1 send_batch m1 key=a, m2 session=a key=b -> error invalid_operation",
        {"KEY-3": 1},
    ),
    "a batch of two keys, refused": (
        "p1 send_batch m1 key=a, m2 key=b -> error invalid_operation",
        {"KEY-7": 1},
    ),
    "a batch of keyed and keyless messages may be accepted": ("p1 send_batch m1 key=a, m2", {}),
    "a batch of keyed and keyless messages may be refused": (
        "p1 send_batch m1 key=a, m2 -> error invalid_operation",
        {},
    ),
    "a batch stored whole": (
        "p1 send_batch m1 key=a, m2 key=a\n" + RECEIVED + "m1#3.1, m2#3.2\nenv drained",
        {"KEY-7": 1},
    ),
    "a batch of unknown outcome, stored whole": (
        "p1 send_batch m1 key=a, m2 key=a -> unknown timeout\n" + RECEIVED + "m1#3.1, m2#3.2\nenv drained",
        {"KEY-7": 1},
    ),
    "a batch of unknown outcome, not stored": (
        "p1 send_batch m1 key=a, m2 key=a -> unknown timeout\nenv drained",
        {},
    ),
    "a batch seen in part before the drain": (
        "p1 send_batch m1 key=a, m2 key=a\np1 receive 1 -> m1#3.1",
        {},
    ),
    "the rest of a batch may have been taken unseen": (
        "p1 send_batch m1 key=a, m2 key=a -> unknown\np1 receive 1 -> m1#3.1\n"
        "p1 receive 1 delete -> unknown timeout\nenv drained",
        {},
    ),
    "a keyless batch of different IDs": ("p1 send_batch m1, m2, m3", {"KEY-5": 1}),
    "with duplicate detection IDs are keys": (
        "p1 send_batch m1, m2 -> error invalid_operation",
        {},
    ),
    "a keyed send refused while its partition is down": (
        HOME + "env partition_down 3\np1 send m1 key=a -> error unavailable",
        {"ROUTE-5": 1},
    ),
    "a keyed send given up while its partition is down, and stored": (
        HOME + "env partition_down 3\np1 send m1 key=a -> unknown timeout\nenv partition_up 3\n"
        "p1 receive 1 -> m1#3.2",
        {},
    ),
    "a keyed send that overlaps the fault": (
        HOME + "env partition_down 3 @100-110\np1 send m1 key=a -> ok @105-120\n"
        "p2 send m2 key=a -> ok @90-101\n",
        {},
    ),
    "a keyed send that overlaps the repair": (
        HOME + "env partition_down 3 @100-110\nenv partition_up 3 @200-210\n"
        "p1 send m1 key=a -> ok @150-205\np2 send m2 key=a -> error unavailable @151-220",
        {},
    ),
    "a keyless send re-routed": (
        "env partition_down 3\np1 send m1\np1 receive 1 -> m1#4.1",
        {"ROUTE-6": 1},
    ),
    "an impatient keyless send": (
        "env partition_down 3\np1 send m1 timeout=15s -> unknown timeout\n"
        "p1 send m2 timeout=1s -> error timeout",
        {"ROUTE-6": 0},
    ),
    "a keyless send whose way was disturbed": (
        "env partition_down 3\nenv frontend_lost p2\np1 send m1 -> error unavailable",
        {},
    ),
    "a keyless send after the broker was killed": (
        "env partition_down 3\nenv broker_kill\nenv broker_start\np1 send m1 -> error unavailable",
        {},
    ),
    "keyed operations elsewhere go on": (
        HOME + "env partition_down 4\np1 send m1 key=a\np1 complete h",
        {"ROUTE-7": 2},
    ),
    "keyed operations elsewhere fail after a broker kill": (
        HOME
        + "env partition_down 4\nenv broker_kill\nenv broker_start\np1 send m1 key=a -> error unavailable\n"
        "p1 complete h -> error unavailable",
        {},
    ),
    "a settlement of two partitions may be refused": (
        "p1 send m1 key=a\np1 send m2 key=b\np1 receive 2 -> m1#3.1 lock=l1, m2#4.1 lock=l2\n"
        "env partition_down 5\np1 complete l1 l2 -> error invalid_operation",
        {},
    ),
    "nothing up, everything refused": (
        "env broker_kill\np1 send m1 -> error unavailable\np1 send m2 key=a -> error timeout",
        {"ROUTE-8": 2, "ROUTE-5": 1},
    ),
    "two keys in one message, refused at the commit": (
        "p1 begin t\np1 send m1 session=a key=b txn=t\np1 commit t -> error invalid_operation\n"
        "p1 receive 1 -> nothing",
        {},
    ),
    "the fault returns at the instant at which the send is called": (
        HOME + "env partition_down 3 @100-110\np1 send m1 key=a @110-120",
        {"ROUTE-5": 0},
    ),
    "refused while down, for another reason": (
        HOME + "env partition_down 3\np1 send m1 key=a -> error quota\np1 send m2 key=a -> error too_large",
        {},
    ),
    "the kill may come after the send": (
        "env broker_kill @10-20\np1 send m1 -> ok @5-19\np2 send m2 -> ok @12-30",
        {},
    ),
}

ADMISSION = ("KEY-3", "KEY-5", "KEY-7", "KEY-9", "ROUTE-5", "ROUTE-6", "ROUTE-7", "ROUTE-8")


@pytest.mark.parametrize("name", GOOD)
def test_good(name: str) -> None:
    text, exercised = GOOD[name]
    inspection = inspected(text, duplicate_detection="duplicate detection" in name)
    assert not inspection.findings
    counted = {rule: n for rule, n in inspection.exercised.items() if rule in ADMISSION}
    if exercised:
        assert {rule: counted.get(rule, 0) for rule in exercised} == exercised
    else:
        assert not {"KEY-3", "ROUTE-5", "ROUTE-6", "ROUTE-8"} & set(counted)


BAD = {
    "two keys in one message": ("p1 send m1 session=a key=b", "KEY-3"),
    "two keys in one message, in a transaction": (
        "p1 begin t\np1 send m1 session=a key=b txn=t\np1 commit t",
        "KEY-3",
    ),
    "two keys in one message, refused and stored": (
        "p1 send m1 session=a key=b -> error invalid_operation\np1 receive 1 -> m1#3.1",
        "KEY-3",
    ),
    "two keys in one message, unknown and stored": (
        "p1 send m1 session=a key=b -> unknown timeout\np1 peek 1 -> m1#3.1",
        "KEY-3",
    ),
    "two keys in one message of a batch": ("p1 send_batch m1 key=a, m2 session=a key=b", "KEY-3"),
    "two keys in one message, enlisted and stored": (
        "p1 begin t\np1 send m1 session=a key=b txn=t\np1 peek 1 -> m1#3.1",
        "KEY-3",
    ),
    "a valid send refused as invalid": ("p1 send m1 session=a key=a -> error invalid_operation", "KEY-9"),
    "a keyless send not found": ("p1 send m1 -> error not_found", "KEY-9"),
    "keyless batches refused, keyed ones not": (
        "p1 send_batch k1 key=a, k2 key=a\n" + "".join(BATCH.format(n=n) for n in "12"),
        "KEY-5",
    ),
    "a keyless batch refused and stored": (
        "p1 send_batch m1, m2 -> error invalid_operation\np1 receive 1 -> m1#3.1",
        "RCV-1",
    ),
    "a batch of two keys": ("p1 send_batch m1 key=a, m2 key=b", "KEY-7"),
    "a batch of a session and a key": ("p1 send_batch m1 session=a, m2 key=b", "KEY-7"),
    "a batch of two keys and a keyless message": ("p1 send_batch m1 key=a, m2, m3 key=b", "KEY-7"),
    "a batch of two keys in a transaction": (
        "p1 begin t\np1 send_batch m1 key=a, m2 key=b txn=t\np1 commit t",
        "KEY-7",
    ),
    "a batch of two keys, refused and stored in part": (
        "p1 send_batch m1 key=a, m2 key=b -> error invalid_operation\np1 receive 1 -> m2#3.1",
        "KEY-7",
    ),
    "a batch accepted and stored in part": (
        "p1 send_batch m1 key=a, m2 key=a\np1 receive 9 -> m1#3.1\nenv drained",
        "KEY-7",
    ),
    "a batch of unknown outcome stored in part": (
        "p1 send_batch m1 key=a, m2 key=a, m3 key=a -> unknown timeout\np1 receive 9 -> m3#3.1\nenv drained",
        "KEY-7",
    ),
    "a keyed send accepted while its partition is down": (
        HOME + "env partition_down 3\np1 send m1 key=a\nenv partition_up 3",
        "ROUTE-5",
    ),
    "a keyed send accepted and kept while its partition is down": (
        "env partition_down 3\np1 send m1 key=a\nenv partition_up 3\np1 receive 1 -> m1#3.1",
        "ROUTE-5",
    ),
    "a keyed send refused and stored": (
        HOME + "env partition_down 3\np1 send m1 key=a -> error unavailable\nenv partition_up 3\n"
        "p1 receive 1 -> m1#3.2",
        "ROUTE-5",
    ),
    "a keyed send refused and stored elsewhere": (
        "p1 send h1 key=a\nenv partition_down 3\np1 send m1 key=a -> error unavailable\n"
        "p1 receive 2 -> h1#3.1, m1#5.1",
        "ROUTE-5",
    ),
    "a keyed send refused by another error": (
        HOME + "env partition_down 3\np1 send m1 key=a -> error session_locked",
        "ROUTE-5",
    ),
    "keyless sends refused": (
        "env partition_down 3\np1 send m1 -> error unavailable\np1 send m2 -> error internal",
        "ROUTE-6",
    ),
    "patient keyless sends refused": (
        "env partition_down 3\np1 send m1 timeout=16s -> error timeout\n"
        "p1 send m2 timeout=16s -> error timeout",
        "ROUTE-6",
    ),
    "keyless batches refused while a partition is down": (
        "env partition_down 3\np1 send_batch m1, m2 -> error timeout\np1 send_batch m3, m4 -> error timeout",
        "ROUTE-6",
    ),
    "a keyless message in a partition that was down": (
        "env partition_down 3\np1 send m1\nenv partition_up 3\np1 receive 1 -> m1#3.1",
        "ROUTE-6",
    ),
    "keyed sends elsewhere refused": (
        KNOWN + "env partition_down 4\np1 send m1 key=a -> error unavailable\n"
        "p1 send m2 key=a -> error timeout",
        "ROUTE-7",
    ),
    "settlements elsewhere refused": (
        HOME + "env partition_down 4\np1 complete h -> error timeout\np1 complete h -> error timeout",
        "ROUTE-7",
    ),
    "renewals elsewhere refused": (
        HOME + "env partition_down 4\np1 renew_lock h -> error timeout\np1 renew_lock h -> error unavailable",
        "ROUTE-7",
    ),
    "keyed and keyless sends refused while one partition is down": (
        KNOWN
        + "env partition_down 4\np1 send m1 key=a -> error unavailable\np1 send m2 -> error unavailable",
        "ROUTE-7",
    ),
    "a send accepted while the broker is dead": ("env broker_kill\np1 send m1", "ROUTE-8"),
    "a keyless send refused and stored while the broker is dead": (
        "env broker_kill\np1 send m1 -> error unavailable\nenv broker_start\np1 receive 1 -> m1#3.1",
        "ROUTE-8",
    ),
    "a keyed send accepted while the broker is dead": ("env broker_kill\np1 send m1 key=a", "ROUTE-5"),
    "a keyed send refused and stored while the broker is dead": (
        "env broker_kill\np1 send m1 key=a -> error unavailable\nenv broker_start\np1 receive 1 -> m1#3.1",
        "ROUTE-5",
    ),
    "a mixed batch refused and stored in part": (
        "p1 send_batch m1 key=a, m2 -> error unavailable\np1 receive 1 -> m2#3.1\nenv drained",
        "KEY-7",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad(name: str) -> None:
    text, rule = BAD[name]
    assert_owned(inspected(text), rule, most_witnesses=4)


def test_a_keyed_send_stored_elsewhere_while_its_partition_was_down_was_one_to_a_partition_that_is_down() -> (
    None
):
    text = (
        "p1 send m1 key=a\np1 receive 1 delete -> m1#3.1\nenv partition_down 3\np1 send m2 key=a\n"
        "p1 receive 1 delete -> m2#5.1"
    )
    assert inspected(text).exercised["ROUTE-5"] == 1


OPEN = {
    "two keys in one message, refused for another reason": (
        "p1 send m1 session=a key=b -> error quota",
        "KEY-3",
    ),
    "one keyless batch refused": ("p1 send_batch k1 key=a, k2 key=a\n" + BATCH, "KEY-5"),
    "keyless batches refused, where no batch is accepted": (
        "".join(BATCH.format(n=n) for n in "12"),
        "KEY-5",
    ),
    "keyless batches refused and accepted": (
        "p1 send_batch k1 key=a, k2 key=a\np1 send_batch m1, m2\n" + "".join(BATCH.format(n=n) for n in "12"),
        "KEY-5",
    ),
    "one keyless send refused": ("env partition_down 3\np1 send m1 -> error unavailable", "ROUTE-6"),
    "keyless sends refused, with nothing down too": (
        "p1 send m0 -> error unavailable\nenv partition_down 3\n"
        "p1 send m1 -> error unavailable\np1 send m2 -> error unavailable",
        "ROUTE-6",
    ),
    "keyless sends given up after a long wait": (
        "env partition_down 3\np1 send m1 -> unknown timeout @10-17000000000\n"
        "p1 send m2 -> unknown timeout @18000000000-35000000000",
        "ROUTE-6",
    ),
    "one settlement elsewhere refused": (
        HOME + "env partition_down 4\np1 complete h -> error timeout",
        "ROUTE-7",
    ),
    "one renewal elsewhere refused": (
        HOME + "env partition_down 4\np1 renew_lock h -> error timeout",
        "ROUTE-7",
    ),
    "renewals elsewhere refused, with nothing down too": (
        HOME + "p1 renew_lock h -> error unavailable\nenv partition_down 4\n"
        "p1 renew_lock h -> error timeout\np1 renew_lock h -> error unavailable",
        "ROUTE-7",
    ),
    "one keyed send elsewhere refused": (
        KNOWN + "env partition_down 4\np1 send m1 key=a -> error unavailable",
        "ROUTE-7",
    ),
}


@pytest.mark.parametrize("name", OPEN)
def test_open(name: str) -> None:
    text, rule = OPEN[name]
    assert_open(inspected(text), rule)


def test_a_short_wait_of_unknown_outcome_says_nothing() -> None:
    for text in ("p1 complete h -> unknown timeout", "p1 send m1 -> unknown timeout"):
        inspection = inspected(HOME + f"env partition_down 4\n{text}\n" * 2)
        assert not inspection.findings and not {"ROUTE-6", "ROUTE-7"} & set(inspection.open)


def test_how_long_a_live_client_would_have_waited_is_not_assumed() -> None:
    text = "env partition_down 3\n" + "p1 send m{0}{1} -> error unavailable\n" * 2
    unsaid, said = text.format("1", ""), text.format("1", " timeout=60s").replace("m1", "m2", 1)
    assert violated(unsaid.replace("m1", "m2", 1), clock="wall") == set()
    assert violated(unsaid.replace("m1", "m2", 1)) == {"ROUTE-6"}
    assert violated(said, clock="wall") == {"ROUTE-6"}


def test_all_partitions_down() -> None:
    down = "".join(f"env partition_down {n}\n" for n in (3, 8))
    assert violated(down + "p1 send m1", "azure-premium", partitions=2) == {"ROUTE-8"}
    assert violated(down + "p1 send m1", "azure-premium", partitions=4) == set()
    refused = inspected(down + "p1 send m1 -> error unavailable", "azure-premium", partitions=2)
    assert refused.exercised["ROUTE-8"] == 1


def test_a_batch_of_unknown_outcome_in_part_after_a_kill_is_open() -> None:
    text = (
        "p1 send_batch m1 key=a, m2 key=a -> unknown connection_lost\nenv broker_kill\nenv broker_start\n"
        "p1 receive 9 -> m1#3.1\nenv drained"
    )
    inspection = inspected(text)
    assert not inspection.findings
    assert {"KEY-7", "RCV-2"} <= set(inspection.open)


def test_a_home_that_little_speaks_for_is_no_ground_for_a_verdict() -> None:
    inspection = inspected(HOME + "env partition_down 4\np1 send m1 key=a -> error unavailable")
    assert not inspection.findings
    assert "ROUTE-7" in inspection.open


def test_a_keyless_message_where_nothing_may_have_been_up() -> None:
    text = (
        "env partition_down 3\nenv partition_down 8 @100-200\np1 send m1 @150-300\nenv partition_up 3\n"
        "p1 receive 1 -> m1#3.1"
    )
    assert violated(text, "azure-premium", partitions=2) == {"ROUTE-8"}
    assert violated(text, "azure-premium", partitions=4) == {"ROUTE-6"}


def test_the_fault_is_among_the_witnesses() -> None:
    findings = inspected(HOME + "env partition_down 3\np1 send m1 key=a").findings
    assert findings["ROUTE-5"][0].witness == (2, 3)


def test_without_partitions_these_rules_do_not_apply() -> None:
    assert violated("p1 send m1 session=a key=b\np1 send_batch m2 key=a, m3 key=b", "azure-flat") == set()


def test_a_plain_loss_explains_the_missing_part_of_a_batch() -> None:
    lost = "p1 send_batch m1 key=a, m2 key=a\np1 send m3 key=a\np1 receive 9 -> m1#3.1\nenv drained"
    assert "KEY-7" not in violated(lost)


def test_a_fault_may_have_lost_the_missing_part_of_a_batch() -> None:
    batch = "p1 send_batch m1 key=a, m2 key=a\np1 receive 1 -> m1#3.1\n"
    text = batch + "env broker_kill\nenv broker_start\nenv drained"
    assert "KEY-7" not in violated(text)


def test_a_valid_send_to_a_down_partition_refused_as_invalid_is_one_of_two() -> None:
    text = HOME + "env partition_down 3\np1 send m1 key=a -> error invalid_operation"
    assert inspected(text).candidates["KEY-9"] == ("ROUTE-5", "KEY-9")


def test_one_keyless_batch_refused_is_one_of_two() -> None:
    text = "p1 send_batch k1 key=a, k2 key=a\np1 send_batch m1, m2 -> error invalid_operation"
    assert inspected(text).candidates["KEY-5"] == ("KEY-5", "KEY-9")


def test_a_batch_of_one_key_refused_may_be_for_what_is_no_key_there() -> None:
    text = "p1 send_batch m1 key=a, m2 key=a -> error invalid_operation"
    assert inspected(text).candidates["KEY-9"] == ("KEY-1", "KEY-2", "KEY-9")


@pytest.mark.parametrize(
    ("key", "outcome", "suspected"), [("", "unknown", False), (" key=a", "unknown", True), ("", "ok", True)]
)
def test_a_keyless_batch_of_unknown_outcome_may_be_stored_in_part(
    key: str, outcome: str, suspected: bool
) -> None:
    """Its parts go to partitions each by itself; the model says the same."""
    text = f"""
        p send_batch m1{key}, m2{key}, m3{key} -> {outcome}
        drain receive 9 delete -> m1#1.1{key}, m3#1.2{key}
        drain receive 9 delete -> nothing
        env drained
    """
    found = inspected(text, "azure-premium")
    assert bool(found.findings or found.candidates) is suspected
    told = judge(history(text, "azure-premium")).status
    assert told is (Judged.REJECTED if suspected else Judged.ACCEPTED)
