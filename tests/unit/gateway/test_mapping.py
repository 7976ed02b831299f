"""Which queue stands for which topic."""

import pytest

from rockdove.gateway.mapping import Mapping


@pytest.mark.parametrize(
    ("topic", "queue"),
    [
        ("queues/jobs", "jobs"),
        ("queues/orders.fifo", "orders.fifo"),
        ("queues/", None),
        ("queues/a/b", None),
        ("queues/a b", None),
        ("queues/" + "x" * 81, None),
        ("Queues/jobs", None),
        ("/queues/jobs", None),
        ("jobs", None),
        ("", None),
    ],
)
def test_without_rules(topic: str, queue: str | None) -> None:
    assert Mapping().queue(topic) == queue


@pytest.mark.parametrize(
    ("rule", "topic", "queue"),
    [
        ("a/b=q", "a/b", "q"),
        ("a/b=q", "a/b/c", None),
        ("a/+=q", "a/b", "q"),
        ("a/+=q", "a", None),
        ("a/+=q", "a/", "q"),
        ("a/+=q", "a/b/c", None),
        ("+/+=q-{2}-{1}", "a/b", "q-b-a"),
        ("+=q-{1}", "a", "q-a"),
        ("+/x/+=q-{2}.fifo", "a/x/7", "q-7.fifo"),
        ("a/+=q-{1}", "a/b c", None),
        ("a/+=q-{1}", "a/" + "x" * 79, None),
        ("#=q", "anything/at/all", "q"),
        ("#=q", "$SYS/x", None),
        ("+/x=q", "$SYS/x", None),
        ("$SYS/#=q", "$SYS/x", "q"),
        ("a/#=q", "a", "q"),
        ("a/#=q", "a/b/c", "q"),
        ("a/#=q", "ab", None),
        ("a=b=q", "a=b", "q"),
    ],
)
def test_a_rule(rule: str, topic: str, queue: str | None) -> None:
    assert Mapping([rule]).queue(topic) == queue


def test_the_first_that_fits() -> None:
    mapping = Mapping(["a/b=first", "a/+=second", "queues/x=third"])
    assert [mapping.queue(topic) for topic in ("a/b", "a/c", "queues/x", "queues/y")] == [
        "first",
        "second",
        "third",
        "y",
    ]
