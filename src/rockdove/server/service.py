"""The service: store, broker and front put together, from start to stop."""

import asyncio
import logging
import signal
import socket
import ssl
from collections import Counter
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from rockdove import __version__
from rockdove.broker.accounts import Accounts
from rockdove.broker.admin import Admin
from rockdove.broker.ask import ask, unavailable
from rockdove.broker.elastic import ElasticStates
from rockdove.broker.fanout import Fanout
from rockdove.broker.queue import Queue
from rockdove.broker.topic import Topic, Topics
from rockdove.core.account import FIRST_ID
from rockdove.core.clock import Clock, SystemClock
from rockdove.core.errors import ExposedError, Fault, InternalFailure
from rockdove.server.accounts import AccountOperations
from rockdove.server.background import Background
from rockdove.server.board import Board
from rockdove.server.exchange import Exchange
from rockdove.server.figures import Figures, counted
from rockdove.server.gate import Gate
from rockdove.server.gauges import Gauges, RemoteSource, Source
from rockdove.server.guard import Guard
from rockdove.server.host import Hosts
from rockdove.server.http import Connection
from rockdove.server.leases import LeaseOperations
from rockdove.server.listener import Listener
from rockdove.server.live import Live
from rockdove.server.log import fields
from rockdove.server.messages import Messages
from rockdove.server.metrics import Metrics
from rockdove.server.onebyone import OneByOne
from rockdove.server.origin import ANY, OriginError, Origins
from rockdove.server.page import Pages, is_loopback
from rockdove.server.publish import PublishOperations
from rockdove.server.queues import Queues
from rockdove.server.requestid import request_ids
from rockdove.server.seldom import Seldom
from rockdove.server.setting import Settings
from rockdove.server.sharing import METRICS, Sharing
from rockdove.server.signin import SignIns, wrong_passwords
from rockdove.server.stop import STOP
from rockdove.server.timing import Timing
from rockdove.server.tls import Certificate, Names, TlsError
from rockdove.server.topics import TopicOperations
from rockdove.server.tracer import Tracer
from rockdove.server.works import build, make_recorder
from rockdove.store.base import Snapshot, Store
from rockdove.store.common.keyfile import KeySource
from rockdove.store.remote.store import RemoteStore
from rockdove.wire.operation import OPERATIONS, Operation
from rockdove.wire.shape import Request, Result

# The account of a service without accounts.
ANYBODY = FIRST_ID


class StopTimes(NamedTuple):
    """Seconds: for requests being served to finish; after how many all should have ended; the least for the trace."""

    requests_s: float
    ended_s: float
    trace_s: float


ALONE_S = StopTimes(3.0, 4.0, 1.0)
# After the front-ends, the owner has to end, too.
FRONT_END_S = StopTimes(2.0, 3.0, 1.0)

log = logging.getLogger("rockdove")
# Its level does not depend on the log's: who wants it asks for it by --access-log.
access = logging.getLogger("rockdove.access")
access.setLevel(logging.INFO)

Handler = Callable[[Exchange, Any], Awaitable[Result | None] | None]


class FrontEndParts(Struct, frozen=True):
    """What a front-end process gets from the one that started it."""

    # The owner's Unix socket.
    owner: str
    # Bound already.
    sockets: list[socket.socket]
    board: Board
    row: int
    # One for all front-ends, where it is not in a file.
    key: KeySource
    # The last certificate that was not broken.
    tls: ssl.SSLContext | None = None


