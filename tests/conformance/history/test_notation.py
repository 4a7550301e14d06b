"""The terse notation: what each form reads as, and that anything else is refused with its line."""

from __future__ import annotations

import pytest

from partq.conformance.history import History, Record
from partq.conformance.history.notation import NotationError, history
from partq.model.messages import SOLACE_KEY, Delivery, Message
from partq.model.profiles import SECOND

EXAMPLE = """
    p1 send m1 key=a                -> ok @1-4          # called at 1 ns, returned at 4 ns
    p2 send_batch m2 key=b, m3 key=b                    # no arrow: ok; no time: after all before
    p1 receive 5                    -> m1#3.7 lock=l1 count=0, m2#2.0 lock=l2
    p2 peek 3 from=3.0              -> nothing
    p1 complete l1 txn=t1           -> error lock_lost
    p1 send m4 ...                                      # called here ...
    p2 receive 1 delete             -> m2#2.0
    p1 -> unknown timeout                               # ... and returned here: the two overlap
    env partition_down 3
    env advance 30s
"""


def one(line: str, profile: str = "azure-standard") -> Record:
    (record,) = history(line, profile).records
    return record


def test_the_documented_example() -> None:
    records = history(EXAMPLE).records
    assert [(r.i, r.proc, r.op, r.call, r.ret) for r in records] == [
        (0, "p1", "send", 1, 4),
        (1, "p2", "send_batch", 5, 6),
        (2, "p1", "receive", 7, 8),
        (3, "p2", "peek", 9, 10),
        (4, "p1", "complete", 11, 12),
        (5, "p1", "send", 13, 16),
        (6, "p2", "receive", 14, 15),
        (7, "env", "partition_down", 17, 18),
        (8, "env", "advance", 19, 19 + 30 * SECOND),
    ]
    assert records[1].args["messages"] == (Message("m2", partition_key="b"), Message("m3", partition_key="b"))
    assert records[2].messages == (
        Delivery("m1", seq=(3 << 48) + 7, lock="l1", delivery_count=0),
        Delivery("m2", seq=2 << 48, lock="l2"),
    )
    assert records[3].args == {"max": 3, "from_seq": 3 << 48}
    assert records[4].args == {"locks": ("l1",), "txn": "t1"}
    assert (records[4].outcome, records[4].error) == ("error", "lock_lost")
    assert (records[5].outcome, records[5].error) == ("unknown", "timeout")
    assert records[6].args == {"max": 1, "mode": "receive_and_delete"}


@pytest.mark.parametrize(
    ("line", "args"),
    [
        ("p1 send m1", {"messages": (Message("m1"),)}),
        ('p1 send m1 body="two, \\"words\\" # x"', {"messages": (Message("m1", 'two, "words" # x'),)}),
        (
            "p1 send m1 session=s ttl=1s timeout=20s",
            {"messages": (Message("m1", session_id="s", ttl=SECOND),), "timeout": 20 * SECOND},
        ),
        ("p1 send m1 prop.k=v txn=t", {"messages": (Message("m1", properties=(("k", "v"),)),), "txn": "t"}),
        ("p1 complete l1 l2 timeout=5", {"locks": ("l1", "l2"), "timeout": 5}),
        ("p1 receive 5 flow=f1", {"max": 5, "flow": "f1"}),
        ("p1 bind f1 partition=2", {"flow": "f1", "partition": 2}),
        ("p1 disconnect", {}),
        ("p1 begin t1", {"txn": "t1"}),
        ("env assignment 3 f1 ready", {"partition": 3, "flow": "f1", "state": "ready"}),
        ("env assignment 3 state=unassigned", {"partition": 3, "state": "unassigned"}),
        ("env connection_lost p1 how=socket", {"proc": "p1", "how": "socket"}),
        ("env drained", {}),
    ],
)
def test_arguments(line: str, args: dict[str, object]) -> None:
    assert one(line).args == args


