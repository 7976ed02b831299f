"""The operations that tell figures: of an account's queues, and of the whole service."""

from collections.abc import Awaitable
from functools import partial
from typing import Protocol

from rockdove.broker.accounts import Accounts
from rockdove.broker.ask import ask
from rockdove.core.errors import AccessDenied, InvalidParameterValue
from rockdove.server.call import Call
from rockdove.server.live import MAX_WAIT_S, Question, decode_figures, decode_service, encode
from rockdove.server.sharing import LIVE
from rockdove.store.remote.store import RemoteStore
from rockdove.wire import figure


class Source(Protocol):
    """Where figures come from."""

    def changes(self, account: str, request: figure.GetFigures) -> Awaitable[figure.GetFiguresResult]: ...

    def service(self) -> Awaitable[figure.GetServiceFiguresResult]: ...


class RemoteSource:
    """The owner process has them."""

    def __init__(self, remote: RemoteStore) -> None:
        self._remote = remote

    async def changes(self, account: str, request: figure.GetFigures) -> figure.GetFiguresResult:
        return decode_figures(await self._ask((account, request)))

    async def service(self) -> figure.GetServiceFiguresResult:
        return decode_service(await self._ask(("", None)))

    async def _ask(self, question: Question) -> bytes:
        answer: bytes = await ask(partial(self._remote.call, LIVE, encode(question)))
        return answer


class Gauges:
    """One method for each operation."""

    def __init__(self, source: Source, accounts: Accounts) -> None:
        self._source = source
        self._accounts = accounts

    async def get_figures(self, call: Call, request: figure.GetFigures) -> figure.GetFiguresResult:
        wait_s = request.wait_seconds or 0
        if not 0 <= wait_s <= MAX_WAIT_S:
            raise InvalidParameterValue(
                f"Value {wait_s} for parameter WaitSeconds is invalid. Reason: Must be between 0 and {MAX_WAIT_S}."
            )
        return await self._source.changes(call.account, request)

    async def get_service_figures(
        self, call: Call, request: figure.GetServiceFigures
    ) -> figure.GetServiceFiguresResult:
        if self._accounts.exist:
            caller = self._accounts.by_id(call.account)
            if caller is None or not (caller.admin and caller.enabled):
                raise AccessDenied("Only an administrator may look at the figures of the whole service.")
        found = await self._source.service()
        found.accounts = self._accounts.exist
        return found
