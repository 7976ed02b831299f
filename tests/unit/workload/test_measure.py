"""From notes to figures."""

import pytest

from rockdove.workload.journal import Deleted, Got, Notes, Sent
from rockdove.workload.measure import Round, Times, combined, row, times

SECOND_US = 1_000_000


def sent(seq: int, *, queue: int = 0, sender: int = 0) -> Sent:
    began_us = seq * SECOND_US // 10
    return Sent(queue, sender, seq, began_us, began_us + 1000, 1000)


def got(seq: int, at_s: float, *, queue: int = 0, sender: int = 0, ok: bool = True) -> Got:
    at_us = int(at_s * SECOND_US)
    return Got(queue, sender if ok else -1, seq if ok else -1, f"{seq:04}", 100 * seq, at_us, 2000)


def deleted(at_s: float) -> Deleted:
    return Deleted(0, int(at_s * SECOND_US), 500)


def worked(order: list[int]) -> Round:
    """As the paper's examples: five messages, received in this order."""
    notes = Notes(sent=[sent(seq) for seq in range(5)])
    notes.got = [got(number - 1, 10 + place) for place, number in enumerate(order)]
    notes.deleted = [deleted(10.5 + place) for place in range(len(order))]
    return Round(notes, Notes())


@pytest.mark.parametrize(("order", "mean"), [([2, 1, 3, 4, 5], 0.4), ([2, 3, 4, 5, 1], 1.6)])
def test_the_papers_examples(order: list[int], mean: float) -> None:
    figures = row("x", worked(order))
    assert (figures.out_of_order_rate, figures.displacement) == (0.2, mean)
    assert (figures.sent, figures.received, figures.deleted) == (5, 5, 5)
    assert (figures.duplicates, figures.lost, figures.corrupt) == (0, 0, 0)


def test_rates_are_from_the_first_request_to_the_last_answer() -> None:
    figures = row("x", worked([1, 2, 3, 4, 5]))
    assert figures.send_rate == pytest.approx(5 / 0.401)
    # The first receive began 2 ms before it was answered, at 10 s; the last delete was answered at 14.5 s.
    assert figures.receive_delete_rate == pytest.approx(5 / 4.502)


def test_what_never_came_is_lost_and_what_came_twice_a_duplicate() -> None:
    notes = Notes(sent=[sent(seq) for seq in range(4)], got=[got(0, 1), got(1, 2), got(0, 3)])
    figures = row("x", Round(notes, Notes(got=[got(1, 4), got(3, 5)])))
    assert (figures.received, figures.duplicates, figures.lost, figures.drained) == (5, 2, 1, 2)
    assert (figures.duplication_rate, figures.loss_rate) == (0.5, 0.25)


def test_a_damaged_message_is_a_lost_one() -> None:
    notes = Notes(sent=[sent(0), sent(1)], got=[got(0, 1), got(1, 2, ok=False)])
    figures = row("x", Round(notes, Notes()))
    assert (figures.corrupt, figures.lost, figures.duplicates) == (1, 1, 0)


def test_the_same_number_of_another_queue_or_sender_is_another_message() -> None:
    notes = Notes(sent=[sent(0), sent(0, queue=1), sent(0, sender=1)])
    notes.got = [got(0, 1), got(0, 2, queue=1), got(0, 3, sender=1)]
    figures = row("x", Round(notes, Notes()))
    assert (figures.duplicates, figures.lost) == (0, 0)


def test_without_a_drain_losses_are_not_known() -> None:
    figures = row("x", Round(Notes(sent=[sent(0)]), None))
    assert (figures.lost, figures.loss_rate) == (None, None)


def test_order_is_measured_queue_by_queue() -> None:
    notes = Notes(sent=[sent(seq, queue=queue) for queue in (0, 1) for seq in (0, 1)])
    notes.got = [got(0, 4), got(1, 5), got(0, 1, queue=1), got(1, 2, queue=1)]
    assert row("x", Round(notes, Notes())).out_of_order == 0


def test_nothing_at_all_gives_no_figures() -> None:
    figures = row("x", Round(Notes(), Notes()))
    assert (figures.send_rate, figures.receive_delete_rate, figures.displacement) == (None, None, None)
    assert figures.send_ms == Times(None, None, None)


def test_times_are_some_that_were_measured() -> None:
    assert times(list(range(1000, 101_000, 1000))) == Times(50.0, 95.0, 99.0)
    assert times([3000]) == Times(3.0, 3.0, 3.0)


def test_rounds_add_up_and_their_median_counts() -> None:
    one, two, three = (row("x", worked(order)) for order in ([1, 2, 3, 4, 5], [2, 1, 3, 4, 5], [2, 3, 4, 5, 1]))
    all_ = combined([one, two, three])
    assert (all_.rounds, all_.sent, all_.out_of_order, all_.lost) == (3, 15, 2, 0)
    assert all_.out_of_order_rate == pytest.approx(2 / 15)
    assert all_.displacement == pytest.approx((0 + 0.4 + 1.6) / 3)
    assert all_.send_rate == one.send_rate
    assert combined([one, row("x", Round(Notes(sent=[sent(0)]), None))]).lost is None


def test_notes_of_processes_add_up() -> None:
    notes = Notes()
    notes.add(Notes(sent=[sent(0)], misses=2))
    notes.add(Notes(sent=[sent(1)], misses=3, crashes=1))
    assert (len(notes.sent), notes.misses, notes.crashes) == (2, 5, 1)
