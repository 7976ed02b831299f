"""Senders and receivers are spread over processes so that each runs exactly once."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from rockdove.workload.workload import Thread, Workload, share


@given(st.integers(1, 20), st.integers(1, 5), st.integers(1, 7))
def test_each_thread_runs_once_and_processes_get_the_same(queues: int, threads: int, processes: int) -> None:
    shares = [list(share(queues, threads, process, processes)) for process in range(processes)]
    assert Counter(thread for one in shares for thread in one) == Counter(
        Thread(queue, number) for queue in range(queues) for number in range(threads)
    )
    sizes = [len(one) for one in shares]
    assert max(sizes) - min(sizes) <= 1


def test_messages_in_all_are_those_of_the_paper() -> None:
    assert Workload(queues=400, senders=3, messages=100).total == 120_000
