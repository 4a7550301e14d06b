"""Which birth of a message is meant: told by the operation, by states, numbers and times."""

from __future__ import annotations

import pytest

from partq.conformance.history import Record
from partq.conformance.history.notation import history
from partq.conformance.oracle.identity import Ambiguous, by_birth
from partq.conformance.oracle.uses import unmet


def births(text: str, recurring: bool = False) -> list[str]:
    """What each message is called, as it is sent, shown and named, in the order of the records."""
    return [name for record in _renamed(text, recurring) for name in _names(record)]


def _renamed(text: str, recurring: bool = False) -> tuple[Record, ...]:
    waived = frozenset({"SCH-6"} if recurring else ())
    return by_birth(history(text, "azure-flat").records, 0, waived)


def _names(record: Record) -> list[str]:
    sent = [message.id for message in record.args.get("messages", ())]
    return [*sent, *(shown.id for shown in record.messages), *record.args.get("about", ())]


def test_without_scheduled_messages_nothing_changes() -> None:
    given = history("p send m1\np receive 1 -> m1#1", "azure-flat").records
    assert by_birth(given, 0) == given


def test_the_operation_and_the_state_tell() -> None:
    shown = births("p schedule m1 at=9s -> m1#1\np peek 1 -> m1#1 state=scheduled\np receive 1 -> m1#2")
    assert shown == ["m1~scheduled", "m1~scheduled", "m1~scheduled", "m1"]


def test_without_states_the_number_tells() -> None:
    told = "p schedule m1 at=9s -> m1#1\nenv advance 10s\np peek 2 -> {}\np receive 1 -> m1#2"
    assert births(told.format("m1#1"))[2] == "m1~scheduled"
    assert births(told.format("m1#2"))[2] == "m1"


def test_before_its_time_it_is_scheduled() -> None:
    assert births("p send m1 at=9s\np peek 1 -> m1\nenv advance 10s")[1] == "m1~scheduled"


def test_after_its_time_nothing_may_tell() -> None:
    with pytest.raises(Ambiguous, match="whether 'm1' is scheduled still"):
        births("p send m1 at=9s\nenv advance 10s\np peek 1 -> m1")


def test_where_one_state_is_shown_none_says_that_it_is_active() -> None:
    told = (
        "p send m1 at=9s\np send m2 at=9s\np peek 2 -> m2#2 state=scheduled\nenv advance 9s\np peek 2 -> m1"
    )
    assert births(told)[-1] == "m1"


def test_a_cancel_names_the_birth_with_that_number() -> None:
    told = "p schedule m1 at=9s -> m1#1\nenv advance 9s\np receive 1 -> m1#2\np cancel_scheduled {}"
    assert births(told.format(1))[-1] == "m1~scheduled"
    assert births(told.format(2))[-1] == "m1"
    assert _renamed(told.format(3))[-1].args["about"] == ()


def test_a_number_that_is_never_shown_may_be_anybody_s() -> None:
    with pytest.raises(Ambiguous, match="which message has the number 1"):
        births("p schedule m1 at=9s\np cancel_scheduled 1")


def test_what_a_scheduled_message_shows_as_its_enqueued_time_says_nothing() -> None:
    records = _renamed("p schedule m1 at=9s -> m1#1 enqueued=5")
    assert records[0].messages[0].enqueued_at is None


def test_of_a_message_for_the_past_equal_numbers_say_that_it_was_active_at_once() -> None:
    past = "env advance 10s\np schedule m1 at=1s -> m1#1\np receive 1 -> {}"
    assert births(past.format("m1#1")) == ["m1~scheduled", "m1", "m1"]
    assert births(past.format("m1#2")) == ["m1~scheduled", "m1~scheduled", "m1"]


def test_an_answer_without_a_number_does_not_say_that_a_message_for_the_past_was_active_at_once() -> None:
    told = "env advance 9s\np schedule m1 at=5s -> m1{}\np receive 1 -> m1#2"
    assert births(told.format("")) == ["m1~scheduled", "m1~scheduled", "m1"]
    assert births(told.format("#2")) == ["m1~scheduled", "m1", "m1"]


def test_in_a_transaction_the_time_may_come_before_the_commit() -> None:
    told = "p begin t\np send m1 at=5s txn=t\nenv advance {}\np commit t\nenv advance 9s\np receive 1 -> m1#2"
    assert births(told.format("1s")) == ["m1~scheduled", "m1"]
    with pytest.raises(Ambiguous, match="in a transaction"):
        births(told.format("6s"))


@pytest.mark.parametrize("told", ["schedule m1 at=1s -> m1#1", "send m1 at=1s txn=t"])
def test_of_a_message_for_the_past_nothing_may_tell(told: str) -> None:
    with pytest.raises(Ambiguous, match="was scheduled first"):
        births(f"env advance 10s\np begin t\np {told}")


def test_one_that_was_refused_is_no_scheduled_message() -> None:
    assert births("p schedule m1 at=9s -> error quota\np receive 1 -> m1#1") == ["m1", "m1"]


def test_a_second_activation_is_a_birth_where_schedules_may_recur() -> None:
    told = "p schedule m1 at=1s -> m1#1\nenv advance 2s\np receive 1 -> m1#2\np receive 1 -> m1#3"
    assert births(told)[2:] == ["m1", "m1"]
    assert births(told, recurring=True)[2:] == ["m1", "m1~again"]


def test_an_id_that_looks_like_a_birth_is_ambiguous() -> None:
    with pytest.raises(Ambiguous, match="bears the name of a birth"):
        births('p schedule m1 at=1s\np send "m1~scheduled"'.replace('"', ""))


def test_the_rules_on_scheduled_messages_are_met_where_one_is_scheduled() -> None:
    assert "SCH-1" in unmet(history("p send m1", "azure-flat"))
    for line in ("p send m1 at=9s", "p schedule m1 at=9s", "p cancel_scheduled 1 -> error not_found"):
        assert "SCH-1" not in unmet(history(line, "azure-flat"))


def test_the_rule_on_deferred_messages_is_met_where_one_is_deferred_or_asked_for() -> None:
    assert "RCV-10" in unmet(history("p send m1", "azure-flat"))
    for line in ("p defer l", "p receive_deferred 1 -> error not_found"):
        assert "RCV-10" not in unmet(history(line, "azure-flat"))


def test_a_number_names_the_message_that_is_shown_with_it() -> None:
    told = "p send m1\np send m2\np receive 2 -> m1#1, m2#2\np receive_deferred 2 7 -> error not_found"
    assert _renamed(told)[-1].args["about"] == ("m2",)


def test_a_number_that_is_never_shown_may_be_that_of_any_message_without_one() -> None:
    with pytest.raises(Ambiguous, match="which message has the number 7"):
        births("p send m1\np send m2\np receive 1 -> m1#1\np receive_deferred 7 -> m2")


def test_where_it_is_refused_no_message_need_have_it() -> None:
    told = "p send m1\np send m2\np receive 1 -> m1#1\np receive_deferred 7 1 -> error not_found"
    assert _renamed(told)[-1].args["about"] == ("m1",)
