"""Runs a history: `python -m bench.history --seconds 300 --seed 1`."""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

import msgspec

from bench.error import BenchError
from bench.history.call import History
from bench.history.check import Violation, check, summary
from bench.history.load import Clients, Recorder, drain
from bench.history.service import Service, Trouble
from bench.machine import scratch

# Violations told one by one.
MOST_TOLD = 20


def run(folder: Path, seconds: float, seed: int, store: str, workers: int) -> History:
    """Raises `BenchError` if the service does not start, does not stop, or does not come to rest."""
    service, recorder = Service(folder, store, workers), Recorder()
    try:
        service.start_servers()
        service.start()
        clients = Clients(service.endpoint, seed, recorder)
        clients.make_queues()
        trouble = Trouble(service, store, workers, random.Random(seed))
        clients.start()
        trouble.start()
        time.sleep(seconds)
        try:
            trouble.end()
        finally:
            clients.end()
        recorder.history.faults = trouble.faults
        drain(service.endpoint, recorder)
    finally:
        service.close()
    return recorder.history


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.history", description=__doc__)
    parser.add_argument("--seconds", type=float, default=300, help="how long clients and faults go on (default: 300)")
    parser.add_argument("--seed", type=int, default=None, help="of clients and faults (default: drawn, and printed)")
    parser.add_argument("--store", choices=["sqlite", "memory", "redis"], default="sqlite")
    parser.add_argument("--workers", type=int, default=2, help="front-ends; 0: one process (default: 2)")
    parser.add_argument("--out", type=Path, help="write the history here, as JSON")
    words = parser.parse_args()
    seed = random.randrange(1_000_000) if words.seed is None else words.seed
    print(f"seed {seed}, {words.seconds:g} s, store {words.store}, {words.workers} front-ends", flush=True)
    try:
        with tempfile.TemporaryDirectory(dir=scratch()) as folder:
            history = run(Path(folder).absolute(), words.seconds, seed, words.store, words.workers)
    except BenchError as error:
        sys.exit(f"bench.history: {error}")
    if words.out is not None:
        words.out.write_bytes(msgspec.json.encode(history))
    print(summary(history))
    found = check(history)
    tell(found)
    sys.exit(1 if found else 0)


def tell(found: list[Violation]) -> None:
    for violation in found[:MOST_TOLD]:
        print(f"VIOLATION {violation.rule}: {violation.text}")
    if len(found) > MOST_TOLD:
        print(f"and {len(found) - MOST_TOLD:,} more")
    print(f"{len(found)} violations")


if __name__ == "__main__":
    main()
