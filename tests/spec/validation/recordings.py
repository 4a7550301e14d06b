"""Small recordings, as tests of the validation write them."""

from collections.abc import Sequence

from test_tlc import needs_tlc

from partq.spec.validation import Operation, Recording, Sent, Shown, Status, Validated, validate

AZURE = frozenset({"partitioned", "numbers", "expiry", "caches"})
AZURE_RULES = frozenset({"KEY-3", "KEY-7", "RCV-3", "RCV-8", "RCV-9", "RCV-14"})
FLOWS = frozenset({"partitioned", "flows"})
WITH_CONNECTIONS = frozenset({"partitioned"})
REB_3 = frozenset({"REB-3"})


def recording(
    *operations: Operation,
    partitions: int = 2,
    words: frozenset[str] = AZURE,
    rules: frozenset[str] = AZURE_RULES,
) -> Recording:
    """One after the other, each between two instants of its own, unless it says which."""
    timed = [
        one if one.call else one._replace(call=10 * n, ret=None if one.outcome == "unknown" else 10 * n + 5)
        for n, one in enumerate(operations, 1)
    ]
    return Recording(words, rules, partitions, tuple(one._replace(record=n) for n, one in enumerate(timed)))


def did(op: str, client: str = "c1", **more: object) -> Operation:
    return Operation(0, op, client, 0, 0, **more)  # type: ignore[arg-type]


def send(id: str, key: str | None = "k", outcome: str = "ok") -> Operation:
    return did("send", sent=(Sent(id, key),), outcome=outcome)


def show(id: str, number: int, tries: int = 0, lock: str | None = None, partition: int = 7) -> Shown:
    return Shown(id, partition, partition, number, tries, lock)


def receive(*shown: Shown, deletes: bool = False) -> Operation:
    return did("receive", "c2", shown=shown, limit=5, deletes=deletes)


def complete(lock: str, **more: object) -> Operation:
    return did("complete", "c2", locks=(lock,), **more)


def abandon(lock: str, **more: object) -> Operation:
    return did("abandon", "c2", locks=(lock,), **more)


def told(found: Validated) -> tuple[Status, int | None]:
    """The status, and the record that is named."""
    return found.status, found.record


def check_told_apart(lawful: Sequence[Recording], wrong: Sequence[Recording]) -> None:
    """TLC accepts all of the former, and rejects all of the latter."""
    needs_tlc()
    found = [one.status for one in validate([*lawful, *wrong], locate=False)]

    assert found == [Status.ACCEPTED] * len(lawful) + [Status.REJECTED] * len(wrong)
