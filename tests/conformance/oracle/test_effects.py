"""How operations are taken apart into effects, one for each partition that they touch."""

from __future__ import annotations

from partq.conformance.history.notation import history
from partq.conformance.oracle.effects import BUSY, MAYBE, Effect, name_of
from partq.conformance.oracle.taking_apart import effects_of
from partq.model.actions import STORE
from partq.model.configuration import FOREVER
from partq.model.messages import as_dead


def told(profile: str, text: str, whole: bool = False, *waived: str) -> tuple[Effect, ...]:
    given = history(text, profile, partitions=1 if profile == "azure-flat" else 2)
    entity = given.header.entities["q"]
    return effects_of(given.header, given.records, entity, whole, frozenset(waived))


def ids(effect: Effect) -> list[str]:
    return [message.id for message in effect.observed.messages]


def test_an_answer_out_of_two_partitions_has_two_effects() -> None:
    *_, first, second = told("azure-premium", "p send m1\np send m2\np receive 3 delete -> m1#1.1, m2#2.1")
    assert (ids(first), ids(second)) == (["m1"], ["m2"])
    assert (first.record, first.rank, second.rank) == (2, 0, 1)
    assert (first.call, first.ret) == (second.call, second.ret)


def test_what_is_too_much_is_not_taken_apart() -> None:
    *_, answer = told("azure-premium", "p send m1\np send m2\np receive 1 delete -> m1#1.1, m2#2.1")
    assert ids(answer) == ["m1", "m2"]


def test_the_numbers_of_a_flat_entity_name_no_partition() -> None:
    text = f"p send m1\np send m2\np peek 2 -> m1#{2**63}, m2#{2**63 + 1}"
    *_, answer = told("azure-flat", text)
    assert ids(answer) == ["m1", "m2"]


def test_a_peek_that_finds_nothing_looks_everywhere() -> None:
    *_, first, second = told("azure-premium", "p send m1\np send m2\np peek 1 -> nothing")
    assert (first.action.only, second.action.only) == (0, 1)


def test_a_message_is_sent_to_where_its_dead_letter_lies() -> None:
    text = "p send m1\np receive 1 -> m1 lock=l\np receive 1 delete -> {}#2.1"
    sent, *_ = told("azure-premium", text.format(as_dead("m1")))
    assert [(hint.id, name_of(hint)) for hint in sent.observed.messages] == [("m1", 2)]


def test_a_message_is_scheduled_where_it_is_active_also_if_the_answer_has_no_number() -> None:
    text = "p schedule m1~scheduled at=1s -> m1~scheduled\nenv advance 2s\np receive 1 -> m1#1.1"
    (sent,) = told("azure-premium", text)[0].observed.messages
    assert name_of(sent) == 1


def test_a_keyless_batch_may_be_split() -> None:
    text = "p send_batch m1, m2\np receive 3 delete -> m1#1.1, m2#2.1"
    first, second, *_ = told("azure-premium", text)
    assert [m.id for m in first.action.messages] == ["m1"]
    assert [m.id for m in second.action.messages] == ["m2"]


def test_a_flow_is_handed_its_messages_one_by_one() -> None:
    text = "p send m1\np send m2\np bind f\np receive 2 flow=f delete -> m1, m2"
    assert [ids(effect) for effect in told("solace", text)][3:] == [["m1"], ["m2"]]
    assert [ids(effect) for effect in told("solace", text, whole=True)][3:] == [["m1", "m2"]]


def test_with_a_waiver_what_was_refused_may_be_stored_at_any_later_time() -> None:
    text = "p send m1 -> error timeout @1-2\np send m2 @3-4\nq receive 2 delete -> m1#1, m2#2"
    assert [e.action.op for e in told("azure-flat", text)] == ["send", "send", "receive"]
    sent, later, *_ = told("azure-flat", text, False, "RCV-1")
    assert (sent.action.op, later.action.op, later.action.messages) == ("send", STORE, sent.action.messages)
    assert (later.record, later.call, later.ret, ids(later)) == (sent.record, sent.call, FOREVER, ["m1"])


def test_with_a_waiver_a_repair_may_be_felt_twice() -> None:
    text = "env broker_kill\nenv broker_start"
    assert len(told("azure-premium", text)) == 2
    _, first, second = told("azure-premium", text, False, "ROUTE-1")
    assert first == second._replace(rank=0)


def test_an_unknown_outcome_may_take_effect_at_any_later_time() -> None:
    (effect,) = told("azure-flat", "p send m1 -> unknown timeout @1-5")
    assert (effect.call, effect.ret, effect.doubt) == (1, FOREVER, MAYBE)


def test_an_unknown_receive_may_have_locked_what_is_counted_too_often() -> None:
    text = (
        "p send m1\np send m2\nq receive 1 -> m1 lock=l count=0\nq abandon l\n"
        "q receive 1 -> unknown timeout\nenv advance 60s\n"
        "q receive 2 -> m1 lock=k count=2, m2 lock=j count=0\nq receive 1 -> unknown timeout"
    )
    _, _, _, _, first, _, last = told("azure-flat", text)
    assert first.missed == {"m1"}
    assert not last.missed


def test_a_hidden_lock_is_that_of_one_receive() -> None:
    unknown = "q receive 1 -> unknown timeout\n"
    text = f"p send m1\np send m2\n{unknown}{unknown}env advance 60s\nq receive 2 -> m1 count=1, m2 count=0"
    _, _, first, second, _ = told("azure-flat", text)
    assert (first.missed, second.missed) == ({"m1"}, set())


def test_a_passing_error_may_have_no_reason() -> None:
    (effect,) = told("azure-flat", "p send m1 -> error unavailable")
    assert effect.doubt == BUSY


def test_what_a_broker_does_not_offer_is_no_effect() -> None:
    assert told("azure-flat", "p peek 1 -> error unsupported") == ()


def test_an_unseen_receive_took_what_was_there_and_is_gone() -> None:
    """Not what was shown later, completed, or sent after it had returned."""
    text = (
        "p send m1\np send m2\np send m3\nq receive 3 -> m1#1 lock=l count=0, m2#2 lock=k count=0\n"
        "q complete k\np receive 1 delete -> unknown timeout\nq peek 3 -> m3#3\n"
        "p send m4\nq receive 1 delete -> unknown timeout\nenv drained"
    )
    first, second = (e for e in told("azure-flat", text) if e.doubt & MAYBE)
    assert first.missed == {"m1"} and second.missed == {"m1", "m3", "m4"}


def test_an_unseen_receive_took_what_was_sent_before_it_rather_than_what_came_later() -> None:
    text = (
        "p bind f\np send m1\np receive 2 flow=f -> unknown timeout\np send m2\n"
        "p receive 2 flow=f -> unknown timeout\np bind g\n"
        "p receive 2 flow=g -> m1 redelivered=yes, m2 redelivered=yes"
    )
    first, second = (e for e in told("solace", text) if e.doubt & MAYBE)
    assert (first.missed, second.missed) == ({"m1"}, {"m1", "m2"})
