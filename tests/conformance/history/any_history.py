"""Hypothesis strategies for histories of any content a file can hold, sensible or not."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from partq.conformance.history import Header, History, Record
from partq.model.messages import MAX_INT, MAX_SEQ, Delivery, Message
from partq.model.operations import ENV, ERRORS, OPS, Arg, Kind
from partq.model.profiles import PROFILES, Entity

text = st.text(max_size=8)
name = st.text(min_size=1, max_size=8)
count = st.integers(0, MAX_INT)
seq = st.integers(0, MAX_SEQ)
instant = st.integers(-MAX_INT - 1, MAX_INT)
pairs = st.lists(st.tuples(text, text), max_size=3).map(tuple)
maybe = {"session_id": st.none() | name, "partition_key": st.none() | name}

messages = st.builds(
    Message,
    text,
    text,
    properties=pairs,
    scheduled_at=st.none() | count,
    ttl=st.none() | count,
    without_id=st.booleans(),
    **maybe,
)
deliveries = st.builds(
    Delivery,
    id=text,
    body=st.none() | text,
    seq=st.none() | seq,
    partition=st.none() | count,
    enqueued_at=st.none() | instant,
    delivery_count=st.none() | count,
    lock=st.none() | text,
    locked_until=st.none() | instant,
    state=st.none() | text,
    session_id=st.none() | text,
    partition_key=st.none() | text,
    properties=pairs,
    redelivered=st.none() | st.booleans(),
    message_id=st.none() | text,
)
free = st.recursive(
    st.none() | st.booleans() | text | st.integers(-MAX_INT - 1, MAX_SEQ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=6,
)
KINDS: dict[Kind, st.SearchStrategy[Any]] = {
    Kind.TEXT: text,
    Kind.INT: count,
    Kind.NS: count,
    Kind.NAME: name,
    Kind.FLAG: st.booleans(),
    Kind.TIME: instant,
    Kind.TALLY: instant,
    Kind.SEQ: seq,
    Kind.TEXTS: st.lists(text, max_size=3).map(tuple),
    Kind.SEQS: st.lists(seq, max_size=3).map(tuple),
    Kind.MESSAGES: st.lists(messages, min_size=1, max_size=3).map(tuple),
    Kind.OBJECT: st.dictionaries(text, free, max_size=3),
}
DEFINITE = sorted(set(ERRORS) - {"hang", "adapter"})


def _value(arg: Arg) -> st.SearchStrategy[Any]:
    if arg.words:
        return st.sampled_from(arg.words)
    return st.tuples(messages) if arg.most == 1 else KINDS[arg.kind]


def arguments(op: str) -> st.SearchStrategy[dict[str, Any]]:
    """Any arguments of an operation that a history can hold."""
    spec = OPS[op].recorded
    required = {key: _value(arg) for key, arg in spec.items() if arg.required}
    optional = {key: _value(arg) for key, arg in spec.items() if not arg.required}
    return st.fixed_dictionaries(required, optional=optional)


@st.composite
def records(draw: st.DrawFn, i: int, proc: str, call: int) -> Record:
    """One record of a client, or of the environment, called at that instant."""
    op = draw(st.sampled_from([key for key, spec in OPS.items() if spec.env == (proc == ENV)]))
    outcome = draw(st.sampled_from(["ok", "ok", "error", "unknown"]))
    error = {
        "ok": st.none(),
        "error": st.sampled_from(DEFINITE),
        "unknown": st.none() | st.sampled_from(sorted(ERRORS)),
    }[outcome]
    ret = call + draw(st.integers(0, 2**32))
    answers = OPS[op].answers and outcome == "ok"
    return Record(
        i,
        proc,
        op,
        draw(text),
        call,
        None if outcome == "unknown" and draw(st.booleans()) else ret,
        draw(arguments(op)),
        outcome,
        draw(error),
        tuple(draw(st.lists(deliveries, max_size=3))) if answers else (),
    )


@st.composite
def histories(draw: st.DrawFn) -> History:
    """A history of up to eight records, with every freedom of the format."""
    found: list[Record] = []
    numbers = draw(st.lists(count, max_size=8, unique=True))
    free_at: dict[str, int | None] = {}
    now = draw(st.integers(-MAX_INT - 1, 2**62))
    for i in numbers:
        now += draw(st.integers(0, 2**33))
        proc = draw(st.sampled_from([*(p for p in "ab" if (at := free_at.get(p, now)) and at <= now), ENV]))
        record = draw(records(i, proc, now))
        free_at[proc] = None if proc != ENV and record.ret is None else record.ret
        found.append(record)
    header = Header(
        draw(st.sampled_from(sorted(PROFILES))),
        draw(st.dictionaries(text, entities, max_size=2)),
        draw(st.sampled_from(["virtual", "wall"])),
        draw(count),
        tuple(draw(st.lists(st.sampled_from(sorted(OPS)), max_size=3))),
    )
    return History(header, tuple(found))


entities = st.builds(
    Entity,
    partitions=st.integers(1, 1024),
    lock_duration=st.integers(1, 2**62),
    seq_start=st.none() | seq,
    peek_cap=st.none() | st.integers(1, 2**31),
    duplicate_detection=st.booleans(),
)
