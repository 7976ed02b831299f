"""The queues, as what devices post to."""

import asyncio
import logging

from aiocoap.error import BadOption, ProxyingNotSupported
from aiocoap.message import Message
from aiocoap.numbers import OptionNumber, codes
from aiocoap.resource import PathCapable, Resource

from rockdove.client import UnexpectedAnswer, Unreachable
from rockdove.core.errors import Fault
from rockdove.gateway.coap.request import Posted, posted
from rockdove.gateway.coap.spool import Spool
from rockdove.gateway.error import Refused, Why
from rockdove.gateway.mapping import Mapping
from rockdove.gateway.service import Service
from rockdove.server.seldom import Seldom

# Seconds until a device is told that the service does not answer; it will try again, or give up.
ANSWER_S = 10.0
RETRY_S = 5
# Of a path, in the log.
_SHOWN = 100
# Requests at a time.
MOST_WAITING = 5_000

_CODES = {
    Why.NOBODY: codes.UNAUTHORIZED,
    Why.DENIED: codes.FORBIDDEN,
    Why.NO_QUEUE: codes.NOT_FOUND,
    Why.CONTENT: codes.BAD_REQUEST,
    Why.TOO_LARGE: codes.REQUEST_ENTITY_TOO_LARGE,
    Why.OTHER: codes.BAD_REQUEST,
}
_PROXY = (OptionNumber.PROXY_URI, OptionNumber.PROXY_SCHEME)
_KNOWN = (
    OptionNumber.URI_HOST,
    OptionNumber.URI_PORT,
    OptionNumber.URI_PATH,
    OptionNumber.URI_QUERY,
    OptionNumber.BLOCK1,
    OptionNumber.BLOCK2,
    OptionNumber.ACCEPT,
)

log = logging.getLogger("rockdove")


class Queues(Resource, PathCapable):  # type: ignore[misc]
    """A POST to a path that stands for a queue is a message; the answer comes when the service has stored it."""

    def __init__(self, service: Service, mapping: Mapping, seldom: Seldom) -> None:
        super().__init__()
        # Where the library's own one would be.
        self._block1 = Spool()
        self._service = service
        self._mapping = mapping
        self._seldom = seldom
        self.waiting = 0

    async def needs_blockwise_assembly(self, request: Message) -> bool:
        _check_options(request)
        return True

    async def render_post(self, request: Message) -> Message:
        if self.waiting >= MOST_WAITING:
            return _away("The gateway has as many requests as it may have.")
        self.waiting += 1
        try:
            async with asyncio.timeout(ANSWER_S):
                id = await self._send(posted(request, self._mapping))
        except TimeoutError:
            return _away("The service does not answer; whether the message was stored is not known.")
        except Refused as refused:
            path, peer = "/".join(request.opt.uri_path)[:_SHOWN], str(request.remote.hostinfo)
            self._seldom.warn("coap-refused", f"a message of a CoAP client is refused: {refused}", path=path, peer=peer)
            return Message(code=_CODES[refused.why], payload=str(refused).encode())
        except (Fault, Unreachable, UnexpectedAnswer) as error:
            self._seldom.warn("coap-away", f"a CoAP client is turned away: {error}")
            return _away("The service cannot be reached.")
        except Exception:
            log.exception("a request of CoAP failed")
            return Message(code=codes.INTERNAL_SERVER_ERROR, payload=b"The gateway has failed; its log has more.")
        finally:
            self.waiting -= 1
        return Message(code=codes.CREATED, payload=id.encode())

    async def _send(self, given: Posted) -> str:
        visitor = await self._service.admit(given.identity)
        try:
            return await (await visitor.send(given.queue, given.device, given.message))
        finally:
            await self._service.leave(given.identity)


def _check_options(request: Message) -> None:
    for option in request.opt.option_list():
        if option.number in _PROXY:
            raise ProxyingNotSupported
        if option.number.is_critical() and option.number not in _KNOWN:
            raise BadOption(f"The option {int(option.number)} is not known here.")


def _away(text: str) -> Message:
    return Message(code=codes.SERVICE_UNAVAILABLE, payload=text.encode(), max_age=RETRY_S)
