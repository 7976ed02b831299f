"""Claims that take no more messages once those before are so many bytes."""

import pytest

from tests.support.store import Bench, Queue, bodies

_BODIES = [f"{number}{'x' * 99}" for number in range(8)]


@pytest.fixture(params=["plain", "fair", "fifo"])
def line(request: pytest.FixtureRequest, queue: Queue, fifo: Queue) -> Queue:
    chosen = fifo if request.param == "fifo" else queue
    chosen.send(*_BODIES, group=None if request.param == "plain" else "g")
    return chosen


def test_a_claim_ends_where_its_room_does(bench: Bench, line: Queue) -> None:
    claimed = line.claim(10, room_bytes=250)
    assert bodies(claimed.entries) == _BODIES[: len(claimed.entries)]
    # What a message has besides its body counts, too.
    assert 2 <= len(claimed.entries) <= 3
    assert claimed.bytes >= 250
    line.remove_all(*[entry.id for entry in claimed.entries])
    assert line.read() == _BODIES[len(claimed.entries) :], "what there was no room for is where it was"


def test_one_message_always_fits(line: Queue) -> None:
    assert line.read(10, room_bytes=1) == _BODIES[:1]


def test_all_that_fits_is_given(line: Queue) -> None:
    claimed = line.claim(10, room_bytes=1_000_000)
    assert bodies(claimed.entries) == _BODIES
    assert 0 < claimed.bytes < 1_000_000


def test_what_has_expired_takes_no_room(bench: Bench, line: Queue) -> None:
    bench.advance(100)
    line.send("fresh", group="g")
    claimed = line.claim(10, room_bytes=50, retention_s=50)
    assert (bodies(claimed.entries), len(claimed.expired)) == (["fresh"], len(_BODIES))
