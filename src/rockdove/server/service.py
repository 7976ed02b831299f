"""The service: store, broker and front put together, from start to stop."""

import asyncio
import logging
import socket
import ssl
import uuid
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from rockdove import __version__
from rockdove.broker.accounts import Accounts
from rockdove.broker.admin import Admin
from rockdove.broker.broker import Broker
from rockdove.broker.context import Context, WaitingRoom
from rockdove.broker.directory import Directory
from rockdove.broker.feed import Feed
from rockdove.broker.leasekeeper import LeaseKeeper
from rockdove.broker.mover import Mover
from rockdove.broker.movetask import MoveTasks
from rockdove.broker.retention import Retention
from rockdove.core import limits
from rockdove.core.account import FIRST_ID
from rockdove.core.clock import Clock, SystemClock
from rockdove.core.errors import ExposedError, Fault, InternalFailure
from rockdove.core.receipt import Receipts
from rockdove.server.accounts import AccountOperations
from rockdove.server.gate import Gate
from rockdove.server.guard import Guard
from rockdove.server.host import Hosts
from rockdove.server.http import Connection
from rockdove.server.leases import LeaseOperations
from rockdove.server.limit import Limits
from rockdove.server.listener import Listener
from rockdove.server.log import fields
from rockdove.server.messages import Messages
from rockdove.server.metrics import Metrics
from rockdove.server.origin import ANY, OriginError, Origins
from rockdove.server.page import Pages, is_loopback
from rockdove.server.publish import PublishOperations
from rockdove.server.queues import Queues
from rockdove.server.reader import Reader
from rockdove.server.timing import Timing
from rockdove.server.tls import Certificate, Names, TlsError
from rockdove.server.tracer import Tracer
from rockdove.store.base import Snapshot
from rockdove.store.registry import locate
from rockdove.trace import SERVER, Keep, Recorder
from rockdove.wire.operation import OPERATIONS, Operation
from rockdove.wire.shape import Request, Result

# The account of a service without accounts.
ANYBODY = FIRST_ID
# Seconds that requests being served have to finish when the service stops, after how many of them all should have
# ended, and how many the trace has for its end at least.
STOP_S = 3.0
ENDED_S = 4.0
TRACE_S = 1.0

log = logging.getLogger("rockdove")
# Its level does not depend on the log's: who wants it asks for it by --access-log.
access = logging.getLogger("rockdove.access")
access.setLevel(logging.INFO)

Handler = Callable[[Connection, Any], Awaitable[Result | None] | None]


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


