"""Attacks on the memory of a service, and what they take; run as `python -m bench.abuse`."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import resource
import selectors
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from multiprocessing import Pipe, get_context
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import quantiles
from urllib.parse import urlencode, urlsplit

import msgspec

from bench import process, report
from bench.call import call, create
from bench.machine import command, machine, scratch
from bench.neighbour import Neighbour
from bench.report import Report, Table
from bench.server import Server, rockdove
from rockdove.broker import look
from rockdove.broker.context import LEASES_AT_ONCE
from rockdove.core import limits
from rockdove.server import guard
from rockdove.server.limit import Limits
from rockdove.store.common import turns
from rockdove.store.sqlite.folder import CACHE_KIB
from rockdove.store.sqlite.shelves import HEADS_BYTES

# Seconds for which an attack goes on once all its clients are there.
HOLD_S = 5.0
# The neighbour's pause between two sends.
PAUSE_S = 0.02
SLOWEST_S = 1.0
FILES = 20_000
PIECE_BYTES = 65_536
BODY = "x" * 1_000_000
# What an open connection takes, and in how many copies an answer is in memory at once on its way from the disk to the
# socket, in all processes.
CONNECTION_BYTES = 12 * 1024
COPIES = 6
# What a receive that waits takes: the names of the attributes that it wants.
WAITING_BYTES = 16 * 1024
# How much memory the allocator takes for each byte that is in use.
ALLOCATOR = 1.1


class Result(msgspec.Struct, frozen=True):
    """Memory of all processes of the service, in bytes: how much more than before, and how much more it may be."""

    attack: str
    clients: int
    sent: int
    grown: int
    bound: int
    p50_ms: float
    p99_ms: float
    failures: int


class Attack(msgspec.Struct, frozen=True):
    """``say`` makes what each client sends; of that, so many bytes are ``served`` at once, and ``cached``."""

    name: str
    clients: int
    say: Callable[[Server], bytes]
    served: int = 0
    cached: int = 0
    # Bytes that are kept for each client besides.
    kept: int = 0

    def bound(self, clients: int, buffered: int) -> int:
        """What the service may take for it: the sum of the bounds that docs/explanation/abuse.md states."""
        used = buffered + clients * (CONNECTION_BYTES + self.kept) + COPIES * self.served + self.cached
        return int(used * ALLOCATOR)


def _head(operation: str, length: int | None = None, prefix: str = "AmazonSQS") -> bytes:
    size = b"" if length is None else b"Content-Length: %d\r\n" % length
    return f"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Amz-Target: {prefix}.{operation}\r\n".encode() + size


def _request(operation: str, content: dict[str, object], prefix: str = "AmazonSQS") -> bytes:
    body = json.dumps(content).encode()
    return _head(operation, len(body), prefix) + b"\r\n" + body


def _silence(server: Server) -> bytes:
    return b""


def _tiny_headers(server: Server) -> bytes:
    return _head("ListQueues") + b"".join(b"a%d:b\r\n" % number for number in range(250))


def _many_tiny_headers(server: Server) -> bytes:
    return _head("ListQueues") + b"".join(b"%d:\r\n" % number for number in range(10_000))


def _tiny_chunks(server: Server) -> bytes:
    return _head("SendMessage") + b"Transfer-Encoding: chunked\r\n\r\n" + b"2\r\nxx\r\n" * 140_000


def _small_chunks(server: Server) -> bytes:
    return _head("SendMessage") + b"Transfer-Encoding: chunked\r\n\r\n" + (b"10\r\n" + b"x" * 16 + b"\r\n") * 60_000


def _trailers(server: Server) -> bytes:
    return _head("SendMessage") + b"Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n" + b"a:b\r\n" * 200_000


def _wrong_entries(server: Server) -> bytes:
    url = create(server.endpoint, "empty")
    body = b'{"QueueUrl":"%b","Entries":[' % url.encode() + b"{}," * 2_500_000 + b"{}]}"
    return _head("SendMessageBatch", len(body)) + b"\r\n" + body


def _quotes(server: Server) -> bytes:
    """A quote takes six bytes in XML."""
    url = create(server.endpoint, "quotes")
    for _ in range(9):
        call(server.endpoint, "SendMessage", QueueUrl=url, MessageBody='"' * 1_000_000)
    asked = urlencode({"Action": "ReceiveMessage", "QueueUrl": url, "VisibilityTimeout": 0, "MaxNumberOfMessages": 10})
    head = "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/x-www-form-urlencoded\r\n"
    return f"{head}Content-Length: {len(asked)}\r\n\r\n{asked}".encode() * 8


def _half_bodies(server: Server) -> bytes:
    return _head("SendMessage", 1_000_000) + b"\r\n" + b"x" * 900_000


def _large_sends(server: Server) -> bytes:
    url = create(server.endpoint, "sent")
    return _request("SendMessage", {"QueueUrl": url, "MessageBody": BODY}) * 8


def _unread(operation: str, prefix: str, **more: object) -> Callable[[Server], bytes]:
    def make(server: Server) -> bytes:
        url = create(server.endpoint, "large")
        for _ in range(9):
            call(server.endpoint, "SendMessage", QueueUrl=url, MessageBody=BODY)
        return _request(operation, {"QueueUrl": url, **more}, prefix) * 8

    return make


def _listings(server: Server) -> bytes:
    for number in range(700):
        create(server.endpoint, f"{number:080}")
    return b"GET /?Action=ListQueues HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 16


def _metrics(server: Server) -> bytes:
    _listings(server)
    return b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 16


def _ahead(server: Server) -> bytes:
    url = create(server.endpoint, "empty")
    wait = _request("ReceiveMessage", {"QueueUrl": url, "WaitTimeSeconds": 20})
    return wait + _request("ListQueues", {}) * 3_000


def _waiting(server: Server) -> bytes:
    """With as much as a request may have that waits."""
    url, names = create(server.endpoint, "empty"), [f"{number:040}" for number in range(100)]
    request = _request("ReceiveMessage", {"QueueUrl": url, "WaitTimeSeconds": 20, "MessageAttributeNames": names})
    head, _, body = request.partition(b"\r\n\r\n")
    padding = b"".join(b"\r\nX-Pad-%d: " % number + b"x" * 200 for number in range(200))
    return head + padding + b"\r\n\r\n" + body


LOOKS = look.AT_ONCE * limits.MAX_ANSWER_BYTES
LEASES = LEASES_AT_ONCE * limits.MAX_ANSWER_BYTES
RECEIVES = turns.MOST_BYTES + limits.MAX_RECEIVE * limits.MAX_MESSAGE_BYTES
SENDS = guard.SERVED_BYTES
CACHED = HEADS_BYTES + CACHE_KIB * 1024
ATTACKS = (
    Attack("connections that say nothing", 5_000, _silence),
    Attack("250 tiny headers, and no end", 5_000, _tiny_headers),
    Attack("10,000 tiny headers", 1_000, _many_tiny_headers),
    Attack("chunks of two bytes, and no end", 300, _tiny_chunks),
    Attack("chunks of sixteen bytes", 300, _small_chunks),
    Attack("trailers without end", 300, _trailers),
    Attack("millions of wrong entries in JSON", 20, _wrong_entries, SENDS),
    Attack("nine tenths of a large body", 500, _half_bodies),
    Attack("messages of a megabyte, all at once", 500, _large_sends, SENDS, CACHED),
    Attack("Peek that nobody reads", 500, _unread("Peek", "Rockdove", MaxNumberOfMessages=100), LOOKS),
    Attack(
        "leases that nobody reads", 500, _unread("LeaseBatch", "Rockdove", Consumer="c", Shard=0, Sequence=0), LEASES
    ),
    Attack(
        "receives that nobody reads",
        500,
        _unread("ReceiveMessage", "AmazonSQS", VisibilityTimeout=0, MaxNumberOfMessages=10),
        RECEIVES,
    ),
    Attack("receives of quotes as XML that nobody reads", 500, _quotes, RECEIVES),
    Attack("listings of 700 queues that nobody reads", 500, _listings),
    Attack("metrics of 700 queues that nobody reads", 500, _metrics),
    Attack("thousands of requests sent ahead", 500, _ahead),
    Attack("receives that wait", 5_000, _waiting, kept=WAITING_BYTES),
)


@contextlib.contextmanager
def _peak(pid: int) -> Iterator[list[int]]:
    """The most that all processes have had while the block ran, all of it."""
    most, over = [0], threading.Event()

    def watch() -> None:
        while not over.wait(0.1):
            most[0] = max(most[0], process.memory(pid).resident)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield most
    finally:
        over.set()
        thread.join()


def _attack(address: tuple[str, int], clients: int, data: bytes, hold_s: float, told: Connection) -> None:
    """In a process of its own, which must not hold the neighbour up: all clients send at once, and none reads."""
    sent, wires = 0, list[socket.socket]()
    with selectors.DefaultSelector() as selector:
        for _ in range(clients):
            with contextlib.suppress(OSError):
                wire = socket.create_connection(address, timeout=5)
                wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                wire.setblocking(False)
                wires.append(wire)
                if data:
                    selector.register(wire.fileno(), selectors.EVENT_WRITE, memoryview(data))
        until_s = time.monotonic() + hold_s
        while (left_s := until_s - time.monotonic()) > 0:
            for key, _ in selector.select(left_s):
                rest = key.data[_send(key.fd, key.data[:PIECE_BYTES]) :]
                sent += len(key.data) - len(rest)
                if len(rest) == len(key.data) or not rest:
                    # It has said all, or was hung up on.
                    selector.unregister(key.fd)
                else:
                    selector.modify(key.fd, selectors.EVENT_WRITE, rest)
                    until_s = time.monotonic() + hold_s
    told.send((len(wires), sent))


def _send(wire: int, data: memoryview) -> int:
    try:
        return os.write(wire, data)
    except OSError:
        return 0


def strike(server: Server, attack: Attack, clients: int, buffered: int, hold_s: float) -> Result:
    place = urlsplit(server.endpoint)
    address = (place.hostname or "", place.port or 0)
    data = attack.say(server)
    here, there = Pipe(duplex=False)
    neighbour = Neighbour(server.endpoint, PAUSE_S)
    neighbour.start()
    time.sleep(1)
    before = process.memory(server.pid).resident
    attacker = get_context("fork").Process(target=_attack, args=(address, clients, data, hold_s, there), daemon=True)
    with _peak(server.pid) as most:
        attacker.start()
        there.close()
        connected, sent = here.recv()
    attacker.join()
    neighbour.end()
    cuts = quantiles(neighbour.seconds, n=100)
    grown = max(most[0] - before, 0)
    p50_ms, p99_ms = cuts[49] * 1e3, cuts[98] * 1e3
    bound = attack.bound(connected, buffered)
    return Result(attack.name, connected, sent, grown, bound, p50_ms, p99_ms, neighbour.failures)


def main() -> None:
    args = arguments()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(FILES, hard)), hard))
    base = scratch(args.data)
    results = []
    for attack in ATTACKS:
        if args.only and not any(word in attack.name for word in args.only):
            continue
        clients = min(attack.clients, args.clients)
        report.progress(f"{attack.name}: {clients:,} clients")
        flags = ["--max-buffered-bytes", str(args.max_buffered_bytes)]
        if args.workers is not None:
            flags += ["--workers", str(args.workers)]
        with tempfile.TemporaryDirectory(dir=base) as folder, rockdove(Path(folder), flags=flags) as server:
            results.append(strike(server, attack, clients, args.max_buffered_bytes, args.hold))
    holds = {
        "memory stays within its bound": all(each.grown <= each.bound for each in results),
        "no request of a well-behaved client failed": not any(each.failures for each in results),
        "p99 of a well-behaved client is under a second": all(each.p99_ms < SLOWEST_S * 1e3 for each in results),
    }
    head = ["attack", "clients", "sent MB", "memory MB", "bound MB", "neighbour p50 ms", "p99 ms", "failed"]
    result = Report("abuse", machine(base), command(), [*results], {}, holds)
    tables = [Table(head, [_cells(each) for each in results], NOTE), report.claims(holds)]
    report.hand_over(result, "Abuse: what attacks take of the memory", tables, args)


NOTE = (
    "Memory is what all processes of the service have more than before, at most; clients are those that got a "
    "connection. The bound is the sum of `--max-buffered-bytes`, of 12 KiB for each connection, of 16 KiB for each "
    "receive that waits, of six times what may be served at once of large requests and answers, and for sends of what "
    "is cached of the messages; and a tenth of all that, for the allocator. The neighbour sends a message every 20 ms, "
    "each over a new connection. Attackers, service and neighbour share the machine."
)


def _cells(each: Result) -> list[str]:
    sizes = [f"{number / 1e6:,.0f}" for number in (each.sent, each.grown, each.bound)]
    return [each.attack, f"{each.clients:,}", *sizes, f"{each.p50_ms:.1f}", f"{each.p99_ms:.1f}", str(each.failures)]


def arguments() -> argparse.Namespace:
    parser = report.options("Attacks on the memory of a service: what do they take, and what do others notice?")
    parser.add_argument("--only", nargs="*", metavar="WORD", help="attacks whose name has one of these words")
    parser.add_argument("--clients", type=int, default=FILES, metavar="N", help="of an attack, at most")
    parser.add_argument("--hold", type=float, default=HOLD_S, metavar="S", help="seconds that an attack goes on")
    parser.add_argument("--workers", type=int, metavar="N", help="front-ends; without it, what the service takes")
    parser.add_argument("--max-buffered-bytes", type=int, default=Limits().max_buffered_bytes, metavar="N")
    return parser.parse_args()


if __name__ == "__main__":
    report.entry(main)
