"""Rows of a watch's table, made by hand."""

from datetime import UTC, datetime, timedelta
from typing import Any

from rockdove.spark.watch.figure import COUNTS
from rockdove.spark.watch.progress import Progress

BEGIN = datetime(2026, 3, 1, 12, tzinfo=UTC)
PROGRESS = Progress(trace="/trace", window_us=10_000_000, closed_us=1_772_366_400_000_000)


def row(window: int, queue: str = "jobs", account: str | None = "1", **more: Any) -> dict[str, Any]:
    """A window of ten seconds in which nothing happened, but for `more`."""
    start = BEGIN + timedelta(seconds=10 * window)
    whole: dict[str, Any] = dict.fromkeys(COUNTS, 0)
    whole |= {"account": account, "queue": queue, "window_start": start, "window_end": start + timedelta(seconds=10)}
    whole |= {"response_buckets": [], "delivery_buckets": [], "arrival_rate": 0.0, "service_rate": 0.0}
    whole |= {f"{kind}_{at}_ms": None for kind in ("response", "delivery") for at in ("p50", "p95", "p99")}
    whole |= dict.fromkeys(("miss_ratio", "out_of_order_rate", "displacement", "duplication_rate", "work_ms"))
    return whole | more
