"""The whole service in the test process: its own thread and loop, and a clock that tests step instead of sleeping."""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import uvloop
from msgspec.structs import replace

from rockdove.broker.accounts import Accounts, NewKey
from rockdove.core.clock import Clock, ManualClock, SystemClock
from rockdove.server.background import Background
from rockdove.server.owner import OwnerService
from rockdove.server.service import FrontEndParts, Service
from rockdove.server.setting import Settings
from rockdove.server.supervisor import Family
from tests.support.cassandra import new_keyspace
from tests.support.dialect import client
from tests.support.redis import RedisServers
from tests.support.server import CASSANDRA, FRONT_ENDS, REDIS

T = TypeVar("T")

# What tests put into the header Host.
NAMES = ("queue.test", "one.test", "two.test", "inner.test", "other.test", "a", "x")

# What has not come back after so long never will.
_PATIENCE_S = 120


async def _finished() -> None:
    """What a store has begun it finishes after its end. What never ends is complained of when the loop is closed."""
    rest = asyncio.all_tasks() - {asyncio.current_task()}
    if rest:
        await asyncio.wait(rest, timeout=_PATIENCE_S / 2)


class RunningService:
    """Serves once constructed, until `close`; `restart` serves the same data again, on another port."""

    def __init__(self, folder: Path, store: str, *, real_time: bool = False, **settings: Any) -> None:
        self.store = store
        self._servers: RedisServers | None = None
        kept = "sqlite" if store == FRONT_ENDS else store
        if store == REDIS:
            self._servers = RedisServers(2, folder / "redis")
            self._servers.start()
            kept = self._servers.url
        if store == CASSANDRA:
            # Services of one process take turns, or use a keyspace of their own.
            kept = new_keyspace("service").url
        self._settings = {"data": folder / "data", "store": kept, "port": 0, "allow_host": NAMES, **settings}
        self._clock: Clock = SystemClock() if real_time else ManualClock()
        self._loop = uvloop.new_event_loop()
        # What the loop complains of: a defect that no answer shows.
        self.complaints: list[dict[str, Any]] = []
        self._loop.set_exception_handler(lambda loop, context: self.complaints.append(context))
        self._thread = threading.Thread(target=self._loop.run_forever, name=f"service-{store}", daemon=True)
        self._thread.start()
        self._clients: dict[str, Any] = {}
        self._start()

    @property
    def endpoint(self) -> str:
        scheme = "https" if self._settings.get("tls_cert") else "http"
        return f"{scheme}://127.0.0.1:{self.port}"

    @property
    def service(self) -> Service:
        """For faults that no request can bring about; to be used inside `run`."""
        return self._service

    @property
    def services(self) -> list[Service]:
        """All that serve clients: one, or several front-ends."""
        return self._services

    @property
    def now_s(self) -> float:
        """What the service takes for the time, in seconds since 1970."""
        return self._clock.now_us() / 1_000_000

    def client(self, protocol: str = "json") -> Any:
        """A boto3 client that all tests share; after a restart there is a new one."""
        if protocol not in self._clients:
            self._clients[protocol] = client(protocol, self.endpoint)
        return self._clients[protocol]

    @property
    def accounts(self) -> Accounts:
        return self._service.accounts

    @property
    def settings(self) -> Settings:
        return self._service.settings

    async def check_exposed(self) -> None:
        """Raises `ExposedError` where the service would."""
        await self._service.check_exposed()

    def add_account(self, name: str, **options: Any) -> NewKey:
        return self.run(self._service.accounts.add(name, **options))

    def advance(self, seconds: float) -> None:
        """Time passes, and nothing else happens: what should follow from it must show in the next request."""
        clock = self._clock
        assert isinstance(clock, ManualClock)

        async def step() -> None:
            clock.advance(seconds)

        self.run(step())

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """The service stands still: what happens meanwhile it finds all at once, in the order of happening."""
        stands, goes_on = threading.Event(), threading.Event()

        def stand() -> None:
            stands.set()
            goes_on.wait(_PATIENCE_S)

        self._loop.call_soon_threadsafe(stand)
        assert stands.wait(_PATIENCE_S)
        try:
            yield
        finally:
            goes_on.set()

    def _background(self) -> Background:
        found = self._service.background if self._owner is None else self._owner.background
        assert found is not None
        return found

    def look_after_leases(self) -> int:
        """One look at silent consumers; how many messages were given back."""
        return self.run(self._background().lease_keeper.look())

    def let_go(self) -> None:
        """One look at physical queues that leave."""
        self.run(self._background().departures.look())

    def sweep(self) -> int:
        """One round of expiry over all queues; how many messages it removed."""
        return self.run(self._background().retention.sweep())

    def restart(self, **settings: Any) -> None:
        """Stop as the service stops by itself, and open the same data again, with other settings if any are given."""
        self._settings |= settings
        self._hang_up()
        self._stop()
        self._start()

    def close(self) -> None:
        self._hang_up()
        try:
            self._stop()
            self.run(_finished())
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(_PATIENCE_S)
            self._loop.close()
            if self._servers is not None:
                self._servers.kill()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Do something in the service's own thread."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(_PATIENCE_S)

    def _hang_up(self) -> None:
        for made in self._clients.values():
            made.close()
        self._clients.clear()

    def _start(self) -> None:
        settings = Settings(**self._settings)
        self._owner: OwnerService | None = None
        self._family: Family | None = None

        async def start() -> list[Service]:
            if self.store != FRONT_ENDS:
                services = [Service(settings, clock=self._clock)]
            else:
                self._family = family = Family(replace(settings, workers=2))
                self._owner = OwnerService(settings, family.board.seat(0), self._clock)
                await self._owner.start(family.listening)
                family.bind(settings.host, settings.port)
                services = [self._front_end(settings, family.front_end(row)) for row in (1, 2)]
            for service in services:
                await service.start()
            return services

        try:
            self._services = self.run(start())
        except BaseException:
            self._end_owner()
            raise
        self._service = self._services[0]
        self.port = self._service.port

    def _front_end(self, settings: Settings, given: FrontEndParts) -> Service:
        """Each closes its own sockets, as a process does."""
        return Service(settings, self._clock, replace(given, sockets=[sock.dup() for sock in given.sockets]))

    def _stop(self) -> None:
        for service in self._services:
            self.run(service.stop())
        self._end_owner()

    def _end_owner(self) -> None:
        if self._owner is not None:
            self.run(self._owner.stop())
        if self._family is not None:
            self._family.close()


class Services:
    """Starts services and ends them all; `shared` gives the same one for the same settings."""

    def __init__(self, new_folder: Callable[[str], Path]) -> None:
        self._new_folder = new_folder
        self._shared: dict[tuple[Any, ...], RunningService] = {}
        self._all: list[RunningService] = []

    def __call__(self, store: str, **settings: Any) -> RunningService:
        service = RunningService(self._new_folder(f"service-{store}"), store, **settings)
        self._all.append(service)
        return service

    def shared(self, store: str, **settings: Any) -> RunningService:
        key = (store, *sorted(settings.items()))
        if key not in self._shared:
            self._shared[key] = self(store, **settings)
        return self._shared[key]

    def close(self) -> list[dict[str, Any]]:
        """End them; what their loops complained of."""
        for service in self._all:
            service.close()
        return [complaint for service in self._all for complaint in service.complaints]
