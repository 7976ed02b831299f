"""What is remembered for a while."""

from rockdove.store.memory.recent import Recent


def test_for_exactly_as_long_as_told() -> None:
    recent: Recent[str] = Recent(keep_us=300)
    recent.put("k", "first", 1_000)
    assert recent.get("k", 1_299) == "first"
    assert recent.get("k", 1_300) is None
    assert recent.get("other", 1_000) is None


def test_put_again_counts_from_then() -> None:
    recent: Recent[str] = Recent(keep_us=300)
    recent.put("k", "first", 0)
    recent.put("other", "between", 100)
    recent.put("k", "second", 200)
    assert recent.get("k", 499) == "second"
    assert recent.get("other", 400) is None


def test_forgets_what_is_over() -> None:
    recent: Recent[int] = Recent(keep_us=100)
    for at_us in range(10_000):
        recent.put(str(at_us), at_us, at_us)
    assert len(recent) <= 101


def test_a_clock_that_was_set_back() -> None:
    """By less than is kept: as if it had not been. By more: what was seen then counts no longer."""
    recent: Recent[int] = Recent(keep_us=100)
    recent.put("late", 1, 1_000)
    assert recent.get("late", 950) == 1
    assert recent.get("late", 500) is None
    recent.put("early", 2, 500)
    assert recent.get("early", 599) == 2
    assert len(recent) == 1
