"""A large batch, published as a whole: how long it takes, and what others notice; run as `python -m bench.whole`."""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
from pathlib import Path
from statistics import quantiles

import msgspec

from bench import process, report
from bench.call import call, create
from bench.machine import command, machine, scratch
from bench.neighbour import Neighbour
from bench.report import Report, Table
from bench.server import Server, rockdove
from rockdove.client import Client
from rockdove.core.publication import Winner

MESSAGES = 1_000_000
CHUNK = 1_000
BODY = "x" * 100
# The neighbour's pause between two sends, and how long it sends before anything is published.
PAUSE_S = 0.01
ALONE_S = 2.0
COUNT = "ApproximateNumberOfMessages"


class Result(msgspec.Struct, frozen=True):
    """``counts`` are all that the queue said to hold while the batch was published, in their order."""

    messages: int
    stage_s: float
    publish_s: float
    memory: int
    alone_p99_ms: float
    beside_p99_ms: float
    beside_max_ms: float
    counts: list[int]


class Watcher(threading.Thread):
    """Asks a queue how many messages it holds."""

    def __init__(self, endpoint: str, url: str) -> None:
        super().__init__(daemon=True)
        self._endpoint = endpoint
        self._url = url
        self._over = threading.Event()
        self.counts: list[int] = []

    def run(self) -> None:
        while not self._over.wait(0.1):
            found = call(self._endpoint, "GetQueueAttributes", QueueUrl=self._url, AttributeNames=[COUNT])
            self.counts.append(int(found["Attributes"][COUNT]))

    def end(self) -> None:
        self._over.set()
        self.join()


def measure(server: Server, messages: int) -> Result:
    url, before = create(server.endpoint, "batch"), process.memory(server.pid).resident
    with Client(server.endpoint) as client:
        begin_s = time.monotonic()
        chunks = range(messages // CHUNK)
        for chunk in chunks:
            client.stage_batch("batch", "bench", 0, "attempt", [BODY] * CHUNK, chunk=chunk)
        staged_s = time.monotonic()
        neighbour, watcher = Neighbour(server.endpoint, PAUSE_S), Watcher(server.endpoint, url)
        neighbour.start()
        time.sleep(ALONE_S)
        alone = neighbour.take()
        watcher.start()
        published_s = time.monotonic()
        client.publish_batch("batch", "bench", 0, [Winner("attempt", len(chunks), 0)])
        done_s = time.monotonic()
        beside = neighbour.take()
        watcher.end()
        neighbour.end()
    return Result(
        messages,
        staged_s - begin_s,
        done_s - published_s,
        process.memory(server.pid).resident - before,
        _p99_ms(alone),
        _p99_ms(beside),
        max(beside) * 1e3,
        sorted(set(watcher.counts)),
    )


def _p99_ms(seconds: list[float]) -> float:
    return quantiles(seconds, n=100)[98] * 1e3


def main() -> None:
    args = arguments()
    base = scratch(args.data)
    with tempfile.TemporaryDirectory(dir=base) as folder, rockdove(Path(folder)) as server:
        result = measure(server, args.messages)
    # The watcher may have asked once before the batch was published.
    holds = {"the queue held nothing, and then all of it": set(result.counts) <= {0, args.messages}}
    head = ["messages", "stage s", "publish s", "memory MB", "p99 alone ms", "p99 beside ms", "longest ms"]
    cells = [f"{result.messages:,}", f"{result.stage_s:.1f}", f"{result.publish_s:.1f}", f"{result.memory / 1e6:,.0f}"]
    cells += [f"{each:.1f}" for each in (result.alone_p99_ms, result.beside_p99_ms, result.beside_max_ms)]
    tables = [Table(head, [cells], NOTE), report.claims(holds)]
    made = Report("whole", machine(base), command(), [result], {}, holds)
    report.hand_over(made, "A large batch, published as a whole", tables, args)


NOTE = (
    "One client stages messages of 100 bytes in chunks of a thousand, and then publishes them. A neighbour sends to "
    "another queue every 10 ms: its times before, and while the batch lands. Memory is how much more all processes "
    "have then."
)


def arguments() -> argparse.Namespace:
    parser = report.options("A large batch: how long does publishing take, and what do others notice?")
    parser.add_argument("--messages", type=int, default=MESSAGES, metavar="N", help="a multiple of 1,000")
    return parser.parse_args()


if __name__ == "__main__":
    report.entry(main)
