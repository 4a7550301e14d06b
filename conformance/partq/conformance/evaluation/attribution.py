"""The finding made of a rejection: the rule, what was observed and expected, and why.

The judge and blame decide; this module words the finding (`reasons` has a sentence for each rule) and names
the records that show it.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Final

from msgspec.structs import replace

from partq.conformance.evaluation.reasons import Reason, reason
from partq.conformance.history import History, Record
from partq.conformance.oracle.blame import Blame
from partq.conformance.oracle.judge import Judgement
from partq.conformance.verdict import WITH, Finding, some
from partq.model.requirements import requirement

WITNESSES: Final = 8
"""The limit of records that a finding names."""

NAMED: Final = 3
"""The limit of an answer's messages that a sentence names."""


SUCCESS: Final = "success"


def attribution(cut: History, blamed: Blame) -> Finding | None:
    """The finding that blame comes to, if it comes to any. ``cut``: the history that was blamed, which ends
    where the violation shows."""
    candidates = blamed.candidates or tuple(dict.fromkeys(id for pair in blamed.pairs for id in pair))
    if not candidates:
        return None
    first, stuck = candidates[0], _stuck(cut, blamed.judgement)
    rule = requirement(first)
    why = None if stuck is None else reason(cut, _answer(cut, stuck), candidates)
    how = f"{WITH}{candidates[1]}" if blamed.pairs else ""
    how += "" if stuck is None else f"/{stuck.op} {stuck.error or stuck.outcome}"
    return Finding(
        first,
        rule.title,
        _witness(cut, stuck, why),
        observed(cut, blamed.judgement, why) + _by(candidates, blamed),
        (why and why.expected) or expected(cut, blamed.judgement) or rule.text,
        f"{first}{how}",
        () if blamed.violated else candidates,
    )


def one_of(several: Sequence[str], cut: History, why: str) -> Finding:
    """The finding that one of these rules certainly is violated. ``cut``: the history up to the answer that
    shows it. ``why``: it in a sentence."""
    first, *others = several
    last = max((one for one in cut.records if one.ret is not None), key=lambda one: one.ret or 0)
    sent = {message.id for record in cut.records for message in record.sent}
    about = {("message", id) for id in sent if repr(id) in why}
    rule = requirement(first)
    key = f"{first}/or {', '.join(others[:NAMED])}"
    return Finding(first, rule.title, _witness(cut, last, None, about), why, rule.text, key, tuple(several))


def observed(cut: History, judgement: Judgement, why: Reason | None = None) -> str:
    """A sentence that says what cannot have happened, and why."""
    stuck = _stuck(cut, judgement)
    if stuck is None:
        return judgement.reason
    if why is not None:
        return f"{_what(_answer(cut, stuck), why.message)}: {why.why}."
    if stuck.refused:
        said = "nothing before it is a reason to refuse it"
    elif (answer := _answer(cut, stuck)) is not stuck:
        said = f"nothing that happened before leads to what the {answer.op} at {answer.i} shows of it"
    else:
        said = "nothing that happened before leads to it"
    return f"{_what(stuck)}: {judgement.reason if judgement.owner else said}."


def _stuck(history: History, judgement: Judgement) -> Record | None:
    """The operation at which all explanations end."""
    numbers = set(judgement.stuck)
    return next((record for record in history.records if record.i in numbers), None)


def _answer(history: History, stuck: Record) -> Record:
    """The answer that shows the violation: of a send the last one that shows its messages."""
    sent = {message.id for message in stuck.sent}
    showing = (r for r in reversed(history.records) if not sent.isdisjoint(one.id for one in r.messages))
    return next(showing, stuck) if sent else stuck


def _what(record: Record, message: str | None = None) -> str:
    """What cannot have happened, as far as one operation says it."""
    if record.op == "assignment":
        flow = f" at flow {record.args['flow']}" if "flow" in record.args else ""
        partition, state = record.args["partition"], record.args["state"]
        return f"Partition {partition} cannot have become {state}{flow} at {record.i}"
    if record.op == "drained":
        return f"The entity cannot have been empty at {record.i}"
    subject = f"The {record.op} at {record.i} cannot have "
    if record.refused:
        return f"{subject}been refused as {record.error}"
    if record.messages:
        return f"{subject}returned {message or some([one.id for one in record.messages], NAMED)}"
    if record.op in ("receive", "peek") and record.ok:
        return f"{subject}returned nothing"
    return f"{subject}succeeded" if record.ok else f"{subject}ended so"


def expected(history: History, judgement: Judgement) -> str:
    """The answers that the model allows, in words; empty if unknown."""
    stuck = _stuck(history, judgement)
    shown = [one.id for one in stuck.messages] if stuck is not None else []
    firsts = dict.fromkeys(said.removeprefix("ok: ").partition(", ")[0] for said in judgement.allowed)
    words = sorted((_word(said, shown) for said in firsts), key="nothing".__ne__)
    succeeded = stuck is not None and stuck.ok
    return "" if succeeded and words == [SUCCESS] else ", or ".join(words)


def _word(said: str, shown: Sequence[str]) -> str:
    if said == "nothing shown":
        return "nothing"
    if said == "ok":
        return SUCCESS
    if said.startswith("error: "):
        return f"a refusal as {said.removeprefix('error: ')}"
    if said not in shown[:1]:
        return f"{said} first"
    how = "not as it is shown" if len(shown) == 1 else "not with the rest of the answer"
    return f"{said}, but {how}"


def _by(candidates: tuple[str, ...], blamed: Blame) -> str:
    """How certain the attribution to a rule is."""
    if blamed.violated:
        return f" (partq explain {candidates[0]})"
    if blamed.pairs:
        return f" No single rule explains it; {' and '.join(blamed.pairs[0])} together do."
    return "" if blamed.complete else " Other rules may explain it, too: not every search came to an end."


def _witness(
    history: History, stuck: Record | None, why: Reason | None, about: Set[_Name] = frozenset()
) -> tuple[int, ...]:
    """The operation, those that the reason names, and those before it that concern what it is ``about``, or
    all its messages where none of them is, their locks or transactions."""
    if stuck is None:
        return ()
    certain = {stuck.i, *(() if why is None else (_answer(history, stuck).i, *why.witness[: WITNESSES - 2]))}
    about = about if why is None else about | {("message", why.message)}
    own = tuple(one for one in stuck.messages if ("message", one.id) in about)
    names = _names(replace(stuck, messages=own) if own else stuck) | about
    shown = (one for record in history.records for one in record.messages if ("message", one.id) in names)
    names |= {("lock", one.lock) for one in shown if one.lock is not None}
    names |= {name for r in history.records for name in _names(r) if name[0] == "txn" and names & _names(r)}
    related = [r.i for r in history.records if r.i not in certain and names & _names(r)]
    room = max(0, WITNESSES - len(certain))
    return tuple(sorted({*certain, *related[max(0, len(related) - room) :]}))


_Name = tuple[str, str | None]


def _names(record: Record) -> set[_Name]:
    """The messages, locks, transactions and flows that the record names."""
    args = record.args
    names: set[_Name] = {("message", id) for id in record.ids}
    names |= {("lock", token) for token in record.lock_tokens}
    names |= {("lock", shown.lock) for shown in record.messages}
    names |= {(name, args.get(name)) for name in ("txn", "flow")}
    return {name for name in names if name[1] is not None}
