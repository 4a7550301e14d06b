"""Specification and model compared: they agree, and a fault planted in either one is found."""

import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from test_tlc import needs_tlc

from partq.model import machine
from partq.model.delivery import norm as delivery
from partq.model.duplicates import norm as duplicates
from partq.model.edits import with_part
from partq.model.locks.norm import takings
from partq.model.peeking import observed
from partq.model.rebalancing import handoffs
from partq.model.settling import norm as settling
from partq.model.state import Entry, State, Txn
from partq.model.transactions import commits, ending
from partq.model.transactions import norm as transactions
from partq.spec import MODULES
from partq.spec.comparison.compared import Compared, compare, overlooked
from partq.spec.comparison.equivalence import Difference
from partq.spec.comparison.explaining import Explained, explained
from partq.spec.comparison.pairs import NOT_COMPARED, PAIRS
from partq.spec.comparison.spec_side import LABELS, words_of
from partq.spec.tools.labels import STEPS, actions


def test_every_action_has_a_label_unless_no_scope_has_it() -> None:
    every = {action.name for steps in STEPS for action in actions(steps=steps)}
    never = {word for words in NOT_COMPARED.values() for word in words}

    assert LABELS.keys() <= every
    assert all(words_of(action) for action in every - never)
    with pytest.raises(KeyError):
        words_of("TimeComes")


def test_an_action_that_no_pair_has_is_told_unless_it_is_listed() -> None:
    every = {action.name for steps in STEPS for action in actions(steps=steps)}
    named = every & {word for words in NOT_COMPARED.values() for word in words}
    nothing = Compared(PAIRS["flat"], ((0, 0), (0, 0)), ((0, 0), (0, 0)), None, Explained(0, 0, 0))
    all_others = nothing._replace(actions=frozenset(every - named))

    assert overlooked([all_others]) == []
    assert overlooked([nothing]) == sorted(every - named)
    assert overlooked([all_others, nothing._replace(actions=frozenset({"SendBatch"}))]) == ["SendBatch"]


def test_whatever_is_no_equal_graph_says_why() -> None:
    assert [pair.name for pair in PAIRS.values() if bool(pair.why) == (pair.grade == "graphs")] == []


def test_each_word_and_set_of_the_catalogue_is_in_a_pair_or_said_to_be_in_none() -> None:
    text = re.sub(r"\\\*.*", "", (MODULES / "Catalogue.tla").read_text(encoding="utf-8"))
    written = re.findall(r"^\w+Words ==([^}]*)}", text, re.M)
    sets = re.findall(r"^(\w+) == (?:{}|\[ m \\in Messages \|-> m \])$", text, re.M)
    words = ["TwoKeys", *sets, *re.findall('"([^"]+)"', "".join(written))]
    scopes = [pair.spec for pair in PAIRS.values()]
    compared = {word for one in scopes for word in (*one.profile, *one.alphabet, *one.freedoms, *one.sets)}
    left_out = {word for said in NOT_COMPARED.values() for word in said}

    assert len(written) == 3 and len(sets) == 5
    assert compared | left_out >= {*words}
    assert not compared & left_out


@pytest.mark.parametrize("name", ["flat", "stale"])
def test_small_pairs_agree(name: str) -> None:
    needs_tlc()

    found = compare(PAIRS[name])

    assert found.difference is None
    assert found.explained.path == () and found.explained.rejected > 100


def test_a_fault_planted_in_the_model_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    needs_tlc()
    abandoned = settling.abandoned

    def uncounted(state: State, entry: Entry) -> Entry | None:
        after = abandoned(state, entry)
        return after and after._replace(tries=entry.tries)

    monkeypatch.setitem(settling._settled, "abandon", uncounted)
    found = compare(PAIRS["flat"]).difference

    assert found is not None
    assert found.path[-1:] == ("receive c1 -> m1",) or "abandon" in found.label


def test_a_fault_planted_in_the_specification_is_found(tmp_path: Path) -> None:
    needs_tlc()
    modules = tmp_path / "tla"
    shutil.copytree(MODULES, modules)
    delivery = modules / "Delivery.tla"
    text = delivery.read_text()
    assert text.count('Settled(m) == Empty("done")') == 1
    delivery.write_text(text.replace('Settled(m) == Empty("done")', 'Settled(m) == Empty("ready")'))

    found = compare(PAIRS["stale"], modules).difference

    assert isinstance(found, Difference)
    assert found.only == "TLA+"
    assert "complete c1 m1/1 -> ok" in found.path


def test_that_a_dead_broker_has_to_answer_with_an_error_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    needs_tlc()
    monkeypatch.setattr(machine, "_MAY_BE_EMPTY", frozenset())

    found = compare(PAIRS["kill"]).difference

    assert found == Difference(("broker_kill",), "receive c1 -> nothing", "TLA+")


