"""How to serve: the settings of a service."""

import os
from pathlib import Path

from msgspec import Struct

from rockdove.core import limits
from rockdove.server.limit import Limits
from rockdove.trace import Keep


class Settings(Struct, kw_only=True):
    """How to serve."""

    host: str = "127.0.0.1"
    port: int = 9324
    data: Path = Path("data")
    store: str = "sqlite"
    region: str = "us-east-1"
    trust_proxy: bool = False
    # The 60-second rules of SQS: purge again, and re-create after delete.
    cool_down: bool = True
    max_in_flight: int = limits.MAX_IN_FLIGHT
    # Queues that have metrics of their own at most; the others share one series.
    metrics_queues: int = 1_000
    # Who shows it may read the metrics from other machines.
    metrics_token: str | None = None
    # Where to record what happens, and for how long that is kept.
    trace: Path | None = None
    trace_keep: Keep = Keep()
    # Consumers that have not called for so long lose their leases; None: never.
    lease_keep_s: float | None = None
    # A line for every request.
    access_log: bool = False
    limits: Limits = Limits()
    # Both or none.
    tls_cert: Path | None = None
    tls_key: Path | None = None
    # Origins whose pages may use the service, as browsers write them.
    cors_origin: tuple[str, ...] = ()
    # Names of hosts under which the service may be called where nobody has to sign.
    allow_host: tuple[str, ...] = ()
    # Front-end processes; 0: one process does everything.
    workers: int = 0


# More front-ends than this wait for the owner instead of for the processor.
MOST_DEFAULT_WORKERS = 4


def default_workers() -> int:
    """One core for the owner, and a front-end for each other that this process may use.

    With a single core two processes would only take turns, and one does everything.
    """
    return min(len(os.sched_getaffinity(0)) - 1, MOST_DEFAULT_WORKERS)
