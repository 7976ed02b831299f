"""What there is to see in a console: queues as of a shop, one that is elastic, and a report of a day."""

import json
import math
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from rockdove.capacity.scaling.step import Act, State
from rockdove.client import Client
from rockdove.elastic.state import Decided, Published, ShownWorker, write

ELASTIC = "thumbnails"
_WITH_DEAD = ("orders", "payments", "emails")
_OTHERS = ("audit-log", "price-updates", "search-index", "stock-levels", "webhooks", ELASTIC)
_FIFO = ("invoices.fifo", "shipments.fifo")
_TARGET = {"maxLoad": 40, "minLoad": 10, "maxWorkers": 6, "periodS": 2}


def queues(sqs: Any) -> dict[str, str]:
    """Makes them; gives their URLs."""
    made = {}
    for name in _WITH_DEAD:
        dead = made[f"{name}-dead"] = sqs.create_queue(QueueName=f"{name}-dead")["QueueUrl"]
        [arn] = sqs.get_queue_attributes(QueueUrl=dead, AttributeNames=["QueueArn"])["Attributes"].values()
        policy = json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": 3})
        attributes = {"RedrivePolicy": policy, "VisibilityTimeout": "120"}
        made[name] = sqs.create_queue(QueueName=name, Attributes=attributes, tags={"team": "shop"})["QueueUrl"]
    for name in _OTHERS:
        attributes = {"RockdoveElastic": json.dumps(_TARGET)} if name == ELASTIC else {}
        made[name] = sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]
    for name in _FIFO:
        attributes = {"FifoQueue": "true", "ContentBasedDeduplication": "true"}
        made[name] = sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]
    return made


def body(number: int) -> str:
    order = {"order": 48_000 + number, "items": 1 + number % 5, "total": f"{19.9 + number % 70:.2f}", "country": "DE"}
    return json.dumps(order)


def steer(client: Client, loads: list[int], decisions: list[Decided]) -> None:
    """Publishes as the controller of the elastic queue would."""
    now = time.time()
    workers = [
        ShownWorker(
            number=number,
            state="up",
            load=load,
            in_flight=min(load, 1),
            share=1 / len(loads),
            machine=f"node-{number % 3 + 1}",
            done=310 + 90 * (len(loads) - number) + load,
        )
        for number, load in enumerate(loads)
    ]
    published = Published(
        at=now,
        policy="paper",
        target=len(loads),
        machines=3,
        arrival=None,
        growth=0.0,
        service_s=0.042,
        failure=0.004,
        workers=workers,
        decisions=decisions,
        rule=State(),
    )
    client.put_elastic_state(ELASTIC, "autoscale@node-1", 30, write(published))


def decided(age_s: float, workers: int, reason: str) -> Decided:
    return Decided(at=time.time() - age_s, act=Act.ADD, reason=reason, workers=workers)


_FIGURES: dict[str, Any] = {
    "expired": 0,
    "dead_lettered": 0,
    "purged": 0,
    "duplicates": 0,
    "lost": 0,
    "duplication_rate": 0.0,
    "loss_rate": 0.0,
    "out_of_order_rate": 0.002,
    "displacement": 0.01,
    "messages_per_hit": 3.1,
}
_WINDOW_S = 60
_WINDOWS = 180


def report(folder: Path, begin: datetime) -> None:
    """Writes one of three hours as `rockdove analyse` would, with its summary and its windows."""
    folder.mkdir(parents=True)
    rates = {"orders": 38.0, "payments": 21.0, "emails": 64.0, "webhooks": 9.0}
    spans_s = _WINDOW_S * _WINDOWS
    figures = {name: _figures(rate, spans_s, name == "emails") for name, rate in rates.items()}
    summary = {
        "format": 1,
        "from": begin.isoformat(),
        "to": (begin + timedelta(seconds=spans_s)).isoformat(),
        "overall": _figures(sum(rates.values()), spans_s, True),
        "queues": figures,
        "problems": [],
    }
    (folder / "summary.json").write_bytes(msgspec.json.encode(summary))
    rows = [row for name, rate in rates.items() for row in _windows(name, rate, begin)]
    rows += _windows(None, sum(rates.values()), begin)
    for table in ("queues", "windows"):
        (folder / table).mkdir()
    totals = [{"name": name, "sent": told["sent"]} for name, told in figures.items()]
    pq.write_table(pa.Table.from_pylist(totals), folder / "queues" / "part-0.parquet")
    pq.write_table(pa.Table.from_pylist(rows), folder / "windows" / "part-0.parquet")


def _figures(rate: float, span_s: float, with_duplicates: bool) -> dict[str, Any]:
    sent = int(rate * span_s)
    duplicates = sent // 900 if with_duplicates else 0
    return {
        **_FIGURES,
        "sent": sent,
        "received": sent,
        "deleted": sent,
        "duplicates": duplicates,
        "duplication_rate": duplicates / sent,
        "send_rate": rate,
        "receive_delete_rate": rate,
        "response_ms": {"p50": 1.4, "p95": 3.2, "p99": 7.9},
        "delivery_ms": {"p50": 6.0 + rate / 8, "p95": 31.0 + rate, "p99": 88.0 + 2 * rate},
        "miss_ratio": 0.11,
        "utilisation": min(0.95, 0.3 + rate / 150),
    }


def _windows(name: str | None, rate: float, begin: datetime) -> list[dict[str, Any]]:
    return [_window(name, rate, begin, place) for place in range(_WINDOWS)]


def _window(name: str | None, rate: float, begin: datetime, place: int) -> dict[str, Any]:
    day = 1 + 0.45 * math.sin(place / _WINDOWS * 2 * math.pi) + 0.05 * math.sin(place * 1.7)
    busy = max(0.0, day - 1.2) * 4
    return {
        "name": name,
        "window_start": begin + timedelta(seconds=place * _WINDOW_S),
        "send_rate": rate * day,
        "receive_delete_rate": rate * (day - 0.02 * math.cos(place / 9)),
        "out_of_order_rate": 0.002 * day,
        "displacement": 0.01 * day,
        "duplication_rate": 0.001 if place % 37 == 0 else 0.0,
        "loss_rate": 0.0,
        "miss_ratio": max(0.02, 0.3 - 0.2 * day),
        "utilisation": min(0.97, 0.45 * day + rate / 300),
        "waiting": int(rate * busy * 2 + 3),
        "in_flight": int(rate * 0.06 * day) + 1,
        "response_p50_ms": 1.3 + 0.2 * day,
        "response_p95_ms": 3.0 + busy,
        "response_p99_ms": 7.0 + 3 * busy,
        "delivery_p50_ms": 6 + 20 * busy,
        "delivery_p95_ms": 30 + 90 * busy,
        "delivery_p99_ms": 80 + 200 * busy,
        "lost": 0,
        "duplicates": 1 if place % 37 == 0 else 0,
        "failed": 0,
    }


BEGIN = datetime(2026, 3, 2, 9, tzinfo=UTC)
