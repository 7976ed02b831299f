"""Pages for operators: /health, /ready and /metrics, and who may see what of them."""

import asyncio
import hmac
import ipaddress
from collections.abc import Awaitable, Callable
from typing import Protocol

from msgspec import Struct
from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4

from rockdove.core.account import Account
from rockdove.core.errors import Fault
from rockdove.server.host import FOREIGN
from rockdove.server.series import only_of
from rockdove.server.shared import Shared

_TEXT = b"text/plain; charset=utf-8"
# Headers that proxies add. Whoever sends them did not come from this machine himself, as far as can be known.
_FORWARDED = (b"forwarded", b"via", b"x-real-ip", b"x-forwarded-", b"cf-connecting-ip")


class Page(Struct, frozen=True):
    """What is shown; ``extra`` are more lines of the answer's head. A view is of what several are shown at once."""

    status: int
    body: bytes | memoryview
    kind: bytes = _TEXT
    extra: bytes = b""


class Visitor(Protocol):
    """Who asks for a page."""

    @property
    def headers(self) -> dict[bytes, bytes]: ...

    @property
    def peer(self) -> str: ...

    @property
    def secure(self) -> bool: ...

    # The account, the method, the target and the body.
    account: str
    asked: tuple[bytes, bytes, bytes]

    def show(self, page: Page) -> None: ...


class Pages:
    """Shows pages. Outside of loopback, all but the bare state is for those who have the token, and for accounts."""

    def __init__(
        self,
        trouble: Callable[[], str | None],
        metrics: Callable[[], Awaitable[bytes]],
        defect: Callable[[Exception], None],
        token: str | None = None,
        behind_proxy: bool = False,
    ) -> None:
        self._trouble = trouble
        self._metrics = Shared(metrics)
        self._defect = defect
        self._token = token
        self._behind_proxy = behind_proxy
        # Who has signed a request; set where there may be accounts.
        self.signer: Callable[[Visitor], Account | None] = lambda visitor: None
        # Whether the service may be called by that name: a page of another could be the one that asks.
        self.is_own_name: Callable[[bytes | None], bool] = lambda host: True
        self.stopping = False
        self._tasks: set[asyncio.Task[None]] = set()

    def show(self, visitor: Visitor, path: bytes) -> bool:
        """Whether there is such a page; it is shown at once or later."""
        if path == b"/health":
            visitor.show(Page(200, b"ok\n"))
        elif path == b"/ready":
            visitor.show(self._ready(visitor))
        elif path == b"/metrics":
            self._show_metrics(visitor)
        else:
            return False
        return True

    def _ready(self, visitor: Visitor) -> Page:
        if self.stopping:
            return Page(503, b"stopping\n")
        trouble = self._trouble()
        if trouble is None:
            return Page(200, b"ok\n")
        if not self._is_trusted(visitor) and self.signer(visitor) is None:
            return Page(503, b"the store takes no changes\n")
        return Page(503, f"the store takes no changes: {' '.join(trouble.split())}\n".encode())

    def _show_metrics(self, visitor: Visitor) -> None:
        trusted = self._is_trusted(visitor)
        account = None if trusted else self.signer(visitor)
        if account is None and not trusted and not self.is_own_name(visitor.headers.get(b"host")):
            visitor.show(Page(403, f"{FOREIGN}\n".encode()))
            return
        if account is None and not trusted:
            visitor.show(
                Page(
                    401,
                    b"Metrics are shown to loopback addresses, to those who have the token of --metrics-token-file, "
                    b"and to accounts that sign their request.\n",
                    extra=b"WWW-Authenticate: Bearer\r\n",
                )
            )
            return
        task = asyncio.get_running_loop().create_task(self._show_later(visitor, account))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _show_later(self, visitor: Visitor, account: Account | None) -> None:
        """An account that is no administrator sees its own queues."""
        try:
            text = await self._metrics.get()
            body: bytes | memoryview = memoryview(text)
            if account is not None and not account.admin:
                body = only_of(account.id, text)
            page = Page(200, body, CONTENT_TYPE_PLAIN_0_0_4.encode())
        except Fault as fault:
            page = Page(503, f"The metrics cannot be collected at the moment: {fault.message}\n".encode())
        except Exception as error:
            self._defect(error)
            page = Page(500, b"The metrics could not be collected; the log says why.\n")
        visitor.show(page)

    def _is_trusted(self, visitor: Visitor) -> bool:
        headers = visitor.headers
        return self._is_local(visitor.peer, headers) or self._has_token(headers)

    def _is_local(self, peer: str, headers: dict[bytes, bytes]) -> bool:
        """Behind a proxy, every client seems to be local; and a proxy nobody told us of gives itself away."""
        return (
            not self._behind_proxy
            and is_loopback(peer)
            and self.is_own_name(headers.get(b"host"))
            and not any(name.startswith(_FORWARDED) for name in headers)
        )

    def _has_token(self, headers: dict[bytes, bytes]) -> bool:
        scheme, _, given = headers.get(b"authorization", b"").partition(b" ")
        if self._token is None or scheme.lower() != b"bearer":
            return False
        return hmac.compare_digest(given.strip(), self._token.encode())


def is_loopback(address: str) -> bool:
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return (mapped or found).is_loopback
