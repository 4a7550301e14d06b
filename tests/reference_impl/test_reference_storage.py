"""One partition and its store: numbers, order, locks, expiry."""

from __future__ import annotations

import pytest
from world import Post

from partq.reference_impl.partition import Partition
from partq.reference_impl.store import Store, Stored


def _partition(bits: int = 48, start: int = 1, name: int = 7) -> tuple[Partition, Store, dict[str, Stored]]:
    store, locks = Store(bits, start, name), {}
    return Partition(name, store, locks), store, locks


def _accept(partition: Partition, *names: str, now: int = 0) -> None:
    partition.accept([Post(name) for name in names], now)


def _names(found: list[Stored]) -> list[str]:
    return [stored.content.id for stored in found]


def test_numbers_have_the_name_on_top_and_no_gaps() -> None:
    partition, store, _ = _partition()
    _accept(partition, "a", "b", "c")
    assert [stored.number for stored in store.live()] == [7 << 48 | n for n in (1, 2, 3)]


@pytest.mark.parametrize(("bits", "name"), [(48, 5), (64, 0)])
def test_the_counter_rolls_over_to_zero_and_order_survives(bits: int, name: int) -> None:
    partition, store, _ = _partition(bits, 2**bits - 2, name)
    _accept(partition, "a", "b", "c", "d")
    mask = 2**bits - 1
    assert [stored.number & mask for stored in store.live()] == [2**bits - 2, 2**bits - 1, 0, 1]
    assert {stored.number >> bits for stored in store.live()} == {name}
    assert _names(partition.heads(9)) == ["a", "b", "c", "d"]
    numbers = [stored.number for stored in store.live()]
    assert [store.place(number) for number in numbers] == [0, 1, 2, 3]


def test_a_place_in_the_order_outlives_deletions() -> None:
    partition, store, _ = _partition()
    _accept(partition, *(f"m{n}" for n in range(100)))
    numbers = [stored.number for stored in store.live()]
    for stored in list(store.live())[:60]:
        store.delete(stored)
    assert [stored.content.id for stored in store.live(50)][:2] == ["m60", "m61"]
    assert next(stored.content.id for stored in store.live(store.place(numbers[80]))) == "m80"
    assert list(store.live(100)) == []
    assert store.place(numbers[99] + 1) == 100
    assert not store.is_empty()
    for stored in list(store.live()):
        store.delete(stored)
    assert store.is_empty()


def test_a_lock_keeps_others_off_until_it_expires_and_expiry_counts() -> None:
    partition, _, locks = _partition()
    _accept(partition, "a", "b")
    (first,) = partition.heads(1)
    partition.lock(first, "t1", until=100)
    assert partition.holds(first, "t1", 99)
    assert not partition.holds(first, "t1", 100)
    assert _names(partition.heads(1)) == ["b"]
    assert not partition.has_free(99)
    assert partition.has_free(100)
    assert first.count == 1
    assert locks == {}
    assert _names(partition.heads(9)) == ["a"]


def test_renewing_moves_the_end_and_the_old_end_means_nothing() -> None:
    partition, _, _ = _partition()
    _accept(partition, "a")
    (stored,) = partition.heads(1)
    partition.lock(stored, "t1", until=100)
    partition.renew(stored, until=300)
    assert not partition.has_free(150)
    assert partition.holds(stored, "t1", 299)
    assert partition.next_expiry(10_000) == 300
    assert partition.has_free(300)
    assert stored.count == 1


def test_abandoned_messages_come_first_again_with_one_more_count() -> None:
    partition, _, _ = _partition()
    _accept(partition, "a", "b", "c")
    first, second = partition.heads(2)
    partition.lock(first, "t1", 100)
    partition.lock(second, "t2", 100)
    partition.abandon(second)
    partition.abandon(first)
    assert (first.count, second.count) == (1, 1)
    assert _names(partition.heads(9)) == ["a", "b", "c"]


def test_a_completed_message_never_comes_back() -> None:
    partition, store, _ = _partition()
    _accept(partition, "a", "b")
    (stored,) = partition.heads(1)
    partition.lock(stored, "t1", 100)
    partition.complete(stored)
    partition.expire(1000)
    partition.recover()
    assert _names(partition.heads(9)) == ["b"]
    assert [left.content.id for left in store.live()] == ["b"]


def test_recovery_frees_everything_and_counts_nothing() -> None:
    partition, _, locks = _partition()
    _accept(partition, "a", "b")
    for token, stored in zip("xy", partition.heads(2), strict=True):
        partition.lock(stored, token, 100)
    partition.recover()
    assert locks == {}
    assert partition.next_expiry(10_000) == 10_000
    found = partition.heads(9)
    assert _names(found) == ["a", "b"]
    assert [stored.count for stored in found] == [0, 0]
