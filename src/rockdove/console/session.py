"""Who is signed in: sessions are kept on the server, so they can be ended, and end what is open of them."""

import asyncio
import logging
import secrets
import time
from collections.abc import Callable, Iterator
from typing import Final

from msgspec import Struct

from rockdove.client import AsyncClient, UnexpectedAnswer, Unreachable
from rockdove.console.service import Service
from rockdove.core.account import FIRST_ID
from rockdove.core.errors import Fault

COOKIE: Final = "rockdove_console"
# A session ends when nobody has used it for so long (an open page uses it), and at the latest after a day's work.
IDLE_S: Final = 3_600.0
LONGEST_S: Final = 12 * 3_600.0
# A session token lasts fifteen minutes.
RENEW_S: Final = 300.0
_AGAIN_S = 15.0
# Calls that are under way with the earlier token may end.
_LINGER_S = 60.0
# Of one account; who opens more ends the oldest.
MOST_OF_ACCOUNT: Final = 100

log = logging.getLogger("rockdove")


class Account(Struct, frozen=True):
    """Whose session it is. Without accounts it is everybody's, and everybody may do everything."""

    id: str = FIRST_ID
    name: str = ""
    admin: bool = True


class Session:
    """One browser that is signed in."""

    def __init__(self, id: str, account: Account, client: AsyncClient, now_s: float) -> None:
        self.id = id
        self.account = account
        self.client = client
        self.begun_s = self.used_s = now_s
        # What wakes the streams that are open of it; open streams count as use.
        self.streams: set[asyncio.Event] = set()
        self.ended = asyncio.Event()

    @property
    def is_over(self) -> bool:
        return self.ended.is_set()

    def end(self) -> None:
        self.ended.set()
        self.wake()

    def wake(self) -> None:
        for stream in self.streams:
            stream.set()


class Sessions:
    """All of them. For one event loop."""

    def __init__(self, service: Service, clock: Callable[[], float] = time.monotonic) -> None:
        self._service = service
        self._clock = clock
        self._known: dict[str, Session] = {}
        self._everybody: Session | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.stopping = False

    def everybody(self) -> Session:
        """The one session of a service without accounts."""
        if self._everybody is None:
            self._everybody = Session("", Account(), self._service.nobody, self._clock())
        return self._everybody

    def accounts_appeared(self) -> None:
        """From now on one has to sign in."""
        if self._everybody is not None:
            self._everybody.end()
            self._everybody = None
        self._service.forget()

    def begin(self, account: Account, token: str) -> Session:
        """A new session, under a new id."""
        self._make_room(account)
        session = Session(secrets.token_urlsafe(32), account, self._service.client(token), self._clock())
        self._known[session.id] = session
        self._start(self._keep(session))
        return session

    def _make_room(self, account: Account) -> None:
        of_account = [session for session in self._known.values() if session.account.id == account.id]
        for session in of_account[: max(0, len(of_account) - MOST_OF_ACCOUNT + 1)]:
            self.end(session)

    def find(self, id: str | None) -> Session | None:
        """Of a browser's cookie; counts as use."""
        session = self._known.get(id or "")
        if session is None:
            return None
        if self._is_stale(session):
            self.end(session)
            return None
        session.used_s = self._clock()
        return session

    def _is_stale(self, session: Session) -> bool:
        now_s = self._clock()
        idle = not session.streams and now_s - session.used_s > IDLE_S
        return idle or now_s - session.begun_s > LONGEST_S

    def end(self, session: Session) -> None:
        """Sign out: whatever is open of it learns so at once."""
        session.end()
        if self._known.pop(session.id, None) is not None:
            self._start(_close_later(session.client, 0.0))

    def end_account(self, account_id: str) -> int:
        """Sign out everywhere. How many sessions it were."""
        ended = [session for session in self._known.values() if session.account.id == account_id]
        for session in ended:
            self.end(session)
        return len(ended)

    def stop(self) -> None:
        """The console stops: streams close, and pages try again until it is back."""
        self.stopping = True
        for session in self._all():
            session.wake()

    def _all(self) -> Iterator[Session]:
        yield from self._known.values()
        if self._everybody is not None:
            yield self._everybody

    async def _keep(self, session: Session) -> None:
        """Renews its token until it is over."""
        pause_s = RENEW_S
        while not await _over_within(session, pause_s):
            if self._is_stale(session):
                self.end(session)
                return
            pause_s = await self._renew(session)

    async def _renew(self, session: Session) -> float:
        """Seconds until the next time."""
        try:
            renewed = await session.client.renew_session()
        except (Unreachable, UnexpectedAnswer):
            return _AGAIN_S
        except Fault as fault:
            if not fault.sender or fault.status >= 500:
                return _AGAIN_S
            log.info("a session ends: %s", fault.code)
            self.end(session)
            return RENEW_S
        earlier, session.client = session.client, self._service.client(renewed.session_token)
        self._start(_close_later(earlier, _LINGER_S))
        return RENEW_S

    def _start(self, work: "asyncio._CoroutineLike[None]") -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        self.stop()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for session in self._known.values():
            await session.client.close()


async def _over_within(session: Session, seconds: float) -> bool:
    try:
        async with asyncio.timeout(seconds):
            await session.ended.wait()
    except TimeoutError:
        return False
    return True


async def _close_later(client: AsyncClient, seconds: float) -> None:
    await asyncio.sleep(seconds)
    await client.close()
