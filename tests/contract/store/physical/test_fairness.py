"""Fair queues: a noisy tenant of a standard queue does not starve the quiet ones."""

from collections.abc import Callable

import pytest

from rockdove.store.base import Draft
from tests.support.store import Bench, Queue, bodies


def make_noise(queue: Queue, waiting: int, in_flight: int = 30, at: int = 0) -> None:
    left = waiting + in_flight
    while left:
        left -= len(queue.append([queue.draft("noise", group="noisy") for _ in range(min(left, 1_000))], at))
    assert len(queue.take(in_flight, timeout_s=10_000, at=at)) == in_flight


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
    assert "quiet" in queue.read(10, order_hint=spread) + queue.read(10, order_hint=spread)


def test_spread_stays_in_its_window_with_groups(queue: Queue) -> None:
    waiting = queue.append([queue.draft("x", group=f"tenant {number % 20}") for number in range(100)])
    ids = [appended.id for appended in waiting]
    got = [entry.id for entry in queue.take(5, order_hint=6)]
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


def serve(queue: Queue, receives: int, arriving: Callable[[int], list[Draft]]) -> list[str]:
    """Before each receive some arrive; what is not noise is deleted at once. The bodies of all that came."""
    got: list[str] = []
    for number in range(receives):
        queue.append(arriving(number))
        claimed = queue.take(10, timeout_s=10_000)
        for entry in claimed:
            assert entry.message.text == "noise" or queue.remove(entry.id)
        got += bodies(claimed)
    return got


def test_messages_without_a_group_are_one_tenant_among_others(queue: Queue) -> None:
    """However many of them arrive."""
    make_noise(queue, 70)
    queue.send("quiet", group="quiet")
    assert "quiet" in serve(queue, 2, lambda _: [queue.draft("of nobody") for _ in range(10)])


def test_messages_without_a_group_have_their_turn(queue: Queue) -> None:
    make_noise(queue, 70)
    queue.send("of nobody")
    assert "of nobody" in serve(queue, 2, lambda _: [queue.draft("x", group=f"tenant {n}") for n in range(10)])


def test_quiet_groups_come_by_age(bench: Bench, queue: Queue) -> None:
    """Whatever they are called, and however many others send."""
    make_noise(queue, 1_000)
    queue.send("oldest", group="zed")
    bench.advance(1)
    queue.append([queue.draft("x", group=f"tenant {number:03}") for number in range(200)])
    bench.advance(1)
    got = serve(queue, 2, lambda _: [queue.draft("x", group=f"tenant {number:03}") for number in range(200, 210)])
    assert got[0] == "oldest"


def test_quiet_messages_come_in_the_order_of_sending(bench: Bench, queue: Queue) -> None:
    make_noise(queue, 100)
    for number in range(35):
        queue.send(str(number), group=f"tenant {number * 7 % 10}" if number % 4 else None)
        bench.advance(1)
    assert [body for _ in range(4) for body in queue.read(10, timeout_s=10_000)][:35] == [str(n) for n in range(35)]


@pytest.mark.parametrize("reopened", [False, True])
def test_groups_with_nothing_visible_do_not_stand_in_the_way(bench: Bench, queue: Queue, reopened: bool) -> None:
    queue.append([queue.draft("x", group=f"tenant {number:03}") for number in range(300)])
    assert len(queue.take(300, timeout_s=10_000)) == 300
    make_noise(queue, 100, in_flight=40)
    queue.send("quiet", group="zed")
    if reopened:
        bench.reopen()
    assert "quiet" in queue.read(10)


@pytest.mark.parametrize("how", ["move", "release", "time"])
def test_what_is_visible_again_has_its_turn(bench: Bench, queue: Queue, how: str) -> None:
    make_noise(queue, 100)
    queue.send("quiet", group="quiet")
    (held,) = [entry for entry in queue.take(10, timeout_s=100) if entry.message.text == "quiet"]
    assert "quiet" not in queue.read(10)
    bench.advance(1)
    if how == "move":
        assert queue.move(held, 0)
    elif how == "release":
        queue.release(held)
    else:
        bench.advance(99)
    assert "quiet" in queue.read(10)


def test_what_was_leased_has_its_turn_again(bench: Bench) -> None:
    queue = bench.queue(physical=2)
    for at in (0, 1):
        queue.send(f"quiet {at}", group=f"quiet {at}", at=at)
    assert queue.leased(0) == ["quiet 0", "quiet 1"]
    for at in (0, 1):
        make_noise(queue, 100, at=at)
        assert queue.read(10, at=at) == ["noise"] * 10
    queue.give_back()
    for at in (0, 1):
        assert f"quiet {at}" in queue.read(10, at=at)


def test_more_groups_than_are_remembered(bench: Bench, queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rockdove.store.sqlite.group_order.MOST_GROUPS", 40)
    make_noise(queue, 100)
    for number in range(100):
        queue.send(str(number), group=f"tenant {number * 37 % 100:02}")
        bench.advance(1)
    got = [body for _ in range(50) for body in queue.read(2, timeout_s=10_000)]
    assert got == [str(number) for number in range(100)]


def test_quiet_groups_of_one_time_come_in_the_order_of_sending(queue: Queue) -> None:
    make_noise(queue, 100)
    queue.append([queue.draft(str(number), group=f"tenant {number * 37 % 100:02}") for number in range(100)])
    got = [body for _ in range(10) for body in queue.read(10, timeout_s=10_000)]
    assert got == [str(number) for number in range(100)]


def test_groups_are_found_in_steps_after_a_restart(bench: Bench, queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rockdove.store.sqlite.fair.WALK_AT_ONCE", 3)
    make_noise(queue, 100)
    queue.append([queue.draft(str(number), group=f"tenant {number:02}") for number in range(20)])
    bench.reopen()
    for _ in range(10):
        # Each call takes its turn with one step of the search.
        assert queue.count() == (120, 30, 0)
    assert queue.read(10, timeout_s=10_000) + queue.read(10) == [str(number) for number in range(20)]
