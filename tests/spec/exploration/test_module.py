"""The module that the explorer is given."""

from partq.spec.exploration.module import LAST_CHANCE, NEEDS, OWN, Setting, root, sources
from partq.spec.exploration.observed import ACTIONS
from partq.spec.tools.labels import actions
from partq.spec.validation import Sent

SETTING = Setting(
    words=frozenset({"partitioned", "numbers", "expiry", "caches"}),
    offered=frozenset({"abandon", "stale", "delete", "peek", "transaction", "outage"}),
    messages=(Sent("a", "k"), Sent("b", "k"), Sent("c")),
    clients=("p", "q"),
    first=1,
)


def test_every_action_that_is_explored_is_one_of_next() -> None:
    named = {name for names in ACTIONS.values() for name in names} | OWN.keys()
    assert named == NEEDS.keys()
    assert named <= {action.name for action in actions()}
    assert LAST_CHANCE.keys() <= named


def test_an_action_is_left_out_where_nobody_asks_for_it() -> None:
    text = root(SETTING._replace(offered=frozenset({"stale"}), words=frozenset({"partitioned"})))
    assert r"\/ Do_Receive :: (\E x0 \in Clients, x1 \in Messages : Receive(x0, x1)) /\ Observed" in text
    assert "Do_Peek" not in text
    assert "Do_Commit" not in text
    assert "Do_Expire" not in text


def test_constants_are_the_settings() -> None:
    text = root(SETTING._replace(messages=(Sent("a", 'a "key"'), Sent("b"), Sent("c", "x", True))))
    assert (
        'OVERRIDE_KeyOf == [ m \\in 1 .. 3 |-> CASE m = 1 -> "k1" [] m = 2 -> "-" [] m = 3 -> "k2" ]' in text
    )
    assert "OVERRIDE_TwoKeys == {3}" in text
    assert 'OVERRIDE_Clients == {"c1", "c2"}' in text
    assert 'OVERRIDE_Alphabet == {"abandon", "delete", "outage", "peek", "stale", "transaction"}' in text


def test_the_server_is_given_every_module_that_the_root_needs() -> None:
    names = [text.split(" MODULE ")[1].split()[0] for text in sources(SETTING)]
    assert names[0] == "Explored"
    assert len(names) == len(set(names))
    assert {"PartitionedQueue", "Catalogue", "ClientHistory", "Delivery"} <= set(names)
