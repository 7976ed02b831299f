"""The heap whose items can be found again."""

import heapq
from random import Random

from rockdove.store.common.heap import SLACK, Heap


def drain(heap: Heap[int, int]) -> list[int]:
    items = []
    while (item := heap.pop()) is not None:
        items.append(item)
    return items


def test_by_rank_then_by_item() -> None:
    heap: Heap[int, int] = Heap()
    for item, rank in [(5, 2), (4, 1), (3, 2), (9, 0)]:
        heap.put(item, rank)
    assert heap.first() == (0, 9)
    assert len(heap) == 4
    assert drain(heap) == [9, 4, 3, 5]
    assert heap.first() is None
    assert len(heap) == 0


def test_another_rank() -> None:
    heap: Heap[str, tuple[int, int]] = Heap()
    heap.put("a", (1, 0))
    heap.put("b", (2, 0))
    heap.put("a", (3, 0))
    assert heap.first() == ((2, 0), "b")
    heap.put("a", (1, 0))
    assert [heap.pop(), heap.pop(), heap.pop()] == ["a", "b", None]


def test_back_to_a_rank_it_had_is_still_one_item() -> None:
    heap: Heap[int, int] = Heap()
    for rank in (1, 2, 1, 2, 1):
        heap.put(7, rank)
    assert drain(heap) == [7]


def test_drop() -> None:
    heap: Heap[int, int] = Heap()
    for item in range(5):
        heap.put(item, item)
    heap.drop(0)
    heap.drop(3)
    heap.drop(99)
    assert 3 not in heap
    assert 4 in heap
    assert drain(heap) == [1, 2, 4]


def test_what_is_left_behind_is_swept_out() -> None:
    """However often one item moves, or how many come and go from the middle, the heap stays as small as its items."""
    heap: Heap[int, int] = Heap()
    heap.put(1, 0)
    for rank in range(10_000):
        heap.put(2, 100 + rank)
    assert len(heap._places) <= 2 * len(heap) + SLACK
    for item in range(3, 10_000):
        heap.put(item, 50_000 + item)
    for item in range(3, 10_000):
        heap.drop(item)
    assert len(heap._places) <= 2 * len(heap) + SLACK
    assert drain(heap) == [1, 2]


def test_like_a_sorted_list() -> None:
    random = Random(3)
    heap: Heap[int, int] = Heap()
    plain: dict[int, int] = {}
    for _ in range(5_000):
        item, rank = random.randrange(200), random.randrange(50)
        match random.randrange(4):
            case 0 | 1:
                heap.put(item, rank)
                plain[item] = rank
            case 2:
                heap.drop(item)
                plain.pop(item, None)
            case _:
                expected = heapq.nsmallest(1, ((rank, item) for item, rank in plain.items()))
                assert heap.pop() == (expected[0][1] if expected else None)
                if expected:
                    del plain[expected[0][1]]
        assert len(heap) == len(plain)
