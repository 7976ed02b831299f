"""The rows that a recorder is given: the values of an event, in its order."""

from rockdove.server.tracer import row
from rockdove.trace import Event


def test_a_row_has_what_is_known_in_the_order_of_an_event() -> None:
    made = row(
        1,
        ("account", "queue"),
        2,
        "receive",
        "message",
        "group",
        attempt=3,
        sent_us=4,
        dequeued_us=5,
        latency_us=6,
        size=7,
        status=400,
    )
    assert made == Event(
        event_time=1,
        account="account",
        queue="queue",
        physical=2,
        op="receive",
        message_id="message",
        group_id="group",
        attempt=3,
        sent_at=4,
        enqueued_at=4,
        dequeued_at=5,
        latency_us=6,
        bytes=7,
        status=400,
    )


def test_what_is_not_said_is_not_known() -> None:
    assert row(1, ("account", "queue"), None, "miss") == Event(1, "account", "queue", None, "miss", status=200)
