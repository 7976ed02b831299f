"""Receiving until there is what a test waits for."""

import time
from typing import Any

_DEADLINE_S = 15


def receive_all(sqs: Any, url: str, count: int, **options: Any) -> list[dict[str, Any]]:
    """Receives until `count` messages have come, in the order they came; fails when they do not."""
    messages: list[dict[str, Any]] = []
    deadline = time.monotonic() + _DEADLINE_S
    while len(messages) < count:
        assert time.monotonic() < deadline, f"{len(messages)} of {count} messages within {_DEADLINE_S} s"
        answer = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, WaitTimeSeconds=1, **options)
        messages += answer.get("Messages", [])
    return messages


def counts(sqs: Any, url: str) -> tuple[int, int, int]:
    """Messages that are visible, in flight and delayed."""
    names = ["", "NotVisible", "Delayed"]
    attributes = sqs.get_queue_attributes(
        QueueUrl=url, AttributeNames=[f"ApproximateNumberOfMessages{name}" for name in names]
    )["Attributes"]
    visible, in_flight, delayed = (int(attributes[f"ApproximateNumberOfMessages{name}"]) for name in names)
    return visible, in_flight, delayed
