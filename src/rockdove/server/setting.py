"""How to serve: the settings of a service."""

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from msgspec import Struct, field

from rockdove.core import limits
from rockdove.server.flag import Flag
from rockdove.server.limit import Limits
from rockdove.server.log import Form, Level
from rockdove.store.registry import Location, locate
from rockdove.trace import Keep

# More front-ends than this wait for the owner instead of for the processor.
MOST_DEFAULT_WORKERS = 4


def default_workers() -> int:
    """One core for the owner, and a front-end for each other that this process may use.

    With a single core two processes would only take turns, and one does everything.
    """
    return min(len(os.sched_getaffinity(0)) - 1, MOST_DEFAULT_WORKERS)


class Consistency(StrEnum):
    """How many copies must have what counts."""

    quorum = "quorum"
    one = "one"


class Settings(Struct, kw_only=True):
    """How to serve. The flags of ``rockdove serve`` are in this order."""

    host: Annotated[str, Flag("Address to listen on.", "ADDRESS")] = "127.0.0.1"
    port: Annotated[int, Flag("Port to listen on; 0 takes any free one.", min=0, max=65535)] = 9324
    data: Annotated[Path, Flag("Folder that holds the messages.", "DIR")] = Path("data")
    store: Annotated[
        str,
        Flag(
            "Where messages live: sqlite (in the folder of --data), sqlite:DIR, redis://HOST:PORT,HOST:PORT, "
            "cassandra://HOST,HOST/KEYSPACE, or memory, which forgets them at the end.",
            "STORE",
        ),
    ] = "sqlite"
    replication: Annotated[
        int | None, Flag("On Cassandra: copies of everything, if the keyspace is made anew.", min=1, max=9)
    ] = None
    consistency: Annotated[
        Consistency | None, Flag("On Cassandra: how many copies must have a message that was sent.")
    ] = None
    region: Annotated[str, Flag("The region that ARNs carry.", "NAME")] = "us-east-1"
    trust_proxy: Annotated[bool, Flag("Build queue URLs from X-Forwarded-* headers.")] = False
    cool_down: Annotated[
        bool, Flag("Refuse to purge again, or to re-create a deleted queue, for 60 s, as SQS does.")
    ] = True
    max_in_flight: int = limits.MAX_IN_FLIGHT
    metrics_queues: Annotated[int, Flag("Queues with metrics of their own; the others share one series.", min=0)] = (
        1_000
    )
    metrics_token: Annotated[
        str | None,
        Flag("Who sends the token in FILE may read /metrics from other machines.", "FILE", name="metrics_token_file"),
    ] = None
    trace: Annotated[Path | None, Flag("Record every operation as Parquet files under this folder.", "DIR")] = None
    # Who embeds the service, such as a test, keeps what it records.
    trace_keep: Annotated[
        Keep,
        Flag(
            "Keep traces up to an age, a size or both, such as 7d, 10GB or 7d,10GB; or all.", "RULE", default="7d,10GB"
        ),
    ] = Keep()
    # None: never.
    lease_keep_s: Annotated[
        float | None,
        Flag(
            "Give back what a consumer has leased that has not called for so long, such as 12h; else never.",
            "DURATION",
            name="lease_keep",
        ),
    ] = None
    log_format: Annotated[Form, Flag("Log lines for people, or JSON for machines.")] = Form.text
    log_level: Annotated[Level, Flag("What is worth a line in the log.")] = Level.warning
    access_log: Annotated[bool, Flag("Log every request, without its contents.")] = False
    limits: Limits = Limits()
    # Both or none.
    tls_cert: Annotated[
        Path | None,
        Flag("Serve HTTPS with this certificate (PEM, with those that sign it); SIGHUP reads it anew.", "FILE"),
    ] = None
    tls_key: Annotated[Path | None, Flag("The certificate's key (PEM).", "FILE")] = None
    # As browsers write them.
    cors_origin: Annotated[
        tuple[str, ...],
        Flag(
            "Let web pages of this origin use the service, such as https://app.example.com; may be repeated.", "ORIGIN"
        ),
    ] = ()
    allow_host: Annotated[
        tuple[str, ...],
        Flag("Answer under this name, too, where nobody has to sign, such as queues.lan; may be repeated.", "NAME"),
    ] = ()
    workers: Annotated[
        int,
        Flag(
            "Front-end processes; 0: one process does everything. By default as many as the processor's cores are "
            "worth.",
            min=0,
            max=256,
        ),
    ] = field(default_factory=default_workers)

    def locate(self) -> Location:
        """Where the data is. Raises `UnknownStore`."""
        return locate(self.store, self.data, replication=self.replication, consistency=self.consistency)
