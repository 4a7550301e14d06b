"""Messages of one ID that was sent more than once: what tells them apart, and what does not."""

from __future__ import annotations

from dataclasses import replace

import pytest
from msgspec import structs

from partq.conformance.adapters.reference import Reference
from partq.conformance.evaluation.decision import EVERY, Decider
from partq.conformance.execution.runner import run
from partq.conformance.history import History
from partq.conformance.history.births import told_apart
from partq.conformance.history.notation import history
from partq.conformance.workload.generator import generate, trace_seed
from partq.conformance.workload.themes import THEMES
from partq.model.profiles import Entity

TOLD = {
    "by bodies": "p send m body=x\np send m body=y\np receive 2 -> m body=y, m body=x\n",
    "by keys": "p send m key=a\np send m key=b\np receive 2 -> m key=b, m key=a\n",
    "as one was refused": "p send m -> error unavailable\np send m\np receive 2 -> m\n",
    "as one was not called yet": "p send m\np receive 1 -> m#3.1\np send m\np receive 1 -> m#3.2\n",
    "by the number of the body": (
        "p send m body=x\np send m body=y\np peek 1 -> m#3.2 body=y\np receive 1 -> m#3.2\n"
    ),
    "one is never shown": "p send m body=x\np send m body=y\np receive 1 -> m body=y\n",
    "three": (
        "p send m body=x\np send_batch m body=y, m body=z\np receive 3 -> m body=z, m body=x, m body=y\n"
    ),
}
"""Each history, in which every message that is shown has one send that it can come from."""

NOT_TOLD = {
    "nothing tells": "p send m\np send m\np receive 2 -> m#3.1, m#3.2\n",
    "not all of them": "p send m body=x\np send m body=y\np receive 2 -> m body=y, m\n",
    "sent by nobody": "p send m body=x\np send m body=y\np receive 1 -> m body=z\n",
    "several partitions may bear the number": (
        "p send m\np receive 1 -> m#1 partition=3\np send m\np peek 1 -> m#2\n"
    ),
    "scheduled": "p send m body=x\np send m body=y at=9s\np receive 2 -> m body=x\n",
}


def _ids(text: str, **settings: bool) -> list[str]:
    """The IDs of what is sent and shown, in order."""
    told = told_apart(_read(text, **settings)).records
    sent = [message.id for record in told for message in record.args.get("messages", ())]
    return [*sent, *(shown.id for record in told for shown in record.messages)]


def _read(text: str, **settings: bool) -> History:
    made = history(text, profile="partitioned-queue")
    return replace(made, header=replace(made.header, entities={"q": Entity(partitions=4, **settings)}))


@pytest.mark.parametrize(
    ("how", "shown"),
    [
        ("by bodies", ["m~2", "m"]),
        ("by keys", ["m~2", "m"]),
        ("as one was refused", ["m~2"]),
        ("as one was not called yet", ["m", "m~2"]),
        ("by the number of the body", ["m~2", "m~2"]),
        ("one is never shown", ["m~2"]),
        ("three", ["m~3", "m", "m~2"]),
    ],
)
def test_each_send_has_a_name_where_all_that_is_shown_has_one_send(how: str, shown: list[str]) -> None:
    assert _ids(TOLD[how])[-len(shown) :] == shown


@pytest.mark.parametrize("why", NOT_TOLD)
def test_an_id_is_left_as_it_is_where_something_is_not_told(why: str) -> None:
    assert set(_ids(NOT_TOLD[why])) == {"m"}


def test_an_entity_that_keeps_one_of_duplicates_is_left_as_it_is() -> None:
    assert set(_ids(TOLD["by bodies"], duplicate_detection=True)) == {"m"}


def test_a_name_that_is_taken_is_nobody_else_s() -> None:
    assert _ids("p send m~2\np send m body=x\np send m body=y\n") == ["m~2", "m", "m~3"]


def test_a_history_without_such_ids_is_itself() -> None:
    made = _read("p send a\np send b\np receive 1 -> a\n")
    assert told_apart(made) is made


LOST = "p send m body=x\np send m body=y\np receive 1 delete -> m body=y\nenv drained\n"


def test_what_was_lost_is_found_though_its_id_was_sent_twice() -> None:
    made = _read(LOST)
    assert not Decider(EVERY).decide(made).violated
    assert Decider(EVERY).decide(told_apart(made)).violated == ["RCV-2"]


def _sharing_ids(made: History) -> History:
    """The history in which every third message has one ID, and only its body is its own."""
    ids = list(dict.fromkeys(m.id for r in made.records for m in r.args.get("messages", ())))
    shared = {id: f"shared-{n % 3}" for n, id in enumerate(ids)}
    records = []
    for record in made.records:
        sent = tuple(replace(m, id=shared[m.id], body=m.id) for m in record.args.get("messages", ()))
        shown = tuple(
            d._replace(id=shared[d.id], body=None if d.body is None else d.id) for d in record.messages
        )
        args = {**record.args, "messages": sent} if sent else record.args
        records.append(structs.replace(record, args=args, messages=shown))
    return replace(made, records=tuple(records))


@pytest.mark.parametrize("profile", ["azure-standard", "azure-premium", "solace"])
def test_lawful_histories_in_which_many_messages_share_an_id_stay_lawful(profile: str) -> None:
    broker, changed = Reference(profile), 0
    for number in range(10):
        # Of these, of copies and where IDs count, those sent twice are not told apart. Other bodies have
        # other sizes.
        lacks = broker.lacks() | {"schedule", "cancel_scheduled", "dead_letter"}
        themes = {
            name: weights
            for name, weights in THEMES.items()
            if not {"repeat", "management_weigh", "receive_copy"} & weights.keys()
        }
        program = generate(profile, trace_seed(7, number), length=20, lacks=lacks, themes=themes)
        shared = _sharing_ids(run(broker, program))
        told = told_apart(shared)
        changed += told is not shared
        decision = Decider(EVERY).decide(told)
        assert not decision.violated and not decision.undecided
    assert changed > 5