def test_a_key_is_what_the_family_takes_it_from() -> None:
    assert one("p1 send m1 key=a").args["messages"] == (Message("m1", partition_key="a"),)
    assert one("p1 send m1 key=a", "solace").args["messages"] == (
        Message("m1", properties=((SOLACE_KEY, "a"),)),
    )


@pytest.mark.parametrize(
    ("shown", "profile", "delivery"),
    [
        ("m1", "solace", Delivery("m1")),
        ("m1#9", "azure-flat", Delivery("m1", seq=9)),
        ("m1#max-2", "azure-flat", Delivery("m1", seq=2**64 - 3)),
        ("m1#2.max", "azure-standard", Delivery("m1", seq=(3 << 48) - 1)),
        ("m1 partition=3 until=1s enqueued=5 state=active redelivered=yes", "azure-standard",
         Delivery("m1", partition=3, locked_until=SECOND, enqueued_at=5, state="active", redelivered=True)),
    ],
)  # fmt: skip
def test_deliveries(shown: str, profile: str, delivery: Delivery) -> None:
    assert one(f"p1 receive 1 -> {shown}", profile).messages == (delivery,)


def test_a_call_left_open_to_the_end_is_unknown() -> None:
    record = one("p1 send m1 ...")
    assert (record.ret, record.outcome, record.error) == (None, "unknown", "hang")
    assert one("p1 send m1 @5-").ret is None


def test_records_are_in_order_of_their_calls() -> None:
    records = history("p1 send a @10-20\np2 send b @5-30").records
    assert [(r.i, r.proc) for r in records] == [(0, "p2"), (1, "p1")]


def test_settings_stand_in_for_the_profiles() -> None:
    told: History = history("", "azure-premium", lock_duration=5, skew=3, lacks=("peek",))
    assert (told.header.entities["q"].partitions, told.header.entities["q"].lock_duration) == (4, 5)
    assert (told.header.skew_ns, told.header.lacks, told.records) == (3, ("peek",), ())


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("p1 sned m1", "unknown operation 'sned'; did you mean send?"),
        ("p1", "no operation"),
        ("p1 -> ok", "no call left open"),
        ("-> ok", "a line is"),
        ("p1 send", "needs a message"),
        ("p1 send m1 kye=a", "unknown attribute 'kye'; did you mean key?"),
        ("p1 send m1 key=a key=b", "given twice"),
        ("p1 send key=a m1", "belongs to no message"),
        ("p1 send m1 key=", "partition_key must be"),
        ("p1 send m1 -> m1", "no messages"),
        ("p1 send m1 ->", "behind the arrow"),
        ("p1 send m1 -> error", "one error kind"),
        ("p1 send m1 -> error busy", "unknown error 'busy'"),
        ("p1 send m1 ... -> ok", "left open"),
        ("p1 send m1 -> ok @5-4", "before its call"),
        ("p1 send m1 -> ok @5-", "never returned"),
        ("p1 send m1 @x", "not a time"),
        ("p1 send m1 @1.5", "not a whole number of ns"),
        ("p1 receive", "needs max"),
        ("p1 receive five", "not a whole number"),
        ("p1 receive 1 1", "no place for '1'"),
        ("p1 receive 1 max=2", "given twice"),
        ("p1 receive 1 -> m1#x", "not a number"),
        ("p1 receive 1 -> ok m1", "not a name"),
        ('p1 send m1 body="x', "quotation mark"),
        ("p1 partition_down 1", "an event of 'env'"),
        ("env send m1", "not for 'env'"),
        ("p1 create settings=x", "has to be a JSON object in quotes"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_line(line: str, problem: str) -> None:
    with pytest.raises(NotationError) as caught:
        history(f"\n{line}")
    assert str(caught.value).startswith("line 2: ")
    assert problem in str(caught.value)
    assert line.strip() in str(caught.value)


@pytest.mark.parametrize(
    "text", ["p1 send a ...\np1 send b", "p1 send a @1-9\np1 send b @5-10", "p1 send a @1-\np1 send b"]
)
def test_a_client_does_one_thing_at_a_time(text: str) -> None:
    with pytest.raises(NotationError, match="p1 is still busy"):
        history(text)
