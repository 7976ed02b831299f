"""The service that the console shows: clients for it, whether it has accounts, and whether it answers."""

import asyncio
import time

from rockdove.client import AsyncClient, Bearer, Nobody, Retry, Unreachable
from rockdove.client.endpoint import parse_endpoint
from rockdove.core.errors import MissingAuthenticationToken

# For so many seconds the answer counts to the question whether there are accounts.
_KNOWN_S = 5.0
# Seconds that a page waits for a service that takes connections and says nothing.
_PATIENCE_S = 4.0
# A page does not wait long for a service that is away: it says so, and tries again by itself.
_RETRY = Retry(attempts=2)


class Service:
    """For one event loop."""

    def __init__(self, endpoint: str, region: str | None) -> None:
        """Raises ValueError."""
        self.endpoint = parse_endpoint(endpoint).url
        self._region = region
        self._nobody = self._client(Nobody())
        self._has_accounts: bool | None = None
        self._asked_s = -_KNOWN_S
        self._asking = asyncio.Lock()
        # Why it does not answer, and since when, in seconds since 1970; None while it does.
        self.trouble: str | None = None
        self.trouble_since_s = 0.0

    def client(self, token: str | None) -> AsyncClient:
        """For an account, by its session token; without one for everybody."""
        return self._client(Bearer(token) if token else Nobody())

    def _client(self, identity: Bearer | Nobody) -> AsyncClient:
        return AsyncClient(self.endpoint, region=self._region, credentials=identity, retry=_RETRY)

    @property
    def nobody(self) -> AsyncClient:
        """Without credentials: for signing in, and for a service without accounts."""
        return self._nobody

    async def has_accounts(self) -> bool:
        """Raises `Unreachable` and `UnexpectedAnswer`, unless it is known from before."""
        async with self._asking:
            if self._has_accounts is None or time.monotonic() - self._asked_s > _KNOWN_S:
                try:
                    self._has_accounts = await self._ask()
                    self._asked_s = time.monotonic()
                except Unreachable as error:
                    self.lost(error)
                    if self._has_accounts is None:
                        raise
            return self._has_accounts

    async def _ask(self) -> bool:
        try:
            async with asyncio.timeout(_PATIENCE_S):
                await self._nobody.list_queues(limit=1)
        except MissingAuthenticationToken:
            self.found()
            return True
        except TimeoutError:
            raise Unreachable(self.endpoint, "it does not answer", "look at its log") from None
        self.found()
        return False

    def forget(self) -> None:
        """Whether there are accounts is to be asked again."""
        self._asked_s = -_KNOWN_S

    def lost(self, error: Exception) -> None:
        if self.trouble is None:
            self.trouble_since_s = time.time()
        self.trouble = str(error)

    def found(self) -> None:
        self.trouble = None

    async def close(self) -> None:
        await self._nobody.close()
