"""Puts tasks of one kind on the queue: `python -m tests.integration.celery_producer KIND COUNT [SECONDS]`."""

import sys

from celery import group

from tests.integration.celery_app import add, flaky, late, slow


def produce(kind: str, count: int, seconds: float) -> None:
    if kind == "add":
        for number in range(count):
            add.delay(number, 10)
    elif kind == "flaky":
        group(flaky.s(number) for number in range(count)).apply_async()
    elif kind == "late":
        group(late.s(number) for number in range(count)).apply_async(countdown=seconds)
    elif kind == "slow":
        for number in range(count):
            slow.delay(number, seconds)
    else:
        raise SystemExit(f"no tasks of kind {kind}")


produce(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]))
