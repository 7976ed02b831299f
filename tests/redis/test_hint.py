"""What the store on Redis servers believes of a queue without looking, where others use it, too."""

import time

from rockdove.store.base import UNKNOWN
from rockdove.store.redis.physical import HINTED_S
from tests.support.store import Bench


def test_what_was_true_a_moment_ago_is_not_known_any_more(bench: Bench) -> None:
    """A queue that was empty would otherwise be passed over for ever, by expiry above all."""
    queue = bench.queue()
    assert not queue.hint().may_hold_any
    time.sleep(2 * HINTED_S)
    assert queue.physical().hint() == UNKNOWN


def test_physical_queues_that_nobody_uses_are_forgotten(bench: Bench) -> None:
    queue = bench.queue()
    for _ in range(20):
        queue.purge()
        queue.send("x")
    assert len(bench.store._physical) <= 1  # type: ignore[attr-defined]
