"""Fair queues: a noisy tenant of a standard queue does not starve the quiet ones."""

import pytest

from tests.support.store import Bench, Queue, bodies


def make_noise(queue: Queue, waiting: int, in_flight: int = 30) -> None:
    left = waiting + in_flight
    while left:
        left -= len(queue.append([queue.draft("noise", group="noisy") for _ in range(min(left, 1_000))]))
    assert len(queue.take(in_flight, timeout_s=10_000)) == in_flight


@pytest.mark.parametrize("waiting", [1_000, 50_000])
def test_a_quiet_message_comes_within_two_claims(queue: Queue, waiting: int) -> None:
    make_noise(queue, waiting)
    queue.send("quiet", group="quiet")
    assert "quiet" in queue.read(10) + queue.read(10)


@pytest.mark.parametrize("waiting", [1_000, 50_000])
def test_a_message_without_group_comes_within_two_claims(queue: Queue, waiting: int) -> None:
    make_noise(queue, waiting)
    queue.send("quiet")
    assert "quiet" in queue.read(10) + queue.read(10)


def test_quiet_groups_go_first(queue: Queue) -> None:
    make_noise(queue, 1_000)
    queue.append([queue.draft(f"quiet {number}", group=f"tenant {number}") for number in range(15)])
    got = queue.read(10) + queue.read(10)
    assert sorted(got[:15]) == sorted(f"quiet {number}" for number in range(15))
    assert got[15:] == ["noise"] * 5


def test_noisy_messages_fill_the_rest(queue: Queue) -> None:
    make_noise(queue, 100)
    queue.send("quiet", group="quiet")
    assert sorted(queue.read(10)) == ["noise"] * 9 + ["quiet"]


def test_a_group_of_few_in_flight_is_not_noisy(queue: Queue) -> None:
    make_noise(queue, 100, in_flight=29)
    queue.send("quiet", group="quiet")
    assert queue.read(10) == ["noise"] * 10


def test_delayed_messages_are_not_in_flight(bench: Bench, queue: Queue) -> None:
    queue.append([queue.draft("delayed", group="some", delay_s=100) for _ in range(50)])
    queue.append([queue.draft("some", group="some") for _ in range(20)])
    queue.send("other", group="other")
    assert queue.read(10) == ["some"] * 10


def test_a_group_with_a_small_share_is_not_noisy(queue: Queue) -> None:
    """Thirty of three hundred are a tenth, not more than a tenth."""
    queue.append([queue.draft("x", group=f"tenant {number}") for number in range(270)])
    assert len(queue.take(270, timeout_s=10_000)) == 270
    make_noise(queue, 100, in_flight=30)
    queue.send("quiet", group="quiet")
    assert queue.read(10) == ["noise"] * 10


@pytest.mark.parametrize("how", ["remove", "move", "release", "time"])
def test_quiet_again(bench: Bench, queue: Queue, how: str) -> None:
    queue.append([queue.draft("noise", group="noisy") for _ in range(50)])
    held = queue.take(30, timeout_s=100)
    queue.send("quiet", group="quiet")
    bench.advance(1)
    if how == "remove":
        assert queue.remove(held[0].id)
    elif how == "move":
        assert queue.move(held[0], 0)
    elif how == "release":
        queue.release(held[0])
    else:
        bench.advance(99)
    assert queue.read(10) == ["noise"] * 10


def test_noisy_for_longer_when_visibility_is_extended(bench: Bench, queue: Queue) -> None:
    queue.append([queue.draft("noise", group="noisy") for _ in range(50)])
    for entry in queue.take(30, timeout_s=100):
        assert queue.move(entry, 200)
    queue.send("quiet", group="quiet")
    bench.advance(150)
    assert "quiet" in queue.read(10)


def test_only_visible_quiet_messages(bench: Bench, queue: Queue) -> None:
    make_noise(queue, 100)
    queue.send("later", group="quiet", delay_s=10)
    assert queue.read(10) == ["noise"] * 10
    bench.advance(10)
    assert "later" in queue.read(10) + queue.read(10)


def test_noise_survives_reopening(bench: Bench, queue: Queue) -> None:
    make_noise(queue, 1_000)
    bench.reopen()
    queue.send("quiet", group="quiet")
    assert "quiet" in queue.read(10) + queue.read(10)


def test_nothing_twice_and_nothing_lost(bench: Bench, queue: Queue) -> None:
    make_noise(queue, 200)
    sent = [f"{number}" for number in range(100)]
    queue.append([queue.draft(body, group=f"tenant {int(body) % 7}") for body in sent])
    got: list[str] = []
    while claimed := queue.take(10, timeout_s=10_000):
        got += bodies(claimed)
    assert sorted(got) == sorted(sent + ["noise"] * 200)
    assert queue.count() == (0, 330, 0)


def test_in_order_while_nobody_is_noisy(queue: Queue) -> None:
    for number in range(40):
        queue.send(str(number), group=f"tenant {number % 5}" if number % 3 else None)
    assert [body for _ in range(4) for body in queue.read(10, timeout_s=0)][:10] == [str(n) for n in range(10)]


@pytest.mark.parametrize("spread", [0, 5])
def test_with_spread(queue: Queue, spread: int) -> None:
    make_noise(queue, 1_000)
    queue.send("quiet", group="quiet")
    assert "quiet" in queue.read(10, spread=spread) + queue.read(10, spread=spread)


def test_spread_stays_in_its_window_with_groups(queue: Queue) -> None:
    waiting = queue.append([queue.draft("x", group=f"tenant {number % 20}") for number in range(100)])
    ids = [appended.id for appended in waiting]
    got = [entry.id for entry in queue.take(5, spread=6)]
    assert len(got) == 5
    assert got == sorted(got)
    assert set(got) <= set(ids[:10])


def test_many_quiet_groups_are_all_served(queue: Queue) -> None:
    make_noise(queue, 1_000)
    queue.append([queue.draft(f"{number}", group=f"tenant {number}") for number in range(500)])
    got = [body for _ in range(60) for body in queue.read(10, timeout_s=10_000)]
    quiet = [body for body in got if body != "noise"]
    assert len(got) == 600
    assert sorted(quiet, key=int) == [str(number) for number in range(500)]