def test_that_what_was_let_pass_is_committed_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    needs_tlc()
    monkeypatch.setattr(transactions, "doomed", transactions.tainted)

    found = compare(PAIRS["keyless in a transaction"]).difference

    sent = "send m1 in the transaction -> ok"
    assert found == Difference(("begin -> ok", sent), "commit -> ok", "model")


@pytest.mark.parametrize("name", ["transactions in an outage", "transactions and locks that end"])
def test_that_a_commit_settles_by_a_lock_that_was_given_anew_is_found(
    name: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    needs_tlc()
    monkeypatch.setattr(transactions, "_is_outlived", lambda before, after, txn: False)

    found = compare(PAIRS[name]).difference

    assert found is not None
    assert (found.label, found.only) == ("commit -> ok", "model")
    assert found.path.count("receive c1 -> m1") == 2


def test_that_a_handoff_does_not_wait_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    needs_tlc()
    pair = PAIRS["two flows"]
    small = replace(pair, spec=replace(pair.spec, keys=("a",)), model=replace(pair.model, messages=("a",)))
    monkeypatch.setattr(handoffs, "handoff_time", lambda state: (state.now, state.now))

    found = compare(small).difference

    assert found is not None
    assert (found.label, found.only) == ("handoff partition 1 -> time over", "TLA+")
    assert found.path[-1] == "rebalance" and "receive c1 -> m1" in found.path


def test_that_a_deferred_message_is_given_back_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    needs_tlc()
    pair = PAIRS["deferral"]
    small = replace(pair, spec=replace(pair.spec, clients=1), model=replace(pair.model, clients=1))
    monkeypatch.setitem(settling._settled, "defer", settling.abandoned)

    found = compare(small).difference

    assert found is not None
    assert (found.label, found.only) == ("receive c1 -> m1", "model")
    assert found.path[-1] == "defer c1 m1/1 -> ok"


def test_that_a_message_is_given_up_a_delivery_too_early_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    needs_tlc()
    returned = settling.returned

    def early(state: State, entry: Entry, tries: int, since: int) -> Entry | None:
        return None if tries >= state.cfg.limit else returned(state, entry, tries, since)

    monkeypatch.setattr(settling, "returned", early)
    found = compare(PAIRS["dead letters"]).difference

    assert found is not None
    assert (found.label, found.only) == ("receive c1 -> m1", "TLA+")
    assert found.path[-1] == "abandon c1 m1/1 -> ok"


def test_that_no_message_is_a_duplicate_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    needs_tlc()
    monkeypatch.setattr(duplicates, "copies", lambda state, sent: iter(()))

    found = compare(PAIRS["duplicates"])

    assert found.difference is not None and found.difference.only == "model"
    assert found.difference.label == "peek c1 -> m2"
    assert found.explained.path, "it takes what it stored to have used up a number"


def histories(name: str) -> Explained:
    """What `explain` says of the histories of a pair's smallest scope."""
    needs_tlc()
    pair = PAIRS[name]
    return explained(replace(pair.spec, **pair.smallest), pair.model.profile)


def test_that_any_message_may_overtake_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery, "passed", lambda state, entry, slack: [entry])

    found = histories("delivery")

    assert [step.action.op for step in found.path] == ["send", "send", "receive"]
    assert (found.path[-1].observed.messages[0].id, found.only) == ("m2", "model")


def test_that_any_delivery_count_fits_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery, "counted", lambda state, entry, reach, count: takings(state, entry, reach))

    found = histories("delivery")

    assert [step.action.op for step in found.path] == ["send", "receive"]
    assert (found.path[-1].observed.messages[0].delivery_count, found.only) == (1, "model")


def test_an_explanation_that_is_missing_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settling, "lost", lambda state, place, reach: iter(()))

    found = histories("stale")

    assert (found.path[-1].observed.status, found.only) == ("error", "TLA+")


def test_that_what_a_commit_removed_is_shown_for_ever_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(observed, "_faded", lambda part, index, missing: None)

    found = histories("lag")

    assert ([step.action.op for step in found.path][-3:], found.only) == (["commit", "peek", "peek"], "model")


def test_that_a_rollback_leaves_a_number_out_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    rolled_back = commits.rolled_back

    def leaves_out(state: State, txn: Txn) -> State:
        after = rolled_back(state, txn)
        for send in txn.sends:
            part = after.parts[send.part]
            after = with_part(after, send.part, part._replace(next=part.next + 1))
        return after

    assert histories("after a rollback").path == ()
    monkeypatch.setattr(ending, "rolled_back", leaves_out)

    found = histories("after a rollback")

    assert [step.action.op for step in found.path] == ["begin", "send", "rollback", "send"]
    assert found.only == "TLA+", "the model accepts the next number no more"