class Service:
    """What serves clients: the whole service, or one of several front-ends. Made inside the event loop that serves."""

    account = ANYBODY

    def __init__(self, settings: Settings, clock: Clock | None = None, front_end: FrontEndParts | None = None) -> None:
        self.settings = settings
        self.trust_proxy = settings.trust_proxy
        self.connections: set[Connection] = set()
        self.clock = clock or SystemClock()
        self.location = settings.locate()
        self._front_end = front_end
        self.is_front_end = front_end is not None
        # Others change records, too: what is missing here may have been made a moment ago.
        self.may_miss = self.is_front_end or self.location.kind.servers is not None
        self.store: Store
        self._remote: RemoteStore | None = None
        if front_end is None:
            self.store = self.location.open(self.clock, asyncio.get_running_loop())
            self._key = self.location.key()
            self.seat = Board().seat()
        else:
            self.store = self._remote = RemoteStore(front_end.owner, self.clock)
            self._key = front_end.key
            self.seat = front_end.board.seat(front_end.row)
        self.guard = Guard(settings.limits, self.seat)
        self.origins = Origins(settings.cors_origin)
        self.hosts = Hosts(settings.host, settings.allow_host, settings.trust_proxy)
        self._certificate = certificate(settings)
        self._tasks: set[asyncio.Task[None]] = set()
        self._one_by_one = OneByOne()
        # What was not begun in time for the stop is not begun any more.
        self._is_over = False
        self.next_request_id = request_ids().__next__
        self.access_log = settings.access_log
        self.timings = {name: Timing() for name in OPERATIONS}
        # Errors by the operation, where it is known, and the HTTP status.
        self.errors: Counter[tuple[str, int]] = Counter()
        self.recorder = make_recorder(settings)
        self.tracer: Tracer | None = None
        self.background: Background | None = None
        self._seldom = Seldom()
        self._wrong_passwords = wrong_passwords()
        # None in a front-end.
        self._live: Live | None = None

    async def start(self) -> None:
        """Open the store and listen.

        Raises `DataFolderError`, `TlsError`, `ExposedError`, `MissingExtra`, `TraceFolderError` or OSError.
        """
        if self.recorder is not None:
            self.recorder.check()
        context = self._load_certificate()
        snapshot = await self.store.open()
        try:
            self._build(snapshot)
            self._check_origins()
            await self._listen(context)
            if self.recorder is not None:
                # Requests of one moment are told apart by it.
                self.recorder.node += f":{self.port}" + (f"/{self._front_end.row}" if self._front_end else "")
                self.recorder.start()
                await asyncio.to_thread(self.recorder.settle)
        except BaseException:
            self.store.close()
            raise
        if self.background is not None:
            self.background.start()
        log.info("listening on %s, port %d", self.settings.host, self.port, extra=fields("start", version=__version__))

    def _load_certificate(self) -> ssl.SSLContext | None:
        """Raises `TlsError`, unless there is an older one to go on with."""
        if self._certificate is None:
            return None
        try:
            return self._certificate.load()
        except TlsError as error:
            inherited = None if self._front_end is None else self._front_end.tls
            if inherited is None:
                raise
            log.error("still using the old TLS certificate: %s", error, extra=fields("reload_failed"))
            return inherited

    def _check_origins(self) -> None:
        if ANY in self.settings.cors_origin and not self.accounts.exist:
            raise OriginError(
                "will not allow pages of all origins: without accounts any page that somebody opens in a browser here "
                'could use the service; name the origins, or add an account ("rockdove account add")'
            )

    def _build(self, snapshot: Snapshot) -> None:
        settings = self.settings
        processes = settings.workers if self.is_front_end else 1
        works = build(self.store, snapshot, settings, self.clock, self.seat, processes)
        context, directory = works.context, works.directory
        self.feed, self.broker, self.move_tasks = works.feed, works.broker, works.tasks
        self.topics = Topics(context, self.feed, settings.region)
        self.accounts = Accounts(self.store.records, self.feed, self.clock, self._key, self._owned)
        self.accounts.on_lost = self._end_polls
        self.accounts.on_vanished = self._begin_anew
        self.feed.start(snapshot, directory, self.accounts, self.move_tasks, self.topics)
        if self.recorder is not None:
            self.tracer = Tracer(self.recorder.add, self.broker)
            context.watch = self.tracer
        admin = Admin(context, self.feed)
        fanout = Fanout(self.broker, self._may_send, self._dropped, self.may_miss)
        self._handlers = _handlers(
            Messages(self.broker, self.tracer),
            Queues(directory, admin, ElasticStates(admin, self.clock), self.move_tasks, self.tracer),
            AccountOperations(self.accounts),
            LeaseOperations(context, self.tracer),
            PublishOperations(context, self.tracer),
            TopicOperations(self.topics, fanout, self.clock),
            SignIns(self.accounts, self._wrong_passwords, self.feed.catch_up),
            Gauges(self._source(), self.accounts),
        )
        self.gate = Gate(
            self.accounts, directory, self.topics, self.move_tasks, self.clock, self.trust_proxy, self.may_miss
        )
        self.pages = Pages(
            lambda: self.accounts.look() or self.store.trouble,
            self._metrics_text,
            self.defect,
            settings.metrics_token,
            self.trust_proxy,
        )
        self.pages.is_own_name = self.hosts.is_own
        self.pages.signer = self.gate.signer
        if self._remote is not None:
            self._share(self._remote)
        else:
            self.background = Background(context, self.feed, self.move_tasks, settings.lease_keep_s)
            self.metrics = Metrics(self.broker, settings.metrics_queues, self.seat, self._figures)

    def _owned(self, account: str) -> dict[str, list[str]]:
        """What an account has, by the kind."""
        return {"queues": self.broker.directory.names_of(account), "topics": self.topics.names_of(account)}

    def _may_send(self, topic: Topic, owner: str, queue: Queue) -> bool:
        return not self.accounts.exist or self.gate.may_send(topic, owner, queue)

    def _dropped(self, topic: str, queue: str, why: Fault) -> None:
        text = f"a notification was dropped: the queue does not take it, and there is no other ({why.code})"
        self._seldom.warn("notification-dropped", text, topic=topic, queue=queue)

    def _source(self) -> Source:
        if self._remote is not None:
            return RemoteSource(self._remote)
        self._live = Live(self.broker, self.seat, self._figures)
        return self._live

    def _share(self, remote: RemoteStore) -> None:
        """What counts for the whole service is told to the other front-ends, and asked of the owner."""
        Sharing(remote, self._counted, self.gate.failures, self._wrong_passwords, self.tracer)

    def _counted(self) -> Figures:
        return counted(self.broker.directory, self.timings, self.errors, self.recorder)

    async def _figures(self) -> Figures:
        return self._counted()

    async def _metrics_text(self) -> bytes:
        if self._remote is None:
            return await self.metrics.text()
        text: bytes = await ask(partial(self._remote.call, METRICS, b""))
        return text

    def catch_up(self, then: Callable[[Fault | None], None]) -> None:
        self.store.records.catch_up(lambda outcome: then(None if outcome is None else unavailable(outcome)))

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
        self._listener = Listener(partial(Connection, self), limits, context, self.seat)
        if self._front_end is None:
            await self._listener.open(settings.host, settings.port)
        else:
            self._listener.adopt(list(self._front_end.sockets))
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
        times = ALONE_S if self._front_end is None else FRONT_END_S
        while self.connections and time() < began_s + times.requests_s:
            await asyncio.sleep(0.01)
        self._is_over = True
        self._one_by_one.start_all()
        self.guard.close()
        if self.background is not None:
            await self.background.close()
            await self.metrics.close()
            if self._live is not None:
                await self._live.close()
        self.store.close()
        if self.recorder is not None:
            await asyncio.to_thread(self.recorder.close, max(began_s + times.ended_s - time(), times.trace_s))
        log.info("stopped", extra=fields("stop"))

    def _end_polls(self, accounts: set[str] | None) -> None:
        """Who waits may have signed with a key that does not work any more: let all of the account ask again."""
        for connection in list(self.connections):
            if connection.waiting is not None and (accounts is None or connection.call.account in accounts):
                connection.waiting.give_up()

    def _begin_anew(self) -> None:
        """The owner has died, and all accounts with it: a front-end that begins now is like those that follow it."""
        log.error(
            "all accounts are gone with the memory store: this front-end ends, and is started again without them",
            extra=fields("accounts-lost"),
        )
        signal.raise_signal(STOP)

    # What the front needs.

    def handle(self, call: Exchange, operation: Operation, request: Request) -> None:
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
            self._one_by_one.start(partial(self._start, call, operation, request, work))

    def _start(self, call: Exchange, operation: Operation, request: Request, work: Awaitable[Result | None]) -> None:
        if (self._is_over or call.is_gone()) and asyncio.iscoroutine(work):
            # Nothing of it has been done, and nobody waits for it.
            work.close()
            return
        task = asyncio.get_running_loop().create_task(self._answer(call, operation, request, work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer(
        self, call: Exchange, operation: Operation, request: Request, work: Awaitable[Result | None]
    ) -> None:
        try:
            try:
                result = await work
            except Fault as fault:
                if not (fault.missed and self.may_miss):
                    raise
                # Another front-end may have made it a moment ago.
                await self.feed.catch_up()
                if self.accounts.exist:
                    self.gate.permit(call, operation, request)
                again = self._handlers[operation.name](call, request)
                assert again is not None
                result = await again
            call.answer(result)
        except Fault as fault:
            call.fail(fault)
        except Exception as error:
            self.defect(error)
            call.fail(InternalFailure())

    def page(self, call: Exchange, path: bytes) -> bool:
        return self.pages.show(call, path)

    def erred(self, operation: str, status: int) -> None:
        self.errors[operation, status] += 1

    def defect(self, error: Exception) -> None:
        log.error("a request failed by a defect of ours", exc_info=error, extra=fields("defect"))

    def complain(self, context: dict[str, Any]) -> None:
        """What the event loop has to say; not the objects that were involved, which may be messages."""
        text, error = str(context.get("message")), context.get("exception")
        log.error("a defect of ours: %s", text, exc_info=error, extra=fields("defect"))

    def accessed(self, call: Exchange, operation: str, status: int, seconds: float) -> None:
        values = fields("request", operation=operation, status=status, seconds=round(seconds, 6), address=call.peer)
        access.info("request", extra=values)


def certificate(settings: Settings) -> Certificate | None:
    if settings.tls_cert is None or settings.tls_key is None:
        return None
    return Certificate(settings.tls_cert, settings.tls_key)


def _handlers(
    *rooms: Messages
    | Queues
    | AccountOperations
    | LeaseOperations
    | PublishOperations
    | TopicOperations
    | SignIns
    | Gauges,
) -> dict[str, Handler]:
    """The method for each operation."""
    return {
        operation.name: next(getattr(room, operation.method) for room in rooms if hasattr(room, operation.method))
        for operation in OPERATIONS.values()
    }