class Service:
    """One running service. Made inside the event loop that serves it."""

    account = ANYBODY

    def __init__(self, settings: Settings, clock: Clock | None = None) -> None:
        self.settings = settings
        self.trust_proxy = settings.trust_proxy
        self.connections: set[Reader] = set()
        self.clock = clock or SystemClock()
        self.location = locate(settings.store, settings.data)
        self.store = self.location.open(self.clock, asyncio.get_running_loop())
        self.guard = Guard(settings.limits)
        self.origins = Origins(settings.cors_origin)
        self.hosts = Hosts(settings.host, settings.allow_host, settings.trust_proxy)
        self._certificate = (
            Certificate(settings.tls_cert, settings.tls_key) if settings.tls_cert and settings.tls_key else None
        )
        self._tasks: set[asyncio.Task[None]] = set()
        # Request ids look like UUIDs; what is counted up is the last part.
        self._request_prefix = str(uuid.uuid4())[:-12].encode()
        self._requests = 0
        self.access_log = settings.access_log
        self.timings = {name: Timing() for name in OPERATIONS}
        self.recorder = self._make_recorder()
        self.tracer: Tracer | None = None

    def _make_recorder(self) -> Recorder | None:
        settings = self.settings
        if settings.trace is None:
            return None
        return Recorder(settings.trace, socket.gethostname(), SERVER, settings.trace_keep)

    async def start(self) -> None:
        """Open the store and listen.

        Raises `DataFolderError`, `TlsError`, `ExposedError`, `MissingExtra`, `TraceFolderError` or OSError.
        """
        if self.recorder is not None:
            self.recorder.check()
        context = self._certificate.load() if self._certificate is not None else None
        snapshot = await self.store.open()
        try:
            self._build(snapshot)
            self._check_origins()
            await self._listen(context)
            if self.recorder is not None:
                self.recorder.node += f":{self.port}"
                self.recorder.start()
        except BaseException:
            self.store.close()
            raise
        self.mover.start()
        self.retention.start()
        self.lease_keeper.start()
        log.info("listening on %s, port %d", self.settings.host, self.port, extra=fields("start", version=__version__))

    def _check_origins(self) -> None:
        if ANY in self.settings.cors_origin and not self.accounts.exist:
            raise OriginError(
                "will not allow pages of all origins: without accounts any page that somebody opens in a browser here "
                'could use the service; name the origins, or add an account ("rockdove account add")'
            )

    def _build(self, snapshot: Snapshot) -> None:
        settings, most = self.settings, self.settings.limits
        directory = Directory(self.store, self.clock, settings.region, settings.cool_down, most.max_queues_per_account)
        context = Context(self.store, directory, Receipts(snapshot.secret), self.clock, settings.max_in_flight)
        context.waiting = WaitingRoom(most.max_long_polls)
        self.feed = Feed(self.store.records)
        self.broker = Broker(context)
        self.accounts = Accounts(self.store.records, self.feed, self.clock, self.location.key(), directory.names_of)
        self.accounts.on_change = self._end_polls
        self.move_tasks = MoveTasks(context, self.feed)
        self.feed.start(snapshot, directory, self.accounts, self.move_tasks)
        self.retention = Retention(context)
        self.mover = Mover(context, self.move_tasks)
        self.lease_keeper = LeaseKeeper(context, settings.lease_keep_s)
        if self.recorder is not None:
            self.tracer = Tracer(self.recorder.add, self.broker)
            context.watch = self.tracer
        self._handlers = _handlers(
            Messages(self.broker, self.tracer),
            Queues(directory, Admin(context, self.feed), self.move_tasks, self.tracer),
            AccountOperations(self.accounts),
            LeaseOperations(context, self.tracer),
            PublishOperations(context, self.tracer),
        )
        shown = settings.metrics_queues
        self.metrics = Metrics(self.broker, shown, self.connections, self.timings, self.recorder)
        self.pages = Pages(
            lambda: self.store.trouble, self.metrics.text, self.defect, self.settings.metrics_token, self.trust_proxy
        )
        self.pages.is_own_name = self.hosts.is_own
        self.gate = Gate(self.accounts, directory, self.move_tasks, self.clock, self.trust_proxy)
        self.pages.signer = self.gate.signer

    async def check_exposed(self) -> None:
        """Raises `ExposedError`: where others can reach the service, there must be accounts to keep them out."""
        host, port = self.settings.host, self.settings.port
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
        if not (self.accounts.exist or all(is_loopback(str(each[4][0])) for each in found)):
            raise ExposedError(host)

    async def _listen(self, context: ssl.SSLContext | None) -> None:
        await self.check_exposed()
        settings = self.settings
        limits = settings.limits
        if settings.trust_proxy:
            # All clients have the proxy's address: it is the proxy that must count them.
            limits = replace(limits, max_connections_per_address=0)
        self._listener = Listener(partial(Connection, self), limits, context)
        await self._listener.open(settings.host, settings.port)
        self.guard.watch(self.connections)

    @property
    def port(self) -> int:
        return self._listener.port

    def certificate_names(self) -> Names | None:
        return None if self._certificate is None else self._certificate.names()

    def reload(self) -> None:
        """Read the certificate anew; connections that are open keep theirs. What is broken changes nothing."""
        if self._certificate is None:
            log.info("nothing to reload: this service has no TLS certificate", extra=fields("reload"))
            return
        try:
            self._listener.context = self._certificate.load()
        except TlsError as error:
            log.error("still using the old TLS certificate: %s", error, extra=fields("reload_failed"))
            return
        log.info("reloaded the TLS certificate; new connections get it", extra=fields("reload"))

    async def stop(self) -> None:
        """Take nothing new, finish what is being served, write everything, let go of the store."""
        log.info("stopping", extra=fields("stopping", connections=len(self.connections)))
        self.pages.stopping = True
        self._listener.close()
        for connection in list(self.connections):
            connection.shut()
        time, began_s = asyncio.get_running_loop().time, asyncio.get_running_loop().time()
        while self.connections and time() < began_s + STOP_S:
            await asyncio.sleep(0.01)
        self.guard.close()
        await self.retention.close()
        await self.lease_keeper.close()
        await self.mover.close()
        await self.metrics.close()
        self.store.close()
        if self.recorder is not None:
            await asyncio.to_thread(self.recorder.close, max(began_s + ENDED_S - time(), TRACE_S))
        log.info("stopped", extra=fields("stop"))

    def _end_polls(self) -> None:
        """Whose account is gone or disabled waits for no more messages."""
        for connection in self.connections:
            account = self.accounts.by_id(connection.account)
            if connection.waiting is not None and (account is None or not account.enabled):
                connection.waiting.give_up()

    # What the front needs.

    def handle(self, call: Connection, operation: Operation, request: Request) -> None:
        try:
            if self.accounts.exist:
                self.gate.permit(call, operation, request)
            work = self._handlers[operation.name](call, request)
        except Fault as fault:
            if self.tracer is not None:
                self.tracer.refused(call, operation, request, fault)
            raise
        if work is not None:
            call.keep_headers()
            task = asyncio.get_running_loop().create_task(self._answer(call, work))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _answer(self, call: Connection, work: Awaitable[Result | None]) -> None:
        try:
            call.answer(await work)
        except Fault as fault:
            call.fail(fault)
        except Exception as error:
            self.defect(error)
            call.fail(InternalFailure())

    def page(self, call: Connection, path: bytes) -> bool:
        return self.pages.show(call, path)

    def erred(self, operation: str, status: int) -> None:
        self.metrics.errors[operation, status] += 1

    def next_request_id(self) -> bytes:
        self._requests += 1
        return b"%b%012x" % (self._request_prefix, self._requests)

    def defect(self, error: Exception) -> None:
        log.error("a request failed by a defect of ours", exc_info=error, extra=fields("defect"))

    def complain(self, context: dict[str, Any]) -> None:
        """What the event loop has to say; not the objects that were involved, which may be messages."""
        text, error = str(context.get("message")), context.get("exception")
        log.error("a defect of ours: %s", text, exc_info=error, extra=fields("defect"))

    def accessed(self, call: Connection, operation: str, status: int, seconds: float) -> None:
        values = fields("request", operation=operation, status=status, seconds=round(seconds, 6), address=call.peer)
        access.info("request", extra=values)


def _handlers(
    *rooms: Messages | Queues | AccountOperations | LeaseOperations | PublishOperations,
) -> dict[str, Handler]:
    """The method for each operation."""
    return {
        operation.name: next(getattr(room, operation.method) for room in rooms if hasattr(room, operation.method))
        for operation in OPERATIONS.values()
    }
