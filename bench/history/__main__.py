"""Runs a history: `python -m bench.history --seconds 300 --seed 1`."""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from bench.error import BenchError
from bench.history.call import History
from bench.history.check import Violation, check, story, summary
from bench.history.load import FAST, Clients, Recorder, drain
from bench.history.service import SMALL_JUMP_S, Place, Service, Trouble
from bench.machine import scratch

# Violations told one by one.
MOST_TOLD = 20


def run(folder: Path, seconds: float, seed: int, store: str, workers: int, number: int) -> History:
    """With so many services. Raises `BenchError` if one does not start, does not stop, or does not come to rest."""
    place, recorder = Place(folder, store), Recorder()
    services = [Service(folder / f"service-{at}", place, workers) for at in range(number)]
    endpoints = [service.endpoint for service in services]
    try:
        place.start()
        for service in services:
            service.start()
        clients = Clients(endpoints, seed, recorder)
        # Services that do not ask each other may give a message twice: they do so in one queue only.
        is_strict = store == "cassandra" and number > 1
        clients.make_queues({"RockdoveClaim": "strict"} if is_strict else {})
        recorder.history.shared = {FAST} if is_strict else set()
        # From the earliest of their clocks to the latest.
        recorder.history.skew_s = 2 * SMALL_JUMP_S if is_strict else 0.0
        trouble = Trouble(services, place, store, workers, random.Random(seed))
        clients.start()
        trouble.start()
        time.sleep(seconds)
        try:
            trouble.end()
        finally:
            clients.end()
        recorder.history.faults = trouble.faults
        drain(endpoints, recorder)
    except BenchError as error:
        _close(services, place)
        raise BenchError("\n".join([str(error), *_complaints(services)[-MOST_TOLD:]])) from None
    finally:
        _close(services, place)
    recorder.history.complaints = _complaints(services)
    return recorder.history


def _close(services: Sequence[Service], place: Place) -> None:
    """What is closed may be closed again."""
    for service in services:
        service.close()
    place.close()


def _complaints(services: Sequence[Service]) -> list[str]:
    return sorted(line for service in services for line in service.complaints)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.history", description=__doc__)
    parser.add_argument("--seconds", type=float, default=300, help="how long clients and faults go on (default: 300)")
    parser.add_argument("--seed", type=int, default=None, help="of clients and faults (default: drawn, and printed)")
    parser.add_argument("--store", choices=["sqlite", "memory", "redis", "cassandra"], default="sqlite")
    parser.add_argument("--workers", type=int, default=2, help="front-ends; 0: one process (default: 2)")
    parser.add_argument(
        "--services", type=int, help="on Redis and Cassandra; clients ask any of them (default: 2 there, else 1)"
    )
    parser.add_argument("--out", type=Path, help="write the history here, as JSON")
    words = parser.parse_args()
    seed = random.randrange(1_000_000) if words.seed is None else words.seed
    is_shared = words.store in ("redis", "cassandra")
    number = (2 if is_shared else 1) if words.services is None else words.services
    if number < 1 or (number > 1 and not is_shared):
        parser.error(f"{number} services cannot use the store {words.store}")
    print(
        f"seed {seed}, {words.seconds:g} s, store {words.store}, services {number}, front-ends of each {words.workers}",
        flush=True,
    )
    try:
        with tempfile.TemporaryDirectory(dir=scratch()) as folder:
            history = run(Path(folder).absolute(), words.seconds, seed, words.store, words.workers, number)
    except BenchError as error:
        sys.exit(f"bench.history: {error}")
    if words.out is not None:
        words.out.write_bytes(msgspec.json.encode(history))
    print(summary(history))
    found = check(history)
    tell(found, history)
    sys.exit(1 if found else 0)


def tell(found: list[Violation], history: History) -> None:
    """With the last that the service has complained of, if there is a violation, and with what led to each."""
    for line in history.complaints[-MOST_TOLD:] if found else []:
        print(line)
    for violation in found[:MOST_TOLD]:
        print(f"VIOLATION {violation.rule}: {violation.text}")
        for line in story(history, violation):
            print(line)
    if len(found) > MOST_TOLD:
        print(f"and {len(found) - MOST_TOLD:,} more")
    print(f"{len(found)} violations")


if __name__ == "__main__":
    main()
