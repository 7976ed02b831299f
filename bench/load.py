"""The loads: wrk with the scripts of bench/lua, and the checks that make its output a figure."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import msgspec

from bench import process, swarm
from bench.call import count, create, signed
from bench.connection import BODY
from bench.error import BenchError
from bench.server import Server

CONNECTIONS = 32
LUA = Path(__file__).parent / "lua"


class Load(msgspec.Struct, frozen=True):
    """One kind of request stream; `batch` is the messages in a request, `takes` whether it empties the queue.

    `script` is the Lua script's name where that is not the load's.
    """

    name: str
    title: str
    batch: int
    takes: bool
    script: str = ""


SEND = Load("send", "send", 1, False)
SEND10 = Load("send10", "send in tens", 10, False)
RECEIVE = Load("receive", "receive+delete", 1, True)
RECEIVE10 = Load("receive10", "receive+delete in tens", 10, True)
LOADS = (SEND, SEND10, RECEIVE, RECEIVE10)
# Only of servers that check signatures.
SIGNED = Load("signed", "signed send", 1, False)
# Only of servers that record a trace.
TRACED = Load("traced", "send, traced", 1, False, "send")


class Output(msgspec.Struct, frozen=True):
    """The line the Lua scripts print; the last six only of the loads that receive."""

    requests: int
    duration_us: int
    p50_us: int
    p99_us: int
    error_connect: int
    error_read: int
    error_write: int
    error_status: int
    error_timeout: int
    receives: int = 0
    deletes: int = 0
    responses: int = 0
    received: int = 0
    replies: int = 0
    refused: int = 0


class Figure(msgspec.Struct, frozen=True):
    """One measured run; `cpu` is the server's use, in cores, `others` that of all but the server and wrk."""

    requests_s: float
    messages_s: float
    p50_ms: float
    p99_ms: float
    cpu: float
    others: float


class BadRun(BenchError):
    """The run had errors: there is no figure."""


class RanDry(BadRun):
    """The queue was too short for the run."""


class Target(msgspec.Struct):
    """A server, and the queue of one load on it; `rate` is the messages a second it last took or gave."""

    server: Server
    load: Load
    queue_url: str
    rate: float

    @property
    def label(self) -> str:
        return f"{self.server.name} {self.load.title}"

    @property
    def stores(self) -> bool:
        return self.server.name != "floor"


def target(server: Server, load: Load, round_: int = 0) -> Target:
    name = f"{load.name}-{round_}"
    made = Target(server, load, f"{server.endpoint}/000000000000/{name}", server.pace.guess)
    if made.stores:
        made.queue_url = create(server.endpoint, name, server.credentials)
    return made


def wrk(at: Target, seconds: float, threads: int) -> Output:
    """One run of wrk, without any judgement of it."""
    options = [f"-t{threads}", f"-c{CONNECTIONS}", f"-d{seconds:.0f}s", "--timeout", "60s"]
    script = [
        "-s",
        str(LUA / f"{at.load.script or at.load.name}.lua"),
        at.server.endpoint,
        "--",
        at.queue_url,
        *_presigned(at),
    ]
    done = subprocess.run(["wrk", *options, *script], capture_output=True, text=True, check=False)
    for line in done.stdout.splitlines():
        if line.startswith("RESULT "):
            return msgspec.json.decode(line.removeprefix("RESULT "), type=Output)
    raise BadRun(f"{at.label}: wrk ended with {done.returncode}:\n{done.stdout}{done.stderr}")


def _presigned(at: Target) -> list[str]:
    """For the load of signed requests: the body, and the headers that sign it."""
    if at.load is not SIGNED:
        return []
    body = msgspec.json.encode({"QueueUrl": at.queue_url, "MessageBody": BODY})
    headers = signed(at.server.credentials, at.server.endpoint, "SendMessage", body)
    return [body.decode(), *(f"{name}: {value}" for name, value in headers.items())]


def check(at: Target, output: Output, before: int, after: int) -> None:
    """Raises unless every request was answered well and the server's own counts agree with wrk's."""
    errors = {name: n for name, n in msgspec.structs.asdict(output).items() if name.startswith("error_") and n}
    if errors or output.refused:
        raise BadRun(f"{at.label}: errors {errors}, batches with a refused entry {output.refused}")
    if output.requests == 0:
        raise BadRun(f"{at.label}: no request was answered")
    # What is under way when wrk stops may or may not have happened.
    slack = CONNECTIONS * at.load.batch
    if at.load.takes:
        under_way = output.receives + output.deletes - output.responses
        empty = output.receives - (output.replies or output.received) - under_way
        if empty > 0:
            raise RanDry(f"{at.label}: {empty} receives came back empty")
        missing = output.received - (before - after)
        if not 0 <= missing <= 2 * slack:
            raise BadRun(f"{at.label}: {output.received} messages received, {before - after} gone from the queue")
    elif at.stores:
        sent = output.requests * at.load.batch
        if not 0 <= after - before - sent <= slack:
            raise BadRun(f"{at.label}: {sent} messages acknowledged, {after - before} more in the queue")


def run(at: Target, seconds: float, threads: int) -> Figure:
    """A checked run on a queue that is deep enough; raises BadRun."""
    before = _depth(at)
    meter = process.Meter(at.server.pid)
    output = wrk(at, seconds, threads)
    cpu, others, _ = meter.read()
    check(at, output, before, _depth(at))
    elapsed_s = output.duration_us / 1e6
    messages = output.received if at.load.takes else output.requests * at.load.batch
    at.rate = messages / elapsed_s
    return Figure(output.requests / elapsed_s, at.rate, output.p50_us / 1e3, output.p99_us / 1e3, cpu, others)


def measure(at: Target, seconds: float, threads: int) -> Figure:
    """Fills the queue for the run, lets the server come to rest, and runs; a queue that ran dry is filled deeper."""
    seconds = max(seconds, at.server.pace.least_s)
    for _ in range(8):
        if at.load.takes:
            top_up(at, int(at.rate * seconds * 2) + 2 * CONNECTIONS * at.load.batch)
        share = process.settle(at.server.pid)
        if share > process.QUIET:
            print(f"{at.label}: the server is not at rest, {share:.0%} of a core", file=sys.stderr)
        try:
            return run(at, seconds, threads)
        except RanDry:
            at.rate *= 4
    raise RanDry(f"{at.label}: empty receives however deep the queue")


def warm(at: Target, threads: int) -> None:
    """Runs the load until the server had its warm-up; this also finds the rate."""
    end = time.monotonic() + at.server.pace.warm_s
    while time.monotonic() < end:
        measure(at, at.server.pace.warm_s / 2, threads)


def _depth(at: Target) -> int:
    return count(at.server.endpoint, at.queue_url, at.server.credentials) if at.stores else 0


def top_up(at: Target, messages: int) -> None:
    lacking = messages - _depth(at)
    if lacking > 0:
        swarm.run(swarm.fill(at.server.endpoint, at.queue_url, lacking))
