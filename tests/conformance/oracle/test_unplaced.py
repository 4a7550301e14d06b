"""Where messages that are never shown most likely are."""

from __future__ import annotations

from partq.conformance.history.notation import history
from partq.conformance.oracle.judge import Judged, judge
from partq.conformance.oracle.reading import Reading

TAKEN = "c receive 1 delete -> a#0.1\nc receive 1 delete -> b#0.{number}"


def places(text: str, profile: str = "azure-standard", **settings: int) -> list[tuple[int | None, ...]]:
    """Of each send what is tried first."""
    known = Reading(history(text, profile, **settings)).entities[0].question().known(False)
    return [known.places[n] for n, effect in enumerate(known.effects) if effect.action.messages]


def test_a_message_that_is_never_shown_fills_a_gap() -> None:
    text = "p send a key=k\np send unseen\np send b key=k\n"

    assert places(text + TAKEN.format(number=3)) == [(), (0, None), ()]
    assert places(text + TAKEN.format(number=2)) == [(), (1, None), ()]  # of no partition that is shown
    assert places(text + TAKEN.format(number=99)) == [(), (1, None), ()]  # too many are missing


def test_a_gap_is_filled_once_and_first_by_what_is_known_to_be_there() -> None:
    text = "p send a key=k\np send first key=k\np send second\np send b key=k\n"

    assert places(text + TAKEN.format(number=3)) == [(), (0,), (1, None), ()]
    assert places(text + TAKEN.format(number=4)) == [(), (0,), (0, None), ()]


def test_no_gap_is_filled_by_what_was_sent_at_another_time() -> None:
    text = "p send early\np send a key=k\np send b key=k\np send late\n"

    assert places(text + TAKEN.format(number=3)) == [(1, None), (), (), (1, None)]


def test_in_a_transaction_a_gap_is_filled_by_the_commit() -> None:
    text = "p begin t\np send early key=k txn=t\np send a key=k\np commit t\np send unseen\np send b key=k\n"

    assert places(text + TAKEN.format(number=3)) == [(0,), (), (1, None), ()]


def test_what_is_missing_before_the_first_number_of_a_partition_was_never_shown() -> None:
    text = "p send unseen\np send a key=k\np send b key=l\n"
    shown = "c receive 1 delete -> a#0.1\nc receive 1 delete -> b#1.{number}"

    assert places(text + shown.format(number=2), "azure-premium")[0] == (1, None)
    full = {"partitions": 2}
    assert places(text + shown.format(number=2), "azure-premium", **full)[0] == (1, None)
    assert places(text + shown.format(number=1), "azure-premium", **full)[0] != (1, None)


def test_messages_of_a_key_are_together() -> None:
    text = "p send a key=k\np send one key=l\np send two key=l\np send b key=k\n"

    assert places(text + TAKEN.format(number=4)) == [(), (0, None), (0, None), ()]
    assert places(text + TAKEN.format(number=3)) == [(), (1, None), (1, None), ()]


def test_where_every_partition_is_shown_one_is_likely_that_shows_no_later_number() -> None:
    text = "p send a\np send b key=k\np send unseen\np send c key=k\n"
    shown = "c receive 2 delete -> a#0.1 b#1.1\nc receive 1 delete -> c#1.{number}"

    assert places(text + shown.format(number=2), "azure-premium")[2] == (2, None)
    full = {"partitions": 2}
    assert places(text + shown.format(number=2), "azure-premium", **full)[2] == (0, None)
    assert places(text + shown.format(number=3), "azure-premium", **full)[2] == (1, None)


OUTAGE = "p send one key=k\nenv partition_down 7\np send two key={key}\nenv partition_up 7\n"


def test_what_was_stored_in_an_outage_is_elsewhere() -> None:
    before, meanwhile = places(OUTAGE.format(key="k"))

    assert before == meanwhile
    assert before[0] != 0  # the position of 7, the only partition that is named


def test_a_key_that_an_outage_had_refused_is_there() -> None:
    refused = "p send two key=k -> error unavailable"

    assert places(OUTAGE.replace("p send two key={key}", refused))[0] == (0, None)


def test_a_key_is_where_it_is_in_transactions_too() -> None:
    joined = "p begin t\np send first key=k txn=t\np rollback t\n"

    first, *others = places(joined + OUTAGE.format(key="k"))

    assert {first, *others} == {others[0]}
    assert first[0] != 0


def test_what_expired_unseen_in_many_partitions_is_found_there_at_once() -> None:
    sends = [f"p send a{n} key=k{n}\np send unseen{n} ttl=1s\np send b{n} key=k{n}" for n in range(8)]
    shown = [f"c receive 1 delete -> a{n}#{n}.1\nc receive 1 delete -> b{n}#{n}.3" for n in range(8)]

    found = judge(history("\n".join((*sends, "env advance 60s", *shown)), "azure-standard"), nodes=100)

    assert found.status is Judged.ACCEPTED


def test_what_a_rule_may_match_or_not_is_not_copied_if_it_is_never_shown() -> None:
    sends = (
        "p send m0 key=k\n" + "\n".join(f"p send m{n} session=k" for n in range(1, 9)) + "\np send m9 key=k\n"
    )
    shown = "c receive 2 delete entity=Subscriptions/a -> m0#1.1, m9#1.2\n"
    text = f"{sends}{shown}env drained entity=Subscriptions/a\n"

    found = judge(history(text, "azure-standard", subscriptions={"a": "partition_key=k"}), nodes=20)

    assert found.status is Judged.ACCEPTED
